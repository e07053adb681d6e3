"""The speeds of a server to which requests come on their own: what a report says of `arrivals`."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from calc.derivation import Step
from calc.performance.arrivals import Request, Traffic, requests
from calc.performance.load import Load, State, state, steady_state
from calc.performance.passes import Passes
from calc.performance.queue import UNBOUNDED, Begun, Run, Server, run_queue
from calc.performance.speed import passes_for
from calc.performance.step_times import StepTimes
from calc.performance.working import pass_steps
from calc.planning.served import Served
from calc.planning.serving_load import LITTLE, load_of
from calc.planning.serving_report import Report, cache_pool
from calc.planning.serving_speed import speculation_gain, speed_factor, speed_question
from calc.units import show_count, show_number

COUNT, FEW, SEARCHED = 2000, 400, 250  # requests of a run: of an answer, of the ends of its range, of a load tried
HALVINGS = 10  # of the range in which the number of decoding sequences lies
BEGIN = 0.1  # share of the requests that find the server emptier than it will be, and are not counted
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the most that the server can do
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
KNEE = "kleinrock-power"
QUEUE = "orca"  # continuous batching, whose events a run goes through


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
        low, high = 0.0, self.saturated.running
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (
                (low, middle)
                if state(self.passes, self.load, middle).requests_per_s * self.replicas > requests_per_s
                else (middle, high)
            )
        return round(high)


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
    slots, replicas = served.serving.most_running, served.layout.data
    mixes = bool(passes.schedule.of("mixes_prompts"))
    load = load_of(served, question, slots * replicas, mixes=mixes)
    bounded = served.most and served.runtime.limit is not None
    held = prefix.held_tokens
    room = cache_pool(served)[1] - held if bounded else UNBOUNDED
    load = load._replace(slots=max(min(slots, room / max(prompt + output - held, 1)), 1.0))
    server = Server(
        slots=slots,
        room_tokens=room,
        batched_tokens=question.batched_tokens,
        mixes=mixes,
        request_s=load.request_s,
        prefix=prefix,
    )
    most = question.batched_tokens or prompt
    times = StepTimes(passes, prompt_tokens=prompt, output_tokens=output, most_tokens=most, mixes=mixes)
    return Site(
        passes=passes,
        times=times,
        server=server,
        replicas=replicas,
        longest=max(room + held, 2),
        load=load,
        saturated=steady_state(passes, load._replace(concurrency=load.slots)),
    )


def run_of(site: Site, traffic: Traffic, *, count: int, factors: tuple[float, float] = (1.0, 1.0)) -> Found:
    """Return what a run of so many requests says, with steps and prompts that take longer by the factors given."""
    server = site.server._replace(step_factor=factors[0], prompt_factor=factors[1])
    asked = requests(traffic.arrivals, count=count, replicas=site.replicas, longest=site.longest)
    run = run_queue(asked, server=server, times=site.times, begun=begun(site, traffic, asked))
    return summed(run, traffic, replicas=site.replicas)


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
    """Return the figures of a run; requests at its very beginning are left out of the times."""
    answers = run.served[int(BEGIN * len(run.served)) :]
    seconds = max(run.seconds, 1e-9)
    return Found(
        run=run,
        first=percentiles([answer.wait_s for answer in answers]),
        token=percentiles([answer.token_s for answer in answers if answer.token_s is not None]),
        whole=percentiles([answer.whole_s for answer in answers]),
        kept=sum(answer.keeps(traffic.objective) for answer in answers) / len(answers),
        running=replicas * run.running_s / seconds,
        answered_per_s=replicas * run.answered / seconds,
        output_tokens_per_s=replicas * run.written_tokens / seconds,
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


def at_rate(traffic: Traffic, requests_per_s: float) -> Traffic:
    """Return the same requests, coming at another rate."""
    return traffic._replace(arrivals=traffic.arrivals._replace(requests_per_s=requests_per_s))


def at_load(site: Site, traffic: Traffic, share: float) -> Found:
    """Return what a short run says at a share of the most that a server answers."""
    return run_of(site, at_rate(traffic, share * site.most_per_s), count=SEARCHED)


def knee(site: Site, traffic: Traffic) -> float:
    r"""Return the requests a second at which the knee lies: where power, $X / W$, is largest (Kleinrock, 1979).

    Below it, time grows more slowly than what is answered; above it, faster. It is sought among `LOADS`, uphill.
    """
    known: dict[int, float] = {}

    def power(place: int) -> float:
        if place not in known:
            known[place] = LOADS[place] / at_load(site, traffic, LOADS[place]).whole[""]
        return known[place]

    place = len(LOADS) // 2
    while place + 1 < len(LOADS) and power(place + 1) > power(place):
        place += 1
    while place > 0 and power(place - 1) > power(place):
        place -= 1
    return LOADS[place] * site.most_per_s


def arriving_speed(
    served: Served, traffic: Traffic, output_tokens: int, cached_tokens: int
) -> tuple[Report, list[Step]] | None:
    """Return the speeds of a seeded run with their working, None where a device's rates are not known.

    The ends of a range are those of runs in which everything takes longer, or less long, by what measurements showed.
    """
    site = site_of(served, traffic, output_tokens, cached_tokens)
    if site is None:
        return None
    step, first = speed_factor(served, "decode"), speed_factor(served, "prefill")
    typical = run_of(site, traffic, count=COUNT)
    prompt = traffic.arrivals.prompt_tokens
    read = prompt - served.demand.prefix.found(round(prompt))
    other = [
        figures(run_of(site, traffic, count=FEW, factors=(step**power, first**power)), traffic, read)
        for power in (-1, 1)
    ]
    report: Report = {}
    for name, value in figures(typical, traffic, read).items():
        ends = [value, *(end[name] for end in other)]
        report[name] = {"low": min(ends), "typical": value, "high": max(ends)}
    found = knee(site, traffic)
    for name, value in (("knee_requests_per_s", found), ("most_requests_per_s", site.most_per_s)):
        report[name] = {"low": value / step, "typical": value, "high": value * step}
    time = site.saturated.decoding
    report["max_sequences"], report["preempted"] = served.most, typical.run.preempted
    report["running_sequences"], report["requests_per_s"] = typical.running, typical.answered_per_s
    report["bound_by"], report["prefill_bound_by"] = time.bound_by, site.saturated.prompting.bound_by
    report["balanced_batch"] = None
    question = speed_question(served, output_tokens, cached_tokens)
    if (gained := speculation_gain(served, question)) is not None:
        report["speculation"] = gained
    return report, [*arrival_steps(served, site, traffic, typical), knee_step(site, found)]


def knee_step(site: Site, requests_per_s: float) -> Step:
    """Return the working of the knee."""
    return Step(
        "Load at the knee",
        r"\max_r \frac{r}{W(r)}",
        f"{show_number(requests_per_s / site.most_per_s)} × {show_number(site.most_per_s, 5)}",
        requests_per_s,
        unit="1/s",
        source=KNEE,
    )


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


def arrival_steps(served: Served, site: Site, traffic: Traffic, found: Found) -> list[Step]:
    """Return the working: the steps that a run is made of, the most that the server does, and what the run says."""
    engine, arrivals, saturated = served.serving.engine, traffic.arrivals, site.saturated
    steps = [
        *pass_steps("step without prompts, at the most", saturated.decoding, engine),
        *pass_steps("step that takes prompts along, at the most", saturated.prompting, engine),
    ]
    tokens = max(arrivals.output_tokens - 1, 1)
    rate, replicas = saturated.requests_per_s, site.replicas
    numbers = f"{show_number(saturated.running, 5)} / ({show_number(tokens, 5)} × {show_number(saturated.step_s, 5)})"
    steps.append(
        Step(
            "Most requests a second",
            r"\frac{n_{\text{most}}}{(o - 1) \cdot t_{\text{token}}} \cdot n_{\text{replicas}}",
            f"{numbers} × {show_count(replicas)}",
            rate * replicas,
            unit="1/s",
            source=LITTLE,
        )
    )
    steps.append(
        Step(
            "Share of the most",
            r"\frac{r}{r_{\text{most}}}",
            f"{show_number(arrivals.requests_per_s, 5)} / {show_number(site.most_per_s, 5)}",
            arrivals.requests_per_s / site.most_per_s,
            unit="",
            source=LITTLE,
        )
    )
    steps.append(
        Step(
            "Mean time of a request, event by event",
            r"\frac{1}{N} \sum (t_{\text{last}} - t_{\text{came}})",
            f"{show_number(found.whole[''] * COUNT, 6)} / {show_count(COUNT)}",
            found.whole[""],
            unit="s",
            source=QUEUE,
        )
    )
    return steps
