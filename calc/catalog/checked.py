"""Keeps the checked catalogue beside Python's own bytecode, so that TOML is read and checked once for each edit."""

import json
from pathlib import Path

from calc.catalog.check import Tables
from calc.catalog.loader import DATA, read_tables

KEPT = Path(__file__).parent / "__pycache__" / "catalog.json"
# What checks may find another thing than last time.
CHECKERS = (
    "check.py",
    "claims.py",
    "hardware.py",
    "kernel_tables.py",
    "loader.py",
    "runs.py",
    "schema.py",
    "../units.py",
)


def checked_tables(root: Path = DATA, kept: Path = KEPT) -> Tables:
    """Return the checked tables of the catalogue: those kept from an earlier run if nothing has changed since.

    Raises CatalogError with every mistake. A catalogue with a mistake is not kept.
    """
    made_from = fingerprint(root)
    try:
        found = json.loads(kept.read_bytes())
        if found["made_from"] == made_from:
            tables: Tables = found["tables"]
            return tables
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there yet, or cut off: it is made again
    tables = read_tables(root)
    keep(kept, json.dumps({"made_from": made_from, "tables": tables}, ensure_ascii=False))
    return tables


def fingerprint(root: Path) -> str:
    """Return what the tables follow from: the content of all files, and of what checks them."""
    import hashlib  # a built copy of the package never needs it

    total = hashlib.sha256()
    for path in [*sorted(root.rglob("*.toml")), *(Path(__file__).parent / name for name in CHECKERS)]:
        content = path.read_bytes()
        total.update(f"{path.name} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()


def keep(kept: Path, content: str) -> None:
    """Write the file whole or not at all; where it cannot be written, the next run reads TOML again."""
    import tempfile

    try:
        kept.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=kept.parent, encoding="utf-8", delete=False) as partial:
            partial.write(content)
        Path(partial.name).replace(kept)
    except OSError:
        pass
