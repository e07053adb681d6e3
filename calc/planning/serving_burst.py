"""The speeds of a server to which a number of requests comes at once and no more: `arrivals` with `requests`."""

from math import ceil

from calc.derivation import Step
from calc.performance.arrivals import Traffic, requests
from calc.performance.queue import run_queue
from calc.performance.working import pass_steps
from calc.planning.served import Served
from calc.planning.serving_report import Report
from calc.planning.serving_run import Found, Site, figures, percentiles, site_of
from calc.planning.serving_speed import speculation_gain, speed_factor, speed_question
from calc.units import show_count, show_number

QUEUE = "orca"  # continuous batching, whose events a run goes through


def burst_of(site: Site, traffic: Traffic, *, factors: tuple[float, float] = (1.0, 1.0)) -> Found:
    """Return what a run says of all requests, from when they come until the last is answered.

    Replicas take turns. Steps and prompts take longer by the factors given.
    """
    server = site.server._replace(step_factor=factors[0], prompt_factor=factors[1])
    each = ceil(traffic.arrivals.requests / site.replicas)
    run = run_queue(requests(traffic.arrivals, count=each, longest=site.longest), server=server, times=site.times)
    seconds, answers = max(answer.last_s for answer in run.served), run.served
    replicas = traffic.arrivals.requests / each
    return Found(
        run=run,
        first=percentiles([answer.wait_s for answer in answers]),
        token=percentiles([answer.token_s for answer in answers if answer.token_s is not None]),
        whole=percentiles([answer.whole_s for answer in answers]),
        kept=sum(answer.keeps(traffic.objective) for answer in answers) / len(answers),
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
    step, first = speed_factor(served, "decode"), speed_factor(served, "prefill")
    prompt = traffic.arrivals.prompt_tokens
    read = prompt - served.demand.prefix.found(round(prompt))
    typical, *ends = (burst_of(site, traffic, factors=(step**power, first**power)) for power in (0, -1, 1))
    found = [burst_figures(run, traffic, read) for run in (typical, *ends)]
    report: Report = {}
    for name, value in found[0].items():
        values = [run[name] for run in found]
        report[name] = {"low": min(values), "typical": value, "high": max(values)}
    saturated = site.saturated
    report["max_sequences"], report["preempted"] = served.most, typical.run.preempted
    report["running_sequences"], report["requests_per_s"] = typical.running, typical.answered_per_s
    report["bound_by"], report["prefill_bound_by"] = saturated.decoding.bound_by, saturated.prompting.bound_by
    report["balanced_batch"] = None
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
