"""The speeds of a demand under an engine: prefill, decoding, latency, and what bounds them."""

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from calc.architecture.stages import Stage
from calc.catalog.records import Accelerator
from calc.memory.budget import Demand, Layout
from calc.memory.correction import UNCORRECTED, Correction
from calc.memory.placement import ON_DEVICES, Host, Placement
from calc.performance.engine_passes import Setup, passes_of
from calc.performance.operations import Experts, Product
from calc.performance.pass_times import PassTime
from calc.performance.passes import Passes

MANY_TOKENS = 8192  # of a pass in which arithmetic bounds the products of any model


class Prefill(NamedTuple):
    """The passes over the prompts."""

    time: PassTime  # of the pass half-way
    passes: int
    seconds: float


class Decode(NamedTuple):
    """The mean step of an output."""

    time: PassTime
    parts: int  # that a batch is cut into
    step_s: float  # until each sequence has one token more, as a mean


class Speed(NamedTuple):
    """Seconds of prefill and of a decoding step, for the sequences of one data-parallel rank."""

    passes: Passes
    prefill: Prefill
    decode: Decode
    together: int  # sequences of all data-parallel ranks
    prompt_tokens: int
    output_tokens: int
    waves: int = 1  # in which sequences run that do not fit at once

    @property
    def first_s(self) -> float:
        """Seconds until the prompts of all waves are read, the time in which they write left out."""
        return self.waves * self.prefill.seconds

    @property
    def step_s(self) -> float:
        """Seconds until every sequence of all waves has a token more."""
        return self.waves * self.decode.step_s

    @property
    def balanced_batch(self) -> int:
        """The sequences from which on a step's products take longer than reading their weights.

        Where the time of one token, which is that of reading, meets the line that many tokens lie on.
        """
        one, many = (self.product_s(count) for count in (1, MANY_TOKENS))
        return max(1, round(one / many * MANY_TOKENS))

    def product_s(self, tokens: int) -> float:
        """Return the seconds of the products of a step with so many sequences."""
        found = self.passes.time(self.passes.step(sequences=tokens, context=0), kinds=(Product, Experts))
        return found.device_s + found.processor_s

    def figures(self, slower: float = 1.0, slower_prefill: float = 1.0) -> dict[str, float]:
        """Return the contract's figures, with times longer by the given factors."""
        first, step = self.first_s * slower_prefill, self.step_s * slower
        whole = first + step * max(self.output_tokens - 1, 0)
        found = {
            "prefill_tokens_per_s": self.together * self.prompt_tokens / first,
            "decode_tokens_per_s": self.together / step,
            "time_to_first_token_s": first,
            "time_per_output_token_s": step,
        }
        if self.output_tokens:
            found["output_tokens_per_s"] = self.together * self.output_tokens / whole
        return found


class Question(NamedTuple):
    """What a speed is asked of: a demand on devices, under an engine."""

    demand: Demand
    layout: Layout
    accelerator: Accelerator | None  # None where the host works alone
    engine: str
    era: str
    output_tokens: int
    cached_tokens: int
    batched_tokens: int | None  # of a pass over prompts; None where whole prompts pass at once
    attention: str = "flash"
    placement: Placement = ON_DEVICES
    host: Host | None = None
    places: tuple[tuple[Accelerator, Stage], ...] = ()  # the layers of each device, where they are not alike
    most: int | None = None  # sequences that fit at once; None or 0: all are taken to
    correction: Correction = UNCORRECTED
    backend: str = ""  # of the engine, where it is not the usual one of the device's maker
    serves: bool = False  # requests, of which each token is chosen and sent


def passes_for(question: Question, values: Mapping[str, float]) -> Passes | None:
    """Return the passes that a question is about, None where the device's rates are not known."""
    return passes_of(
        Setup(
            question.engine,
            question.era,
            values,
            question.attention,
            backend=question.backend,
            serves=question.serves,
        ),
        demand=question.demand,
        layout=question.layout,
        accelerator=question.accelerator,
        placement=question.placement,
        host=question.host,
        places=question.places,
        correction=question.correction,
    )


class Last:
    """The passes and the mean step that were asked for last: a search asks for the step first, and for all later."""

    def __init__(self) -> None:
        self.asked: tuple[Question, int] | None = None  # with the sequences of a data-parallel rank
        self.values: Mapping[str, float] | None = None
        self.found: tuple[Passes, Decode] | None = None

    def step(self, question: Question, values: Mapping[str, float]) -> tuple[Passes, Decode] | None:
        """Return passes with their mean step, None where the device's rates are not known."""
        asked = question._replace(most=None), divided(question)[1]
        if asked != self.asked or values is not self.values:
            self.asked, self.values, self.found = asked, values, None
            if passes := passes_for(question, values):
                self.found = passes, mean_step(passes, question, values)
        return self.found


def mean_step(passes: Passes, question: Question, values: Mapping[str, float]) -> Decode:
    """Return the mean step of the sequences that run at once."""
    overlaps, output = bool(values["overlaps_decode"]), question.output_tokens
    return decode(passes, sequences=divided(question)[1], output_tokens=output, overlaps=overlaps)


def speed_of(question: Question, values: Mapping[str, float], last: Last | None = None) -> Speed | None:
    """Return the speed under an engine's coefficients, None where the device's rates are not known."""
    found = (last or Last()).step(question, values)
    return None if found is None else speed_in(found[0], question, values, found[1])


def speed_in(passes: Passes, question: Question, values: Mapping[str, float], step: Decode | None = None) -> Speed:
    """Return the speed that passes make up, of which the mean `step` may be known.

    Sequences that do not fit at once run in waves, as even as can be, each after the one before it.
    """
    demand = question.demand
    waves, sequences = divided(question)
    first = prefill(
        passes,
        sequences=sequences,
        cached_tokens=question.cached_tokens,
        batched_tokens=question.batched_tokens,
        overlaps=values["overlaps_prefill"],
    )
    return Speed(
        passes,
        first,
        step or mean_step(passes, question, values),
        demand.sequences,
        prompt_tokens=demand.prompt_tokens,
        output_tokens=question.output_tokens,
        waves=waves,
    )


def divided(question: Question) -> tuple[int, int]:
    """Return the waves in which sequences run, and those of a data-parallel rank in each of them."""
    together = question.demand.sequences
    waves = ceil(together / question.most) if question.most else 1
    return waves, ceil(together / waves / question.layout.data)


def decoding(question: Question, values: Mapping[str, float], last: Last) -> dict[str, float]:
    """Return the figures of decoding alone, as `Speed` has them; none where the device's rates are not known."""
    found = last.step(question, values)
    if found is None:
        return {}
    step_s = divided(question)[0] * found[1].step_s
    return {"decode_tokens_per_s": question.demand.sequences / step_s, "time_per_output_token_s": step_s}


def prefill(
    passes: Passes, *, sequences: int, cached_tokens: int, batched_tokens: int | None, overlaps: float
) -> Prefill:
    """Return the prefill of `sequences` prompts; None batches them all in one pass.

    A long prompt is cut into chunks, each of which looks back at those before it: the chunk half-way is the mean.
    Short prompts share a pass. Chunks pass the stages of a pipeline one behind the other, behind one that is full;
    `overlaps` is the share of that gain which is reached.
    """
    prompt = passes.demand.prompt_tokens
    limit = batched_tokens or sequences * prompt
    if prompt > limit and not passes.demand.architecture.has_encoder:
        pieces = -(-prompt // limit)
        count, alike, chunk = sequences * pieces, 1.0, max(round(prompt / pieces), 1)
        before = cached_tokens + (prompt - chunk) // 2
    else:
        pieces, count = 1, -(-sequences // max(1, min(sequences, limit // prompt)))
        alike, chunk, before = sequences / count, prompt, cached_tokens
    time = passes.time(passes.prompt(sequences=alike, tokens=chunk, before=before, pieces=pieces))
    stages, longest = passes.layout.pipeline, time.total
    if stages > 1 and count > 1:
        full, alike = min(limit, prompt), max(min(limit / prompt, sequences), 1.0)
        longest = passes.time(passes.prompt(sequences=alike, tokens=full, before=before, pieces=pieces)).total
    slowest = max(time.stages_s, default=time.total / stages)
    seconds = seconds_of(passes=count, pass_s=time.total, longest_s=longest, slowest_s=slowest, overlaps=overlaps)
    return Prefill(time, count, seconds)


def seconds_of(*, passes: int, pass_s: float, longest_s: float, slowest_s: float, overlaps: float) -> float:
    """Return the seconds of passes through pipeline stages, of whose overlap the share `overlaps` is reached.

    The longest pass goes through all stages; each other one follows by its seconds on the slowest stage, where they
    overlap in full. `slowest_s` is of a mean pass.

    >>> seconds_of(passes=4, pass_s=1.0, longest_s=1.0, slowest_s=0.25, overlaps=1.0)
    1.75
    """
    together = longest_s + (passes * pass_s - longest_s) * slowest_s / pass_s
    return overlaps * together + (1 - overlaps) * passes * pass_s


def decode(passes: Passes, *, sequences: int, output_tokens: int, overlaps: bool) -> Decode:
    """Return the mean step over the output: the one whose cache is half-way between prompt and end.

    The time of a step is nearly linear in the cache's length, so the step half-way is the mean. Stages of a pipeline
    follow each other for one part of the batch, and work on as many parts at once as there are.
    """
    stages = passes.layout.pipeline
    parts = min(stages, max(sequences, 1)) if overlaps else 1
    context = max(passes.demand.tokens - output_tokens + output_tokens // 2 - 1, 0)
    time = passes.time(passes.step(sequences=sequences / parts, context=context))
    stage_s = passes.busiest_s(time) if parts > 1 else time.total
    step_s = step_of(pass_s=time.total, stage_s=stage_s, parts=parts) / passes.expected
    return Decode(time, parts, step_s)


def step_of(*, pass_s: float, stage_s: float, parts: int) -> float:
    """Return the seconds of a step when parts of the batch follow each other through the stages.

    A part is back when it has passed all stages, and no sooner than the busiest stage has worked on every part.

    >>> step_of(pass_s=1.0, stage_s=0.3, parts=2), step_of(pass_s=1.0, stage_s=0.3, parts=4)
    (1.0, 1.2)
    """
    return max(pass_s, parts * stage_s)
