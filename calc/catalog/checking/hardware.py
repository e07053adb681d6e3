"""Checking what can be bought or rented: accelerators, the machines they stand in and links."""

import re
from collections.abc import Mapping

from calc.catalog.checking.agreement import check_agreement
from calc.catalog.checking.check import Check, FactRule, check_quantity, check_reference, with_fields
from calc.catalog.checking.device_rules import (
    ACCELERATOR_FACTS,
    ACCELERATOR_RULES,
    ALSO_RULES,
    CROSS_CHECKS,
    EXCEPTION_RULES,
    FACT_RULES,
    FULL_RATES,
    JOINS,
    LINK_FACTS,
    LINK_KINDS,
    LINK_RULES,
    MACHINE_FACTS,
    MACHINE_KINDS,
    MACHINE_RULES,
    MOST_IN_A_BOX,
    PROCESSOR_FACTS,
    PROCESSOR_KINDS,
    PROCESSOR_RULES,
    PROCESSOR_VENDORS,
    PROTOCOL_ALGORITHMS,
    PROTOCOL_FACTS,
    PROTOCOL_RULES,
    REQUIRED_FACTS,
    SOLD_FACTS,
    SPARSE_RATIOS,
    TEXT_CHOICES,
    TEXT_FACTS,
    THREADS_TOGETHER,
    TOPOLOGIES,
)
from calc.catalog.choices import AVAILABILITY, SEGMENTS, VENDORS
from calc.catalog.entries import Entry, Tables
from calc.units import GB, GIB, to_base

LEAST_OF_HOST, MOST_OF_HOST = 0.25, 50  # times the memory of a machine's devices, that its host has
SIZE = re.compile(r"\[[^\]]*-(\d+)gb\]$")  # of a device's memory, at the end of its id


def check_accelerator(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one accelerator and turn its facts into base units, each with its own source and date."""
    check.fields(where, entry, ACCELERATOR_RULES)
    for field, choices in (("segment", SEGMENTS), ("availability", AVAILABILITY), ("vendor", VENDORS)):
        if field in entry:
            check.choice(f"{where}.{field}", entry[field], choices)
    sold = () if entry.get("availability") == "announced" else SOLD_FACTS.get(str(entry.get("segment")), ())
    for field in (*REQUIRED_FACTS, *sold):
        if field not in entry:
            check.problem(f"{where}.{field}", "is missing")
    for field in ACCELERATOR_FACTS:
        fact = entry.get(field)
        if isinstance(fact, dict) and check.fields(f"{where}.{field}", fact, FACT_RULES):
            check_fact(check, f"{where}.{field}", field, fact)
            take_source(check, f"{where}.{field}", fact, entry, tables=tables)
    if rate_of(entry.get("unit_threads")) % THREADS_TOGETHER:
        check.problem(f"{where}.unit_threads", f"must be a multiple of {THREADS_TOGETHER}")
    check_also(check, where, entry.get("also"), tables)
    exceptions = entry.get("exceptions", [])
    for position, exception in enumerate(exceptions if isinstance(exceptions, list) else []):
        place = f"{where}.exceptions[{position}]"
        if check.fields(place, exception, EXCEPTION_RULES):
            check.choice(f"{place}.check", exception["check"], CROSS_CHECKS)
            check.choice(f"{place}.field", exception["field"], [name for name in ACCELERATOR_FACTS if name in entry])
    check_other_memory(check, f"{where}.other_memory", entry.get("other_memory", []))
    check_architecture(check, where, entry, tables)
    check_ratios(check, where, entry)
    check_agreement(check, where, entry)
    check_size(check, where, entry)


def check_size(check: Check, where: str, entry: Entry) -> None:
    """Check that a device whose id ends in its memory has so much."""
    named, memory = SIZE.search(where), rate_of(entry.get("memory"))
    if named and memory and all(abs(memory / unit - int(named[1])) > 0.5 for unit in (GIB, GB)):
        check.problem(f"{where}.memory", f"is not the {named[1]} GB of the id")


def check_architecture(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check that what engines run is known by a device's architecture, where it is for others of its maker."""
    told = {place for fact in tables["support"].values() for place in fact.get("where", ())}  # type: ignore[attr-defined]
    others = {
        other.get("architecture")
        for other in tables["accelerators"].values()
        if other.get("vendor") == entry.get("vendor")
    }
    if told & others and entry.get("architecture") not in told:
        check.choice(f"{where}.architecture", entry.get("architecture"), sorted(told & others, key=str))


def check_other_memory(check: Check, where: str, listed: object) -> None:
    """Check with how much memory a chip is sold beside that of its entry, and what programs get of it."""
    for pair in listed if isinstance(listed, list) else []:
        numbers = [item for item in pair if isinstance(item, int | float)] if isinstance(pair, list) else []
        if len(numbers) != 2 or not 0 < numbers[1] <= numbers[0] <= 2048:
            check.problem(where, f"must hold pairs of GiB, of memory and what programs get of it, not {pair!r:.40}")


def take_source(check: Check, where: str, fact: Entry, entry: Entry, tables: Tables) -> None:
    """Give a fact the source and date of its entry where it has none of its own, and check the source."""
    if "source" in fact or "source" in entry:  # where neither is, the entry's own check has said so
        check_reference(check, f"{where}.source", fact.get("source", entry.get("source")), tables)
    fact.setdefault("source", entry.get("source", ""))
    fact.setdefault("checked", entry.get("checked", ""))


def check_also(check: Check, where: str, also: object, tables: Tables) -> None:
    """Check what other sources say of an accelerator."""
    for position, other in enumerate(also if isinstance(also, list) else []):
        place = f"{where}.also[{position}]"
        if check.fields(place, other, ALSO_RULES):
            check.choice(f"{place}.field", other["field"], ACCELERATOR_FACTS)
            check_reference(check, f"{place}.source", other["source"], tables)
            dimension, _, least, most = ACCELERATOR_FACTS.get(str(other["field"]), ("text", (), 0, 0))
            if dimension != "text":
                check_quantity(check, place, dict(other), dimension, possible=(least, most))


def check_fact(check: Check, where: str, field: str, fact: Entry) -> None:
    """Check one fact's unit, basis and range, and convert it to its base unit."""
    dimension, bases, least, most = ACCELERATOR_FACTS[field]
    if dimension == "text":
        if not isinstance(fact["value"], str) or fact.get("unit") or fact.get("basis"):
            check.problem(where, "is a text and takes no unit or basis")
        elif field in TEXT_CHOICES:
            check.choice(f"{where}.value", fact["value"], TEXT_CHOICES[field])
        elif not re.fullmatch(TEXT_FACTS[field], fact["value"]):
            check.problem(f"{where}.value", f"{fact['value']!r:.60} is no {field.replace('_', ' ')}")
    elif check_quantity(check, where, fact, dimension, possible=(least, most)):
        basis = fact.get("basis", "")
        if basis == "sparse":
            check.problem(f"{where}.basis", "is a sparse rate in a dense field: halve it, and give basis dense")
        elif basis not in bases:
            check.problem(f"{where}.basis", f"must be {' or '.join(bases)}, not {basis!r}")
        if isinstance(sparse := fact.get("sparse"), int | float):
            fact["sparse"] = to_base(sparse, str(fact["unit"]))
            if bases != ("dense",):
                check.problem(f"{where}.sparse", "belongs to a rate")


def check_ratios(check: Check, where: str, entry: Entry) -> None:
    """Check rates against the full 16-bit rate: one that is too many times of it is the sparse number."""
    rates = {name: rate for name in (*FULL_RATES, *SPARSE_RATIOS) if (rate := rate_of(entry.get(name)))}
    full = max((rates[name] for name in FULL_RATES if name in rates), default=0)
    for name, most in SPARSE_RATIOS.items():
        if full > 0 and rates.get(name, 0) >= most * full:
            times = f"{rates[name] / full:.1f} times the 16-bit rate"
            check.problem(f"{where}.{name}", f"is {times}: a sparse number in a dense field? Sparsity doubles a rate")


def rate_of(fact: object) -> float:
    """Return the value of a fact that is a number, else 0."""
    value = fact.get("value") if isinstance(fact, dict) else None
    return float(value) if isinstance(value, int | float) else 0.0


def check_facts(check: Check, where: str, entry: Entry, facts: Mapping[str, FactRule], tables: Tables) -> None:
    """Check the quantities of a machine or link, and give each the source and date of its entry."""
    for field, (dimension, bases, least, most) in facts.items():
        fact = entry.get(field)
        if not isinstance(fact, dict) or not check.fields(f"{where}.{field}", fact, FACT_RULES):
            continue
        if check_quantity(check, f"{where}.{field}", fact, dimension, possible=(least, most)):
            check.choice(f"{where}.{field}.basis", fact.get("basis", ""), bases)
        take_source(check, f"{where}.{field}", fact, entry, tables=tables)
        check_reference(check, f"{where}.{field}.source", fact["source"], tables)


@with_fields(LINK_RULES)
def check_link(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one link: both ways is twice one way, and nothing reaches more than it carries."""
    check.choice(f"{where}.kind", entry["kind"], LINK_KINDS)
    check_facts(check, where, entry, LINK_FACTS, tables=tables)
    one, both = (entry[name].get("value") for name in ("one_way", "both_ways"))  # type: ignore[attr-defined]
    if isinstance(one, float) and isinstance(both, float) and abs(both / one - 2) > 0.02:
        check.problem(
            f"{where}.both_ways", f"is {both / one:.2f} times one_way; a link carries as much in each direction"
        )
    for field in LINK_FACTS.keys() - {"one_way", "both_ways", "reached_in_switch", "latency", "step_wait"}:
        if rate_of(entry.get(field)) > rate_of(entry["one_way"]) > 0:
            check.problem(f"{where}.{field}", "is more than the link carries one way")
    for device in entry.get("accelerators", []):  # type: ignore[attr-defined]
        check.choice(f"{where}.accelerators", device, tables["accelerators"])


@with_fields(PROTOCOL_RULES)
def check_protocol(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one protocol of a library: its times and its share of the rate."""
    check.choice(f"{where}.algorithm", entry["algorithm"], PROTOCOL_ALGORITHMS)
    check_facts(check, where, entry, PROTOCOL_FACTS, tables=tables)
    check.number(f"{where}.share", entry["share"], 0.01, 1)


@with_fields(MACHINE_RULES)
def check_machine(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one machine: it names its accelerators and links, or says that it is a claim."""
    check.choice(f"{where}.kind", entry["kind"], MACHINE_KINDS)
    check.choice(f"{where}.topology", entry["topology"], TOPOLOGIES)
    check_facts(check, where, entry, MACHINE_FACTS, tables=tables)
    for field in ("accelerator", "link", "host_link", "network"):
        kind = "accelerators" if field == "accelerator" else "links"
        if entry.get(field):
            check.choice(f"{where}.{field}", entry[field], tables[kind])
    check_joins(check, where, entry, tables)
    check_host_memory(check, where, entry, tables)
    devices = entry.get("devices", 0)
    if bool(entry.get("accelerator")) != bool(devices):
        check.problem(f"{where}.devices", "an accelerator needs a number of devices, and devices an accelerator")
    elif not isinstance(devices, int) or not 0 <= devices <= 100_000:
        check.problem(f"{where}.devices", f"must be from 1 to 100,000, not {devices}")
    if not entry.get("accelerator") and not (entry.get("claim") and entry.get("memory")):
        check.problem(f"{where}.accelerator", "is missing; a machine without one needs its maker's claim and memory")
    elif isinstance(devices, int) and devices:
        check_shape(check, where, entry, devices)
    check.number(f"{where}.network_count", entry.get("network_count", 0), 0, 64)
    if bool(entry.get("network")) != bool(entry.get("network_count")):
        check.problem(f"{where}.network_count", "a network needs its number of ports, and ports need a network")


def check_joins(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check that a machine's links join what they are said to join, and that its devices have such a link."""
    for field, kind in JOINS.items():
        other = tables["links"].get(str(entry.get(field)), {}).get("kind", kind)
        if other != kind:
            check.problem(f"{where}.{field}", f"{entry[field]} is a link of the kind {other!r}, not {kind!r}")
    own = tables["accelerators"].get(str(entry.get("accelerator")), {}).get("link")
    name = tables["links"].get(str(entry.get("link")), {}).get("name")
    if isinstance(own, dict) and name and not str(name).startswith(str(own.get("value"))):
        check.problem(f"{where}.link", f"is {name}, and its devices have {own.get('value')}")


def check_host_memory(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check that a host has a memory like that of its devices together, so that a slip in its unit is seen."""
    each = rate_of(tables["accelerators"].get(str(entry.get("accelerator")), {}).get("memory"))
    every, host = each * rate_of({"value": entry.get("devices")}), rate_of(entry.get("host_memory"))
    if every and host and not LEAST_OF_HOST <= host / every <= MOST_OF_HOST:
        check.problem(f"{where}.host_memory", f"is {host / every:.3g} times the memory of its devices")


def check_shape(check: Check, where: str, entry: Entry, devices: int) -> None:
    """Check that a machine's kind and topology are those of so many devices."""
    if (entry["topology"] == "single") != (devices == 1):
        check.problem(f"{where}.topology", f"{entry['topology']!r} is not how {devices} devices are joined")
    if (entry["kind"] == "rack") != (devices > MOST_IN_A_BOX):
        check.problem(f"{where}.kind", f"{entry['kind']!r} is not what holds {devices} devices")


@with_fields(PROCESSOR_RULES)
def check_processor(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one processor: how its memory is joined to it, from which its bandwidth follows."""
    check.choice(f"{where}.kind", entry["kind"], PROCESSOR_KINDS)
    check.choice(f"{where}.vendor", entry["vendor"], PROCESSOR_VENDORS)
    check.number(f"{where}.cores", entry["cores"], 1, 1024)
    check_facts(check, where, entry, PROCESSOR_FACTS, tables=tables)
