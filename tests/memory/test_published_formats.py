"""What repositories say of their weights is read: which number format, which modules, in which groups."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.architecture.prediction import parameters_prediction
from calc.catalog import catalog
from calc.memory.module_rules import condensed
from calc.memory.published_formats import published_cache
from calc.scenario.model import known_architecture

LLAMA = catalog().model("llama-3.1-8b").config
QWEN = catalog().model("qwen3-30b-a3b").config
HYBRID = catalog().model("qwen3-next-80b-a3b").config


def weights(config: dict[str, object], **quantization: object) -> tuple[str, int]:
    """Return the name and the bytes of a model's weights as its config publishes them."""
    stated = {**config, "quantization_config": quantization} if quantization else config
    report = estimate({"model": {"config": stated}, "context_tokens": 1})
    return report["model"]["weights"], report["memory"]["parts"][0]["bytes"]  # type: ignore[index]


def as_stated(config: dict[str, object], stated: object) -> int:
    """Return the bytes of the weights in a stated format."""
    report = estimate({"model": {"config": config}, "weights": stated, "context_tokens": 1})
    return report["memory"]["parts"][0]["bytes"]  # type: ignore[index, no-any-return]


INT4 = "INT4, groups of 32, attention and MLP and shared experts in BF16"


# Decimal GB of the repositories' files as their publishers state them: OpenAI's 60.8 and 12.8 GiB (arXiv:2508.10925),
# DeepSeek's 671 billion weights with their scales, Moonshot's 594 GB.
@pytest.mark.parametrize(
    ("model", "gigabytes", "within", "name"),
    [
        ("openai/gpt-oss-120b", 65.28, 0.002, "MXFP4"),
        ("openai/gpt-oss-20b", 13.74, 0.004, "MXFP4"),
        ("deepseek-ai/DeepSeek-V3", 673.15, 0.002, "FP8, blocks of 128 × 128"),
        (
            "moonshotai/Kimi-K2-Thinking",
            594.2,
            0.005,
            "INT4, groups of 32, attention and MLP and shared experts in BF16",
        ),
        ("nvidia/Gemma-4-31B-IT-NVFP4", 31.5, 0.05, "NVFP4, attention in BF16"),
        ("Qwen/Qwen3-32B-AWQ", 19.3, 0.005, "AWQ"),
    ],
)
def test_a_repository_is_as_large_as_its_files(model: str, gigabytes: float, within: float, name: str) -> None:
    """A model is computed in the format of its repository, to the size of the repository's files."""
    report = estimate({"model": model, "context_tokens": 1})
    assert report["model"]["weights"] == name  # type: ignore[index]
    assert report["memory"]["parts"][0]["bytes"] == pytest.approx(gigabytes * 1e9, rel=within)  # type: ignore[index]


def test_copies_of_qwen_in_four_bits_keep_attention_whole() -> None:
    """The files of Qwen3.5 397B in GPTQ have 235,708,083,992 bytes: only its routed experts are in four bits, and the
    layer that predicts a token, which no engine loads by itself, is in BF16. Those of 27B do not go onto 24 GB."""
    report: Any = estimate({"model": "Qwen/Qwen3.5-397B-A17B-GPTQ-Int4", "context_tokens": 1})
    predicting = parameters_prediction(known_architecture(catalog(), "qwen3.5-397b-a17b"))
    loaded = report["memory"]["parts"][0]["bytes"]
    assert loaded + 2 * predicting == pytest.approx(235_708_083_992, rel=0.002)
    small: Any = estimate({"model": "Qwen/Qwen3.5-27B-GPTQ-Int4", "engine": "vllm", "accelerator": "rtx-4090"})
    assert small["memory"]["fits"] is False and small["memory"]["parts"][0]["bytes"] > 24 * 2**30


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32"])
def test_a_type_is_published(kind: str) -> None:
    """A config without a quantiser is stored in the type that it states."""
    names = {"bfloat16": "BF16", "float16": "FP16", "float32": "FP32"}
    name, size = weights({**LLAMA, "torch_dtype": kind})
    assert (name, size) == (names[kind], as_stated(LLAMA, names[kind].casefold()))


def test_nothing_said_is_bf16() -> None:
    """A config that says nothing is taken in BF16."""
    silent = {key: value for key, value in LLAMA.items() if key != "torch_dtype"}
    assert weights(silent)[0] == "BF16"


@pytest.mark.parametrize(
    ("quantization", "stated"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "awq"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 64}, {"format": "gptq-int4", "group_size": 64}),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128}, "gptq-int8"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block"),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head"]}, "fp8-channel"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "nf4-dq"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}, "nvfp4"),
        ({"quant_algo": "FP8", "exclude_modules": ["lm_head"]}, "fp8"),
        ({"bits": 4, "group_size": 64}, "mlx-4bit"),
        ({"bits": 4, "group_size": 32, "mode": "mxfp4"}, "mlx-mxfp4"),
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}}, "fp8"),
    ],
)
def test_methods(quantization: dict[str, object], stated: object) -> None:
    """Each quantiser's config is read as the number format that it stores."""
    assert weights(LLAMA, **quantization)[1] == as_stated(LLAMA, stated)


def test_compressed_tensors_in_groups() -> None:
    """INT4 in groups of 32 has a 16-bit scale for each group, and a zero point where it is not symmetric."""
    arguments: dict[str, object] = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}
    group = {"group_0": {"targets": ["Linear"], "weights": {**arguments, "symmetric": True}}}
    name, symmetric = weights(LLAMA, quant_method="compressed-tensors", config_groups=group, ignore=["lm_head"])
    assert name == "INT4, groups of 32"
    plain, matrices = as_stated(LLAMA, "bf16"), as_stated(LLAMA, "fp8")
    elements = plain - matrices  # FP8 saves a byte for each weight of the layers, but for its few scales
    assert plain - symmetric == pytest.approx(elements * (2 - 4.5 / 8), rel=1e-5)
    group = {"group_0": {"targets": ["Linear"], "weights": {**arguments, "symmetric": False}}}
    uneven = weights(LLAMA, quant_method="compressed-tensors", config_groups=group, ignore=["lm_head"])[1]
    assert uneven - symmetric == pytest.approx(elements / 32 * 0.5, rel=1e-5)


def test_an_output_matrix_that_is_not_left_out() -> None:
    """compressed-tensors takes the output matrix too unless it is on the list."""
    group = {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "tensor"}}}
    without = weights(LLAMA, quant_method="compressed-tensors", config_groups=group, ignore=["lm_head"])[1]
    within = weights(LLAMA, quant_method="compressed-tensors", config_groups=group)[1]
    assert without - within == 128256 * 4096 - 4


@pytest.mark.parametrize(
    "names",
    [
        ["model.layers.%d.self_attn*"],
        [f"model.layers.%d.self_attn.{part}_proj" for part in "qkvo"],
        ["language_model.model.layers.%d.self_attn"],
    ],
)
def test_lists_that_name_every_layer(names: list[str]) -> None:
    """Modules listed layer by layer, by pattern, or by an expression are left out alike, and shortened alike."""
    listed = [name % layer for layer in range(48) for name in names]
    method = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    asked = {"format": "nvfp4", "excluded": ["attention"]}
    assert weights(QWEN, **method, ignore=listed) == ("NVFP4, attention in BF16", as_stated(QWEN, asked))
    for short in (["re:.*self_attn.*"], ["*.self_attn*"], condensed({"ignore": listed})["ignore"]):
        assert weights(QWEN, **method, ignore=short)[1] == as_stated(QWEN, asked)


def test_attention_left_out_of_a_hybrid_leaves_its_delta_nets_in() -> None:
    """Qwen3 Next's class calls them `linear_attn`; a list that names `self_attn` is for its full attention alone."""
    method = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    lists: tuple[list[str], ...] = ([], ["*.self_attn*"], ["*.linear_attn*"], ["*.self_attn*", "*.linear_attn*"])
    none, full, delta, both = (weights(HYBRID, **method, ignore=names)[1] for names in lists)
    assert none < full < both
    assert (full - none) + (delta - none) == both - none


def test_some_layers_alone() -> None:
    """A first layer that is left out costs what its matrices cost, and no tenth layer with it."""
    method = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    none, first = weights(LLAMA, **method)[1], weights(LLAMA, **method, ignore=["model.layers.1.*"])[1]
    assert (weights(LLAMA, **method, ignore=["model.layers.1*"])[1] - none) / (first - none) == pytest.approx(11)
    assert weights(LLAMA, **method, ignore=["model.layers.1.mlp*", "model.layers.1.self_attn*"])[1] == first


def test_modules_in_several_formats() -> None:
    """Where ModelOpt mixes formats, each module has its own, and what is not listed stays at 16 bit."""
    modules = {
        f"model.layers.{n}.mlp.{m}": {"quant_algo": "NVFP4"} for n in range(32) for m in ("up_proj", "gate_proj")
    }
    modules |= {f"model.layers.{n}.mlp.down_proj": {"quant_algo": "FP8"} for n in range(32)}
    name, size = weights(LLAMA, quant_method="modelopt", quant_algo="MIXED_PRECISION", quantized_layers=modules)
    assert name == "NVFP4, attention in BF16, some of MLP in FP8"
    matrix = 32 * 4096 * 14336
    saved = 2 * matrix * (2 - 4.5 / 8) + matrix - 32 * 3 * 4
    assert as_stated(LLAMA, "bf16") - size == pytest.approx(saved)


@pytest.mark.parametrize(
    ("quantization", "field"),
    [
        ({"quant_method": "unheard-of"}, "quant_method"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP2"}, "quant_algo"),
        ({"quant_method": "awq", "group_size": "many"}, "group_size"),
        ({"quant_method": "fp8", "modules_to_not_convert": "lm_head"}, "modules_to_not_convert"),
        ({"quant_method": "compressed-tensors"}, "config_groups"),
    ],
)
def test_what_is_not_known_is_refused(quantization: dict[str, object], field: str) -> None:
    """A method that is not modelled is refused by its field; a stated format is answered all the same."""
    with pytest.raises(ScenarioError) as error:
        weights(LLAMA, **quantization)
    assert error.value.field == f"model.config.quantization_config.{field}"
    assert as_stated({**LLAMA, "quantization_config": quantization}, "bf16") == as_stated(LLAMA, "bf16")


@pytest.mark.parametrize(
    ("name", "model", "stated"),
    [
        ("someone/Qwen3-32B-AWQ", "qwen3-32b", "awq"),
        ("unsloth/Qwen3-32B-unsloth-bnb-4bit", "qwen3-32b", "nf4-dq"),
        ("mlx-community/Qwen3-32B-4bit", "qwen3-32b", "mlx-4bit"),
        ("bartowski/Qwen_Qwen3-32B-GGUF:Q5_K_M", "qwen3-32b", "q5_k_m"),
        ("unsloth/Qwen3-32B-GGUF", "qwen3-32b", "q4_k_m"),
        ("Qwen3-32B-Q6_K.gguf", "qwen3-32b", "q6_k"),
        ("RedHatAI/Qwen3-32B-FP8-dynamic", "qwen3-32b", "fp8-channel"),
        ("RedHatAI/Qwen3-32B-quantized.w4a16", "qwen3-32b", "int4-group"),
        ("RedHatAI/Qwen3-32B-NVFP4", "qwen3-32b", "nvfp4"),
        ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "llama-3.1-70b", "awq"),
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8", "qwen2.5-72b", "gptq-int8"),
        ("google/gemma-3-27b-it-qat-q4_0-gguf", "gemma-3-27b", "q4_0"),
        ("bullerwins/Qwen3-32B-exl3-4.0bpw", "qwen3-32b", {"bits_per_weight": 4.0}),
    ],
)
def test_names_say_the_format(name: str, model: str, stated: object) -> None:
    """The end of a repository's name says what its copy is stored in; the answer says so, and gives the same again."""
    report = estimate({"model": name, "context_tokens": 1})
    scenario: dict[str, object] = report["scenario"]  # type: ignore[assignment]
    assert (scenario["model"], scenario["weights"]) == (model, stated)
    assert {warning["code"] for warning in report["warnings"]} & {"model-copied", "format-by-name"}  # type: ignore[attr-defined]
    assert estimate(scenario)["memory"] == report["memory"]


def test_a_stated_format_wins() -> None:
    """What a scenario says of the weights is taken whatever the name says."""
    report = estimate({"model": "Qwen/Qwen3-32B-AWQ", "weights": "bf16", "context_tokens": 1})
    assert report["model"]["weights"] == "BF16"  # type: ignore[index]


@pytest.mark.parametrize(
    ("engine", "version", "kept"),
    [("vllm", "0.23", "fp8"), ("vllm", "0.10", "bf16"), ("sglang", "0.5", "fp8"), ("none", None, "bf16")],
)
def test_caches_are_kept_as_the_weights_ask(engine: str, version: str | None, kept: str) -> None:
    """ModelOpt's config of Gemma 4 in NVFP4 asks for FP8; Google's weights ask for nothing, and what is said counts."""
    scenario: dict[str, Any] = {"model": "nvidia/Gemma-4-31B-IT-NVFP4", "engine": engine}
    scenario |= {"engine_version": version} if version else {}
    assert estimate(scenario)["scenario"]["kv_cache"] == kept
    assert estimate(scenario | {"model": "google/gemma-4-31B-it"})["scenario"]["kv_cache"] == "bf16"
    assert estimate(scenario | {"kv_cache": "bf16"})["scenario"]["kv_cache"] == "bf16"


@pytest.mark.parametrize(
    ("quantization", "kept"),
    [
        ({"kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"}}, "fp8"),
        ({"kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"kv_cache_scheme": None}, ""),
    ],
)
def test_what_a_config_says_of_caches(quantization: dict[str, object], kept: str) -> None:
    """ModelOpt writes a scheme as compressed-tensors does, or the name of a format."""
    assert published_cache({"quantization_config": {"quant_method": "modelopt"} | quantization}) == kept


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("deepseek-v3", "fp8-block"),
        ("Qwen/Qwen3-30B-A3B-FP8", "fp8-block"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8", "fp8"),
        ("qwen3-30b-a3b", "fp8"),
        ("gpt-oss-20b", "fp8"),
    ],
)
def test_fp8_of_a_model_published_in_fp8_is_its_own(model: str, meant: str) -> None:
    """Who writes FP8 of DeepSeek-V3 means its files, which have scales for blocks (its technical report, 3.3.2)."""
    report = estimate({"workload": "inference", "model": model, "weights": "fp8"})
    assert report["scenario"]["weights"] == meant
    named = estimate({"workload": "inference", "model": model, "weights": meant})
    assert report["memory"]["parts"][0]["bytes"] == named["memory"]["parts"][0]["bytes"]
