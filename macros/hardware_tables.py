"""Tables of hardware: accelerators, machines, and what makers claim beside what is computed."""

import datetime
from typing import Any

from calc import estimate
from calc.calculators.html import element, table, text
from calc.calculators.sizes import size, size_gb
from calc.catalog import catalog
from calc.catalog.records import Accelerator, Machine, Price
from calc.lines.own_device import CURRENT
from calc.units import GIB, show_dollars, show_gb, show_gib, show_number, show_times
from macros.facts import device_link
from macros.filtered import Bound, filtered, missing, sortable
from macros.links import calculator_link
from macros.markdown import block

__all__ = [
    "accelerator_table",
    "claim_table",
    "machine_table",
    "memory_option_table",
]

Report = dict[str, Any]
MEMORY_BINS_GIB = (8, 12, 16, 20, 24, 32, 48, 80, 96, 128, 180, 288, 1024)
FIELDS = {
    "memory": "Memory",
    "memory_reported": "Reported by its driver",
    "bandwidth": "Bandwidth",
    "bf16": "BF16",
    "fp16": "FP16",
    "fp8": "FP8",
    "fp4": "FP4",
    "power": "Power",
}
SIZES = ("memory", "memory_reported")
BOUNDS = (Bound("Memory", "GB", 1e9), Bound("Bandwidth", "GB/s", 1e9))
SEGMENTS = {
    "data-center": "data centre",
    "workstation": "workstation",
    "consumer": "consumer",
    "soc": "shared memory",
    "cloud": "cloud alone",
}
KINDS = {"server": "server", "rack": "rack", "workstation": "workstation", "desktop": "desktop", "cloud": "cloud"}
JOINED = {
    "single": "one device",
    "pcie": "through the host",
    "bridge": "bridge of two",
    "switched": "switches",
    "mesh": "each to each other",
    "torus": "neighbours",
    "network": "network",
}


def fact_cell(record: Accelerator | Machine, field: str) -> str:
    """Return a fact as a cell in the order of its value; a dash where it is not known."""
    found = record.facts.get(field)
    if found is None:
        return missing()
    if isinstance(found.value, str):
        return text(found.show())
    return size_cell(found.value, found.show()) if field in SIZES else sortable(found.value, text(found.show()))


def size_cell(size_bytes: float, shown: str) -> str:
    """Return a size as a cell in the order of its value, which can be read in GB where it stands in GiB."""
    return size(size_bytes, shown, show_gb(size_bytes) if "iB" in shown else show_gib(size_bytes))


def link_text(record: Accelerator) -> str:
    """Return how a device reaches others: its own link with what that carries both ways, or PCIe."""
    carried = record.facts.get("link_bandwidth")
    link, pcie = record.text("link"), record.text("pcie")
    if link not in ("", "none"):
        return f"{link}, {carried.show()}" if carried else link
    return f"PCIe {pcie}" if pcie else ""


def accelerator_table() -> str:
    """Return the accelerators of the catalogue, to be filtered and sorted; a name opens every fact with its source.

    Those come first that one can have today, new or by the hour, ahead of them what most sellers offer.
    """
    rows = []
    listed = catalog().accelerators()
    for record in sorted(listed, key=asked_for, reverse=True):
        rows.append(
            [
                device_link(record),
                *(fact_cell(record, field) for field in FIELDS),
                text(record.released),
                text(SEGMENTS[record.segment]),
                text(record.vendor),
                text(link_text(record)) or missing(),
                text(record.text("rocm")) or missing(),
                text(record.architecture),
            ]
        )
    headings = ("Device", *FIELDS.values(), "Released", "Made for", "Maker", "Link", "ROCm", "Architecture")
    words = (0, *range(1 + len(FIELDS), len(headings)))
    caption = "Accelerators: peak rates are dense, links count both ways"
    return filtered(table(headings, rows, caption=caption, words=words), things="accelerators", bounds=BOUNDS)


def asked_for(record: Accelerator) -> tuple[bool, int, str]:
    """Return what puts a device before others: that one can have it, how many sell or rent it, and its first day."""
    sellers = {price.seller for price in catalog().prices("accelerators", record.id)}
    return record.availability in CURRENT, len(sellers), record.released


def bin_of(accelerator: Accelerator) -> int:
    """Return the memory bin of an accelerator: the smallest that holds its advertised memory, in GiB."""
    advertised = accelerator.quantity("memory") or 0
    return next((size for size in MEMORY_BINS_GIB if advertised <= size * GIB), MEMORY_BINS_GIB[-1])


def memory_option_table(least_gib: int = 8) -> str:
    """Return which devices there are in each memory bin, by maker, newest first."""
    listed = sorted(catalog().accelerators(), key=lambda record: record.released, reverse=True)
    rows = []
    previous = 0
    for bin_gib in MEMORY_BINS_GIB:
        inside = [record for record in listed if bin_of(record) == bin_gib]
        if inside and bin_gib >= least_gib:
            exact = all(record.quantity("memory") == bin_gib * GIB for record in inside)
            over = f"over {previous} to {bin_gib} GiB" if previous else f"up to {bin_gib} GiB"
            makers = sorted({record.vendor for record in inside}, key=lambda vendor: (vendor != "NVIDIA", vendor))
            lines = (
                element("strong", text(maker))
                + ": "
                + text(", ".join(record.name for record in inside if record.vendor == maker))
                for maker in makers
            )
            rows.append([f"{bin_gib} GiB" if exact else over, "<br>".join(lines)])
            previous = bin_gib
    return block(table(("Memory", "Devices"), rows, caption="Devices by memory, as advertised", words=2))


def price_cell(price: Price | None) -> str:
    """Return a price with its kind and day, which leads to its source; a dash where none is known."""
    if price is None:
        return missing()
    day = element("a", text(price.checked), href=catalog().source(price.source).url, rel="noopener")
    old = " (old)" if price.is_stale(datetime.date.today().isoformat()) else ""
    unit = "" if price.per == "piece" else f" an {price.per}"
    amount = (
        f"{show_dollars(price.each)}{unit}"
        if price.currency == "USD"
        else f"{show_number(price.each)} {price.currency}"
    )
    return sortable(price.each, f"{amount}, {text(price.kind)} {day}{old}")


def memory_cell(machine: Machine) -> str:
    """Return the memory of all devices of a machine together, as programs see it."""
    record = catalog().accelerator(machine.accelerator)
    whole = machine.whole_bytes(record.capacity_bytes)
    return size_cell(whole, f"{whole / GIB:,.0f} GiB")


def machine_table(*kinds: str) -> str:
    """Return machines of some kinds with devices, links, host, power and newest price, to be filtered and sorted."""
    unknown = set(kinds) - set(KINDS)
    if unknown or not kinds:
        raise ValueError(f"kinds are out of {', '.join(KINDS)}, not {', '.join(sorted(unknown)) or 'none'}")
    facts = catalog()
    rows = []
    for machine in facts.machines():
        if machine.kind not in kinds or not machine.accelerator:
            continue
        link = facts.link(machine.link) if machine.link else None
        between = f"{link.name}, {link.one_way.show()} each way" if link else JOINED[machine.topology]
        price = next(iter(facts.prices("machines", machine.id)), None)
        count = f"{machine.devices} × " if machine.devices > 1 else ""
        rows.append(
            [
                element("a", text(machine.name), href=facts.source(machine.source).url, rel="noopener"),
                sortable(machine.devices, text(f"{count}{facts.accelerator(machine.accelerator).name}")),
                memory_cell(machine),
                text(between),
                text(machine.cpu) or missing(),
                fact_cell(machine, "host_memory"),
                fact_cell(machine, "power"),
                price_cell(price),
            ]
        )
    if not rows:
        raise ValueError(f"no machine of the kinds {', '.join(kinds)} is in the catalogue")
    headings = ("Machine", "Devices", "Memory in all", "Between devices", "Processors", "Host memory", "Power", "Price")
    caption = f"Machines: {', '.join(KINDS[kind] for kind in kinds)}"
    bounds = (Bound("Memory in all", "GB", 1e9),)
    return filtered(table(headings, rows, caption=caption, words=(0, 1, 3, 4)), things="machines", bounds=bounds)


def claim_table(models: dict[str, str]) -> str:
    """Return what makers claim of machines, beside what is computed for a model of the claimed size.

    `models` names the model for each machine, by their ids.
    """
    rows = []
    for name, model in models.items():
        machine, record = catalog().machine(name), catalog().model(model)
        memory = machine.quantity("memory")
        if memory is None:
            device = catalog().accelerator(machine.accelerator)
            memory = machine.whole_bytes(device.quantity("memory") or 0)
        claim = machine.claim or machine.note
        link = element("a", text(machine.name), href=catalog().source(machine.source).url, rel="noopener")
        cells = [f"{link} {element('small', text(claim))}", size_gb(memory), text(record.name)]
        for weights in ("bf16", "int8", "nf4-dq"):
            report: Report = estimate({"model": model, "weights": weights, "context_tokens": 2048})
            size = report["memory"]["device_bytes"]
            shown = "fits: " if size <= memory else "too large: "
            shown += size_gb(size)
            cells.append(calculator_link("will-it-fit", shown, model=model, weights=weights, context_tokens=2048))
        cells += [training_cell(model, memory, method) for method in ("qlora", "full")]
        rows.append(cells)
    headings = (
        "Machine, and what is said of it",
        "Memory",
        "A model of that size",
        "Running it in BF16",
        "in 8 bit",
        "in 4 bit",
        "QLoRA",
        "Fine-tuning in full",
    )
    caption = "Claims beside what is computed: one sequence of 2,048 tokens, without an engine"
    return block(table(headings, rows, caption=caption, class_="calc-offers", words=(0, 2, 3, 4, 5, 6, 7)))


def training_cell(model: str, memory: float, method: str) -> str:
    """Return what fine-tuning takes on one device that is large enough, and whether the memory would do."""
    asked = {"workload": "training", "model": model, "method": method, "sequence_tokens": 2048, "micro_batch": 1}
    report: Report = estimate({**asked, "checkpointing": "full"})
    size = report["memory"]["device_bytes"]
    verdict = "fits" if size <= memory else f"{show_times(size, memory, digits=1)} too large"
    return f"{verdict}: {size_gb(size)}"
