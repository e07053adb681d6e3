"""Keeps the checked catalogue beside Python's own bytecode, so that TOML is read and checked once for each edit."""

import marshal
import sys
from pathlib import Path

from calc.catalog.checking.loader import read_tables
from calc.catalog.entries import DATA, Tables

HERE = Path(__file__).parent
KEPT = HERE / "__pycache__" / f"catalog.{sys.implementation.cache_tag}.tables"
# What checks may find another thing than last time, as this process has it: the files may be edited while it runs.
UNITS = HERE.parents[1] / "units.py"
CHECKERS = tuple((path.name, path.read_bytes()) for path in sorted([*HERE.parent.rglob("*.py"), UNITS]))


def checked_tables(root: Path = DATA, kept: Path = KEPT) -> Tables:
    """Return the checked tables of the catalogue: those kept from an earlier run if nothing has changed since.

    Raises CatalogError with every mistake. A catalogue with a mistake is not kept.
    """
    made_from = fingerprint(root)
    try:
        found = marshal.loads(kept.read_bytes())
        if found["made_from"] == made_from:
            tables: Tables = found["tables"]
            return tables
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        pass  # not there yet, or cut off: it is made again
    tables = read_tables(root)
    keep(kept, marshal.dumps({"made_from": made_from, "tables": tables}))
    return tables


def fingerprint(root: Path) -> str:
    """Return what the tables follow from: the content of all files, and of what checks them."""
    import hashlib  # a built copy of the package never needs it

    total = hashlib.sha256()
    for name, content in (*((path.name, path.read_bytes()) for path in sorted(root.rglob("*.toml"))), *CHECKERS):
        total.update(f"{name} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()


def keep(kept: Path, content: bytes) -> None:
    """Write the file whole or not at all; where it cannot be written, the next run reads TOML again."""
    import tempfile

    try:
        kept.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile("wb", dir=kept.parent, delete=False) as partial:
            partial.write(content)
        Path(partial.name).replace(kept)
    except OSError:
        pass
