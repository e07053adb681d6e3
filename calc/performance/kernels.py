"""Seconds of an operation on a device: the law of its kind and kernel, asked for its sizes."""

from collections.abc import Callable
from math import inf

from calc.catalog.records import Accelerator
from calc.performance.collectives import ALL_REDUCE, ALL_TO_ALL, RING, SEND, step_count
from calc.performance.device_laws import PLAIN, PLAIN_KERNELS, POINTWISE, RECURRENCE, DeviceLaws
from calc.performance.device_rates import matrix_rate
from calc.performance.fabric import copied_share, host_link
from calc.performance.kernel_laws import (
    TILE_HEADS,
    TILE_QUERIES,
    blend,
    busiest_rank,
    decode_s,
    experts_s,
    message_s,
    most_touched,
    prefill_s,
    product_s,
    stream_s,
    tiled_rows,
)
from calc.performance.operations import (
    UPDATE_KERNELS,
    Attention,
    Collective,
    Copy,
    Experts,
    HostCopy,
    Operation,
    Pointwise,
    Product,
    Recurrence,
)
from calc.performance.own_kernels import LIBRARIES, OwnKernels, filled, gathered_s, idle_parts_s, in_pages, walk_s
from calc.performance.transfers import ways

MOST_DECODED = 16.0  # new tokens of a sequence up to which attention is bound as one token's is
UNPACKED = ("w4a16", "w8a16")  # weights are unpacked in registers, and multiplied by the instructions of threads
UNPACKED_ROWS = 0.4  # of the rows of a whole group's: 16 for 64, at 0.62 of the rate (arXiv:2402.13499)
EXPERT_PRODUCTS = 2  # of each expert: gate and up together, and down
READ_SHARPNESS = 8.0  # of memory and compute units, whichever gives fewer bytes: nearly all of what the slower gives
PLAIN_CODES = ("q4-0", "q8-0")  # packed weights whose codes are multiplied as they are, with one scale for a block
FEW_PACKED = 2  # tokens of a sequence over a packed cache that vector kernels take: ggml_cuda_get_best_fattn_kernel
FEW_ROWS = 8  # of a product that kernels for vectors take: llama.cpp's MMVQ_MAX_BATCH_SIZE
# Tokens up to which one kernel multiplies all experts in 16 bit, whatever their width: ggml_cuda_should_use_mmf.
MOST_GROUPED = 128
MACHINE = "machine"  # the ranks of a group that stand in one


class Kernels(DeviceLaws):
    """How fast one device does each kind of operation, under one engine's kernels."""

    def __init__(self, accelerator: Accelerator, engine: str = "", own: OwnKernels = LIBRARIES) -> None:
        super().__init__(accelerator, engine, own)
        self.asked = own.vector_bytes * self.unit_clocks if own.vector_bytes else inf  # bytes a second of weights
        self.given = min(self.bandwidth, self.asked)
        # Seconds in training, which looks for layouts, by how many times as long it takes in FP32.
        self.known = dict[float, dict[Operation, float]]()
        host = host_link(accelerator)
        self.host_rate = host.bytes_per_s_one_way * copied_share(host)
        self.by_kind: dict[type, Callable[..., float]] = {  # the seconds of an operation
            Product: self.product,
            Experts: self.experts,
            Attention: self.attention,
            Recurrence: self.recurrence,
            Pointwise: self.pointwise,
            Copy: self.copy,
            Collective: self.collective,
            HostCopy: self.host_copy,
        }

    def seconds(self, operation: Operation) -> float:
        """Return the seconds of one operation, on an otherwise idle device, without what an engine adds."""
        return self.by_kind[type(operation)](operation)

    def product(self, operation: Product) -> float:
        """Return the seconds of a matrix product."""
        _, m, n, k, kernel, weight_bytes, io_bytes = operation
        law = self._products.get(kernel) or self._product_law(kernel)
        least = self.least_rows * UNPACKED_ROWS if kernel in UNPACKED else self.least_rows
        rows = m if m > least or self.in_integers(kernel) else least
        moved = weight_bytes + io_bytes
        if m <= FEW_ROWS and self.own.vector_start_s:
            reading = self.vector_read_s(moved, law.read, n * k, kernel)
            return self.own.vector_start_s + blend(reading, 2.0 * m * n * k / law.rate, law.sharpness)
        seconds = product_s(law, m=m, k=k, flops=2.0 * rows * n * k, moved_bytes=moved)
        if not self.own.vector_start_s and not self.own.vector_weights and self.asked == inf:
            return seconds  # which has read them
        return max(seconds, self.own.vector_start_s + self.vector_read_s(moved, law.read, n * k, kernel))  # of few rows

    def vector_read_s(self, size_bytes: float, read: float, weights: float, kernel: str) -> float:
        """Return the seconds in which kernels for a few rows read weights, which wait for the slowest of three.

        Memory gives them, compute units ask for them, and take apart the bits of packed ones.
        """
        reading = blend(size_bytes / read, size_bytes / self.asked, READ_SHARPNESS)
        most = self.own.vector_codes if kernel in PLAIN_CODES else self.own.vector_weights
        if not most or kernel in PLAIN_KERNELS:
            return reading
        return blend(reading, weights / (most * self.unit_clocks), READ_SHARPNESS)

    def cast_s(self, operation: Product) -> float:
        """Return the part of a product's seconds in which its operand is brought to the format of the weights."""
        law = self._products.get(operation.kernel) or self._product_law(operation.kernel)
        return (law.quantize_s * operation.k + law.row_s) * operation.m

    def experts(self, operation: Experts) -> float:
        """Return the seconds of the products of a layer's routed experts."""
        if self.own.expert_tile:
            return self.tiled_experts(operation)
        law = self._experts.get(operation.kernel) or self._experts_law(operation.kernel)
        rows, ranks, touched = operation.tokens * operation.active, operation.ranks, operation.touched
        if ranks > 1 and self.engine:  # in training a loss evens loads out
            experts, tokens, balanced = operation.experts * ranks, operation.tokens, operation.balanced
            rows *= busiest_rank(experts=experts, ranks=ranks, tokens=tokens, balanced=balanced)
            touched = most_touched(experts=operation.experts, touched=touched, ranks=ranks)
        starts = 0.0
        if self.own.experts_in_turn and operation.kernel in UNPACKED:
            plain = self._products.get(PLAIN) or self._product_law(PLAIN)
            starts = EXPERT_PRODUCTS * operation.experts * plain.start_s
        return starts + experts_s(
            law,
            rows=rows,
            touched=touched,
            width=operation.n,
            depth=operation.k + operation.n,
            flops_per_row=2.0 * operation.matrices * operation.n * operation.k,
            moved_bytes=operation.weight_bytes * touched / operation.touched + operation.io_bytes,
        )

    def tiled_experts(self, operation: Experts) -> float:
        """Return the seconds of experts whose products are like an engine's others, each in tiles of its own."""
        if self.own.plain_in_turn and operation.tokens > MOST_GROUPED and operation.kernel in PLAIN_KERNELS:
            return self.plain_experts(operation)
        law = self._products.get(operation.kernel) or self._product_law(operation.kernel)
        rows, starts = operation.tokens * operation.active, self.own.expert_kernels
        if operation.tokens > FEW_ROWS and self.own.experts_in_turn:  # whose rows are gathered: none is empty
            starts += self.own.experts_in_turn * operation.matrices * operation.touched
        elif operation.tokens > FEW_ROWS:
            tile = min(self.own.expert_tile, operation.tokens)
            idle = tiled_rows(rows=rows, touched=operation.touched, tile=tile) - rows
            rows += self.own.expert_idle_share * idle
        flops = 2.0 * rows * operation.matrices * operation.n * operation.k
        weights = operation.touched * operation.matrices * operation.n * operation.k
        reading = self.vector_read_s(operation.weight_bytes, law.read, weights, operation.kernel)
        worked = blend(reading, flops / law.rate, law.sharpness)
        return starts * self.own.vector_start_s + worked + self.beside_experts(operation, law.read)

    def beside_experts(self, operation: Experts, read: float) -> float:
        """Return the seconds that a layer's routed experts take beside their products.

        What they read and write passes memory, and a host that sorts rows compares each with all experts.
        """
        passing = self.own.expert_passes * operation.io_bytes / read
        if operation.tokens <= FEW_ROWS or not self.own.experts_sort_s:
            return passing
        compared = operation.matrices * operation.tokens * operation.active * operation.experts
        return passing + self.own.experts_sort_s * compared

    def plain_experts(self, operation: Experts) -> float:
        """Return the seconds of experts in 16 bit that a library multiplies one after the other."""
        count = operation.touched * operation.matrices
        one = Product(
            operation.name,
            m=operation.tokens * operation.active / operation.touched,
            n=operation.n,
            k=operation.k,
            kernel=operation.kernel,
            weight_bytes=operation.weight_bytes / count,
            io_bytes=operation.io_bytes / count,
        )
        around = self.own.expert_kernels + self.own.plain_in_turn * count
        beside = self.beside_experts(operation, self.bandwidth)
        return around * self.own.vector_start_s + count * self.product(one) + beside

    def attention(self, operation: Attention) -> float:
        """Return the seconds of attention: of many new tokens, or of the next ones after a cache."""
        key, own = (operation.latent, operation.kernel), self.own
        if operation.queries > MOST_DECODED:
            prefill, operation = self._prefills.get(key) or self._prefill_law(*key), filled(operation, own.prompt_heads)
            if not operation.value_dim:  # scores of an indexer: no exponentials are taken
                prefill = prefill._replace(setup_width=0.0)
            elif own.prompt_share and in_pages(operation):
                prefill = prefill._replace(rate=own.prompt_share * prefill.rate)
            queries, pairs = operation.sequences * operation.queries, operation.pairs
            if operation.window and not operation.chosen:  # a tile of queries goes over all keys that any of them sees
                pairs = min(pairs + TILE_QUERIES * queries, operation._replace(window=None).pairs)
            # Queries are read and results written in 16 bit.
            moved = 2.0 * queries * operation.heads * (operation.key_dim + operation.value_dim)
            seconds = prefill_s(
                prefill,
                pairs=pairs,
                queries=queries,
                heads=operation.heads,
                widths=operation.key_dim + operation.value_dim,
                moved_bytes=operation.cache_bytes + moved,
                latent=operation.latent,
            )
            return max(seconds, gathered_s(own, operation, self.unit_clocks)) if own.gather_cycles else seconds
        decode, operation = self._decodes.get(key) or self._decode_law(*key), filled(operation, own.step_heads)
        rows = operation.queries * operation.heads / operation.kv_heads
        padding = TILE_HEADS / rows if rows < TILE_HEADS and not own.heads_alone else 1.0
        keys = operation.keys + operation.queries
        keys = min(keys, operation.window or keys)
        seconds = decode_s(
            decode,
            keys=keys,
            turns=operation.sequences * operation.kv_heads / self.attending,
            flops=operation.flops * padding,
            cache_bytes=operation.cache_bytes,
        )
        if operation.padding:
            prefill = self._prefills.get(key) or self._prefill_law(*key)
            widths = operation.key_dim + operation.value_dim + 2.0 * prefill.setup_width
            tiles_s = 2.0 * operation.pairs * operation.heads * operation.padding * widths / prefill.rate
            seconds = blend(seconds, tiles_s, prefill.sharpness)
        if own.packed_elements and operation.queries <= FEW_PACKED and operation.kernel not in PLAIN_KERNELS:
            elements = operation.pairs * operation.heads * (operation.key_dim + operation.value_dim)
            seconds = max(seconds, decode.start_s + elements / (own.packed_elements * self.unit_clocks))
        if own.part_s:
            seconds += idle_parts_s(own, operation, keys=keys)
        if not (own.key_walk_s or own.latent_cycles):
            return seconds
        clocks, start_s = self.unit_clocks, decode.start_s
        return max(seconds, walk_s(own, operation, keys=keys, units=self.units, unit_clocks=clocks, start_s=start_s))

    def recurrence(self, operation: Recurrence) -> float:
        """Return the seconds of a recurrent mixer's update."""
        law = self._streams.get(RECURRENCE) or self._stream_law(RECURRENCE)
        return stream_s(
            law,
            launches=UPDATE_KERNELS,
            flops=operation.flops,
            moved_bytes=operation.state_bytes,
            steps=operation.tokens / operation.sequences,
        )

    def pointwise(self, operation: Pointwise | Copy) -> float:
        """Return the seconds of work on each element for itself."""
        law = self._streams.get(POINTWISE) or self._stream_law(POINTWISE)
        return stream_s(law, launches=operation.kernels, flops=0.0, moved_bytes=operation.bytes, steps=0.0)

    def copy(self, operation: Copy) -> float:
        """Return the seconds of a pass over memory that an engine adds: as fast as memory, or as threads take it."""
        return max(self.pointwise(operation), operation.cycles / self.unit_clocks)

    def collective(self, operation: Collective) -> float:
        """Return the seconds of a message among a group of ranks."""
        if operation.ranks == 1:
            return 0.0
        kind, group, ranks, small = operation.kind, operation.group, operation.ranks, self.is_small(operation)
        key = kind, group, ranks, small
        if key not in self._messages:
            self._messages[key] = self.message_law(kind, group, ranks, is_own=self.is_own(operation))
        law = self._messages[key]
        if law is None:
            joined_by, seconds = self.joined_ranks(group, ranks), self.by_library(operation)
            if joined_by.machines > 1 and joined_by.inside > 1 and kind not in (ALL_TO_ALL, SEND):
                # A ring passes all that it sends through each machine, too, whose devices are joined as usual.
                return max(seconds, self.collective(operation._replace(group=MACHINE, ranks=joined_by.inside)))
            return seconds
        steps = step_count(kind, ranks=ranks, algorithm=RING)
        return message_s(law, steps=steps, sent_bytes=operation.sent_bytes)

    def by_library(self, operation: Collective) -> float:
        """Return the seconds of a message by that protocol of a library which takes least time for it."""
        key = operation.kind, operation.group, operation.ranks, operation.copies
        if key not in self._ways:
            joined_by = self.joined_ranks(operation.group, operation.ranks)
            found = ways(operation.kind, joined_by, operation.message_bytes, copies=operation.copies)
            self._ways[key] = [(way.waiting, way.rate) for way in found]
        sent = operation.sent_bytes
        return min([waiting + sent / rate for waiting, rate in self._ways[key]])

    def is_own(self, operation: Collective) -> bool:
        """Return whether an engine sends a message by a kernel of its own, where it has one beside a library's.

        What is added up and not too large is, among ranks that reach each other. Tokens go to their experts as fast as
        by NCCL.
        """
        return self.is_small(operation) and self.joined_ranks(operation.group, operation.ranks).direct

    def is_small(self, operation: Collective) -> bool:
        """Return whether a message is added up and small enough for an engine's own kernel."""
        return operation.kind == ALL_REDUCE and operation.message_bytes <= self.own.sum_bytes

    def host_copy(self, operation: HostCopy) -> float:
        """Return the seconds of a copy between host and device."""
        return operation.copied_bytes / self.host_rate


def kernels(accelerator: Accelerator, *, engine: str = "", own: OwnKernels = LIBRARIES) -> Kernels | None:
    """Return the kernels of a device under an engine, None where neither bandwidth nor any rate is known."""
    found = Kernels(accelerator, engine, own)
    if not found.bandwidth or not matrix_rate(accelerator, PLAIN, found.family.operations_per_byte):
        return None
    return found
