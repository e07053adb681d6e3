"""What does not run is said before anything about its memory, with the source that says so."""

from typing import Any

import pytest

from calc import ScenarioError, estimate, plan
from calc.calculators import CALCULATORS
from calc.catalog import catalog
from calc.planning.support import place_of
from calc.planning.usual_engine import of_device
from calc.scenario.fields import ENGINES


def asked(model: str, engine: str, accelerator: str, **fields: object) -> Any:
    """Return the report on a model under an engine on a device."""
    return estimate({"model": model, "engine": engine, "accelerator": accelerator, **fields})


# The table of issue 12, and its like: what was answered with a tick and starts nowhere.
@pytest.mark.parametrize(
    ("model", "engine", "accelerator", "weights"),
    [
        ("llama-3.1-8b", "tensorrt-llm", "M4 Max", "bf16"),
        ("llama-3.1-8b", "llama.cpp", "TPU v5e", "q4_k_m"),
        ("llama-3.1-8b", "llama.cpp", "RTX 4090", "awq"),
        ("llama-3.1-8b", "vllm", "GTX 1080 Ti", "awq"),
        ("llama-3.1-8b", "vllm", "V100 32GB", "fp8"),
        ("llama-3.1-8b", "vllm", "Tesla M40", "bf16"),
        ("llama-3.1-8b", "vllm", "RX 580", "bf16"),
        ("llama-3.1-8b", "sglang", "RX Vega 64", "bf16"),
        ("llama-3.1-8b", "transformers", "RX 5700 XT", "bf16"),
        ("llama-3.1-8b", "transformers", "Tesla K80", "bf16"),
        ("deepseek-v3", "llama.cpp", "H200", "published"),
        ("qwen3-32b", "mlx", "M3 Ultra", "gptq-int4"),
        ("deepseek-v3.2", "vllm", "RX 7900 XTX", "bf16"),
        ("glm-5.3-flash", "vllm", "RTX 4090", "published"),
        ("qwen3-30b-a3b", "vllm", "Arc Pro B60", "awq"),
        ("deepseek-v3.2", "sglang", "A100 80GB", "bf16"),
        ("qwen3-30b-a3b", "sglang", "A100 80GB", "fp8"),
        ("deepseek-v3", "tensorrt-llm", "A100 80GB", "bf16"),
        ("deepseek-v4-flash", "tensorrt-llm", "H200", "published"),
        ("t5-large", "vllm", "H100", "published"),
        ("whisper-large-v3", "llama.cpp", "RTX 4090", "published"),
        ("nvidia/Gemma-4-31B-IT-NVFP4", "tensorrt-llm", "H100", "published"),
    ],
)
def test_what_does_not_run(model: str, engine: str, accelerator: str, weights: str) -> None:
    """It says so with a source, gives no speed and no cost, and the calculator's verdict is no whatever fits."""
    report = asked(model, engine, accelerator, weights=weights)
    assert report["runs"] is False and report["speed"] is report["cost"] is None
    assert all(catalog().source(item["source"]).url for item in report["runs_because"])
    assert ("does-not-run", "wrong") in [(warning["code"], warning["severity"]) for warning in report["warnings"]]
    fields = {"model": model, "weights": weights, "engine": engine, "accelerator": report["scenario"]["accelerator"]}
    calculator = CALCULATORS["will-it-fit"]
    assert "It does not run:" in calculator.render(calculator.report(fields))


@pytest.mark.parametrize(
    ("model", "engine", "accelerator", "weights"),
    [
        ("llama-3.1-8b", "vllm", "H100", "bf16"),
        ("gpt-oss-120b", "vllm", "H100", "published"),
        ("Qwen/Qwen3-32B-AWQ", "vllm", "RTX 4090", "published"),
        ("llama-3.3-70b", "llama.cpp", "M4 Max", "q4_k_m"),
        ("mlx-community/Llama-3.3-70B-Instruct-4bit", "mlx", "M4 Max", "published"),
        ("Qwen/Qwen3-32B-AWQ", "mlx", "M3 Ultra", "published"),
        ("kimi-k2.5", "mlx", "M3 Ultra", "published"),
        ("gpt-oss-20b", "vllm", "Arc Pro B60", "published"),
        ("Qwen/Qwen3-30B-A3B-FP8", "vllm", "Arc Pro B60", "published"),
        ("llama-3.1-8b", "sglang", "Arc Pro B60", "bf16"),
        ("deepseek-v3", "sglang", "H200", "published"),
        ("llama-3.1-8b", "tensorrt-llm", "H100", "fp8"),
        ("llama-3.1-8b", "transformers", "RTX 3060", "nf4"),
    ],
)
def test_what_runs(model: str, engine: str, accelerator: str, weights: str) -> None:
    """What the engine's tables list runs, and each of the three facts is named."""
    report = asked(model, engine, accelerator, weights=weights)
    assert report["runs"] is True and len(report["runs_because"]) >= 3


@pytest.mark.parametrize(
    "accelerator", ["RX 480", "RX 580", "RX Vega 56", "GTX 970", "M40 24GB", "Radeon 780M", "Arc 140V"]
)
def test_old_and_small_devices_run_llama_cpp(accelerator: str) -> None:
    """Where AMD's ROCm is not made for a generation, Vulkan is the usual way."""
    report = asked("llama-3.2-3b", "llama.cpp", accelerator, weights="q4_k_m", context_tokens=4096)
    assert report["runs"] and report["memory"]["fits"]
    engine, device = catalog().engine("llama.cpp"), catalog().accelerator(accelerator)
    usual = engine.backends_on(device.architecture, device.vendor)[0]
    assert (usual == "vulkan") is (device.architecture in ("Polaris", "Vega 10"))


def test_a_k80_takes_a_build_of_one_s_own() -> None:
    """CUDA 12 left compute capability 3.7: nobody promises that llama.cpp runs."""
    report = asked("llama-3.1-8b", "llama.cpp", "Tesla K80", weights="q4_k_m")
    assert report["runs"] is None and "CUDA 11.4" in report["runs_because"][0]["message"]


def test_what_nobody_says() -> None:
    """A plugin, or a family in no list, is not known; without an engine there is nothing to run."""
    assert asked("llama-3.1-8b", "vllm", "Trainium2")["runs"] is None
    assert asked("rwkv-4-7b", "tensorrt-llm", "H100")["runs"] is None
    assert asked("gemma-3-27b", "sglang", "Arc Pro B60")["runs"] is None
    assert asked("glm-5.1", "sglang", "RTX PRO 6000 Blackwell")["runs"] is None
    report: Any = estimate({"model": "llama-3.1-8b", "accelerator": "H100"})
    assert report["runs"] is None and report["runs_because"] == []


def test_what_changed_with_a_version() -> None:
    """Marlin's kernels came to Turing with vLLM 0.15, and sparse attention to Blackwell cards late."""
    for version, runs in (("0.14.0", False), ("0.15.0", True), (None, True)):
        stated = {"engine_version": version} if version else {}
        assert asked("qwen3-8b", "vllm", "RTX 2080 Ti", weights="nvfp4", **stated)["runs"] is runs
    many = {"accelerators": 8, "engine": "vllm", "model": "deepseek-v3.2"}
    for device, version, runs in (
        ("RTX PRO 6000 Blackwell", "0.13.0", False),
        ("RTX PRO 6000 Blackwell", None, None),
        ("H200", None, True),
        ("A100 80GB", None, False),
    ):
        stated = {"engine_version": version} if version else {}
        assert estimate({**many, "accelerator": device, **stated})["runs"] is runs


def test_volta_left_the_builds_of_vllm() -> None:
    """A V100 ran vLLM up to 0.19; since 0.20 its builds begin with Turing, and llama.cpp is what one takes there."""
    for version, runs in (("0.19.0", True), ("0.20.0", None), (None, None)):
        stated = {"engine_version": version} if version else {}
        assert asked("llama-3.1-8b", "vllm", "V100 32GB", weights="fp16", **stated)["runs"] is runs
    assert asked("llama-3.1-8b", "vllm", "T4", weights="fp16")["runs"] is True
    found: Any = plan({"want": "models", "models": ["llama-3.1-8b"], "have": {"accelerator": "V100 32GB"}})
    assert [option["scenario"]["engine"] for option in found["options"]] == ["llama.cpp"]


def test_versions_of_a_fact() -> None:
    """A fact with `before` is no longer so; one with `since` is; both ends are versions of the engine."""
    fact = next(iter(catalog().support("vllm")))._replace(since="0.9", before="0.15")
    holds = {version: fact.holds_in(version) for version in ("0.8.5", "0.9", "0.14.1", "0.15", "0.15.1", "")}
    assert holds == {"0.8.5": False, "0.9": True, "0.14.1": True, "0.15": False, "0.15.1": False, "": False}
    assert fact._replace(before="").holds_in("")


@pytest.mark.parametrize(
    ("model", "tensor", "runs"),
    [
        ("mimo-v2.5", 4, True),  # verified by vLLM's recipe, which says that 8 do not load
        ("mimo-v2.5", 8, False),
        ("mimo-v2.5-pro", 8, True),
        ("mimo-v2.5-pro", 16, False),  # github.com/vllm-project/vllm/pull/46755
    ],
)
def test_ranks_take_whole_groups_of_a_fused_projection(model: str, tensor: int, runs: bool) -> None:
    """MiMo V2.5's files hold queries, keys and values in a group for each KV head, whose blocks end with it."""
    fields = {"accelerators": tensor, "parallelism": {"tensor": tensor}}
    assert asked(model, "vllm", "h200-sxm-141gb", **fields)["runs"] is runs


@pytest.mark.parametrize(
    ("accelerator", "cache", "runs"),
    [
        ("rtx-3090", "fp16", True),
        ("rtx-3090", "q8_0", False),  # a cache in few bits
        ("arc-pro-b60-24gb", "fp16", None),  # a third as fast as one on one pair
        ("m4-max-64gb", "fp16", False),  # of which two are two computers
    ],
)
def test_where_llama_cpp_divides_tensors(accelerator: str, cache: str, runs: bool | None) -> None:
    """By layers it runs on each of them, with any cache."""
    fields = {"weights": "q4_k_m", "kv_cache": cache, "accelerators": 2}
    by_tensors = asked("qwen3-8b", "llama.cpp", accelerator, **fields, parallelism={"tensor": 2})
    assert by_tensors["runs"] is runs
    assert asked("qwen3-8b", "llama.cpp", accelerator, **fields, parallelism={"pipeline": 2})["runs"] is True


@pytest.mark.parametrize(
    ("engine", "model", "weights", "last", "first"),
    [
        ("llama.cpp", "qwen3-8b", "q4_k_m", "b5091", "b5092"),
        ("llama.cpp", "gemma-3-27b", "q4_k_m", "b4874", "b4875"),
        ("llama.cpp", "deepseek-v3", "q4_k_m", "b4416", "b4417"),
        ("llama.cpp", "kimi-k2", "q4_k_m", "b5901", "b5902"),
        ("llama.cpp", "glm-4.5-air", "q4_k_m", "b6084", "b6085"),
        ("vllm", "qwen1.5-7b", "fp16", "0.2.7", "0.3"),
        ("vllm", "gemma-7b", "bf16", "0.3.1", "0.3.2"),
        ("vllm", "qwen3-30b-a3b", "bf16", "0.8.3", "0.8.4"),
        ("sglang", "gemma-3-12b", "bf16", "0.4.4.1", "0.4.4.2"),
        ("sglang", "gpt-oss-20b", "published", "0.4.10", "0.5"),
        ("transformers", "qwen3-8b", "bf16", "4.50", "4.51"),
        ("tensorrt-llm", "qwen3-8b", "bf16", "0.19", "0.20"),
        ("tensorrt-llm", "gpt-oss-20b", "published", "0.21", "1.0"),
        ("tensorrt-llm", "qwen3-next-80b-a3b", "bf16", "1.1", "1.2"),
    ],
)
def test_versions_older_than_a_family(engine: str, model: str, weights: str, last: str, first: str) -> None:
    """A build before the one that a family came with starts no model of it."""
    for version, runs in ((last, False), (first, True)):
        report = asked(model, engine, "h100-sxm-80gb", weights=weights, engine_version=version)
        assert report["runs"] is runs, (version, report["runs_because"])


@pytest.mark.parametrize(
    ("model", "last", "first"), [("gemma-2-27b", "0.6.2", "0.6.3"), ("llama-4-scout", "0.8.3", "0.8.4")]
)
def test_versions_older_than_a_familys_stages(model: str, last: str, first: str) -> None:
    """vLLM named the families that it ran in stages until 0.6.3; the first version with Llama 4 had it in none."""
    fields = {"accelerators": 4, "parallelism": {"tensor": 2, "pipeline": 2}}
    for version, runs in ((last, False), (first, True)):
        report = asked(model, "vllm", "h100-sxm-80gb", **fields, engine_version=version)
        assert report["runs"] is runs, (version, report["runs_because"])
    alone = {"accelerators": 2, "parallelism": {"tensor": 2}}
    assert asked(model, "vllm", "h100-sxm-80gb", **alone, engine_version=last)["runs"] is True


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_few_heads_on_a_rank_are_no_reason_against_it(engine: str) -> None:
    """Kimi K2.6's 64 heads on eight MI300X: Triton's kernels attend by default where AITER's want 16 heads or 128.

    Source: SGLang, srt/arg_groups (the backend of latent attention on HIP); vLLM, VLLM_ROCM_USE_AITER, which is off.
    """
    fields = {"accelerators": 8, "parallelism": {"tensor": 8}}
    assert asked("kimi-k2.6", engine, "mi300x", **fields)["runs"] is True


def test_ranks_that_cut_blocks() -> None:
    """It does not start, says which matrix and why, and starts with whole experts or fewer ranks."""
    base = {"model": "Qwen/Qwen3-235B-A22B-FP8", "engine": "sglang", "accelerator": "H200", "accelerators": 8}
    report: Any = estimate({**base, "parallelism": {"tensor": 8}})
    assert report["runs"] is False and "of 1,536 each has 192 (expert matrices)" in report["runs_because"][0]["message"]
    assert estimate({**base, "parallelism": {"tensor": 8, "expert": 8}})["runs"] is True
    gated = {"model": "poolside/Laguna-S-2.1-FP8", "engine": "vllm", "accelerator": "H200", "accelerators": 2}
    assert estimate({**gated, "parallelism": {"tensor": 2}})["runs"] is not False  # its gates have no whole block
    assert estimate(base)["runs"] is True


@pytest.mark.parametrize(
    ("model", "weights", "accelerator", "ranks", "version", "piece"),
    [
        ("zai-org/GLM-4.5-Air-FP8", "published", "RTX 3090", 8, "0.11", "2,736"),  # as zai-org/GLM-4.5, issue 94
        ("zai-org/GLM-4.5V-FP8", "published", "A100 80GB", 4, "0.11", "5,472"),  # as zai-org/GLM-V, issue 178
        ("qwen2.5-72b", "fp8", "A100 80GB", 4, "0.11", ""),
        ("Qwen/Qwen3-235B-A22B-GPTQ-Int4", "published", "A100 80GB", 8, "0.9.1", "192"),  # as vLLM's issue 17604
        ("Qwen/Qwen3-235B-A22B-GPTQ-Int4", "published", "A100 80GB", 4, "0.9.1", ""),
        ("zai-org/GLM-4.5-Air-FP8", "published", "H100", 8, "0.11", ""),  # which multiplies FP8 itself
        ("zai-org/GLM-4.5-Air-FP8", "published", "RTX 3090", 8, "", ""),
    ],
)
def test_tiles_that_ranks_cut(model: str, weights: str, accelerator: str, ranks: int, version: str, piece: str) -> None:
    """Older versions stop at less than whole tiles of a rank's outputs, and whole groups of its experts' inputs."""
    fields = {"accelerators": ranks, "parallelism": {"tensor": ranks}, "weights": weights}
    report = asked(model, "vllm", accelerator, **fields, **({"engine_version": version} if version else {}))
    assert (report["runs"] is False) == bool(piece) and piece in str(report["runs_because"])


@pytest.mark.parametrize(
    ("model", "devices", "parallelism", "said"),
    [
        ("qwen3-30b-a3b", 8, {"tensor": 8, "expert": 8}, "it has no expert parallelism"),
        ("qwen3-30b-a3b", 8, {"data": 8, "expert": 8}, "it has no expert parallelism"),
        ("qwen3-30b-a3b", 8, {"tensor": 4, "pipeline": 2}, "by layers or by tensors"),
        ("deepseek-v3", 8, {"tensor": 8}, "--split-mode tensor refuses this architecture"),
        ("deepseek-v3", 32, {"pipeline": 32}, "32 devices are more than the 16 that llama.cpp divides a model over"),
    ],
)
def test_divisions_that_llama_cpp_does_not_have(
    model: str, devices: int, parallelism: dict[str, int], said: str
) -> None:
    """It runs with none of them, though vLLM does, and by layers it runs."""
    base = {"model": model, "accelerator": "rtx-3090", "accelerators": devices, "weights": "q4_k_m"}
    report: Any = estimate({**base, "engine": "llama.cpp", "parallelism": parallelism})
    assert report["runs"] is False and said in report["runs_because"][-1]["message"]
    other: Any = estimate({**base, "engine": "vllm", "parallelism": parallelism, "weights": "bf16"})
    assert said not in str(other["runs_because"])
    layers = {"accelerators": 16, "parallelism": {"pipeline": 16}}
    assert estimate({**base, **layers, "engine": "llama.cpp"})["runs"] is True


def test_no_more_devices_are_called_for_than_an_engine_uses() -> None:
    """A model of 671 billion parameters in four bits fits on no number of 24 GB cards that llama.cpp takes."""
    asked = {"model": "deepseek-v3", "accelerator": "rtx-3090", "weights": "q4_k_m", "engine": "llama.cpp"}
    report: Any = estimate({**asked, "accelerators": 8})
    assert report["memory"]["devices_needed"] is None
    assert all("accelerators" not in repair["change"] for repair in report["repairs"])
    assert estimate({**asked, "accelerator": "rtx-pro-6000-blackwell"})["memory"]["devices_needed"] <= 16  # type: ignore[index]


def test_every_engine_has_facts_of_each_kind() -> None:
    """Of every engine it is known on which devices, in which formats and with which families it runs."""
    for engine in ENGINES[1:]:
        assert {fact.about for fact in catalog().support(engine)} >= {"device", "format", "family"}, engine
        for device in catalog().accelerators():
            known = [fact for fact in catalog().support(engine) if fact.about == "device"]
            assert any(fact.rank(device.vendor, device.architecture, device.segment) for fact in known), device.id


def test_nothing_that_does_not_run_is_ranked() -> None:
    """A plan leaves out what does not run, several laptops, and what more likely does not fit."""
    question = {"want": "hardware", "model": "llama-3.1-8b", "weights": "awq", "engine": "vllm", "sequences": 4}
    found: Any = plan({**question, "context_tokens": 8192, "limits": {"devices": 4}, "count": 100})
    assert len(found["options"]) > 20
    for option in found["options"]:
        device = catalog().accelerator(option["scenario"]["accelerator"])
        assert device.architecture not in {"Pascal", "Volta"}
        assert option["scenario"]["accelerators"] == 1 or device.text("form") != "laptop"
        report: Any = estimate(option["scenario"])
        assert report["runs"] is not False and report["memory"]["fits"] and option["chance"] > 0.5


@pytest.mark.parametrize(
    ("accelerator", "usable"),
    [
        ("m4-max-64gb", 48),
        ("m4-max-128gb", 96),
        ("m1-pro-32gb", 21.3333),
        ("m1-16gb", 10.6667),
        ("gb10", 121.69),
        ("ryzen-ai-max-395-128gb", 96),
        ("a100-sxm-80gb", 79.25),
    ],
)
def test_the_memory_that_programs_get(accelerator: str, usable: float) -> None:
    """A Mac lets its GPU have three quarters, one under 36 GB two thirds; that is the capacity of an answer."""
    report = asked("llama-3.1-8b", "llama.cpp", accelerator, weights="q4_k_m")
    assert report["memory"]["capacity_bytes"] == pytest.approx(usable * 2**30, rel=1e-4)


def test_a_limit_of_one_s_own() -> None:
    """A limit in bytes or in words replaces what is known; a display takes its part; an impossible one is refused."""
    base = {"model": "llama-3.3-70b", "weights": "q6_k", "engine": "llama.cpp", "accelerator": "m4-max-64gb"}
    known: Any = estimate(base)
    assert known["memory"]["fits"] is False
    for limit in ("60 GiB", 60 * 2**30, "64.4 GB"):
        report: Any = estimate({**base, "memory_limit": limit})
        assert report["memory"]["fits"] is True and estimate(report["scenario"])["memory"] == report["memory"]
    card = {"model": "llama-3.1-8b", "accelerator": "rtx-4090"}
    free, shown = (estimate({**card, "display": there})["memory"] for there in (False, True))
    assert free["capacity_bytes"] - shown["capacity_bytes"] == 890 * 2**20  # type: ignore[index]
    for wrong in ("65 GiB", "much", -1, True):
        with pytest.raises(ScenarioError, match="memory_limit"):
            estimate({**base, "memory_limit": wrong})
    with pytest.raises(ScenarioError, match="accelerator"):
        estimate({"model": "llama-3.1-8b", "memory_limit": "8 GiB"})


@pytest.mark.parametrize(("model", "runs"), [("qwen3-32b", True), ("ernie-4.5-vl-28b-a3b", None)])
def test_an_engine_reads_gguf_files_that_there_are(model: str, runs: bool | None) -> None:
    """vLLM read GGUF files, which llama.cpp's converter writes: of a family that it does not list nothing is known."""
    asked = {"model": model, "weights": "q6_k", "engine": "vllm", "accelerator": "rtx-4090"}
    assert estimate(asked | {"engine_version": "0.23"})["runs"] is runs


def test_formats_that_vllm_left_to_plugins() -> None:
    """GGUF files need vllm-gguf-plugin since 0.24, bitsandbytes vllm-bnb-plugin since 0.28: without, neither runs."""
    asked = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "rtx-4090"}
    for weights, version in (("q6_k", "0.23"), ("nf4", "0.27")):
        assert estimate({**asked, "weights": weights, "engine_version": version})["runs"] is True
        assert estimate({**asked, "weights": weights})["runs"] is None


@pytest.mark.parametrize(
    ("model", "engine", "version", "runs"),
    [
        ("laguna-m.1", "vllm", None, True),
        ("ernie-4.5-vl-28b-a3b", "sglang", None, True),
        ("qwen-7b", "vllm", None, False),
        ("qwen-7b", "vllm", "0.11", True),
        ("mpt-7b", "vllm", None, False),
        ("mpt-7b", "vllm", "0.24", True),
        ("gpt-oss-20b", "tensorrt-llm", None, True),
    ],
)
def test_classes_come_and_go(model: str, engine: str, version: str | None, runs: bool) -> None:
    """Laguna and ERNIE 4.5 VL have classes in vLLM 0.33 and SGLang 0.5.23; Qwen's first and MPT's were taken out."""
    asked = {"model": model, "engine": engine, "accelerator": "h100-sxm-80gb", "engine_version": version}
    report: Any = estimate({name: value for name, value in asked.items() if value is not None})
    assert report["runs"] is runs


@pytest.mark.parametrize(
    ("engine", "device", "cache", "runs"),
    [
        ("vllm", "V100 32GB", "fp8", False),
        ("vllm", "H100", "fp8", True),
        ("vllm", "A100 80GB", "fp8", True),
        ("vllm", "H100", "q8_0", False),
        ("sglang", "H100", "int8", False),
        ("llama.cpp", "RTX 4090", "fp8", False),
        ("llama.cpp", "RTX 4090", "q8_0", True),
        ("transformers", "H100", "fp8", False),
        ("mlx", "m4-max-64gb", "fp8", False),
    ],
)
def test_formats_of_caches(engine: str, device: str, cache: str, *, runs: bool) -> None:
    """Engines keep caches in formats of their own, some on newer devices alone."""
    weights = "q4_k_m" if engine == "llama.cpp" else "bf16"
    asked = {"model": "llama-3.2-1b", "engine": engine, "accelerator": device, "weights": weights}
    report: Any = estimate({**asked, "kv_cache": cache})
    assert report["runs"] is runs
    assert estimate(asked)["runs"] is not False


@pytest.mark.parametrize(
    ("device", "cache", "engine"),
    [
        ("rtx-4090", None, "llama.cpp"),
        ("rtx-4090", "fp8", "vllm"),
        ("h100-sxm-80gb", "q8_0", "llama.cpp"),
        ("m4-max-64gb", "fp8", "llama.cpp"),  # where no engine keeps it, the usual one says so
    ],
)
def test_the_usual_engine_keeps_the_cache_that_is_asked_for(device: str, cache: str | None, engine: str) -> None:
    """Who asks for a format of the cache and for no engine gets one that has the format, where there is one."""
    asked = {"model": "llama-3.1-8b", "engine": "usual", "accelerator": device}
    report: Any = estimate(asked if cache is None else {**asked, "kv_cache": cache})
    assert report["scenario"]["engine"] == engine


@pytest.mark.parametrize(
    ("fields", "runs"),
    [
        ({"model": "google/gemma-3-4b-it", "engine": "vllm", "accelerator": "H100", "weights": "fp16"}, False),
        ({"model": "google/gemma-3-4b-it", "engine": "vllm", "accelerator": "H100", "weights": "bf16"}, True),
        ({"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "H100", "weights": "fp16"}, True),
        ({"model": "Qwen/Qwen3-8B-FP8", "engine": "sglang", "accelerator": "a100-sxm-80gb"}, True),
        ({"model": "Qwen/Qwen3-30B-A3B-FP8", "engine": "sglang", "accelerator": "a100-sxm-80gb"}, False),
        (
            {
                "model": "Qwen/Qwen3-8B-FP8",
                "engine": "sglang",
                "accelerator": "a100-sxm-80gb",
                "engine_version": "0.5.10",
            },
            False,
        ),
        ({"model": "qwen2-1.5b", "engine": "sglang", "accelerator": "T4", "engine_version": "0.2.12"}, False),
        ({"model": "qwen2-1.5b", "engine": "sglang", "accelerator": "T4", "engine_version": "0.3"}, True),
        (
            {"model": "facebook/bart-large", "engine": "vllm", "accelerator": "A100 80GB", "engine_version": "0.10"},
            True,
        ),
        (
            {"model": "facebook/bart-large", "engine": "vllm", "accelerator": "A100 80GB", "engine_version": "0.11"},
            False,
        ),
        ({"model": "facebook/bart-large", "engine": "vllm", "accelerator": "A100 80GB"}, False),
        ({"model": "qwen3-8b", "engine": "vllm", "accelerator": "H100", "engine_version": "0.7.2"}, False),
        ({"model": "qwen3-30b-a3b", "engine": "vllm", "accelerator": "H100", "engine_version": "0.8.3"}, False),
        (
            {"model": "qwen3-8b", "engine": "vllm", "accelerator": "H100", "engine_version": "0.8.3"},
            None,
        ),  # its fallback
        ({"model": "qwen3-8b", "engine": "vllm", "accelerator": "H100", "engine_version": "0.8.4"}, True),
    ],
)
def test_what_ran_once_or_for_one_family(fields: dict[str, Any], *, runs: bool | None) -> None:
    """Some formats are refused to single families, and versions of engines gained and lost devices and families."""
    assert estimate({**fields, "context_tokens": 512})["runs"] is runs


@pytest.mark.parametrize(
    ("device", "segment"),
    [("l4", "workstation"), ("l40s", "workstation"), ("h100-sxm-80gb", "data-center"), ("rtx-4090", "consumer")],
)
def test_a_server_s_card_without_stacks_is_a_workstation_s(device: str, segment: str) -> None:
    """An L4 and an L40S carry GDDR6 and the processor of an RTX card; an H100 carries HBM."""
    place = place_of(catalog().accelerator(device))
    assert place is not None and place.segment == segment
    assert place_of(None) is None


def test_engines_run_on_devices_that_they_know() -> None:
    """TensorRT-LLM is NVIDIA's own and for nothing of Apple's, for which MLX is."""
    facts = catalog()
    said = [
        of_device(facts=facts, engine=engine, place=place_of(facts.accelerator(device)))
        for engine, device in (
            ("tensorrt-llm", "h100-sxm-80gb"),
            ("tensorrt-llm", "m4-max-64gb"),
            ("mlx", "m4-max-64gb"),
        )
    ]
    assert said == ["yes", "no", "yes"]


# Published reports of what did not start, each with its thread, and beside some of them what did.
@pytest.mark.parametrize(
    ("fields", "runs"),
    [
        ({"model": "qwen3.5-35b-a3b", "engine_version": "0.16.0"}, False),  # recipes of vLLM: from 0.17 on
        ({"model": "qwen3.5-35b-a3b", "engine_version": "0.17.0"}, True),
        ({"model": "glm-5", "engine_version": "0.15.0"}, False),
        ({"model": "llama-3.1-8b", "accelerator": "RTX 5090", "engine_version": "0.7.3"}, None),  # vLLM 13306
        ({"model": "llama-3.1-8b", "accelerator": "RTX 5090", "engine_version": "0.24.0"}, True),
        (
            {"model": "qwen3-4b", "engine": "sglang", "accelerator": "T4", "weights": "fp16"},
            None,
        ),  # SGLang 24224, 24302
        ({"model": "qwen2.5-3b", "engine": "sglang", "accelerator": "T4", "engine_version": "0.4.6"}, True),  # 6006
        (
            {"model": "qwen2.5-3b", "engine": "sglang", "accelerator": "RTX 5090", "engine_version": "0.4.3"},
            None,
        ),  # 5338
        ({"model": "deepseek-v3", "accelerator": "A100 SXM 80GB", "engine_version": "0.7.3"}, False),  # 13885, 17579
        ({"model": "deepseek-v3", "accelerator": "A100 SXM 80GB", "engine_version": "0.10.0"}, True),
        ({"model": "deepseek-v2", "weights": "fp8", "accelerator": "A100 SXM 80GB", "engine_version": "0.5.4"}, False),
        (
            {
                "model": "deepseek-v2",
                "weights": "fp8",
                "accelerator": "A100 SXM 80GB",
                "accelerators": 8,
                "engine_version": "0.10.0",
            },
            True,
        ),
        ({"model": "llama-3.1-8b", "weights": "fp8", "accelerator": "A100 SXM 80GB", "engine_version": "0.5.4"}, True),
        ({"model": "deepseek-v2", "engine": "sglang", "weights": "awq", "engine_version": "0.3.6"}, False),  # 2270
        ({"model": "llama-3.1-8b", "engine": "sglang", "weights": "awq", "engine_version": "0.3.6"}, True),
        ({"model": "gemma-4-31b", "accelerator": "A100 SXM 80GB", "engine": "sglang", "weights": "fp8"}, True),
        ({"model": "gemma-4-26b-a4b", "accelerator": "A100 SXM 80GB", "engine": "sglang", "weights": "fp8"}, False),
        ({"model": "smollm3-3b", "engine_version": "0.9.2"}, None),  # transformers may have its class
        ({"model": "nvidia/Qwen3-30B-A3B-NVFP4", "accelerator": "GB10", "engine_version": "0.12"}, False),  # 30855
        ({"model": "nvidia/Llama-3.3-70B-Instruct-NVFP4", "accelerator": "GB10", "engine_version": "0.15.1"}, None),
        ({"model": "nvidia/Llama-3.3-70B-Instruct-NVFP4", "accelerator": "GB10"}, True),
        ({"model": "llama-2-7b", "accelerator": "RX 7900 XTX", "engine_version": "0.3.2"}, False),  # 3040
        ({"model": "llama-2-7b", "accelerator": "RX 7900 XTX", "engine_version": "0.4"}, True),
        ({"model": "llama-3.1-8b", "accelerator": "MI355X", "engine_version": "0.8.2"}, False),
        ({"model": "llama-3.1-8b", "accelerator": "MI355X", "engine_version": "0.8.3"}, True),
        ({"model": "deepseek-v4-flash", "accelerator": "B300", "engine_version": "0.23"}, False),  # 46796
        ({"model": "deepseek-v4-flash", "accelerator": "B300", "engine_version": "0.20.1"}, True),
        ({"model": "qwen2.5-1.5b", "accelerator": "Arc A770", "engine_version": "0.10"}, False),  # 24817
        ({"model": "qwen2.5-1.5b", "accelerator": "Arc A770", "engine_version": "0.9"}, True),
        ({"model": "gemma-4-31b", "accelerator": "T4"}, False),  # vLLM 57712
        ({"model": "gemma-3-4b", "accelerator": "T4"}, True),
        ({"model": "open-llama-3b", "engine_version": "0.1.2"}, False),  # vLLM 336: heads of 100
        ({"model": "polyglot-ko-5.8b", "engine_version": "0.1.2"}, False),  # vLLM 302: of 256
        ({"model": "polyglot-ko-5.8b", "engine_version": "0.2.0"}, True),
        ({"model": "stablelm-2-12b", "engine_version": "0.4.0"}, False),  # vLLM 3952: of 160
        ({"model": "stablelm-2-12b", "engine_version": "0.6.0"}, True),
        ({"model": "qwen3-30b-a3b", "weights": "nf4", "engine_version": "0.8.5"}, False),  # vLLM 17337
        ({"model": "qwen3-vl-30b-a3b", "weights": "q4_k_m", "engine_version": "0.11.0"}, False),  # vLLM 28691
        ({"model": "qwen2.5-vl-72b", "weights": "awq", "parallelism": {"tensor": 2}}, True),  # vLLM 21695: filled up
        ({"model": "qwen1.5-14b", "weights": "awq", "parallelism": {"tensor": 2}}, False),  # vLLM 2699
        ({"model": "llama-2-7b", "weights": "gptq-int4", "parallelism": {"tensor": 4}}, False),
        ({"model": "llama-2-7b", "weights": "gptq-int4", "parallelism": {"tensor": 2}}, True),
        ({"model": "qwen2.5-32b", "weights": "awq", "parallelism": {"tensor": 2}}, True),
        ({"model": "llama-2-7b", "context_tokens": 8192}, None),  # vLLM 3676
        ({"model": "llama-2-7b", "context_tokens": 4096}, True),
        ({"model": "llama-2-7b", "engine": "llama.cpp", "weights": "q4_k_m", "context_tokens": 8192}, True),
        ({"model": "qwen3-4b", "engine": "llama.cpp", "kv_cache": "q8_0", "attention": "eager"}, False),  # 28524
        ({"model": "qwen3-4b", "engine": "llama.cpp", "kv_cache": "q8_0"}, True),
        ({"model": "qwen3-next-80b-a3b", "engine": "llama.cpp", "engine_version": "b7170"}, False),  # 19579
        ({"model": "gpt-oss-20b", "engine": "llama.cpp", "weights": "q4_k_m", "engine_version": "b6050"}, False),
        (
            {"model": "gpt-oss-20b", "engine": "llama.cpp", "weights": "q4_k_m", "engine_version": "b6132"},
            True,
        ),  # 15253
    ],
)
def test_what_was_reported_not_to_start(fields: dict[str, Any], *, runs: bool | None) -> None:
    """It says no, or that it starts only if it is told something, with the source; and yes to what did start."""
    plain = {"accelerator": "H200", "engine": "vllm", "weights": "q4_k_m" if fields.get("engine") else "published"}
    report: Any = estimate({**plain, **fields}, repairs=False)
    assert report["runs"] is runs and report["runs_because"]


@pytest.mark.parametrize(
    ("fields", "runs"),
    [
        ({"engine": "sglang"}, None),
        ({"engine": "sglang", "accelerators": 2}, True),  # a device holds its half in 16 bit
        ({"engine": "sglang", "model": "qwen3-32b"}, True),  # Qwen publishes it in FP8
        ({"engine": "sglang", "model": "RedHatAI/Qwen2.5-32B-Instruct-FP8-dynamic"}, True),
        ({"engine": "sglang", "accelerator": "H100"}, True),
        ({"engine": "vllm", "engine_version": "0.14"}, None),
        ({"engine": "vllm", "engine_version": "0.15"}, True),
        ({"engine": "vllm"}, True),
    ],
    ids=str,
)
def test_weights_that_are_converted_late_have_to_fit_before(fields: dict[str, Any], *, runs: bool | None) -> None:
    """Of Qwen2.5 32B 61 GiB in 16 bit are loaded before they are 32 in FP8, which an L40S holds: it has no tick."""
    asked_for = {"model": "qwen2.5-32b", "accelerator": "L40S", "weights": "fp8", "context_tokens": 256, **fields}
    report: Any = estimate(asked_for, repairs=False)
    assert report["memory"]["fits"] and report["runs"] is runs
    assert any("in 16 bit on the devices" in item["message"] for item in report["runs_because"]) is (runs is None)
    assert ("nobody is known to say that it runs" in CALCULATORS["will-it-fit"].status(report)) is (runs is None)
