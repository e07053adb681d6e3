"""Whether a scenario surely fits, and what makes it sure: texts that are shorter by what its cache has to give up."""

from collections.abc import Mapping
from math import ceil

from calc.memory.runtime import Runtime
from calc.planner.options import Option
from calc.planning.chance import END, chance_of_fitting, room_of
from calc.planning.served import Served, serve
from calc.planning.serving_report import pool_range, total_range
from calc.question import read_question

DEVIATES = 1.6449  # of a normal distribution, that 95 % stay below
STEP = 256  # tokens: a context is a multiple of it
LEAST_SHARE = 4  # a context is not cut to less than this part of it


def likely_fits(scenario: Mapping[str, object]) -> float:
    """Return how likely a scenario fits, by the numbers of its report and without making one."""
    read = read_question(scenario)
    serving = read.serving()
    return chance_of(serve(serving, read.demand, read.layout, most=False)) if serving else 0.0


def chance_of(served: Served) -> float:
    """Return how likely what is served fits."""
    runtime, free, room = served.runtime, free_pool(served.runtime), capacity_of(served)
    if room is None:
        return 0.0
    if free is not None:
        spare, upper = free, pool_range(served, free)[1] - free
    else:
        spare, upper = room - runtime.device, total_range(served, runtime.device, True)[1] - runtime.device
    return chance_of_fitting(room_bytes=room, spare_bytes=spare, upper_bytes=upper)


def capacity_of(served: Served) -> int | None:
    """Return the memory of the fullest device, or of a host that works alone; None where nobody says it."""
    alone = served.serving.host if served.serving.placement.alone else None
    return alone.memory_bytes if alone else served.runtime.capacity


def free_pool(runtime: Runtime) -> int | None:
    """Return the bytes that are free of a cache which an engine sets aside; None where none is, or it is too small."""
    free = (amount.bytes for amount in runtime.amounts if amount.id == "kv_pool_free")
    return next(free, None) if runtime.fits else None


def bytes_left(served: Served) -> int | None:
    """Return the bytes that are left, as `room_of` has them of a report; None where nobody says how many there are."""
    room, free = capacity_of(served), free_pool(served.runtime)
    if room is None:
        return None
    return room - served.runtime.device if free is None else free


def surer_context(option: Option) -> dict[str, int] | None:
    """Return the longest context, in steps of 256 tokens, with which an option surely fits, as a field of a scenario.

    None where it fits surely, has no cache that grows, or where a quarter of the context would still be too long.
    What a token takes on the fullest device is what the engine needs more for the second half of the context.
    """
    memory, context = option.report["memory"], option.report["scenario"].get("context_tokens")
    if option.is_sure or context is None:
        return None
    read = read_question(option.candidate.scenario)
    serving = read.asked.serving(read.accelerator)
    if serving is None or context < STEP:
        return None
    demand = read.demand._replace(sequences=memory["sequences"])
    less = demand._replace(tokens=demand.tokens - context // 2, prompt_tokens=max(demand.prompt_tokens // 2, 1))
    needed = [serving.fullest(asked, read.layout)[1].needed for asked in (demand, less)]
    each = (needed[0] - needed[1]) / (context // 2)
    if each <= 0:
        return None
    spare, upper = room_of(memory)
    tokens = (context - ceil((DEVIATES / END * upper - spare) / each)) // STEP * STEP
    return {"context_tokens": tokens} if tokens * LEAST_SHARE >= context else None
