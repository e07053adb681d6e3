"""From the header of a GGUF file to the config of its model."""

from calc.architecture.config import MOST_LAYERS
from calc.errors import nearest
from calc.files.gguf import Gguf, Value
from calc.files.gguf_families import FAMILIES, VARIANTS, GgufFamily
from calc.files.head import refused

EMBEDDING, OUTPUT, ROTARY = "token_embd.weight", "output.weight", "rope_freqs.weight"
POSITIONS = "position_embd.weight"


def config_of(files: list[Gguf]) -> dict[str, object]:
    """Return the config that a model's GGUF files describe; the first of them has the metadata.

    Raises ScenarioError for an architecture that is not known, by its name, and for a model without sizes.
    """
    first = files[0]
    architecture = first.architecture
    if not architecture:
        raise refused("does not say which architecture its model has (general.architecture)")
    if architecture == "clip" or first.metadata.get("general.type") == "mmproj":
        raise refused("is only the part of a model that sees or hears: drop the file of the model itself")
    if first.metadata.get("general.type") == "adapter":
        raise refused("is an adapter (LoRA): drop the file of the model that it belongs to")
    if architecture not in FAMILIES:
        hint = nearest(architecture, VARIANTS | FAMILIES)
        raise refused(f"holds a model of the architecture {architecture!r:.60}, which is not modelled{hint}")
    values = {key.removeprefix(f"{architecture}."): value for key, value in first.metadata.items()}
    shapes = {tensor.name: tensor.shape for file in files for tensor in file.tensors}
    family = FAMILIES[architecture]
    other = VARIANTS.get(architecture, "")
    if other in shapes or values.get(other):
        family = FAMILIES[f"{architecture}:{other}"]
    config = {**family.facts, **named(family, values)}
    for name, tensor in family.flags.items():
        config[name] = (f"blk.0.{tensor.removeprefix('!')}" in shapes) is not tensor.startswith("!")
    config["vocab_size"] = vocabulary(first, shapes, architecture)
    config["tie_word_embeddings"] = OUTPUT not in shapes
    return {"model_type": family.model_type, **completed(family.model_type, config, values, shapes)}


def named(family: GgufFamily, values: dict[str, Value]) -> dict[str, object]:
    """Return the values that have a name in the family's configs; a list stands for the value that it repeats."""
    config: dict[str, object] = {}
    for key, name in family.names.items():
        value = values.get(key)
        if isinstance(value, list):
            distinct = set(value) - {0}  # layers without attention have no heads
            if len(distinct) != 1:
                raise refused(f"holds a model whose layers differ in {key}, as none of {family.model_type} is modelled")
            value = distinct.pop()
        if value is not None and value != 0:
            config[name] = value
    if (rotated := size(values, "rope.dimension_count") or head_size(values)) and "kv_lora_rank" not in config:
        config.setdefault("rotary_dim", rotated)
    return config


def head_size(values: dict[str, Value]) -> int:
    """Return the elements of a head, 0 for a model without heads; a file that says nothing else rotates all of them.

    As llama.cpp has it: llama-model.cpp, `n_rot`.
    """
    heads = size(values, "attention.head_count")
    return size(values, "attention.key_length") or (size(values, "embedding_length") // heads if heads else 0)


def vocabulary(file: Gguf, shapes: dict[str, tuple[int, ...]], architecture: str) -> int:
    """Return the rows of the embedding; where a part has no embedding, the length of the tokenizer's list."""
    if len(shapes.get(EMBEDDING, ())) == 2:
        return shapes[EMBEDDING][0]
    given = file.metadata.get(f"{architecture}.vocab_size")
    return given if isinstance(given, int) else file.lengths.get("tokenizer.ggml.tokens", 0)


def size(values: dict[str, Value], key: str) -> int:
    """Return a size from the metadata, 0 where it is not given or not the same in all layers."""
    value = values.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def completed(
    model_type: str, config: dict[str, object], values: dict[str, Value], shapes: dict[str, tuple[int, ...]]
) -> dict[str, object]:
    """Return the config with what follows from several values, or is counted in another way."""
    layers, inner, heads = (size(values, key) for key in ("block_count", "ssm.inner_size", "ssm.time_step_rank"))
    if size(values, "nextn_predict_layers"):
        config["num_hidden_layers"] = layers - size(values, "nextn_predict_layers")  # they predict further tokens
    if "kv_lora_rank" in config:
        key = size(values, "attention.key_length_mla") or size(values, "attention.key_length")
        config["qk_nope_head_dim"] = key - size(values, "rope.dimension_count")
    if heads and "linear_num_value_heads" in config:
        config["linear_value_head_dim"] = inner // heads
    if heads and model_type == "mamba2":
        config["head_dim"] = inner // heads
    if "num_experts" in config and layers <= MOST_LAYERS:
        plain = [i for i in range(layers) if f"blk.{i}.ffn_down_exps.weight" not in shapes]
        config |= {"mlp_only_layers": plain} if plain else {}
    if model_type == "glm_moe_dsa" and layers <= MOST_LAYERS:
        held = range(layers - size(values, "nextn_predict_layers"))
        config["indexer_types"] = ["full" if f"blk.{i}.indexer.attn_k.weight" in shapes else "shared" for i in held]
    if ROTARY in shapes:
        config["rope_scaling"] = {"rope_type": "llama3"}  # no other model stores these factors
    if model_type == "mpt":
        config["learned_pos_emb"] = POSITIONS in shapes
        config["expansion_ratio"] = size(values, "feed_forward_length") // max(size(values, "embedding_length"), 1)
    if model_type in ("falcon", "gpt_bigcode"):
        config["multi_query"] = size(values, "attention.head_count_kv") == 1
    return config
