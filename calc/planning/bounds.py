"""What no option of a search can go below: memory and reading of the weights, cheap enough for a whole catalogue."""

from functools import lru_cache
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage
from calc.catalog.records import ModelFormat, StoredWeights, Weights
from calc.memory.budget import Demand, Layout, stage_load
from calc.memory.kv_cache import sequence_bytes
from calc.memory.weights import stored_tensors

HEAD = "lm_head"  # of a prompt it is computed for the last token alone
TABLES = ("token_embedding", "other_embedding", "vision", "vision_expert", "audio")  # read by row, or not by each token


class Least(NamedTuple):
    """Bytes of all devices together that no layout and no engine saves."""

    held: int  # of the weights, input tables left out: an engine may keep them in the host's memory
    read: int  # for one output token
    multiplied: int = 0  # elements that each token is multiplied by, of the layers alone


@lru_cache(maxsize=8192)
def least(architecture: Architecture, weights: Weights) -> Least:
    """Return the least bytes of weights that are held, and read for a token: elements alone, without their scales."""
    if isinstance(weights, StoredWeights):
        return Least(0, 0)
    return least_of(architecture, weights)


def least_of(architecture: Architecture, weights: ModelFormat) -> Least:
    """Return the sums over the tensors of a model in a number format that the catalogue knows."""
    held = read = multiplied = 0.0
    for tensor, count, number_format in stored_tensors(Stage(architecture, 0, architecture.layer_count), weights):
        if tensor.block not in TABLES:
            held += count * tensor.elements * number_format.bits / 8
            read += count * tensor.active_elements * number_format.bits / 8
            if tensor.block != HEAD and len(tensor.shape) == 2:
                multiplied += count * tensor.active_elements
    if architecture.has_encoder:  # which passes once over the prompt: a token that is written reads the decoder alone
        return Least(int(held), 0)
    return Least(int(held), int(read), int(multiplied))


@lru_cache(maxsize=1024)
def least_cache(demand: Demand) -> tuple[int, int]:
    """Return the bytes of a sequence's own cache and state: all that is held at its end, and what a step reads of it.

    A step reads what is left of the prompt in the cache; what was written since is left out, as is what all share.
    """
    own = max(demand.prompt_tokens - demand.prefix.held_tokens, 1)
    load = stage_load(
        demand=demand, stage=Stage(demand.architecture, 0, demand.architecture.layer_count), layout=Layout()
    )
    kept, read = (
        sequence_bytes(entries=load.entries, tokens=tokens, prompt_tokens=own, context_parallel=1)
        for tokens in (demand.tokens - demand.prompt_tokens + own, own)
    )
    return kept + load.state, read
