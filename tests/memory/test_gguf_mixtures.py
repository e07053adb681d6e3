"""llama.cpp's mixtures take the bytes of the files that llama.cpp makes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.parameters import parameters_by_block, parameters_total
from calc.architecture.stages import stages
from calc.catalog import catalog
from calc.memory.gguf_mixtures import TOWERS, mixed_tensors
from calc.memory.gguf_rules import Setting, lowest_format
from calc.networks import FAMILIES
from tests.known import family_configs, load, parameter_rows

EXACT = [(model, name, row) for model, rows in load("gguf.json")["models"].items() for name, row in rows.items()]
FILES = load("gguf_files.json")["rows"]
CONFIGS = {row["name"]: row["config"] for row in parameter_rows()}
BASES = family_configs()
IDS = {"BF16": "gguf-bf16"}  # of mixtures whose name a number format has, too
UNITS = {"bytes": 1, "GB": 10**9, "GiB": 2**30}
METADATA_BYTES = 48  # of a file for each entry of the vocabulary: the token, its score and type, its merges


def config_of(model: str) -> dict[str, Any]:
    """Return the config of an exact row, or of a model in the catalogue."""
    return dict(CONFIGS.get(model) or catalog().model(model).config)


def weights_bytes(model: str, quant: str, *, importance_matrix: bool) -> int:
    """Return the bytes of a model's weights in a mixture."""
    weights = {"format": IDS.get(quant, quant), "importance_matrix": importance_matrix}
    parts: Any = estimate({"model": {"config": config_of(model)}, "weights": weights})["memory"]["parts"]  # type: ignore[index]
    return int(parts[0]["bytes"])


@pytest.mark.parametrize(("model", "name", "row"), EXACT, ids=[f"{model}-{name}" for model, name, _ in EXACT])
def test_a_mixture_has_the_bytes_of_its_tensors(model: str, name: str, row: dict[str, Any]) -> None:
    """Every mixture of four models, with and without an importance matrix, to the byte and by type."""
    quant, plus, _ = name.partition("+")
    config = config_of(model)
    assert weights_bytes(model, quant, importance_matrix=bool(plus)) == row["tensor_bytes"]
    mixture = catalog().mixture(IDS.get(quant, quant))._replace(importance_matrix=bool(plus))
    elements: dict[str, int] = {}
    for tensor, count, number_format in mixed_tensors(stages(read_config(Config(config)), 1)[0], mixture):
        elements[number_format.id] = elements.get(number_format.id, 0) + count * tensor.elements
    types = {catalog().number_format(kind).id: count for kind, count in row["elements"].items()}
    assert elements == types


@pytest.mark.parametrize("row", [row for row in FILES if "differs" not in row], ids=lambda row: row["id"])
def test_a_published_file_has_its_published_size(row: dict[str, Any]) -> None:
    """Within 0.1 %, or the rounding of the published figure where that is coarser; a file also holds its vocabulary.

    Files whose row says how it differs are left out: most were made by a fork of llama.cpp with other rules.
    """
    size = weights_bytes(row["model"], row["quant"], importance_matrix=row.get("importance_matrix", False))
    unit = UNITS[row["unit"]]
    published, digits = float(row["size"]) * unit, len(row["size"].partition(".")[2])
    slack = max(0.001 * published, 0.5 * unit / 10**digits)
    metadata = METADATA_BYTES * config_of(row["model"])["vocab_size"] if row["scope"] == "file" else 0
    assert published - metadata - slack <= size <= published + slack


def test_llama_cpp_s_sizes_of_deepseek() -> None:
    """DeepSeek-V3 in Q8_0 is 664.295 GiB as llama.cpp prints it, with keys and values in two matrices a layer."""
    size = weights_bytes("DeepSeek-V3", "Q8_0", importance_matrix=False)
    assert size / 2**30 == pytest.approx(664.295, abs=0.0005)


@given(
    family=st.sampled_from(sorted(FAMILIES)), mixture=st.sampled_from(catalog().ids("mixtures")), matrix=st.booleans()
)
def test_a_mixture_stores_every_parameter_once(family: str, mixture: str, matrix: bool) -> None:
    """Whatever the family, no parameter is lost or stored twice, but those of towers, which have files of their own."""
    architecture = read_config(Config({**BASES[family], "model_type": family}))
    chosen = catalog().mixture(mixture)._replace(importance_matrix=matrix)
    stored = list(mixed_tensors(stages(architecture, 1)[0], chosen))
    towers = sum(parameters_by_block(architecture).get(block, 0) for block in TOWERS)
    found = sum(count * tensor.elements for tensor, count, _ in stored)
    assert found == parameters_total(architecture) - towers + architecture.rope_factors
    for tensor, _, number_format in stored:
        assert tensor.shape[-1] % (number_format.group or 1) == 0


@pytest.mark.parametrize(
    ("weights", "field"),
    [
        ({"format": "awq", "importance_matrix": True}, "weights.importance_matrix"),
        ({"format": "q4_0", "importance_matrix": 1}, "weights.importance_matrix"),
        ({"format": "q4_k_m", "group_size": 64}, "weights.group_size"),
        ("q4_k_x", "weights"),
    ],
)
def test_a_wrong_mixture_is_refused_by_field(weights: Any, field: str) -> None:
    """What no file of llama.cpp has is an error."""
    with pytest.raises(ScenarioError) as caught:
        estimate({"model": "llama-3.1-8b", "weights": weights})
    assert caught.value.field == field


@pytest.mark.parametrize(("model", "published"), [("gpt-oss-20b", 12.1), ("gpt-oss-120b", 63.4)])
def test_mxfp4_of_llama_cpp_keeps_q8_0_beside_experts(model: str, published: float) -> None:
    """The files of ggml-org/gpt-oss-20b-GGUF and -120b-GGUF have 12.1 and 63.4 GB; MXFP4 means nothing else there."""
    asked = {"model": model, "accelerator": "b200", "prompt_tokens": 512}
    named, said, other = (
        estimate({**asked, "engine": engine, "weights": weights})
        for engine, weights in (("llama.cpp", "mxfp4_moe"), ("llama.cpp", "mxfp4"), ("none", "mxfp4"))
    )
    assert said["memory"] == named["memory"]
    file: Any = estimate({"model": model, "weights": "mxfp4_moe"})
    assert file["memory"]["parts"][0]["bytes"] == pytest.approx(published * 1e9, rel=0.005)
    assert other["memory"] != named["memory"]


@pytest.mark.parametrize(("weights", "published"), [("q6_k", 12.04), ("gguf-f16", 13.8)])
def test_files_keep_experts_that_are_published_in_mxfp4(weights: str, published: float) -> None:
    """bartowski/openai_gpt-oss-20b-GGUF has 12.04 GB in Q6_K, unsloth/gpt-oss-20b-GGUF 13.8 in F16."""
    file: Any = estimate({"model": "gpt-oss-20b", "weights": weights})
    assert file["memory"]["parts"][0]["bytes"] == pytest.approx(published * 1e9, rel=0.003)
    other: Any = estimate({"model": "qwen3-30b-a3b", "weights": "q6_k"})
    assert other["memory"]["parts"][0]["bytes"] == pytest.approx(25.1e9, rel=0.005)  # experts in Q6_K as all else


@pytest.mark.parametrize(
    ("mixture", "shared", "values", "first", "later"),
    [
        ("iq2_xxs", 1, "q2_k", "q2_k", "iq2_xxs"),
        ("iq2_m", 1, "iq3_s", "iq3_s", "iq2_m"),
        ("iq1_s", 8, "q4_k", "q2_k", "iq1_s"),
    ],
)
def test_what_mixtures_of_two_bits_raise(mixture: str, shared: int, values: str, first: str, later: str) -> None:
    """Values, and what leads out of the MLP in the first eighth of the layers, by llama.cpp's quantization."""
    asked = Setting(
        mixture=mixture,
        base=mixture,
        dynamic=False,
        importance_matrix=True,
        layers=32,
        values=32,
        experts=1,
        queries_per_kv=shared,
        falcon=False,
        seventy=False,
    )
    assert lowest_format(asked, "value", 0) == values
    assert [lowest_format(asked, "down", nth) for nth in (3, 4)] == [first, later]


@pytest.mark.parametrize(
    ("mixture", "experts", "down"),
    [("UD-Q4_K_XL", "q4_k", "q5_k"), ("UD-Q5_K_XL", "q5_k", "q6_k"), ("UD-Q6_K", "q6_k", "q8_0")],
)
def test_dynamic_mixtures_keep_all_but_experts_in_8_bit(mixture: str, experts: str, down: str) -> None:
    """Qwen3.6 35B A3B as those say who read its file (gittensor-ai-lab/sparkinfer, pull requests 245, 308 and 360)."""
    (whole,) = stages(read_config(Config(config_of("qwen3.6-35b-a3b"))), 1)
    found = {tensor.name: one.id for tensor, _, one in mixed_tensors(whole, catalog().mixture(mixture))}
    routed = {name.rpartition("experts")[2]: one for name, one in found.items() if ".experts." in name}
    assert routed == {".gate_proj.weight": experts, ".up_proj.weight": experts, ".down_proj.weight": down}
    beside = ("linear_attn.in_proj_qkv.weight", "linear_attn.out_proj.weight", "self_attn.q_proj.weight")
    assert {found[name] for name in beside} == {found["mlp.shared_expert.down_proj.weight"]} == {"q8_0"}
    assert found["lm_head.weight"] == "q6_k"


def test_a_dynamic_mixture_is_about_as_large_as_published() -> None:
    """Gemma 4 26B A4B is 17.1 GB in UD-Q4_K_XL; some layers have more bits than the rules here."""
    assert weights_bytes("gemma-4-26b-a4b", "UD-Q4_K_XL", importance_matrix=True) == pytest.approx(17.1e9, rel=0.03)


def test_dynamic_mixtures_of_dense_models_have_the_rules_of_their_name() -> None:
    """Unsloth raises a few tensors more, which nobody has listed."""
    sizes = [weights_bytes("qwen3.6-27b", name, importance_matrix=True) for name in ("UD-Q4_K_XL", "Q4_K_M")]
    assert sizes[0] == sizes[1]


def test_falcon_s_output_matrix_has_a_rule_of_its_own() -> None:
    """Q4_K in Q3_K_L, the mixture's own format in others (llama-quant.cpp, `LLM_ARCH_FALCON`).

    Falcon 7B is 4,544 wide, no multiple of 256: Q4_K is stored as Q5_0 then, and Q3_K as Q4_0.
    """
    (whole,) = stages(read_config(Config(config_of("falcon-7b"))), 1)
    kinds = {}
    for name in ("q3_k_l", "q3_k_m"):
        mixed = mixed_tensors(whole, catalog().mixture(name))
        kinds[name] = {
            number_format.id for tensor, _, number_format in mixed if tensor.name == "self_attn.o_proj.weight"
        }
    assert kinds == {"q3_k_l": {"q5_0"}, "q3_k_m": {"q4_0"}}
