"""llama.cpp: weights without the token table, cells of cache for every sequence, and one compute buffer."""

from calc.architecture.stages import Stage, local_heads
from calc.catalog.records import StoredWeights, Weights
from calc.memory.cache_layouts import llama_cpp_cache_bytes, llama_cpp_cells, llama_cpp_state_bytes
from calc.memory.placement import expert_bytes, widest_bytes
from calc.memory.runtime import ALLOCATED, EAGER, Amount, Case, Runtime, constant, held_amounts
from calc.memory.weights import stored_bytes, stored_tensors

FP32_BYTES, FP16_BYTES = 4, 2


def llama_cpp(case: Case) -> Runtime:
    """Return llama.cpp's memory of a device with the layers of a stage on it, or of a host that works alone.

    Beside devices, the token table stays in host memory, and is stored a second time as output matrix where the two
    are tied. The cache is allocated for all cells at once, in multiples of 256. The compute buffer holds the widest
    moment of the graph for a micro-batch, in FP32. Source: llama.cpp, `llama_context`, and the sizes it logs.
    """
    cells = llama_cpp_cells(context_tokens=context_of(case), sequences=case.sequences, unified=True)
    context = constant(case, "runtime_context", "Context of the driver and its libraries", "runtime_context")
    state = llama_cpp_state_bytes(stage=case.stage, sequences=case.sequences, tensor_parallel=case.layout.tensor)
    amounts = held_amounts(case, weights=device_weights(case), cache=cell_bytes(case), state=state)
    amounts.append(compute_buffer(case, cells))
    if case.placement.alone:
        needed = sum(amount.bytes for amount in amounts)
        return Runtime(tuple(amounts), case.visible, case.visible, needed, pool=None)
    amounts += copied_matrix(case)
    if case.accelerator is None or case.accelerator.segment != "soc":  # a shared memory has no second context in it
        amounts.append(context)
    needed = sum(amount.bytes for amount in amounts)
    return Runtime(tuple(amounts), case.visible, case.visible, needed, pool=None)


def context_of(case: Case) -> int:
    """Return the context that all sequences share, as `-c` gives it."""
    return case.sequences * case.demand.tokens


def micro_batch(case: Case) -> int:
    """Return the tokens of a micro-batch."""
    return case.batched_tokens or case.engine.whole("batched_tokens")


def device_weights(case: Case) -> int:
    """Return the weights without what stays in the host's memory: experts, and the token table.

    The table is on the device where it is the output matrix too.
    """
    stage, held = case.stage, case.budget.weights
    if case.placement.alone:
        return held
    if case.placement.host_experts:
        held -= expert_bytes(case.placement.apart(stage), case.demand.weights, case.demand.group)
    if not stage.is_first or (stage.architecture.tied and stage.is_last):
        return held
    return held - table_bytes(stage, case.demand.weights, case.layout.tensor)


def table_bytes(stage: Stage, weights: Weights, tensor_parallel: int = 1) -> int:
    """Return the bytes of a rank's part of the token table of a first stage."""
    table = stage.architecture.embeddings[0]
    if isinstance(weights, StoredWeights):
        return weights.embeddings // tensor_parallel
    for tensor, _, number_format in stored_tensors(stage, weights):
        if tensor.name == table.name:
            shape = (-(-table.shape[0] // tensor_parallel), *table.shape[1:])
            return stored_bytes(shape=shape, number_format=number_format)
    return 0


def host_layer_bytes(case: Case) -> int:
    """Return what a case's stage takes of the host's memory: the token table, its layers, their cache and states."""
    return case.budget.weights + cell_bytes(case) + llama_cpp_state_bytes(stage=case.stage, sequences=case.sequences)


def copied_matrix(case: Case) -> list[Amount]:
    """Return the room for a matrix that a prompt is multiplied with on the device while it stands in the host's memory.

    One is copied at a time: a new part of the graph begins with each. Source: llama.cpp, ggml/src/ggml-backend.cpp
    (ggml_backend_sched_split_graph).
    """
    demand, placement = case.demand, case.placement
    away = placement.host_layers(case.stage.architecture), placement.apart(case.stage)
    layers, experts = (
        widest_bytes(stage, demand.weights, demand.group, experts_alone=alone)
        for stage, alone in zip(away, (False, True), strict=True)
    )
    size = max(layers, experts)
    if not size:
        return []
    source = "llama-cpp-offload"
    label, formula = "Copy of a matrix from the host's memory", r"\max M_{\text{matrix}}"
    return [
        Amount("copied_matrix", label, size, ALLOCATED, formula=formula, template="{}", numbers=(size,), source=source)
    ]


def cell_bytes(case: Case) -> int:
    """Return the cache of all cells; layers with a window have cells for the window and a micro-batch."""
    return sum(
        llama_cpp_cache_bytes(
            stage=case.stage,
            context_tokens=context_of(case),
            sequences=case.sequences,
            unified=True,
            micro_batch_tokens=micro_batch(case),
            key_format=case.demand.keys,
            value_format=case.demand.values,
            tensor_parallel=case.layout.tensor,
        )
    )


def compute_buffer(case: Case, cells: int) -> Amount:
    """Return the compute buffer: the widest of an MLP, of attention, and of the logits of a micro-batch."""
    tokens, hidden = min(micro_batch(case), cells), case.stage.architecture.hidden_size
    tensor = case.layout.tensor
    mask = tokens * cells * FP32_BYTES
    width = max((-(-kind.mlp_width // tensor) for kind, _ in case.stage.kind_counts()), default=0)
    heads = max(
        (local_heads(kind.attention.heads, tensor) for kind, _ in case.stage.kind_counts() if kind.attention), default=0
    )
    mlp = tokens * (2 * hidden + 2 * width) * FP32_BYTES + mask
    scores = heads * mask if case.attention == EAGER else tokens * cells * FP16_BYTES
    attention = scores + mask + 4 * tokens * hidden * FP32_BYTES
    logits = tokens * (case.stage.architecture.output_size + hidden) * FP32_BYTES if case.stage.is_last else 0
    copies = 0
    if case.layout.pipeline > 1 and case.attention == EAGER:  # the inputs of four micro-batches that are on their way
        copies = 3 * mask + 4 * tokens * hidden * FP32_BYTES
    size = max(mlp, attention, logits) + copies
    source = case.engine.source
    if logits >= max(mlp, attention):
        outputs = case.stage.architecture.output_size
        formula, template = r"u \cdot (V + h) \cdot 4 + M_{\text{copies}}", "{} × ({} + {}) × 4 + {}"
        return Amount(
            id="logits",
            label="Compute buffer: logits",
            bytes=size,
            scope=ALLOCATED,
            formula=formula,
            template=template,
            numbers=(tokens, outputs, hidden, copies),
            source=source,
        )
    if mlp >= attention:
        formula, template = (
            r"u \cdot (2 h + 2 i + c) \cdot 4 + M_{\text{copies}}",
            "{} × (2 × {} + 2 × {} + {}) × 4 + {}",
        )
        numbers: tuple[float, ...] = (tokens, hidden, width, cells, copies)
        return Amount(
            id="activations",
            label="Compute buffer: MLP",
            bytes=size,
            scope=ALLOCATED,
            formula=formula,
            template=template,
            numbers=numbers,
            source=source,
        )
    formula = r"u \cdot (4 h + c) \cdot 4 + M_{\text{scores}} + M_{\text{copies}}"
    numbers = (tokens, hidden, cells, scores, copies)
    template = "{} × (4 × {} + {}) × 4 + {} + {}"
    return Amount(
        id="activations",
        label="Compute buffer: attention",
        bytes=size,
        scope=ALLOCATED,
        formula=formula,
        template=template,
        numbers=numbers,
        source=source,
    )
