"""The matrices of a model by the names that libraries give them, as adapters are attached to them."""

from collections.abc import Mapping
from functools import lru_cache

from calc.architecture.layers import Architecture
from calc.errors import ScenarioError, nearest

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


@lru_cache(maxsize=256)  # the same for all changes of a run
def matrix_names(architecture: Architecture) -> Mapping[str, tuple[int, int]]:
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


def read_targets(value: object, names: Mapping[str, tuple[int, int]], field: str) -> tuple[str, ...]:
    """Return the matrices with adapters; names of other libraries are understood."""
    attached = tuple(
        name for name, sides in names.items() if min(sides) >= NARROWEST and name != "router" and name[-5:] != "_gate"
    )
    if value in (ALL_LINEAR, [ALL_LINEAR], (ALL_LINEAR,)):
        return attached
    if not isinstance(value, list | tuple) or not value or not all(isinstance(item, str) for item in value):
        raise ScenarioError(field, f'must be "{ALL_LINEAR}" or a list of module names: {", ".join(attached)}')
    folded = {str(item).rsplit(".", 1)[-1].casefold() for item in value}
    own = {name.casefold(): name for name in names}
    found: dict[str, None] = {}
    for item in folded:
        aliases = (own[item],) if item in own else ALIASES.get(item, (item,))  # a model's own name comes first
        if item == "w2" and "c_proj" in folded:  # Qwen 1 names its two inner matrices w1 and w2
            aliases = ("up_proj",)
        here = [name for name in aliases if name in names or name == "lm_head"]
        if (item == "mlp" and not here) or not here:
            raise ScenarioError(field, f"has no {item!r:.60}{nearest(item, names)}; known are {', '.join(names)}")
        found.update(dict.fromkeys(here))
    return tuple(name for name in (*names, "lm_head") if name in found)
