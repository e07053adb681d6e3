"""Parameters of a model, by block."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from calc.architecture.layers import Architecture
from calc.architecture.prediction import parameters_prediction
from calc.architecture.tensors import BLOCKS, Tensor

UNUSED = ("other_embedding", "vision_expert")  # blocks in layers of which a text token uses nothing, or a few rows


def parameters_by_block(architecture: Architecture) -> dict[str, int]:
    """Return the number of parameters of each block; a tied output matrix is the embedding and counted there, once.

    Source: the shapes of the tensors in Hugging Face transformers' classes.
    """
    blocks = dict.fromkeys(BLOCKS, 0)
    for tensor in architecture.embeddings + architecture.head:
        blocks[tensor.block] += tensor.elements
    for kind, count in architecture.kind_counts():
        for tensor in kind.tensors:
            blocks[tensor.block] += tensor.stored(count) * tensor.elements
    return {block: count for block, count in blocks.items() if count}


def parameters_total(architecture: Architecture) -> int:
    """Return the number of parameters of a model."""
    return sum(parameters_by_block(architecture).values())


def parameters_active(architecture: Architecture) -> int:
    """Return the number of parameters that one token uses: of the experts only those it is sent to, all of the rest.

    The token embedding counts as a whole, although a token reads one row of it. Tables that stand in layers, of word
    groups, do not: they are far larger than what is read of them. Experts of images are no text token's.
    """
    total = sum(tensor.active_elements for tensor in architecture.embeddings + architecture.head)
    for kind, count in architecture.kind_counts():
        used = (tensor for tensor in kind.tensors if tensor.block not in UNUSED)
        total += sum(tensor.stored(count) * tensor.active_elements for tensor in used)
    return total


def tensors_of(architecture: Architecture, block: str) -> list[tuple[Tensor, int]]:
    """Return the tensors of a block, each with how many layers have it, over all kinds of layers."""
    found: dict[Tensor, int] = {}
    parts = [(architecture.embeddings, 1), *((kind.tensors, count) for kind, count in architecture.kind_counts())]
    for tensors, times in (*parts, (architecture.head, 1)):
        for tensor in tensors:
            if tensor.block == block:
                found[tensor] = found.get(tensor, 0) + times
    return list(found.items())


def parameters_multiplied(architecture: Architecture) -> int:
    """Return the parameters that a text token is multiplied with: those that it uses, less tables that are looked up.

    A token embedding that is the output matrix too is multiplied with as that.
    """
    blocks = parameters_by_block(architecture)
    tables = 0 if architecture.tied else blocks.get("token_embedding", 0)
    return parameters_active(architecture) - tables - blocks.get("other_embedding", 0)


def parameters_of(blocks: Mapping[str, int], names: Iterable[str]) -> int:
    """Return the parameters of some blocks together; a block that a model has not has none.

    >>> parameters_of({"attention": 40, "mlp": 80}, ["mlp", "norm"])
    80
    """
    return sum(blocks.get(name, 0) for name in names)


def share_of(blocks: Mapping[str, int], names: Iterable[str]) -> float:
    """Return the share of all parameters that some blocks are.

    >>> share_of({"attention": 40, "mlp": 120}, ["attention"])
    0.25
    """
    return parameters_of(blocks, names) / sum(blocks.values())


@lru_cache(maxsize=256)  # each answer about a model has the same
def counts(architecture: Architecture) -> tuple[dict[str, int], int, int]:
    """Return the parameters by block, those that one token uses, and those of multi-token prediction."""
    return parameters_by_block(architecture), parameters_active(architecture), parameters_prediction(architecture)


def model_counts(model_id: str, name: str, architecture: Architecture, *, trained: int) -> dict[str, object]:
    """Return what a report says of its model: names, layers, and parameters in all and by block."""
    blocks, active, predicting = counts(architecture)
    return {
        "id": model_id or None,
        "name": name,
        "family": architecture.family,
        "attention": architecture.attention_kind,
        "layers": architecture.layer_count,
        "attention_layers": architecture.attention_layers,
        "parameters_total": sum(blocks.values()),
        "parameters_active": active,
        "parameters_trainable": trained,
        "prediction_layers": architecture.prediction_layers,
        "parameters_prediction": predicting,
        "blocks": dict(blocks),
    }
