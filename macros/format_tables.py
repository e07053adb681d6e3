"""Tables of number formats: what they store, true bits per weight, llama.cpp's choices, and what devices compute in."""

from calc import estimate
from calc.calculators.html import element, table, text
from calc.calculators.rendering import part_bytes, source_html
from calc.calculators.sizes import size_decimal
from calc.catalog import catalog
from calc.memory.effective_bits import StoredTensors, bits_per_weight, matrix_bits, stored_by_tensor, together
from calc.memory.rounding import SIGNIFICANT_BITS, largest_level, nearest_float, nearest_level, rounding_error
from calc.units import show_count, show_large_count, show_number
from macros.inline import Report, opening, step
from macros.links import calculator_link
from macros.markdown import block
from macros.model_numbers import architecture_named

__all__ = [
    "bits_table",
    "format_table",
    "mixture_table",
    "mixture_working",
    "native_table",
    "rounded",
    "rounding_table",
]

SCOPES = {
    "all": "everything",
    "matrices": "all matrices, embedding and output matrix among them",
    "linear": "the layers' matrices",
    "experts": "the experts' matrices, if there are any",
}
COMPUTED_IN = ("fp32", "bf16", "fp16", "int8", "fp8", "fp4")


def format_table() -> str:
    """Return the number formats of the catalogue with the bits that a large matrix really takes for each weight."""
    rows = []
    for record in catalog().number_formats():
        kept = SCOPES[record.scope]
        cells = [element("code", text(record.id)), text(record.summary), kept, source_html(record.source)]
        rows.append([*cells, f"{record.bits:g}", f"{matrix_bits(record):.3f}"])
    headings = ("Name", "What it stores", "For", "Source", "Bits of an element", "Bits per weight")
    return block(table(headings, rows, caption="Number formats; bits per weight of a 4,096 × 4,096 matrix", words=4))


def rounding_table(value: float, largest: tuple[float, ...]) -> str:
    """Return what formats make of one number; whole numbers in groups whose largest weight is each of `largest`."""
    rows = []
    for name, significant in SIGNIFICANT_BITS.items():
        read = nearest_float(value, significant_bits=significant)
        rows.append(
            [
                catalog().number_format(name).name,
                "the nearest that it has",
                f"{read:.10g}",
                show_number(rounding_error(value, read), 2),
            ]
        )
    for bits in (8, 4):
        for most in largest:
            level, read = nearest_level(value, largest=most, bits=bits)
            kind = f"INT{bits}, where the largest of the group is {most:g}"
            rows.append(
                [
                    kind,
                    f"{level} × {most:g} / {largest_level(bits)}",
                    f"{read:.6g}",
                    show_number(rounding_error(value, read), 2),
                ]
            )
    headings = ("Format", "What is stored", "Read back as", "Off by")
    return block(table(headings, rows, caption=f"What formats make of {value}", words=2))


def rounded(value: float, number_format: str, largest: float = 0.0) -> str:
    """Return what a format makes of one number, inline: a cast, or whole steps where a group's largest is given."""
    if not largest:
        read = nearest_float(value, significant_bits=SIGNIFICANT_BITS[number_format])
        name = catalog().number_format(number_format).name
        numbers = f"{value:.10g}, {SIGNIFICANT_BITS[number_format]} significant bits"
        return opening(f"{read:.6g}", step(name, r"\text{nearest}(x)", numbers, f"{read:.10g}"))
    bits = int(number_format.removeprefix("int"))
    level, read = nearest_level(value, largest=largest, bits=bits)
    numbers = f"{level} × {largest:g} / {largest_level(bits)}"
    return opening(
        f"{read:.6g}", step(f"INT{bits}", r"\text{round}\left(\frac{x}{s}\right) \cdot s", numbers, f"{read:.6g}")
    )


def bits_table(*models: str, formats: tuple[str, ...], files: str = "") -> str:
    """Return the true bits per weight of whole models in some formats; a cell leads to the calculator.

    `files` says in the caption which files they are, which tells two such tables on a page apart.
    """
    rows = []
    for name in models:
        model = catalog().model(name)
        cells = [text(model.name), ""]
        for weights in formats:
            report: Report = estimate({"model": model.id, "weights": weights})
            count = report["model"]["parameters_total"]
            cells[1] = show_large_count(count)
            size = part_bytes(report, "weights")
            cells.append(
                calculator_link(
                    "will-it-fit",
                    f"{bits_per_weight(size_bytes=size, parameters=count):.2f}",
                    model=model.id,
                    weights=weights,
                )
            )
        rows.append(cells)
    headings = ("Model", "Parameters", *(catalog().weights_format(name).name for name in formats))
    caption = f"Bits per weight over the whole model{', ' if files else ''}{files}"
    return block(table(headings, rows, caption=caption))


def mixture_table(model: str) -> str:
    """Return llama.cpp's mixtures, with the true bits per weight of one model in each."""
    rows = []
    for record in catalog().mixtures():
        report: Report = estimate({"model": model, "weights": record.id})
        size = part_bytes(report, "weights")
        link = calculator_link("will-it-fit", size_decimal(size), model=model, weights=record.id)
        base = catalog().number_format(record.base).name
        bits = bits_per_weight(size_bytes=size, parameters=report["model"]["parameters_total"])
        rows.append([text(record.name), text(record.summary), base, source_html(record.source), f"{bits:.2f}", link])
    name = catalog().model(model).name
    headings = ("Name", "What it stores", "Mostly", "Source", "Bits per weight", f"{name}")
    return block(table(headings, rows, caption=f"llama.cpp's mixtures; size of {name}", words=4))


def mixture_working(model: str, mixture: str) -> str:
    """Return which format llama.cpp gives each tensor of a model, with what it adds up to."""
    architecture, record = architecture_named(model), catalog().weights_format(mixture)
    found = stored_by_tensor(architecture=architecture, weights=record)
    rows = []
    for item in found:
        named = element("code", text(item.name)) if "." in item.name else text(item.name)
        rows.append([named, text(item.format_name), show_count(item.alike), *stored_cells(item)])
    rows.append(["All", "", "", *stored_cells(together(found))])
    caption = f"{catalog().model(model).name} in {record.name}"
    headings = ("Tensor", "Stored as", "How many", "Parameters", "Bits per weight", "Size")
    return block(table(headings, rows, caption=caption, words=2))


def stored_cells(item: StoredTensors) -> list[str]:
    """Return the cells of stored tensors: their parameters, the bits of each, and the size of all."""
    return [show_large_count(item.parameters), f"{item.bits:.2f}", size_decimal(item.stored_bytes)]


def native_table() -> str:
    """Return for each generation of devices which formats the catalogue has a rate for: those it computes in."""
    generations: dict[tuple[str, str], list[set[str]]] = {}
    first: dict[tuple[str, str], str] = {}
    for record in catalog().accelerators():
        key = (record.vendor, record.architecture)
        generations.setdefault(key, []).append({name for name in COMPUTED_IN if name in record.facts})
        first[key] = min(first.get(key, record.released), record.released)
    rows = []
    for key in sorted(generations, key=lambda key: (key[0], first[key])):
        devices = generations[key]
        rates = [len([name for known in devices if name in known]) for name in COMPUTED_IN]
        shown = ["yes" if count == len(devices) else f"{count} of {len(devices)}" if count else "–" for count in rates]
        rows.append([text(key[1]), text(key[0]), text(first[key]), *shown])
    headings = ("Generation", "Maker", "Since", *(name.upper() for name in COMPUTED_IN))
    return block(table(headings, rows, caption="Formats with a peak rate in the catalogue, by generation", words=3))
