"""The timeline of an answer's two passes: a prompt that is read, and a step in which tokens are written."""

from calc.performance.operations import (
    Attention,
    AttentionBackward,
    Collective,
    Experts,
    Operation,
    Product,
    Recurrence,
)
from calc.performance.pass_times import COMPUTE, LINKS, MEMORY, PassTime
from calc.plots import lanes
from calc.plots.lanes import Line, Piece, one_behind_the_other, timeline
from calc.plots.placed import in_words, place
from calc.plots.plot import Plot
from calc.plots.served import timed

LANE_OF = {COMPUTE: lanes.COMPUTE, MEMORY: lanes.MEMORY, LINKS: lanes.LINKS}


def draw(**scenario: object) -> Plot:
    """Return the passes of a scenario of inference; operations stand in the lane of what they wait for."""
    placed = place(scenario)
    speed = timed(placed).speed(placed.demand.sequences)
    lines = {"Read": line_of(speed.prefill.time)}
    if placed.demand.architecture.writes:
        lines["Write"] = line_of(speed.decode.time)
    count = in_words(placed.demand.sequences)
    caption = (
        f"A pass over a prompt, and a step of {count}: {placed.asked.model_name}{placed.where()}. All layers together"
    )
    return timeline(lines, caption=caption)


def line_of(time: PassTime) -> Line:
    """Return a pass: its operations, the launches beside them, and what the host does before the next."""
    small = lanes.MEMORY if time.host_s else lanes.HOST
    work = [
        (LANE_OF.get(part.bound, small), kind_of(part.operation), part.total)
        for part in sorted(time.parts, key=lambda part: lanes.KINDS.index(kind_of(part.operation)))
    ]
    merged: dict[tuple[str, str], float] = {}
    for lane, kind, seconds in work:
        merged[lane, kind] = merged.get((lane, kind), 0.0) + seconds
    found = one_behind_the_other([(lane, kind, seconds) for (lane, kind), seconds in merged.items()])
    if time.host_s:
        found.append(Piece(lanes.HOST, lanes.HOSTED, 0.0, time.host_s))
    if time.between_s:
        found.append(Piece(lanes.HOST, lanes.HOSTED, time.total - time.between_s, time.between_s))
    return Line(found, time.total)


def kind_of(operation: Operation) -> str:
    """Return the kind of work of an operation."""
    if isinstance(operation, Product | Experts):
        return lanes.PRODUCTS
    if isinstance(operation, Attention | AttentionBackward | Recurrence):
        return lanes.ATTENTION
    return lanes.SENT if isinstance(operation, Collective) else lanes.MOVED
