"""Memory of weights whose sizes a file gave: the file's bytes, divided over devices as the parameters are.

On one device the sum is the file's, to the byte. A file says nothing of devices: within the embeddings, the layers and
the head each, every parameter counts alike, although formats may differ from tensor to tensor.
"""

from functools import lru_cache
from math import prod

from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage, local_share
from calc.catalog.records import StoredWeights
from calc.derivation import Step
from calc.units import show_count

PLACES = {"embeddings": "embeddings and towers", "layers": "layers", "head": "final norm and output matrix"}


@lru_cache(maxsize=4096)
def parameters_by_place(stage: Stage, tensor_parallel: int, expert_parallel: int) -> dict[str, int]:
    """Return the parameters that the fullest rank of a stage holds, by where they stand in the model."""
    architecture = stage.architecture
    places = dict.fromkeys(PLACES, 0)
    embeddings, heads = set(architecture.embeddings), set(architecture.head)
    for tensor, count in stage.tensors():
        copies, shape = local_share(tensor, tensor_parallel, expert_parallel)
        place = "embeddings" if tensor in embeddings else "head" if tensor in heads else "layers"
        places[place] += count * copies * prod(shape)
    return places


def whole_model(architecture: Architecture) -> Stage:
    """Return the stage that holds all layers."""
    return Stage(architecture, 0, architecture.layer_count)


def stored_stage_bytes(*, stage: Stage, tensor_parallel: int, expert_parallel: int, weights: StoredWeights) -> int:
    """Return the bytes of a stage's weights on its fullest rank."""
    return sum(bytes_by_place(stage, tensor_parallel, expert_parallel, weights).values())


def bytes_by_place(stage: Stage, tensor_parallel: int, expert_parallel: int, weights: StoredWeights) -> dict[str, int]:
    """Return a stage's bytes on its fullest rank, by place; a place without parameters stands on the last stage."""
    here = parameters_by_place(stage, tensor_parallel, expert_parallel)
    everywhere = parameters_by_place(whole_model(stage.architecture), 1, 1)
    return {
        place: -(-size * here[place] // everywhere[place]) if everywhere[place] else size * stage.is_last
        for place, size in weights.bytes_by_place().items()
    }


def stored_weights_steps(
    stage: Stage, tensor_parallel: int, expert_parallel: int, weights: StoredWeights
) -> list[Step]:
    """Return the working: what the file has of each place, and the share of the parameters on the device."""
    here = parameters_by_place(stage, tensor_parallel, expert_parallel)
    everywhere = parameters_by_place(whole_model(stage.architecture), 1, 1)
    stored = weights.bytes_by_place()
    steps = []
    for place, size in bytes_by_place(stage, tensor_parallel, expert_parallel, weights).items():
        numbers, formula = show_count(stored[place]), r"B_{\text{file}}"
        if here[place] != everywhere[place]:
            formula += r" \cdot \frac{N_{\text{device}}}{N}"
            numbers += f" × {show_count(here[place])} / {show_count(everywhere[place])}"
        steps.append(Step(f"Weights: {PLACES[place]}", formula, numbers, size, unit="B", source="megatron-lm"))
    total = sum(int(step.value) for step in steps)
    listed = " + ".join(show_count(step.value) for step in steps)
    formula = r"\sum_{\text{places}} W_{\text{place}}"
    return [*steps, Step("Weights on the device", formula, listed, total, unit="B", source="transformers")]
