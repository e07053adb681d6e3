"""transformers: the whole prompt in one pass, a cache that grows by copying, and what the allocator keeps of it."""

from functools import lru_cache

from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage, local_heads
from calc.memory.activations import LOGIT_BYTES, logits_bytes
from calc.memory.runtime import (
    ALLOCATED,
    EAGER,
    RESERVED,
    Amount,
    Case,
    Runtime,
    constant,
    corrected,
    held_amounts,
    total,
)
from calc.units import MIB

LARGE_REQUEST, LARGE_STEP = 10 * MIB, 2 * MIB  # of torch's caching allocator: kMinLargeAlloc, kRoundLarge


def transformers(case: Case) -> Runtime:
    """Return transformers' memory of a device.

    The peak is in the prefill, with the widest layer or the logits; in the first decoding step, while versions before
    4.45 still refer to the logits of the whole prompt and to its cache; or in the last, with the new cache of a layer,
    or in those versions of all, beside the old one. Source: transformers' modeling_*.py, cache_utils.py and
    generation/utils.py.
    """
    prompt = min(case.demand.prompt_tokens, case.demand.tokens)
    prompt_cache = case.sequences * case.once("prompt", lambda case: case.sequence_bytes(prompt))
    grows = case.cache - case.budget.recurrent_state  # states are written in place
    spare = grows - prompt_cache  # of the whole cache, what is not there yet while the prompt is read
    activations, logits = prefill_peak(case)
    peak = max(moments(case, activations, logits, spare=spare, grows=grows), key=total)
    amounts = [*held_amounts(case), *corrected(case, peak), *case.once("beside", beside)]
    allocated = total(amounts)
    context = case.on_device("context", driver_context)
    amounts.append(reserve(case, allocated, context.bytes, activations.bytes + logits.bytes))
    amounts.append(context)
    return Runtime(tuple(amounts), case.visible, case.visible, allocated + context.bytes, pool=None)


def beside(case: Case) -> list[Amount]:
    """Return what stays beside weights and cache: workspaces, and tables of older versions."""
    tables = [rotary_tables(case)] if keeps_prompt(case) else []
    workspaces = constant(case, "workspaces", "Workspaces of kernels", "workspaces", scope=ALLOCATED)
    return corrected(case, [*tables, workspaces])


def driver_context(case: Case) -> Amount:
    """Return what the driver holds of a process."""
    known = constant(case, "runtime_context", "Context of the driver and its libraries", "runtime_context")
    return corrected(case, [known])[0]


def keeps_prompt(case: Case) -> bool:
    """Return whether the version computes the logits of the whole prompt and refers to them, and to old caches."""
    return bool(case.engine.values["keeps_prompt"])


def moments(case: Case, activations: Amount, logits: Amount, *, spare: int, grows: int) -> list[list[Amount]]:
    """Return what is alive beside weights and the whole cache in the prefill, the first and the last decoding step.

    What the cache has yet to grow is taken off what is alive before it has grown.
    """
    old = keeps_prompt(case)
    found = [less(spare, activations, logits)]
    layers = attending_layers(case.stage.architecture)
    copied = grows if old else grows // layers
    formula, template = (r"M_{\text{cache}}", "{}") if old else (r"\frac{M_{\text{cache}}}{L}", "{} / {}")
    numbers = (grows,) if old else (grows, layers)
    copy = Amount(
        id="activations",
        label="Cache copied as it grows",
        bytes=copied,
        scope=ALLOCATED,
        formula=formula,
        template=template,
        numbers=numbers,
        source=case.engine.source,
    )
    found.append([copy])
    if old and case.stage.is_last:
        positions, outputs = case.sequences * case.demand.prompt_tokens, case.stage.architecture.output_size
        kept = logits._replace(
            label="Logits of the prompt, still referred to",
            bytes=positions * outputs * LOGIT_BYTES,
            formula=r"n_{\text{positions}} \cdot V \cdot 4",
            template="{} × {} × 4",
            numbers=(positions, outputs),
            source=case.engine.source,
        )
        first = grows - spare
        found.append(less(spare, copy._replace(bytes=first, formula="n", template="{}", numbers=(first,)), kept))
    return found


@lru_cache(maxsize=256)  # the same on any device
def attending_layers(architecture: Architecture) -> int:
    """Return the layers of a model that have attention, at least one."""
    return max(architecture.attention_layers, 1)


@lru_cache(maxsize=1024)  # the same for any number of sequences and any device
def caching_layers(stage: Stage) -> int:
    """Return the layers of a stage that keep caches."""
    return sum(count for kind, count in stage.kind_counts() if kind.caches)


def less(spare: int, *amounts: Amount) -> list[Amount]:
    """Return amounts without so many bytes, taken off the first as far as it goes and then off the next."""
    found = []
    for amount in amounts:
        taken = min(spare, amount.bytes)
        spare -= taken
        if taken:
            amount = amount._replace(
                label=f"{amount.label}, less the cache's later growth",
                bytes=amount.bytes - taken,
                formula=r"M_{\text{peak}} - M_{\text{growth}}",
                template="{} − {}",
                numbers=(amount.bytes, taken),
            )
        found.append(amount)
    return found


def rotary_tables(case: Case) -> Amount:
    """Return the sines and cosines that each layer of older versions owns, for all positions of the config."""
    architecture = case.stage.architecture
    positions = architecture.context_tokens or 0
    turned = sum(
        count * kind.attention.rotated for kind, count in case.stage.kind_counts() if kind.attention is not None
    )
    size = case.demand.activation_bytes
    return Amount(
        id="workspaces",
        label="Rotary tables of the layers",
        bytes=2 * positions * turned * size,
        scope=ALLOCATED,
        formula=r"2 \cdot s_{\text{config}} \cdot \sum_{\text{layers}} d \cdot b",
        template="2 × {} × {} × {}",
        numbers=(positions, turned, size),
        source=case.engine.source,
    )


def prefill_peak(case: Case) -> tuple[Amount, Amount]:
    """Return activations and logits of the prefill at its peak: both, as one is larger than the other at a time.

    A chunk (`prefill_chunk_size`) is of each sequence.
    """
    passed = min(case.demand.prompt_tokens, case.batched_tokens or case.demand.prompt_tokens)
    if keeps_prompt(case):
        passed = case.demand.prompt_tokens
    tokens = case.sequences * passed
    layer = layer_peak(case, tokens)
    activations, logits = head_peak(case, tokens)
    if logits.bytes + activations.bytes > layer.bytes:
        return activations, logits
    return layer, Amount("logits", "Logits", 0, ALLOCATED)


def layer_peak(case: Case, tokens: int) -> Amount:
    """Return the activations of so many tokens in the widest layer: of its MLP, or of attention that keeps scores."""
    demand, size, hidden = case.demand, case.demand.activation_bytes, case.stage.architecture.hidden_size
    held = case.engine.whole("held_hidden_states")
    width = case.load.width + held * hidden
    widest = Amount(
        id="activations",
        label="Activations of the widest layer",
        bytes=tokens * width * size,
        scope=ALLOCATED,
        formula=r"T \cdot w \cdot b",
        template="{} × {} × {}",
        numbers=(tokens, width, size),
        source=case.engine.source,
    )
    if case.attention != EAGER:
        return widest
    kinds = [kind for kind, _ in case.stage.kind_counts() if kind.attention]
    heads = max((local_heads(kind.attention.heads, case.layout.tensor) for kind in kinds if kind.attention), default=0)
    each, prompt = case.engine.whole("score_bytes"), demand.prompt_tokens
    scores = widest._replace(
        label="Attention scores of a layer",
        bytes=tokens * (prompt * heads * each + (2 + held) * hidden * size),
        formula=r"T \cdot (s \cdot n_{\text{heads}} \cdot b_{\text{score}} + n_h \cdot h \cdot b)",
        template="{} × ({} × {} × {} + {} × {} × {})",
        numbers=(tokens, prompt, heads, each, 2 + held, hidden, size),
    )
    return max(widest, scores, key=lambda amount: amount.bytes)


def head_peak(case: Case, tokens: int) -> tuple[Amount, Amount]:
    """Return what so many tokens hold at the output matrix, and the logits: of all of them, or of each last one."""
    demand, stage, source = case.demand, case.stage, case.engine.source
    every = demand.all_logits or keeps_prompt(case)
    positions = case.sequences * demand.prompt_tokens if every else case.sequences
    each = case.engine.whole("prompt_logit_bytes") if every else LOGIT_BYTES
    logits = logits_bytes(architecture=stage.architecture, positions=positions) // LOGIT_BYTES * each
    held, hidden = case.engine.whole("held_hidden_states"), stage.architecture.hidden_size
    return (
        Amount(
            id="activations",
            label="Activations at the output matrix",
            bytes=tokens * hidden * demand.activation_bytes * held,
            scope=ALLOCATED,
            formula=r"T \cdot n_h \cdot h \cdot b",
            template="{} × {} × {} × {}",
            numbers=(tokens, held, hidden, demand.activation_bytes),
            source=source,
        ),
        Amount(
            id="logits",
            label="Logits",
            bytes=logits if stage.is_last else 0,
            scope=ALLOCATED,
            formula=r"n_{\text{positions}} \cdot V \cdot b_{\text{logit}}",
            template="{} × {} × {}",
            numbers=(positions, stage.architecture.output_size, each),
            source=source,
        ),
    )


def reserve(case: Case, allocated: int, context: int, pass_bytes: int) -> Amount:
    """Return what the allocator keeps beyond what is in use.

    A cache that grows by copying asks for tensors a little larger at each step. From 10 MiB on each has a segment of
    its own, in steps of 2 MiB, and segments that became too small stay: over all sizes passed,
    $n (S_1^2 - S_0^2) / (2 \\cdot 2\\,\\text{MiB})$. It stops at the device's memory, where the allocator gives them
    back. Blocks that attention leaves are too small for the MLP's, and are kept beside them.
    Source: torch's CUDACachingAllocator.
    """
    tensors = 2 * caching_layers(case.stage)
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
