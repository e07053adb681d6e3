"""A host's processor: the seconds in which it reads weights from its memory, unpacks and multiplies them."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.memory.placement import Host
from calc.performance.device_laws import PLAIN_KERNELS
from calc.performance.operations import Attention, Collective, Experts, HostCopy, Operation, Pass, Product
from calc.performance.pass_times import HOST, Timed

# Codes that stand for four or eight weights in a table: each is a load of its own, some 40 instructions for 32 weights
# where masks take a dozen (ggml-cpu/arch/x86/quants.c, ggml_vec_dot_iq3_xxs_q8_K).
IN_TABLES = ("iq1-s", "iq1-m", "iq2-xxs", "iq2-xs", "iq2-s", "iq3-xxs", "iq3-s")
TABLE_FACTOR = 3.0
# Formats without a kernel that takes several tokens at once: neither repacked in panels (ggml-cpu/repack.cpp) nor in
# tinyBLAS (llamafile/sgemm.cpp, https://github.com/ggml-org/llama.cpp/pull/10010), so that each token unpacks anew. Of
# routed experts all do: ggml_compute_forward_mul_mat_id goes row by row, and so do its panels.
ONE_BY_ONE = (*IN_TABLES, "iq4-xs", "q3-k", "q4-1", "q5-1", "q5-k", "q6-k")


class ProcessorLaw(NamedTuple):
    """How fast a processor works under an engine."""

    read: float  # bytes a second
    rate: float  # operations a second on 8-bit numbers
    plain_rate: float  # the same on numbers that are not quantised
    unpack: float  # operations for each quantised weight, before it is multiplied with any token, or with each
    start_s: float  # of an operation: each thread that is done tells all others, as many times as there are pairs


def processor_law(host: Host, values: Mapping[str, float]) -> ProcessorLaw:
    """Return the law of a host's processor from an engine's coefficients."""
    rate = host.rate * values["processor_rate_share"]
    return ProcessorLaw(
        read=host.bandwidth * values["processor_read_share"],
        rate=rate,
        plain_rate=rate * values["processor_plain_factor"],
        unpack=values["processor_unpack"],
        start_s=host.cores**2 * values["processor_pair_s"],
    )


def processor_s(law: ProcessorLaw, operation: Operation) -> float:
    r"""Return the seconds of an operation: $t_0 n + B / \text{read} + (F + u W) / \text{rate}$.

    Threads that read do not compute meanwhile: a core waits for what it fetches, so the two add up. $u$ operations
    unpack each of the $W$ weights, once for all tokens; for each where kernels take one token.
    """
    if isinstance(operation, Collective | HostCopy):
        return 0.0
    plain, weights, moved, starts = True, 0.0, operation.bytes, operation.launches
    if isinstance(operation, Product):
        plain, weights = (
            operation.kernel in PLAIN_KERNELS,
            operation.n * operation.k * anew(operation.kernel, operation.m),
        )
        moved = operation.weight_bytes  # operand and result stay in the processor's caches
    elif isinstance(operation, Experts):
        plain = operation.kernel in PLAIN_KERNELS
        unpacked = operation.tokens * operation.active * table_factor(operation.kernel)
        weights = unpacked * operation.matrices * operation.n * operation.k
        moved, starts = operation.weight_bytes, operation.matrices + 2.0
    elif not isinstance(operation, Attention):
        moved = getattr(operation, "state_bytes", 0.0)
    if plain:
        return law.start_s * starts + moved / law.read + operation.flops / law.plain_rate
    return law.start_s * starts + moved / law.read + (operation.flops + law.unpack * weights) / law.rate


def anew(kernel: str, tokens: float) -> float:
    """Return how often weights are unpacked, as if by masks, that some tokens are multiplied with."""
    return table_factor(kernel) * (tokens if kernel in ONE_BY_ONE else 1.0)


def table_factor(kernel: str) -> float:
    """Return times that unpacking a weight takes longer than by masks."""
    return TABLE_FACTOR if kernel in IN_TABLES else 1.0


def processor_parts(operations: Pass, law: ProcessorLaw) -> tuple[Timed, ...]:
    """Return the operations of a pass that a processor works on, with the seconds of each."""
    return tuple(Timed(operation, times, processor_s(law, operation), HOST) for operation, times in operations)
