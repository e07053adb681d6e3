"""Tables of what is kept of a parameter, by precision and optimizer, and of what number formats do to updates."""

from calc import estimate
from calc.calculators.html import element, table, text
from calc.calculators.sizes import size_gb
from calc.catalog import catalog
from calc.memory.rounding import (
    SIGNIFICANT_BITS,
    after_updates,
    exact_updates,
    nearest_float,
    nearest_half,
    scaled_half,
)
from calc.memory.training.states import OPTIMIZERS, SCHEMES
from calc.training.step import bytes_a_parameter, model_states, states_bytes, together
from calc.units import show_any, show_count
from macros.markdown import block
from macros.training_numbers import Report, full_parameters, training
from macros.training_tables import cited

__all__ = ["optimizer_table", "scheme_table", "underflow_table", "update_table"]


CELLS = ("weights", "master_weights", "gradients", "optimizer_states")  # of a precision scheme
LEAST = 0.01  # bytes a parameter, below which a table says so


def scheme_table(model: str) -> str:
    """Return what each precision scheme keeps of a parameter: bytes of weight, master, gradient, AdamW's states."""
    count = full_parameters(model)
    rows = []
    for scheme in SCHEMES.values():
        widths = [scheme.gradient, *((2,) if scheme.master and scheme.gradient == 4 else ())]
        for width in widths:
            kind = {4: "fp32", 2: "fp16" if scheme.id.startswith("fp16") else "bf16"}[width]
            run = training({"model": model, "precision": scheme.id, "gradient_dtype": kind})
            parts = model_states(run)
            sizes = [*(parts[name] for name in CELLS), states_bytes(run)]
            cells = [f"{bytes_a_parameter(size, parameters=count):.3g}" if size else "–" for size in sizes]
            name = element("code", scheme.id) + (f", {kind.upper()} gradients" if width != scheme.gradient else "")
            rows.append([name, *cells, size_gb(sizes[-1]), cited(scheme.source)])
    named = catalog().model(model).name
    headings = ("Precision", "Weight", "Master", "Gradient", "AdamW", "Together", named, "Source")
    caption = f"Bytes that a trained parameter costs, and {named} with them"
    return block(table(headings, rows, caption=caption, words=(0, 7)))


def optimizer_table(model: str, precision: str = "bf16-mixed") -> str:
    """Return what each optimizer keeps of a parameter, and all that a model's parameters then cost."""
    count = full_parameters(model)
    rows = []
    for optimizer in OPTIMIZERS.values():
        report: Report = estimate(training({"model": model, "precision": precision, "optimizer": optimizer.id}))
        parts, host = model_states(report["scenario"]), report["memory"]["host_bytes"]
        size = together({"device": parts["optimizer_states"], "host": host})
        each, where = bytes_a_parameter(size, parameters=count), "host" if host else "device"
        rows.append(
            [
                element("code", text(optimizer.id)),
                f"{each:.3g}" if each > LEAST else "under 0.01" if size else "–",
                where if size else "–",
                size_gb(size) if size else "–",
                size_gb(together(parts)),
                cited(optimizer.source),
            ]
        )
    named = catalog().model(model).name
    headings = ("Optimizer", "Bytes a parameter", "Kept on the", f"States of {named}", "All on the device", "Source")
    caption = f"What optimizers keep, with {precision}"
    return block(table(headings, rows, caption=caption, words=(0, 2, 5)))


def update_table(weight: float, change: float, counts: tuple[int, ...] = (1, 100, 1000)) -> str:
    """Return what becomes of a weight that is changed by a little many times, in formats that keep it."""
    rows = []
    for name, significant in SIGNIFICANT_BITS.items():
        kept = after_updates(weight, change, counts=counts, significant_bits=significant)
        rows.append([catalog().number_format(name).name, *(f"{value:.6g}" for value in kept)])
    exact = exact_updates(weight, change, counts=counts)
    rows.append(["Exact", *(f"{value:.6g}" for value in exact)])
    headings = ("Kept in", *(f"After {show_count(count)}" for count in counts))
    return block(table(headings, rows, caption=f"A weight of {weight:g} after updates of {show_any(change)} each"))


def underflow_table(scale_bits: int, *gradients: float) -> str:
    """Return what FP16 makes of small gradients, as they are and with the loss scaled by a power of two, and BF16."""
    bf16 = SIGNIFICANT_BITS["bf16"]
    rows = []
    for gradient in gradients:
        scaled, divided = scaled_half(gradient, scale_bits=scale_bits)
        cells = (nearest_half(gradient), scaled, divided, nearest_float(gradient, significant_bits=bf16))
        rows.append([show_any(gradient), *map(show_any, cells)])
    headings = (
        "Gradient",
        "In FP16",
        f"Times {show_count(1 << scale_bits)}, in FP16",
        "Divided again, in FP32",
        "In BF16",
    )
    return block(table(headings, rows, caption="Small and large gradients in 16 bit"))
