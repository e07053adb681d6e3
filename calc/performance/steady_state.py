r"""A server under load: requests that follow each other, so that as many as `concurrency` are in it at any time.

In the steady state of continuous batching a step decodes one token of each running sequence, and now and then takes a
chunk of a prompt along. Little's law (1961) says how the requests divide over waiting, prefill and decoding:
$C = X \cdot (t_{\\text{first}} + (o - 1) \cdot t_{\\text{token}})$ at $X$ requests a second.
"""

from math import ceil, sqrt
from typing import NamedTuple

from calc.performance.halving import by_lines
from calc.performance.load import Known, Load, Reading, known_time, read_apart, reading_of, steps_of
from calc.performance.pass_times import PassTime
from calc.performance.passes import Passes

ROUNDS = 24  # of halving the range in which the number of decoding sequences lies
CLOSE = 1e-3
LINES = 5  # that narrow the range before it is halved
TOGETHER = 10  # rounds of requests; those of the first come at once, as load tests and lulls have it
BUSIEST = 0.995  # share of the steps that may carry prompts, in the steady state
# Of a mean wait, those that half and 95 % of exponentially distributed waits stay below; normal deviates beside them.
HALF, MOST, DEVIATES = 0.693, 2.996, 1.645


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
    burst_s: float = 0.0  # of that, in rounds that begin at once: half of what all their prompts take, over the rounds
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


def state(passes: Passes, load: Load, decoding: float, known: Known | None = None) -> State:
    r"""Return how a server runs with so many sequences decoding: how often a step carries prompts, and what that takes.

    Where prompts come as often as they can be taken, each waits behind others as at a counter with one clerk and even
    service (Pollaczek and Khinchine): $\frac{\rho}{2 (1 - \rho)}$ times its service. No step is shorter than its front
    end takes to pass its tokens on and take the requests that come in it. A request alone waits for none, and no step
    decodes less than one sequence.

    What is `known` are passes that were timed for other numbers of sequences.
    """
    output, stages = max(load.output_tokens, 1), passes.layout.pipeline
    context = load.cached_tokens + load.prompt_tokens + output // 2
    step = passes.step(sequences=max(decoding, 1.0), context=context)
    plain = known_time(passes, known, step)
    alone_s, tokens = plain.total, max(output - 1, 1)
    reading = reading_of(passes, load, decoding, step=step, step_s=alone_s, known=known)
    # Of parts that follow each other through stages, those without a prompt wait behind one that has it.
    parts = min(float(stages), max(decoding, 1.0)) if load.mixes else 1.0
    waits = max(parts / reading.together, 1.0)
    extra, late = waits * reading.stage_s, (stages / parts - 1.0) * waits * reading.stage_s
    each = reading.arrivals * reading.chunks / reading.together  # chunks for each step of decoding
    busy = min(each if load.mixes else each / (1.0 + each), BUSIEST)
    met = prompts_met(passes, load, reading, each=each, alone_s=alone_s, extra_s=extra, decoding=decoding)
    # Of the front end, for a step.
    front = decoding * passes.expected * load.stream_s + reading.arrivals * load.between_s
    between = max(alone_s + met * extra, front)
    service = read_apart(passes, load, reading.chunks * (alone_s + extra if load.mixes else extra), known)
    queueing, wave = min(busy / (2.0 * (1.0 - busy)), load.others / 2.0) * service, 0.0
    if load.closed and not load.mixes:
        steps = steps_of(passes, load)
        queueing, wave = in_waves(load, queueing, each * extra * steps, decoding=decoding, steps=steps)
        between -= wave / steps
    token_s, step_waits = between / passes.expected, load.step_waits + (reading.gap - 1.0) / 2.0
    return State(
        running=decoding,
        first_s=load.meets * step_waits * between + service + late + queueing + wave,
        queueing_s=queueing,
        wave_s=wave,
        front_s=front if front > alone_s + met * extra else 0.0,
        service_s=service,
        late_s=late,
        replicas=reading.replicas,
        step_waits=step_waits,
        step_s=token_s,
        spread_s=extra * sqrt(max(busy * (1.0 - busy), 0.0) / (tokens * passes.expected)),
        share=met,
        extra_s=extra,
        waits=waits,
        requests_per_s=decoding / (tokens * token_s),
        decoding=plain,
        prompting=reading.time,
    )


def prompts_met(
    passes: Passes, load: Load, reading: Reading, *, each: float, alone_s: float, extra_s: float, decoding: float
) -> float:
    """Return the chunks of prompts that a step meets, of `each` that come in it to a rank.

    Data ranks that share experts step together, and wait for whichever of them reads a prompt. What is read with a
    request's own prompt is over before its answer begins. Where decoding waits, own prompts hold a rank up; while
    others read theirs it decodes, unless it drafts (SGLang's scheduler).
    """
    if load.mixes:
        own = min(reading.together / max(decoding, 1.0), 1.0) if load.closed else 0.0
        return min(each * reading.met, 1.0) * load.meets * (1.0 - own)
    beside = 0.0 if passes.draft else min(alone_s / max(extra_s, alone_s), 1.0)
    theirs = each * (reading.met - 1.0)
    return (each + (theirs if passes.draft else min(theirs, 1.0)) * (1.0 - beside)) * load.meets


def in_waves(load: Load, queueing_s: float, prompts_s: float, *, decoding: float, steps: float) -> tuple[float, float]:
    """Return the seconds in which a prompt waits behind others, and behind those that come with it.

    `prompts_s` are those of all prompts in the time of an answer. Where decoding waits while prompts are read, and
    reading those that come together takes longer than they lie apart, they wait for one another.
    """
    queueing_s = min(queueing_s, prompts_s / 2.0)
    group = 1.0 / max(sqrt(12.0) * load.spread * steps, 1.0)  # of them, which follow answers that end with one step
    apart_s = load.request_s + group * decoding * load.between_s
    wave = max(group * prompts_s - apart_s, 0.0) / 2.0 * load.meets
    return max(queueing_s - wave, 0.0), wave
