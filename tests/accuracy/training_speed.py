"""The command line of `macros.accuracy.training_speed`: python -m tests.accuracy.training_speed."""

from macros.accuracy.training_speed import main

if __name__ == "__main__":
    main()
