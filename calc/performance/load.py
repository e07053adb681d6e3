r"""A server under load: requests that follow each other, so that as many as `concurrency` are in it at any time.

In the steady state of continuous batching a step decodes one token of each running sequence, and now and then takes a
chunk of a prompt along. Little's law (1961) says how the requests divide over waiting, prefill and decoding:
$C = X \cdot (t_{\\text{first}} + (o - 1) \cdot t_{\\text{token}})$ at $X$ requests a second.
"""

from math import ceil, exp, sqrt
from typing import NamedTuple

from calc.performance.forward import Segment
from calc.performance.halving import by_lines
from calc.performance.pass_times import PassTime
from calc.performance.passes import Passes
from calc.performance.rank_prompts import RARE, passes_met, ranks_met, steps_apart

Known = dict[tuple[int, tuple[Segment, ...]], PassTime]  # by the replicas that read, and the segments
ROUNDS = 24  # of halving the range in which the number of decoding sequences lies
CLOSE = 1e-3
LINES = 5  # that narrow the range before it is halved
TOGETHER = 10  # rounds of requests; those of the first come at once, as load tests and lulls have it
BUSIEST = 0.995  # share of the steps that may carry prompts, in the steady state
LEAST_ROOM = 16  # tokens of a step that decoding leaves to prompts at least
LENGTH_SPREAD = 0.03  # deviation of the lengths of answers over their mean: load tests vary them by some 5 % either way
# Of a mean wait, those that half and 95 % of exponentially distributed waits stay below; normal deviates beside them.
HALF, MOST, DEVIATES = 0.693, 2.996, 1.645


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


class State(NamedTuple):
    """The steady state of a server's data-parallel rank."""

    running: float  # sequences that are decoded in a step, as a mean
    first_s: float  # mean time to the first token
    queueing_s: float  # of that, behind other prompts
    service_s: float  # of that, in which the prompt is read
    step_s: float  # mean time between tokens
    spread_s: float  # standard deviation of a request's mean time between tokens
    share: float  # of the steps that a prompt is in, or prompt passes for each step
    extra_s: float  # that a step takes longer for it
    waits: float  # parts of a batch that wait behind a prompt, at a stage of several
    requests_per_s: float
    decoding: PassTime  # a step without prompts
    prompting: PassTime  # what carries a chunk of a prompt
    waiting_s: float = 0.0  # of the first token's, for a slot
    burst_s: float = (
        0.0  # of that, in rounds that begin at once; half of the seconds of all their prompts, over the rounds
    )
    step_waits: float = 0.5  # steps that a request waits for as a mean, where there are any
    late_s: float = 0.0  # of the first token's, in which the prompt is at stages that have no more parts
    wave_s: float = 0.0  # of the first token's, behind the prompts that come with it, where decoding waits for all
    front_s: float = 0.0  # of the front end for a step, where that is longer than the device's
    replicas: int = 1  # that read in a pass over prompts, as a mean

    @property
    def first_p50_s(self) -> float:
        """What half of the times to the first token stay below: those of requests that do not come at once."""
        return self.first_s - self.burst_s + (HALF - 1.0) * self.queueing_s

    @property
    def first_p95_s(self) -> float:
        """What 95 % stay below: a tenth comes at once, and half of these wait for half of the prompts."""
        return self.first_s + (TOGETHER - 1.0) * self.burst_s + (MOST - 1.0) * self.queueing_s


def steady_state(passes: Passes, load: Load) -> State:
    """Return how a server runs that is never short of requests.

    The number of decoding sequences is the one with which waiting, prefill and decoding make up all requests in it.
    """
    active, known = float(min(load.concurrency, load.slots)), Known()
    found = state(passes, load, active, known)
    if (more := held(found) - active) > 0.0:

        def excess(decoding: float) -> float:
            return held(state(passes, load, decoding, known)) - active

        # Where prompts are cut, numbers leap as a sequence more decodes, and lines lead nowhere.
        lines = LINES if load.prompt_tokens <= (load.batched_tokens or load.prompt_tokens) else 0
        beyond = by_lines(excess, active, at_0=-active, at_high=more, lines=lines, close=CLOSE)
        low, high = 0.0, active
        for _ in range(ROUNDS):
            middle = (low + high) / 2
            low, high = (low, middle) if beyond(middle) else (middle, high)
            if high - low < CLOSE * high:
                break
        found = state(passes, load, middle, known)
    waiting = max(load.concurrency - active, 0.0) / found.requests_per_s
    burst = bursts_s(passes, load, active, known)
    first = found.first_s + waiting + burst + load.request_s
    return found._replace(first_s=first, waiting_s=waiting, burst_s=burst)


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


def bursts_s(passes: Passes, load: Load, requests: float, known: Known | None = None) -> float:
    """Return the mean seconds that requests wait for each other in rounds that begin at once; one waits for none."""
    return burst_s(passes, load, requests, known) * (1.0 - 1.0 / max(requests, 1.0)) / (2.0 * TOGETHER)


def burst_s(passes: Passes, load: Load, requests: float, known: Known | None = None) -> float:
    """Return the seconds in which the prompts of so many requests are read that come at once."""
    prompt = load.prompt_tokens
    chunk = min(prompt, load.batched_tokens or prompt)
    together = max(min(requests, (load.batched_tokens or prompt) / prompt), 1.0)
    before = load.cached_tokens + (prompt - chunk) // 2
    time = known_time(passes, known, passes.prompt(sequences=together, tokens=chunk, before=before))
    return requests / together * ceil(prompt / chunk) * time.total / passes.layout.pipeline


def held(found: State) -> float:
    """Return the requests that decode or wait for their first token."""
    return found.running + found.requests_per_s * found.first_s


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


def state(passes: Passes, load: Load, decoding: float, known: Known | None = None) -> State:
    r"""Return how a server runs with so many sequences decoding: how often a step carries prompts, and what that takes.

    Where prompts come as often as they can be taken, each waits behind others as at a counter with one clerk and even
    service (Pollaczek and Khinchine): $\frac{\rho}{2 (1 - \rho)}$ times its service. Data ranks that share experts step
    together, and wait for whichever of them reads a prompt. No step is shorter than its front end takes to pass its
    tokens on and take the requests that come in it.

    Where decoding waits while prompts are read, and reading those that come together takes longer than they lie apart,
    they wait for one another. A request alone waits for none, and no step decodes less than one sequence.

    What is `known` are passes that were timed for other numbers of sequences.
    """
    output, stages = max(load.output_tokens, 1), passes.layout.pipeline
    context = load.cached_tokens + load.prompt_tokens + output // 2
    step = passes.step(sequences=max(decoding, 1.0), context=context)
    plain = known_time(passes, known, step)
    alone_s, tokens, steps = plain.total, max(output - 1, 1), steps_of(passes, load)
    reading = reading_of(passes, load, decoding, step=step, step_s=alone_s, known=known)
    chunks, arrivals, together, gap, others_met, replicas, carrying, read_s = reading
    # Of parts that follow each other through stages, those without a prompt wait behind one that has it.
    parts = min(float(stages), max(decoding, 1.0)) if load.mixes else 1.0
    waits = max(parts / together, 1.0)
    extra, late = waits * read_s, (stages / parts - 1.0) * waits * read_s
    each = arrivals * chunks / together  # chunks for each step of decoding
    busy = min(each if load.mixes else each / (1.0 + each), BUSIEST)
    if load.mixes:
        met = min(each * others_met, 1.0) * load.meets
        if load.closed:  # what is read with a request's own prompt is over before its answer begins
            met *= 1.0 - min(together / max(decoding, 1.0), 1.0)
    else:  # own prompts hold a rank up; while others read theirs it decodes, unless it drafts (SGLang's scheduler)
        beside = 0.0 if passes.draft else min(alone_s / max(extra, alone_s), 1.0)
        theirs = each * (others_met - 1.0)
        met = (each + (theirs if passes.draft else min(theirs, 1.0)) * (1.0 - beside)) * load.meets
    front = decoding * passes.expected * load.stream_s + arrivals * load.between_s  # of the front end, for a step
    between = max(alone_s + met * extra, front)
    service = read_apart(passes, load, chunks * (alone_s + extra if load.mixes else extra), known)
    queueing = min(busy / (2.0 * (1.0 - busy)), load.others / 2.0) * service
    wave = 0.0
    if load.closed and not load.mixes:
        all_s = each * extra * steps  # of all prompts, in the time of an answer
        queueing = min(queueing, all_s / 2.0)
        group = 1.0 / max(sqrt(12.0) * load.spread * steps, 1.0)  # of them, which follow answers that end with one step
        wave = max(group * all_s - load.request_s - group * decoding * load.between_s, 0.0) / 2.0 * load.meets
        between -= wave / steps
        queueing = max(queueing - wave, 0.0)
    token_s = between / passes.expected
    step_waits = load.step_waits + (gap - 1.0) / 2.0
    return State(
        running=decoding,
        first_s=load.meets * step_waits * between + service + late + queueing + wave,
        queueing_s=queueing,
        wave_s=wave,
        front_s=front if front > alone_s + met * extra else 0.0,
        service_s=service,
        late_s=late,
        replicas=replicas,
        step_waits=step_waits,
        step_s=token_s,
        spread_s=extra * sqrt(max(busy * (1.0 - busy), 0.0) / (tokens * passes.expected)),
        share=met,
        extra_s=extra,
        waits=waits,
        requests_per_s=decoding / (tokens * token_s),
        decoding=plain,
        prompting=carrying,
    )
