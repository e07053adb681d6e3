"""What a run takes beyond its tensors: the allocator's unused blocks, and the device context; with 80 % ranges.

The coefficients are measured: each stands in the catalogue with the rows that it comes from.
"""

from typing import NamedTuple

from calc.catalog import Catalog
from calc.memory.training.moments import Timeline
from calc.memory.training.plan import NO_CHECKPOINTS, Plan

FIGURES = ("allocated", "reserved", "device")


class Total(NamedTuple):
    """A figure in bytes, with the range that four of five measurements lie in."""

    typical: int
    low: int
    high: int


class Totals(NamedTuple):
    """The three figures that people read."""

    allocated: Total
    reserved: Total
    device: Total


def unused(plan: Plan, timeline: Timeline, facts: Catalog) -> int:
    """Return the bytes of blocks that the allocator has and nothing uses at the peak.

    Blocks of what comes and goes differ in size from phase to phase, so many stay behind. Where batches differ in
    length, blocks of activations and logits do so from batch to batch too. Blocks of what stays are rounded up, and
    what is recomputed leaves a rest, which is no larger than what later finds a place in it.
    """
    moving = max(timeline.peak.total - timeline.stays, 0)
    rounding = facts.coefficient("training-allocator-rounding").value * timeline.stays
    kept = rounding + facts.coefficient(slack_name(plan)).value * moving
    if finds_its_blocks(plan):
        return int(kept)
    kept += min(facts.coefficient("training-allocator-rest").value, moving)
    if plan.varied_lengths:
        kept += facts.coefficient("training-allocator-varied").value * timeline.widest_pass
    return int(kept)


def finds_its_blocks(plan: Plan) -> bool:
    """Return whether free blocks are used again.

    In segments that grow, free blocks beside each other are one. Without recomputation all micro-batches of one length
    ask for the same blocks in the same order; recomputed layers ask for theirs amid those of the backward pass.
    """
    return plan.expandable_segments or (plan.checkpointing == NO_CHECKPOINTS and not plan.varied_lengths)


def slack_name(plan: Plan) -> str:
    """Return which coefficient holds unused blocks: compiled code asks for fewer sizes, and some runs find theirs."""
    few = plan.choices.compiled or plan.expandable_segments or plan.checkpointing == NO_CHECKPOINTS
    return "training-allocator-slack-few" if few else "training-allocator-slack"


def totals(plan: Plan, timeline: Timeline, facts: Catalog) -> Totals:
    """Return what torch.cuda.max_memory_allocated, max_memory_reserved and nvidia-smi would show.

    Each has its range.
    """
    sizes = zip(FIGURES, figures(plan, timeline, facts), strict=True)
    return Totals(*(ranged(size, timeline.stays, range_name(plan, name), facts) for name, size in sizes))


def device_total(plan: Plan, timeline: Timeline, facts: Catalog) -> Total:
    """Return what nvidia-smi would show alone, with its range."""
    return ranged(device_bytes(plan, timeline, facts), timeline.stays, range_name(plan, "device"), facts)


def range_name(plan: Plan, figure: str) -> str:
    """Return which coefficient holds the range of a figure: it is wider where choices of the run are left open."""
    return f"training-{figure}" if plan.stated else f"training-{figure}-open"


def figures(plan: Plan, timeline: Timeline, facts: Catalog) -> tuple[int, int, int]:
    """Return the bytes that a run allocates, reserves, and takes of the device.

    Allocated are the tensors and the workspace of the matrix libraries; reserved has the allocator's unused blocks on
    top; the device shows its context too, and the communication library's share.
    """
    tensors = timeline.peak.total
    allocated = tensors + int(facts.coefficient("training-workspace").value)
    reserved = allocated + unused(plan, timeline, facts)
    device = reserved + int(facts.coefficient("training-device-context").value)
    if plan.layout.devices > 1:
        device += int(facts.coefficient("training-collectives").value)
    return allocated, reserved, device


def device_bytes(plan: Plan, timeline: Timeline, facts: Catalog) -> int:
    """Return the bytes that a run takes of the device."""
    return figures(plan, timeline, facts)[2]


def ranged(size: int, stays: int, coefficient: str, facts: Catalog) -> Total:
    """Return a figure with its range: what stays through the step is nearly certain, the rest depends on the framework.

    Both are ratios of measurements to predictions. Activations, logits and buffers differ by the code of a framework,
    and unused blocks by the lengths of sequences; weights and optimizer states are the same everywhere.
    """
    certain, rest = facts.coefficient("training-stays"), facts.coefficient(coefficient)
    stays = min(stays, size)
    low = stays * certain.low + (size - stays) * rest.low
    high = stays * certain.high + (size - stays) * rest.high
    return Total(size, int(low), int(high))
