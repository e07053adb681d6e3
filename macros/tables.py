"""The guide's tables, each cell asked of `calc` and each row made from the catalogue."""

from typing import Any

from calc import estimate
from calc.architecture.parameters import parameters_total
from calc.calculators.html import table, text
from calc.calculators.parts import bytes_of
from calc.calculators.rendering import part_bytes
from calc.calculators.sizes import size_gb, size_gib
from calc.catalog import catalog
from calc.catalog.records import Accelerator, Engine
from calc.planning.usual_engine import format_of_bits
from calc.scenario.model import known_architecture
from calc.units import GB, GIB, MB, MIB, TB, TIB, show_count, show_large_count, show_larger
from macros.links import calculator_link
from macros.markdown import block

__all__ = ["device_count_table", "fitting_table", "llama_table", "precision_table", "unit_table"]

Report = dict[str, Any]
PRECISIONS = ("fp32", "bf16", "fp8", "int8", "awq", "nf4-dq")


def precision_table(*models: str, formats: tuple[str, ...] = PRECISIONS) -> str:
    """Return the memory of the weights of some models in each number format; a cell leads to the calculator."""
    rows = []
    for name in models:
        model = catalog().model(name)
        cells = [
            text(model.name),
            show_large_count(parameters_total(known_architecture(catalog(), model.id))),
        ]
        for number_format in formats:
            size = part_bytes(estimate({"model": model.id, "weights": number_format}), "weights")
            cells.append(calculator_link("will-it-fit", size_gb(size), model=model.id, weights=number_format))
        rows.append(cells)
    headings = ("Model", "Parameters", *(catalog().number_format(name).name for name in formats))
    return block(table(headings, rows, caption="Memory of the weights, by number format"))


def llama_table(*models: str, sequences: int = 2, context_tokens: int = 1024) -> str:
    """Return size on disk, cache and their sum, for some models in 16 bit; a row leads to the calculator."""
    rows = []
    for name in models:
        model = catalog().model(name)
        architecture = known_architecture(catalog(), model.id)
        asked = {"sequences": sequences, "context_tokens": context_tokens}
        report = estimate({"model": model.id, "weights": "fp16", "kv_cache": "fp16", **asked})
        weights, cache = part_bytes(report, "weights"), part_bytes(report, "kv_cache")
        rows.append(
            [
                calculator_link("will-it-fit", model.name, model=model.id, weights="fp16", kv_cache="fp16", **asked),
                show_count(parameters_total(architecture)),
                show_count(architecture.layer_count),
                show_count(architecture.attention.heads) if architecture.attention else "–",
                show_count(architecture.hidden_size),
                size_gb(weights),
                size_gib(cache),
                size_gb(bytes_of(report, ("weights", "kv_cache"))),
            ]
        )
    headings = ("Model", "Parameters", "Layers", "Heads", "Hidden size", "On disk", "Cache", "Disk and cache")
    caption = f"{sequences} sequences of {show_count(context_tokens)} tokens, FP16"
    return block(table(headings, rows, caption=caption))


def device_count_table(
    models: tuple[str, ...],
    devices: tuple[str, ...],
    weights: str = "",
    bits: int = 0,
    context_tokens: int = 8192,
    sequences: int = 1,
) -> str:
    """Return the fewest devices of each kind on which each model fits; a cell leads to the calculator.

    With `weights` by the mathematics alone. With `bits` under the engine that is usual on a device, in the engine's own
    number format of that many; where the mathematics alone would do with another number, that stands behind it.
    """
    asked = {"context_tokens": context_tokens, "sequences": sequences}
    records = [catalog().accelerator(name) for name in devices]
    under = [{"weights": weights, "engine": "none"} if weights else usual_case(record, bits) for record in records]
    rows = []
    for name in models:
        model = catalog().model(name)
        cells = [text(model.name)]
        for record, chosen in zip(records, under, strict=True):
            case = {"model": model.id, "accelerator": record.id, **chosen, **asked}
            count, alone = (devices_needed({**case, "engine": engine}) for engine in (chosen["engine"], "none"))
            linked = calculator_link("will-it-fit", show_count(count), **case, accelerators=count) if count else "–"
            cells.append(linked + (f" ({show_count(alone)})" if alone and alone != count else ""))
        rows.append(cells)
    many = "one sequence" if sequences == 1 else f"{show_count(sequences)} sequences"
    named = " or ".join(dict.fromkeys(case_name(**chosen) for chosen in under))
    alone_note = "" if weights else ". In brackets: by the mathematics alone"
    caption = f"Fewest devices: weights in {named}, {many} of {show_count(context_tokens)} tokens{alone_note}"
    return block(table(("Model", *(device.name for device in records)), rows, caption=caption))


def usual_case(record: Accelerator, bits: int) -> dict[str, str]:
    """Return the engine that is usual on a device, and its number format of so many bits."""
    engine = first_engine(record)
    return {"weights": format_of_bits(engine, bits, catalog()), "engine": engine.id}


def case_name(*, weights: str, engine: str) -> str:
    """Return a number format and the engine in words."""
    under = "" if engine == "none" else f" under {catalog().engine(engine).name}"
    return catalog().weights_format(weights).name + under


def devices_needed(case: dict[str, object]) -> int | None:
    """Return the fewest devices on which a case fits."""
    report: Report = estimate(case, repairs=False)
    count: int | None = report["memory"]["devices_needed"]
    return count


def first_engine(record: Accelerator) -> Engine:
    """Return the engine that is usual on a device."""
    return next(engine for engine in catalog().engines() if record.segment in engine.usual_on)


def fitting_table(device: str, models: tuple[str, ...], bits: tuple[int, ...] = (16, 8, 4)) -> str:
    """Return the tokens of cache that are left beside each model on one device, by bits, under its usual engine."""
    record = catalog().accelerator(device)
    engine = first_engine(record)
    formats = [format_of_bits(engine, count, catalog()) for count in bits]
    rows = []
    for name in models:
        model = catalog().model(name)
        cells = [text(model.name)]
        for number_format in formats:
            asked = {"model": model.id, "weights": number_format, "accelerator": record.id, "engine": engine.id}
            fits = estimate({**asked, "context_tokens": 2048}, repairs=False)["memory"]["fits"]  # type: ignore[index]
            whole: Report = estimate({**asked, "context_tokens": model.context_tokens}, repairs=False)
            tokens = whole["memory"]["kv_pool_tokens"] if fits else 0
            shown = f"{show_large_count(tokens)} tokens" if tokens else "does not fit"
            cells.append(calculator_link("will-it-fit", shown, **asked))
        rows.append(cells)
    headings = ("Model", *(catalog().weights_format(name).name for name in formats))
    caption = f"Room for cache beside the weights on {record.name} ({record.memory_fact.show()}) under {engine.name}"
    return block(table(headings, rows, caption=caption))


def unit_table() -> str:
    """Return decimal and binary units side by side."""
    pairs = (("MB", MB, "MiB", MIB), ("GB", GB, "GiB", GIB), ("TB", TB, "TiB", TIB))
    rows = [
        [decimal, show_count(small), binary, show_count(large), show_larger(large, small)]
        for decimal, small, binary, large in pairs
    ]
    return block(table(("Decimal", "Bytes", "Binary", "Bytes", "Larger by"), rows, caption="Units of memory"))
