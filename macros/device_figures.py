"""The drawing of a device's memories, from its registers to the host's."""

from calc.calculators.html import element, text
from calc.calculators.sizes import size_binary
from calc.catalog import catalog
from macros.figures import WIDTH, whole_figure

__all__ = ["hierarchy_figure"]

ROW = 62  # of the drawing: a memory and the way above it


def hierarchy_figure(accelerator: str, host_link: str = "pcie-5-x16") -> str:
    """Return the drawing of a device's memories, from registers to its host's: sizes, and the rates between them."""
    record, link = catalog().accelerator(accelerator), catalog().link(host_link)
    units, fields = record.quantity("compute_units"), ("register_file", "shared_memory", "l2_cache")
    registers, shared, cache = (
        record.of_all_units(fields[0]),
        record.of_all_units(fields[1]),
        record.quantity(fields[2]),
    )
    if units is None or registers is None or shared is None or cache is None:
        raise ValueError(f"{record.id} has no {' or '.join(fields)}; it has {', '.join(record.facts)}")
    steps = [
        (f"Registers, {units:.0f} units", size_binary(registers)),
        (f"Shared memory, {units:.0f} units", size_binary(shared)),
        ("L2 cache", size_binary(cache)),
        ("Device memory", record.facts["memory"].show()),
        ("Host memory", ""),
    ]
    rates = {3: record.facts["bandwidth"].show(), 4: f"{link.one_way.show()} each way, {link.name}"}
    drawn = ""
    for index, (name, size) in enumerate(steps):
        width, top = 240 + 40 * index, index * ROW
        left = (WIDTH - width) // 2
        drawn += element("rect", x=left, y=top + 18, width=width, height=40, class_="figure-outline")
        words = f"{name}: {size}" if size else name
        drawn += element("text", text(words), x=WIDTH // 2, y=top + 43, text_anchor="middle")
        if index in rates:
            drawn += element("text", text(f"↕ {rates[index]}"), x=WIDTH // 2, y=top + 12, text_anchor="middle")
    said = ", ".join(f"{name} {size}".strip() for name, size in steps)
    caption = (
        f"The memories of {record.name}, nearest first. What is written between two of them is the rate of the way."
    )
    summary = f"{caption} {said}. Device memory is read at {rates[3]}, the host's at {rates[4]}."
    return whole_figure(drawn, "", caption, summary, height=ROW * len(steps))
