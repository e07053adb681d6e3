"""Seconds of the operations of a training step, each alone on a device, by what makes it slower in a step."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.memory.training.plan import FSDP, MEGATRON, Plan
from calc.performance.between_products import ADDED, BIASES
from calc.performance.device_rates import matrix_rate
from calc.performance.exchanges import stride
from calc.performance.fabric import NETWORK, joined, reached_share
from calc.performance.forward import EXPERT
from calc.performance.kernels import Kernels
from calc.performance.operations import (
    Attention,
    AttentionBackward,
    Collective,
    Counted,
    Experts,
    HostCopy,
    Operation,
    Pass,
    Pointwise,
    Product,
)
from calc.performance.totals import total_launches
from calc.performance.training_passes import CASTS, FP32, NARROW_SCHEME, UNALIGNED, UNPACKING, StepPasses, step_passes

# Kinds of operations, by what makes them slower in a step than alone.
MOST_KNOWN = 1024  # operations of a device whose seconds are remembered
PRODUCTS, ATTENTION, BACKWARD = "products", "attention", "attention-backward"
MOVED, ADAPTED, UNPACKED, COPIED = "moved", "adapted", "unpacked", "copied"
SENT = "sent"  # which is no kind of its own: it runs beside the others
# Kernels that turn the queries or keys of one packed sequence (Megatron Core's _apply_rotary_pos_emb_thd until August
# 2026): cosine and sine, each scaled and cast, half the head negated and joined, two products, their sum, two copies;
# and those of their gradients.
TURNED, TURNED_BACK = 13, 11
EXPERT_PRODUCTS = 2  # of each expert in a pass: the way in, gated or not, and the way out
ON_DEVICE = (PRODUCTS, ATTENTION, BACKWARD, MOVED, ADAPTED, UNPACKED)


class Part(NamedTuple):
    """Operations that are alike, with the seconds of each on an otherwise idle device."""

    operation: Operation
    times: float
    alone_s: float

    @property
    def seconds(self) -> float:
        """Seconds of all of them."""
        return self.times * self.alone_s


class Launches(NamedTuple):
    """Kernels that the host launches, by what it has to go through before each."""

    led: float = 0.0  # code in Python leads to each, and autograd's nodes: products, attention, what is moved between
    within: float = 0.0  # one of several in a call: messages and casts inside a module
    looped: float = 0.0  # in a loop: experts in C++, the operations of packed sequences
    hooked: float = 0.0  # messages of sharded units, which hooks before and after their modules lead to
    views: float = 0.0  # tensors of these units, which the hooks make anew

    def __add__(self, other: "Launches") -> "Launches":  # type: ignore[override]
        """Return those of two passes."""
        return Launches(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Grouped(NamedTuple):
    """A pass whose alike operations count together: by what they are, and what is sent; the same on any device."""

    kinds: Mapping[str, tuple[Counted, ...]]
    sent: tuple[Counted, ...]
    launches: Launches
    routed: Launches  # of these, those of routed experts and of what goes to them
    experts: float  # in all passes through layers of experts


class Timed(NamedTuple):
    """A pass in seconds of its kernels alone: by what they are, and what is sent."""

    clock: "Clock"
    passed: tuple[Grouped, ...]
    sums: Mapping[str, float]
    sent: tuple[Part, ...]
    launches: Launches
    routed: Launches  # of these, those of routed experts and of what goes to them

    @property
    def parts(self) -> Mapping[str, tuple[Part, ...]]:
        """Its operations by what they are, each with its seconds: few ask for more than the sums."""
        kinds = dict.fromkeys(kind for one in self.passed for kind in one.kinds)
        return {
            kind: self.clock.parts([item for one in self.passed for item in one.kinds.get(kind, ())]) for kind in kinds
        }


def joined_passes(first: Timed, second: Timed) -> Timed:
    """Return two passes as one."""
    kinds = (*first.sums, *(kind for kind in second.sums if kind not in first.sums))
    return Timed(
        first.clock,
        (*first.passed, *second.passed),
        sums={kind: first.sums.get(kind, 0.0) + second.sums.get(kind, 0.0) for kind in kinds},
        sent=(*first.sent, *second.sent),
        launches=first.launches + second.launches,
        routed=first.routed + second.routed,
    )


def kind_of(one: Operation) -> str:
    """Return what an operation is."""
    if isinstance(one, Product | Experts):
        return PRODUCTS
    if isinstance(one, Attention):
        return ATTENTION
    if isinstance(one, AttentionBackward):
        return BACKWARD
    if isinstance(one, HostCopy):
        return COPIED
    return {UNPACKING: UNPACKED, ADDED: ADAPTED}.get(one.name, MOVED)


def grouped(passed: Pass) -> Grouped:
    """Return a pass with alike operations together."""
    counts: dict[Operation, float] = {}
    for one, times in passed:
        counts[one] = counts.get(one, 0.0) + times
    kinds: dict[str, list[Counted]] = {}
    for one, times in counts.items():
        kinds.setdefault(SENT if isinstance(one, Collective) else kind_of(one), []).append(Counted(one, times))
    sent = tuple(kinds.pop(SENT, ()))
    experts = sum(item.times * item.operation.experts for item in passed if isinstance(item.operation, Experts))
    return Grouped(
        {kind: tuple(found) for kind, found in kinds.items()},
        sent,
        launches=launches_of(passed),
        routed=launches_of([item for item in passed if is_routed(item.operation)]),
        experts=experts,
    )


def launches_of(passed: Iterable[Counted]) -> Launches:
    """Return the kernels of operations. A module sends and casts in the same call in which it multiplies."""
    listed = list(passed)
    within = total_launches(item for item in listed if isinstance(item.operation, Collective) or item[0].name == CASTS)
    looped = total_launches(item for item in listed if item.operation.name == BIASES)
    return Launches(total_launches(listed) - within - looped, within, looped)


def is_routed(one: Operation) -> bool:
    """Return whether an operation is of routed experts: their products, or what takes tokens to them and back."""
    return isinstance(one, Experts) or (isinstance(one, Collective) and one.group == EXPERT)


@lru_cache(maxsize=256)  # a search times the same run on many kinds of devices
def grouped_passes(plan: Plan, stage: Stage) -> tuple[StepPasses, dict[str, Grouped]]:
    """Return the operations of a step on a device of a stage, and grouped those that are timed."""
    passes = step_passes(plan, stage)
    return passes, {
        "forward": grouped(passes.forward),
        "backward": grouped(passes.again + passes.backward),
        "reduced": grouped(passes.reduced),
        "once": grouped(passes.gathered + passes.updated),
    }


class Clock:
    """Times the operations of a plan on a device, each kind of group joined as its ranks stand apart."""

    def __init__(self, plan: Plan, device: Kernels, network: float | None) -> None:
        self.plan, self.kernels, self.network = plan, device, network
        # Attention and experts have laws in 16 bit: in FP32 they are as much slower as its rate is lower.
        plain, wide = matrix_rate(device.accelerator, "bf16"), matrix_rate(device.accelerator, "tf32")
        self.wide = plain / wide if plan.scheme.compute == FP32 and wide else 1.0
        self.known = device.known.setdefault(self.wide, {})
        if len(self.known) > MOST_KNOWN:
            self.known.clear()
        self.groups: set[tuple[str, int]] = set()

    def seconds(self, one: Operation) -> float:
        """Return the seconds of an operation alone; of attention backward those of its forward pass."""
        if isinstance(one, Collective):
            self.join(one)
            return self.kernels.seconds(one)
        found = self.known.get(one)
        if found is None:
            found = self.known[one] = self.worked(one)
        return found

    def worked(self, one: Operation) -> float:
        """Return the seconds of an operation of one device, which are the same in whatever layout."""
        if isinstance(one, Product):  # casts of training stand apart
            alone = self.kernels.seconds(one) - self.kernels.cast_s(one)
            if one.kernel != UNALIGNED:
                return alone
            each = catalog().training_step.values["unaligned_operations"]  # of a compute unit in a clock
            return max(alone, one.flops / (each * self.kernels.unit_clocks))
        if isinstance(one, Experts | Attention):
            return self.kernels.seconds(one) * self.wide
        if isinstance(one, AttentionBackward):
            return self.seconds(one.forward)
        if isinstance(one, Pointwise) and one.name == UNPACKING:
            values, own = catalog().training_step.values, f"unpacked_bytes@{self.kernels.accelerator.architecture}"
            each = values.get(own, values["unpacked_bytes"])  # of a compute unit in a clock
            return max(self.kernels.seconds(one), one.bytes / (each * self.kernels.unit_clocks))
        return self.kernels.seconds(one)

    def join(self, one: Collective) -> None:
        """Tell the kernels what joins a group of ranks, from how far apart they stand and the network of the run."""
        if (one.group, one.ranks) in self.groups:
            return
        self.groups.add((one.group, one.ranks))
        group = joined(self.kernels.accelerator, ranks=one.ranks, stride=stride(self.plan, one.group))
        if self.network is not None and group.network is not None:
            group = group._replace(network_rate=self.network * reached_share(group.network, NETWORK))
        self.kernels.group(one.group, group)

    def one_by_one(self, passed: Grouped) -> float:
        """Return the kernels besides those that operations count: Transformer Engine multiplies expert after expert.

        Its grouped products are a loop in C++ over cuBLAS (nvte_multi_stream_cublas_gemm), and so are casts to FP8.
        """
        if self.plan.trainer != MEGATRON and not self.plan.core:
            return 0.0
        each = EXPERT_PRODUCTS * (2 if self.plan.scheme.id == NARROW_SCHEME else 1)
        return each * passed.experts

    def turned(self, passed: Grouped) -> float:
        """Return the kernels that turn queries and keys of packed sequences by position, one after the other."""
        plan = self.plan
        if not plan.packed_apart or plan.packed == plan.tokens or plan.architecture.rotary is None:
            return 0.0
        found = 0.0
        for one, times in (*passed.kinds.get(ATTENTION, ()), *passed.kinds.get(BACKWARD, ())):
            if isinstance(one, Attention):
                found += 2 * TURNED * times * one.sequences
            elif isinstance(one, AttentionBackward):
                found += 2 * TURNED_BACK * times * one.forward.sequences
        return found

    def hooked(self, passed: Grouped) -> Launches:
        """Return the messages of sharded units, and the tensors in them: hooks of their modules gather and scatter."""
        if self.plan.trainer != FSDP:
            return Launches()
        found = [(one.tensors, times) for one, times in passed.sent if isinstance(one, Collective) and one.tensors]
        return Launches(hooked=sum(times for _, times in found), views=sum(each * times for each, times in found))

    def timed(self, passed: Grouped) -> Timed:
        """Return a pass in seconds."""
        known, seconds = self.known.get, self.seconds
        sums = {
            kind: sum([times * (known(one) or seconds(one)) for one, times in found])
            for kind, found in passed.kinds.items()
        }
        sent, experts = self.parts(passed.sent), Launches(looped=self.one_by_one(passed))
        launches = passed.launches + experts + Launches(looped=self.turned(passed)) + self.hooked(passed)
        return Timed(self, (passed,), sums, sent, launches=launches, routed=passed.routed + experts)

    def parts(self, counted: Iterable[Counted]) -> tuple[Part, ...]:
        """Return operations with the seconds of each."""
        return tuple(Part(one, times, self.seconds(one)) for one, times in counted)
