"""Whether a scenario surely fits, and what makes it sure: texts that are shorter by what its cache has to give up."""

from collections.abc import Mapping
from math import ceil

from calc.planner.options import Option
from calc.planning.certainty import chance_of
from calc.planning.chance import STRETCH, room_of
from calc.planning.served import serve
from calc.question import read_question
from calc.units import show_count

SURER = {  # what makes an option sure that is tight, in words
    "context_tokens": "texts of {} tokens",
    "sequence_tokens": "sequences of {} tokens",
    "micro_batch": "batches of {}",
    "sequences": "{} sequences",
    "concurrency": "{} requests",
}
STEP = 256  # tokens: a context is a multiple of it
LEAST_SHARE = 4  # a context is not cut to less than this part of it


def likely_fits(scenario: Mapping[str, object]) -> float:
    """Return how likely a scenario fits, by the numbers of its report and without making one."""
    read = read_question(scenario)
    serving = read.serving()
    return chance_of(serve(serving, read.demand, read.layout, most=False, counted=False)) if serving else 0.0


def change_for(surer: Mapping[str, int] | None, *, trains: bool) -> str:
    """Return in words what makes an option sure that is tight: the most of something, or what may be less."""
    changes = [SURER[name].format(show_count(most)) for name, most in (surer or {}).items()]
    return next(iter(changes), "shorter sequences" if trains else "fewer sequences or bits")


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
    tokens = (context - ceil((STRETCH * upper - spare) / each)) // STEP * STEP
    return {"context_tokens": tokens} if tokens * LEAST_SHARE >= context else None
