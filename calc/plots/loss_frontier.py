"""The loss that a training budget can reach under a scaling law: models of one size, and the best of all sizes."""

from math import log10

from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.performance.scaling_laws import loss, optimum, training_flops
from calc.planning.scaling import law_of
from calc.plots.plot import (
    GROUND,
    TEXT,
    Plot,
    Row,
    Spec,
    across,
    beside,
    label,
    layer,
    logarithmic,
    series,
    specification,
    tooltip,
    upward,
)
from calc.units import show_large_count, show_power

SIZES = (1e8, 1e9, 1e10, 1e11)
STEPS = 4  # to a power of ten of operations
FIRST, LAST = 1e19, 1e26  # operations that are drawn
TOKENS = (1.0, 2000.0)  # for each parameter: a line is of runs that somebody might do


def draw(*, law: str, flops: float = 0.0, sizes: tuple[float, ...] = SIZES) -> Plot:
    """Return the loss of models of some sizes against operations, and the frontier; `flops` is a budget to mark."""
    found = law_of(catalog(), law)
    budgets = [FIRST * 10 ** (step / STEPS) for step in range(round(STEPS * log10(LAST / FIRST)) + 1)]
    best = [optimum(law=found, flops=budget) for budget in budgets]
    if best[0].loss is None:
        raise ScenarioError("law", f"{found.name} gives a best size and no loss to draw")
    frontier: list[Row] = [
        {"series": "best", **spot(budget, point.parameters, point.tokens, point.loss)}
        for budget, point in zip(budgets, best, strict=True)
    ]
    lines: list[Row] = []
    for size in sizes:
        for budget in budgets:
            tokens = budget / training_flops(parameters=size, tokens=1)
            reached = loss(law=found, parameters=size, tokens=tokens)
            if TOKENS[0] <= tokens / size <= TOKENS[1]:
                lines.append({"series": name(size), **spot(budget, size, tokens, reached)})
    ends = [next(row for row in reversed(lines) if row["series"] == name(size)) for size in sizes]
    data: dict[str, list[Row]] = {
        "sizes": lines,
        "frontier": frontier,
        "ends": [{**row, **beside(0, -9), "dx": -4, "label": row["series"]} for row in ends],
        "own": [],
    }
    said = ""
    if flops:
        mine = optimum(law=found, flops=flops)
        said = (
            f" With {show_power(flops)} FLOP the best is {show_large_count(mine.parameters)} parameters, "
            f"{show_large_count(mine.tokens)} tokens, a loss of {mine.loss:.3f}."
        )
        own = {**spot(flops, mine.parameters, mine.tokens, mine.loss), "label": show_large_count(mine.parameters)}
        data["own"] = [{**own, **beside(1, 6)}]
    summary = (
        f"Loss by {found.name}: the best of all sizes falls from {best[0].loss:.2f} with {show_power(FIRST)} FLOP to "
        f"{best[-1].loss:.2f} with {show_power(LAST)}.{said}"
    )
    caption = (
        f"Loss against operations of training by {found.name}: models of one size, and the best of all (thick line)"
    )
    rows = [
        [show_power(budget), show_large_count(point.parameters), show_large_count(point.tokens), f"{point.loss:.3f}"]
        for budget, point in list(zip(budgets, best, strict=True))[::STEPS]
    ]
    headings = ("FLOP", "Best size, parameters", "Tokens", "Loss")
    return Plot(caption, summary, drawing(), data, headings=headings, rows=rows)


def name(size: float) -> str:
    """Return a model's size in few letters."""
    return f"{size / 1e9:g}B" if size >= 1e9 else f"{size / 1e6:g}M"


def spot(flops: float, parameters: float, tokens: float, reached: float | None) -> Row:
    """Return where a mark is, and what it says under the pointer."""
    return {
        "flops": flops,
        "loss": reached,
        "spent": f"{show_power(flops)} FLOP",
        "size": show_large_count(parameters),
        "seen": show_large_count(tokens),
        "shown": f"{reached:.3f}",
    }


def drawing() -> Spec:
    """Return the specification: dashed lines of one size with their names, the frontier, and a budget's best."""
    power = {"labelExpr": "format(log(datum.value) / LN10, 'd')", "grid": False}
    x = across("flops", "Operations of training, as powers of ten", scale=logarithmic(), axis=power)
    y = upward("loss", "Loss, nats per token", scale={"zero": False, "nice": True})
    told = tooltip(size="Parameters", seen="Tokens", spent="Spent", shown="Loss")
    lines, dots = series(dashes=True), series(shapes=True)
    return specification(
        layer("sizes", "line", {"x": x, "y": y, **lines}, strokeWidth=1.5),
        layer("sizes", "point", {"x": x, "y": y, **dots, **told}, filled=True, size=18, opacity=1),
        layer("frontier", "line", {"x": x, "y": y}, color=TEXT, strokeWidth=3),
        layer("frontier", "point", {"x": x, "y": y, **told}, color=TEXT, size=60, opacity=0),
        label("ends", {"x": x, "y": y, "color": lines["color"]}, baseline="middle"),
        layer("own", "point", {"x": x, "y": y, **told}, size=130, stroke=TEXT, strokeWidth=2, fill=GROUND, opacity=1),
        label("own", {"x": x, "y": y}, baseline="top"),
    )
