"""Tables and numbers of how devices are built: matrix and vector rates, memories from near to far, number formats."""

from calc.calculators.html import table, text
from calc.calculators.rendering import source_html
from calc.catalog import catalog
from calc.catalog.records import Accelerator, Fact
from calc.units import show_number
from macros.facts import fact_line
from macros.inline import device, opening, step
from macros.markdown import block

__all__ = [
    "balance",
    "extreme",
    "memory_table",
    "rate_ratio",
    "rate_table",
    "spec_sheet",
    "vector_table",
]

BALANCE = r"\frac{P}{BW}"
CACHES = ("l2_cache", "last_level_cache")
FORMATS = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8")


def known(record: Accelerator, field: str) -> Fact:
    """Return a fact of a device. Raises ValueError where it is not known."""
    if field not in record.facts:
        raise ValueError(f"{record.id} has no {field}; it has {', '.join(record.facts)}")
    return record.facts[field]


def rate_ratio(accelerator: str, field: str, over: str, digits: int = 2) -> str:
    """Return how many times a rate or size of a device is another of its own, inline, with both and their sources."""
    record = catalog().accelerator(accelerator)
    shown = show_number(known(record, field).times(known(record, over)), digits)
    numbers = f"{record.facts[field].show()} / {record.facts[over].show()}"
    working = fact_line(record, field) + fact_line(record, over)
    return opening(shown, working + step("How many times", r"\frac{a}{b}", numbers, shown))


def balance(accelerator: str, field: str = "bf16") -> str:
    """Return the operations a device can do for each byte it reads, inline: where memory and arithmetic balance."""
    record = catalog().accelerator(accelerator)
    rate, bandwidth = known(record, field), known(record, "bandwidth")
    shown = f"{show_number(rate.times(bandwidth))} operations"
    numbers = f"{rate.value:.4g} / {bandwidth.value:.4g}"
    working = fact_line(record, field) + fact_line(record, "bandwidth")
    return opening(shown, working + step("Operations for each byte", BALANCE, numbers, shown))


def extreme(field: str, which: str, segment: str = "", vendor: str = "", since: str = "") -> str:
    """Return the least or the most of a fact among the catalogue's devices, inline, with the device that has it.

    `which`: "least" or "most"; `segment`, `vendor` and `since` (a year) narrow the devices.
    """
    having = [
        record
        for record in catalog().accelerators()
        if record.quantity(field) is not None
        and segment in ("", record.segment)
        and vendor in ("", record.vendor)
        and record.released >= since
    ]
    if not having or which not in ("least", "most"):
        raise ValueError(f"no device has {field} in {segment or 'any segment'}, or {which!r} is neither least nor most")
    found = (min if which == "least" else max)(having, key=lambda record: record.quantity(field) or 0)
    return opening(found.facts[field].show(), fact_line(found, field))


def vector_table(*devices: str) -> str:
    """Return the rates of vector and matrix units of some devices, and how many times the one the other is."""
    rows = []
    for name in devices:
        record = catalog().accelerator(name)
        matrix = record.sixteen_bit
        if matrix is None:
            raise ValueError(f"{record.id} has no rate in 16 bit; it has {', '.join(record.facts)}")
        rows.append(
            [
                device(record),
                text(record.architecture),
                text(record.released[:4]),
                text(record.facts["fp32"].show()),
                text(matrix.show()),
                f"{matrix.times(known(record, 'fp32')):.1f}",
            ]
        )
    headings = ("Device", "Generation", "Year", "Vector, FP32", "Matrix, 16 bit", "Matrix over vector")
    return block(table(headings, rows, caption="Peak rates of vector and matrix units, dense", words=3))


def memory_table(*devices: str) -> str:
    """Return the memories of some devices from near to far: last-level caches, device memory, the link to the host."""
    rows = []
    for name in devices:
        record = catalog().accelerator(name)
        caches = ", ".join(record.facts[field].show() for field in CACHES if field in record.facts)
        units = record.facts.get("compute_units")
        rows.append(
            [
                device(record),
                text(units.show()) if units else "–",
                text(caches or "–"),
                text(str(record.facts["memory_type"].value)) if "memory_type" in record.facts else "–",
                text(record.facts["memory"].show()),
                text(record.facts["bandwidth"].show()),
                text(str(record.facts["pcie"].value)) if "pcie" in record.facts else "–",
            ]
        )
    headings = ("Device", "Compute units", "Last-level cache", "Memory", "Size", "Bandwidth", "PCIe")
    return block(table(headings, rows, caption="Memories from near to far", words=(0, 3, 6)))


def rate_table(*devices: str) -> str:
    """Return the dense rates of some devices in each number format that one of them has a rate for."""
    records = [catalog().accelerator(name) for name in devices]
    fields = [field for field in FORMATS if any(field in record.facts for record in records)]
    rows = []
    for record in records:
        cells = [text(record.facts[field].show()) if field in record.facts else "–" for field in fields]
        rows.append([device(record), text(record.architecture), *cells])
    headings = ("Device", "Generation", *("FP32 (vector)" if name == "fp32" else name.upper() for name in fields))
    return block(table(headings, rows, caption="Peak rates by number format, dense", words=2))


def spec_sheet(accelerator: str) -> str:
    """Return every fact of a device as a data sheet would have it, with what it means: basis, source and note."""
    record = catalog().accelerator(accelerator)
    rows = []
    for field, found in record.facts.items():
        named = field.upper() if field in FORMATS else field.replace("_", " ").capitalize().replace("Pcie", "PCIe")
        others = "".join(
            f"<br>{text(f'{other.value} {other.unit}'.strip())}, says {source_html(other.source)}. {text(other.note)}"
            for other in record.also
            if other.field == field
        )
        said = f"<br>{text(found.note)}" if found.note else ""
        rows.append(
            [text(named), text(found.show()), text(found.basis) or "–", source_html(found.source) + said + others]
        )
    headings = ("Fact", "Value", "Basis", "Source")
    return block(table(headings, rows, caption=f"What is known of the {record.name}", words=4))
