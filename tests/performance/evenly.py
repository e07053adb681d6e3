"""Passes on a device that is made up, whose seconds anyone can add up: so much for each pass, sequence and token."""

from types import SimpleNamespace
from typing import Any

from calc.memory.budget import Layout
from calc.performance.forward import Segment


class Evenly:
    """Passes of `pass_s`, `sequence_s` and `context_s` for decoding, `token_s` and `pair_s` for prompts.

    A prompt alone takes `pass_s` too. What was asked is kept in `asked`.
    """

    def __init__(self, demand: Any, *, overlaps: bool = True, expected: float = 1.0, **seconds: float) -> None:
        layout = {name: int(seconds.pop(name)) for name in ("data", "pipeline") if name in seconds}
        self.demand, self.layout, self.seconds = demand, Layout(**layout), seconds
        self.expected = expected  # tokens that a step writes of each sequence
        self.queries, self.draft = 1, None  # new tokens of each
        self.schedule = SimpleNamespace(values={"overlaps_decode": overlaps, "overlaps_prefill": 1.0})
        self.asked: list[tuple[Segment, ...]] = []

    def step(self, *, sequences: float, context: int) -> Segment:
        """Return a step of decoding."""
        return Segment(sequences, 1, context, 1.0)

    def prompt(self, *, sequences: float, tokens: int, before: int, pieces: int = 1) -> Segment:
        """Return prompts: no outputs tell them from steps."""
        return Segment(sequences, tokens, before, 0.0 / pieces)

    def time(self, *segments: Segment) -> Any:
        """Return the seconds of a pass."""
        self.asked.append(segments)
        of = self.seconds
        total = of.get("pass_s", 0.0)
        for sequences, queries, keys, outputs, *_ in segments:
            if outputs:
                total += sequences * (of.get("sequence_s", 0.0) + of.get("context_s", 0.0) * keys)
            else:
                pairs = queries * (keys + queries / 2.0)
                total += sequences * (queries * of.get("token_s", 0.0) + pairs * of.get("pair_s", 0.0))
        return SimpleNamespace(total=total, operations=(), parts=(), stages_s=())

    def with_reading(self, replicas: int) -> "Evenly":
        """Return the passes of so few ranks, which take as long: no experts are shared."""
        self.replicas = replicas
        return self

    def busiest_s(self, time: Any) -> float:
        """Return the seconds of a pass on each stage, which are all alike."""
        return float(time.total / self.layout.pipeline)


def evenly(demand: Any, *, overlaps: bool = True, expected: float = 1.0, **seconds: float) -> Any:
    """Return such passes, in place of a device's."""
    return Evenly(demand, overlaps=overlaps, expected=expected, **seconds)


def asked_of(prompt_tokens: int, output_tokens: int, sequences: int = 1, *, has_encoder: bool = False) -> Any:
    """Return what is asked: prompts and answers of some sequences."""
    return SimpleNamespace(
        prompt_tokens=prompt_tokens,
        tokens=prompt_tokens + output_tokens,
        sequences=sequences,
        architecture=SimpleNamespace(has_encoder=has_encoder),
    )
