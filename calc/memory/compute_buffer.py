"""llama.cpp's compute buffer: the widest moment of the graph of a micro-batch, all in FP32 but for masks.

Tensors of a graph take each other's place once nothing reads them. What is alive together at a moment was read off the
sizes that builds reserve for models of known shape; `tests/memory/test_compute_buffer.py` holds them.
Source: llama.cpp, src/llama-graph.cpp for what is computed, ggml/src/ggml-alloc.c for what stands where.
"""

from typing import NamedTuple

from calc.architecture.layers import Attention, Layer
from calc.architecture.stages import local_heads
from calc.architecture.tensors import SPLIT_IN
from calc.memory.cache_layouts import llama_cpp_cells, llama_cpp_window_cells, past_elements
from calc.memory.gguf_mixtures import TABLES as LAYER_TABLES
from calc.memory.runtime import ALLOCATED, EAGER, Amount, Case

FP32_BYTES, FP16_BYTES, HALF_BITS = 4, 2, 16
COPIES = 4  # of a graph's inputs that a pipeline keeps: GGML_SCHED_MAX_COPIES
CUDA_VENDORS = ("NVIDIA", "AMD")  # whose kernels unpack a quantised cache before a prompt attends to it


class Slots(NamedTuple):
    """How a server is set up: the sequences it has room for, and the streams of cells that its cache is made of."""

    sequences: int
    streams: int  # 1: one that all sequences share
    context: int  # cells that are asked for, of all streams together

    @property
    def unified(self) -> bool:
        """Whether all sequences share the cells."""
        return self.streams == 1


class Moment(NamedTuple):
    """What is alive at once: elements in FP32 for each token of a micro-batch, and what stands beside them."""

    id: str
    label: str
    elements: int
    half_masks: int = 2  # halves of the masks' bytes: 2 are the masks themselves
    logits: int = 0  # bytes of a position whose logits are wanted
    cell: int = 0  # bytes of a cell that is unpacked
    state: int = 0  # bytes of a slot's states

    def rest(self, seen: int, outputs: int, cells: int, slots: int) -> int:
        """Return the bytes beside, with masks of `seen` bytes and so many positions, cells and slots."""
        return self.half_masks * seen // 2 + outputs * self.logits + cells * self.cell + slots * self.state


def server_slots(case: Case) -> Slots:
    """Return how llama.cpp's server is set up.

    Where nothing is said it has the slots of its version, which share one context. Stated slots, or more sequences
    than that, are `--parallel`: each has cells of its own since caches are kept in streams. Source: llama.cpp,
    tools/server/server.cpp.
    """
    usual = case.engine.whole("slots")
    count = case.slots or max(usual, case.sequences)
    stated = case.slots is not None or case.sequences > usual
    if stated and case.engine.values["cache_streams"]:
        return Slots(count, count, count * case.demand.tokens)
    return Slots(count, 1, case.sequences * case.demand.tokens)


def micro_batch(case: Case) -> int:
    """Return the tokens of a micro-batch."""
    return case.batched_tokens or case.engine.whole("batched_tokens")


def compute_buffer(case: Case, slots: Slots) -> Amount:
    """Return the compute buffer of a device: its widest moment, and what a pipeline keeps of its inputs.

    Devices are no pipeline where layers or experts stand on the host. Source: llama.cpp, src/llama-context.cpp.
    """
    tokens = min(micro_batch(case), slots.streams * stream_cells(slots))
    eager = case.attention == EAGER
    by_slot = bool(case.engine.values["outputs_by_slot"])
    seen = masks(case, slots, tokens, FP16_BYTES if by_slot and not eager else FP32_BYTES)
    outputs = tokens if case.demand.all_logits else min(slots.sequences, tokens)
    cells = stream_cells(slots) * slots.streams
    moments = case.once("moments", reserved_moments if by_slot else unreserved_moments)
    rests = [moment.rest(seen, outputs, cells, slots.sequences) for moment in moments]
    found = zip(moments, rests, strict=True)
    widest, rest = max(found, key=lambda pair: tokens * pair[0].elements * FP32_BYTES + pair[1])
    inputs = 0
    if case.layout.pipeline > 1 and not case.placement.on_host:
        inputs = (COPIES - 1) * seen + COPIES * tokens * case.stage.architecture.hidden_size * FP32_BYTES
    return Amount(
        id=widest.id,
        label=f"Compute buffer: {widest.label}",
        bytes=tokens * widest.elements * FP32_BYTES + rest + inputs,
        scope=ALLOCATED,
        formula=r"u \cdot w \cdot 4 + M_{\text{masks, scores, logits}} + M_{\text{copies}}",
        template="{} × {} × 4 + {} + {}",
        numbers=(tokens, widest.elements, rest, inputs),
        source=case.engine.source,
    )


def stream_cells(slots: Slots) -> int:
    """Return the cells of a stream."""
    return llama_cpp_cells(context_tokens=slots.context, sequences=slots.streams, unified=slots.unified)


def masks(case: Case, slots: Slots, tokens: int, each: int) -> int:
    """Return the bytes of the masks: one for layers that see everything, and one for those with a window."""
    cells = stream_cells(slots)
    widths = [
        cells
        if window is None
        else llama_cpp_window_cells(
            window_tokens=window,
            micro_batch_tokens=micro_batch(case),
            sequences=slots.sequences,
            unified=slots.unified,
            cells=cells,
        )
        for window in case.once("windows", windows)
    ]
    return tokens * sum(widths) * each


def windows(case: Case) -> set[int | None]:
    """Return the windows of a stage's layers, None for those that see everything."""
    return {cache.window_tokens for kind, _ in case.stage.kind_counts() for cache in kind.caches}


def reserved_moments(case: Case) -> list[Moment]:
    """Return the moments of builds that reserve logits of the slots alone.

    Four tensors of the hidden size are always alive: the copy of the input, the stream, and what stood before and after
    a norm. So are the tokens' embeddings for each layer, as they come and in the order of layers.
    """
    always = 4 * case.stage.architecture.hidden_size
    always += sum(2 * table.shape[1] for table in case.stage.architecture.embeddings if table.name in LAYER_TABLES)
    found = [Moment("logits", "logits", always, logits=head(case) * FP32_BYTES)]
    for kind, _ in case.stage.kind_counts():
        found.append(Moment("activations", "MLP", always + mlp_elements(kind, case)))
        if kind.attention is not None and case.attention == EAGER:
            found.append(eager_moment(kind, kind.attention, case))
        elif kind.attention is not None:
            elements = always + attention_elements(kind, kind.attention, case)
            found.append(Moment("activations", "attention", elements, cell=unpacked_bytes(kind, case)))
        if kind.recurrence is not None:
            states = sum(past_elements(state, case.layout.tensor) for state in kind.states)
            elements = always + -(-kind.recurrence.width // case.layout.tensor)
            found.append(Moment("activations", "recurrence", elements, state=2 * states * FP32_BYTES))
    return found


def head(case: Case) -> int:
    """Return the logits of a position on the stage's devices."""
    return case.stage.architecture.output_size if case.stage.is_last else 0


def mlp_elements(kind: Layer, case: Case) -> int:
    """Return the elements of a token in an MLP: gate, up and their product, or the inner width alone, in place.

    In a mixture each expert of a token has them. What the experts return takes the place of gate and up where that is
    wide enough, and stands beside them where it is not.
    """
    tensor = case.layout.tensor
    times = 3 if kind.mlp_gated else 1
    for matrix in kind.tensors:
        if matrix.block == "expert" and matrix.active and matrix.split == SPLIT_IN and len(matrix.shape) == 2:
            inner, returned = matrix.active * -(-matrix.shape[1] // tensor), matrix.active * matrix.shape[0]
            return times * inner + (returned if returned > (times - 1) * inner else 0)
    return times * -(-kind.mlp_width // tensor)


def projected(kind: Layer, attention: Attention, case: Case) -> int:
    """Return the width of a layer's queries as they are projected: with a gate for each where there is one."""
    hidden = case.stage.architecture.hidden_size
    own = attention.heads * attention.head_dim
    made = [matrix.shape[0] for matrix in kind.tensors if matrix.block == "attention" and matrix.shape[1:] == (hidden,)]
    return -(-max([own, *made]) // case.layout.tensor)


def attention_elements(kind: Layer, attention: Attention, case: Case) -> int:
    """Return the elements of a token in attention that is computed in tiles.

    Queries and the output, each with their gate; keys and values stand in place of the normed input if they fit. Of
    latent attention, queries as projected, multiplied into the latent space, and joined with their rotated part.
    """
    heads = local_heads(attention.heads, case.layout.tensor)
    if attention.latent and kind.caches:
        return heads * (2 * kind.caches[0].key_dim + attention.head_dim)
    keys = 2 * local_heads(attention.kv_heads, case.layout.tensor) * attention.head_dim
    return 2 * projected(kind, attention, case) + (keys if keys > case.stage.architecture.hidden_size else 0)


def eager_moment(kind: Layer, attention: Attention, case: Case) -> Moment:
    """Return the moment of a layer whose scores are stored, in FP32."""
    tensor = case.layout.tensor
    heads, own = local_heads(attention.heads, tensor), local_heads(attention.kv_heads, tensor)
    elements = 2 * case.stage.architecture.hidden_size + projected(kind, attention, case)
    elements += 2 * (heads + own) * attention.head_dim
    return Moment("activations", "attention", elements, half_masks=2 * (1 + heads))


def unpacked_bytes(kind: Layer, case: Case) -> int:
    """Return a cell's keys and values of a layer in FP16, where a cache of another format is unpacked for a prompt.

    Source: llama.cpp, ggml/src/ggml-cuda/fattn-common.cuh.
    """
    formats = (case.demand.keys, "key_dim"), (case.demand.values, "value_dim")
    sides = [side for number_format, side in formats if number_format.bits != HALF_BITS]
    device = None if case.placement.alone else case.accelerator
    if not sides or device is None or device.vendor not in CUDA_VENDORS:
        return 0
    return sum(
        local_heads(cache.heads, case.layout.tensor) * getattr(cache, side) * FP16_BYTES
        for cache in kind.caches
        if cache.window_tokens is None and cache.fixed_tokens is None
        for side in sides
    )


def unreserved_moments(case: Case) -> list[Moment]:
    """Return the moments of builds that reserve logits of a whole micro-batch, and have masks in FP32.

    With attention in tiles the mask is cast to FP16 beside it. The gate of an MLP is opened in place.
    """
    hidden, tensor = case.stage.architecture.hidden_size, case.layout.tensor
    kinds = [kind for kind, _ in case.stage.kind_counts()]
    width = max((-(-kind.mlp_width // tensor) for kind in kinds), default=0)
    heads = max((local_heads(kind.attention.heads, tensor) for kind in kinds if kind.attention), default=0)
    beside = 2 * heads if case.attention == EAGER else 1
    return [
        Moment("logits", "logits", head(case) + hidden if head(case) else 0, half_masks=0),
        Moment("activations", "MLP", 2 * hidden + 2 * width),
        Moment("activations", "attention", 4 * hidden, half_masks=2 + beside),
    ]
