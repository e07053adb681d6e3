"""The speeds of a server under load, with their working: what a report says of `concurrency` requests at a time."""

from math import ceil, sqrt
from typing import NamedTuple

from calc.derivation import Step
from calc.performance.load import LENGTH_SPREAD, Load, stage_share
from calc.performance.passes import Passes
from calc.performance.rank_prompts import held_prompts
from calc.performance.schedules import Schedule
from calc.performance.speed import Question, passes_for
from calc.performance.steady_state import DEVIATES, TOGETHER, State, steady_state
from calc.performance.working import pass_steps
from calc.planning.served import Served
from calc.planning.serving_question import speculation_gain, speed_factors, speed_question
from calc.planning.serving_report import Report, state_slots
from calc.units import show_count, show_number

LITTLE = "little-law"


class Server(NamedTuple):
    """What decides how any number of requests in a server are served."""

    passes: Passes
    load: Load  # of a data-parallel rank
    ranks: int

    def at(self, concurrency: float) -> State:
        """Return the steady state with so many requests in the server, of a rank that has one at least."""
        return steady_state(busy_passes(self.passes, self.load, concurrency, self.ranks), self.load_at(concurrency))

    def load_at(self, concurrency: float) -> Load:
        """Return what a rank is asked for with so many requests in the server."""
        return self.load._replace(concurrency=max(concurrency / self.ranks, 1.0))


def busy_passes(passes: Passes, load: Load, concurrency: float, ranks: int) -> Passes:
    """Return the passes of a server with so many requests at a time: with fewer than data ranks some have none."""
    return passes.with_busy(ceil(concurrency)) if load.ranks > 1 and concurrency < ranks else passes


def server_of(served: Served, output_tokens: int, cached_tokens: int) -> Server | None:
    """Return the server of a scenario, None where a device's rates are not known."""
    question = speed_question(served, output_tokens, cached_tokens)
    passes = passes_for(question, served.serving.engine.values) if question else None
    if question is None or passes is None:
        return None
    load = load_of(served, question, served.layout.data, passes.schedule)
    return Server(passes, load, served.layout.data)


def loaded_speed(
    served: Served, concurrency: int, output_tokens: int, cached_tokens: int
) -> tuple[Report, list[Step]] | None:
    """Return the speeds of the steady state with their working, None where a device's rates are not known."""
    server = server_of(served, output_tokens, cached_tokens)
    if server is None:
        return None
    server = server._replace(load=server.load._replace(closed=True))
    found, load = server.at(concurrency), server.load_at(concurrency)
    busy = min(concurrency, server.ranks)  # replicas with a request
    step, first = speed_factors(served)
    report: Report = {
        name: {"low": value / factor, "typical": value, "high": value * factor}
        for name, value, factor in figures(found, load, busy, step=step, first=first)
    }
    report["max_sequences"] = served.most
    report["running_sequences"] = found.running * busy
    report["requests_per_s"] = found.requests_per_s * busy
    report["bound_by"], report["prefill_bound_by"] = found.decoding.bound_by, found.prompting.bound_by
    report["balanced_batch"] = None
    question = speed_question(served, output_tokens, cached_tokens)
    if (gained := speculation_gain(served, question)) is not None:
        report["speculation"] = gained
    return report, load_steps(served, found, load, busy=busy, expected=server.passes.expected)


def typical_load(served: Served, concurrency: int, output_tokens: int, cached_tokens: int) -> dict[str, float]:
    """Return the typical figures of the same alone, without their ranges and working; none where it has none."""
    server = server_of(served, output_tokens, cached_tokens) if served.demand.architecture.writes else None
    if server is None:
        return {}
    server = server._replace(load=server.load._replace(closed=True))
    found, load, busy = server.at(concurrency), server.load_at(concurrency), min(concurrency, server.ranks)
    return {name: value for name, value, _ in figures(found, load, busy, step=1.0, first=1.0)}


def load_of(served: Served, question: Question, concurrency: int, schedule: Schedule | None) -> Load:
    """Return what one data-parallel rank is asked for: its share of the requests, in the slots that fit.

    Without a schedule no prompts are read beside decoding.
    """
    layout, values = served.layout, served.serving.engine.values
    slots = float(served.serving.running(served.demand, layout))
    spread = LENGTH_SPREAD if served.serving.length_spread is None else served.serving.length_spread
    if served.most and served.most / layout.data < slots:
        slots = min(slots, held_at_once(served, question.output_tokens, spread))
    ranks = layout.data if layout.expert > layout.tensor else 1
    holds = schedule is not None and ranks > 1 and "held_steps" in schedule.values
    return Load(
        concurrency=max(concurrency / layout.data, 1.0),
        slots=slots,
        prompt_tokens=question.demand.prompt_tokens,
        output_tokens=question.output_tokens,
        cached_tokens=question.cached_tokens,
        batched_tokens=question.batched_tokens,
        request_s=values["request_s"],
        between_s=values.get("between_s", 0.0),
        stream_s=values.get("stream_s", 0.0),
        ranks=ranks,
        mixes=schedule is not None and bool(schedule.of("mixes_prompts")),
        spread=spread,
        ahead=values.get("steps_ahead", 0.0),
        held_steps=schedule.of("held_steps") if schedule and holds else 0.0,
        held_prompts=held_prompts(ranks) if values.get("held_by_rank") else 1.0,
    )


def held_at_once(served: Served, output_tokens: int, spread: float) -> float:
    """Return the sequences that a data-parallel rank holds, as they follow each other.

    Answers are not all as long as they get at a time: half written as a mean, once those that began together lie apart
    over the time of an answer. Each round adds the deviation of their lengths to how far they do. An engine may keep
    room for a share of what is not written yet.
    """
    most = (served.most or 0) / served.layout.data
    if served.runtime.pool is None:
        return most
    reserved = served.serving.engine.values.get("reserves_answers", 0.0)
    apart = min(sqrt(12.0 * TOGETHER / 2.0) * spread, 1.0)  # midway through the rounds that are counted
    tokens = served.demand.tokens - round((1.0 - reserved) * output_tokens * apart / 2.0)
    demand = served.demand._replace(tokens=tokens, sequences=1)
    found = served.serving.most_sequences(demand, served.layout._replace(data=1))
    return max(min(float(found), state_slots(served)), most)


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


def load_steps(served: Served, found: State, load: Load, *, busy: int, expected: float) -> list[Step]:
    """Return the working: a step without prompts, one with, how often, and where the requests are.

    A step writes `expected` tokens of each sequence: one, and those of its drafts that are accepted.
    """
    engine, rate = served.serving.engine, found.requests_per_s
    plain, carrying = show_number(found.decoding.total, 4), show_number(found.prompting.total, 4)
    share = stage_share(served.layout.pipeline, engine.values["overlaps_prefill"])
    name = "step that takes prompts along" if load.mixes else "pass over prompts"
    longer = f"max({carrying} − {plain}, 0)" if load.mixes else carrying
    steps = [
        *pass_steps("step without prompts", found.decoding, engine),
        *pass_steps(name, found.prompting, engine),
        step_of(
            "Seconds more for prompts",
            r"n_{\text{waits}} \cdot (t_{\text{prompts}} - t) \cdot s_{\text{stage}}",
            f"{show_number(found.waits, 4)} × {longer} × {show_number(share, 4)}",
            found.extra_s,
        ),
        token_step(found, load, expected),
        step_of(
            "Requests a second, each replica",
            r"\frac{n}{(o - 1) \cdot t_{\text{token}}}",
            f"{show_number(found.running, 5)} / ({show_count(answer_steps(load))} × {show_number(found.step_s, 5)})",
            rate,
            unit="1/s",
        ),
    ]
    if found.waiting_s:
        over = load.concurrency - min(load.concurrency, load.slots)
        numbers = f"{show_number(over, 5)} / {show_number(rate, 5)}"
        steps.append(step_of("Waiting for a slot", r"\frac{C - S}{X}", numbers, found.waiting_s))
    steps.append(first_step(found, load, expected))
    steps.append(
        step_of(
            "Decoding, all sequences",
            r"\frac{n}{t_{\text{token}}}",
            f"{show_number(found.running * busy, 5)} / {show_number(found.step_s, 5)}",
            found.running * busy / found.step_s,
            unit="tokens/s",
        )
    )
    return steps


def step_of(name: str, formula: str, numbers: str, value: float, *, unit: str = "s") -> Step:
    """Return a step of the working, which rests on Little's law."""
    return Step(name, formula, numbers, value, unit=unit, source=LITTLE)


def answer_steps(load: Load) -> int:
    """Return the tokens of an answer behind its first."""
    return max(load.output_tokens - 1, 1)


def token_step(found: State, load: Load, expected: float) -> Step:
    """Return the step that gives the time between tokens, where each step writes so many of a sequence."""
    formula = r"t + \rho \cdot t_{\text{more}}"
    numbers = (
        f"{show_number(found.decoding.total, 4)} + {show_number(found.share, 4)} × {show_number(found.extra_s, 4)}"
    )
    if found.front_s:
        formula = rf"\max({formula}, t_{{\text{{front end}}}})"
        numbers = f"max({numbers}, {show_number(found.front_s, 4)})"
    if found.wave_s:  # what the first token has waited for, the others need not
        formula += r" - \frac{t_{\text{wave}}}{n_{\text{steps}}}"
        numbers += f" − {show_number(found.wave_s, 4)} / {show_number(answer_steps(load) / expected, 5)}"
    if expected > 1:
        formula, numbers = rf"\frac{{{formula}}}{{n_{{\text{{tokens}}}}}}", f"({numbers}) / {show_number(expected, 5)}"
    return step_of("Time per output token", formula, numbers, found.step_s)


def first_step(found: State, load: Load, expected: float) -> Step:
    """Return the step that gives the time to the first token: what a request waits for, and its prompt."""
    behind = [(r"t_{\text{queue}}", found.queueing_s), (r"t_{\text{burst}}", found.burst_s)]
    if found.wave_s:
        behind.insert(1, (r"t_{\text{wave}}", found.wave_s))
    waits = show_number(found.step_waits, 4)
    symbol = rf"{waits} \cdot t_{{\text{{step}}}}"
    step = f"{waits} × {show_number(found.step_s * expected, 5)}"
    if load.meets < 1.0:  # a request alone finds no step under way
        step, symbol = f"{show_number(load.meets, 4)} × {step}", rf"(C - 1) \cdot {symbol}"
    return step_of(
        "Time to the first token",
        rf"t_{{\text{{server}}}} + t_{{\text{{slot}}}} + {symbol} + t_{{\text{{prompt}}}} + "
        + " + ".join(symbol for symbol, _ in behind),
        f"{show_number(load.request_s, 5)} + {show_number(found.waiting_s, 5)} + "
        f"{step} + {show_number(found.service_s + found.late_s, 5)} + "
        + " + ".join(show_number(seconds, 5) for _, seconds in behind),
        found.first_s,
    )
