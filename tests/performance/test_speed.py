"""Speed: figures worked out by hand, and what faster hardware and more work can never do."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.catalog import catalog
from calc.memory.budget import Demand, Layout
from calc.performance.collectives import all_reduce_s, exchange_s
from calc.performance.flops import matrices, pass_work, touched
from calc.performance.roofline import group_way, stage_way
from calc.performance.speed import speed_of

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


def test_a_step_reads_every_weight_but_the_token_table() -> None:
    """Llama 3.1 8B: 8,030,261,248 parameters less 128,256 × 4,096 of the table, twice as many bytes and operations."""
    asked = demand("llama-3.1-8b")
    found = matrices(asked, Layout())
    read = 8030261248 - 128256 * 4096
    assert found.dense + found.head == read
    work = pass_work(demand=asked, layout=Layout(), matrices=found, sequences=1, new_tokens=1, context=999)
    assert work.weight_bytes == 2 * read
    assert work.matrix_flops == 2 * read
    assert work.cache_bytes == 1000 * 131072


def test_a_prompt_pays_for_the_pairs_of_its_tokens() -> None:
    """Causal attention over 2,000 tokens: 32 layers × 4 × 2,000 × 1,000 × 32 heads × 128."""
    asked = demand("llama-3.1-8b")
    work = pass_work(
        demand=asked, layout=Layout(), matrices=matrices(asked, Layout()), sequences=1, new_tokens=2000, context=0
    )
    assert work.attention_flops == 32 * 4 * 2000 * 1000 * 32 * 128


def test_a_batch_reads_the_experts_that_it_touches() -> None:
    """Of 128 experts with 8 a token, one token reads 8, and 16 tokens 64 % of all."""
    assert touched(experts=128, active=8, tokens=1) == pytest.approx(8 / 128)
    assert touched(experts=128, active=8, tokens=16) == pytest.approx(1 - (1 - 1 / 16) ** 16)
    asked = demand("qwen3-30b-a3b")
    found = matrices(asked, Layout())
    alone = pass_work(demand=asked, layout=Layout(), matrices=found, sequences=1, new_tokens=1, context=0)
    assert alone.weight_bytes == pytest.approx(found.dense_bytes + found.head_bytes + found.expert_bytes / 16)


def test_an_all_reduce_passes_twice_over_the_ring() -> None:
    """8 ranks send 7/8 of a message twice; ranks that share nothing send nothing."""
    assert all_reduce_s(ranks=8, message_bytes=8e9, link=1e9, latency=0.5) == 0.5 + 14
    assert all_reduce_s(ranks=1, message_bytes=8e9, link=1e9, latency=0.5) == 0
    assert exchange_s(ranks=8, active=2, message_bytes=1e9, link=1e9, latency=0) == 2


def test_ranks_beyond_a_machine_say_so() -> None:
    """Sixteen tensor ranks of H100 stand in two machines and exchange over InfiniBand; two stages of eight do not."""
    asked = {"model": "llama-3.1-405b", "engine": "vllm", "accelerator": "h100-sxm-80gb"}
    layouts = ({"tensor": 16}, {"tensor": 8, "pipeline": 2})
    found: list[Any] = [estimate({**asked, "parallelism": layout})["warnings"] for layout in layouts]
    codes = [{warning["code"] for warning in warnings} for warnings in found]
    assert "tensor-over-network" in codes[0] and "tensor-over-network" not in codes[1]
    assert "InfiniBand" in next(item["message"] for item in found[0] if item["code"] == "tensor-over-network")


@pytest.mark.parametrize("name", ["h100-sxm-80gb", "rtx-pro-6000-server-96gb", "mi300x"])
def test_ranks_beyond_a_machine_are_slow(name: str) -> None:
    """Sixteen wait longer for a reduction than eight, and send no faster; so does a stage of another machine."""
    card, values = catalog().accelerator(name), catalog().engine("vllm").values
    one, two = (group_way(card, values, Layout(tensor=8), ranks=ranks) for ranks in (8, 16))
    assert two.latency > one.latency and two.link <= one.link
    assert not one.across and two.across
    near, far = (stage_way(card, values, Layout(tensor=tensor, pipeline=2)) for tensor in (4, 8))
    assert far.latency > near.latency and far.across and not near.across


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
    found = [
        speed_of(
            demand=asked,
            layout=Layout(),
            accelerator=accelerator,
            values=catalog().engine(engine).values,
            output_tokens=128,
            cached_tokens=0,
            batched_tokens=2048,
        )
        for accelerator in (device, faster)
    ]
    assert found[0] and found[1]
    assert found[1].prefill.seconds <= found[0].prefill.seconds
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
    ({"accelerator": "rtx-3090", "weights": "q4_k_m"}, "format-of-another-engine"),
    ({"accelerator": "rtx-3090", "memory_fraction": 0.3}, "share-too-small"),
]


@pytest.mark.parametrize(("fields", "code"), WARNED, ids=[code for _, code in WARNED])
def test_what_is_risky_is_said(fields: dict[str, object], code: str) -> None:
    """Each risk of a machine under vLLM comes with a warning."""
    report: Any = estimate({"model": "llama-3.1-8b", "engine": "vllm", **fields})
    assert code in {warning["code"] for warning in report["warnings"]}


def test_layers_in_host_memory_cost_the_time_to_read_them() -> None:
    """Half of the layers away: half of a device's step, and half of weights and cache at the host's 60 GB/s."""
    fields: dict[str, object] = {"model": "llama-3.1-8b", "engine": "llama.cpp", "accelerator": "rtx-4090"}
    whole, half = (speed(**fields, **more) for more in ({}, {"gpu_layers": 16}))
    asked = demand("llama-3.1-8b")
    work = pass_work(
        demand=asked, layout=Layout(), matrices=matrices(asked, Layout()), sequences=1, new_tokens=1, context=2175
    )
    step = whole["time_per_output_token_s"]["typical"] / 2 + (work.weight_bytes + work.cache_bytes) / 2 / 60e9
    assert half["time_per_output_token_s"]["typical"] == pytest.approx(step)


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
    """An RTX 4090 has 82.6 TFLOPS in FP32 and 165.2 in 16 bit: a long prompt takes at least twice as long."""
    asked = {"model": "llama-3.2-1b", "engine": "transformers", "accelerator": "rtx-4090", "prompt_tokens": 32768}
    full, half = (speed(**asked, weights=name)["prefill_tokens_per_s"]["typical"] for name in ("fp32", "bf16"))
    assert half / full == pytest.approx(2, rel=0.05)


def test_unified_memory_is_not_all_alike() -> None:
    """Strix Halo read a dense 24B in Q4_K_M at 281 tokens a second and wrote 14 (fromthematrix.dev, b8123, Vulkan)."""
    found = speed(
        model="mistral-small-24b",
        weights="q4_k_m",
        engine="llama.cpp",
        accelerator="ryzen-ai-max-395-128gb",
        prompt_tokens=7624,
        output_tokens=512,
    )
    for name, measured in (("prefill_tokens_per_s", 281), ("decode_tokens_per_s", 14)):
        assert found[name]["low"] < measured < found[name]["high"]
