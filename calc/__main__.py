"""`python -m calc`: the command line."""

import sys

from calc.command.arguments import main

if __name__ == "__main__":
    sys.exit(main())
