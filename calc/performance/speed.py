"""The speeds of a demand under an engine: prefill, decoding, latency, and what bounds them."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.catalog.records import Accelerator
from calc.memory.budget import Demand, Layout
from calc.performance.decode import Decode, decode
from calc.performance.fabric import HOST, host_link, reached_share
from calc.performance.flops import Matrices, matrices
from calc.performance.prefill import Prefill, prefill
from calc.performance.roofline import Machine, machine

MOST_BATCH = 65_536


class Speed(NamedTuple):
    """Seconds of prefill and of a decoding step, for the sequences of one data-parallel rank."""

    machine: Machine
    matrices: Matrices
    prefill: Prefill
    decode: Decode
    together: int  # sequences of all data-parallel ranks
    prompt_tokens: int
    output_tokens: int
    device_share: float = 1.0  # of the layers
    host_s: float = 0.0  # of a step, in which the host works on the others

    @property
    def balanced_batch(self) -> int:
        """The sequences from which on a step's matrix products take longer than reading their weights."""
        dense, head = self.matrices.dense_bytes, self.matrices.head_bytes
        read = (dense + head + self.matrices.expert_bytes) / (self.machine.bandwidth * self.machine.weights_share)
        each = 2 * (self.matrices.dense + self.matrices.head + self.matrices.expert / self.machine.expert_share)
        return max(1, round(read / (each / (self.machine.matrix_rate * self.machine.matrix_share))))

    def figures(self, slower: float = 1.0, slower_prefill: float = 1.0) -> dict[str, float]:
        """Return the contract's figures, with times longer by the given factors."""
        first, step = self.prefill.seconds * slower_prefill, self.decode.step_s * slower
        found = {
            "prefill_tokens_per_s": self.together * self.prompt_tokens / first,
            "decode_tokens_per_s": self.together / step,
            "time_to_first_token_s": first,
            "time_per_output_token_s": step,
        }
        if self.output_tokens:
            whole = first + step * max(self.output_tokens - 1, 0)
            found["output_tokens_per_s"] = self.together * self.output_tokens / whole
        return found


def speed_of(
    *,
    demand: Demand,
    layout: Layout,
    accelerator: Accelerator,
    values: Mapping[str, float],
    output_tokens: int,
    cached_tokens: int,
    batched_tokens: int | None,
    attention: str = "flash",
    device_share: float = 1.0,
) -> Speed | None:
    """Return the speed under an engine's coefficients, None where the device's rates are not known.

    Layers that are not on the device are read from the host's memory in each step, by its processor. A prefill sends
    their weights to the device in each pass, which multiplies there.
    """
    found = machine(accelerator=accelerator, weights=demand.weights, values=values, layout=layout, attention=attention)
    if found is None:
        return None
    parameters = matrices(demand, layout)
    sequences = demand.sequences_on(layout)
    first = prefill(
        demand=demand,
        layout=layout,
        matrices=parameters,
        machine=found,
        sequences=sequences,
        cached_tokens=cached_tokens,
        batched_tokens=batched_tokens,
        overlaps=values["overlaps_prefill"],
    )
    step = decode(
        demand=demand,
        layout=layout,
        matrices=parameters,
        machine=found,
        sequences=sequences,
        output_tokens=output_tokens,
        overlaps=bool(values["overlaps_decode"]),
    )
    read = 0.0
    if device_share < 1:
        away = 1 - device_share
        host = host_link(accelerator)
        sent = away * first.work.weight_bytes / (host.bytes_per_s_one_way * reached_share(host, HOST, 2))
        first = first._replace(seconds=first.seconds + first.passes * sent)
        read = away * (step.work.weight_bytes + step.work.cache_bytes) / values["host_bandwidth"]
        step = step._replace(step_s=device_share * step.step_s + read)
    return Speed(
        found, parameters, first, step, demand.sequences, demand.prompt_tokens, output_tokens, device_share, read
    )
