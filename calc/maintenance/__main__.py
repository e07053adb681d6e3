"""Add to the catalogue, and list what has grown old: `python3 guide.py VERB`.

add model PATH REPOSITORY released=2026-01 [KEY=VALUE ...]
                                            from a config.json, or a folder with one; parameters=COUNT is the maker's
add accelerator NAME KEY=VALUE ...          vendor, segment, architecture, released, availability, source,
                                            memory="24 GiB", bandwidth="900 GB/s", bf16="120 TFLOPS", and what else
                                            CONTRIBUTING.md lists; aliases="Example 24, Ex 24"
stale                                       what is due to be looked at again, as Markdown; nothing where nothing is

What is added is checked like everything in the catalogue, and left out if it is not sound.
"""

import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

from calc.catalog.checking.loader import read_tables
from calc.errors import CatalogError, ScenarioError
from calc.maintenance import accelerators, ages, models

PAGES = {"model": "reference/models/", "accelerator": "reference/accelerators/"}


def add(kind: str, *arguments: str) -> str:
    """Add an entry and say where it is shown."""
    words = [word for word in arguments if "=" not in word]
    facts = dict(word.split("=", 1) for word in arguments if "=" in word)
    if kind == "model" and len(words) == 2:
        done = models.add(Path(words[0]), words[1], facts)
    elif kind == "accelerator" and len(words) == 1:
        done = accelerators.add(words[0], facts)
    else:
        raise ValueError(
            f"add model PATH REPOSITORY, or add accelerator NAME KEY=VALUE, not {kind} {' '.join(arguments)}"
        )
    return f"{done}\nguide.py serve shows it at http://127.0.0.1:8000/{PAGES[kind]}"


def main(arguments: Sequence[str]) -> int:
    """Do what the command line asks; return the exit status."""
    try:
        if arguments[:1] == ["add"] and len(arguments) > 2:
            print(add(*arguments[1:]))
        elif list(arguments) == ["stale"]:
            print(ages.listed(ages.due(read_tables(), datetime.date.today())), end="")
        else:
            print(__doc__)
            return 2
    except (CatalogError, OSError, ScenarioError, ValueError) as error:
        print(f"nothing added: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
