"""A demand under an engine on the fullest device, with as many sequences as it is asked for or as fit."""

from typing import NamedTuple

from calc.errors import ScenarioError
from calc.memory.budget import Demand, Layout
from calc.memory.runtime import Case, Runtime
from calc.planning.fit import MOST_SEQUENCES
from calc.planning.measured import bucket, format_of
from calc.planning.serving import Serving


class Served(NamedTuple):
    """A demand under an engine, on the fullest device."""

    serving: Serving
    demand: Demand
    layout: Layout
    case: Case
    runtime: Runtime
    most: int | None  # sequences that fit, None without an accelerator, and where nobody asks for it


def serve(serving: Serving, demand: Demand, layout: Layout, *, most: bool, counted: bool = True) -> Served:
    """Return a demand under an engine, with as many sequences as fit where `most` asks for them.

    No more than the engine is set up for; of requests in a server those that it works on at a time. Unless it is to be
    `counted`, how many fit is looked for only where it decides how many there are.
    """
    slots = serving.running(demand, layout) * layout.data
    if serving.concurrency is not None:
        demand = demand._replace(sequences=min(serving.concurrency, slots))
    if not serving.bounded and most:
        raise ScenarioError("sequences", '"max" needs an accelerator: as many as fit on what?')
    found = serving.fullest(demand, layout)
    if not serving.bounded or not (counted or most or serving.concurrency is not None):
        return Served(serving, demand, layout, *found, None)
    count, asked = serving.most_sequences(demand, layout, found) * layout.data, demand
    if most:
        demand = demand._replace(sequences=max(min(count, slots), 1))
    elif serving.concurrency is not None:
        demand = demand._replace(sequences=min(demand.sequences, max(count, 1)))
    if demand.sequences != asked.sequences:
        found = serving.fullest(demand, layout)
    return Served(serving, demand, layout, *found, count)


def bounded(served: Served) -> int | None:
    """Return the most sequences that fit, None where memory does not bound them."""
    most = served.most
    return most if most is not None and most < MOST_SEQUENCES - 1 else None


def served_bucket(served: Served) -> str:
    """Return the name of what is like the scenario, by which its measurements are counted."""
    return bucket(
        engine=served.serving.engine.id,
        accelerator=served.serving.accelerator,
        format_class=format_of(served.demand.weights),
        architecture=served.demand.architecture,
        on_host=served.serving.placement.on_host,
    )
