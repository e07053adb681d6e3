"""A demand under an engine on the fullest device, with as many sequences as it is asked for or as fit."""

from typing import NamedTuple

from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.memory.budget import Demand, Layout
from calc.memory.runtime import Case, Runtime
from calc.planning.fit import MOST_SEQUENCES
from calc.planning.measured import (
    MEMORY,
    SPEED,
    Measured,
    bucket,
    engine_family,
    format_of,
    is_as_old,
    measured,
    measured_report,
    measured_since,
)
from calc.planning.serving import Serving

NOTHING = Measured(0, 0)


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


class Behind(NamedTuple):
    """What was measured of what is served, and of its like."""

    since: str  # the engine's version from which on something was measured; empty where nothing was
    memory: Measured
    speed: Measured


def served_measured(served: Served, facts: Catalog) -> Behind:
    """Return the measurements behind what is served; none where a version is named that is older than all of them."""
    engine, name = served.serving.engine, served_bucket(served)
    since = measured_since(facts, name, engine_family(engine.id, served.demand.architecture.family))
    if engine.version and not is_as_old(since, engine.version):
        return Behind(since, NOTHING, NOTHING)
    return Behind(since, measured(facts, MEMORY, name), measured(facts, SPEED, name))


def measured_of(served: Served, facts: Catalog, *, timed: bool) -> dict[str, object]:
    """Return the report's field on measurements, of speed too where it is timed: who measured anything had it start."""
    since, memory, speed = served_measured(served, facts)
    started = {"since": since or None, "started": bool(memory.rows or speed.rows)}
    return {**measured_report(memory, speed if timed else None), **started}
