"""Recipes: what a repository stores a model in, tensor by tensor, by rules that name its modules.

Tensors have one set of names here, those of Llama's class in transformers. Repositories name modules as their own class
does, so that a rule is tried with each name that a tensor is known to have.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from calc.architecture.layers import Architecture, Layer
from calc.architecture.stages import Stage
from calc.architecture.tensors import Tensor, Tensors
from calc.catalog.records import NumberFormat, Recipe, Rule

TABLE, HEAD = "token_embedding", "lm_head"
# Names that classes give a part of a layer, beside the one that it has here.
OTHER_NAMES = {
    "self_attn": ("self_attn", "attention", "attn", "mixer", "self_attention", "linear_attn"),
    "linear_attn": ("linear_attn", "self_attn", "mixer"),
    "mlp": ("mlp", "block_sparse_moe", "feed_forward", "ffn", "mixer", "moe"),
    "shared_expert": ("shared_expert", "shared_experts"),
    "experts": ("experts", "experts.0"),
    "gate_proj": ("gate_proj", "w1", "gate_up_proj"),
    "up_proj": ("up_proj", "w3", "gate_up_proj"),
    "down_proj": ("down_proj", "w2"),
    "q_proj": ("q_proj", "qkv_proj"),
    "k_proj": ("k_proj", "qkv_proj"),
    "v_proj": ("v_proj", "qkv_proj"),
    "weights_proj": ("weights_proj", "indexers_proj"),
}
OUTSIDE = {TABLE: ("embed_tokens", "embeddings"), HEAD: ("lm_head", "head", "output")}
# Words for the blocks in which a recipe differs from its own number format.
BLOCK_WORDS = {
    TABLE: "embedding",
    "attention": "attention",
    "ssm": "recurrent mixers",
    "mlp": "MLP",
    "expert": "experts",
    "shared_expert": "shared experts",
    "vision_expert": "experts of images",
    HEAD: "output matrix",
}
Chosen = tuple[tuple[Tensor, NumberFormat], ...]


class Formats(NamedTuple):
    """The number format of each tensor of a model: outside of the layers, and layer by layer."""

    embeddings: Chosen
    layers: tuple[Chosen, ...]
    head: Chosen

    def of_stage(self, stage: Stage) -> Iterator[tuple[Tensor, int, NumberFormat]]:
        """Iterate over a stage's tensors, each with how often it occurs and the number format it is in."""
        alike: dict[int, tuple[Chosen, int]] = {}  # layers that are alike are one object
        for chosen in self.layers[stage.first : stage.last]:
            alike[id(chosen)] = chosen, alike.get(id(chosen), (chosen, 0))[1] + 1
        parts = list(alike.values())
        if stage.is_first:
            parts.insert(0, (self.embeddings, 1))
        if stage.is_last:
            parts.append((self.head, 1))
            if stage.architecture.tied and not stage.is_first:
                parts.append((self.embeddings[:1], 1))
        met: set[Tensor] = set()  # of what layers share: formats may differ by layer, and it is stored once
        for chosen, count in parts:
            for tensor, number_format in chosen:
                if tensor not in met:
                    yield tensor, tensor.stored(count), number_format
                    if tensor.shared:
                        met.add(tensor)


def touched(tensor: Tensor, number_format: NumberFormat, *, experts: bool) -> bool:
    """Return whether a number format is for a tensor where nothing else is said; `experts`: the model has some."""
    if number_format.scope == "all":
        return True
    if number_format.scope == "matrices" and tensor.block in (TABLE, HEAD):
        return True
    return tensor.quantizable and (number_format.scope != "experts" or not experts or tensor.block == "expert")


def names_of(tensor: Tensor, beside: Tensors) -> list[str]:
    """Return the names that a layer's matrix may have in a repository; `beside` are the layer's tensors.

    >>> from calc.architecture.tensors import linear
    >>> names_of(linear("mlp.router", "router", 8, 64)[0], ())[:2]
    ['mlp.router', 'mlp.gate']
    """
    parts = tensor.name.removesuffix(".weight").split(".")
    if tensor.block == "expert" and parts[0] == "mlp" and any(other.block == "mlp" for other in beside):
        parts = parts[1:]  # experts that stand beside an MLP are no part of it
    choices = [(part, "gate") if part == "router" else OTHER_NAMES.get(part, (part,)) for part in parts]
    if parts[0] == "self_attn" and "qkv" not in parts[-1]:
        choices[0] = tuple(name for name in choices[0] if name != "linear_attn")
    if parts[0] == "linear_attn" and any(other.name.startswith("linear_attn.in_proj") for other in beside):
        choices[0] = ("linear_attn",)  # classes with such projections keep self_attn for their full attention
    return [".".join(chosen) for chosen in product(*choices)]


def layers_of(rule: Rule, tensor: Tensor, kind: Layer, standing: list[int]) -> frozenset[int]:
    """Return in which of the layers in `standing`, all of one kind, a rule is for a tensor."""
    every = frozenset(standing if rule.layers is None else rule.layers.intersection(standing))
    if rule.block:
        return every if tensor.block == rule.block else frozenset()
    names = names_of(tensor, kind.tensors)
    search = re.compile(rule.pattern).search
    if rule.by_number:
        return frozenset(n for n in every if any(search(f"model.layers.{n}.{name}") for name in names))
    prefix = "" if rule.in_layer else "model.layers.0."
    return every if any(search(prefix + name) for name in names) else frozenset()


def for_outside(rule: Rule, tensor: Tensor) -> bool:
    """Return whether a rule is for a tensor outside of the layers."""
    if rule.block:
        return tensor.block == rule.block
    names = OUTSIDE.get(tensor.block, ())
    return not rule.in_layer and any(re.search(rule.pattern, name) for name in names)


@lru_cache(maxsize=256)
def formats_of(architecture: Architecture, recipe: Recipe) -> Formats:
    """Return the number format of each tensor of a model."""
    experts = architecture.experts > 0

    def start(tensor: Tensor) -> NumberFormat:
        return recipe.base if touched(tensor, recipe.base, experts=experts) else recipe.plain

    def outside(tensors: Tensors) -> Chosen:
        chosen = []
        for tensor in tensors:
            of_table = tensor.block == HEAD or (tensor.block == TABLE and not architecture.tied)
            found = [rule.number_format for rule in recipe.rules if of_table and for_outside(rule, tensor)]
            chosen.append((tensor, found[-1] if found else start(tensor)))
        return tuple(chosen)

    layers: list[Chosen] = [()] * len(architecture.pattern)
    for index, kind in enumerate(architecture.kinds):
        standing = [layer for layer, of in enumerate(architecture.pattern) if of == index]
        where = {
            tensor: [(rule.number_format, layers_of(rule, tensor, kind, standing)) for rule in recipe.rules]
            for tensor in kind.tensors
            if tensor.quantizable or tensor.block == "other_embedding"
        }
        known: dict[tuple[NumberFormat, ...], Chosen] = {}
        for layer in standing:
            formats = tuple(
                next((found for found, of in reversed(where.get(tensor, ())) if layer in of), start(tensor))
                for tensor in kind.tensors
            )
            layers[layer] = known.setdefault(formats, tuple(zip(kind.tensors, formats, strict=True)))
    return Formats(outside(architecture.embeddings), tuple(layers), outside(architecture.head))


def elements_by_format(architecture: Architecture, recipe: Recipe) -> dict[str, Counter[NumberFormat]]:
    """Return for each block the elements of its matrices in each number format."""
    found: dict[str, Counter[NumberFormat]] = {}
    whole = Stage(architecture, 0, architecture.layer_count)
    for tensor, count, number_format in formats_of(architecture, recipe).of_stage(whole):
        if tensor.quantizable or tensor.block in (TABLE, HEAD):
            found.setdefault(tensor.block, Counter())[number_format] += count * tensor.elements
    return found


def described(architecture: Architecture, recipe: Recipe) -> str:
    """Return a recipe's name: its number format, and what is in another one."""
    others: dict[str, list[str]] = {}
    for block, counts in elements_by_format(architecture, recipe).items():
        words = BLOCK_WORDS.get(block)
        quantised = block not in (TABLE, HEAD)
        for number_format, elements in counts.items():
            few = elements * 20 < counts.total()
            if words is None or few or number_format == recipe.base or (not quantised and number_format.bits >= 16):
                continue
            some = "" if elements * 20 > 19 * counts.total() else "some of "
            others.setdefault(number_format.name, []).append(some + words)
    parts = [f"{' and '.join(blocks)} in {name}" for name, blocks in others.items()]
    return ", ".join([recipe.base.name, *parts])


def settled(architecture: Architecture, recipe: Recipe) -> NumberFormat | Recipe:
    """Return a recipe under its name, or its number format where the rules change nothing that one leaves as it is."""
    experts = architecture.experts > 0
    whole = Stage(architecture, 0, architecture.layer_count)
    for tensor, _, number_format in formats_of(architecture, recipe).of_stage(whole):
        if (number_format == recipe.base) != touched(tensor, recipe.base, experts=experts):
            return recipe._replace(name=described(architecture, recipe))
    return recipe.base
