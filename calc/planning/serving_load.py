"""The speeds of a server under load, with their working: what a report says of `concurrency` requests at a time."""

from calc.derivation import Step
from calc.performance.load import DEVIATES, Load, State, steady_state
from calc.performance.speed import Question, passes_for
from calc.performance.working import pass_steps
from calc.planning.serving_report import Report, Served, speed_factor, speed_question
from calc.units import show_count, show_number

LITTLE = "little-law"


def loaded_speed(
    served: Served, concurrency: int, output_tokens: int, cached_tokens: int
) -> tuple[Report, list[Step]] | None:
    """Return the speeds of the steady state with their working, None where a device's rates are not known."""
    question = speed_question(served, output_tokens, cached_tokens)
    if question is None:
        return None
    serving, ranks = served.serving, served.layout.data
    passes = passes_for(question, serving.engine.values)
    if passes is None:
        return None
    load = load_of(served, question, concurrency, mixes=bool(passes.schedule.of("mixes_prompts")))
    load = load._replace(closed=True)
    found = steady_state(passes, load)
    busy = min(concurrency, ranks)  # replicas with a request
    step, first = speed_factor(served, "decode"), speed_factor(served, "prefill")
    report: Report = {
        name: {"low": value / factor, "typical": value, "high": value * factor}
        for name, value, factor in figures(found, load, busy, step=step, first=first)
    }
    report["max_sequences"] = served.most
    report["running_sequences"] = found.running * busy
    report["requests_per_s"] = found.requests_per_s * busy
    report["bound_by"], report["prefill_bound_by"] = found.decoding.bound_by, found.prompting.bound_by
    report["balanced_batch"] = None
    return report, load_steps(served, found, load, busy)


def load_of(served: Served, question: Question, concurrency: int, *, mixes: bool) -> Load:
    """Return what one data-parallel rank is asked for: its share of the requests, in the slots that fit."""
    layout, values = served.layout, served.serving.engine.values
    slots = float(served.serving.most_running)
    if served.most:
        slots = min(slots, served.most / layout.data)
    return Load(
        concurrency=max(concurrency / layout.data, 1.0),
        slots=slots,
        prompt_tokens=question.demand.prompt_tokens,
        output_tokens=question.output_tokens,
        cached_tokens=question.cached_tokens,
        batched_tokens=question.batched_tokens,
        request_s=values["request_s"],
        ranks=layout.data if layout.expert > layout.tensor else 1,
        mixes=mixes,
    )


def figures(found: State, load: Load, busy: int, *, step: float, first: float) -> list[tuple[str, float, float]]:
    """Return the contract's figures by name, each with the factor of its range."""
    rate = found.requests_per_s * busy
    times = [
        ("time_to_first_token_s", found.first_s, first),
        ("time_to_first_token_p50_s", found.first_p50_s, first),
        ("time_to_first_token_p95_s", found.first_p95_s, first),
        ("time_per_output_token_s", found.step_s, step),
        ("time_per_output_token_p50_s", found.step_s, step),
        ("time_per_output_token_p95_s", found.step_s + DEVIATES * found.spread_s, step),
    ]
    return [
        ("prefill_tokens_per_s", rate * load.prompt_tokens, first),
        ("decode_tokens_per_s", found.running * busy / found.step_s, step),
        ("output_tokens_per_s", rate * load.output_tokens, step),
        *times,
    ]


def load_steps(served: Served, found: State, load: Load, busy: int) -> list[Step]:
    """Return the working: a step without prompts, one with, how often, and where the requests are."""
    engine = served.serving.engine
    plain, carrying = found.decoding.total, found.prompting.total
    name = "step that takes prompts along" if load.mixes else "pass over prompts"
    steps = [*pass_steps("step without prompts", found.decoding, engine), *pass_steps(name, found.prompting, engine)]

    def add(what: str, formula: str, numbers: str, value: float, *, unit: str = "s") -> None:
        steps.append(Step(what, formula, numbers, value, unit=unit, source=LITTLE))

    stages = served.layout.pipeline
    longer = f"max({show_number(carrying, 4)} − {show_number(plain, 4)}, 0)" if load.mixes else show_number(carrying, 4)
    add(
        "Seconds more for prompts",
        r"\frac{t_{\text{prompts}} - t}{n_{\text{stages}}}",
        f"{longer} / {stages}",
        found.extra_s,
    )
    tokens = max(load.output_tokens - 1, 1)
    formula, numbers = (
        r"t + \rho \cdot t_{\text{more}}",
        f"{show_number(plain, 4)} + {show_number(found.share, 4)} × {show_number(found.extra_s, 4)}",
    )
    if found.wave_s:  # what the first token has waited for, the others need not
        formula += r" - \frac{t_{\text{wave}}}{o - 1}"
        numbers += f" − {show_number(found.wave_s, 4)} / {show_count(tokens)}"
    add("Time per output token", formula, numbers, found.step_s)
    rate = found.requests_per_s
    add(
        "Requests a second, each replica",
        r"\frac{n}{(o - 1) \cdot t_{\text{token}}}",
        f"{show_number(found.running, 5)} / ({show_count(tokens)} × {show_number(found.step_s, 5)})",
        rate,
        unit="1/s",
    )
    if found.waiting_s:
        over = load.concurrency - min(load.concurrency, load.slots)
        add(
            "Waiting for a slot",
            r"\frac{C - S}{X}",
            f"{show_number(over, 5)} / {show_number(rate, 5)}",
            found.waiting_s,
        )
    add(
        "Time to the first token",
        r"t_{\text{server}} + t_{\text{slot}} + \frac{t_{\text{token}}}{2} + t_{\text{prompt}}"
        r" + t_{\text{queue}} + t_{\text{wave}} + t_{\text{burst}}",
        f"{show_number(load.request_s, 5)} + {show_number(found.waiting_s, 5)} + {show_number(found.step_s, 5)} / 2"
        f" + {show_number(found.service_s, 5)} + {show_number(found.queueing_s, 5)} + {show_number(found.wave_s, 5)}"
        f" + {show_number(found.burst_s, 5)}",
        found.first_s,
    )
    add(
        "Decoding, all sequences",
        r"\frac{n}{t_{\text{token}}}",
        f"{show_number(found.running * busy, 5)} / {show_number(found.step_s, 5)}",
        found.running * busy / found.step_s,
        unit="tokens/s",
    )
    return steps
