"""Loading the catalogue: all mistakes are named by file, entry and field, and one is enough to load nothing."""

import datetime
import pickle
import re
import tomllib
from functools import cache
from pathlib import Path

from calc.catalog.checking.check import Check, CheckEntry
from calc.catalog.checking.claims import check_claim, check_term
from calc.catalog.checking.configs import check_model
from calc.catalog.checking.frameworks import check_framework
from calc.catalog.checking.grids import check_grid
from calc.catalog.checking.hardware import check_accelerator, check_link, check_machine, check_processor, check_protocol
from calc.catalog.checking.kernel_tables import check_family, check_law
from calc.catalog.checking.launchers import check_launcher
from calc.catalog.checking.prices import check_price
from calc.catalog.checking.runs import check_law as check_scaling_law
from calc.catalog.checking.runs import check_run
from calc.catalog.checking.software import (
    check_bucket,
    check_coefficient,
    check_engine,
    check_format,
    check_measured,
    check_mixture,
    check_range,
    check_source,
)
from calc.catalog.checking.support import check_support
from calc.catalog.entries import DATA, Entry, Tables, compared, lookup_names
from calc.errors import CatalogError

ENTRY_ID = re.compile(r"[a-z0-9][a-z0-9._+-]*")
# The files of each kind of entries.
FILES = {
    "sources": "sources/*.toml",
    "number_formats": "number_formats.toml",
    "mixtures": "mixtures.toml",
    "engines": "engines/*.toml",
    "trainers": "trainers.toml",
    "frameworks": "frameworks.toml",
    "accelerators": "accelerators/*.toml",
    "support": "support.toml",
    "links": "links.toml",
    "protocols": "protocols.toml",
    "machines": "machines/*.toml",
    "processors": "processors.toml",
    "prices": "prices.toml",
    "grids": "grids.toml",
    "launchers": "launchers.toml",
    "models": "models/*.toml",
    "coefficients": "coefficients.toml",
    "kernel_families": "kernel_families.toml",
    "kernels": "kernels.toml",
    "measured": "measured.toml",
    "measured_models": "measured_models.toml",
    "ranges": "ranges.toml",
    "claims": "claims/*.toml",
    "glossary": "glossary.toml",
    "laws": "laws.toml",
    "runs": "runs.toml",
}


def read_tables(root: Path = DATA) -> Tables:
    """Return the raw catalogue, every entry checked: {kind: {id: entry}}, quantities in base units.

    Raises CatalogError that names file, entry and field of every mistake.
    """
    check = Check()
    files: dict[str, str] = {}
    tables: Tables = {}
    for kind, pattern in FILES.items():
        tables[kind] = {}
        for path in sorted(root.glob(pattern)):
            read_file(check, path.relative_to(root).as_posix(), path, tables[kind], files=files)
    if check.problems:  # what a file that is not read would have defined is not missed in the others
        raise CatalogError(check.problems)
    for kind, check_entry in CHECKS.items():
        for name, entry in tables[kind].items():
            where = f"{files[f'{kind}/{name}']}: [{name}]"
            if kind != "launchers":  # where an empty text is a flag that is left out
                check.texts(where, entry)
            check_entry(check, where, entry, tables)
        if kind != "support":  # facts that nobody looks up by a name
            check_names(check, kind, tables[kind], files)
    if check.problems:
        raise CatalogError(check.problems)
    return tables


def read_file(check: Check, shown: str, path: Path, table: dict[str, Entry], files: dict[str, str]) -> None:
    """Read one TOML file into `table`; dates become text, as JSON would have them."""
    try:
        entries: dict[str, object] = pickle.loads(parsed(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        check.problem(shown, f"is not TOML: {error}")
        return
    if not entries:
        check.problem(shown, "is empty: delete it, or put its entries back")
    for name, entry in entries.items():
        kind = shown.split("/")[0].removesuffix(".toml")
        where = f"{shown}: [{name}]"
        if not isinstance(entry, dict):
            check.problem(where, "must be a table of fields")
        elif not ENTRY_ID.fullmatch(name):
            check.problem(where, "an id is made of small letters, digits, dots, hyphens and underscores")
        elif name in table:
            check.problem(where, f"stands already in {files[f'{kind}/{name}']}")
        else:
            table[name] = plain_dates(entry)
            files[f"{kind}/{name}"] = shown


@cache
def parsed(text: str) -> bytes:
    """Return what TOML says, pickled: checks change entries, and where one file was edited all are read again."""
    return pickle.dumps(tomllib.loads(text))


def plain_dates(entry: Entry) -> Entry:
    """Return an entry whose dates, in tables at any depth, are text."""
    return {
        name: value.isoformat()
        if isinstance(value, datetime.date)
        else plain_dates(value)
        if isinstance(value, dict)
        else value
        for name, value in entry.items()
    }


def check_names(check: Check, kind: str, table: dict[str, Entry], files: dict[str, str]) -> None:
    """Check that no name under which an entry is looked up leads to two entries."""
    owner: dict[str, str] = {}
    for entry_id, entry in table.items():
        for name in lookup_names(entry_id, entry):
            other = owner.setdefault(compared(name), entry_id)
            if other != entry_id:
                check.problem(
                    f"{files[f'{kind}/{entry_id}']}: [{entry_id}]",
                    f"the name {name!r} already leads to [{other}]",
                )


CHECKS: dict[str, CheckEntry] = {
    "sources": check_source,
    "number_formats": check_format,
    "mixtures": check_mixture,
    "engines": check_engine,
    "trainers": check_engine,
    "frameworks": check_framework,
    "accelerators": check_accelerator,
    "support": check_support,
    "links": check_link,
    "protocols": check_protocol,
    "machines": check_machine,
    "processors": check_processor,
    "prices": check_price,
    "grids": check_grid,
    "launchers": check_launcher,
    "models": check_model,
    "coefficients": check_coefficient,
    "kernel_families": check_family,
    "kernels": check_law,
    "measured": check_bucket,
    "measured_models": check_measured,
    "ranges": check_range,
    "claims": check_claim,
    "glossary": check_term,
    "laws": check_scaling_law,
    "runs": check_run,
}
