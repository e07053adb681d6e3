"""What an engine copies beside the operations of a model: caches, and the states of recurrent layers."""

from typing import Any

import pytest

from calc import estimate
from calc.catalog import catalog
from calc.performance.copies import around_products, beside_prompts, copies_of_states
from calc.performance.kernels import Kernels, kernels
from calc.performance.operations import Attention, Copy, Counted, Experts, HostCopy, Product, Recurrence
from calc.performance.own_kernels import own_kernels
from calc.performance.pass_times import pass_time
from calc.performance.schedules import Schedule, schedule_of

DELTA, SPACE = "delta net", "state space"


def schedule(engine: str, device: str, version: str | None = None, weights: str = "bf16") -> Schedule:
    """Return an engine's schedule on a device."""
    facts = catalog()
    found = facts.engine(engine).of_version(version)
    return schedule_of(
        found.values,
        era=found.era,
        weights=facts.number_format(weights),
        accelerator=facts.accelerator(device),
        market="",
        attention="flash",
    )


def passes(engine: str, device: str, kind: str, *, prompts: bool) -> float:
    """Return how many times an engine reads or writes a state beside its update."""
    update = Recurrence("State", kind, tokens=4.0, sequences=4.0, flops=1.0, state_bytes=2.0)
    (copied,) = copies_of_states((Counted(update, 24),), schedule(engine, device), prompts=prompts)
    assert copied.times == 24
    return copied.operation.bytes


def test_vllm_moves_states_of_decoding_sequences_beside_prompts() -> None:
    """A step with prompts gathers, chunks and scatters the states of delta nets; Mamba keeps both kinds apart."""
    assert passes("vllm", "h100-sxm-80gb", DELTA, prompts=True) == 5
    assert passes("vllm", "h100-sxm-80gb", DELTA, prompts=False) == 0
    assert passes("vllm", "h100-sxm-80gb", SPACE, prompts=True) == 0


def test_llama_cpp_gathers_states_of_delta_nets() -> None:
    """llama.cpp gathers a delta net's states before the update, and on Metal copies them back after it."""
    assert passes("llama.cpp", "rtx-5090", DELTA, prompts=False) == 2
    assert passes("llama.cpp", "m4-max-64gb", DELTA, prompts=False) == 4
    assert passes("llama.cpp", "rtx-5090", SPACE, prompts=True) == 2


@pytest.mark.parametrize(("device", "kind", "times"), [("arc-pro-b70-32gb", SPACE, 48), ("rtx-5090", SPACE, 0)])
def test_states_that_no_kernel_updates_go_to_the_host_and_back(device: str, kind: str, times: int) -> None:
    """llama.cpp under SYCL has no SSM_SCAN (pull request 21163): each of 24 states is copied twice."""
    update = Recurrence("State", kind, tokens=1.0, sequences=1.0, flops=1.0, state_bytes=2.0)
    found = copies_of_states((Counted(update, 24),), schedule("llama.cpp", device), prompts=False)
    assert [item.times for item in found if item.operation == HostCopy("States to the host and back", 1.0)] == (
        [times] if times else []
    )


def test_each_crossing_to_the_host_is_waited_for() -> None:
    """Sixty-two crossings of no bytes take 62 × 20 µs longer than with crossings that wait for nothing."""
    own = schedule("llama.cpp", "rtx-4090")
    crossings = (Counted(HostCopy("Rows to the host", copied_bytes=0.0), 62),)
    device = kernels(catalog().accelerator("rtx-4090"))
    assert device is not None

    def taken(own: Schedule) -> float:
        return pass_time(crossings, kernels=device, schedule=own, sequences=1, decoding=1).device_s

    assert taken(own) - taken(own._replace(crossing_s=0.0)) == pytest.approx(62 * 20e-6)


@pytest.mark.parametrize(
    ("model", "device", "version", "more_s"),
    [("qwen2.5-7b", "a100-sxm-80gb", "4.46.0", 0.0195), ("qwen3-8b", "h20-96gb", "4.51.3", 0.0330)],
)
def test_pytorch_joins_caches_as_fast_as_units_take_elements(
    model: str, device: str, version: str, more_s: float
) -> None:
    """16,384 tokens more of context take a token of transformers 19.5 and 33 ms longer (Qwen, 28 and 32 heads).

    The H20 has twice the A100's bandwidth and takes as long for a head and key.
    """
    asked = {"model": model, "engine": "transformers", "engine_version": version, "weights": "bf16"}
    times = []
    for prompt in (14336, 30720):
        report: Any = estimate({**asked, "accelerator": device, "prompt_tokens": prompt, "output_tokens": 2048})
        times.append(1.0 / report["speed"]["output_tokens_per_s"]["typical"])
    assert times[1] - times[0] == pytest.approx(more_s, rel=0.1)


def test_cycles_of_copies_are_those_of_compute_units() -> None:
    """Elements one by one take a clock cycle of one of 108 units at 1.41 GHz, or of 96 at 2.5 of a Radeon."""
    copied = Copy("Cache with new entries", 4.0, 0.0, cycles=108 * 1.41e9)
    assert Kernels(catalog().accelerator("a100-sxm-80gb")).seconds(copied) == pytest.approx(1.0, rel=1e-3)
    assert Kernels(catalog().accelerator("rx-7900-xtx")).seconds(copied) == pytest.approx(0.635, rel=1e-3)


@pytest.mark.parametrize(
    ("engine", "version", "model", "device", "published", "within"),
    [
        ("vllm", "0.17.1", "qwen3.5-9b", "h100-sxm-80gb", 5202.94, 0.15),
        ("vllm", "0.17.1", "qwen3.5-35b-a3b", "h200-sxm-141gb", 4347.55, 0.4),
    ],
)
def test_hybrids_under_load_run_as_published(
    engine: str, version: str, model: str, device: str, published: float, within: float
) -> None:
    """512 requests of ShareGPT's lengths at a time, of Qwen3.5 (GPUStack's pages): nothing was fitted to them."""
    asked = {"model": model, "engine": engine, "engine_version": version, "weights": "bf16", "accelerator": device}
    lengths = {"prompt_tokens": 342, "output_tokens": 281, "length_spread": 0.9}
    report: Any = estimate({**asked, "concurrency": 512, **lengths})
    assert report["speed"]["output_tokens_per_s"]["typical"] == pytest.approx(published, rel=within)


def test_llama_cpp_updates_states_token_by_token() -> None:
    """2,048 tokens in 30 delta nets of 32 heads took a Radeon 8060S 221 ms; the share lies between it and another."""
    own = own_kernels(catalog().engine("llama.cpp").values, "flash", ("AMD",))
    found = Kernels(catalog().accelerator("ryzen-ai-max-395-128gb"), "llama.cpp", own)
    elements = 32 * 128 * 128
    update = Recurrence("State", DELTA, 2048.0, 1.0, 2048 * 6.0 * elements, 8.0 * elements)
    assert 30 * found.seconds(update) == pytest.approx(0.2209, rel=0.55)


@pytest.mark.parametrize(
    ("weights", "rows", "version", "unpacked"),
    [
        ("nf4", 1.0, None, False),
        ("nf4", 2.0, None, True),
        ("nf4-dq", 512.0, None, True),
        ("awq", 1023.0, None, False),
        ("awq", 1024.0, None, True),
        ("awq", 8192.0, "4.35.0", False),
        ("gptq-int4", 50.0, None, False),
        ("gptq-int4", 51.0, None, True),
        ("gptq-int8", 8192.0, None, False),
    ],
)
def test_transformers_unpacks_what_its_libraries_do_not_multiply(
    weights: str, rows: float, version: str | None, unpacked: bool
) -> None:
    """bitsandbytes multiplies one row with packed NF4, AutoGPTQ 50, AutoAWQ 1,023; more meet a matrix of 16 bit."""
    kernel = catalog().number_format(weights).kernel
    product = Counted(Product("up_proj", rows, 11008, 4096, kernel, 1.0, 0.0), 32)
    asked = schedule("transformers", "rtx-4090", version, weights)
    found = [item.operation for item in around_products((product,), asked)]
    assert [isinstance(one, Copy) for one in found] == ([True, False] if unpacked else [False])
    multiplied = found[-1]
    assert isinstance(multiplied, Product)
    assert (multiplied.kernel, multiplied.weight_bytes) == (("bf16", 2.0 * 11008 * 4096) if unpacked else (kernel, 1.0))


@pytest.mark.parametrize(
    ("device", "version", "weights", "tokens", "unpacked"),
    [
        ("rx-7900-xtx", "b6700", "q4_k", 1024.0, True),
        ("rx-7900-xtx", "b6700", "q4_k", 255.0, False),
        ("rx-7900-xtx", "b7700", "q4_k", 1024.0, False),
        ("v100-sxm2-32gb", "b7700", "q4_k", 1024.0, True),
        ("rtx-4090", "b6700", "q4_k", 1024.0, False),
    ],
)
def test_experts_that_a_library_multiplies_in_turn_are_unpacked(
    device: str, version: str, weights: str, tokens: float, unpacked: bool
) -> None:
    """With 64 rows for each of 32 experts: on Volta, and on RDNA 3 until December 2025, and then met in 16 bit."""
    kernel = catalog().number_format(weights).kernel
    layer = Counted(Experts("experts", tokens, 32.0, 32, 8.0, 30, 50, 3, kernel, 1e6, 0.0), 24)
    found = [item.operation for item in around_products((layer,), schedule("llama.cpp", device, version, weights))]
    assert [isinstance(one, Copy) for one in found] == ([True, False] if unpacked else [False])
    multiplied, plain_bytes = found[-1], 2.0 * 32 * 3 * 30 * 50
    assert isinstance(multiplied, Experts)
    assert (multiplied.kernel, multiplied.weight_bytes) == (("bf16", plain_bytes) if unpacked else (kernel, 1e6))
    assert [one.bytes for one in found[:-1]] == ([1e6 + plain_bytes] if unpacked else [])


def test_two_sequences_in_nf4_write_little_more_than_one() -> None:
    """Llama 2 7B in NF4 on an A100 wrote 23.7 tokens a second alone and 37.6 for two at once (optimum-benchmark)."""
    asked = {"model": "llama-2-7b", "engine": "transformers", "engine_version": "4.35.0", "weights": "nf4"}
    asked |= {"accelerator": "a100-sxm-80gb", "attention": "eager", "prompt_tokens": 128, "output_tokens": 100}
    reports: list[Any] = [estimate({**asked, "sequences": count}) for count in (1, 2)]
    one, two = (report["speed"]["decode_tokens_per_s"]["typical"] for report in reports)
    assert two / one == pytest.approx(37.6 / 23.7, rel=0.15)


def test_transformers_computed_all_logits_until_4_45() -> None:
    """Prompts take longer in 4.40 than in 4.46 by the output matrix over all of their tokens, and no version less."""
    asked = {"model": "llama-3.1-8b", "engine": "transformers", "accelerator": "a100-sxm-80gb", "prompt_tokens": 4096}
    first: list[Any] = [
        estimate({**asked, "output_tokens": 1, "engine_version": version, "prompt_logits": logits})
        for version, logits in (("4.46.0", "last"), ("4.46.0", "all"), ("4.40.0", "last"))
    ]
    last, every, old = (report["speed"]["time_to_first_token_s"]["typical"] for report in first)
    assert last < every
    assert old >= every


LOOK = Attention(
    *("Attention", 200.0, 1.0, 500.0, 32, 8, 128, 128, True, None, False, "bf16"), cache_bytes=200 * 500 * 4096.0
)


@pytest.mark.parametrize(
    ("device", "version", "padding"),
    [
        ("a100-sxm-80gb", "0.11", 64.0),
        ("l40s-48gb", "0.24", 64.0),
        ("h100-sxm-80gb", "0.11", 32.0),  # of a tile of 128 rows, which four heads share
    ],
)
def test_decoded_tokens_beside_prompts_have_tiles_of_prompts(device: str, version: str, padding: float) -> None:
    """FlashAttention attends to all sequences of a step in one call, by tiles of as many rows as prompts want."""
    rules, prompt = schedule("vllm", device, version), LOOK._replace(queries=512.0)
    found = beside_prompts((Counted(LOOK, 32), Counted(prompt, 32)), rules)
    assert [item.operation for item in found] == [LOOK._replace(padding=padding), prompt]
    device_kernels = kernels(catalog().accelerator(device))
    assert device_kernels is not None
    assert device_kernels.attention(LOOK._replace(padding=padding)) > 1.05 * device_kernels.attention(LOOK)


@pytest.mark.parametrize(("engine", "version"), [("sglang", "0.5"), ("tensorrt-llm", None)])
def test_others_have_a_kernel_for_decoding(engine: str, version: str | None) -> None:
    """FlashInfer's, and TensorRT-LLM's own."""
    assert not schedule(engine, "a100-sxm-80gb", version).tile_rows


def test_v0_took_no_prompts_along_with_decoding() -> None:
    """So no token is decoded beside prompts, whatever its tiles."""
    assert not schedule("vllm", "a100-sxm-80gb", "0.7").of("mixes_prompts")


def test_latent_attention_decodes_in_a_kernel_of_its_own() -> None:
    """Whatever stands beside it."""
    latent = (Counted(LOOK._replace(latent=True), 32),)
    assert beside_prompts(latent, schedule("vllm", "a100-sxm-80gb")) == latent


@pytest.mark.parametrize(("version", "steps"), [("0.3.0", 0.0), ("0.4.0", 1.0), ("0.5.9", 1.0)])
def test_sglang_launches_a_step_ahead_since_0_4(version: str, steps: float) -> None:
    """Its scheduler overlapped with the device by default from there on."""
    assert catalog().engine("sglang").of_version(version).values["steps_ahead"] == steps
