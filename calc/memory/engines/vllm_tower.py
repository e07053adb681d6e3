"""vLLM's profiling run of what sees: a tower over as many items as its budget holds, before the language model runs.

Source: vLLM's `MultiModalBudget` and `profile_run`.
"""

from functools import lru_cache
from math import prod
from typing import NamedTuple

from calc.architecture.stages import Stage
from calc.catalog.records import TowerBudget
from calc.memory.runtime import ALLOCATED, Amount, Case

PATCHES, TABLE, DEEP = "vision.patch_embedding.weight", "vision.pos_embed.weight", "vision.deepstack."
WHOLE = 3  # times its width that each rank holds of a tower's attention: the stream, its norm, and what is projected
GATE, UP, MERGED = ".mlp.gate_proj.weight", ".mlp.up_proj.weight", ".linear_fc2.weight"  # of layers, not of mergers


class Tower(NamedTuple):
    """The shapes of a tower that decide what it works in."""

    hidden: int
    patch: int  # numbers that a patch is made of
    inner: int  # of the MLP, with its gate's
    gated: bool
    placed: bool  # vectors of positions, one for each patch, are kept until the end
    deep: int  # outputs for the language model's layers, beside the one for its embeddings


class Seen(NamedTuple):
    """What a profiling run shows a tower."""

    items: int
    tokens: int  # of the language model, of one item
    patches: int  # in one token
    widths: int  # that attention works on for each patch
    kept: int  # tokens whose outputs are kept


@lru_cache(maxsize=256)
def tower_of(stage: Stage) -> Tower | None:
    """Return what a stage sees with; None where it does not see, or where its tower has other parts."""
    tensors = {tensor.name: tensor for tensor in stage.architecture.embeddings if tensor.block == "vision"}
    first = tensors.get(PATCHES)
    inner = [tensor.shape[0] for name, tensor in tensors.items() if name.endswith((GATE, UP))]
    if first is None or not inner or not stage.is_first:
        return None
    return Tower(
        hidden=first.shape[0],
        patch=prod(first.shape[1:]),
        inner=sum(inner),
        gated=len(inner) > 1,
        placed=TABLE in tensors,
        deep=sum(name.startswith(DEEP) and name.endswith(MERGED) for name in tensors),
    )


def most_tokens(budget: TowerBudget, context_tokens: int, *, videos: bool) -> int:
    """Return the tokens of the largest item: an image, or a video of whole pairs of frames that a context holds."""
    if not (videos and budget.video_tokens):
        return budget.image_tokens
    pairs = max(min(budget.video_tokens, context_tokens) // budget.pair_tokens, 1)
    return max(budget.image_tokens, pairs * budget.pair_tokens)


def seen(case: Case, *, step_tokens: int, sequences: int) -> Seen | None:
    """Return what the profiling run shows: as many of the largest items as a step has tokens for, one at least."""
    demand = case.demand
    budget = case.engine.towers.get(demand.architecture.family)
    if budget is None:
        return None
    tokens = most_tokens(budget, demand.tokens, videos=demand.videos)
    of_prompts = sequences * max(demand.tokens // tokens, 1)
    widths = budget.widths or round(case.engine.values["tower_widths"])
    items = max(min(step_tokens // tokens, of_prompts), 1)
    kept = max(items * tokens, budget.kept_tokens if demand.videos else 0)
    return Seen(items, tokens, patches=budget.patches, widths=widths, kept=kept)


def tower_amounts(case: Case, *, step_tokens: int, sequences: int) -> tuple[Amount | None, int]:
    """Return what a tower works in while it is profiled, and the bytes of what it leaves to the language model.

    In attention are alive for each patch: the stream, its norm, queries, keys and values as they come out of one
    matrix, queries and keys anew for their rotation and as they are rotated, what attention gives and its projection;
    in the MLP the stream, its norm, and the inner width before and after the activation. Beside them are the pixels,
    and positions where a table gives them. Ranks divide what is neither stream nor norm nor projected, and hold their
    sum as well.
    """
    shown, tower = seen(case, step_tokens=step_tokens, sequences=sequences), tower_of(case.stage)
    if shown is None or tower is None:
        return None, 0
    ranks, size = case.layout.tensor, case.demand.activation_bytes
    attention = (WHOLE + (ranks > 1)) * tower.hidden + (shown.widths - WHOLE) * tower.hidden // ranks
    after = tower.inner // (2 if tower.gated else 1)
    mlp = 2 * tower.hidden + (tower.inner + after) // ranks
    beside = tower.patch + tower.placed * tower.hidden
    width, patches = beside + max(attention, mlp), shown.items * shown.tokens * shown.patches
    outputs = shown.kept * case.stage.architecture.hidden_size * (1 + tower.deep) * size
    amount = Amount(
        id="activations",
        label="Activations of what sees, in the profiling run",
        bytes=patches * width * size,
        scope=ALLOCATED,
        formula=r"n_{\text{items}} \cdot T_{\text{item}} \cdot p \cdot w \cdot b",
        template="{} × {} × {} × {} × {}",
        numbers=(shown.items, shown.tokens, shown.patches, width, size),
        source=case.engine.coefficient("tower_widths").source,
    )
    return amount, outputs
