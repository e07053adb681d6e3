"""Predictions against measurements: a dot where they meet, with the lines on which they are equal, half and twice."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

from calc.plots.plot import (
    FAINT,
    Plot,
    Row,
    Spec,
    across,
    chosen,
    faded,
    layer,
    logarithmic,
    powers,
    series,
    specification,
    tooltip,
    upward,
)
from calc.units import show_number

CELLS = 80  # to a side: dots of one cell are drawn as one, for they would lie on each other
RATIOS = (1.0, 0.5, 2.0)
WIDE = 17  # letters of a name, that a legend has room for in two columns
NEAR, FAR = 0.1, 0.25  # errors within which rows are counted

Pairs = Sequence[tuple[float, float]]


def draw(*, groups: Mapping[str, Pairs], unit: str, title: str) -> Plot:
    """Return the pairs of measured and predicted figures of some groups, in `unit`; `title` says of what."""
    values = [value for pairs in groups.values() for pair in pairs for value in pair]
    least, most = floor(log10(min(values))), ceil(log10(max(values)))
    counted = sum(len(pairs) for pairs in groups.values())
    whole = [pair for pairs in groups.values() for pair in pairs]
    shown = {name: f"{name} ({len(groups[name]):,})" for name in sorted(groups, key=str.casefold)}
    data: dict[str, list[Row]] = {
        "dots": [dot for name in shown for dot in dots(shown[name], groups[name], (most - least) / CELLS, unit)],
        "equal": [row for ratio in RATIOS for row in equal(ratio, 10.0**least, 10.0**most)],
    }
    summary = (
        f"{title}, {counted:,} rows, axes from {power(least)} to {power(most)} {unit}: {within(whole, NEAR)} lie "
        f"within {percent(NEAR)} of equality, {within(whole, FAR)} within {percent(FAR)}."
    )
    caption = (
        f"{summary} On the full line both are equal; on the broken lines the prediction is twice and half the "
        "measurement. Both axes are logarithmic."
    )
    rows = [[name, f"{len(groups[name]):,}", within(groups[name], NEAR), within(groups[name], FAR)] for name in shown]
    headings = ("Of", "Rows", f"Within {percent(NEAR)}", f"Within {percent(FAR)}")
    return Plot(caption, summary, drawing(list(shown.values()), unit), data, headings=headings, rows=rows)


def power(exponent: int) -> str:
    """Return a power of ten as people write it."""
    return f"{10**exponent:,}" if exponent >= 0 else f"{10.0**exponent:g}"


def percent(share: float) -> str:
    """Return a share in whole percent."""
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def within(pairs: Pairs, error: float) -> str:
    """Return the share of pairs whose prediction is at least as near as `error`, in percent."""
    return percent(sum(abs(predicted / measured - 1) <= error for measured, predicted in pairs) / len(pairs))


def dots(name: str, pairs: Pairs, size: float, unit: str) -> list[Row]:
    """Return a group's dots: the first pair of each cell, whose sides are `size` powers of ten, and how many it has."""
    cells: dict[tuple[int, int], Row] = {}
    counts: dict[tuple[int, int], int] = {}
    for measured, predicted in sorted(pairs):
        cell = (round(log10(measured) / size), round(log10(predicted) / size))
        counts[cell] = counts.get(cell, 0) + 1
        cells.setdefault(
            cell,
            {
                "series": name,
                "measured": float(f"{measured:.3g}"),
                "predicted": float(f"{predicted:.3g}"),
                "shown": f"{show_number(measured)} and {show_number(predicted)} {unit}",
            },
        )
    return [{**row, "rows": counts[cell]} for cell, row in cells.items()]


def equal(ratio: float, least: float, most: float) -> list[Row]:
    """Return the line on which the prediction is `ratio` times the measurement, within the drawing."""
    ends = max(least, least / ratio), min(most, most / ratio)
    return [{"ratio": ratio, "measured": end, "predicted": ratio * end} for end in ends]


def drawing(names: list[str], unit: str) -> Spec:
    """Return the specification: three lines, and dots told apart by shape and colour."""
    x = across("measured", f"Measured, {unit}", scale=logarithmic(), axis=powers())
    y = upward("predicted", f"Predicted, {unit}", scale=logarithmic(), axis=powers())
    line = {"x": x, "y": y, "detail": {"field": "ratio", "type": "nominal"}}
    dash = {"condition": {"test": "datum.ratio == 1", "value": [1, 0]}, "value": [4, 4]}
    columns = 2 if max(map(len, names)) < WIDE else 1
    told = tooltip(series="Of", shown="Measured and predicted", rows="Rows here")
    dots = {"x": x, "y": y, **series(shapes=True, names=names, legend={"columns": columns}), **faded(0.8)}
    return specification(
        layer("equal", "line", {**line, "strokeDash": dash}, color=FAINT, strokeWidth=1),
        layer("dots", "point", {**dots, **told}, params=[chosen()], size=26, strokeWidth=1.2),
        height=400,
    )
