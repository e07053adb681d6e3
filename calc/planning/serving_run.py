"""A run of requests through one replica of a server, event by event, and what it says of all of them."""

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from math import ceil, isinf
from typing import NamedTuple

from calc.performance.arrivals import Arrivals, Request, Traffic, requests
from calc.performance.load import Load, tokens_from
from calc.performance.passes import Passes
from calc.performance.queue import UNBOUNDED, run_queue
from calc.performance.server import Begun, Run, Server
from calc.performance.speed import passes_for
from calc.performance.steady_state import State, state, steady_state
from calc.performance.step_times import StepTimes
from calc.performance.trial import Trial
from calc.planning.served import Served
from calc.planning.serving_load import busy_passes, load_of
from calc.planning.serving_question import speed_question
from calc.planning.serving_report import Report, cache_pool, state_slots

PARTS = 1024  # of the range in which the number of decoding sequences lies
BEGIN = 0.1  # share of the requests that find the server emptier than it will be, and are not counted
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


class Site(NamedTuple):
    """A server with what decides its times, one data-parallel rank of some that take turns."""

    passes: Passes
    times: StepTimes
    server: Server
    replicas: int
    longest: int  # tokens of a request that the cache holds
    load: Load
    saturated: State  # in which it is never short of requests

    @property
    def most_per_s(self) -> float:
        """Requests a second of all replicas when none is ever short of them."""
        return self.saturated.requests_per_s * self.replicas

    def running(self, requests_per_s: float) -> int:
        """Return the sequences that a replica decodes at a time where so many requests come to all: as Little says."""
        return round(running_at(self.passes, self.load, self.saturated.running, requests_per_s / self.replicas))


class Found(NamedTuple):
    """What a run says: times in seconds by percentile, shares, and rates of all replicas."""

    run: Run
    first: dict[str, float]
    token: dict[str, float]
    whole: dict[str, float]
    kept: float  # share of the requests within the objective
    running: float  # sequences that are decoded, as a mean
    answered_per_s: float
    output_tokens_per_s: float


def site_of(served: Served, traffic: Traffic, output_tokens: int, cached_tokens: int) -> Site | None:
    """Return the server of a scenario, None where a device's rates are not known."""
    question = speed_question(served, output_tokens, cached_tokens)
    passes = passes_for(question, served.serving.engine.values) if question else None
    if question is None or passes is None:
        return None
    prompt, output = (max(round(mean), 1) for mean in (traffic.arrivals.prompt_tokens, traffic.arrivals.output_tokens))
    prefix = served.demand.prefix
    found = prefix.found(prompt)
    demand = question.demand._replace(prompt_tokens=prompt - found)
    question = question._replace(demand=demand, output_tokens=output, cached_tokens=cached_tokens + found)
    running, replicas = served.serving.running(served.demand, served.layout), served.layout.data
    slots = max(int(min(running, state_slots(served))), 1)
    load = load_of(served, question, slots * replicas, passes.schedule)
    passes = busy_passes(passes, load, traffic.arrivals.at_a_time or slots * replicas, replicas)
    bounded = served.most and served.runtime.fits  # what does not fit is timed as if it did, here as elsewhere
    held = prefix.held_tokens
    room = cache_pool(served, decoding=True)[1] - held if bounded else UNBOUNDED
    load = load._replace(slots=max(min(slots, room / max(prompt + output - held, 1)), 1.0))
    server = Server(
        slots=slots,
        room_tokens=room,
        batched_tokens=question.batched_tokens,
        mixes=load.mixes,
        request_s=load.request_s,
        between_s=load.between_s,
        stream_s=load.stream_s,
        ahead=round(load.ahead),
        held_prompts=load.held_prompts,
        prefix=prefix,
        reserves=served.serving.engine.values.get("reserves_answers", 0.0),
    )
    saturated = steady_state(passes, load._replace(concurrency=load.slots))
    times = StepTimes(
        passes,
        prompt_tokens=prompt,
        output_tokens=output,
        most_tokens=question.batched_tokens or prompt,
        mixes=load.mixes,
        held_up_s=held_up_by_ranks(passes, load, saturated.running, traffic.arrivals),
        reading=reading_beside(passes, load, saturated, traffic.arrivals),
        gap=(lambda count: ceil(load.gap(count * passes.expected / output, count))) if load.held_steps else None,
    )
    return Site(
        passes=passes,
        times=times,
        server=server,
        replicas=replicas,
        longest=max(room + held, 2),
        load=load,
        saturated=saturated,
    )


def running_at(passes: Passes, load: Load, most: float, requests_per_s: float) -> float:
    """Return the sequences of at `most` so many that one rank decodes at a time where so many requests come to it."""

    def answered_per_s(part: int) -> float:
        return state(passes, load, most * part / PARTS).requests_per_s

    return most * (1 + bisect(range(1, PARTS), requests_per_s, key=answered_per_s)) / PARTS


def held_up_by_ranks(passes: Passes, load: Load, most: float, arrivals: Arrivals) -> Callable[[int], float] | None:
    """Return by how many seconds a step of so many sequences is longer for prompts on ranks that step together with it.

    A run follows one rank of several to which requests come alike: what it waits for the others' is that of a steady
    state, with as many of theirs as come; where clients send one after the other, with as many as it has itself. None
    where it waits for none: a rank alone, and what comes all at once, or faster than it is answered, which all ranks
    read at the same time.
    """
    if load.ranks == 1 or (isinf(arrivals.requests_per_s) and not arrivals.at_a_time):
        return None
    load = load._replace(closed=bool(arrivals.at_a_time), spread=arrivals.output_deviation)
    alone = load._replace(ranks=1)
    theirs = None if arrivals.at_a_time else running_at(passes, load, most, arrivals.requests_per_s / load.ranks)
    if theirs is not None and arrivals.requests:
        if theirs >= most:
            return None
        theirs = min(theirs, arrivals.requests / load.ranks)

    def held_up_s(sequences: int) -> float:
        running = sequences if theirs is None else theirs
        return state(passes, load, running).step_s - state(passes, alone, running).step_s

    return held_up_s


def reading_beside(
    passes: Passes, load: Load, saturated: State, arrivals: Arrivals
) -> Callable[[int, int], int] | None:
    """Return how many data ranks a pass's tokens are of, beside so many decoding sequences and with so many of prompts.

    None where all ranks read: where requests come all at once, or as they will.
    """
    replicas = saturated.replicas
    if load.ranks == 1 or not arrivals.at_a_time or replicas >= load.ranks:
        return None
    return lambda beside, tokens: tokens_from(load.ranks, replicas, beside=beside * passes.queries, tokens=tokens)


def run_of(site: Site, traffic: Traffic, *, count: int, factors: tuple[float, float] = (1.0, 1.0)) -> Found:
    """Return what a run of so many requests says, with steps and prompts that take longer by the factors given."""
    server = site.server._replace(step_factor=factors[0], prompt_factor=factors[1])
    asked = requests(traffic.arrivals, count=count, replicas=site.replicas, longest=site.longest)
    run = run_queue(asked, server=server, times=site.times, begun=begun(site, traffic, asked))
    return summed(run, traffic, replicas=site.replicas)


def passes(site: Site, traffic: Traffic, *, count: int, share: float) -> bool:
    """Return whether a share of the requests of such a run is within the objective, as soon as that is clear."""
    asked = requests(traffic.arrivals, count=count, replicas=site.replicas, longest=site.longest)
    trial = Trial(
        asked,
        begun(site, traffic, asked),
        site.server,
        site.times,
        objective=traffic.objective,
        share=share,
        skipped=int(BEGIN * count),
    )
    return trial.passes()


def begun(site: Site, traffic: Traffic, asked: Sequence[Request]) -> list[Begun]:
    """Return the answers that a server is busy with in the steady state of a load: requests like those that come."""
    running = min(site.running(traffic.arrivals.requests_per_s), len(asked))
    left = site.server.room_tokens
    found: list[Begun] = []
    for place, request in enumerate(asked[:running]):
        written = 1 + int((request.output_tokens - 1) * (place + 0.5) / running)
        left -= site.server.own_tokens(request.prompt_tokens) + written
        if left < 0 or len(found) >= site.server.slots:
            break
        found.append(Begun(request._replace(at_s=0.0), written))
    return found


def summed(run: Run, traffic: Traffic, *, replicas: int) -> Found:
    """Return the figures of a run; requests at its very beginning are left out of the times.

    Rates are those until the last request came; of the whole run where none was answered by then.
    """
    seconds, running_s, answered, tokens = run.seconds, run.running_s, run.answered, run.written_tokens
    if not answered:
        seconds, running_s = max(request.last_s for request in run.served), run.writing_s
        answered, tokens = len(run.served), sum(request.output_tokens for request in run.served)
    seconds = max(seconds, 1e-9)
    return found_of(
        run,
        traffic,
        skipped=int(BEGIN * len(run.served)),
        running=replicas * running_s / seconds,
        answered_per_s=replicas * answered / seconds,
        output_tokens_per_s=replicas * tokens / seconds,
    )


def found_of(
    run: Run,
    traffic: Traffic,
    *,
    skipped: int,
    running: float,
    answered_per_s: float,
    output_tokens_per_s: float,
) -> Found:
    """Return what the answers of a run, but for the first few, say of times, beside the rates that are given."""
    answers = run.served[skipped:]
    return Found(
        run=run,
        first=percentiles([answer.wait_s for answer in answers]),
        token=percentiles([answer.token_s for answer in answers if answer.token_s is not None]),
        whole=percentiles([answer.whole_s for answer in answers]),
        kept=sum(answer.keeps(traffic.objective) for answer in answers) / len(answers),
        running=running,
        answered_per_s=answered_per_s,
        output_tokens_per_s=output_tokens_per_s,
    )


def percentiles(values: list[float]) -> dict[str, float]:
    """Return the mean of some values, and those that shares of them do not exceed; zeros of none.

    >>> percentiles([1.0, 2.0, 3.0, 10.0])
    {'': 4.0, 'p50': 2.0, 'p95': 10.0, 'p99': 10.0}
    """
    if not values:
        return dict.fromkeys(("", *PERCENTILES), 0.0)
    values = sorted(values)
    return {
        "": sum(values) / len(values),
        **{name: values[ceil(share * len(values)) - 1] for name, share in PERCENTILES.items()},
    }


def figures(found: Found, traffic: Traffic, read_tokens: float) -> dict[str, float]:
    """Return the contract's figures by name; `read_tokens` of a mean prompt are not found in the cache."""
    arrivals = traffic.arrivals
    times = {
        f"{figure}_{percentile}_s".replace("__", "_"): value
        for figure, values in (
            ("time_to_first_token", found.first),
            ("time_per_output_token", found.token),
            ("request", found.whole),
        )
        for percentile, value in values.items()
    }
    rates = {
        "prefill_tokens_per_s": found.answered_per_s * read_tokens,
        "decode_tokens_per_s": found.output_tokens_per_s,
        "output_tokens_per_s": found.output_tokens_per_s,
    }
    if any(most is not None for most in traffic.objective):
        rates["within_objective"] = found.kept
        rates["goodput_requests_per_s"] = found.kept * min(found.answered_per_s, arrivals.requests_per_s)
    return {**rates, **times}


def run_report(served: Served, site: Site, typical: Found, found: Sequence[Mapping[str, float]]) -> Report:
    """Return the report of a run: each figure from the least to the most of `found`, whose first is the typical one."""
    report: Report = {}
    for name, value in found[0].items():
        values = [ends[name] for ends in found]
        report[name] = {"low": min(values), "typical": value, "high": max(values)}
    saturated = site.saturated
    report["max_sequences"], report["preempted"] = served.most, typical.run.preempted
    report["running_sequences"], report["requests_per_s"] = typical.running, typical.answered_per_s
    report["bound_by"], report["prefill_bound_by"] = saturated.decoding.bound_by, saturated.prompting.bound_by
    report["balanced_batch"] = None
    return report


def tokens_to_read(served: Served, traffic: Traffic) -> float:
    """Return the tokens of a mean prompt that are not found in the cache."""
    prompt = traffic.arrivals.prompt_tokens
    return prompt - served.demand.prefix.found(round(prompt))
