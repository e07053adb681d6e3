"""The time of micro-batches that follow each other through the stages of a pipeline."""

from collections.abc import Iterable
from typing import NamedTuple

from calc.architecture.stages import evenly
from calc.performance.pass_times import PassTime


class Filled(NamedTuple):
    """Seconds of all micro-batches through all stages, and what of them the slowest stage waits."""

    seconds: float
    bubble: float


def pipelined(stages: Iterable[tuple[float, int]], *, micro_batches: int, virtual_stages: int = 1) -> Filled:
    r"""Return the time of `micro_batches` through stages, each kind given by its seconds forward and backward and how
    many there are.

    The slowest stage works on one after the other. Before its first and after its last it waits for the others: in
    GPipe (arXiv:1811.06965) and 1F1B (arXiv:2104.04473) alike the share $\frac{p - 1}{m + p - 1}$ of the whole with
    stages alike. Where each stage has `virtual_stages` pieces of the model (section 2.2 there), the wait is that many
    times shorter.

    >>> pipelined([(1.0, 4)], micro_batches=8), pipelined([(1.0, 4)], micro_batches=8, virtual_stages=2)
    (Filled(seconds=11.0, bubble=3.0), Filled(seconds=9.5, bubble=1.5))
    """
    every = [seconds for seconds, count in stages for _ in range(count)]
    slowest = max(every)
    bubble = (sum(every) - slowest) / virtual_stages
    return Filled(micro_batches * slowest + bubble, bubble)


def busiest_s(time: PassTime, *, layers: int, stages: int) -> float:
    """Return the seconds of a pass on the stage that takes the most of it.

    Layers left over stand before the last stage, which has the output matrix, samples and drafts.

    >>> busiest_s(PassTime((), device_s=9.0, host_s=0.0, between_s=0.5, outputs_s=1.0), layers=8, stages=2)
    5.5
    """
    if stages == 1:
        return time.total
    if time.stages_s:
        return max(time.stages_s) + time.between_s * time.correction
    beside = time.between_s + sum(times * draft.total for draft, times in time.drafts)
    sizes = evenly(layers, stages)
    layer_s = (time.total / time.correction - beside - time.outputs_s) / layers
    return time.correction * max(max(sizes) * layer_s, sizes[-1] * layer_s + time.outputs_s + beside)
