"""What a server is asked for, and how it reads prompts beside the sequences that it decodes."""

from math import ceil, exp, sqrt
from typing import NamedTuple

from calc.performance.forward import Segment
from calc.performance.pass_times import PassTime
from calc.performance.passes import Passes
from calc.performance.rank_prompts import RARE, passes_met, ranks_met, steps_apart

Known = dict[tuple[int, tuple[Segment, ...]], PassTime]  # by the replicas that read, and the segments
LEAST_ROOM = 16  # tokens of a step that decoding leaves to prompts at least
LENGTH_SPREAD = 0.03  # deviation of the lengths of answers over their mean: load tests vary them by some 5 % either way


class Load(NamedTuple):
    """What a server of one data-parallel rank is asked for."""

    concurrency: float  # requests in the server
    slots: float  # that it works on at a time
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int
    batched_tokens: int | None  # of a step, prompts and decoding together; None: whole prompts pass at once
    request_s: float  # on its way through the server, beside the device
    ranks: int  # data ranks that step together
    mixes: bool  # prompts and decoding share a step; else decoding waits while prompts are read
    closed: bool = False  # each request is followed by the next at once
    between_s: float = 0.0  # in which client and front end take one request after the other
    stream_s: float = 0.0  # of the front end for each token that it passes on
    spread: float = LENGTH_SPREAD  # deviation of the lengths of answers, over their mean
    ahead: float = 0.0  # steps that have been launched behind the one which a request finds under way
    held_steps: float = 0.0  # at most, in which prompts wait for those of other data ranks; 0: they wait for none
    held_prompts: float = 1.0  # of a rank until all have one, as a mean

    @property
    def step_waits(self) -> float:
        """Steps until a request is in one, as a mean, where there are any: half of one, and those behind it."""
        return 0.5 + self.ahead

    def gap(self, arrivals: float, decoding: float) -> float:
        """Return the steps between those that carry prompts, of which so many come in a step."""
        if not self.held_steps or self.others == 0.0:
            return 1.0
        return steps_apart(arrivals, decoding, most=self.held_steps, prompts=self.held_prompts)

    @property
    def others(self) -> float:
        """Whose prompts and steps a request can find under way: all but its own, of those that came or have a slot."""
        return max((self.concurrency if self.closed else self.slots) - 1.0, 0.0)

    @property
    def meets(self) -> float:
        """The chance of there being another at all: a request alone meets none."""
        return min(self.others, 1.0)


class Reading(NamedTuple):
    """How prompts are read beside so many sequences that are decoded."""

    chunks: int  # of a prompt
    arrivals: float  # of prompts, a step
    together: float  # prompts whose chunks share a pass
    gap: float  # steps from one that may carry prompts to the next
    met: float  # passes with the prompts of any data rank, for each with a rank's own
    replicas: int  # that read in such a pass, as a mean
    time: PassTime  # of what carries them
    stage_s: float  # that they add until the next may follow: at each stage, as far as stages overlap


def known_time(passes: Passes, known: Known | None, *segments: Segment, reading: int = 0) -> PassTime:
    """Return the time of a pass, worked out once where what is known of others is kept.

    `reading`: replicas that read a prompt in it, where others have none; 0: all.
    """
    passes = passes.with_reading(reading) if reading else passes
    if known is None:
        return passes.time(*segments)
    key = reading, segments
    if key not in known:
        known[key] = passes.time(*segments)
    return known[key]


def apart_of(load: Load, running: float, *, steps: float, step_s: float) -> float:
    """Return the share of an answer's seconds over which the prompts come that follow answers which began together.

    They come as far apart as even lengths of such a deviation lie, and as client and front end take them one by one;
    those of one step at once.
    """
    if not load.closed:
        return 1.0
    taken = (load.request_s + running * load.between_s) / (steps * step_s)
    return min(max(sqrt(12.0) * load.spread, taken, 1.0 / steps), 1.0)


def reading_of(
    passes: Passes, load: Load, decoding: float, *, step: Segment, step_s: float, known: Known | None
) -> Reading:
    """Return how prompts are read beside so many sequences that are decoded in steps of so many seconds.

    A chunk has what decoding leaves of a step's tokens. Short prompts that arrive together share one: where each
    request is followed by the next, those come together whose answers began together.
    """
    prompt, output = load.prompt_tokens, max(load.output_tokens, 1)
    taken = int(decoding) * passes.queries if load.mixes else 0
    room = max((load.batched_tokens or max(prompt, 1)) - taken, LEAST_ROOM)
    chunk, arrivals = min(prompt, room), decoding * passes.expected / output
    chunks = ceil(prompt / chunk)
    gap = load.gap(arrivals, decoding)
    dense = gap * arrivals / apart_of(load, decoding, steps=steps_of(passes, load), step_s=step_s)
    together = 1.0 if dense < RARE else dense / (1.0 - exp(-dense))
    together = max(min(together, room / chunk), 1.0)
    before = load.cached_tokens + (prompt - chunk) // 2
    piece = passes.prompt(sequences=together, tokens=max(round(prompt / chunks), 1), before=before)
    met = ranks_met(load.ranks, dense) if load.mixes else passes_met(load.ranks, dense)
    replicas = max(round(load.ranks / met), 1)
    reading = tokens_from(load.ranks, replicas, beside=taken, tokens=together * chunk)
    carrying = known_time(passes, known, *((step, piece) if load.mixes else (piece,)), reading=reading)
    added = max(carrying.total - step_s, 0.0) if load.mixes else carrying.total
    return Reading(
        chunks=chunks,
        arrivals=arrivals,
        together=together,
        gap=gap,
        met=met,
        replicas=replicas,
        time=carrying,
        stage_s=added * stage_share(passes.layout.pipeline, passes.schedule.values["overlaps_prefill"]),
    )


def stage_share(stages: int, overlaps: float) -> float:
    """Return the share of a pass through all stages after which the next may follow, where overlaps are reached so far.

    >>> stage_share(4, 1.0), stage_share(4, 0.5)
    (0.25, 0.625)
    """
    return 1.0 - overlaps * (1.0 - 1.0 / stages)


def read_apart(passes: Passes, load: Load, service_s: float, known: Known | None) -> float:
    """Return the seconds in which a prompt is read whose last tokens llama-server reads by themselves.

    Before them it keeps a copy of what cannot be cut off at any token: states, and caches of windows.
    """
    tail, prompt = int(passes.schedule.values.get("tail_tokens", 0.0)), load.prompt_tokens
    if not tail or prompt <= tail or not passes.demand.architecture.forgets:
        return service_s
    last = passes.prompt(sequences=1.0, tokens=tail, before=load.cached_tokens + prompt - tail)
    return service_s * (1.0 - tail / prompt) + known_time(passes, known, last).total


def tokens_from(ranks: int, replicas: int, *, beside: int, tokens: float) -> int:
    """Return how many data ranks, as a mean, a pass's tokens are of, where so few read beside all that decode; 0: all.

    What a rank without a prompt passes along is what it decodes, or nothing: no engine fills it up to the others'
    prompts (SGLang's DpPaddingMode, SUM_LEN where anyone reads; vLLM's sizes of what is gathered).
    """
    return 0 if replicas >= ranks else round((ranks * beside + replicas * tokens) / (beside + tokens))


def steps_of(passes: Passes, load: Load) -> float:
    """Return the steps of an answer behind its first token."""
    return max(max(load.output_tokens, 1) - 1, 1) / passes.expected
