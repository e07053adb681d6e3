"""How an engine puts the operations of a pass together: its kernels beside the law's, launches, and the host's part.

An engine's coefficients (catalogue, `engines`) say how its kernels compare with those that the laws were fitted on,
what the host does between steps and for each sequence, and whether it launches kernels one by one or replays a graph.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.catalog.records import Accelerator, Engine, NumberFormat, Recipe, Same, Weights
from calc.catalog.records.engines import CAPTURED
from calc.memory.budget import Layout
from calc.memory.device_sizes import attention_ranks, graph_sequences
from calc.performance.device_laws import PLAIN, PLAIN_KERNELS
from calc.performance.device_rates import matrix_rate
from calc.performance.power import unlimited

QUANTIZED = "quantized"
# Kernels of llama.cpp's formats whose weights are places in a table, and of those that no back end orders anew when it
# loads a model.
FAMILIES = {"tables": ("iq",), "unordered": ("iq", "mxfp4", "q2-k", "q3-k")}
TRITON = "triton"
STEPWISE = "stepwise"
UNTUNED = "untuned"
AWAITS = "awaits_products"
UNPACKING = "unpack_rows", "unpack_cycles"
ENTRY = "entry_s"  # of a server's host for each entry of the vocabulary that it chooses a token from
ALONE = Layout()
STEADY = "steady"  # a class of devices: their power is enough for their matrix units at full clock, in 16 bit
STEADY_BYTES = "steady in 8 bit"
ENOUGH_POWER = 1e-12  # joules for each operation of a matrix unit: an A100 has 1.3, an H100 0.7


class Ways(NamedTuple):
    """How an engine works on a model on a device, beside what its coefficients say."""

    triton: frozenset[str] = frozenset()  # kernels of routed experts that are Triton's, where a library has faster ones
    stepwise: bool = False  # several kernels choose a token's experts
    untuned: bool = False  # products are of a library that was tuned for other models
    states: bool = False  # recurrent ones are kept, for which some engines wait before they prepare the next step
    # Entries of a vocabulary from which a server's host chooses each token, where an engine leaves that to it; 0 where
    # an engine is timed alone, and nothing is chosen.
    sampled: int = 0


PLAIN_WAYS = Ways()


def ways_of(engine: Engine, architecture: Architecture, classes: tuple[str, ...], *, serves: bool) -> Ways:
    """Return how an engine works on a model on a device of these classes, as it `serves` requests or is timed alone."""
    family = architecture.family
    return Ways(
        triton=engine.triton_experts(family),
        stepwise=engine.chooses_in_steps(family, classes),
        untuned=engine.lacks_tuning(family, architecture.hidden_size, classes),
        states=architecture.keeps_states,
        sampled=architecture.output_size if serves else 0,
    )


class Factors(NamedTuple):
    """How much longer an engine's kernel takes than the law's, where reading bounds it and where arithmetic does."""

    reading: float
    working: float
    launches: float = 1.0  # kernels that the host launches for one product
    unpack_rows: float = 0.0  # from which on its weights are unpacked to 16 bit in memory first; 0: they never are
    unpack_cycles: float = 0.0  # of a compute unit for each of them, where taking them apart is slower than memory
    choice_s: float = 0.0  # of choosing a layer's experts, where a kernel of its own does, which no law counts


class Schedule(NamedTuple):
    """What an engine of an era does with the operations of a pass on a device."""

    values: Mapping[str, float]
    weights: Weights
    classes: tuple[str, ...]  # what coefficients may differ by, the narrowest first
    attention: Factors
    step_s: float  # of the host between steps, as far as it is not hidden behind the device's work on the last one
    sequence_s: float  # of a step, for each sequence
    told_s: float  # in which all ranks are told of a token of a text, before each step; 0: they have been
    launch_s: float  # of the host for each kernel that no graph holds
    awaits_products: bool  # the host waits for each product before it launches what comes behind it
    cut_s: float  # of the host for each attention that cuts the graph of a decoding step; 0: none does
    captured_sequences: float  # of a decoding step, up to which kernels are replayed as a graph
    prompt_graphs: bool  # prompts are replayed as graphs, too: in pieces, between what no graph holds
    pointwise_kernels: float  # where an engine that fuses what stands side by side has one, each passing over memory
    loops_experts: bool  # all experts of a layer are launched one by one, with tokens or without
    cache_passes: float  # times that a step reads or writes the whole cache, beside attention
    converted_bytes: float  # moved for each element of operand and result, where an engine's activations are FP32
    unpacks: bool  # weights are unpacked to 16 bit in memory before products of many rows
    copies_states: bool  # states of recurrent layers are copied around their update, by some kernels at least
    repeats_heads: bool  # KV heads are copied for each query head that shares them
    tile_rows: float  # of a tile of attention to prompts, which a decoded token beside them has to itself; 0: none has
    packs_heads: bool  # query heads that share keys share such a tile
    mask_s: float  # of the host for each cell of a mask that it fills before a pass
    host_waits: bool  # for the device, before it prepares a prompt's next piece
    copy_factor: float  # times that a copy from the host takes longer than at the rate of its link
    crossing_s: float  # of each copy, in which host and device wait for each other
    ways: Ways
    found: dict[str, Factors]  # of products, by their kernels, once they were asked for
    found_grouped: dict[str, Factors]  # the same of experts' products

    def launching(self, host_s: float) -> tuple[float, float]:
        """Return the seconds in which the host launches a pass's kernels beside the device, and while that waits."""
        return (0.0, host_s) if self.awaits_products else (host_s, 0.0)

    @property
    def copies_products(self) -> bool:
        """Whether an engine copies anything around its products."""
        return self.unpacks or self.converted_bytes > 0.0

    def product(self, kernel: str) -> Factors:
        """Return how an engine's products in a kernel compare with the law's."""
        known = self.found.get(kernel)
        if known is None:
            known = self.found[kernel] = self.factors(kernel, (f"{kernel}_{UNTUNED}",) if self.ways.untuned else ())
        return known

    def factors(self, kernel: str, narrower: tuple[str, ...] = ()) -> Factors:
        """Return factors on the law of a kernel, for the narrowest kind of products that has them."""
        own = (self.weights.id,) if kernel == kernel_of(self.weights) else ()
        plain = kernel in PLAIN_KERNELS
        stored = (family for family, begun in FAMILIES.items() if kernel.startswith(begun))
        kinds = (*narrower, *own, "") if plain else (*narrower, *own, kernel, *stored, QUANTIZED, "")
        return Factors(
            self.of("weights_factor", kinds),
            self.of("matrix_factor", kinds),
            self.of("product_launches", kinds),
            *((self.of(name, kinds) for name in UNPACKING) if self.unpacks and not plain else ()),
        )

    def grouped(self, kernel: str) -> Factors:
        """Return how an engine's products of a layer's experts compare with the law's."""
        known = self.found_grouped.get(kernel)
        if known is None:
            own = self.factors(kernel)
            kinds = (TRITON, kernel, "") if kernel in self.ways.triton else (kernel, "")
            known = self.found_grouped[kernel] = Factors(
                own.reading * self.of("expert_reading_factor", kinds),
                own.working * self.of("expert_factor", kinds),
                own.launches if self.loops_experts else self.of("expert_launches", kinds, 1.0),
                choice_s=self.choice_s(kinds),
            )
        return known

    def choice_s(self, kinds: tuple[str, ...]) -> float:
        """Return the seconds in which a layer's experts are chosen before their kernels, which may do so themselves."""
        found = self.of("choice_s", kinds, 0.0)
        return self.of("choice_s", (STEPWISE, *kinds)) if found and self.ways.stepwise else found

    def of(self, name: str, kinds: tuple[str, ...] = ("",), usual: float | None = None) -> float:
        """Return a coefficient for a kind of kernel on this class of devices."""
        return coefficient(self.values, name, kinds, self.classes, usual=usual)


def coefficient(
    values: Mapping[str, float],
    name: str,
    kinds: tuple[str, ...],
    classes: tuple[str, ...],
    usual: float | None = None,
) -> float:
    """Return a coefficient: for the kind of kernel first, within it for the device's class, else the plain one.

    The `usual` value is that of engines without such a coefficient; raises KeyError where all have one.

    >>> coefficient({"share": 0.8, "share_awq": 0.6, "share@HBM": 0.5}, "share", ("awq", ""), ("HBM",))
    0.6
    """
    for kind in kinds:
        known = f"{name}_{kind}" if kind else name
        for device in classes:
            if f"{known}@{device}" in values:
                return values[f"{known}@{device}"]
        if known in values:
            return values[known]
    if usual is None:
        raise KeyError(name)
    return usual


def device_classes(accelerator: Accelerator | None, market: str, backend: str = "") -> tuple[str, ...]:
    """Return what coefficients may distinguish devices by: generation and maker, with its market, clocks, and a market.

    A back end that is not the usual one comes before what holds for all devices of a generation, or of the maker.
    """
    if accelerator is None:
        return ()
    architecture, vendor = accelerator.architecture, accelerator.vendor
    classes = f"{architecture} {market}", architecture, f"{vendor} {market}", *clocks(accelerator), market
    if backend:
        return f"{architecture} {backend}", *classes, f"{vendor} {backend}", vendor
    return *classes, vendor


def clocks(accelerator: Accelerator) -> tuple[str, ...]:
    """Return the classes of a device whose power lets matrix units keep their clock under load: in 16 bit, in 8."""
    accelerator = unlimited(accelerator)
    power, rate = accelerator.quantity("power") or 0.0, matrix_rate(accelerator, PLAIN)
    bytes_rate = accelerator.quantity("fp8") or accelerator.quantity("int8") or rate
    return tuple(
        name for name, each in ((STEADY, rate), (STEADY_BYTES, bytes_rate)) if power and power >= ENOUGH_POWER * each
    )


def schedule_of(
    values: Mapping[str, float],
    *,
    era: str,
    weights: Weights,
    accelerator: Accelerator | None,
    market: str,
    attention: str,
    backend: str = "",
    layout: Layout = ALONE,
    ways: Ways = PLAIN_WAYS,
) -> Schedule:
    """Return an engine's schedule on a device from its coefficients.

    `attention` says whose kernels attend, or that scores are stored ("eager"). Several tensor ranks may be given each
    step in a way of their own.
    """
    classes = (*device_classes(accelerator, market, backend), era)
    if CAPTURED in values:
        captured = coefficient(values, CAPTURED, ("",), classes)
    else:
        captured = graph_sequences(values, accelerator, layout)
    return known_schedule(
        Same(values),
        classes,
        weights,
        attention=attention,
        ways=ways if ENTRY in values else ways._replace(sampled=0),
        ranks=attention_ranks(layout),
        captured=captured,
    )


@lru_cache(maxsize=512)  # a search asks for the same of each number of devices
def known_schedule(
    same: Same,
    classes: tuple[str, ...],
    weights: Weights,
    attention: str,
    ways: Ways,
    ranks: int,
    captured: float,
) -> Schedule:
    """Return the schedule of coefficients on a class of devices, with its factors as far as they were asked for."""
    values, own = same.values, (attention, "")
    steps = ("states", ways.states), ("ranks", ranks > 1), ("", True)  # for which an engine may have a time of its own

    def of(name: str, kinds: tuple[str, ...] = ("",), usual: float | None = None) -> float:
        return coefficient(values, name, kinds, classes, usual=usual)

    return Schedule(
        values=values,
        weights=weights,
        classes=classes,
        attention=Factors(
            of("cache_factor", own), of("attention_factor", own), values.get(f"attention_launches_{attention}", 1.0)
        ),
        step_s=of("step_s", tuple(kind for kind, holds in steps if holds)),
        sequence_s=of("sequence_s") + (ways.sampled * of(ENTRY) if ways.sampled else 0.0),
        told_s=ranks * of("told_s", usual=0.0) if ranks > 1 else 0.0,
        launch_s=of("launch_s"),
        awaits_products=bool(of(AWAITS, (weights.id, ""), 0.0)),
        cut_s=values.get(f"cut_s_{attention}", 0.0),
        captured_sequences=captured,
        prompt_graphs=bool(of("prompt_graphs", usual=0.0)),
        pointwise_kernels=of("pointwise_kernels"),
        loops_experts=bool(of("loops_experts")),
        cache_passes=of("cache_passes"),
        converted_bytes=of("converted_bytes", usual=0.0),
        unpacks=any(name.startswith("unpack_rows") and rows for name, rows in values.items()),
        copies_states=any(name.startswith("state_passes") and passes for name, passes in values.items()),
        repeats_heads=bool(of("repeats_heads")),
        tile_rows=of("tile_rows", own, 0.0),
        packs_heads=bool(of("packs_heads", usual=0.0)),
        mask_s=of("mask_s", usual=0.0),
        host_waits=bool(of("host_waits", usual=0.0)),
        copy_factor=values.get("copy_factor", 1.0),
        crossing_s=values.get("crossing_s", 0.0),
        ways=ways,
        found={},
        found_grouped={},
    )


def kernel_of(weights: Weights) -> str:
    """Return how matrices of a format are multiplied; empty for a file of many formats."""
    if isinstance(weights, Recipe):
        return weights.base.kernel
    return weights.kernel if isinstance(weights, NumberFormat) else ""
