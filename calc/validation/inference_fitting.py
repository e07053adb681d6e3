"""Rows of inference speed as items of a fit: a demand is settled once, and an engine's coefficients are tried on it."""

from collections.abc import Callable, Mapping
from functools import partial
from math import isinf
from typing import Any

from calc import ScenarioError
from calc.catalog.records import Engine
from calc.memory.device_sizes import attention_ranks
from calc.performance.arrivals import Arrivals
from calc.performance.device_rates import device_class
from calc.performance.engine_passes import kernel_classes
from calc.performance.schedules import Schedule, kernel_of, schedule_of, ways_of
from calc.performance.speed import Question, passes_for, speed_in
from calc.performance.steady_state import steady_state
from calc.planning.measured import bucket, format_of
from calc.planning.served import Served, serve, served_bucket
from calc.planning.serving_burst import burst_figures, burst_of
from calc.planning.serving_load import busy_passes, load_of
from calc.planning.serving_load import figures as loaded_figures
from calc.planning.serving_question import speed_question
from calc.planning.serving_report import cache_pool, serving_fit, serving_parts, serving_totals
from calc.planning.serving_run import site_of
from calc.question import read_question
from calc.validation import inference_memory
from calc.validation.engine_starts import begun_with
from calc.validation.fitting import Item
from calc.validation.scores import Row, SkipError
from calc.validation.summed_passes import SummedPasses

Predict = Callable[[Mapping[str, float]], float]

# Of a figure; all others decode.
PHASES = dict.fromkeys(("prefill_tokens_per_s", "time_to_first_token_s", "time_to_first_token_p50_s"), "prefill")


def item_of(row: Row, scenario: Mapping[str, Any], figure: str, measured: float) -> Item:
    """Return a row as an item; raises SkipError where its speed is not modelled."""
    try:
        question = read_question(scenario)
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field}") from None
    asked, demand = question.asked, question.demand
    serving = question.serving()
    if serving is None:
        raise SkipError("no engine")
    served = serve(serving, demand, question.layout, most=question.most)
    engine = serving.engine
    arrivals = asked.traffic.arrivals if asked.traffic else None
    predictor = burst_predictor if arrivals else speed_predictor
    predict = predictor(served, asked.output_tokens, asked.cached_tokens, figure)
    begun, in_place = begun_with(engine.id), None
    first = predict(begun)  # raises where no speed is known
    if arrivals:
        kept = at_a_time(served, asked.output_tokens, asked.cached_tokens)
        steady = item_of(row, steadily(scenario, arrivals, kept), figure, measured).predict
        in_place = scaled(steady, first / steady(begun))
    device = question.accelerator
    kind = f"{device.vendor} {device_class(device)}" if device else ""
    group = (row["source_key"], figure, format_of(demand.weights), kind)
    return Item(
        row["id"],
        row["source_key"],
        group,
        PHASES.get(figure, "decode"),
        bucket=served_bucket(served),
        measured=measured,
        predict=predict,
        in_place=in_place,
    )


def at_a_time(served: Served, output_tokens: int, cached_tokens: int) -> int:
    """Return how many of the requests that come to a server are in it at a time, at most and as a mean."""
    traffic = served.serving.traffic
    if traffic is None:
        raise SkipError("no requests come")
    arrivals = traffic.arrivals
    site = None if isinf(arrivals.requests_per_s) else site_of(served, traffic, output_tokens, cached_tokens)
    coming = arrivals.requests if site is None else site.running(arrivals.requests_per_s)
    return max(min(arrivals.at_a_time or coming, arrivals.requests), 1)


def steadily(scenario: Mapping[str, Any], arrivals: Arrivals, kept: int) -> dict[str, Any]:
    """Return the scenario of a run of requests as if it had neither a beginning nor an end, of so many at a time."""
    spread = arrivals.output_deviation
    whole = {name: value for name, value in scenario.items() if name != "arrivals"}
    return whole | {"concurrency": kept} | ({"length_spread": spread} if spread else {})


def scaled(predict: Predict, factor: float) -> Predict:
    """Return what predicts a multiple."""
    return lambda values: factor * predict(values)


def burst_predictor(served: Served, output_tokens: int, cached_tokens: int, figure: str) -> Predict:
    """Return what gives a figure of requests that come at once from coefficients, event by event."""
    serving, traffic = served.serving, served.serving.traffic
    engine, prompt = serving.engine, traffic.arrivals.prompt_tokens if traffic else 0.0

    def predict(values: Mapping[str, float]) -> float:
        serving.engine = engine.valued(values)
        site = site_of(served, traffic, output_tokens, cached_tokens) if traffic else None
        if site is None or traffic is None:
            raise SkipError("no speed")
        return burst_figures(burst_of(site, traffic), traffic, prompt)[figure]

    return predict


class Tried:
    """Coefficients that are tried on all items, one set after another: what they make of engines is worked out once."""

    def __init__(self) -> None:
        self.values: Mapping[str, float] | None = None
        self.engines: dict[tuple[str, str, str, int], Mapping[str, float]] = {}
        self.schedules: dict[tuple[object, ...], Schedule] = {}

    def under(self, engine: Engine, question: Question, values: Mapping[str, float]) -> Schedule:
        """Return the schedule of a question on devices under some coefficients of an engine."""
        if self.values is not values:
            self.values, self.engines, self.schedules = values, {}, {}
        device, weights = question.accelerator, question.demand.weights
        kind = engine.id, engine.era, engine.backend, engine.graphs
        known = self.engines.get(kind)
        if known is None:
            known = self.engines[kind] = engine.valued(values).values
        classes = kernel_classes(device, question.backend) if device else ()
        ways = ways_of(engine, question.demand.architecture, classes, serves=question.serves)
        place = device.id if device else None, attention_ranks(question.layout)
        key = (*kind, weights.id, kernel_of(weights), *place, question.attention, ways)
        found = self.schedules.get(key)
        if found is None:
            found = self.schedules[key] = schedule_of(
                known,
                era=question.era,
                weights=weights,
                accelerator=device,
                market=device_class(device) if device else "",
                backend=question.backend,
                attention=question.attention,
                layout=question.layout,
                ways=ways,
            )
        return found


TRIED = Tried()


def speed_predictor(served: Served, output_tokens: int, cached_tokens: int, figure: str) -> Predict:
    """Return what gives a figure of speed from coefficients; raises SkipError where its speed is not modelled."""
    asked = speed_question(served, output_tokens, cached_tokens)
    engine, concurrency = served.serving.engine, served.serving.concurrency
    passes = passes_for(asked, engine.values) if asked else None
    if asked is None or passes is None:
        raise SkipError("no speed")
    question, writes, ranks = asked, served.demand.architecture.writes, served.layout.data
    load = load_of(served, question, concurrency or 1, passes.schedule)
    load = load._replace(closed=True)
    passes, busy = busy_passes(passes, load, concurrency or ranks, ranks), min(concurrency or 1, ranks)
    summed = SummedPasses(passes) if SummedPasses.serve(passes) else None

    def predict(values: Mapping[str, float]) -> float:
        schedule = TRIED.under(engine, question, values)
        known = schedule.values
        tried: Any = summed.under(schedule) if summed else passes_for(question, known)
        if concurrency is not None and writes:
            asked_load = load._replace(request_s=known["request_s"])
            found = loaded_figures(steady_state(tried, asked_load), asked_load, busy, step=1.0, first=1.0)
            return next(value for name, value, _ in found if name == figure)
        return speed_in(tried, question, known).figures()[figure]

    return predict


def memory_item_of(row: Row) -> Item:
    """Return a row of memory as an item; raises SkipError where its scenario is refused or has no such figure."""
    try:
        question = read_question(inference_memory.scenario_of(row))
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field}") from None
    demand, accelerator = question.demand, question.accelerator
    serving = question.serving()
    assert serving is not None
    engine = serving.engine

    def figure(values: Mapping[str, float]) -> float:
        serving.engine = engine.valued(values)
        served = serve(serving, demand, question.layout, most=question.most)
        memory: dict[str, Any] = {**serving_totals(served), "parts": [part._asdict() for part in serving_parts(served)]}
        if row["metric"] in inference_memory.POOLS:
            memory |= serving_fit(served)
        return max(inference_memory.figure_of(row, memory)[1], 1.0)

    def predict(values: Mapping[str, float]) -> float:
        try:
            return figure(values)
        except SkipError:  # no pool is left with these values
            return 1.0

    computed, measured = figure(engine.values), inference_memory.measured_of(row)
    tried = None
    if row["metric"] in inference_memory.POOLS and accelerator is not None:
        pool, _ = cache_pool(serve(serving, demand, question.layout, most=question.most))
        beside = partial(beside_pool, unit_bytes=pool / computed, device_bytes=accelerator.capacity_bytes)

        def tried(values: Mapping[str, float]) -> float:
            return measured * beside(predict(values)) / beside(measured)

    name = bucket(
        engine=engine.id,
        accelerator=accelerator,
        format_class=format_of(demand.weights),
        architecture=demand.architecture,
    )
    group = (row["source_key"], row["metric"])
    return Item(
        row["id"],
        row["source_key"],
        group,
        "",
        bucket=name,
        measured=measured,
        predict=predict,
        in_place=tried,
    )


def beside_pool(found: float, *, unit_bytes: float, device_bytes: int) -> float:
    """Return the bytes of a device beside a pool of `found` tokens or bytes, by which coefficients are estimated.

    A pool is what is left: where that is little, a hundredth of the weights is half of it.
    """
    return device_bytes - unit_bytes * found
