"""The speeds of a server to which requests come on their own: what a report says of `arrivals`."""

from calc.derivation import Step
from calc.performance.arrivals import Traffic
from calc.performance.working import pass_steps
from calc.planning.served import Served
from calc.planning.serving_load import LITTLE
from calc.planning.serving_question import speculation_gain, speed_factors, speed_question
from calc.planning.serving_report import Report
from calc.planning.serving_run import Found, Site, figures, passes, run_of, run_report, site_of, tokens_to_read
from calc.units import show_count, show_number

COUNT, FEW, SEARCHED = 2000, 400, 250  # requests of a run: of an answer, of the ends of its range, of a load tried
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the most that the server can do
KNEE = "kleinrock-power"
QUEUE = "orca"  # continuous batching, whose events a run goes through


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
    step, first = speed_factors(served)
    typical = run_of(site, traffic, count=COUNT)
    read = tokens_to_read(served, traffic)
    runs = [
        typical,
        *(run_of(site, traffic, count=FEW, factors=(step**power, first**power)) for power in (-1, 1)),
    ]
    report = run_report(served, site, typical, [figures(run, traffic, read) for run in runs])
    found = knee(site, traffic)
    for name, value in (("knee_requests_per_s", found), ("most_requests_per_s", site.most_per_s)):
        report[name] = {"low": value / step, "typical": value, "high": value * step}
    question = speed_question(served, output_tokens, cached_tokens)
    if (gained := speculation_gain(served, question)) is not None:
        report["speculation"] = gained
    return report, [*arrival_steps(served, site, traffic, typical), knee_step(site, found)]


def keeps_at_random(served: Served, traffic: Traffic, output_tokens: int, cached_tokens: int, *, share: float) -> bool:
    """Return whether a share of the requests is within its objective in the run that a report is of."""
    site = site_of(served, traffic, output_tokens, cached_tokens)
    return site is not None and passes(site, traffic, count=COUNT, share=share)


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
