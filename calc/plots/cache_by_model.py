"""What one sequence keeps against its length, by model: the kinds of attention side by side."""

from typing import Any

from calc.calculators.sizes import size_binary
from calc.catalog import catalog
from calc.estimate import estimate
from calc.plots.plot import (
    WHOLE,
    Plot,
    Row,
    Spec,
    across,
    layer,
    logarithmic,
    powers,
    series,
    specification,
    tooltip,
    upward,
)
from calc.units import GIB, show_count

LENGTHS = tuple(2**power for power in range(9, 18))
KEPT = ("kv_cache", "recurrent_state")


def draw(*, models: tuple[tuple[str, str], ...]) -> Plot:
    """Return a line for each model, in 16 bit; a pair is a model and the words for its type."""
    names = [f"{catalog().model(model).name}, {kind}" for model, kind in models]
    sizes = {name: [kept(model, tokens) for tokens in LENGTHS] for name, (model, _) in zip(names, models, strict=True)}
    points: list[Row] = [
        {
            "series": name,
            "tokens": tokens,
            "gib": size / GIB,
            "length": f"{show_count(tokens)} tokens",
            "shown": size_binary(size),
        }
        for name in names
        for tokens, size in zip(LENGTHS, sizes[name], strict=True)
    ]
    ends = "; ".join(f"{name}: {size_binary(sizes[name][0])} to {size_binary(sizes[name][-1])}" for name in names)
    summary = f"Memory kept of one sequence, from {LENGTHS[0]} to {show_count(LENGTHS[-1])} tokens. {ends}."
    caption = (
        "What one sequence keeps, in 16 bit. Both axes are logarithmic: a straight rise is growth with every token."
    )
    rows = [
        [show_count(tokens), *(size_binary(sizes[name][place]) for name in names)]
        for place, tokens in enumerate(LENGTHS)
    ]
    return Plot(caption, summary, drawing(names), {"points": points}, headings=("Tokens", *names), rows=rows)


def kept(model: str, tokens: int) -> int:
    """Return the bytes that are kept of one sequence of `tokens`, in 16 bit."""
    report: Any = estimate({"model": model, "weights": "bf16", "context_tokens": tokens})
    return sum(int(part["bytes"]) for part in report["memory"]["parts"] if part["id"] in KEPT)


def drawing(names: list[str]) -> Spec:
    """Return the specification: lines with dots, told apart in a legend, as several of them end close together."""
    x = across("tokens", "Tokens in the sequence", scale=logarithmic(2), axis=WHOLE)
    y = upward("gib", "Memory, GiB", scale=logarithmic(), axis=powers())
    told = tooltip(series="Model", length="Sequence", shown="Keeps")
    told_apart = series(shapes=True, names=names, legend={"columns": 1})
    return specification(
        layer("points", "line", {"x": x, "y": y, "color": told_apart["color"]}),
        layer(
            "points",
            "point",
            {"x": x, "y": y, **told_apart, **told},
            filled=True,
            size=60,
            opacity=1,
        ),
        height=400,
    )
