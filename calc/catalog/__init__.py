"""The catalogue of facts: accelerators, machines, links, prices, models, number formats and their sources.

`catalog()` loads it once. In the repository it is read from the TOML files under `data/`, and kept as checked JSON
until they are edited; a built copy of the package carries them packed, which a browser reads without a parser.
"""

import json
from collections.abc import Mapping
from functools import lru_cache

from calc.catalog.carried import FINETUNES, PACKAGE, KeptTables
from calc.catalog.catalogue import Catalog
from calc.catalog.entries import DATA, Entry

__all__ = ["Catalog", "catalog", "reload"]


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    """Return the catalogue, loaded once. Raises CatalogError with every mistake in it."""
    built = built_tables()
    if built is not None:
        tables = KeptTables(built)
        return Catalog(tables, tables.version, finetunes_beside)
    from calc.catalog.checking.checked import checked_tables  # a built copy has nothing left to check

    return Catalog(checked_tables())


def built_tables() -> bytes | None:
    """Return the tables that a built copy of the package carries, maybe in an archive; None in the repository."""
    loader = __spec__.loader if __spec__ else None
    try:
        return loader.get_data(str(DATA / "catalog.marshal"))  # type: ignore[union-attr,no-any-return]
    except OSError:
        return None


def finetunes_beside() -> Mapping[str, Entry]:
    """Return the models' finetunes, which lie beside the archive of a built copy; none where they cannot be had."""
    try:
        text = (PACKAGE.parent.parent / FINETUNES).read_text(encoding="utf-8")
    except OSError:
        return {}
    found: Mapping[str, Entry] = json.loads(text)
    return found


def reload() -> Catalog:
    """Return the catalogue, read again after its files changed."""
    catalog.cache_clear()
    return catalog()
