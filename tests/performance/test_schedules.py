"""What an engine does around products: weights unpacked to 16 bit, operands converted from FP32."""

from typing import Any

import pytest

from calc import estimate
from calc.catalog import catalog
from calc.memory.budget import Layout
from calc.performance.copies import around_products
from calc.performance.operations import Copy, Counted, Product
from calc.performance.own_kernels import own_kernels
from calc.performance.power import limited_power, power_law
from calc.performance.schedules import STEADY, STEADY_BYTES, Factors, Schedule, Ways, device_classes, schedule_of

ROWS, WIDTH, DEPTH = 512.0, 14336, 4096
STORED = 0.5625 * WIDTH * DEPTH


def schedule(era: str, device: str, *, engine: str = "llama.cpp", sampled: int = 0) -> Schedule:
    """Return an engine's schedule of an era on a device; llama.cpp's where none is named."""
    facts = catalog()
    return schedule_of(
        facts.engine(engine).values,
        era=era,
        weights=facts.number_format("q4_k"),
        accelerator=facts.accelerator(device),
        market="",
        attention="flash",
        ways=Ways(sampled=sampled),
    )


def test_a_server_chooses_each_token_from_all_of_a_vocabulary() -> None:
    """llama.cpp's host does it while the device waits, in proportion to the vocabulary; vLLM's devices do it."""
    alone, fewer, more = (schedule("2026", "rtx-4090", sampled=entries).sequence_s for entries in (0, 32_000, 256_000))
    assert more - alone == pytest.approx(8 * (fewer - alone)) and 0 < fewer - alone < 5e-4
    devices = {schedule("", "rtx-4090", engine="vllm", sampled=entries).sequence_s for entries in (0, 256_000)}
    assert len(devices) == 1


def around(kernel: str, rows: float, era: str, device: str = "rtx-4090") -> tuple[list[float], str]:
    """Return the bytes that are copied around a product, and how it is multiplied then."""
    asked = Product("up_proj", rows, WIDTH, DEPTH, kernel, STORED, 0.0)
    found = [item.operation for item in around_products((Counted(asked, 32),), schedule(era, device))]
    product = found[-1]
    assert isinstance(product, Product)
    return [item.bytes for item in found if isinstance(item, Copy)], product.kernel


def test_weights_were_unpacked_for_a_library() -> None:
    """Until mid-2024 many rows took 4.5 bits of a weight read and 16 written, then FP32 operands as FP16 and back."""
    unpacked, converted = STORED + 2 * WIDTH * DEPTH, 6 * ROWS * (WIDTH + DEPTH)
    assert around("q4-k", ROWS, "2023") == ([unpacked, converted], "bf16")


@pytest.mark.parametrize(
    ("kernel", "rows", "era", "device"),
    [
        ("q4-k", 8.0, "2023", "rtx-4090"),
        ("q4-k", 512.0, "2026", "rtx-4090"),
        ("q4-k", 512.0, "2023", "m1-max-64gb"),
        ("bf16", 512.0, "2026", "m1-max-64gb"),
    ],
)
def test_own_kernels_need_no_copies(kernel: str, rows: float, era: str, device: str) -> None:
    """Kernels for a few rows, those that multiply packed weights, and Metal's take what there is."""
    assert around(kernel, rows, era, device) == ([], kernel)


def test_plain_weights_are_multiplied_by_a_library_still() -> None:
    """Weights of 16 bit meet operands that are converted from FP32, in all eras."""
    assert around("bf16", ROWS, "2026") == ([6 * ROWS * (WIDTH + DEPTH)], "bf16")


@pytest.mark.parametrize(
    ("device", "weights", "published"),
    [
        ("rtx-a6000", "q4_k_m", 3780.55),
        ("rtx-a6000", "fp16", 4511.02),
        ("rtx-6000-ada", "q4_k_m", 5791.74),
        ("a40-48gb", "q4_k_m", 3324.98),
        ("rtx-4090", "q4_k_m", 7138.99),
    ],
)
def test_prompts_of_2024_are_read_as_published(device: str, weights: str, published: float) -> None:
    """Prompts of 512 tokens of Llama 3 8B on five cards (XiongjieDai, build 2836): nothing of it was fitted."""
    report: Any = estimate(
        {
            "model": "llama-3-8b",
            "engine": "llama.cpp",
            "engine_version": "b2836",
            "attention": "eager",
            "accelerator": device,
            "weights": weights,
            "prompt_tokens": 512,
            "output_tokens": 1,
        }
    )
    assert report["speed"]["prefill_tokens_per_s"]["typical"] == pytest.approx(published, rel=0.25)


def test_cards_without_matrix_units_have_a_speed() -> None:
    """Two Tesla P40 write 13.2 tokens a second of Qwen3.8 27B in 4 bits (sudoingX/qwen38-mtp): not fitted."""
    asked = {"model": "qwen3.8-27b", "weights": "q4_k_m", "accelerator": "p40-24gb", "parallelism": {"pipeline": 2}}
    asked |= {"engine": "llama.cpp", "kv_cache": "q4_0", "prompt_tokens": 40, "output_tokens": 400}
    report: Any = estimate(asked)
    assert report["speed"]["decode_tokens_per_s"]["typical"] == pytest.approx(13.2, rel=0.25)


@pytest.mark.parametrize(
    ("model", "version", "device", "weights", "published"),
    [
        ("qwen1.5-moe-a2.7b", "4.40", "a100-sxm-80gb", "bf16", 8.49),
        ("qwen3-30b-a3b", "4.51.3", "h20-96gb", "bf16", 1.89),
        ("qwen3-30b-a3b", "4.51.3", "h20-96gb", "fp8", 0.44),
    ],
)
def test_every_expert_is_visited(model: str, version: str, device: str, weights: str, published: float) -> None:
    """transformers goes over all experts of a layer, those without a token too (Qwen's speed pages): nothing fitted."""
    asked = {"model": model, "engine": "transformers", "engine_version": version, "accelerator": device}
    report: Any = estimate(asked | {"weights": weights, "prompt_tokens": 1, "output_tokens": 2048})
    assert report["speed"]["output_tokens_per_s"]["typical"] == pytest.approx(published, rel=0.25)


def test_pytorchs_own_attention_is_slow_behind_a_long_context() -> None:
    """Qwen1.5 1.8B wrote 16.7 tokens a second behind 30,720, and with FlashAttention 2 29.2; since 4.45 the same."""
    asked = {"model": "qwen1.5-1.8b", "engine": "transformers", "accelerator": "a100-sxm-80gb", "weights": "bf16"}
    asked |= {"prompt_tokens": 30720, "output_tokens": 2048}

    def written(version: str, attention: str) -> float:
        report: Any = estimate(asked | {"engine_version": version, "attention": attention})
        return float(report["speed"]["output_tokens_per_s"]["typical"])

    assert written("4.37", "flash") / written("4.37", "sdpa") == pytest.approx(29.21 / 16.70, rel=0.2)
    assert written("4.51", "flash") == written("4.51", "sdpa")


@pytest.mark.parametrize(
    ("family", "kernel", "device", "in_triton"),
    [
        ("minimax_m2", "fp8-block", "b200-sxm-180gb", True),
        ("qwen3_moe", "fp8-block", "b200-sxm-180gb", False),
        ("deepseek_v3", "bf16", "b200-sxm-180gb", True),
        ("minimax_m2", "fp8-block", "h100-sxm-80gb", False),
        ("minimax_m2", "nvfp4", "b200-sxm-180gb", False),
    ],
)
def test_experts_that_no_library_multiplies(family: str, kernel: str, device: str, in_triton: bool) -> None:
    """SGLang takes Triton's kernels on Blackwell for families that its code does not name, and these take longer."""
    facts = catalog()
    engine = facts.engine("sglang")

    def grouped(triton: frozenset[str]) -> Factors:
        found = schedule_of(
            engine.values,
            era="0.5",
            weights=facts.number_format(kernel),
            accelerator=facts.accelerator(device),
            market="data-center",
            attention="flash",
            ways=Ways(triton=triton),
        )
        return found.grouped(kernel)

    own, of_a_library = grouped(engine.triton_experts(family)), grouped(frozenset())
    assert (own.reading > of_a_library.reading) is in_triton
    assert (own.launches > of_a_library.launches) is in_triton
    assert (own.choice_s > of_a_library.choice_s) is in_triton


@pytest.mark.parametrize(
    ("family", "version", "steps"),
    [("glm4_moe", "0.5.9", True), ("glm4_moe", "0.5.16", False), ("minimax_m2", "0.5.9", False)],
)
def test_several_kernels_choose_experts(family: str, version: str, steps: bool) -> None:
    """SGLang chose by PyTorch's kernels where experts are many and scored by sigmoids, until one kernel did for all."""
    assert catalog().engine("sglang").of_version(version).chooses_in_steps(family, ("Hopper", "NVIDIA")) is steps


@pytest.mark.parametrize(
    ("device", "triton", "chosen_s"),
    [
        ("h200-sxm-141gb", True, (8e-6, 36e-6)),
        ("b200-sxm-180gb", True, (8e-6, 36e-6)),
        ("b200-sxm-180gb", False, (0.0, 0.0)),  # a library's kernels choose, too
    ],
)
def test_experts_are_chosen_before_their_kernels(device: str, triton: bool, chosen_s: tuple[float, float]) -> None:
    """One kernel does so in 8 microseconds, several in 36: sgl-project/sglang#5371."""
    facts, found = catalog(), []
    for stepwise in (False, True):
        schedule = schedule_of(
            facts.engine("sglang").values,
            era="0.5",
            weights=facts.number_format("bf16"),
            accelerator=facts.accelerator(device),
            market="data-center",
            attention="flash",
            ways=Ways(triton=frozenset(("bf16",) if triton else ()), stepwise=stepwise),
        )
        found.append(schedule.grouped("bf16").choice_s)
    assert tuple(found) == pytest.approx(chosen_s)


@pytest.mark.parametrize(("version", "in_triton"), [("0.4.6", True), ("0.5.6", False)])
def test_a_library_s_experts_came_with_a_version(version: str, in_triton: bool) -> None:
    """On B200 SGLang takes NVIDIA's experts of DeepSeek since 2025-10, Triton's before: sgl-project/sglang#11816."""
    engine = catalog().engine("sglang").of_version(version)
    assert ("fp8-block" in engine.triton_experts("deepseek_v3")) is in_triton


@pytest.mark.parametrize(
    ("family", "version", "lacking"),
    [("deepseek_v3", "0.5.9", True), ("deepseek_v3", "0.5.13", False), ("glm_moe_dsa", "0.5.13", True)],
)
def test_a_library_is_tuned_as_time_goes_by(family: str, version: str, lacking: bool) -> None:
    """AITER's Triton kernel had tiles for DeepSeek's shapes on MI300X before it had those of GLM 5."""
    assert catalog().engine("sglang").of_version(version).lacks_tuning(family, 7168, ("CDNA 3",)) is lacking


@pytest.mark.parametrize(
    ("model", "version", "output", "walked"),
    [
        ("qwen3-8b", "0.24", 200, False),
        ("qwen3.5-27b", "0.24", 200, True),  # heads of 256
        ("gemma-2-9b", "0.16", 200, False),  # before its back end was the usual one
        ("gpt-oss-20b", "0.24", 200, False),  # sinks
        ("glm-4.7-flash", "0.24", 200, False),  # latent attention
        ("ministral-3-8b", "0.24", 200, False),
        ("ministral-3-8b", "0.24", 230_000, True),
    ],
)
def test_amd_s_paged_attention_takes_usual_heads_alone(model: str, version: str, output: int, walked: bool) -> None:
    """What ROCM_ATTN has no kernel for is one unit's for each KV head, which Triton's unified kernels are not."""
    asked: dict[str, Any] = {"model": model, "engine": "vllm", "engine_version": version, "accelerator": "mi300x"}
    asked |= {"accelerators": 1, "sequences": 1, "prompt_tokens": 30_000, "output_tokens": output}
    usual, unified = (
        float(report["speed"]["decode_tokens_per_s"]["typical"])
        for report in (estimate(asked), estimate(asked | {"attention": "triton"}))
    )
    assert (usual < 0.9 * unified) is walked
    assert walked or usual == pytest.approx(unified, rel=0.02)


@pytest.mark.parametrize(
    ("family", "width", "classes", "lacking"),
    [
        ("deepseek_v3", 7168, ("CDNA 3 aiter", "CDNA 3"), False),
        ("qwen3_moe", 4096, ("CDNA 4",), False),
        ("qwen3_moe", 2048, ("CDNA 4",), True),
        ("glm_moe_dsa", 6144, ("CDNA 4",), True),
        ("qwen3_moe", 2048, ("CDNA 3",), False),  # Triton's kernels
        ("qwen3_moe", 2048, ("Hopper",), False),
    ],
)
def test_a_library_is_tuned_for_some_models(family: str, width: int, classes: tuple[str, ...], lacking: bool) -> None:
    """Products in blocks that AITER has no shapes of take longer; those of experts have kernels of their own."""
    engine = catalog().engine("vllm")
    assert engine.lacks_tuning(family, width, classes) is lacking
    if not lacking:
        return
    accelerator, found = catalog().accelerator("mi355x"), []
    for untuned in (True, False):
        known = schedule_of(
            engine.values,
            era="0.28",
            weights=catalog().number_format("fp8-block"),
            accelerator=accelerator,
            market="data-center",
            attention="flash",
            ways=Ways(untuned=untuned),
        )
        found.append((known.product("fp8-block"), known.grouped("fp8-block")))
    (slow, experts), (fast, same) = found
    assert slow.reading > fast.reading and slow.working >= fast.working and experts == same


@pytest.mark.parametrize(
    ("model", "device", "version", "by_triton"),
    [
        ("gemma-4-e4b", "h200-sxm-141gb", "0.5.16", True),  # heads of 512
        ("gemma-4-e4b", "mi300x", "0.5.16", True),
        ("gemma-4-e4b", "b200-sxm-180gb", "0.5.16", False),
        ("qwen3-next-80b-a3b", "b200-sxm-180gb", "0.5.9", True),  # states without a second buffer
        ("qwen3-next-80b-a3b", "b200-sxm-180gb", "0.5.16", False),
        ("qwen3-next-80b-a3b", "h200-sxm-141gb", "0.5.9", False),
        ("glm-4.7-flash", "rtx-pro-6000-server-96gb", "0.5.9", True),  # latent attention
        ("glm-4.7-flash", "b200-sxm-180gb", "0.5.9", False),
    ],
)
def test_triton_attends_where_no_other_kernel_does(model: str, device: str, version: str, by_triton: bool) -> None:
    """What SGLang takes by itself is Triton's attention or a faster one, which may be asked for, too."""
    asked: dict[str, Any] = {"model": model, "engine": "sglang", "engine_version": version, "accelerator": device}
    asked |= {"accelerators": 1, "sequences": 1, "prompt_tokens": 30_000, "output_tokens": 200}

    def written(**changes: str) -> float:
        report: Any = estimate(asked | changes)
        return float(report["speed"]["decode_tokens_per_s"]["typical"])

    usual, asked_for = written(), written(attention="triton")
    assert (usual == asked_for) is by_triton
    assert usual >= asked_for


@pytest.mark.parametrize(
    ("device", "layout", "version", "graphs", "sequences"),
    [
        ("t4-16gb", Layout(), None, None, 8),
        ("rtx-4090", Layout(), "0.5.19", None, 24),
        ("rtx-4090", Layout(), "0.5.20", None, 48),
        ("rtx-4090", Layout(tensor=4), "0.5.19", None, 80),
        ("h100-sxm-80gb", Layout(tensor=2), None, None, 256),
        ("h100-sxm-80gb", Layout(tensor=4), None, None, 512),
        ("h100-sxm-80gb", Layout(data=4, expert=4), None, None, 512),
        ("b200-sxm-180gb", Layout(), None, None, 512),
        ("b200-sxm-180gb", Layout(), None, 100, 100),
        ("b200-sxm-180gb", Layout(), None, 0, 0),
    ],
)
def test_graphs_go_by_the_device(
    device: str, layout: Layout, version: str | None, graphs: int | None, sequences: int
) -> None:
    """SGLang captures steps of more sequences on larger devices and over four of them, or as it is told."""
    facts = catalog()
    engine = facts.engine("sglang").of_version(version)
    if graphs is not None:
        engine = engine._replace(graphs=graphs).valued(engine.values)
    found = schedule_of(
        engine.values,
        era=engine.era,
        weights=facts.number_format("bf16"),
        accelerator=facts.accelerator(device),
        market="",
        attention="flash",
        layout=layout,
    )
    assert found.captured_sequences == sequences


def test_eager_attention_is_several_kernels() -> None:
    """Transformers launches seven for scores that are stored, and one where they stay in tiles."""
    facts = catalog()
    ways = {
        way: schedule_of(
            facts.engine("transformers").values,
            era="2023",
            weights=facts.number_format("bf16"),
            accelerator=facts.accelerator("a100-sxm-80gb"),
            market="data-center",
            attention=way,
        ).attention.launches
        for way in ("eager", "flash")
    }
    assert ways == {"eager": 7.0, "flash": 1.0}


@pytest.mark.parametrize(
    ("weights", "device", "backend", "longer"),
    [
        ("bf16", "ryzen-ai-max-395-128gb", "vulkan", True),
        ("fp16", "ryzen-ai-max-395-128gb", "vulkan", False),
        ("bf16", "ryzen-ai-max-395-128gb", "", False),
        ("bf16", "rtx-4090", "vulkan", False),
    ],
)
def test_a_format_without_matrix_units_takes_longer(weights: str, device: str, backend: str, longer: bool) -> None:
    """Of plain weights under Vulkan on AMD's: BF16 alone is multiplied by threads, FP16 by matrix units."""
    facts = catalog()
    found = schedule_of(
        facts.engine("llama.cpp").of_version().values,
        era="2026",
        weights=facts.number_format(weights),
        accelerator=facts.accelerator(device),
        market="",
        attention="flash",
        backend=backend,
    )
    assert (found.product("bf16").working > 2) == longer


@pytest.mark.parametrize(
    ("kernel", "version", "longer"),
    [("q4-k", "b10108", False), ("mxfp4", "b10108", False), ("iq4-nl", "b10108", True), ("q4-k", "b4327", True)],
)
def test_threads_without_kernels_on_integers_multiply_slowly(kernel: str, version: str, longer: bool) -> None:
    """Of an RX 6800 XT under Vulkan: IQ formats, and all in builds of 2024; under HIP none."""
    facts = catalog()
    engine = facts.engine("llama.cpp").of_version(version)
    way, hip = (
        schedule_of(
            engine.values,
            era=engine.era,
            weights=facts.number_format("q4_k"),
            accelerator=facts.accelerator("rx-6800-xt"),
            market="consumer",
            attention="flash",
            backend=backend,
        )
        .product(kernel)
        .working
        for backend in ("vulkan", "")
    )
    assert (way > 1.3 * hip) == longer


@pytest.mark.parametrize(
    ("kernel", "device", "longer"),
    [
        ("mxfp4", "arc-pro-b60-24gb", True),
        ("iq3-xxs", "arc-pro-b60-24gb", True),
        ("q5-0", "arc-pro-b60-24gb", False),
        ("mxfp4", "rtx-4090", False),
    ],
)
def test_codes_that_a_table_explains_are_read_slowly_under_sycl(kernel: str, device: str, longer: bool) -> None:
    """Twice as long as Q4_K at least, which SYCL orders anew as it loads a model; on a GeForce they are read alike."""
    found = schedule("2026", device)
    ratio = found.product(kernel).reading / found.product("q4-k").reading
    assert ratio > 2 if longer else ratio == 1


def test_other_coefficients_make_another_schedule() -> None:
    """What follows from coefficients is kept under which they are: a changed copy has what it says itself."""
    values = catalog().engine("llama.cpp").values
    changed = {**values, "launch_s": 2.0 * values["launch_s"], "vector_start_s": 1.0}
    found = [
        schedule_of(
            one,
            era="2026",
            weights=catalog().number_format("q4_k"),
            accelerator=catalog().accelerator("rtx-4090"),
            market="",
            attention="flash",
        ).launch_s
        for one in (values, changed, values)
    ]
    assert found == [values["launch_s"], 2.0 * values["launch_s"], values["launch_s"]]
    assert own_kernels(values, "flash", ()).vector_start_s < own_kernels(changed, "flash", ()).vector_start_s == 1.0


@pytest.mark.parametrize(
    ("model", "device", "ranks", "tokens", "launched_s", "replayed_s"),
    [
        ("deepseek-v3", "h200-sxm-141gb", 8, 16, 0.0826, 0.0231),  # sgl-project/sglang#12160, of ten tokens and fewer
        ("qwen3-4b", "h100-sxm-80gb", 1, 129, 0.0166, 0.0057),  # wejoncy/sfllm#46, whose engine is made like SGLang
        ("deepseek-v3", "mi300x", 8, 16, None, None),
        ("llama-4-scout", "h200-sxm-141gb", 8, 16, None, None),  # sees
    ],
)
def test_short_prompts_are_read_as_graphs(
    model: str, device: str, ranks: int, tokens: int, launched_s: float | None, replayed_s: float | None
) -> None:
    """From 0.5.10 on SGLang replays prompts in pieces, not on AMD's nor of models that see; hosts differ."""
    asked = {"model": model, "engine": "sglang", "accelerator": device, "parallelism": {"tensor": ranks}}
    asked |= {"prompt_tokens": tokens, "output_tokens": 16}
    reports: list[Any] = [estimate(asked | {"engine_version": version}) for version in ("0.5.9", "0.5.10")]
    before, since = (report["speed"]["time_to_first_token_s"]["typical"] for report in reports)
    if launched_s is None:
        assert before == since
    else:
        # Rows of all sources, left out, ask for half as long again for a launch as the first of these hosts takes.
        assert before == pytest.approx(launched_s, rel=0.5)
        assert since == pytest.approx(replayed_s, rel=0.35)


def data_center_schedule(engine: str, version: str, device: str, **asked: Any) -> Schedule:
    """Return how a version of an engine runs a model in BF16 on a device for servers."""
    facts = catalog()
    accelerator = facts.accelerator(device)
    known = facts.engine(engine).of_version(version, accelerator.vendor)
    return schedule_of(
        known.values,
        era=known.era,
        weights=facts.number_format("bf16"),
        accelerator=accelerator,
        market="data-center",
        attention="flash",
        **asked,
    )


@pytest.mark.parametrize(
    ("engine", "version", "device", "states", "waits"),
    [
        ("vllm", "0.13", "h100-sxm-80gb", False, True),
        ("vllm", "0.14", "h100-sxm-80gb", False, False),
        ("sglang", "0.4.6", "h100-sxm-80gb", False, True),
        ("sglang", "0.5.9", "h100-sxm-80gb", False, False),
        ("sglang", "0.5.9", "h100-sxm-80gb", True, True),
        ("sglang", "0.5.16", "h100-sxm-80gb", True, False),
        ("sglang", "0.5.16", "mi300x", True, True),
    ],
)
def test_a_step_is_launched_ahead(engine: str, version: str, device: str, states: bool, waits: bool) -> None:
    """Before vLLM 0.14 and SGLang 0.5, and with states under SGLang where they have one buffer, the device waits."""
    found = data_center_schedule(engine, version, device, ways=Ways(states=states))
    assert (found.step_s > 8e-4) == waits


@pytest.mark.parametrize(
    ("device", "classes"),
    [
        ("h20-96gb", {STEADY, STEADY_BYTES}),  # 400 W for 148 and 296 TFLOP/s
        ("a100-sxm-80gb", {STEADY}),  # 400 W for 312, and for 624 in INT8
        ("h100-sxm-80gb", set()),  # 700 W for 989
        ("rtx-5090", {STEADY, STEADY_BYTES}),  # 575 W for 210 and 419
    ],
)
def test_what_keeps_its_clock(device: str, classes: set[str]) -> None:
    """A watt and more for each TFLOP/s of its data sheet."""
    assert {STEADY, STEADY_BYTES} & set(device_classes(catalog().accelerator(device), "")) == classes


@pytest.mark.parametrize("device", ["mi300x", "rx-9070", "a100-sxm-80gb"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_limit_of_power_leaves_a_device_in_its_classes(device: str, share: float) -> None:
    """At a third of its clock it has watts enough for each operation: what it lost of it is in its rates already."""
    own = catalog().accelerator(device)
    held = limited_power(own, share * (own.quantity("power") or 0.0), power_law(catalog()))
    assert device_classes(held, "") == device_classes(own, "")


@pytest.mark.parametrize(
    ("version", "era"),
    [
        ("0.1.20", "2023"),
        ("0.11.4", "2024"),
        ("0.24.0", "2025"),
        ("0.30.0", "2026-03"),
        ("0.32.2", "2026"),
        ("b6316", "2025-08"),
        ("b8000", "2026-01"),
    ],
)
def test_a_version_of_ollama_is_that_of_the_build_it_carries(version: str, era: str) -> None:
    """Its versions count from 0, where llama.cpp counts builds: what is before its first build is Ollama's."""
    engine = catalog().engine("ollama").of_version(version)
    assert engine.era == era
    assert not engine.before("b1000")


@pytest.mark.parametrize(("version", "apart"), [("0.2.0", True), ("0.5.0", False)])
def test_ray_carried_steps_to_several_ranks(version: str, apart: bool) -> None:
    """Of late 2023 one device had its worker in vLLM's own process; later versions' ranks are in their steps."""
    alone, ranks = (
        data_center_schedule("vllm", version, "a100-sxm-80gb", layout=Layout(tensor=tensor)).step_s for tensor in (1, 2)
    )
    assert (ranks > 2 * alone) == apart


@pytest.mark.parametrize(
    ("version", "tensor", "is_told"), [("0.2.2", 8, True), ("0.2.6", 8, True), ("0.2.6", 1, False), ("0.2.7", 8, False)]
)
def test_ray_carried_all_tokens_to_each_rank(version: str, tensor: int, is_told: bool) -> None:
    """Until 0.2.7, when a worker in vLLM's own process began to tell the others; one device alone needs no telling."""
    found = data_center_schedule("vllm", version, "a100-sxm-80gb", layout=Layout(tensor=tensor))
    assert found.told_s == (tensor * catalog().engine("vllm").values["told_s@0.2.6"] if is_told else 0.0)


@pytest.mark.parametrize(("version", "by_marlin"), [("0.5.0", False), ("0.5.3", True), ("0.5.5", True)])
def test_awq_went_to_marlin_within_a_year_of_graphs(version: str, by_marlin: bool) -> None:
    """0.5.3 multiplies it by the kernels of GPTQ: https://github.com/vllm-project/vllm/pull/6612."""
    engine = catalog().engine("vllm").of_version(version, "NVIDIA")
    assert ("weights_factor_awq" not in engine.values) == by_marlin


@pytest.mark.parametrize(("version", "cut"), [("0.10.1", True), ("0.11.0", False)])
def test_attention_cut_the_graph_of_a_step(version: str, cut: bool) -> None:
    """Before 0.11 the host launched attention by Triton between pieces; then whole steps became graphs."""
    asked: dict[str, Any] = {"model": "gpt-oss-120b", "engine": "vllm", "accelerator": "a100-sxm-80gb"}
    report: Any = estimate({**asked, "engine_version": version, "sequences": 1, "prompt_tokens": 128})
    assert (report["speed"]["time_per_output_token_s"]["typical"] > 0.01) == cut


def lazily(fmt: str, context: int, device: str = "h100-sxm-80gb") -> float:
    """Return the seconds of a token under transformers, in a format, behind so many others."""
    asked = {"model": "llama-3.1-8b", "engine": "transformers", "weights": fmt, "accelerator": device}
    report: Any = estimate({**asked, "cached_tokens": context, "prompt_tokens": 1, "output_tokens": 16})
    return float(report["speed"]["time_per_output_token_s"]["typical"])


def test_device_and_host_work_in_turns_where_each_product_is_awaited() -> None:
    """More keys take the device longer: launches of 16 bit hide that as long as they take, those of FP8 none."""
    (near, far), (short, long) = ((1024, 16_384), (100_000, 115_360))
    assert lazily("bf16", far) == lazily("bf16", near)
    shown = lazily("fp8-block", far) - lazily("fp8-block", near)
    assert shown == pytest.approx(lazily("bf16", long) - lazily("bf16", short), rel=0.02) and shown > 0.0


def test_hosts_of_t4s_launch_kernels_slower() -> None:
    """A small model's token is the host's there, which takes longer beside it than beside an A100."""
    asked = {"model": "qwen2.5-0.5b", "engine": "transformers", "prompt_tokens": 20, "output_tokens": 128}
    reports: list[Any] = [estimate({**asked, "accelerator": device}) for device in ("t4-16gb", "a100-sxm-80gb")]
    slow, fast = (report["speed"]["time_per_output_token_s"]["typical"] for report in reports)
    assert 1.5 < slow / fast < 2.5
