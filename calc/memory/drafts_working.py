"""The working of what speculation holds: the weights of what drafts, its cache, and states to go back to."""

from calc.architecture.stages import Stage
from calc.derivation import Step
from calc.memory.budget import Demand, Layout
from calc.memory.cache_working import cache_steps, state_steps
from calc.memory.drafts import DRAFT_LABELS
from calc.memory.prefix import Prefix
from calc.memory.recurrent_state import stage_state_bytes
from calc.memory.weights_working import weights_steps
from calc.units import show_count

SOURCE = "speculative-decoding"
ENDS = ("KV cache", "Recurrent state")  # the last steps of what is kept


def draft_steps(demand: Demand, layout: Layout, stage: Stage) -> dict[str, list[Step]]:
    """Return the steps of both parts; none without speculation."""
    draft = demand.draft
    if draft is None:
        return {}
    weights: list[Step] = []
    caches: list[Step] = []
    if (own := draft.own) is not None and draft.weights is not None and stage.is_last:
        alone = demand._replace(architecture=own, weights=draft.weights, group=None, prefix=Prefix())
        whole, one = Stage(own, 0, own.layer_count), layout._replace(pipeline=1, context=1)
        weights = weights_steps(alone, one, whole)
        caches = [*cache_steps(alone, one, whole), *state_steps(alone, one, whole)]
    kept = [step for step in caches if step.name in ENDS]
    states = kept_states(demand, layout, stage)
    return {
        "draft_weights": [*renamed(weights), sum_of("draft_weights", weights[-1:], draft.layers)],
        "draft_cache": [*renamed(caches), *states, sum_of("draft_cache", kept, draft.layers, *states)],
    }


def renamed(steps: list[Step]) -> list[Step]:
    """Return steps that say whose they are."""
    return [step._replace(name=f"{step.name}, of what drafts") for step in steps]


def kept_states(demand: Demand, layout: Layout, stage: Stage) -> list[Step]:
    """Return the step of the states that drafted tokens leave, each of which may be the last that is accepted."""
    assert demand.draft is not None
    size = stage_state_bytes(stage=stage, tensor_parallel=layout.tensor, activation_bytes=demand.activation_bytes)
    if not size:
        return []
    sequences, tokens = demand.sequences_on(layout), demand.draft.tokens
    numbers = f"{show_count(sequences)} × {show_count(tokens)} × {show_count(size)}"
    formula = r"n_{\text{seq}} \cdot k \cdot B_{\text{state}}"
    return [Step("States to go back to", formula, numbers, sequences * tokens * size, unit="B", source=SOURCE)]


def sum_of(part: str, steps: list[Step], layers: int, *others: Step) -> Step:
    """Return the sum of a part: of each layer that drafts the same, and what is there once."""
    terms = [f"{layers} × {show_count(step.value)}" for step in steps] + [show_count(step.value) for step in others]
    value = layers * sum(round(step.value) for step in steps) + sum(round(step.value) for step in others)
    formula = r"n_{\text{layers}} \cdot M + M_{\text{states}}"
    return Step(DRAFT_LABELS[part], formula, " + ".join(terms) or "0", value, unit="B", source=SOURCE)
