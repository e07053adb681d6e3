"""Loading the catalogue: all mistakes are named by file, entry and field, and one is enough to load nothing."""

import datetime
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from calc.catalog.check import ADDRESS, Check, Entry, Tables, check_reference
from calc.catalog.coefficients import MEASURED, check_value
from calc.catalog.configs import check_model
from calc.catalog.frameworks import check_framework
from calc.catalog.grids import check_grid
from calc.catalog.hardware import (
    check_accelerator,
    check_link,
    check_machine,
    check_price,
    check_processor,
    check_protocol,
)
from calc.catalog.kernel_tables import check_family, check_law
from calc.catalog.launchers import check_launcher
from calc.catalog.schema import (
    ACCELERATOR_FACTS,
    BUCKET_RULES,
    COEFFICIENT_RULES,
    COEFFICIENT_UNITS,
    ENGINE_COEFFICIENT_RULES,
    ENGINE_RULES,
    ERA_RULES,
    FORMAT_BOUNDS,
    FORMAT_RULES,
    MIXTURE_RULES,
    RANGE_RULES,
    SCOPES,
    SEGMENTS,
    SOURCE_KINDS,
    SOURCE_RULES,
)
from calc.catalog.support import check_support
from calc.errors import CatalogError

DATA = Path(__file__).parent / "data"
ENTRY_ID = re.compile(r"[a-z0-9][a-z0-9._+-]*")
DROPPED_WORDS = re.compile(r"\b(nvidia|geforce|tesla|amd|instinct|radeon|intel|apple|google|gpu|tm)\b")


@lru_cache(maxsize=8192)  # names of the catalogue are folded again for each name that is looked up
def fold(name: str) -> str:
    """Return a market name without what people write differently: case, spaces, punctuation, the maker's name.

    >>> fold("NVIDIA GeForce RTX 4090") == fold("rtx-4090") == "rtx4090"
    True
    """
    folded = re.sub(r"[^a-z0-9.+/]+", " ", name.casefold().replace("(tm)", ""))
    return re.sub(r"[^a-z0-9.+/]", "", DROPPED_WORDS.sub(" ", folded)) or re.sub(r"\s", "", folded)


def read_tables(root: Path = DATA) -> Tables:
    """Return the raw catalogue, every entry checked: {kind: {id: entry}}, quantities in base units.

    Raises CatalogError that names file, entry and field of every mistake.
    """
    from calc.catalog.claims import check_claim, check_term  # the browser never reads an entry
    from calc.catalog.runs import check_law, check_run

    check = Check()
    files: dict[str, str] = {}
    tables: Tables = {}
    for kind, pattern in (
        ("sources", "sources/*.toml"),
        ("number_formats", "number_formats.toml"),
        ("mixtures", "mixtures.toml"),
        ("engines", "engines/*.toml"),
        ("trainers", "trainers.toml"),
        ("frameworks", "frameworks.toml"),
        ("accelerators", "accelerators/*.toml"),
        ("support", "support.toml"),
        ("links", "links.toml"),
        ("protocols", "protocols.toml"),
        ("machines", "machines/*.toml"),
        ("processors", "processors.toml"),
        ("prices", "prices.toml"),
        ("grids", "grids.toml"),
        ("launchers", "launchers.toml"),
        ("models", "models/*.toml"),
        ("coefficients", "coefficients.toml"),
        ("kernel_families", "kernel_families.toml"),
        ("kernels", "kernels.toml"),
        ("measured", "measured.toml"),
        ("ranges", "ranges.toml"),
        ("claims", "claims/*.toml"),
        ("glossary", "glossary.toml"),
        ("laws", "laws.toml"),
        ("runs", "runs.toml"),
    ):
        tables[kind] = {}
        for path in sorted(root.glob(pattern)):
            read_file(check, path.relative_to(root).as_posix(), path, tables[kind], files=files)
    if check.problems:  # what a file that is not read would have defined is not missed in the others
        raise CatalogError(check.problems)
    lazy = {"claims": check_claim, "glossary": check_term, "laws": check_law, "runs": check_run}
    for kind, check_entry in {**CHECKS, **lazy}.items():
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
    import tomllib  # the browser reads the checked snapshot and never needs a TOML parser

    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
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


def file_of(kind: str, entry_id: str, root: Path = DATA) -> str:
    """Return the file, as problems name it, in which an entry stands; looked for when there is a problem to name."""
    for path in sorted(root.glob(f"{kind}/*.toml")):
        if f'["{entry_id}"]' in (content := path.read_text(encoding="utf-8")) or f"[{entry_id}]" in content:
            return path.relative_to(root).as_posix()
    return kind


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
            other = owner.setdefault(fold(name), entry_id)
            if other != entry_id:
                check.problem(
                    f"{files[f'{kind}/{entry_id}']}: [{entry_id}]",
                    f"the name {name!r} already leads to [{other}]",
                )


def lookup_names(entry_id: str, entry: Mapping[str, object]) -> list[str]:
    """Return every name under which an entry is found: id, name, aliases and repositories."""
    names = [entry_id, entry.get("name", entry_id)] if "title" not in entry else [entry_id]
    for field in ("aliases", "repositories", "finetunes"):
        listed = entry.get(field, [])
        names += listed if isinstance(listed, list) else []
    return [name for name in names if isinstance(name, str)]


def check_source(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check one source."""
    if check.fields(where, entry, SOURCE_RULES):
        check.choice(f"{where}.kind", entry["kind"], SOURCE_KINDS)
        if not ADDRESS.fullmatch(str(entry["url"])):
            check.problem(f"{where}.url", f"must be an address that begins with https://, not {entry['url']!r:.60}")


def check_format(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one number format."""
    if not check.fields(where, entry, FORMAT_RULES):
        return
    check_reference(check, f"{where}.source", entry["source"], tables)
    check.choice(f"{where}.scope", entry["scope"], SCOPES)
    for field, (least, most) in FORMAT_BOUNDS.items():
        if field in entry:
            check.number(f"{where}.{field}", entry[field], least, most)
    if entry.get("native"):
        check.choice(f"{where}.native", entry["native"], ACCELERATOR_FACTS)
    for group, bits in (("group", "group_bits"), ("outer_group", "outer_bits")):
        if bool(entry.get(group)) != bool(entry.get(bits)):
            check.problem(f"{where}.{group}", f"{group} needs {bits}, and {bits} needs {group}")


def check_mixture(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one mixture of number formats."""
    if check.fields(where, entry, MIXTURE_RULES):
        check_reference(check, f"{where}.source", entry["source"], tables)
        check.choice(f"{where}.base", entry["base"], tables["number_formats"])
        check.number(f"{where}.perplexity", entry.get("perplexity", 0), 0, 10)


def check_usage(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check on which devices people take an engine, and which number formats they go down to."""
    formats = {*tables["number_formats"], *tables["mixtures"]}
    drafters = {"draft", "mtp", "eagle", "ngram"}
    for name, known in (("usual_on", set(SEGMENTS)), ("formats", formats), ("drafters", drafters)):
        listed = entry.get(name, [])
        assert isinstance(listed, list)
        for item in listed:
            check.choice(f"{where}.{name}", item, sorted(known))


def check_engine(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one engine, and bring its coefficients into base units, each with its own source and date."""
    if not check.fields(where, entry, ENGINE_RULES):
        return
    for field in ("source", "platforms"):
        check_reference(check, f"{where}.{field}", entry[field], tables)
    coefficients = entry["coefficients"]
    assert isinstance(coefficients, dict)
    check_usage(check, where, entry, tables)
    check_eras(check, where, entry.get("eras", []), tables)
    for name, item in coefficients.items():
        place = f"{where}.coefficients.{name}"
        if not isinstance(item, dict):
            check.problem(place, "must be a table with value and reason")
        elif check.fields(place, item, ENGINE_COEFFICIENT_RULES):
            for field in ("source", "checked", "versions"):
                item.setdefault(field, entry[field])
            check_reference(check, f"{place}.source", item["source"], tables)
            check_value(check, place, name, item)


def check_eras(check: Check, where: str, eras: object, tables: Tables) -> None:
    """Check the eras of an engine, of which one at least has measurements."""
    assert isinstance(eras, list)
    for era in eras:
        if check.fields(f"{where}.eras", era, ERA_RULES):
            check_reference(check, f"{where}.eras.{era['id']}", era["source"], tables)
    if eras and not any(era.get("measured") for era in eras):
        check.problem(f"{where}.eras", "none has measurements: none could be the default")


def check_coefficient(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one measured coefficient: its unit, and that a range lies around its value."""
    if not check.fields(where, entry, COEFFICIENT_RULES):
        return
    check_reference(check, f"{where}.source", entry["source"], tables)
    check.choice(f"{where}.unit", entry["unit"], COEFFICIENT_UNITS)
    value = entry["value"]
    low, high = entry.get("low", value), entry.get("high", value)
    _, least, most = MEASURED.get(str(entry["unit"]), ("", 0.0, 0.0))
    for name, end in (("low", low), ("value", value), ("high", high)):
        check.number(f"{where}.{name}", end, least, most)
    assert isinstance(low, int | float) and isinstance(value, int | float) and isinstance(high, int | float)
    if not low <= value <= high:
        check.problem(f"{where}.low", f"{low:g} to {high:g} is not a range around {value:g}")


def check_bucket(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check how many rows and sources a bucket has, by figure."""
    if check.fields(where, entry, BUCKET_RULES):
        for figure, counts in entry.items():
            whole = isinstance(counts, list) and len(counts) == 2 and all(type(count) is int for count in counts)
            if not (whole and isinstance(counts, list) and counts[0] >= counts[1] >= 1):
                check.problem(f"{where}.{figure}", f"must be rows and sources, not {counts!r:.40}")


def check_range(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check a range: factors, wider where nothing was measured."""
    if check.fields(where, entry, RANGE_RULES):
        measured = entry["measured"]
        check.number(f"{where}.measured", measured, 1.001, 20)
        check.number(f"{where}.not_measured", entry["not_measured"], measured if isinstance(measured, float) else 1, 20)
        check.number(f"{where}.sources", entry["sources"], 1, 10_000)
        check.number(f"{where}.rows", entry["rows"], 1, 1_000_000)


CHECKS: dict[str, Callable[[Check, str, Entry, Tables], None]] = {
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
    "ranges": check_range,
}
