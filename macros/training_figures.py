"""Drawings of training: a step's moments as bars, what ZeRO divides as blocks, the matrices of an adapter."""

from calc.calculators.html import element, text
from calc.calculators.sizes import size_gb, size_gib
from calc.catalog import catalog
from calc.memory.training.working import LABELS
from calc.training.step import STATES, model_states, moments
from calc.units import show_count
from macros.figures import WIDTH, whole_figure
from macros.model_numbers import architecture_named
from macros.training_numbers import training

__all__ = ["adapter_figure", "stage_figure", "step_figure"]

LEAST = 0.004  # of the widest moment: a part that is smaller cannot be seen
ROW, BAR = 40, 16  # a moment's row, and its bar in it
DEVICE, GAP, TALL = 62, 10, 90  # a device's block: width, space between two, height of all states
STAGES = (("Nothing divided", "none"), ("ZeRO-1", "zero-1"), ("ZeRO-2", "zero-2"), ("ZeRO-3, FSDP", "zero-3"))


def part_legend(parts: dict[str, None]) -> str:
    """Return the legend of parts: a box of the part's colour, and its name."""
    legend = ""
    for part in parts:
        box = element("rect", x=0, y=0, width=12, height=12, class_=f"part-{part}")
        drawing = element("svg", box, viewBox="0 0 12 12", class_="figure-dot", aria_hidden="true")
        legend += element("li", drawing + text(LABELS[part]))
    return legend


def step_figure(caption: str, **run: object) -> str:
    """Return the figure of a step's moments, from the top to the bottom: the tensors alive at each, by part."""
    found = moments(training(run))
    widest = max(moment.total for moment in found)
    drawn, parts = "", dict.fromkeys(p for moment in found for p, size in moment.parts.items() if size > widest * LEAST)
    said = []
    for index, moment in enumerate(found):
        top, left = index * ROW, 0.0
        peak = moment.total == widest
        words = f"{moment.reason[0].upper()}{moment.reason[1:]}: {size_gib(moment.total)}" + (
            ", the peak" if peak else ""
        )
        said.append(words)
        drawn += element("text", text(words), x=0, y=top + 14, class_="figure-peak" if peak else None)
        for part in parts:
            width = WIDTH * moment.parts[part] / widest
            drawn += element(
                "rect", x=f"{left:.1f}", y=top + 20, width=f"{width:.1f}", height=BAR, class_=f"part-{part}"
            )
            left += width
    summary = f"Tensors alive at the widest moments of a step, in their order. {'; '.join(said)}."
    return whole_figure(drawn, part_legend(parts), caption, summary, height=ROW * len(found))


def stage_figure(model: str, devices: int = 4, **run: object) -> str:
    """Return the figure of what ZeRO divides: the states on each device as blocks, by stage."""
    drawn, said, top = "", [], 0
    asked = training({"model": model, **run, "accelerators": devices})
    whole = sum(model_states(asked).values())
    parts: dict[str, None] = {}
    for name, stage in STAGES:
        states = model_states(asked | {"sharding": stage})
        parts |= dict.fromkeys(part for part in STATES if states[part])
        words = f"{name}: {size_gb(sum(states.values()))} on each"
        said.append(words)
        drawn += element("text", text(words), x=0, y=top + 14)
        for device in range(devices):
            bottom = float(top + 20 + TALL)
            left = device * (DEVICE + GAP)
            for part in parts:
                height = TALL * states[part] / whole
                bottom -= height
                place, tall = f"{bottom:.1f}", f"{height:.1f}"
                drawn += element("rect", x=left, y=place, width=DEVICE, height=tall, class_=f"part-{part}")
            drawn += element("rect", x=left, y=top + 20, width=DEVICE, height=TALL, class_="figure-outline")
        top += TALL + 34
    named = catalog().model(model).name
    caption = f"Model states of {named} on each of {devices} devices, by what is divided. The outline is all of them."
    return whole_figure(
        drawn, part_legend(parts), caption, f"{named} on {devices} devices. {'; '.join(said)}.", height=top
    )


def adapter_figure(model: str, matrix: str, rank: int) -> str:
    """Return the figure of an adapter: a frozen matrix and the two narrow ones beside it, with their sizes."""
    found = (tensor for kind in architecture_named(model).kinds for tensor in kind.tensors)
    rows, columns = next(tensor.shape for tensor in found if tensor.name.endswith(f"{matrix}.weight"))
    tall, wide, thin = 150, 150 * columns // rows, 16
    right = wide + 90
    drawn = element("rect", x=0, y=30, width=wide, height=tall, class_="part-weights figure-frozen")
    drawn += element("rect", x=right, y=30, width=thin, height=tall, class_="part-adapters")
    drawn += element("rect", x=right + thin + 12, y=30, width=wide, height=thin, class_="part-adapters")
    middle = 30 + tall // 2
    labels = (
        (wide // 2, middle, "middle", "W, frozen"),
        (wide // 2, middle + 20, "middle", show_count(rows * columns)),
        (wide + 45, middle + 5, "middle", "+"),
        (right + thin // 2, 22, "middle", "B"),
        (right + thin + 12 + wide // 2, 22, "middle", "A"),
        (right + thin + 20, middle, "start", f"rank {rank}:"),
        (right + thin + 20, middle + 20, "start", show_count(rank * (rows + columns))),
        (right + thin + 20, middle + 40, "start", "trained"),
        (0, 22, "start", f"{show_count(rows)} × {show_count(columns)}"),
    )
    for x, y, anchor, words in labels:
        drawn += element(
            "text", text(words), x=x, y=y, text_anchor=anchor, class_="figure-on" if x == wide // 2 else None
        )
    named = catalog().model(model).name
    summary = (
        f"A frozen matrix of {show_count(rows)} by {show_count(columns)}, {show_count(rows * columns)} elements, plus "
        f"the product of B, {show_count(rows)} by {rank}, and A, {rank} by {show_count(columns)}, together "
        f"{show_count(rank * (rows + columns))} elements."
    )
    caption = f"An adapter on {matrix} of {named}. The narrow sides are drawn wider than they are."
    return whole_figure(drawn, "", caption, summary, height=tall + 34)
