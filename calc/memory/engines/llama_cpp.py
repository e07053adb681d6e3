"""llama.cpp: weights without the token table, cells of cache for every sequence, and one compute buffer."""

from functools import lru_cache

from calc.architecture.stages import Stage
from calc.architecture.tensors import Tensor
from calc.catalog.records import StoredWeights, Weights
from calc.memory.cache_layouts import llama_cpp_cache_bytes, llama_cpp_state_bytes
from calc.memory.compute_buffer import Slots, compute_buffer, micro_batch, server_slots
from calc.memory.context import context_amount
from calc.memory.gguf_mixtures import TABLES as LAYER_TABLES
from calc.memory.placement import expert_bytes, widest_bytes
from calc.memory.runtime import ALLOCATED, Amount, Case, Runtime, corrected, held_amounts
from calc.memory.weights import stored_bytes, stored_tensors

WINDOWED = "b5430"  # of 20 May 2025, since when layers with a window keep no more: pull request 13194
WHOLE_BUFFER = "b6390"  # of 5 September 2025, when pull request 15815 divided the compute buffer into pieces
VULKAN, VULKAN_PIECE = "vulkan", 4 * 2**30  # bytes that its drivers give at once: llama.cpp's issue 15009


def llama_cpp(case: Case) -> Runtime:
    """Return llama.cpp's memory of a device with the layers of a stage on it, or of a host that works alone.

    Beside devices, the token table stays in host memory, and is stored a second time as output matrix where the two
    are tied. The cache is allocated for all cells at once, in multiples of 256. The compute buffer holds the widest
    moment of the graph for a micro-batch, in FP32. Source: llama.cpp, `llama_context`, and the sizes it logs.
    """
    slots = server_slots(case)
    state = slots.sequences * case.once("state", state_bytes)
    weights = case.once("weights", device_weights)
    amounts = held_amounts(case, weights=weights, cache=cell_bytes(case, slots), state=state)
    buffer = corrected(case, [compute_buffer(case, slots)])
    amounts += buffer
    if case.placement.alone:
        needed = sum(amount.bytes for amount in amounts)
        return Runtime(tuple(amounts), case.visible, case.visible, needed, pool=None)
    amounts += case.once("copied", copied_matrix)
    if case.accelerator is None or not case.accelerator.shares_host_memory:  # such a memory has no second context in it
        amounts += case.on_device("context", lambda case: corrected(case, [context_amount(case)]))
    needed = sum(amount.bytes for amount in amounts)
    undivided = case.engine.backend == VULKAN and case.engine.before(WHOLE_BUFFER)
    beyond = buffer[0].bytes - VULKAN_PIECE if undivided else 0
    return Runtime(tuple(amounts), case.visible, case.visible, needed, pool=None, beyond_piece=beyond)


def state_bytes(case: Case) -> int:
    """Return a rank's recurrent states of a slot."""
    return llama_cpp_state_bytes(stage=case.stage, sequences=1, tensor_parallel=case.layout.tensor)


def device_weights(case: Case) -> int:
    """Return the weights without what stays in the host's memory: experts, and tables that rows are looked up in.

    The table of tokens is on the device too where it is the output matrix; those of tokens for each layer never are.
    """
    stage, held = case.stage, case.budget.weights
    if case.placement.alone:
        return held
    held -= expert_bytes(case.placement.apart(stage), case.demand.weights, case.demand.group)
    if not stage.is_first:
        return held
    shared = stage.architecture.tied and stage.is_last
    sizes = table_sizes(stage, case.demand.weights, case.layout.tensor)
    return held - sum(size for name, size in sizes if not shared or name in LAYER_TABLES)


def host_layer_bytes(case: Case) -> int:
    """Return what a case's stage takes of the host's memory: the tables, its layers, their cache and states."""
    slots = server_slots(case)
    states = llama_cpp_state_bytes(stage=case.stage, sequences=slots.sequences)
    return case.budget.weights + cell_bytes(case, slots) + states


def copied_matrix(case: Case) -> list[Amount]:
    """Return the room for a matrix that a prompt is multiplied with on the device while it stands in the host's memory.

    One is copied at a time: a new part of the graph begins with each. Source: llama.cpp, ggml/src/ggml-backend.cpp
    (ggml_backend_sched_split_graph).
    """
    demand, placement = case.demand, case.placement
    if not placement.on_host:
        return []
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


def looked_up_bytes(stage: Stage, weights: Weights) -> int:
    """Return what the host keeps of a model whose layers are all on devices: the tables, of a tied one a copy."""
    return sum(size for _, size in table_sizes(stage, weights, 1))


def tables(stage: Stage) -> list[Tensor]:
    """Return the tables of a first stage that stay in the host's memory: rows of them are looked up there."""
    found = stage.architecture.embeddings
    return [*found[:1], *(table for table in found[1:] if table.name in LAYER_TABLES)]


@lru_cache(maxsize=512)  # the same for any number of sequences and any device
def table_sizes(stage: Stage, weights: Weights, ranks: int) -> list[tuple[str, int]]:
    """Return the tables of a stage by name with the bytes of a rank's part of each."""
    return [(table.name, table_bytes(stage, weights, ranks, table)) for table in tables(stage)]


def table_bytes(stage: Stage, weights: Weights, ranks: int, table: Tensor) -> int:
    """Return the bytes of a rank's part of a table; of a file's weights by its share of the embeddings."""
    if isinstance(weights, StoredWeights):
        every = sum(tensor.elements for tensor in stage.architecture.embeddings)
        return weights.embeddings * table.elements // every // ranks
    for tensor, _, number_format in stored_tensors(stage, weights):
        if tensor.name == table.name:
            return stored_bytes(shape=(-(-table.shape[0] // ranks), *table.shape[1:]), number_format=number_format)
    return 0


def cell_bytes(case: Case, slots: Slots) -> int:
    """Return the cache of all cells; layers with a window have cells for the window and a micro-batch, or once all."""
    whole = case.engine.before(WINDOWED)
    entries = case.load.entries
    return sum(
        llama_cpp_cache_bytes(
            entries=tuple((cache._replace(window_tokens=None), size) for cache, size in entries) if whole else entries,
            context_tokens=slots.context,
            sequences=slots.sequences,
            unified=slots.unified,
            micro_batch_tokens=micro_batch(case),
        )
    )
