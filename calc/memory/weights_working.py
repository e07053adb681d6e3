"""The working of the weights: for each block its elements on the fullest device, their bits, and what comes on top."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from calc.architecture.stages import Stage, local_share
from calc.catalog.records import Mixture, NumberFormat, Recipe, StoredWeights, Weights
from calc.derivation import Step
from calc.memory.budget import Demand, Layout
from calc.memory.stored_weights import stored_weights_steps
from calc.memory.weights import stored_bytes, stored_tensors
from calc.units import show_count

BLOCK_LABELS = {
    "token_embedding": "token embedding",
    "other_embedding": "other embeddings",
    "attention": "attention",
    "ssm": "recurrent mixers",
    "mlp": "MLP",
    "convolution": "convolutions",
    "router": "routers",
    "expert": "experts",
    "shared_expert": "shared experts",
    "shared_expert_gate": "gates of the shared experts",
    "vision_expert": "experts of images",
    "norm": "norms",
    "statistics": "means and variances of batch norms",
    "layer_other": "others in the layers",
    "vision": "vision",
    "audio": "audio",
    "other": "others",
    "final_norm": "final norm",
    "lm_head": "output matrix",
    "head": "classifier",
    "rope_factors": "rotary frequencies",
}


def weights_steps(demand: Demand, layout: Layout, stage: Stage) -> list[Step]:
    """Return the weights by block and format: elements on the device, their bits, and the bytes stored beside them."""
    ranks = layout.tensor, layout.expert
    return list(stage_steps(stage, demand.weights, demand.group, *ranks))


@lru_cache(maxsize=256)  # the same for whatever is asked of a model in a number format, on any device
def stage_steps(
    stage: Stage, weights: Weights, group: int | None, tensor_ranks: int, expert_ranks: int
) -> Sequence[Step]:
    """Return the same of a stage's weights on one rank."""
    if isinstance(weights, StoredWeights):
        return stored_weights_steps(stage, tensor_ranks, expert_ranks, weights)
    sums: dict[tuple[str, NumberFormat], list[int]] = {}
    for tensor, count, number_format in stored_tensors(stage, weights):
        copies, shape = local_share(tensor, tensor_ranks, expert_ranks)
        number = count * copies
        entry = sums.setdefault((tensor.block, number_format), [0, 0])
        entry[0] += number * prod(shape)
        entry[1] += number * stored_bytes(shape=shape, number_format=number_format, group=group)
    mixed = isinstance(weights, Mixture | Recipe)
    steps = [
        block_step(block, elements, stored, number_format, mixed=mixed)
        for (block, number_format), (elements, stored) in sums.items()
    ]
    total = sum(int(step.value) for step in steps)
    listed = " + ".join(show_count(step.value) for step in steps)
    formula = r"\sum_{\text{blocks}} W_{\text{block}}"
    return [*steps, Step("Weights on the device", formula, listed, total, unit="B", source="transformers")]


def block_step(block: str, elements: int, stored: int, number_format: NumberFormat, *, mixed: bool) -> Step:
    """Return the step of one block: its elements in their bits, and the scales and tables that come on top.

    In a mixture a block has a step for each format in it, and formats count in blocks of elements with their scales.
    """
    bits, group = number_format.bits, number_format.group
    plain = -(-int(elements * bits) // 8)
    formula, numbers = r"N \cdot \frac{b}{8}", f"{show_count(elements)} × {bits:g} / 8"
    block_bytes = int(group * bits + number_format.group_bits) // 8
    if mixed and group and stored * group == elements * block_bytes:
        formula, numbers = r"\frac{N}{n} \cdot B", f"{show_count(elements)} / {group} × {block_bytes}"
    elif stored != plain:
        formula += r" + \text{scales}"
        numbers += f" + {show_count(stored - plain)}"
    label = f"Weights: {BLOCK_LABELS[block]}" + (f" in {number_format.name}" if mixed else "")
    return Step(label, formula, numbers, stored, unit="B", source=number_format.source)
