"""Tables of mixtures of experts: what they store and use, what a batch reaches, and how devices divide them."""

from calc import estimate
from calc.architecture.parameters import parameters_active, parameters_total
from calc.architecture.routing import active_share, experts_touched, layers_with_experts, routing, touched_share
from calc.calculators.html import table, text
from calc.calculators.parts import on_all_devices
from calc.calculators.rendering import part_bytes
from calc.calculators.sizes import size_gb, size_gib
from calc.catalog import catalog
from calc.units import show_count, show_large_count, show_number
from macros.inline import Report
from macros.links import calculator_link
from macros.markdown import block
from macros.model_numbers import architecture_named

__all__ = ["expert_layout_table", "expert_table", "touched_table"]

BATCHES = (1, 4, 16, 64, 256)


def expert_table(*models: str) -> str:
    """Return what some mixtures store and what a token uses of it."""
    rows = []
    for name in models:
        model, architecture = catalog().model(name), architecture_named(name)
        total, active = parameters_total(architecture), parameters_active(architecture)
        experts, chosen = routing(architecture)
        shared = any(tensor.block == "shared_expert" for kind in architecture.kinds for tensor in kind.tensors)
        rows.append(
            [
                calculator_link("will-it-fit", model.name, model=model.id),
                show_large_count(total),
                show_large_count(active),
                f"{100 * active_share(architecture):.1f} %",
                f"{show_count(experts)} / {show_count(chosen)}",
                "yes" if shared else "no",
                f"{layers_with_experts(architecture)} of {architecture.layer_count}",
                size_gb(part_bytes(estimate({"model": model.id}), "weights")),
            ]
        )
    headings = (
        "Model",
        "Stored",
        "Active",
        "Share",
        "Experts / used",
        "Shared expert",
        "Layers with experts",
        "Weights as published",
    )
    return block(table(headings, rows, caption="Mixtures of experts: stored and active parameters"))


def touched_table(*models: str, batches: tuple[int, ...] = BATCHES) -> str:
    """Return how many experts of a layer a batch reaches, and the share of all parameters that it reads."""
    rows = []
    for name in models:
        architecture = architecture_named(name)
        experts, chosen = routing(architecture)
        cells = [text(catalog().model(name).name), show_count(experts)]
        for tokens in batches:
            reached = experts_touched(experts=experts, active=chosen, tokens=tokens)
            read = touched_share(architecture=architecture, tokens=tokens)
            cells.append(f"{show_number(reached, 2)} ({100 * read:.0f} %)")
        rows.append(cells)
    headings = ("Model", "Experts", *(f"{show_count(n)} token{'s' if n > 1 else ''}" for n in batches))
    caption = "Experts of a layer that a batch reaches (and the share of all parameters it reads)"
    return block(table(headings, rows, caption=caption))


def expert_layout_table(model: str, *layouts: tuple[str, dict[str, int]], weights: str = "fp8") -> str:
    """Return the weights on the fullest device under some layouts; a layout is its words and its degrees."""
    rows = []
    for words, degrees in layouts:
        report: Report = estimate({"model": model, "weights": weights, "parallelism": degrees})
        devices = report["scenario"]["accelerators"]
        size = part_bytes(report, "weights")
        rows.append([text(words), show_count(devices), size_gib(size), size_gib(on_all_devices(report, "weights"))])
    record = catalog().model(model)
    caption = f"{record.name}: weights in {catalog().weights_format(weights).name}"
    headings = ("Layout", "Devices", "On the fullest device", "On all of them, at most")
    return block(table(headings, rows, caption=caption))
