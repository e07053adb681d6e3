"""The speeds of a server to which a number of requests comes and no more: `arrivals` with `requests`.

All come at once, or at a rate, or a client keeps `concurrency` of them in the server, as load tests do.
"""

from math import ceil

from calc.derivation import Step
from calc.performance.arrivals import Traffic, requests
from calc.performance.queue import run_queue
from calc.performance.working import pass_steps
from calc.planning.served import Served
from calc.planning.serving_question import speculation_gain, speed_factors, speed_question
from calc.planning.serving_report import Report
from calc.planning.serving_run import Found, Site, figures, found_of, run_report, site_of, tokens_to_read
from calc.units import show_count, show_number

QUEUE = "orca"  # continuous batching, whose events a run goes through


def burst_of(site: Site, traffic: Traffic, *, factors: tuple[float, float] = (1.0, 1.0)) -> Found:
    """Return what a run says of all requests, from when they come until the last is answered.

    Replicas take turns, as many as there are clients for. Steps and prompts take longer by the factors given.
    """
    kept = traffic.arrivals.at_a_time
    clients = ceil(kept / site.replicas)
    each = ceil(traffic.arrivals.requests / (ceil(kept / clients) if clients else site.replicas))
    server = site.server._replace(step_factor=factors[0], prompt_factor=factors[1], clients=clients)
    asked = requests(traffic.arrivals, count=each, replicas=site.replicas, longest=site.longest)
    run = run_queue(asked, server=server, times=site.times)
    seconds, answers = max(answer.last_s for answer in run.served), run.served
    replicas = traffic.arrivals.requests / each
    return found_of(
        run,
        traffic,
        skipped=0,
        running=replicas * run.writing_s / seconds,
        answered_per_s=traffic.arrivals.requests / seconds,
        output_tokens_per_s=replicas * sum(answer.output_tokens for answer in answers) / seconds,
    )


def burst_figures(found: Found, traffic: Traffic, read_tokens: float) -> dict[str, float]:
    """Return the contract's figures by name; `read_tokens` of a mean prompt are not found in the cache."""
    seconds = traffic.arrivals.requests / found.answered_per_s
    return figures(found, traffic, read_tokens) | {"all_answered_s": seconds}


def burst_speed(
    served: Served, traffic: Traffic, output_tokens: int, cached_tokens: int
) -> tuple[Report, list[Step]] | None:
    """Return the speeds of a seeded run with their working, None where a device's rates are not known.

    The ends of a range are those of runs in which everything takes longer, or less long, by what measurements showed.
    """
    site = site_of(served, traffic, output_tokens, cached_tokens)
    if site is None:
        return None
    step, first = speed_factors(served)
    read = tokens_to_read(served, traffic)
    typical, *ends = (burst_of(site, traffic, factors=(step**power, first**power)) for power in (0, -1, 1))
    report = run_report(served, site, typical, [burst_figures(run, traffic, read) for run in (typical, *ends)])
    if (gained := speculation_gain(served, speed_question(served, output_tokens, cached_tokens))) is not None:
        report["speculation"] = gained
    return report, burst_steps(served, site, traffic, typical)


def burst_steps(served: Served, site: Site, traffic: Traffic, found: Found) -> list[Step]:
    """Return the working: the steps that a full server takes, and what the run says."""
    engine, saturated = served.serving.engine, site.saturated
    count, rate = traffic.arrivals.requests, found.answered_per_s
    tokens = found.output_tokens_per_s / rate
    return [
        *pass_steps("step without prompts, all slots taken", saturated.decoding, engine),
        *pass_steps("step that takes prompts along, all slots taken", saturated.prompting, engine),
        Step(
            "Until the last request is answered, event by event",
            r"\max_i t_{\text{last}, i}",
            f"{show_count(count)} / {show_number(rate, 5)}",
            count / rate,
            unit="s",
            source=QUEUE,
        ),
        Step(
            "Output tokens a second",
            r"\frac{N \cdot o}{t}",
            f"{show_count(count)} × {show_number(tokens, 5)} / {show_number(count / rate, 5)}",
            found.output_tokens_per_s,
            unit="tokens/s",
            source=QUEUE,
        ),
    ]
