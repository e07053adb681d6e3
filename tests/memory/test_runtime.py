"""Memory under an engine: figures worked out by hand, and what more of something can never do."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calc import estimate
from calc.catalog import catalog
from calc.question import read_question

MIB, GIB = 2**20, 2**30
ENGINES = ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"]
POOLED = ["vllm", "sglang", "tensorrt-llm"]
MODELS = ["llama-3.1-8b", "gemma-2-9b", "qwen3-30b-a3b", "deepseek-v3", "falcon-7b"]


def memory(**scenario: object) -> dict[str, Any]:
    """Return the memory of a report."""
    found: Any = estimate(scenario)["memory"]
    return found


def part(found: dict[str, Any], name: str) -> int:
    """Return the bytes of a part, 0 where there is none."""
    return sum(item["bytes"] for item in found["parts"] if item["id"] == name)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
def test_a_number_of_sequences_is_counted_as_if_it_were_the_first(model: str, engine: str) -> None:
    """What was worked out for other numbers before changes nothing of what is held for this one."""
    asked = {"model": model, "engine": engine, "accelerator": "h100-sxm-80gb", "accelerators": 2, "weights": "bf16"}
    question = read_question(asked)
    kept: Any = question.serving()
    for count in (1, 3, 300, 2000, 7):
        demand, anew = question.demand._replace(sequences=count), question.serving()
        assert anew is not None
        held, first = (one.loaded(demand, question.layout) for one in (kept, anew))
        assert [runtime for _, runtime in held] == [runtime for _, runtime in first]


def test_llama_cpp_keeps_the_token_table_in_host_memory() -> None:
    """An untied table of 128,256 × 4,096 in 16 bit is not on the device; a tied one is, as output matrix."""
    plain, engine = (memory(model="llama-3-8b", weights="fp16", engine=name) for name in ("none", "llama.cpp"))
    assert part(plain, "weights") - part(engine, "weights") == 128256 * 4096 * 2
    tied = [memory(model="llama-3.2-1b", weights="fp16", engine=name) for name in ("none", "llama.cpp")]
    assert part(tied[0], "weights") == part(tied[1], "weights")


def test_llama_cpp_pads_cells() -> None:
    """5,000 tokens take 5,120 cells."""
    found = memory(model="llama-3-8b", engine="llama.cpp", context_tokens=5000)
    assert part(found, "kv_cache") == 5120 * 131072


def test_vllm_leaves_to_the_cache_what_its_log_says() -> None:
    """Llama 3.1 8B at 0.9 of an H100: 51.38 GiB were left, of 79.18 × 0.9 less weights, profile and workspaces."""
    asked = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "vllm", "context_tokens": 16000}
    found = memory(**asked, engine_version="0.11.0")
    assert found["kv_pool_bytes"] == pytest.approx(51.38 * GIB, rel=0.005)
    assert found["kv_pool_tokens"] == pytest.approx(51.38 * GIB / 131072, rel=0.005)


def test_vllm_samples_without_sorting_from_0_17_on() -> None:
    """At 0.95 of an H100 vLLM 0.19 left 58.11 GiB to Llama 3.1 8B, after a peak of 1.89 GiB; 0.11 took 4.76."""
    asked = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "vllm", "memory_fraction": 0.95}
    found = memory(**asked, engine_version="0.19.0")
    assert found["kv_pool_bytes"] == pytest.approx(58.11 * GIB, rel=0.005)
    assert part(found, "activations") + part(found, "logits") == pytest.approx(1.89 * GIB, rel=0.02)
    older = memory(**asked, engine_version="0.16.0")
    assert part(older, "activations") + part(older, "logits") == pytest.approx(4.76 * GIB, rel=0.02)


def test_vllm_keeps_the_workspace_of_experts_beside_the_sampler() -> None:
    """Qwen3 30B A3B in vLLM 0.19: 8,192 tokens × 8 experts × 2 rows of 2,048 × 2 bytes are 0.5 of the 2.68 GiB."""
    asked = {"model": "qwen3-30b-a3b", "accelerator": "h100-sxm-80gb", "engine": "vllm", "memory_fraction": 0.95}
    found = memory(**asked, engine_version="0.19.0")
    assert part(found, "activations") == 8192 * (2048 + 8 * 2 * 2048) * 2
    assert part(found, "activations") + part(found, "logits") == pytest.approx(2.68 * GIB, rel=0.01)
    assert found["kv_pool_bytes"] == pytest.approx(15.41 * GIB, rel=0.01)
    assert part(memory(**asked, engine_version="0.11.0"), "activations") == 8192 * 2048 * 2


def test_cuda_graphs_grow_with_layers_and_slots() -> None:
    """vLLM 0.19 with 102 graphs: 0.91 GiB with 32 layers, 1.6 to 1.8 with 80; with few slots there are few graphs."""
    asked = {"engine": "vllm", "accelerator": "h100-sxm-80gb", "engine_version": "0.19.0"}
    small, large = memory(**asked, model="llama-3.1-8b"), memory(**asked, model="llama-3.3-70b", weights="fp8")
    assert part(small, "cuda_graphs") == pytest.approx(0.91 * GIB, rel=0.02)
    assert part(large, "cuda_graphs") == pytest.approx(1.7 * GIB, rel=0.02)
    assert part(memory(**asked, model="llama-3.1-8b", sequence_slots=1), "cuda_graphs") < 0.42 * GIB


@pytest.mark.parametrize(
    ("model", "version", "aside"),
    [
        ("llama-3.1-8b", "0.22", "estimated"),
        ("llama-3.1-8b", "0.24", "none"),
        ("llama-3.1-8b", "0.29", "all"),
        ("gemma-2-9b", "0.24", "estimated"),
        ("gemma-2-9b", "0.26", "none"),
        ("gpt-oss-20b", "0.24", "estimated"),
        ("gpt-oss-20b", "0.26", "all"),
    ],
)
def test_vllm_takes_graphs_out_of_the_share(model: str, version: str, aside: str) -> None:
    """The cache is smaller by them from 0.21 on, but not where a second runner that took none to be there ran it.

    Before 0.26 fewer bytes are set aside than they take.
    """
    shares = {"none": 0.0, "estimated": catalog().engine("vllm").values["graphs_estimated"], "all": 1.0}
    asked = {"model": model, "accelerator": "h100-sxm-80gb", "engine": "vllm", "memory_fraction": 0.9}
    same = [memory(**asked, engine_version=version) for version in ("0.20", version)]
    kept = shares[aside] * part(same[1], "cuda_graphs")
    assert same[0]["kv_pool_bytes"] - same[1]["kv_pool_bytes"] == pytest.approx(kept, abs=1)


def test_drafted_tokens_widen_what_graphs_are_recorded_of() -> None:
    """Two sequences of four tokens are recorded in steps of up to 16, as club-3090 #127 logs: five sizes, and four."""
    asked = {"model": "qwen3.6-27b", "accelerator": "h100-sxm-80gb", "engine": "vllm", "sequence_slots": 2}
    drafting = memory(**asked, speculation={"method": "mtp", "tokens": 3})
    added = part(drafting, "cuda_graphs") - part(memory(**asked), "cuda_graphs")
    each = catalog().engine("vllm").values["cuda_graph_layer"]
    assert added == pytest.approx(64 * (5 + 4 - 3 - 2) * each, abs=2)


def test_vllm_s_share() -> None:
    """By itself it is 0.92, and no longer 0.9 as before 0.21."""
    asked = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "vllm"}
    assert memory(**asked) == memory(**asked, memory_fraction=0.92, engine_version="0.29")
    assert memory(**asked, engine_version="0.20") == memory(**asked, memory_fraction=0.9, engine_version="0.20")


def test_vllm_samples_as_many_logits_whatever_the_tensor_parallelism() -> None:
    """Each rank has the whole of the logits: Qwen3 32B profiled 5.64 GiB on one device and on two."""
    for degree in (1, 2):
        asked = {"model": "qwen3-32b", "accelerator": "h100-sxm-80gb", "parallelism": {"tensor": degree}}
        found = memory(**asked, engine="vllm", engine_version="0.11.0")
        assert part(found, "activations") + part(found, "logits") == pytest.approx(5.64 * GIB, rel=0.01)


def test_old_transformers_keep_the_logits_of_a_prompt_in_both_precisions() -> None:
    """30,720 positions × 151,936 entries × 6 bytes are 26.1 GiB of the 30.0 that Qwen1.5 0.5B took."""
    found = memory(
        model="qwen1.5-0.5b", engine="transformers", prompt_tokens=30720, output_tokens=0, engine_version="4.37"
    )
    assert part(found, "logits") == 30720 * 151936 * 6
    assert found["allocated_bytes"] == pytest.approx(30.04 * GIB, rel=0.01)


def test_old_transformers_hold_the_cache_twice_as_it_grows() -> None:
    """Llama 2 13B, 32 sequences of 768 tokens in FP16: 26.0 GB of weights and twice 20.1 GB of cache are 66.5 GB."""
    found = memory(
        model="llama-2-13b",
        engine="transformers",
        sequences=32,
        prompt_tokens=256,
        output_tokens=512,
        engine_version="4.37",
    )
    assert found["allocated_bytes"] == pytest.approx(66.527e9, rel=0.01)


def test_old_transformers_refer_to_the_prompt_s_logits_while_they_decode() -> None:
    """Qwen publishes 24.37, 37.01 and 62.29 GiB for its 1.5 7B: weights, twice the cache, logits and rotary tables."""
    asked = {"model": "qwen1.5-7b", "engine": "transformers", "prompt_tokens": 6144, "output_tokens": 2048}
    found = memory(**asked, engine_version="4.37")
    assert part(found, "logits") == 6144 * 151936 * 4
    for prompt, published in ((6144, 24.37), (14336, 37.01), (30720, 62.29)):
        allocated = memory(**{**asked, "prompt_tokens": prompt}, engine_version="4.37")["allocated_bytes"]
        assert allocated == pytest.approx(published * GIB, rel=0.002)
    assert part(memory(**asked), "logits") == 0


def test_each_layer_of_old_transformers_owns_its_rotary_table() -> None:
    """Mistral 7B has 32,768 positions: sines and cosines of 128 in 16 bit, 32 times, are 512 MiB."""
    asked = {"model": "mistral-7b", "engine": "transformers", "context_tokens": 512}
    old, new = (part(memory(**asked, engine_version=version), "workspaces") for version in ("4.37", "4.46"))
    assert old - new == 512 * MIB


def test_current_transformers_read_a_prompt_in_chunks() -> None:
    """With prefill_chunk_size 2,048 a prompt of 32,768 tokens needs a sixteenth of the activations; before, all."""
    asked = {"model": "llama-3.1-8b", "engine": "transformers", "prompt_tokens": 32768, "output_tokens": 1}
    whole, chunks = (part(memory(**asked, **more), "activations") for more in ({}, {"batched_tokens": 2048}))
    assert chunks == pytest.approx(whole / 16, rel=0.01)
    report: Any = estimate({**asked, "batched_tokens": 2048})
    assert report["scenario"]["batched_tokens"] == 2048
    old = {**asked, "engine_version": "4.37"}
    assert memory(**old) == memory(**old, batched_tokens=2048)


def test_the_allocator_keeps_segments_that_became_too_small() -> None:
    """Llama 2 7B, 4 sequences: 64 tensors grow from 10 to 24 MiB in steps of 2: 64 × (576 − 100) / 4 MiB stay."""
    found = memory(
        model="llama-2-7b",
        engine="transformers",
        sequences=4,
        prompt_tokens=256,
        output_tokens=512,
        engine_version="4.37",
    )
    assert found["reserved_bytes"] == pytest.approx(24.96e9, rel=0.03)


@given(st.sampled_from(ENGINES), st.sampled_from(MODELS), st.integers(1, 8), st.integers(64, 20_000))
def test_parts_add_up_and_totals_are_in_order(engine: str, model: str, sequences: int, tokens: int) -> None:
    """Parts add up to what the driver shows, which is no less than reserved, which is no less than allocated."""
    found = memory(
        model=model, engine=engine, accelerator="h200-sxm-141gb", sequences=sequences, context_tokens=tokens + 1
    )
    assert sum(item["bytes"] for item in found["parts"]) == found["device_bytes"]
    assert found["allocated_bytes"] <= found["reserved_bytes"] <= found["device_bytes"]
    for name in ("allocated_bytes", "reserved_bytes", "device_bytes"):
        low, high = found[f"{name}_range"]
        assert low <= found[name] <= high


def free(report: Any) -> int:
    """Return the bytes that nothing needs: what is left, and what the allocator keeps for later."""
    kept = sum(part["bytes"] for part in report["parts"] if part["id"] == "allocator_reserve")
    return int(report["headroom_bytes"] + kept)


@given(st.sampled_from(ENGINES), st.sampled_from(MODELS), st.integers(64, 20_000), st.integers(1, 5_000))
def test_more_tokens_never_need_less(engine: str, model: str, tokens: int, more: int) -> None:
    """What has to fit grows with the tokens of a sequence; what torch keeps of tensors that grew has not to.

    Behind a full window fewer layers have tensors that grow (Gemma 2 from 4,096 tokens on).
    """
    first, second = (
        memory(model=model, engine=engine, accelerator="h200-sxm-141gb", context_tokens=count)
        for count in (tokens + 1, tokens + 1 + more)
    )
    assert free(second) <= free(first)
    assert second["max_sequences"] <= first["max_sequences"]


@given(st.sampled_from(POOLED), st.sampled_from(MODELS), st.floats(0.1, 0.95), st.floats(0.0, 0.05))
def test_a_larger_share_never_holds_less(engine: str, model: str, share: float, more: float) -> None:
    """The cache grows with the share of the device, as long as as many sequences may run at once.

    Where the sampler of vLLM's default leaves no room, fewer may, and a smaller share can have a larger cache.
    """
    reports: list[Any] = [
        estimate({"model": model, "engine": engine, "accelerator": "h200-sxm-141gb", "memory_fraction": fraction})
        for fraction in (share, share + more)
    ]
    limits = [
        [warning for warning in report["warnings"] if warning["code"] == "fewer-sequences-than-default"]
        for report in reports
    ]
    assume(limits[0] == limits[1])
    assert reports[0]["memory"]["kv_pool_tokens"] <= reports[1]["memory"]["kv_pool_tokens"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_most_sequences_fit_and_one_more_does_not(engine: str) -> None:
    """`max_sequences` is the last count that fits, and "max" takes them where the engine has slots for them."""
    scenario = {"model": "llama-3.1-8b", "engine": engine, "accelerator": "l40s-48gb", "context_tokens": 4096}
    most = memory(**scenario)["max_sequences"]
    assert most > 0
    assert memory(**scenario, sequences=most)["fits"]
    assert not memory(**scenario, sequences=most + 1)["fits"]
    assert memory(**scenario, sequences="max", sequence_slots=most)["sequences"] == most


@pytest.mark.parametrize("engine", ENGINES)
def test_every_step_of_the_working_is_shown(engine: str) -> None:
    """Each part with bytes has a step that ends in its bytes."""
    for item in memory(model="llama-3.1-8b", engine=engine, accelerator="rtx-4090", weights="fp8")["parts"]:
        if item["bytes"]:
            assert round(item["steps"][-1]["value"]) == item["bytes"], item["id"]


def test_every_coefficient_says_why() -> None:
    """A coefficient names its reason, its source and the version it holds for."""
    for engine in catalog().engines():
        for name, item in engine.coefficients.items():
            assert item.reason.endswith("."), name
            assert item.versions and catalog().source(item.source), name


def test_vllm_starts_with_fewer_sequences_where_its_default_leaves_no_cache() -> None:
    """gpt-oss 120B on an H100: with 1,024 sequences the pool is negative (vLLM issue 23278), with 256 it is not.

    At 0.95 the default starts, with 3.33 GiB of cache as llm-d measured, whose image had the kernels of 0.11.1.
    """
    asked = {"model": "gpt-oss-120b", "weights": "mxfp4", "engine": "vllm", "accelerator": "h100-sxm-80gb"}
    asked["engine_version"] = "0.11.1"
    report: Any = estimate(asked)
    assert report["memory"]["fits"] and report["memory"]["devices_needed"] == 1
    assert 4 * GIB < report["memory"]["kv_pool_bytes"] < 5.5 * GIB
    assert "--max-num-seqs 256" in next(
        warning["message"] for warning in report["warnings"] if warning["code"] == "fewer-sequences-than-default"
    )
    wider: Any = estimate({**asked, "memory_fraction": 0.95})
    assert wider["memory"]["kv_pool_bytes"] == pytest.approx(3.33 * GIB, rel=0.02)
    assert not any(warning["code"] == "fewer-sequences-than-default" for warning in wider["warnings"])


HYBRIDS: list[tuple[dict[str, Any], int]] = [  # asked, and the blocks that vLLM said its cache has
    ({"model": "Qwen/Qwen3.6-27B-FP8", "accelerator": "h100-sxm-80gb", "memory_fraction": 0.95}, 856),
    (
        {
            "model": "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
            "accelerator": "h100-sxm-80gb",
            "parallelism": {"tensor": 2},
        },
        524,
    ),
]


@pytest.mark.parametrize(("asked", "blocks"), HYBRIDS)
def test_vllm_starts_hybrids_for_no_more_sequences_than_blocks(asked: dict[str, Any], blocks: int) -> None:
    """Each sequence that may run needs a block for its states: at the default of 1,024 these two do not start.

    vLLM recipes 551 (856 blocks) and the retail shopping assistant 95 (524). What is counted starts, one more does not.
    """
    asked = {**asked, "engine": "vllm", "context_tokens": 262_144}
    report: Any = estimate(asked)
    limit = report["memory"]["sequence_limit"]
    assert report["memory"]["fits"] and limit == pytest.approx(blocks, rel=0.11)
    assert any(f"--max-num-seqs {limit} " in warning["message"] for warning in report["warnings"])
    assert memory(**asked, sequence_slots=limit)["fits"]
    full: Any = estimate({**asked, "sequence_slots": 1024})
    assert not full["memory"]["fits"] and full["memory"]["sequence_limit"] is None
    fewer = next(repair for repair in full["repairs"] if "sequence_slots" in repair["change"])
    assert fewer["change"]["sequence_slots"] >= 0.7 * limit and fewer["cost"] == "nothing"
    older = memory(**asked, engine_version="0.16.0")
    assert older["fits"] and older["sequence_limit"] is None


def test_older_vllm_sets_states_aside_for_all_sequences_that_may_run() -> None:
    """Nemotron Nano 9B v2 on an L40S under 0.10.1: 33.75 GiB are asked for, and nothing starts (vLLM issue 23230).

    From 0.10.2 on states stand in the cache, for the sequences that there are.
    """
    asked = {"model": "nvidia/NVIDIA-Nemotron-Nano-9B-v2", "engine": "vllm", "accelerator": "l40s-48gb"}
    older, newer = (memory(**asked, engine_version=version) for version in ("0.10.1", "0.10.2"))
    assert part(older, "recurrent_state") == pytest.approx(33.75 * GIB, rel=0.02) and not older["fits"]
    assert part(newer, "recurrent_state") == part(older, "recurrent_state") // 256 and newer["fits"]
    assert memory(**asked, engine_version="0.10.1", sequence_slots=32)["fits"]


def test_stated_slots_size_the_profiled_sampler() -> None:
    """The sampler is profiled with `max_num_seqs`: in vLLM 0.11 32 instead of 256 leave 1 GiB more on a 16 GB card.

    What is stated is kept, with no warning of fewer; a vocabulary of 151,936 costs 38.3 bytes a logit and sequence.
    """
    asked = {"model": "qwen3-4b", "weights": "awq", "engine": "vllm", "accelerator": "rtx-4060-ti-16gb"}
    asked["engine_version"] = "0.11.0"
    usual, few = memory(**asked), memory(**asked, sequence_slots=32)
    assert part(usual, "logits") == pytest.approx(256 * 151_936 * 38.3, rel=1e-3)
    assert few["kv_pool_bytes"] - usual["kv_pool_bytes"] > GIB
    most: Any = estimate({**asked, "model": "gpt-oss-120b", "weights": "mxfp4", "sequence_slots": 1024})
    assert not any(warning["code"] == "fewer-sequences-than-default" for warning in most["warnings"])


@pytest.mark.parametrize("engine", ["sglang", "tensorrt-llm"])
def test_stated_slots_size_the_sampled_logits(engine: str) -> None:
    """Logits are held for as many sequences as an engine is set up for."""
    few, many = (
        part(memory(model="qwen3-0.6b", engine=engine, accelerator="rtx-4090", sequence_slots=slots), "logits")
        for slots in (512, 1024)
    )
    assert many == 2 * few > 0


@pytest.mark.parametrize(
    ("engine", "version", "tokens"),
    [
        ("vllm", "0.27.1", (2048, 2048, 2048, 2048, 8192, 8192, 8192)),
        ("vllm", "0.28.0", (2048, 2048, 2048, 2048, 8192, 8192, 16384)),
        ("sglang", "0.4.6", (2048, 2048, 8192, 8192, 8192, 8192, 8192)),
        ("sglang", "0.5.17", (2048, 2048, 4096, 8192, 8192, 8192, 16384)),
        ("sglang", "0.5.20", (2048, 4096, 4096, 8192, 8192, 8192, 16384)),
    ],
)
def test_servers_read_longer_pieces_on_larger_devices(engine: str, version: str, tokens: tuple[int, ...]) -> None:
    """By the sources of those versions: vLLM leaves out the A100 by its name."""
    devices = ("t4-16gb", "rtx-4090", "l40s-48gb", "a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb")
    asked = {"model": "llama-3.2-1b", "weights": "fp16", "engine": engine, "engine_version": version}
    reports: list[Any] = [estimate({**asked, "accelerator": device}) for device in devices]
    assert tuple(report["scenario"]["batched_tokens"] for report in reports) == tokens


def test_a_classifier_keeps_no_cache() -> None:
    """BART for MNLI passes over its text once; the writing BART keeps keys and values of both parts."""
    scenario = {"weights": "fp32", "prompt_tokens": 1024, "output_tokens": 0, "engine": "transformers"}
    assert part(memory(model="bart-large-mnli", **scenario), "kv_cache") == 0
    assert part(memory(model="bart-large", **scenario), "kv_cache") > 0


@pytest.mark.parametrize(
    ("model", "engine", "accelerator", "code"),
    [
        ("bert-base", "transformers", "rtx-4090", "writes-no-text"),
        ("bart-large-mnli", "transformers", "rtx-4090", "writes-no-text"),
        ("llama-3.1-8b", "vllm", "m4-max-64gb", "not-known-to-run"),
        ("llama-3.1-8b", "tensorrt-llm", "mi300x", "does-not-run"),
    ],
)
def test_what_an_engine_is_not_made_for_is_said(model: str, engine: str, accelerator: str, code: str) -> None:
    """Models that write no text, and devices that an engine does not run on."""
    report: Any = estimate({"model": model, "engine": engine, "accelerator": accelerator})
    assert code in [warning["code"] for warning in report["warnings"]]


@pytest.mark.parametrize("engine", ["llama.cpp", "transformers", "vllm"])
def test_a_usual_pairing_is_not_doubted(engine: str) -> None:
    """A decoder on an NVIDIA card is what engines are made for."""
    report: Any = estimate({"model": "llama-3.1-8b", "engine": engine, "accelerator": "rtx-4090"})
    codes = {warning["code"] for warning in report["warnings"]}
    assert not codes & {"writes-no-text", "engine-not-on-device"}


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
def test_an_encoder_has_no_pool(engine: str) -> None:
    """What passes over its text once keeps nothing of it: bge-small takes its weights and a step, not a share."""
    report: Any = estimate({"model": "bge-small", "engine": engine, "accelerator": "h100-sxm-80gb"})
    memory = report["memory"]
    assert memory["kv_pool_bytes"] == memory["kv_pool_tokens"] == 0 and memory["kv_pool_bytes_range"] == [0, 0]
    assert memory["fits"] and memory["device_bytes"] < 5 * 2**30
