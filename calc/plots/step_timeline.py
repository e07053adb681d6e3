"""The timeline of a training step on its slowest stage: micro-batches, messages, the pipeline's gap, the update."""

from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.performance.training_clock import ADAPTED, ATTENTION, BACKWARD, MOVED, PRODUCTS, UNPACKED
from calc.performance.training_step import StepTime, prepare, step_time
from calc.plots import lanes
from calc.plots.lanes import Line, Piece, one_behind_the_other, timeline
from calc.plots.plot import Plot
from calc.training.reading import read_training


def draw(**scenario: object) -> Plot:
    """Return the step of a scenario of training; operations stand in the lane of what they wait for."""
    asked = read_training({**scenario, "workload": "training"}, catalog())
    if asked.accelerator is None:
        raise ScenarioError("accelerator", "is missing: a step takes its time on a device")
    prepared = prepare(asked.plan, asked.accelerator, asked.network_bytes_per_s)
    if prepared is None:
        raise ScenarioError("accelerator", f"no source has the rate at which {asked.accelerator.name} computes")
    step = step_time(prepared, catalog().training_step.values)
    devices = asked.plan.layout.devices
    where = f"{f'{devices} × ' if devices > 1 else ''}{asked.accelerator.name}"
    caption = f"A step on the slowest stage: {asked.model.name} on {where}. All layers and micro-batches together"
    return timeline({"Step": line_of(step)}, caption=caption)


def line_of(step: StepTime) -> Line:
    """Return a step: computing in its order, launches and messages beside it from its beginning, the rest behind."""
    one, count, pace = step.slowest, step.micro_batches, step.pace
    busy = step.pipeline_s - step.bubble_s
    found = one_behind_the_other(
        [
            (lanes.COMPUTE, lanes.PRODUCTS, count * pace.seconds(one.whole, PRODUCTS)),
            (lanes.COMPUTE, lanes.ATTENTION, count * pace.seconds(one.whole, ATTENTION, BACKWARD)),
            (lanes.MEMORY, lanes.MOVED, count * pace.seconds(one.whole, MOVED, ADAPTED, UNPACKED)),
        ]
    )
    sent = count * (one.waiting + one.behind + one.copied + one.hand_over) + one.last
    rest = [
        Piece(lanes.HOST, lanes.HOSTED, 0.0, count * one.launch),
        Piece(lanes.LINKS, lanes.SENT, 0.0, min(sent, busy)),
        Piece(lanes.COMPUTE, lanes.WAITING, busy, step.bubble_s),
        Piece(lanes.LINKS, lanes.SENT, step.pipeline_s, step.exchange_s),
        Piece(lanes.MEMORY, lanes.MOVED, step.pipeline_s + step.exchange_s, step.optimizer_s),
    ]
    return Line([*found, *(piece for piece in rest if piece.seconds > 0)], step.total)
