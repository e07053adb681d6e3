"""Reading which matrices have adapters, under the names that libraries give them."""

from collections.abc import Mapping

from calc.architecture.layers import Architecture
from calc.errors import ScenarioError, nearest
from calc.memory.training.run import Adapters
from calc.scenario import whole
from calc.training.fields import (
    MOST_RANK,
    TrainingReader,
)

LORA_FIELDS = ("rank", "targets", "modules_to_save", "dora", "dropout")
LORA_RANK = 16
ALL_LINEAR = "all-linear"
NARROWEST = 16  # sides of the matrices that "all-linear" means
# Names that libraries give to the matrices that the guide names after Hugging Face's Llama.
QKV = ("q_proj", "k_proj", "v_proj")
ALIASES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("c_attn", "query_key_value", "qkv_proj", "wqkv", "attn.qkv", "in_proj", "qkv"), QKV),
    **dict.fromkeys(("q", "wq", "query"), ("q_proj",)),
    **dict.fromkeys(("k", "wk", "key"), ("k_proj",)),
    **dict.fromkeys(("v", "wv", "value"), ("v_proj",)),
    **dict.fromkeys(("o", "wo", "out_proj", "output_proj", "dense", "projection", "proj"), ("o_proj",)),
    **dict.fromkeys(("w1", "gate"), ("gate_proj",)),
    **dict.fromkeys(("w3", "up"), ("up_proj",)),
    **dict.fromkeys(("w2", "down"), ("down_proj",)),
    **dict.fromkeys(("fc1", "fc_in", "c_fc", "dense_h_to_4h"), ("up_proj",)),
    **dict.fromkeys(("fc2", "fc_out", "dense_4h_to_h"), ("down_proj",)),
    "c_proj": ("o_proj", "down_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
    "mlp": ("gate_proj", "up_proj", "down_proj"),
    "wte": ("embed_tokens",),
    "embedding": ("embed_tokens",),
    **dict.fromkeys(("head", "output"), ("lm_head",)),
}


def matrix_names(architecture: Architecture) -> dict[str, tuple[int, int]]:
    """Return the matrices of the layers by the last part of their names, each with its smallest sides."""
    names: dict[str, tuple[int, int]] = {}
    for kind in architecture.kinds:
        for tensor in kind.tensors:
            if len(tensor.shape) == 2 and tensor.name.endswith(".weight"):
                last = tensor.name.removesuffix(".weight").rsplit(".", 1)[-1]
                rows, columns = tensor.shape
                old = names.get(last, (rows, columns))
                names[last] = (min(rows, old[0]), min(columns, old[1]))
    return names


def read_adapters(reader: TrainingReader, method: str, architecture: Architecture) -> Adapters | None:
    """Return the adapters of LoRA and QLoRA, None for full training."""
    given = reader.given.get("lora")
    if method == "full":
        if given is not None:
            raise ScenarioError("lora", 'is for methods "lora" and "qlora"')
        return None
    values = reader.take("lora", {"rank": LORA_RANK, "targets": ALL_LINEAR})
    if not isinstance(values, Mapping):
        raise ScenarioError("lora", f"must be an object with {', '.join(LORA_FIELDS)}, not {values!r:.60}")
    for name in values:
        if name not in LORA_FIELDS:
            hint = nearest(str(name), LORA_FIELDS)
            raise ScenarioError(f"lora.{name}", f"is not a field{hint}; fields are {', '.join(LORA_FIELDS)}")
    rank = whole(values.get("rank", LORA_RANK), "lora.rank", 1, MOST_RANK)
    names = matrix_names(architecture)
    targets = read_targets(values.get("targets", ALL_LINEAR), names)
    sides = [min(names[target]) for target in targets if target in names]
    if sides and rank > min(sides):
        narrow = next(target for target in targets if target in names and min(names[target]) == min(sides))
        message = f"{rank} is more than the {min(sides):,} of {narrow}: an adapter of that rank is no smaller than it"
        raise ScenarioError("lora.rank", message)
    saved = read_saved(values.get("modules_to_save"), architecture)
    dora = values.get("dora", False)
    if not isinstance(dora, bool):
        raise ScenarioError("lora.dora", f"must be true or false, not {dora!r:.60}")
    dropout = values.get("dropout", reader.presets.get("lora.dropout", 0))
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise ScenarioError("lora.dropout", f"must be a number from 0 to below 1, not {dropout!r:.60}")
    reader.filled["lora"] = {
        "rank": rank,
        "targets": list(targets),
        "modules_to_save": list(saved),
        "dora": dora,
        "dropout": dropout,
    }
    return Adapters(rank, targets, saved, dora, dropout=dropout > 0)


def read_targets(value: object, names: Mapping[str, tuple[int, int]]) -> tuple[str, ...]:
    """Return the matrices with adapters; names of other libraries are understood."""
    attached = tuple(
        name for name, sides in names.items() if min(sides) >= NARROWEST and name != "router" and name[-5:] != "_gate"
    )
    if value in (ALL_LINEAR, [ALL_LINEAR], (ALL_LINEAR,)):
        return attached
    if not isinstance(value, list | tuple) or not value or not all(isinstance(item, str) for item in value):
        raise ScenarioError("lora.targets", f'must be "{ALL_LINEAR}" or a list of module names: {", ".join(attached)}')
    folded = {str(item).rsplit(".", 1)[-1].casefold() for item in value}
    found: dict[str, None] = {}
    for item in folded:
        aliases = (item,) if item in names else ALIASES.get(item, (item,))  # a model's own name comes first
        if item == "w2" and "c_proj" in folded:  # Qwen 1 names its two inner matrices w1 and w2
            aliases = ("up_proj",)
        here = [name for name in aliases if name in names or name == "lm_head"]
        if (item == "mlp" and not here) or not here:
            raise ScenarioError(
                "lora.targets", f"has no {item!r:.60}{nearest(item, names)}; known are {', '.join(names)}"
            )
        found.update(dict.fromkeys(here))
    return tuple(name for name in (*names, "lm_head") if name in found)


def read_saved(value: object, architecture: Architecture) -> tuple[str, ...]:
    """Return the modules that are trained in full beside the adapters."""
    if value is None:
        return ()
    tensors = (*architecture.embeddings, *architecture.head, *(t for kind in architecture.kinds for t in kind.tensors))
    known = list(dict.fromkeys(tensor.name.rsplit(".", 1)[0].rsplit(".", 1)[-1] for tensor in tensors))
    if not isinstance(value, list | tuple):
        raise ScenarioError("lora.modules_to_save", f"must be a list of module names: {', '.join(known)}")
    found = []
    for item in value:
        name = ALIASES.get(str(item), (str(item),))[0]
        if name == "lm_head" and architecture.tied:
            name = "embed_tokens"
        if name not in known:
            hint = nearest(name, known)
            raise ScenarioError("lora.modules_to_save", f"has no {item!r:.60}{hint}; known are {', '.join(known)}")
        found.append(name)
    return tuple(dict.fromkeys(found))
