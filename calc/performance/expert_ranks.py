"""How ranks of several replicas bring tokens to their experts under an engine, and how evenly experts have work."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.catalog.records import Accelerator
from calc.memory.budget import Demand, Layout

# Ranks beyond which it is expert parallelism on a large scale (TensorRT-LLM's blog of that name). Engines' guides then
# send tokens to their experts (vLLM's and SGLang's on expert parallelism: DeepEP) and balance what experts have to do.
MANY = 8
FP8_KERNELS = ("fp8", "fp8-block")
# What may be cast before it is gathered, and the arithmetic for it: one scale for all of a tensor, or one for each 16.
GATHERED_KERNELS = {"fp8": "fp8", "nvfp4": "fp4"}
# Bytes of an element with its share of a scale, by the kernel that multiplies it in that format: FP32 for each 128, FP8
# for each 16.
SENT_BYTES = {"fp8": 1.0, "fp8-block": 1.0 + 4.0 / 128, "nvfp4": 0.5 + 1.0 / 16}


class ExpertRanks(NamedTuple):
    """What expert ranks do beside their products."""

    gathers: bool = False  # each gets all tokens, and what experts answer is added up and divided again
    once: bool = False  # a token goes once to each rank that has any of its experts, not to each expert
    casts: frozenset[str] = frozenset()  # kernels whose operands are sent in their own format
    balanced: bool = False
    busy: int = 0  # replicas that have a request, where some have none; 0: all
    reading: int = 0  # replicas that read a prompt in a pass over prompts, where others have none; 0: all

    def replicas(self, joined: int) -> int:
        """Return of how many replicas the tokens differ: those without a request all pass the same one along."""
        if self.reading:
            return min(self.reading, joined)
        return min(self.busy + 1, joined) if self.busy else joined

    def senders(self, ranks: int, joined: int) -> float:
        """Return how many of so many ranks have tokens to send."""
        return ranks * min(self.reading, joined) / joined if self.reading else ranks

    def copies(self, active: int, ranks: int) -> float:
        """Return how many copies of a token leave a rank, if its experts are on any of them alike."""
        return ranks * (1.0 - (1.0 - 1.0 / ranks) ** active) if self.once else float(active)

    def sent_bytes(self, kernel: str, element_bytes: float) -> float:
        """Return the bytes of an element on its way to an expert."""
        return SENT_BYTES[kernel] if kernel in self.casts else element_bytes


def expert_ranks(
    values: Mapping[str, float], demand: Demand, layout: Layout, accelerator: Accelerator | None
) -> ExpertRanks:
    """Return what an engine does with as many expert ranks as a layout has."""
    many = layout.expert > MANY
    gathers = bool(values.get("gathers_tokens")) and not many
    casts: list[str] = []
    if gathers and values.get("gathers_cast") and accelerator is not None:
        casts += [kernel for kernel in GATHERED_KERNELS if accelerator.quantity(GATHERED_KERNELS[kernel])]
    if not gathers and accelerator is not None:
        casts += FP8_KERNELS if values.get("sends_fp8") and accelerator.quantity("fp8") else ()
        casts += ("nvfp4",) if accelerator.quantity("fp4") else ()
    balanced = balances(layout.expert, demand.balances_experts)
    return ExpertRanks(gathers, bool(values.get("sends_once")), frozenset(casts), balanced)


def balances(ranks: int, said: bool | None) -> bool:
    """Return whether experts are placed by what they have to do: as was said, or on a large scale."""
    return ranks > MANY if said is None else said
