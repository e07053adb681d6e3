"""Making records from checked tables."""

import re
from collections.abc import Callable

from calc.catalog.entries import Entry, said_otherwise
from calc.catalog.frameworks import make_framework
from calc.catalog.grids import make_grid
from calc.catalog.launchers import make_launcher
from calc.catalog.records import (
    Accelerator,
    Coefficient,
    Disagreement,
    Engine,
    EngineCoefficient,
    Era,
    Fact,
    KernelFamily,
    KernelLaw,
    Link,
    Machine,
    Mismatch,
    Mixture,
    Model,
    NumberFormat,
    Packaged,
    Price,
    Processor,
    Protocol,
    Source,
    TowerBudget,
)
from calc.catalog.support import make_support


def make_facts(entry: Entry) -> dict[str, Fact]:
    """Return the facts of a checked entry; its source and day are theirs where they have none."""
    shared = {name: entry[name] for name in ("source", "checked") if name in entry}
    return {
        name: Fact(**{"unit": "", "basis": "", "note": "", **shared, **fact})
        for name, fact in entry.items()
        if isinstance(fact, dict)
    }


def make_accelerator(entry_id: str, entry: Entry) -> Accelerator:
    """Return an accelerator's record from its checked table."""
    head = {name: entry[name] for name in ("name", "vendor", "segment", "architecture", "released", "availability")}
    facts = make_facts(entry)
    listed: list[Entry] = entry.get("also", [])  # type: ignore[assignment]
    also = tuple(Disagreement(**{"unit": "", **other}) for other in listed)  # type: ignore[arg-type]
    named: list[Entry] = entry.get("exceptions", [])  # type: ignore[assignment]
    exceptions = tuple(Mismatch(**exception) for exception in named)  # type: ignore[arg-type]
    aliases: tuple[str, ...] = tuple(entry["aliases"])  # type: ignore[arg-type]
    return Accelerator(id=entry_id, aliases=aliases, facts=facts, also=also, exceptions=exceptions, **head)  # type: ignore[arg-type]


def with_other_memory(base: Accelerator, entry_id: str, size: float, usable: float) -> Accelerator:
    """Return a chip as it is sold with other memory: GiB of it, and GiB that programs get."""
    name = re.sub(r"\d+GB", f"{size:g}GB", base.name)
    changed = {
        field: base.facts[field]._replace(value=int(gib * 2**30), note="")
        for field, gib in (("memory", size), ("memory_usable", usable))
    }
    return base._replace(id=entry_id, name=name, aliases=(), facts={**base.facts, **changed})


def make_model(entry_id: str, entry: Entry) -> Model:
    """Return a model's record from its checked table."""
    unsaid: Entry = {"note": "", "finetunes": (), "variants": {}, "published": {}, "conversions": ()}
    values: Entry = {"id": entry_id, **unsaid, **entry}
    for name in ("repositories", "finetunes", "aliases", "conversions"):
        values[name] = tuple(values[name])  # type: ignore[arg-type]
    values["variants"] = {name: said_otherwise(item) for name, item in values["variants"].items()}  # type: ignore[attr-defined]
    return Model(**values)  # type: ignore[arg-type]


FORMAT_DEFAULTS: Entry = {
    "group": 0,
    "group_rows": 1,
    "group_bits": 0,
    "outer_group": 0,
    "outer_bits": 0,
    "row_bits": 0,
    "column_bits": 0,
    "tensor_bytes": 0,
    "flattened": False,
    "cache": False,
    "native": "",
    "suffixes": (),
}


def make_number_format(entry_id: str, entry: Entry) -> NumberFormat:
    """Return a number format's record."""
    values = {"id": entry_id, "kernel": entry_id.replace("_", "-"), **FORMAT_DEFAULTS, **entry}
    for name in ("aliases", "suffixes"):
        values[name] = tuple(values[name])  # type: ignore[arg-type]
    return NumberFormat(**values)  # type: ignore[arg-type]


def make_mixture(entry_id: str, entry: Entry, stored_as: Callable[[str], NumberFormat]) -> Mixture:
    """Return a mixture's record; `stored_as` finds the number formats of its tensors."""
    values = {"id": entry_id, "importance_matrix": False, **entry, "stored_as": stored_as}
    values["aliases"] = tuple(values["aliases"])  # type: ignore[arg-type]
    return Mixture(**values)  # type: ignore[arg-type]


LINK_DEFAULTS: Entry = {**dict.fromkeys(Link._fields), "note": ""}


def make_link(entry_id: str, entry: Entry) -> Link:
    """Return a link's record."""
    lists: Entry = {name: tuple(entry.get(name, ())) for name in ("aliases", "accelerators")}  # type: ignore[arg-type]
    return Link(**{**LINK_DEFAULTS, "id": entry_id, **entry, **make_facts(entry), **lists})  # type: ignore[arg-type]


def make_protocol(entry_id: str, entry: Entry) -> Protocol:
    """Return a protocol's record."""
    facts = make_facts(entry)
    plain = {name: value for name, value in entry.items() if name not in facts}
    waits = {name: float(fact.value) for name, fact in facts.items()}
    return Protocol(**{"id": entry_id, "note": "", **plain, "facts": facts, "waits": waits})  # type: ignore[arg-type]


MACHINE_DEFAULTS: Entry = dict.fromkeys(("accelerator", "link", "host_link", "network", "cpu", "claim", "note"), "")
MACHINE_DEFAULTS |= {"devices": 0, "network_count": 0}


def make_machine(entry_id: str, entry: Entry) -> Machine:
    """Return a machine's record."""
    facts = make_facts(entry)
    plain = {name: value for name, value in entry.items() if name not in facts}
    aliases: tuple[str, ...] = tuple(entry["aliases"])  # type: ignore[arg-type]
    values: Entry = {"id": entry_id, **MACHINE_DEFAULTS, **plain, "aliases": aliases, "facts": facts}
    return Machine(**values)  # type: ignore[arg-type]


def make_processor(entry_id: str, entry: Entry) -> Processor:
    """Return a processor's record."""
    facts = make_facts(entry)
    plain = {name: value for name, value in entry.items() if name not in facts}
    aliases: tuple[str, ...] = tuple(entry["aliases"])  # type: ignore[arg-type]
    return Processor(**{"id": entry_id, **plain, "aliases": aliases, "facts": facts})  # type: ignore[arg-type]


def make_price(entry_id: str, entry: Entry) -> Price:
    """Return a price's record."""
    defaults: Entry = {"item": "", "pieces": 1, "seller": "", "region": "", "note": ""}
    return Price(**{"id": entry_id, **defaults, **entry})  # type: ignore[arg-type]


def make_engine(entry_id: str, entry: Entry) -> Engine:
    """Return an engine's record from its checked table."""
    listed: dict[str, Entry] = entry["coefficients"]  # type: ignore[assignment]
    coefficients = {
        name: EngineCoefficient(**{**item, "rows": tuple(item.get("rows", ()))})  # type: ignore[arg-type]
        for name, item in listed.items()
    }
    names = ("aliases", "usual_on", "formats", "drafters", "window_pools", "compressed_pages")
    lists: Entry = {name: tuple(entry.get(name, ())) for name in names}  # type: ignore[arg-type]
    eras = tuple(
        Era(**{**era, "packaged": Packaged(**era["packaged"]) if "packaged" in era else None})
        for era in entry.get("eras", ())  # type: ignore[attr-defined]
    )
    towers = {name: TowerBudget(**budget) for name, budget in entry.get("towers", {}).items()}  # type: ignore[attr-defined]
    backends = {maker: tuple(names) for maker, names in entry.get("backends", {}).items()}  # type: ignore[attr-defined]
    since = {change: item["version"] for change, item in entry.get("since", {}).items()}  # type: ignore[attr-defined]
    made = {"coefficients": coefficients, "eras": eras, "towers": towers, "backends": backends, "since": since}
    head = {**entry, **lists, **made}
    return Engine(id=entry_id, values={name: item.value for name, item in coefficients.items()}, **head)  # type: ignore[arg-type]


FAMILY_DEFAULTS: Entry = {
    "like": "",
    "matrix_factor": 1.0,
    "memory_factor": 1.0,
    "operations_per_byte": 0.0,
    "vector_per_byte": 0.0,
    "least_rows": 1.0,
    "powered": "",
    "lanes": 128.0,
}


def make_kernel_family(entry_id: str, entry: Entry) -> KernelFamily:
    """Return the record of a family of devices."""
    lists: Entry = {field: tuple(entry[field]) for field in ("covers", "measured")}  # type: ignore[arg-type]
    return KernelFamily(**{"id": entry_id, **FAMILY_DEFAULTS, **entry, **lists})  # type: ignore[arg-type]


def make_kernel_law(entry_id: str, entry: Entry) -> KernelLaw:
    """Return a kernel law's record."""
    lists: Entry = {field: tuple(entry.get(field, ())) for field in ("kernels", "engines")}  # type: ignore[arg-type]
    defaults: Entry = {"error": 0.0, "rows": 0, "reason": ""}
    return KernelLaw(**{"id": entry_id, **defaults, **entry, **lists})  # type: ignore[arg-type]


def make_coefficient(entry_id: str, entry: Entry) -> Coefficient:
    """Return a coefficient's record; one without a range is exact."""
    values = {"id": entry_id, "low": entry["value"], "high": entry["value"], **entry}
    return Coefficient(**values)  # type: ignore[arg-type]


def make_source(entry_id: str, entry: Entry) -> Source:
    """Return a source's record from its checked table."""
    return Source(**{"id": entry_id, "note": "", **entry})  # type: ignore[arg-type]


MAKERS = {
    "accelerators": make_accelerator,
    "support": make_support,
    "links": make_link,
    "protocols": make_protocol,
    "machines": make_machine,
    "processors": make_processor,
    "prices": make_price,
    "grids": make_grid,
    "launchers": make_launcher,
    "models": make_model,
    "number_formats": make_number_format,
    "engines": make_engine,
    "trainers": make_engine,
    "frameworks": make_framework,
    "sources": make_source,
    "kernel_families": make_kernel_family,
    "kernels": make_kernel_law,
    "coefficients": make_coefficient,
}
