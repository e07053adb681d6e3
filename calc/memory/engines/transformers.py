"""transformers: the whole prompt in one pass, a cache that grows by copying, and what the allocator keeps of it."""

from calc.architecture.stages import local_heads
from calc.memory.activations import logits_bytes
from calc.memory.runtime import ALLOCATED, EAGER, RESERVED, Amount, Case, Runtime, constant, held_amounts
from calc.units import MIB

LARGE_REQUEST, LARGE_STEP = 10 * MIB, 2 * MIB  # of torch's caching allocator: kMinLargeAlloc, kRoundLarge


def transformers(case: Case) -> Runtime:
    """Return transformers' memory of a device.

    The peak is in the prefill, with the widest layer or the logits of the prompt, or in the last decoding step, with
    the new cache beside the old one. Builds that keep logits of every prompt position (until 4.44) also hold the whole
    cache twice while they decode. Source: transformers' modeling_*.py, cache_utils.py and generation/utils.py.
    """
    demand = case.demand
    old = demand.all_logits
    prompt_cache = case.sequences * case.sequence_bytes(min(demand.prompt_tokens, demand.tokens))
    amounts = held_amounts(case)
    activations, logits = prefill_peak(case)
    grows = case.cache - case.budget.recurrent_state  # states are written in place
    layers = max(case.stage.architecture.attention_layers, 1)
    copy = grows if old else grows // layers
    spare = grows - prompt_cache  # of the cache not there yet at the prefill's peak
    if activations.bytes + logits.bytes - spare >= copy:
        amounts += [activations._replace(bytes=max(activations.bytes - spare, 0)), logits]
        if spare > 0:
            name, formula = "Activations beyond the cache's later growth", r"M_{\text{peak}} - M_{\text{growth}}"
            parts = (activations.bytes, min(spare, activations.bytes))
            amounts[-2] = amounts[-2]._replace(label=name, formula=formula, template="{} − {}", numbers=parts)
    else:
        formula = r"M_{\text{cache}}" if old else r"\frac{M_{\text{cache}}}{L}"
        template, numbers = ("{}", (grows,)) if old else ("{} / {}", (grows, layers))
        source = case.engine.source
        amounts.append(
            Amount(
                id="activations",
                label="Cache copied as it grows",
                bytes=copy,
                scope=ALLOCATED,
                formula=formula,
                template=template,
                numbers=numbers,
                source=source,
            )
        )
    amounts.append(constant(case, "workspaces", "Workspaces of kernels", "workspaces", scope=ALLOCATED))
    allocated = sum(amount.bytes for amount in amounts)
    context = constant(
        case,
        "runtime_context",
        "Context of the driver and its libraries",
        "runtime_context_old" if old else "runtime_context",
    )
    amounts.append(reserve(case, allocated, context.bytes, activations.bytes + logits.bytes))
    amounts.append(context)
    return Runtime(tuple(amounts), case.visible, case.visible, allocated + context.bytes, pool=None)


def prefill_peak(case: Case) -> tuple[Amount, Amount]:
    """Return activations and logits of the prefill at its peak: both, as one is larger than the other at a time."""
    demand, stage, source = case.demand, case.stage, case.engine.source
    tokens, size = case.sequences * demand.prompt_tokens, demand.activation_bytes
    hidden = stage.architecture.hidden_size
    held = case.engine.whole("held_hidden_states")
    width = case.load.width + held * hidden
    layer = tokens * width * size
    formula, template = r"T \cdot w \cdot b", "{} × {} × {}"
    numbers: tuple[float, ...] = (tokens, width, size)
    label = "Activations of the widest layer"
    if case.attention == EAGER:
        heads = max(
            (
                local_heads(kind.attention.heads, case.layout.tensor)
                for kind, _ in stage.kind_counts()
                if kind.attention
            ),
            default=0,
        )
        each = case.engine.whole("score_bytes")
        scores = tokens * demand.prompt_tokens * heads * each + tokens * (2 + held) * hidden * size
        if scores > layer:
            layer, label = scores, "Attention scores of a layer"
            formula = r"T \cdot (s \cdot n_{\text{heads}} \cdot b_{\text{score}} + n_h \cdot h \cdot b)"
            template, numbers = (
                "{} × ({} × {} × {} + {} × {} × {})",
                (
                    tokens,
                    demand.prompt_tokens,
                    heads,
                    each,
                    2 + held,
                    hidden,
                    size,
                ),
            )
    positions = tokens if demand.all_logits else case.sequences
    each_logit = case.engine.whole("prompt_logit_bytes") if demand.all_logits else 4
    logits = (
        logits_bytes(architecture=stage.architecture, positions=positions) // 4 * each_logit if stage.is_last else 0
    )
    head = tokens * hidden * size * held
    outputs = stage.architecture.output_size
    if logits + head > layer:
        return (
            Amount(
                id="activations",
                label="Activations at the output matrix",
                bytes=head,
                scope=ALLOCATED,
                formula=r"T \cdot n_h \cdot h \cdot b",
                template="{} × {} × {} × {}",
                numbers=(tokens, held, hidden, size),
                source=source,
            ),
            Amount(
                id="logits",
                label="Logits",
                bytes=logits,
                scope=ALLOCATED,
                formula=r"n_{\text{positions}} \cdot V \cdot b_{\text{logit}}",
                template="{} × {} × {}",
                numbers=(positions, outputs, each_logit),
                source=source,
            ),
        )
    return Amount(
        id="activations",
        label=label,
        bytes=layer,
        scope=ALLOCATED,
        formula=formula,
        template=template,
        numbers=numbers,
        source=source,
    ), Amount("logits", "Logits", 0, ALLOCATED)


def reserve(case: Case, allocated: int, context: int, pass_bytes: int) -> Amount:
    """Return what the allocator keeps beyond what is in use.

    A cache that grows by copying asks for tensors a little larger at each step. From 10 MiB on each has a segment of
    its own, in steps of 2 MiB, and segments that became too small stay: over all sizes passed,
    $n (S_1^2 - S_0^2) / (2 \\cdot 2\\,\\text{MiB})$. It stops at the device's memory, where the allocator gives them
    back. Blocks that attention leaves are too small for the MLP's, and are kept beside them.
    Source: torch's CUDACachingAllocator.
    """
    attention_layers = sum(count for kind, count in case.stage.kind_counts() if kind.caches)
    tensors = 2 * attention_layers
    demand = case.demand
    prompt = case.sequences * case.sequence_bytes(min(demand.prompt_tokens, demand.tokens))
    last = case.budget.kv_cache / max(tensors, 1)
    first = max(prompt / max(tensors, 1), LARGE_REQUEST)
    grown = int(tensors * max(last * last - first * first, 0) / (2 * LARGE_STEP))
    values = case.engine.values
    slack = int(allocated * values["allocator_slack"] + pass_bytes * values["allocator_pass_slack"])
    kept, most = grown + slack, None
    if case.visible is not None:
        most = max(case.visible - allocated - context, 0)
        kept = min(kept, most)
    formula = r"\min\left(\frac{n (S_1^2 - S_0^2)}{2 S_{\text{step}}} + M_{\text{slack}}, M_{\text{free}}\right)"
    template = "min({} + {}, {})" if most is not None else "{} + {}"
    numbers: tuple[float, ...] = (grown, slack) if most is None else (grown, slack, most)
    return Amount(
        id="allocator_reserve",
        label="Kept by the allocator",
        bytes=kept,
        scope=RESERVED,
        formula=formula,
        template=template,
        numbers=numbers,
        source="torch-allocator",
    )
