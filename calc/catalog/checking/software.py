"""Checking models, number formats, engines, sources, and what was measured of them."""

from typing import get_args

from calc.catalog.checking.check import ADDRESS, Check, check_reference, with_fields
from calc.catalog.checking.coefficients import MEASURED, check_value
from calc.catalog.checking.device_rules import ACCELERATOR_FACTS
from calc.catalog.checking.rules import (
    BUCKET_RULES,
    CHANGE_RULES,
    COEFFICIENT_RULES,
    COEFFICIENT_UNITS,
    ENGINE_COEFFICIENT_RULES,
    ENGINE_RULES,
    ERA_RULES,
    FORMAT_BOUNDS,
    FORMAT_RULES,
    MEASURED_RULES,
    MIXTURE_RULES,
    PACKAGED_RULES,
    RANGE_RULES,
    SCOPES,
    SOURCE_KINDS,
    SOURCE_RULES,
    TOWER_COUNTS,
    TOWER_RULES,
)
from calc.catalog.choices import SEGMENTS, VENDORS
from calc.catalog.entries import Entry, Tables
from calc.catalog.records.engines import OF_TRITON, Change, version_numbers


@with_fields(SOURCE_RULES)
def check_source(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check one source."""
    check.choice(f"{where}.kind", entry["kind"], SOURCE_KINDS)
    if not ADDRESS.fullmatch(str(entry["url"])):
        check.problem(f"{where}.url", f"must be an address that begins with https://, not {entry['url']!r:.60}")


@with_fields(FORMAT_RULES)
def check_format(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check one number format."""
    check.choice(f"{where}.scope", entry["scope"], SCOPES)
    for field, (least, most) in FORMAT_BOUNDS.items():
        if field in entry:
            check.number(f"{where}.{field}", entry[field], least, most)
    if entry.get("native"):
        check.choice(f"{where}.native", entry["native"], ACCELERATOR_FACTS)
    for group, bits in (("group", "group_bits"), ("outer_group", "outer_bits")):
        if bool(entry.get(group)) != bool(entry.get(bits)):
            check.problem(f"{where}.{group}", f"{group} needs {bits}, and {bits} needs {group}")


@with_fields(MIXTURE_RULES)
def check_mixture(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one mixture of number formats."""
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
    if "fetched" in entry:
        check.choice(f"{where}.fetched", entry["fetched"], sorted(formats))


@with_fields(ENGINE_RULES)
def check_engine(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one engine, and bring its coefficients into base units, each with its own source and date."""
    check_reference(check, f"{where}.platforms", entry["platforms"], tables)
    coefficients = entry["coefficients"]
    assert isinstance(coefficients, dict)
    check_usage(check, where, entry, tables)
    check_eras(check, where, entry.get("eras", []), tables)
    check_towers(check, where, entry.get("towers", {}), tables)
    check_backends(check, where, entry.get("backends", {}), tables)
    check_library(check, where, entry.get("library_experts", {}))
    check_changes(check, where, entry, tables)
    check_families(check, where, entry)
    if entry.get("drafters") and "drafts_apart" not in coefficients:
        check.problem(f"{where}.coefficients.drafts_apart", "is missing: the engine has drafters")
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
    """Check the eras of an engine, which follow each other in time, and of which one at least has measurements."""
    assert isinstance(eras, list)
    for era in eras:
        if check.fields(f"{where}.eras", era, ERA_RULES):
            check_reference(check, f"{where}.eras.{era['id']}", era["source"], tables)
            if "packaged" in era:
                check.fields(f"{where}.eras.{era['id']}.packaged", era["packaged"], PACKAGED_RULES)
            for maker, first in era.get("later", {}).items():
                check.choice(f"{where}.eras.{era['id']}.later", maker, VENDORS)
                if version_numbers(str(first)) <= version_numbers(era["first"]):
                    check.problem(f"{where}.eras.{era['id']}.later.{maker}", f"must be after {era['first']}")
    dates = [str(era.get("dated", "")) for era in eras]
    if dates != sorted(dates) or "" in dates[1:]:
        check.problem(f"{where}.eras", "each after the oldest is dated, and no later than the next")
    if eras and not any(era.get("measured") for era in eras):
        check.problem(f"{where}.eras", "none has measurements: none could be the default")


def check_changes(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check what an engine does since which version, each with its own source and date."""
    changes = entry.get("since", {})
    assert isinstance(changes, dict)
    for change, item in changes.items():
        place = f"{where}.since.{change}"
        check.choice(place, change, get_args(Change))
        if not isinstance(item, dict):
            check.problem(place, "must be a table with version and source")
            continue
        for field in ("source", "checked"):
            item.setdefault(field, entry[field])
        if check.fields(place, item, CHANGE_RULES):
            check_reference(check, f"{place}.source", item["source"], tables)
            if not version_numbers(item["version"]):
                check.problem(f"{place}.version", "must be a version")


def check_library(check: Check, where: str, families: object) -> None:
    """Check which kernels of families' routed experts an engine takes from a library, of those that Triton has too."""
    assert isinstance(families, dict)
    for family, kernels in families.items():
        for kernel in kernels:
            check.choice(f"{where}.library_experts.{family}", kernel, sorted(OF_TRITON))


def check_towers(check: Check, where: str, towers: object, tables: Tables) -> None:
    """Check what an engine shows the towers of families: whole numbers, and videos of whole pairs of frames."""
    assert isinstance(towers, dict)
    for name, budget in towers.items():
        place = f"{where}.towers.{name}"
        if not check.fields(place, budget, TOWER_RULES):
            continue
        check_reference(check, f"{place}.source", budget["source"], tables)
        for field in TOWER_COUNTS:
            check.number(f"{place}.{field}", budget.get(field, 1), 1, 2**20)
        if budget.get("video_tokens", 0) % budget.get("pair_tokens", 1):
            check.problem(f"{place}.video_tokens", "must be whole pairs of frames (pair_tokens)")


def check_families(check: Check, where: str, entry: Entry) -> None:
    """Check what an engine does with single families of models."""
    for family, version in entry.get("second_runner", {}).items():  # type: ignore[attr-defined]
        if not version_numbers(str(version)):
            check.problem(f"{where}.second_runner.{family}", "must be a version")
    for family, slots in entry.get("family_slots", {}).items():  # type: ignore[attr-defined]
        if not isinstance(slots, int) or slots < 1:
            check.problem(f"{where}.family_slots.{family}", "must be a whole number above 0")


def check_backends(check: Check, where: str, backends: object, tables: Tables) -> None:
    """Check whose kernels an engine can take on the devices of each maker, or of an architecture."""
    assert isinstance(backends, dict)
    architectures = {str(entry["architecture"]) for entry in tables["accelerators"].values()}
    for maker, names in backends.items():
        check.choice(f"{where}.backends", maker, [*VENDORS, *sorted(architectures)])
        if not names or not all(isinstance(name, str) and name == name.casefold() for name in names):
            check.problem(f"{where}.backends.{maker}", "must be a list of names in small letters, the usual one first")


@with_fields(COEFFICIENT_RULES)
def check_coefficient(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check one measured coefficient: its unit, and that a range lies around its value."""
    check.choice(f"{where}.unit", entry["unit"], COEFFICIENT_UNITS)
    value = entry["value"]
    low, high = entry.get("low", value), entry.get("high", value)
    least, most = MEASURED.get(str(entry["unit"]), ("", 0.0, 0.0))[1:]
    for name, end in (("low", low), ("value", value), ("high", high)):
        check.number(f"{where}.{name}", end, least, most)
    assert isinstance(low, int | float) and isinstance(value, int | float) and isinstance(high, int | float)
    if not (low <= value <= high and (low > 0 or value == 0)):
        check.problem(f"{where}.low", f"{low:g} to {high:g} is not a range around {value:g}")


@with_fields(BUCKET_RULES)
def check_bucket(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check how many rows and sources a bucket has, by figure, and the version of the oldest row."""
    for figure, counts in entry.items():
        if figure == "since":
            if not version_numbers(str(counts)):
                check.problem(f"{where}.since", f"must be a version, not {counts!r:.40}")
            continue
        whole = isinstance(counts, list) and len(counts) == 2 and all(type(count) is int for count in counts)
        if not (whole and isinstance(counts, list) and 10**5 >= counts[0] >= counts[1] >= 1):
            check.problem(f"{where}.{figure}", f"must be rows and sources, not {counts!r:.40}")


@with_fields(MEASURED_RULES)
def check_measured(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check how many sources measured a model that there is."""
    check.number(f"{where}.sources", entry["sources"], 1, 10_000)
    check.choice(where, where.rpartition("[")[2].rstrip("]"), tables["models"])


@with_fields(RANGE_RULES)
def check_range(check: Check, where: str, entry: Entry, _: Tables) -> None:
    """Check a range: a logarithm, and how much of it the sources of a bucket have in common."""
    check.number(f"{where}.inside", entry["inside"], 0.001, 3)
    check.number(f"{where}.between", entry["between"], 0, 100)
    check.number(f"{where}.sources", entry["sources"], 1, 10_000)
    check.number(f"{where}.rows", entry["rows"], 1, 1_000_000)
