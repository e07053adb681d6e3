"""Lengths of requests as clients of load tests draw them: conversations of ShareGPT, or such as are all as frequent."""

import re
from collections.abc import Callable
from functools import partial

from calc.validation.scores import Row

RANGE_RATIO = re.compile(r"range ratio (\d[\d.]*\d|\d)|lengths uniform 1\.\.")  # the least of lengths over the most
# ShareGPT's lengths as vLLM samples it, over their mean: of so large a share the least and the most. From 500 requests
# in https://github.com/simon-mo/vLLM-Benchmark/tree/d538cdc/saved-results/v0.8.4/deepseek-r1, whose prompts and answers
# have means of 206 and 215 tokens. Half of the prompts are a line or two, and none is above 1,024 tokens.
PROMPTS = ((0.25, 0.02, 0.09), (0.25, 0.09, 0.37), (0.25, 0.37, 1.65), (0.15, 1.66, 2.66), (0.1, 2.66, 4.47))
ANSWERS = ((0.25, 0.02, 0.11), (0.25, 0.12, 0.65), (0.25, 0.8, 1.58), (0.15, 1.58, 2.26), (0.1, 2.26, 3.8))
# Those 500 are the first of every run of its client, whose seed is 0; it takes prompts and answers of 2,048 tokens
# together (`is_valid_sequence` of vllm/benchmarks/datasets.py). Among those that follow a few answers are longer:
# where 1,000 run at once, with tokens as far apart as predicted, runs end later by half of what answers of 1,800 tokens
# would take (GLM-4.6 on H200, GLM-4.5-Air and Qwen3-14B on A100, under SGLang), and of Livinfly's 1,000 the last ten
# take 8 to 20 s longer than the others.
KNOWN = 500  # requests whose lengths are known
OF_MANY = (*ANSWERS[:-1], (0.097, 2.26, 3.8), (0.003, 3.8, 7.0))

Lengths = Callable[[float], dict[str, int]]  # of a mean, the least and the most


def talks(row: Row) -> bool:
    """Return whether a row's requests are conversations of ShareGPT."""
    return "ShareGPT" in row["notes"]


def conversations(prompt: float, output: float, count: int) -> list[dict[str, object]]:
    """Return the kinds of so many requests of ShareGPT whose prompts and answers have such means."""
    return [
        {
            "share": asked * answered,
            "prompt_tokens": between(least * prompt, most * prompt),
            "output_tokens": between(shortest * output, longest * output),
        }
        for asked, least, most in PROMPTS
        for answered, shortest, longest in (OF_MANY if count > KNOWN else ANSWERS)
    ]


def between(least: float, most: float) -> dict[str, int]:
    """Return lengths between two that are all as frequent."""
    shortest = max(round(least), 1)
    return {"least": shortest, "most": max(round(most), shortest)}


def even_about(mean: float, *, ratio: float) -> dict[str, int]:
    """Return the least and the most of lengths that are all as frequent, with a mean; `ratio` is one over the other."""
    least = max(round(2.0 * mean * ratio / (1.0 + ratio)), 1)
    return between(least, round(2.0 * mean) - least)


def spread_of(row: Row) -> Lengths | None:
    """Return how the lengths that a client drew lie about their mean, None where they are alike or conversations."""
    said = RANGE_RATIO.search(row["notes"])
    return partial(even_about, ratio=float(said.group(1) or 0.0)) if said else None
