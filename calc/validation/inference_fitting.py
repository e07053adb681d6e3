"""Rows of inference speed as items of a fit: a demand is settled once, and an engine's coefficients are tried on it."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from calc import ScenarioError
from calc.catalog import catalog
from calc.catalog.records import Engine
from calc.performance.arrivals import Arrivals
from calc.performance.device_rates import device_class
from calc.performance.load import steady_state
from calc.performance.schedules import Schedule, kernel_of, schedule_of
from calc.performance.speed import Question, passes_for, speed_in
from calc.planning.measured import bucket, format_of
from calc.planning.served import Served, serve, served_bucket
from calc.planning.serving_burst import burst_figures, burst_of
from calc.planning.serving_load import figures as loaded_figures
from calc.planning.serving_load import load_of
from calc.planning.serving_report import serving_fit, serving_parts, serving_totals
from calc.planning.serving_run import site_of
from calc.planning.serving_speed import speed_question
from calc.question import read_question
from calc.validation import inference_memory
from calc.validation.fitting import Item
from calc.validation.scores import Row, SkipError
from calc.validation.summed_passes import SummedPasses

Predict = Callable[[Mapping[str, float]], float]

# What is estimated, everything measured that is not set by an engine's code, and where an estimate begins,
# whatever the catalogue says.
START = {
    "weights_factor": 1.0,
    "matrix_factor": 1.0,
    "cache_factor": 1.0,
    "attention_factor": 1.0,
    "expert_reading_factor": 1.0,
    "expert_factor": 1.0,
    "expert_launches": 1.0,
    "links_factor": 0.6,
    "product_launches": 1.0,
    "step_s": 1e-3,
    "sequence_s": 1e-5,
    "launch_s": 1e-5,
    "request_s": 0.08,
    "processor_read_share": 0.9,
    "processor_rate_share": 0.3,
    "processor_unpack": 2.0,
    "processor_pair_s": 2e-9,
}
# The same where an engine's code says more: scores that are written and read, weights that are unpacked to 16 bit
# before they are multiplied, kernels around a product that PyTorch launches one by one from Python, messages that NCCL
# sends as it is: vLLM has no all-reduce of its own on AMD before 0.8.3 (https://github.com/vllm-project/vllm/pull/14125).
CODE = {
    "attention_factor_eager": 3.0,
    "cache_factor_eager": 2.0,
    "launch_s@2023": 2e-5,
    "launch_s@V0": 2e-5,
    "links_factor@V0": 1.0,
    "weights_factor_w4a16@2023": 2.0,
    "step_s@2023": 1.3e-2,
    "step_s@V0": 2e-3,
}
EAGER = {
    "launch_s": 2.5e-5,
    "weights_factor_quantized": 2.0,
    "matrix_factor_quantized": 1.5,
    "matrix_factor_awq": 2.0,
    "product_launches_awq": 2.0,
    "product_launches_nf4": 3.0,
    "product_launches_nf4-dq": 3.0,
    "product_launches_fp8": 6.0,
    "product_launches_fp8-block": 6.0,
    "product_launches_gptq-int8": 5.0,
    "product_launches_int8": 8.0,
}
# Servers whose prompts are read by PyTorch kernel by kernel, too; SGLang casts operands by kernels of their own.
# TensorRT-LLM (overlap scheduler) and vLLM from 0.14 on (asynchronous scheduling) launch a step before they have read
# the tokens of the last one. The laws' kernels were measured alone: products one after the other keep a device at its
# limit of power, and its clock falls (https://www.thonking.ai/p/strangely-matrix-multiplications). Consumer cards
# multiply 16 bit at half the professional rate, stay below that limit, and keep their clock. Of first tokens that come
# 58 to 76 ms after 1,024-token prompts of a 70B under vLLM and TensorRT-LLM, reading takes 25 to 35.
SUSTAINED = {"matrix_factor": 1.2, "matrix_factor@consumer": 1.0, "matrix_factor_quantized@consumer": 1.0}
# Operators of routed experts look their kernels up in Python (NVIDIA/TensorRT-LLM#13116, sgl-project/sglang#18782).
# Of llama.cpp: a loop in C++ that one request has alone; sums in FP16, at which GeForce cards have twice the rate.
# Of MLX: the host encodes the next step while the device works (mx.async_eval), and mixtures whose bytes would take a
# third as long bound what it takes for a kernel: https://github.com/ml-explore/mlx-lm/blob/main/mlx_lm/BENCHMARKS.md
OWN = {
    "transformers": SUSTAINED | EAGER,
    "mlx": {"step_s": 3e-4, "launch_s": 5e-6},
    "llama.cpp": {"step_s": 3e-4, "matrix_factor@NVIDIA consumer": 0.75},
    "vllm": SUSTAINED
    | {"request_s": 0.035, "step_s": 2e-4, "step_s@V1": 1e-3, "product_launches_fp8": 2.0}
    | {"launch_s_uncompiled": 2.5e-5, "launch_s_uncompiled@V0": 2e-5},
    "sglang": SUSTAINED | {"expert_launches": 2.0, "launch_s": 2.5e-5, "product_launches_quantized": 2.0},
    "tensorrt-llm": SUSTAINED | {"expert_launches": 5.0, "request_s": 0.035, "launch_s": 2.5e-5, "step_s": 2e-4},
}
# What is as the laws have it, for its kernels are those that the laws were measured with: libraries' and Marlin's.
BY_LAW = {"sglang": ("weights_factor", "expert_reading_factor_w4a16")}
PHASES = {"prefill_tokens_per_s": "prefill", "time_to_first_token_s": "prefill"}  # of a figure; all others decode

# The same for memory: what one would take who knows the code and has seen no run. Counts in code are not estimated.
# A sampler that sorts has logits in 16 bit and FP32 (2 + 4 bytes), values and indices sorted (4 + 8), the indices it
# began with (8) and the sort's own copy of values and indices (4 + 8): PyTorch, ATen/native/cuda/SortStable.cu.
MEMORY_START = {
    "sampler_logit_bytes": 14.0,  # logits in 16 bit and FP32, a masked copy, probabilities: 2 + 4 + 4 + 4
    "sampler_logit_bytes@V1": 38.0,  # 2 + 4 + 12 + 8 + 12
    "workspaces": 2.0**26,
    "communication_buffers": 2.0**28,
    "cuda_graphs": 2.0**29,
    "cuda_graph_layer": 2.0**17,
    "allocator_slack": 0.02,
    "allocator_pass_slack": 0.5,
    "runtime_context": 2.0**29,
    "runtime_context_linked": 2.0**30,
}


def memory_start_of(engine: str) -> dict[str, float]:
    """Return the coefficients of an engine's memory that rows set, at the values where an estimate begins."""
    known = catalog().engine(engine).values
    starts = {name: MEMORY_START.get(name, MEMORY_START.get(name.partition("@")[0])) for name in known}
    return {name: start for name, start in starts.items() if start is not None and known[name]}


def start_of(engine: str) -> dict[str, float]:
    """Return the coefficients of an engine that rows set, at the values where an estimate begins."""
    found = {}
    known = START | CODE | OWN.get(engine, {})
    for name, value in catalog().engine(engine).values.items():
        begins = max(
            (start for start in known if name == start or name.startswith((f"{start}_", f"{start}@"))),
            key=len,
            default="",
        )
        if begins and value > 0 and not name.startswith(BY_LAW.get(engine, ())):
            found[name] = known[begins]
    return found


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
        steady = item_of(row, steadily(scenario, arrivals), figure, measured).predict
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


@cache
def begun_with(engine: str) -> dict[str, float]:
    """Return all coefficients of an engine, as they are before any row says otherwise."""
    return {**catalog().engine(engine).values, **start_of(engine)}


def steadily(scenario: Mapping[str, Any], arrivals: Arrivals) -> dict[str, Any]:
    """Return the scenario of a run of requests as if it had neither a beginning nor an end."""
    kept = arrivals.at_a_time or arrivals.requests
    spread = arrivals.kinds[0].output.deviation
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
        self.engines: dict[tuple[str, str, int], Mapping[str, float]] = {}
        self.schedules: dict[tuple[object, ...], Schedule] = {}

    def under(self, engine: Engine, question: Question, values: Mapping[str, float]) -> Schedule:
        """Return the schedule of a question on devices under some coefficients of an engine."""
        if self.values is not values:
            self.values, self.engines, self.schedules = values, {}, {}
        device, weights = question.accelerator, question.demand.weights
        kind = engine.id, engine.era, engine.graphs
        known = self.engines.get(kind)
        if known is None:
            known = self.engines[kind] = engine.valued(values).values
        key = (*kind, weights.id, kernel_of(weights), device.id if device else None, question.attention)
        found = self.schedules.get(key)
        if found is None:
            found = self.schedules[key] = schedule_of(
                known,
                era=question.era,
                weights=weights,
                accelerator=device,
                market=device_class(device) if device else "",
                attention=question.attention,
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
    question, summed = asked, SummedPasses(passes) if SummedPasses.serve(passes) else None
    writes = served.demand.architecture.writes
    load = load_of(served, question, concurrency or 1, mixes=bool(passes.schedule.of("mixes_prompts")))
    load = load._replace(closed=True)
    busy = min(concurrency or 1, served.layout.data)

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

    def predict(values: Mapping[str, float]) -> float:
        serving.engine = engine.valued(values)
        served = serve(serving, demand, question.layout, most=question.most)
        memory: dict[str, Any] = {**serving_totals(served), "parts": [part._asdict() for part in serving_parts(served)]}
        if row["metric"] == "kv_cache_available":
            memory |= serving_fit(served)
        return max(inference_memory.figure_of(row, memory)[1], 1.0)

    predict(engine.values)
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
        measured=inference_memory.measured_of(row),
        predict=predict,
    )
