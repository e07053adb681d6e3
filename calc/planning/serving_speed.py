"""The part of a report that says how fast an engine serves a demand: figures with their ranges, and the working."""

from calc.derivation import Step
from calc.performance.speed import Speed, decoding, speed_of
from calc.performance.working import prefill_steps, speed_steps
from calc.planning.served import Served, bounded
from calc.planning.serving_question import speculation_gain, speed_factors, speed_question

Report = dict[str, object]
OF_ONE_PASS = ("prefill_tokens_per_s", "time_to_first_token_s")  # figures of a model that writes no tokens


def serving_speed(
    served: Served, output_tokens: int, cached_tokens: int, *, working: bool = True
) -> tuple[Report, list[Step]] | None:
    """Return the speed with its working, None without an accelerator or where its rates are not known.

    Of sequences that are all there at once the working can be left out.
    """
    serving, values = served.serving, served.serving.engine.values
    if serving.traffic is not None and serving.traffic.arrivals.requests:
        from calc.planning.serving_burst import burst_speed  # few scenarios ask for it

        return burst_speed(served, serving.traffic, output_tokens, cached_tokens)
    if serving.traffic is not None:
        from calc.planning.serving_arrivals import arriving_speed  # few scenarios ask for it

        return arriving_speed(served, serving.traffic, output_tokens, cached_tokens)
    if serving.concurrency is not None and served.demand.architecture.writes:
        from calc.planning.serving_load import loaded_speed  # few scenarios ask for it

        return loaded_speed(served, serving.concurrency, output_tokens, cached_tokens)
    question = speed_question(served, output_tokens, cached_tokens)
    speed = speed_of(question, values, served.serving.last_speed) if question else None
    if speed is None:
        return None
    typical = speed.figures()
    step, first = speed_factors(served)
    slow, fast = (speed.figures(step**power, first**power) for power in (1, -1))
    report: Report = {
        name: {"low": min(slow[name], fast[name]), "typical": value, "high": max(slow[name], fast[name])}
        for name, value in typical.items()
    }
    if not served.demand.architecture.writes:  # one pass is all there is
        return one_pass_speed(served, report, speed)
    report["max_sequences"] = bounded(served)
    report["bound_by"] = speed.decode.time.bound_by
    report["prefill_bound_by"] = speed.prefill.time.bound_by
    report["balanced_batch"] = speed.balanced_batch
    if serving.devices:
        report["slowest"] = speed.passes.slowest(speed.decode.time)
    if (gained := speculation_gain(served, question)) is not None:
        report["speculation"] = gained
    return report, speed_steps(speed, serving.engine) if working else []


def typical_speed(served: Served, output_tokens: int, cached_tokens: int, *, prompts: bool = True) -> dict[str, float]:
    """Return the typical figures of a report's speed alone, without their ranges and working; none where it has none.

    For sequences that fit, all at once: neither requests in a server nor those that come. Without `prompts` those of
    decoding alone.
    """
    question, values = speed_question(served, output_tokens, cached_tokens), served.serving.engine.values
    writes = served.demand.architecture.writes
    if question and writes and not prompts:
        return decoding(question, values, served.serving.last_speed)
    speed = speed_of(question, values, served.serving.last_speed) if question else None
    figures = speed.figures() if speed else {}
    if writes:
        return figures
    return {name: figures[name] for name in OF_ONE_PASS if name in figures}


def one_pass_speed(served: Served, report: Report, speed: Speed) -> tuple[Report, list[Step]]:
    """Return the speed of a model that passes over its texts once: no figures of tokens written."""
    bound = speed.prefill.time.bound_by
    found: Report = {name: report[name] for name in OF_ONE_PASS}
    found |= {"max_sequences": bounded(served), "bound_by": bound, "prefill_bound_by": bound, "balanced_batch": None}
    return found, prefill_steps(speed, served.serving.engine)
