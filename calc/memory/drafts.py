"""What speculation holds beside a model: the weights of what drafts, its cache, and states to go back to.

A draft that is rejected leaves nothing in a cache, whose entries are written anew. A recurrent state has no entries: an
engine keeps one for each drafted token (vLLM's `num_speculative_blocks`).
"""

from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage
from calc.catalog.records import NumberFormat, Weights
from calc.memory.kv_cache import stage_sequence_bytes
from calc.memory.recurrent_state import stage_state_bytes
from calc.memory.weights import stage_weights_bytes

DRAFT, MTP, EAGLE, NGRAM = "draft", "mtp", "eagle", "ngram"
DRAFT_LABELS = {
    "draft_weights": "Weights of what drafts",
    "draft_cache": "Cache of what drafts, and states to go back to",
}
METHODS = (DRAFT, MTP, EAGLE, NGRAM)


class Draft(NamedTuple):
    """How a model's next tokens are drafted: by what, how many, and how likely each is accepted."""

    method: str
    tokens: int
    acceptance: float  # chance of a drafted token where all before it were accepted
    architecture: Architecture | None = None  # what drafts; None where the text itself is looked up
    weights: Weights | None = None
    shares_tables: tuple[bool, bool] = (False, False)  # of embeddings and of the output matrix, with the model
    layers: int = 1  # of multi-token prediction, each the architecture once

    @property
    def expected(self) -> float:
        r"""Tokens that a step writes, as a mean: $(1 - a^{k+1}) / (1 - a)$ (arXiv:2211.17192, equation 1).

        >>> Draft(MTP, 3, 0.5).expected, Draft(MTP, 3, 1.0).expected
        (1.875, 4.0)
        """
        if self.acceptance == 1.0:
            return self.tokens + 1.0
        return (1.0 - self.acceptance ** (self.tokens + 1)) / (1.0 - self.acceptance)

    @property
    def own(self) -> Architecture | None:
        """What drafts, without the tables that are the model's."""
        if self.architecture is None:
            return None
        embeddings, head = self.shares_tables
        return self.architecture._replace(
            embeddings=() if embeddings else self.architecture.embeddings,
            head=() if head else self.architecture.head,
            tied=self.architecture.tied and not embeddings and not head,
        )


class Held(NamedTuple):
    """Bytes on a rank."""

    weights: int = 0
    sequence: int = 0  # of cache and states, for each sequence


def held_by(
    draft: Draft,
    *,
    stage: Stage,
    tokens: int,
    prompt_tokens: int,
    tensor_parallel: int,
    expert_parallel: int,
    key_format: NumberFormat,
    value_format: NumberFormat,
    activation_bytes: int,
) -> Held:
    """Return what speculation holds on the fullest rank of a pipeline stage: what drafts stands on the last one."""
    states = stage_state_bytes(stage=stage, tensor_parallel=tensor_parallel, activation_bytes=activation_bytes)
    kept = draft.tokens * states
    own = draft.own
    if own is None or draft.weights is None or not stage.is_last:
        return Held(0, kept)
    whole = Stage(own, 0, own.layer_count)
    weights = draft.layers * stage_weights_bytes(
        stage=whole, tensor_parallel=tensor_parallel, expert_parallel=expert_parallel, weights=draft.weights
    )
    cache = draft.layers * stage_sequence_bytes(
        stage=whole,
        tokens=tokens,
        prompt_tokens=prompt_tokens,
        tensor_parallel=tensor_parallel,
        key_format=key_format,
        value_format=value_format,
    )
    own_states = stage_state_bytes(stage=whole, tensor_parallel=tensor_parallel, activation_bytes=activation_bytes)
    return Held(weights, kept + cache + own_states)
