"""The working of a budget: for each part the formulas with the numbers of the fullest device put in."""

from calc.architecture.stages import Stage, local_heads
from calc.derivation import Part, Step
from calc.memory.activations import (
    ATTENTION,
    CONVOLUTION,
    LOGIT_BYTES,
    MLP,
    Width,
    convolved_width,
    stage_width,
)
from calc.memory.budget import HEAD_PHASE, Budget, Demand, Layout
from calc.memory.cache_working import cache_steps, state_steps
from calc.memory.drafts import DRAFT_LABELS
from calc.memory.drafts_working import draft_steps
from calc.memory.weights_working import weights_steps
from calc.units import show_count


def parts_of(*, demand: Demand, layout: Layout, stage: Stage, budget: Budget) -> list[Part]:
    """Return the parts of a budget at its peak, with their working; their bytes add up to the budget's total."""
    at_peak = budget.phases[budget.peak_phase]
    drafts, adapters = draft_steps(demand, layout, stage), adapter_steps(demand, layout, stage)
    return [
        Part("weights", "Weights", budget.weights, tuple(weights_steps(demand, layout, stage))),
        Part("kv_cache", "KV cache", budget.kv_cache, tuple(cache_steps(demand, layout, stage))),
        Part("recurrent_state", "Recurrent state", budget.recurrent_state, tuple(state_steps(demand, layout, stage))),
        *(Part(name, DRAFT_LABELS[name], getattr(budget, name), tuple(steps)) for name, steps in drafts.items()),
        *([Part("adapters", "Adapters", budget.adapters, tuple(adapters))] if adapters else []),
        Part(
            "activations",
            "Activations",
            at_peak["activations"],
            tuple(activation_steps(demand, layout, stage, budget)),
        ),
        Part("logits", "Logits", at_peak["logits"], tuple(logit_steps(demand, layout, stage, budget))),
    ]


def adapter_steps(demand: Demand, layout: Layout, stage: Stage) -> list[Step]:
    """Return the adapters that are served; none without."""
    if demand.adapters is None:
        return []
    from calc.memory.served_adapters import adapters_bytes, adapters_numbers  # few scenarios ask for it

    split = {"tensor_parallel": layout.tensor, "expert_parallel": layout.expert}
    numbers = adapters_numbers(stage, demand.adapters, **split)
    value = adapters_bytes(stage, demand.adapters, **split)
    return [Step("Adapters", r"n \cdot \sum L \cdot N \cdot b", numbers, value, unit="B", source="lora")]


def sum_step(parts: list[Part]) -> Step:
    """Return the step that adds the parts up."""
    counted = [part for part in parts if part.bytes]
    formula = " + ".join(rf"M_{{\text{{{part.label.lower()}}}}}" for part in counted)
    numbers = " + ".join(show_count(part.bytes) for part in counted)
    return Step(
        "Memory of the fullest device",
        formula,
        numbers,
        sum(part.bytes for part in parts),
        unit="B",
        source="transformers",
    )


def activation_steps(demand: Demand, layout: Layout, stage: Stage, budget: Budget) -> list[Step]:
    """Return the working set at the peak: of the widest layer, or what the output matrix reads."""
    tokens, size = demand.batch_on(layout), demand.activation_bytes
    if budget.peak_phase == HEAD_PHASE:
        hidden = stage.architecture.hidden_size
        numbers = f"{show_count(tokens)} × {show_count(hidden)} × {size}"
        value = tokens * hidden * size
        return [
            Step(
                "Activations at the output matrix",
                r"T \cdot h \cdot b",
                numbers,
                value,
                unit="B",
                source="transformers",
            )
        ]
    widest = stage_width(stage=stage, tensor_parallel=layout.tensor)
    width = widest.elements
    return [
        width_step(widest, stage.architecture.hidden_size, layout.tensor),
        Step(
            "Activations of the widest layer",
            r"T \cdot w \cdot b",
            f"{show_count(tokens)} × {show_count(width)} × {size}",
            tokens * width * size,
            unit="B",
            source="transformers",
        ),
    ]


def width_step(widest: Width, hidden: int, tensor_parallel: int) -> Step:
    """Return the step that counts the elements alive for one token at a layer's widest moment."""
    name, layer, width = "Elements alive for each token", widest.layer, widest.elements
    if widest.block == CONVOLUTION:
        tensor = max((t for t in layer.tensors if t.reads), key=lambda t: t.places * convolved_width(t))
        beside = max(tensor.reads, tensor.shape[0])
        numbers = f"{tensor.places} × ({show_count(tensor.shape[0])} + {show_count(beside)})"
        formula = r"p (c_{\text{out}} + \max(c_{\text{in}}, c_{\text{out}})) + p_0 c_0"
        numbers += f" + {layer.places} × {show_count(layer.hidden)}"
        return Step(name, formula, numbers, width, unit="", source="transformers")
    if layer.places > 1:
        one = widest._replace(elements=width // layer.places, layer=layer._replace(places=1))
        step = width_step(one, layer.hidden or hidden, tensor_parallel)
        return step._replace(
            formula=rf"p \cdot ({step.formula})", substituted=f"{layer.places} × ({step.substituted})", value=width
        )
    if widest.block == MLP:
        times, inner = (3 if layer.mlp_gated else 2), -(-layer.mlp_width // tensor_parallel)
        numbers = f"2 × {show_count(hidden)} + {times} × {show_count(inner)}"
        source = "glu-variants" if layer.mlp_gated else "transformers"
        return Step(name, rf"2 h + {times} i", numbers, width, unit="", source=source)
    if widest.block == ATTENTION and layer.attention is not None:
        heads = local_heads(layer.attention.heads, tensor_parallel)
        kv_heads = local_heads(layer.attention.kv_heads, tensor_parallel)
        numbers = f"2 × {show_count(hidden)} + (2 × {heads} + 2 × {kv_heads}) × {layer.attention.head_dim}"
        formula = r"2 h + (2 n_{\text{heads}} + 2 n_{\text{kv}}) \cdot d_{\text{head}}"
        return Step(name, formula, numbers, width, unit="", source="attention-is-all-you-need")
    numbers = f"2 × {show_count(hidden)} + {show_count(width - 2 * hidden)}"
    return Step(name, r"2 h + w", numbers, width, unit="", source="mamba")


def logit_steps(demand: Demand, layout: Layout, stage: Stage, budget: Budget) -> list[Step]:
    """Return the logits; where the layers peak, the step says what the logits take afterwards, in the same space."""
    head = budget.phases.get(HEAD_PHASE)
    positions, outputs = demand.logit_positions(layout), stage.architecture.output_size
    if head is None or not outputs:
        return []
    later = "" if budget.peak_phase == HEAD_PHASE else " (after the layers, in the space that they leave)"
    numbers = f"{show_count(positions)} × {show_count(outputs)} × {LOGIT_BYTES}"
    formula = rf"n_{{\text{{positions}}}} \cdot V \cdot {LOGIT_BYTES}"
    return [Step(f"Logits in FP32{later}", formula, numbers, head["logits"], unit="B", source="transformers")]
