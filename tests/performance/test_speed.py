"""Speed: figures worked out by hand, and what faster hardware and more work can never do."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.catalog import catalog
from calc.memory.budget import Demand, Layout
from calc.performance.engine_passes import Setup, passes_of
from calc.performance.operations import Collective, Product
from calc.performance.passes import Passes
from calc.performance.speed import Question, speed_of

ENGINES = ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"]
RANGES = (
    "prefill_tokens_per_s",
    "decode_tokens_per_s",
    "time_to_first_token_s",
    "time_per_output_token_s",
    "output_tokens_per_s",
)


def speed(**scenario: object) -> dict[str, Any]:
    """Return the speed of a report."""
    found: Any = estimate(scenario)["speed"]
    return found


def demand(model: str, weights: str = "bf16", **changes: Any) -> Demand:
    """Return a demand of one sequence."""
    facts = catalog()
    plain = facts.number_format("bf16")
    architecture = read_config(Config(facts.model(model).config))
    asked = Demand(architecture, facts.weights_format(weights), None, plain, plain, 1, 2304, 2048, 2048, False)
    return asked._replace(**changes)


def test_ranks_beyond_a_machine_say_so() -> None:
    """Sixteen tensor ranks of H100 stand in two machines and exchange over InfiniBand; two stages of eight do not."""
    asked = {"model": "llama-3.1-405b", "engine": "vllm", "accelerator": "h100-sxm-80gb"}
    layouts = ({"tensor": 16}, {"tensor": 8, "pipeline": 2})
    found: list[Any] = [estimate({**asked, "parallelism": layout})["warnings"] for layout in layouts]
    codes = [{warning["code"] for warning in warnings} for warnings in found]
    assert "tensor-over-network" in codes[0] and "tensor-over-network" not in codes[1]
    assert "InfiniBand" in next(item["message"] for item in found[0] if item["code"] == "tensor-over-network")


def passes(engine: str = "vllm", card: str = "h100-sxm-80gb", model: str = "llama-3.1-8b", **degrees: int) -> Passes:
    """Return the passes of a model under an engine."""
    record = catalog().engine(engine)
    found = passes_of(
        Setup(engine, record.of_version().era, record.values, "flash"),
        demand=demand(model),
        layout=Layout(**degrees),
        accelerator=catalog().accelerator(card),
    )
    assert found is not None
    return found


def links_s(found: Passes) -> float:
    """Return the seconds of a step's messages."""
    time = found.time(found.step(sequences=1, context=100))
    return sum(part.total for part in time.parts if isinstance(part.operation, Collective))


def test_products_alone_are_less_than_a_step() -> None:
    """Of some kinds of operations a pass has those alone: as many seconds as they take in the whole of it."""
    found = passes()
    step = found.step(sequences=1, context=100)
    alone, whole = found.time(step, kinds=(Product,)), found.time(step)
    assert {type(part.operation) for part in alone.parts} == {Product} < {type(part.operation) for part in whole.parts}
    assert 0 < alone.total < whole.total


def test_a_step_that_is_not_captured_waits_for_the_host() -> None:
    """vLLM replays a step's kernels as a graph; one that stops for the host launches each of them."""
    found = passes()
    step = found.step(sequences=1, context=100)
    captured, launched = (
        found.device_time(found.operations((step,)), (step,), captured=captured) for captured in (True, False)
    )
    assert launched.device_s >= captured.device_s
    assert launched.host_s > 10 * captured.host_s


@pytest.mark.parametrize(("stages", "last", "most"), [(4, 8, 8), (5, 6, 7), (3, 10, 11)])
def test_the_last_stage_has_the_output_matrix_and_waits_for_the_host(stages: int, last: int, most: int) -> None:
    """Of the 32 layers of a Llama 3.1 8B it has as many as the others or fewer, and all that is done once in a pass."""
    found = passes(pipeline=stages)
    time = found.time(found.step(sequences=8, context=1000))
    head = sum(part.total for part in time.parts if part.operation.name == "lm_head")
    layer_s = (time.device_s - head) / 32
    assert head > layer_s
    assert found.busiest_s(time) == pytest.approx(max(most * layer_s, last * layer_s + head + time.between_s))
    assert passes().busiest_s(time) == time.total


@pytest.mark.parametrize("name", ["h100-sxm-80gb", "rtx-pro-6000-server-96gb", "mi300x"])
def test_ranks_beyond_a_machine_are_slow(name: str) -> None:
    """Sixteen wait longer for a reduction than eight, and send no faster; so does a stage of another machine."""
    eight, sixteen = (passes(card=name, model="llama-3.1-405b", tensor=ranks) for ranks in (8, 16))
    assert links_s(sixteen) > links_s(eight)
    alone = [links_s(passes(card=name, tensor=tensor)) for tensor in (4, 8)]
    staged = [links_s(passes(card=name, tensor=tensor, pipeline=2)) for tensor in (4, 8)]
    assert staged[1] - alone[1] > staged[0] - alone[0]


def test_two_cards_on_pcie_wait_microseconds_for_each_other() -> None:
    """Of a sum of 8 KiB: below 20 µs over PCIe with peer access, as measured (7.5), and not 125."""
    time = passes(card="rtx-pro-6000-server-96gb", tensor=2)
    sums = [part for part in time.time(time.step(sequences=1, context=9)).parts if "Sum" in part.operation.name]
    assert sums[0].seconds < 20e-6


def test_a_prompt_is_read_faster_by_context_ranks() -> None:
    """Four ranks read a prompt of 32,768 tokens at least twice as fast as one."""
    asked: dict[str, Any] = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "h100-sxm-80gb"}
    asked |= {"prompt_tokens": 32768, "batched_tokens": 32768}
    one, four = (speed(**asked, parallelism={"context": ranks}) for ranks in (1, 4))
    assert four["time_to_first_token_s"]["typical"] < one["time_to_first_token_s"]["typical"] / 2


@pytest.mark.parametrize("engine", ENGINES)
def test_an_older_version_is_no_other_engine(engine: str) -> None:
    """The default is the newest era that was measured; older ones are asked for, and hold the same weights."""
    asked = {"model": "llama-3.1-8b", "engine": engine, "accelerator": "h100-sxm-80gb"}
    newest, oldest = estimate(asked), estimate({**asked, "engine_version": catalog().engine(engine).eras[0].first})
    assert "engine_version" in newest["defaults"]
    assert newest["memory"]["parts"][0] == oldest["memory"]["parts"][0]
    assert estimate({**asked, "engine_version": newest["scenario"]["engine_version"]})["speed"] == newest["speed"]


@pytest.mark.parametrize("version", ["newest", 4, ""])
def test_a_version_has_numbers(version: object) -> None:
    """What names no version is refused by its field."""
    with pytest.raises(ScenarioError, match="version") as error:
        estimate({"model": "llama-3.1-8b", "engine": "vllm", "engine_version": version})
    assert error.value.field == "engine_version"


def test_layers_in_host_memory_come_over_pcie() -> None:
    """However fast a device's link to others is: what the host keeps is sent over PCIe."""
    assert (
        speed(model="llama-3.1-8b", engine="llama.cpp", weights="q4_k_m", accelerator="h100-sxm-80gb", gpu_layers=16)[
            "time_to_first_token_s"
        ]["typical"]
        > 16 / 32 * 4e9 / 63e9
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_figures_fit_together(engine: str) -> None:
    """Rates are times turned over, low is below typical below high, and the whole is slower than its decoding."""
    found = speed(
        model="llama-3.1-8b",
        engine=engine,
        accelerator="h100-sxm-80gb",
        sequences=4,
        prompt_tokens=512,
        output_tokens=256,
    )
    for name in RANGES:
        assert found[name]["low"] <= found[name]["typical"] <= found[name]["high"]
    typical = {name: found[name]["typical"] for name in RANGES}
    assert typical["decode_tokens_per_s"] == pytest.approx(4 / typical["time_per_output_token_s"])
    assert typical["prefill_tokens_per_s"] == pytest.approx(4 * 512 / typical["time_to_first_token_s"])
    assert typical["output_tokens_per_s"] < typical["decode_tokens_per_s"] * 256 / 255
    assert found["bound_by"] in ("memory", "compute", "launch", "links")
    assert found["max_sequences"] > 0 and found["balanced_batch"] > 1


@given(st.sampled_from(ENGINES), st.integers(1, 64), st.integers(1, 8_000), st.floats(1.0, 4.0))
def test_faster_memory_is_never_slower(engine: str, sequences: int, prompt: int, times: float) -> None:
    """More bytes a second never make a prefill or a step longer."""
    device = catalog().accelerator("a100-sxm-80gb")
    fact = device.facts["bandwidth"]
    assert isinstance(fact.value, float | int)
    faster = device._replace(facts={**device.facts, "bandwidth": fact._replace(value=fact.value * times)})
    asked = demand("llama-3.1-8b", sequences=sequences, prompt_tokens=prompt, tokens=prompt + 128)
    era = catalog().engine(engine).of_version().era
    found = [
        speed_of(Question(asked, Layout(), accelerator, engine, era, 128, 0, 2048), catalog().engine(engine).values)
        for accelerator in (device, faster)
    ]
    assert found[0] and found[1]
    assert found[1].prefill.seconds <= found[0].prefill.seconds * (1 + 1e-12)
    assert found[1].decode.step_s <= found[0].decode.step_s


@given(st.sampled_from(ENGINES), st.integers(1, 200), st.integers(1, 100))
def test_more_sequences_take_longer_and_give_more(engine: str, sequences: int, more: int) -> None:
    """A step grows with its batch, by less than the batch does."""
    found = [
        speed(model="llama-3.1-8b", engine=engine, accelerator="h200-sxm-141gb", sequences=count, context_tokens=1024)
        for count in (sequences, sequences + more)
    ]
    steps = [item["time_per_output_token_s"]["typical"] for item in found]
    rates = [item["decode_tokens_per_s"]["typical"] for item in found]
    assert steps[0] <= steps[1] * (1 + 1e-9)
    assert rates[0] <= rates[1] * (1 + 1e-9)


@given(st.sampled_from(ENGINES), st.integers(2, 30_000), st.integers(1, 10_000))
def test_a_longer_context_is_never_faster(engine: str, tokens: int, more: int) -> None:
    """Every token of the cache is read in every step."""
    found = [
        speed(
            model="llama-3.1-8b",
            engine=engine,
            accelerator="h200-sxm-141gb",
            cached_tokens=count,
            prompt_tokens=1,
            output_tokens=64,
        )["time_per_output_token_s"]["typical"]
        for count in (tokens, tokens + more)
    ]
    assert found[0] <= found[1]


def test_no_speed_without_an_engine_or_a_device() -> None:
    """The mathematics alone takes no time, and a model alone runs nowhere."""
    assert estimate({"model": "llama-3.1-8b", "accelerator": "rtx-4090"})["speed"] is None
    assert estimate({"model": "llama-3.1-8b", "engine": "vllm"})["speed"] is None


def test_the_working_ends_in_the_speeds() -> None:
    """The steps of decoding and of the first token have the report's values."""
    report: Any = estimate({"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "vllm"})
    values = {step["name"]: step["value"] for step in report["steps"]}
    assert values["Decoding, all sequences"] == report["speed"]["decode_tokens_per_s"]["typical"]
    assert values["Time to the first token"] == report["speed"]["time_to_first_token_s"]["typical"]


WARNED: list[tuple[dict[str, object], str]] = [
    ({"accelerator": "rtx-4090", "parallelism": {"tensor": 2}}, "no-peer-to-peer"),
    ({"accelerator": "rtx-4090", "parallelism": {"tensor": 2}}, "tensor-over-pcie"),
    ({"accelerator": "rtx-3090", "parallelism": {"tensor": 4}}, "link-needs-bridge"),
    ({"accelerator": "rtx-3090", "weights": "fp8"}, "format-not-native"),
    ({"accelerator": "rtx-3090", "memory_fraction": 0.3}, "share-too-small"),
]


@pytest.mark.parametrize(("fields", "code"), WARNED, ids=[code for _, code in WARNED])
def test_what_is_risky_is_said(fields: dict[str, object], code: str) -> None:
    """Each risk of a machine under vLLM comes with a warning."""
    report: Any = estimate({"model": "llama-3.1-8b", "engine": "vllm", **fields})
    assert code in {warning["code"] for warning in report["warnings"]}


def test_layers_in_host_memory_cost_what_the_processor_takes() -> None:
    """Half of the layers away: what the card takes for the others, and what a processor alone takes for these."""
    fields: dict[str, object] = {"model": "llama-3.1-8b", "engine": "llama.cpp", "weights": "q8_0"}
    host = {"processor": "ryzen-5-5600x"}
    card, both, alone = (
        speed(**fields, **more)["time_per_output_token_s"]["typical"]
        for more in (
            {"accelerator": "rtx-4090"},
            {"accelerator": "rtx-4090", "gpu_layers": 16, "host": host},
            {"gpu_layers": 0, "host": host},
        )
    )
    assert both == pytest.approx((card + alone) / 2, rel=0.1)


def test_layers_leave_the_device_with_their_weights_and_cache() -> None:
    """What is not on the device is in host memory: together they hold the model."""
    fields: dict[str, object] = {"model": "llama-3.1-8b", "engine": "llama.cpp", "accelerator": "rtx-4090"}
    found: list[Any] = [estimate({**fields, **more})["memory"] for more in ({}, {"gpu_layers": 8})]
    held = [
        sum(part["bytes"] for part in item["parts"] if part["id"] in ("weights", "kv_cache")) + item["host_bytes"]
        for item in found
    ]
    assert held[0] == held[1]
    assert found[1]["device_bytes"] < found[0]["device_bytes"]


def test_a_model_that_writes_no_text_has_the_time_of_its_pass() -> None:
    """A classifier has tokens read and a time, and no figures of tokens written."""
    found = speed(model="bart-large-mnli", engine="transformers", accelerator="rtx-4090", prompt_tokens=1024)
    assert found["time_to_first_token_s"]["typical"] == pytest.approx(1024 / found["prefill_tokens_per_s"]["typical"])
    assert not {"decode_tokens_per_s", "time_per_output_token_s", "output_tokens_per_s"} & found.keys()


def test_weights_in_fp32_are_not_multiplied_at_the_rate_of_16_bit() -> None:
    """An RTX 4090 has 82.6 TFLOPS in FP32 and 165.2 in 16 bit: products take twice as long."""
    asked = {"model": "llama-3.1-8b", "engine": "transformers", "accelerator": "rtx-4090", "prompt_tokens": 4096}
    full, half = (speed(**asked, weights=name)["prefill_tokens_per_s"]["typical"] for name in ("fp32", "bf16"))
    assert half / full > 1.3


def test_unified_memory_is_not_all_alike() -> None:
    """Strix Halo read a dense 24B in Q4_K_M at 281 tokens a second and wrote 14 (fromthematrix.dev, b8123, Vulkan)."""
    found = speed(
        model="mistral-small-24b",
        weights="q4_k_m",
        engine="llama.cpp",
        accelerator="ryzen-ai-max-395-128gb",
        backend="vulkan",
        engine_version="b8123",
        prompt_tokens=7624,
        output_tokens=512,
    )
    for name, measured in (("prefill_tokens_per_s", 281), ("decode_tokens_per_s", 14)):
        assert found[name]["low"] < measured < found[name]["high"]


def test_what_the_host_keeps_is_sent_once_for_a_prompt() -> None:
    """Half of the layers away: a prompt waits for their bytes at PCIe's peak or longer, not for twice as many."""
    fields: dict[str, Any] = {"model": "llama-3.1-8b", "engine": "llama.cpp", "weights": "q4_k_m", "prompt_tokens": 512}
    reports: list[Any] = [
        estimate({**fields, "output_tokens": 16, "accelerator": "h100-sxm-80gb", **more})
        for more in ({}, {"gpu_layers": 16})
    ]
    first, last = (report["speed"]["time_to_first_token_s"]["typical"] for report in reports)
    away = reports[1]["memory"]["host_bytes"] - reports[0]["memory"]["host_bytes"]
    link = catalog().link("pcie-5-x16")
    assert link.reached is not None
    assert link.seconds_one_way(away) < last - first < 1.5 * away / float(link.reached.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_working_that_nothing_corrects_has_no_factor(engine: str) -> None:
    """Its last term is the time between operations, and no × 1."""
    report: Any = estimate({"model": "llama-3.1-8b", "engine": engine, "accelerator": "h100-sxm-80gb"})
    lines = [step for step in report["steps"] if step["name"].startswith("Seconds of a")]
    assert lines and not any(step["formula"].endswith(r"\cdot c") for step in lines)
