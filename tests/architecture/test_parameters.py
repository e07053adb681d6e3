"""Architectures read from configs have exactly the parameters that the frameworks build."""

from typing import Any

import pytest

from calc import estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.architecture.parameters import (
    parameters_active,
    parameters_by_block,
    parameters_multiplied,
    parameters_total,
    tensors_of,
)
from calc.calculators.rendering import part_bytes
from calc.catalog import catalog
from calc.scenario.model import known_architecture
from calc.validation.soundness import published_counts
from tests.known import load, parameter_rows

ROWS = parameter_rows()


def buckets_of(architecture: Architecture) -> dict[str, int]:
    """Return the blocks as the file counts them, which goes by the names of tensors.

    It calls norms beside the embeddings final norms, a router's learned correction a part of the MLP, and keeps towers
    apart.
    """
    blocks = parameters_by_block(architecture)
    blocks.pop("vision", 0)
    for tensor in architecture.embeddings:
        if tensor.block == "norm":
            blocks["norm"] -= tensor.elements
            blocks["final_norm"] = blocks.get("final_norm", 0) + tensor.elements
    for kind, count in architecture.kind_counts():
        for tensor in kind.tensors:
            if tensor.name.endswith("e_score_correction_bias"):
                blocks["router"] -= count * tensor.elements
                blocks["mlp"] = blocks.get("mlp", 0) + count * tensor.elements
    return blocks


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_every_block_equals_the_framework_s_to_the_last_parameter(row: dict[str, Any]) -> None:
    """Total and every block of every row are those of the transformers class; SDXL's UNet alone is not modelled."""
    architecture = read_config(Config(row["config"]))
    assert parameters_total(architecture) == row["total"]
    assert buckets_of(architecture) == row["buckets"]
    assert parameters_by_block(architecture).get("vision", 0) == row.get("vision_or_audio_tower_params", 0)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_output_matrix_is_tied_where_the_framework_ties_it(row: dict[str, Any]) -> None:
    """A tied output matrix is counted once; a model without one has no logits over its vocabulary."""
    architecture = read_config(Config(row["config"]))
    assert architecture.tied == bool(row["tied_lm_head"])
    assert (architecture.output_size == architecture.vocab_size) == row["has_lm_head"]


@pytest.mark.parametrize(("model", "total", "active"), [("ling-2.6-flash", 104, 7.4), ("ling-2.6-1t", 1012, 63.6)])
def test_lightning_attention_beside_latent(model: str, total: float, active: float) -> None:
    """Ling 2.6 has one layer of latent attention in eight; its card says 104 billion and 7.4, that of 2.5 1T 63."""
    architecture = read_config(Config(catalog().model(model).config))
    assert parameters_total(architecture) / 1e9 == pytest.approx(total, abs=0.5)
    assert parameters_active(architecture) / 1e9 == pytest.approx(active, abs=0.05)
    latent = [architecture.kinds[kind].attention is not None for kind in architecture.pattern]
    assert sum(latent) * 8 == len(latent)


@pytest.mark.parametrize("row", [row for row in ROWS if "moe" in row], ids=lambda row: row["name"])
def test_active_parameters_of_a_mixture(row: dict[str, Any]) -> None:
    """A token uses the experts that it is sent to, and all of the rest."""
    architecture = read_config(Config(row["config"]))
    assert architecture.experts == row["moe"]["num_experts"]
    assert parameters_active(architecture) == row["moe"]["active_total"]


# What the makers call their models, in billions of parameters; all but one round to it or to the next unit below.
@pytest.mark.parametrize(
    ("model", "billions"),
    [
        ("llama-7b", 6.738),
        ("llama-13b", 13.016),
        ("llama-33b", 32.529),
        ("llama-65b", 65.286),
        ("llama-3.1-405b", 405.853),
        ("llama-3.1-nemotron-ultra-253b", 253.401),
        ("ling-1t", 999.705),
    ],
)
def test_published_parameter_counts(model: str, billions: float) -> None:
    """The LLaMA papers' counts (arXiv:2302.13971, table 2, and 405.85 B of Llama 3.1) and llama.cpp's are met."""
    architecture = read_config(Config(catalog().model(model).config))
    assert parameters_total(architecture) / 1e9 == pytest.approx(billions, abs=6e-4)


SOMETIMES_NULL = (
    *("head_dim", "num_key_value_heads", "sliding_window", "rope_scaling", "quantization_config", "q_lora_rank"),
    *("layer_types", "attention_dropout", "pad_token_id", "n_routed_experts", "n_inner", "activation_function"),
)


@pytest.mark.parametrize("model", [model.id for model in catalog().models()])
def test_every_catalogue_model_has_a_known_architecture(model: str) -> None:
    """A catalogue entry whose config cannot be read is a mistake in the catalogue."""
    assert parameters_total(read_config(Config(catalog().model(model).config))) > 10**6


@pytest.mark.parametrize(
    "model", ["llama-3.1-8b", "gemma-2-9b", "deepseek-v3", "jamba-v0.1", "bert-base", "mistral-7b-v0.1"]
)
def test_null_is_a_key_left_out(model: str) -> None:
    """A config that says `null` is the one without the key: TOML can leave it out and change nothing."""
    config = catalog().model(model).config
    without = [name for name in SOMETIMES_NULL if name not in config]
    assert without
    assert read_config(Config(config | dict.fromkeys(without))) == read_config(Config(config))


EXACT = published_counts()


def test_every_catalogue_model_has_a_count_of_someone_else() -> None:
    """A model whose parameters are compared with no other source is named here."""
    assert set(catalog().ids("models")) - set(EXACT) == {
        "baichuan-13b",  # its page's count, in its last digit
        "deepseek-v4.1-flash",  # of its files, drafting layers among them, all but 12 million are met
        "ernie-4.5-300b-a47b",  # its card's 300 billion, 47 of them active: 299.5 and 47.9
        "gte-large-en-v1.5",  # of its code alone, which no framework has
        "gte-multilingual-base",  # the same; the size of the file of its masked model agrees
        "jina-reranker-v1-tiny-en",  # its card's 33.0 million
        "jina-reranker-v1-turbo-en",  # its card's 37.8 million
        "k2-horizon-375b-a23b",  # the 758 GB of its files and the 23 billion that work agree
        "kimi-k3",  # of its files all but 23,712 are met
        "llama-3.1-nemotron-ultra-253b",  # llama.cpp's count, in its last digit
        "llama-3.3-nemotron-super-49b",  # the size of a file
        "ling-1t",  # llama.cpp's count, in its last digit
        "longcat-flash",  # its card's 560 billion: 560.66
        "long-t5-local-base",  # T5 1.1's parts, whose count is known
        "m2m100-1.2b",  # of the class of the 418M, whose count is known
        "ling-2.6-flash",  # its card's 104 billion, 7.4 of them active: 104.187 and 7.449
        "ling-2.6-1t",  # a trillion, 63 billion of them active as Ling 2.5 1T, which has its layers, is said to have
        "mistral-large-3",  # its card's 675 billion, 2.5 of them of the tower
    }


@pytest.mark.parametrize(
    ("model", "gigabytes"), [("llama-3.3-nemotron-super-49b", 30.22), ("llama-3.1-nemotron-ultra-253b", 150.94)]
)
def test_searched_models_are_as_large_as_their_files(model: str, gigabytes: float) -> None:
    """Bartowski's files in Q4_K_M have these sizes, as lists of them say."""
    report: Any = estimate({"model": model, "weights": "q4_k_m"})
    assert part_bytes(report, "weights") / 1e9 == pytest.approx(gigabytes, rel=0.0015)


@pytest.mark.parametrize("model", EXACT)
def test_catalogue_models_equal_the_framework_s_count(model: str) -> None:
    """Each catalogue model has the parameters that transformers builds from its config on the meta device."""
    architecture = read_config(Config(catalog().model(model).config))
    assert parameters_total(architecture) == EXACT[model]


FAMILY_ROWS = load("family_parameters.json")["models"]


@pytest.mark.parametrize("row", FAMILY_ROWS, ids=lambda row: row["name"])
def test_families_beyond_the_shared_file_equal_the_framework_s_count(row: dict[str, Any]) -> None:
    """Families that the shared file lacks have the parameters of their transformers class, too."""
    architecture = read_config(Config(row["config"]))
    assert parameters_total(architecture) == row["total"]


# What llama.cpp prints of models, in billions, to the last digit that it gives; no family was written from these.
HELD_OUT = [
    ("DeepSeek-V2-236B", {}, 235.741),
    ("GLM-4-32B-0414", {}, 32.57),
    ("GLM-4-32B-0414", {"num_key_value_heads": 8, "attention_bias": True}, 33.142),
    ("GLM-4.7-Flash", {}, 29.94),
    ("BitNet-b1.58-2B", {}, 2.741),
    ("Qwen3-32B", {}, 32.762),
    ("DeepSeek-V3", {}, 671.026),
]
CONFIGS = {row["name"]: row["config"] for row in ROWS + FAMILY_ROWS}


@pytest.mark.parametrize(("model", "change", "billions"), HELD_OUT)
def test_counts_that_llama_cpp_prints(model: str, change: dict[str, Any], billions: float) -> None:
    """llama.cpp's own count of a file's parameters is met to its last digit, without a tied matrix counted twice."""
    total = parameters_total(read_config(Config(CONFIGS[model] | change)))
    digits = len(str(billions).partition(".")[2])
    assert round(total / 1e9, digits) == billions


def test_what_a_token_is_multiplied_with() -> None:
    """Llama 3.1 8B has 8,030,261,248 parameters, and its 128,256 × 4,096 input embeddings are looked up.

    Llama 3.2 1B multiplies with its own, since they are the output matrix too.
    """
    architectures = {name: known_architecture(catalog(), name) for name in ("llama-3.1-8b", "llama-3.2-1b")}
    assert parameters_multiplied(architectures["llama-3.1-8b"]) == 8_030_261_248 - 128_256 * 4096
    assert parameters_multiplied(architectures["llama-3.2-1b"]) == parameters_total(architectures["llama-3.2-1b"])


@pytest.mark.parametrize("model", ["llama-3.1-8b", "deepseek-v3", "t5-base", "llama-3.2-11b-vision"])
def test_tensors_of_blocks_add_up(model: str) -> None:
    """Each tensor, as often as layers have it, gives what its block counts."""
    architecture = known_architecture(catalog(), model)
    for name, count in parameters_by_block(architecture).items():
        assert sum(tensor.elements_in(layers) for tensor, layers in tensors_of(architecture, name)) == count
