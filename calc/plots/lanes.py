"""Timelines: what keeps arithmetic, memory, links and the host busy during a pass, one lane each.

An operation stands in the lane of what it waits for; short kernels wait for their own launch. The recurrent states of
linear attention count as attention.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from calc.plots.plot import GROUND, Plot, Row, Spec, across, chosen, faded, layer, series, specification, tooltip
from calc.units import show_number, show_seconds

COMPUTE, MEMORY, LINKS, HOST = "arithmetic", "memory", "links", "launch, host"
LANES = (COMPUTE, MEMORY, LINKS, HOST)
PRODUCTS, ATTENTION, MOVED, SENT, HOSTED, WAITING = (
    "Products",
    "Attention",
    "Norms, copies",
    "Messages",
    "Host",
    "Waiting",
)
KINDS = (PRODUCTS, ATTENTION, MOVED, SENT, HOSTED, WAITING)
LANE_HEIGHT, EDGES = 34, 150  # of a lane, and of the axis with the legend


class Piece(NamedTuple):
    """A stretch of time in which something is busy with one kind of work, of all layers together."""

    lane: str
    kind: str
    start_s: float
    seconds: float


class Line(NamedTuple):
    """A pass with its pieces."""

    pieces: Sequence[Piece]
    total_s: float


def one_behind_the_other(work: Sequence[tuple[str, str, float]]) -> list[Piece]:
    """Return (lane, kind, seconds) as pieces that follow each other; neighbours that are alike are one."""
    found: list[Piece] = []
    for lane, kind, seconds in work:
        if not seconds:
            continue
        if found and (found[-1].lane, found[-1].kind) == (lane, kind):
            found[-1] = found[-1]._replace(seconds=found[-1].seconds + seconds)
        else:
            end = found[-1].start_s + found[-1].seconds if found else 0.0
            found.append(Piece(lane, kind, end, seconds))
    return found


def timeline(lines: Mapping[str, Line], *, caption: str) -> Plot:
    """Return passes by name as a plot of their lanes, each pass as long as the drawing is wide."""
    rows: list[Row] = []
    table: list[list[str]] = []
    used = []
    for name, line in lines.items():
        for lane in LANES:
            pieces = [piece for piece in line.pieces if piece.lane == lane]
            if not pieces:
                continue
            bar = f"{name}, {lane}" if len(lines) > 1 else lane
            used.append(bar)
            rows += [row_of(bar, piece, line.total_s) for piece in pieces]
            for kind in KINDS:
                seconds = sum(piece.seconds for piece in pieces if piece.kind == kind)
                if seconds:
                    table.append([bar, kind, show_seconds(seconds), f"{show_number(100 * seconds / line.total_s)} %"])
    kinds = [kind for kind in KINDS if any(row["series"] == kind for row in rows)]
    whole = "; ".join(f"{name} takes {show_seconds(line.total_s)}" for name, line in lines.items())
    summary = f"{whole}. " + "; ".join(f"{bar}: {kind} {took} ({share})" for bar, kind, took, share in table) + "."
    headings = ("Lane", "Work", "Time", "Share of the whole")
    height = EDGES + LANE_HEIGHT * len(used)
    return Plot(
        caption,
        summary,
        drawing(kinds, height),
        {"pieces": rows},
        headings=headings,
        rows=table,
    )


def row_of(bar: str, piece: Piece, total_s: float) -> Row:
    """Return a piece as a row of the drawing, in percent of the pass."""
    return {
        "bar": bar,
        "series": piece.kind,
        "from": 100 * piece.start_s / total_s,
        "to": 100 * (piece.start_s + piece.seconds) / total_s,
        "shown": show_seconds(piece.seconds),
    }


def drawing(kinds: Sequence[str], height: int) -> Spec:
    """Return the specification: a row of bars for each lane, coloured by the kind of work."""
    y = {"field": "bar", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 0, "ticks": False}}
    x = across("from", "% of the time")
    pieces = {"x": x, "x2": {"field": "to"}, "y": y, **series(names=kinds, legend={"columns": 2}), **faded()}
    told = tooltip(bar="Busy", series="With", shown="Takes")
    return specification(
        layer("pieces", "bar", {**pieces, **told}, params=[chosen()], stroke=GROUND, strokeWidth=1), height=height
    )
