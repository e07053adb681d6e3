"""Architectures of GGUF files: what llama.cpp's converter writes of a config leads back to the same model."""

from typing import Any

import pytest

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.files.gguf import Gguf
from calc.files.gguf_config import config_of
from calc.files.gguf_families import FAMILIES as GGUF_FAMILIES
from calc.files.gguf_families import GgufFamily
from calc.files.tensors import StoredTensor
from calc.networks import FAMILIES
from tests.known import configs

LANGUAGE_TYPES = {"gemma3": "gemma3_text", "qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text"}


def language_configs() -> list[dict[str, Any]]:
    """Return all known configs, of multimodal models the part that a GGUF file holds."""
    found = []
    for config in configs():
        inner = config.get("text_config")
        if inner and config["model_type"] in LANGUAGE_TYPES:
            config = {"model_type": LANGUAGE_TYPES[config["model_type"]], **inner}
        if config["model_type"] == "starcoder2":  # llama.cpp has no windows there, and its converter writes none
            config = {key: value for key, value in config.items() if key != "sliding_window"}
        found.append(config)
    return found


def name_of(architecture: Architecture, config: dict[str, Any]) -> str:
    """Return llama.cpp's name of a config's family, of several the first; empty where it has none."""
    names = [name for name, found in GGUF_FAMILIES.items() if found.model_type == config["model_type"]]
    if architecture.family == "falcon":
        return names[-1] if config.get("new_decoder_architecture") else names[0]
    return names[0] if names else ""


def converted(config: dict[str, Any], architecture: Architecture, name: str) -> Gguf:
    """Return the header that llama.cpp's converter writes: sizes under its names, and what is looked for of tensors."""
    family, prefix = GGUF_FAMILIES[name], name.partition(":")[0]
    values = dict(Config(config).completed(FAMILIES[family.model_type].defaults).values)
    metadata: dict[str, Any] = {"general.architecture": prefix}
    metadata |= {f"{prefix}.{key}": values[own] for key, own in family.names.items() if values.get(own) is not None}
    attention = architecture.attention
    metadata.setdefault(f"{prefix}.attention.head_count", attention.heads if attention else 0)
    metadata.setdefault(f"{prefix}.attention.head_count_kv", attention.kv_heads if attention else 0)
    metadata.setdefault(f"{prefix}.embedding_length", architecture.hidden_size)
    if attention and attention.rotary:
        metadata.setdefault(f"{prefix}.rope.dimension_count", attention.rotated)
    metadata |= {f"{prefix}.{key}": value for key, value in derived(values, family).items()}
    metadata[f"{prefix}.block_count"] = architecture.layer_count
    shapes = tensors(architecture, family, values)
    if name.endswith(".weight"):
        shapes[name.partition(":")[2]] = (1,)
    return Gguf(3, metadata, {}, tuple(StoredTensor(tensor, shape, "F16", 0) for tensor, shape in shapes.items()))


def derived(values: dict[str, Any], family: GgufFamily) -> dict[str, int]:
    """Return what the converter computes of several values."""
    if "qk_nope_head_dim" in values:
        return {"attention.key_length_mla": values["qk_nope_head_dim"] + values["qk_rope_head_dim"]}
    if "linear_num_value_heads" in values:
        return {"ssm.inner_size": values["linear_num_value_heads"] * values["linear_value_head_dim"]}
    if family.model_type == "mamba2":
        return {"ssm.inner_size": values["num_heads"] * values["head_dim"]}
    if family.model_type == "mamba":
        inner = values.get("intermediate_size") or values.get("expand", 2) * values["hidden_size"]
        return {"ssm.inner_size": inner, "ssm.time_step_rank": -(-values["hidden_size"] // 16)}
    if family.model_type == "mpt":
        return {"feed_forward_length": 4 * values["d_model"]}
    if family.model_type == "falcon" and not values.get("new_decoder_architecture"):
        return {"attention.head_count_kv": 1 if values.get("multi_query", True) else values["num_attention_heads"]}
    return {}


def tensors(architecture: Architecture, family: GgufFamily, values: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the tensors whose presence says something, with the shapes that do."""
    table = (architecture.vocab_size, architecture.hidden_size)
    found: dict[str, tuple[int, ...]] = {"token_embd.weight": table}
    if not architecture.tied:
        found["output.weight"] = table
    if architecture.rope_factors and family.model_type == "llama":
        found["rope_freqs.weight"] = (architecture.rope_factors,)
    if family.model_type == "mpt" and len(architecture.embeddings) > 1:
        found["position_embd.weight"] = (1, 1)
    for flag, tensor in family.flags.items():
        if bool(values.get(flag)) is not tensor.startswith("!"):
            found[f"blk.0.{tensor.removeprefix('!')}"] = (1,)
    for layer, index in enumerate(architecture.pattern):
        held = architecture.kinds[index].tensors
        if any(tensor.active is not None for tensor in held):
            found[f"blk.{layer}.ffn_down_exps.weight"] = (1, 1, 1)
        if any("indexer" in tensor.name for tensor in held):
            found[f"blk.{layer}.indexer.attn_k.weight"] = (1, 1)
    return found


CONVERTIBLE = [
    (config, read, name)
    for config in language_configs()
    for read in [read_config(Config(config))]
    for name in [name_of(read, config)]
    if name
]


def test_there_are_many() -> None:
    """Most families of the table are among the known configs."""
    assert len({name for _, _, name in CONVERTIBLE}) >= 44


@pytest.mark.parametrize(
    ("config", "architecture", "name"), CONVERTIBLE, ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_way_back(config: dict[str, Any], architecture: Architecture, name: str) -> None:
    """The same tensors, layers, caches and states.

    A file does not say how Phi's rotary frequencies are scaled, nor dropout, which only training has, nor which
    activation function a config names, nor how other formats are filled up; and those made here leave out layers that
    predict further tokens.
    """
    back = read_config(Config(config_of([converted(config, architecture, name)])))
    ignored: dict[str, Any] = {"family": "", "context_tokens": None, "prediction_layers": 0, "filled_width": 0}
    if architecture.family != "llama":
        ignored["rope_factors"] = 0
    assert unsaid(back)._replace(**ignored) == unsaid(architecture)._replace(**ignored)


def unsaid(architecture: Architecture) -> Architecture:
    """Return an architecture without what a file does not say of its layers."""
    kinds = (kind._replace(activation="", style=kind.style._replace(dropout=False)) for kind in architecture.kinds)
    return architecture._replace(kinds=tuple(kinds))


@pytest.mark.parametrize("name", GGUF_FAMILIES)
def test_every_family_is_modelled(name: str) -> None:
    """A name of llama.cpp leads to a family that there is."""
    assert GGUF_FAMILIES[name].model_type in FAMILIES


@pytest.mark.parametrize(
    ("stated", "rotated"),
    [({}, 64), ({"attention.key_length": 128}, 128), ({"rope.dimension_count": 16}, 16)],
)
def test_heads_are_rotated_whole_where_a_file_says_nothing(stated: dict[str, Any], rotated: int) -> None:
    """As llama.cpp takes it: all of a head, which is as long as the file says, or its part of the width."""
    values = {"embedding_length": 512, "attention.head_count": 8, "block_count": 2, **stated}
    metadata = {"general.architecture": "gptneox"} | {f"gptneox.{key}": value for key, value in values.items()}
    assert config_of([Gguf(3, metadata, {}, ())])["rotary_dim"] == rotated
