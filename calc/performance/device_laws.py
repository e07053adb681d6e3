"""The laws of kernels on one device: of its family or the nearest measured one, with the rates of its data sheet."""

from collections.abc import Iterator, Mapping
from math import inf
from typing import NamedTuple

from calc.catalog import catalog
from calc.catalog.records import Accelerator, KernelFamily, KernelLaw
from calc.performance.device_rates import RATES, family_of, matrix_rate
from calc.performance.fabric import DEVICE, HOST, Joined, joined
from calc.performance.kernel_laws import (
    EXPERT_TILE,
    EXPERT_TILES,
    DecodeLaw,
    ExpertsLaw,
    MessageLaw,
    PrefillLaw,
    ProductLaw,
    StreamLaw,
)
from calc.performance.own_kernels import LIBRARIES, OwnKernels

PRODUCT, EXPERTS, PREFILL, DECODE = "product", "experts", "prefill", "decode"
LATENT_PREFILL, LATENT_DECODE, RECURRENCE, POINTWISE = "latent-prefill", "latent-decode", "recurrence", "pointwise"
MESSAGE = "message"
PLAIN_KERNELS = ("bf16", "fp32", "tf32")  # what is multiplied as it is stored; all else is unpacked or scaled
FP4_KERNELS = ("mxfp4", "nvfp4")
TRITONS = "-triton"  # behind a kernel of routed experts: Triton's own, where an engine's others come from a library
PLAIN = "bf16"  # the kernel whose law serves where nobody measured another: weights are unpacked to it
# Where no law of a kind was fitted, one of another kind with the same numbers serves.
INSTEAD = {LATENT_PREFILL: PREFILL, LATENT_DECODE: DECODE, EXPERTS: PRODUCT}
UNKNOWN_UNITS = 100.0
WHOLE_CORE = 40e12  # operations a second of a unit beyond any multiprocessor's: a TPU's TensorCore, an MME of a Gaudi
THREADS_SHARE = 0.62  # of the rate of instructions of a whole group of threads, what those of one warp reach
MEASURED, GENERATION, CARRIED = "measured", "generation", "carried"


class Found(NamedTuple):
    """A law, the shares of it that this family reaches, and what stands behind it."""

    law: KernelLaw
    rate_factor: float
    memory_factor: float
    kind: str


class DeviceLaws:
    """The laws of one device's kernels under an engine, found once and kept."""

    def __init__(self, accelerator: Accelerator, engine: str = "", own: OwnKernels = LIBRARIES) -> None:
        self.accelerator = accelerator
        self.engine = engine
        self.own = own
        self.family = family_of(accelerator)
        # Where a sheet has no rate on integers, matrix units take as many of 8 bit as of FP8.
        self.integer_rate = own.integer_share * (accelerator.quantity("int8") or accelerator.quantity("fp8") or 0.0)
        if self.family.least_rows > 1:
            self.integer_rate *= THREADS_SHARE
        if own.integer_most:
            self.integer_rate = min(self.integer_rate, own.integer_most * (accelerator.quantity("fp16") or inf))
        self.fp4_rate = own.fp4_share * (accelerator.quantity("fp4") or 0.0)
        self.bandwidth = accelerator.quantity("bandwidth") or 0.0
        self.least_rows = self.family.least_rows
        self.units = accelerator.quantity("compute_units") or UNKNOWN_UNITS
        # Whole cores fetch the next caches while they attend, as the multiprocessors of a GPU do between them.
        whole = (accelerator.quantity("bf16") or 0.0) > WHOLE_CORE * self.units
        self.attending = UNKNOWN_UNITS if whole else self.units
        lanes, clock = accelerator.quantity("fp32"), accelerator.quantity("clock")
        self.unit_clocks = self.units * clock if clock else lanes / (2.0 * self.family.lanes) if lanes else inf
        if own.integer_cycle:
            self.integer_rate = min(self.integer_rate, own.integer_cycle * self.unit_clocks)
        self._products: dict[str, ProductLaw] = {}
        self._experts: dict[str, ExpertsLaw] = {}
        self._prefills: dict[tuple[bool, str], PrefillLaw] = {}
        self._decodes: dict[tuple[bool, str], DecodeLaw] = {}
        self._streams: dict[str, StreamLaw] = {}
        self._groups: dict[tuple[str, int], Joined] = {}
        self._messages: dict[tuple[str, str, int, bool], MessageLaw | None] = {}
        self._ways: dict[tuple[str, str, int, int], list[tuple[float, float]]] = {}  # seconds and rate of each protocol
        self._taken: Found | None = None

    def group(self, name: str, joined_by: Joined) -> None:
        """Say what joins the ranks of a kind of group, where it is not what usually joins as many devices."""
        key = name, joined_by.ranks
        if self._groups.get(key) != joined_by:
            self._groups[key] = joined_by
            self._messages = {known: law for known, law in self._messages.items() if known[1:3] != key}
            self._ways = {known: found for known, found in self._ways.items() if known[1:3] != key}

    def joined_ranks(self, name: str, ranks: int) -> Joined:
        """Return what joins the ranks of a kind of group: what was said, or what usually joins as many devices."""
        if (name, ranks) not in self._groups:
            self._groups[name, ranks] = joined(self.accelerator, ranks=ranks)
        return self._groups[name, ranks]

    def rate(self, name: str) -> float:
        """Return the operations a second of the data sheet in a format."""
        known = name if name in RATES else PLAIN
        return matrix_rate(self.accelerator, known, self.family.operations_per_byte)

    def own_rate(self, kernel: str) -> float:
        """Return the operations a second of an engine's own products of packed weights: in FP4, or on integers."""
        return self.fp4_rate if self.fp4_rate and kernel in FP4_KERNELS else self.integer_rate

    def in_integers(self, kernel: str) -> bool:
        """Whether packed weights of a kernel are multiplied as 8-bit integers, by the instructions of single warps."""
        return self.integer_rate > 0.0 and kernel not in PLAIN_KERNELS

    @property
    def most_rate(self) -> float:
        """The operations a second that no product of 16 bit exceeds, of experts or others."""
        products, experts = self._products.get(PLAIN), self._experts.get(PLAIN)
        return max((products or self._product_law(PLAIN)).rate, (experts or self._experts_law(PLAIN)).rate)

    def find(self, kind: str, kernel: str, *, is_own: bool = True) -> Found:
        """Return the nearest law: of this family, else of those that it is like; of the kernel, else of a plain one.

        `is_own` says whether an engine's own is asked for where there is one, or a library's.
        """
        laws = kernel_laws()
        engines = (self.engine, "") if is_own else ("",)
        for wanted in (kind, INSTEAD.get(kind, kind)):
            for name in (kernel, PLAIN):
                for family, rate, memory in self._families(anywhere=kind == MESSAGE):
                    for engine in ("",) if self.own.fuses_casts and wanted == PRODUCT else engines:
                        law = laws.get((wanted, name, family.id, engine))
                        if law is not None:
                            return Found(law, rate, memory, self._basis_kind(law, same=name == kernel))
        raise KeyError(kind)

    def _families(self, *, anywhere: bool) -> Iterator[tuple[KernelFamily, float, float]]:
        """Iterate over this family and those it is like, with the factors on their shares; then over all others."""
        family, rate, memory = self.family, 1.0, 1.0
        yield family, rate, memory
        while family.like:
            rate, memory = rate * family.matrix_factor, memory * family.memory_factor
            family = catalog().kernel_family(family.like)
            yield family, rate, memory
        if anywhere:  # how a link carries messages is not a matter of the family
            yield from ((other, 1.0, 1.0) for other in catalog().kernel_families())

    def _basis_kind(self, law: KernelLaw, *, same: bool) -> str:
        if not same or law.family != self.family.id or not law.rows:
            return CARRIED
        return MEASURED if self.accelerator.id in self.family.measured else GENERATION

    def _sheet_rate(self, found: Found) -> float:
        rate = matrix_rate(self.accelerator, found.law.rate, self.family.operations_per_byte)
        if not rate:  # a sheet without a rate in FP32 or TF32: matrix units take TF32 at half the rate of 16 bit
            rate = self.rate(PLAIN) / 2
        if self.own.emulated_factor and "emulates" in self.accelerator.facts:
            rate /= self.own.emulated_factor
        return rate

    def _rate(self, found: Found) -> float:
        return self._sheet_rate(found) * found.law.values.get("matrix_share", 1.0) * found.rate_factor

    def _read(self, found: Found) -> float:
        return self.bandwidth * found.law.values["memory_share"] * found.memory_factor

    def _product_law(self, kernel: str) -> ProductLaw:
        law = self._as_product(self.find(PRODUCT, kernel))
        if self.in_integers(kernel):
            law = law._replace(rate=self.own_rate(kernel))
        return self._products.setdefault(kernel, law)

    def _experts_law(self, kernel: str) -> ExpertsLaw:
        found = self.find(EXPERTS, kernel)
        if kernel in self.own.triton:
            triton = kernel_laws().get((EXPERTS, f"{kernel}{TRITONS}", found.law.family, self.engine))
            found = found._replace(law=triton or found.law)
        law = self._as_experts(found)
        if kernel in FP4_KERNELS:
            law = law._replace(depth_s=law.depth_s + self.own.fp4_depth_s)
        if self.in_integers(kernel):
            law = law._replace(rate=self.own_rate(kernel))
        return self._experts.setdefault(kernel, law)

    def _prefill_law(self, latent: bool, kernel: str) -> PrefillLaw:
        kind = LATENT_PREFILL if latent else PREFILL
        return self._prefills.setdefault((latent, kernel), self._as_prefill(self.find(kind, kernel)))

    def _decode_law(self, latent: bool, kernel: str) -> DecodeLaw:
        kind = LATENT_DECODE if latent else DECODE
        law = self._as_decode(self.find(kind, kernel))
        if self.own.vector_start_s:  # one kernel over parts of the keys, and one that joins them
            law = law._replace(start_s=2.0 * self.own.vector_start_s, key_s=0.0)
        return self._decodes.setdefault((latent, kernel), law)

    def message_law(self, kind: str, group: str, ranks: int, *, is_own: bool) -> MessageLaw | None:
        """Return the law of a message within a machine; None for what goes through a host's memory or a network."""
        way = self.joined_ranks(group, ranks)
        if way.machines > 1 or way.kind not in (DEVICE, HOST):
            return None
        found = self._taken or self.find(MESSAGE, f"{kind}/{way.kind}", is_own=is_own)
        measured = catalog().kernel_family(found.law.family).measured
        if catalog().accelerator(measured[0]).vendor != self.accelerator.vendor:
            return None  # another maker's library
        values = found.law.values
        share = values["pair_share" if ranks == 2 else "link_share"]
        return MessageLaw(values["start_s"], values["hop_s"], way.peak * share, values["ramp"])

    def _stream_law(self, kind: str) -> StreamLaw:
        law = self._as_stream(self.find(kind, PLAIN))
        vectors = self.accelerator.quantity("fp32") or self.bandwidth * self.family.vector_per_byte
        rate = self.own.state_share * vectors
        if kind == RECURRENCE and rate:
            law = law._replace(start_s=self.own.vector_start_s, chunk_s=0.0, rate=rate, step_s=self.own.state_step_s)
        elif kind == POINTWISE and self.own.vector_start_s:
            law = law._replace(start_s=self.own.vector_start_s)
        return self._streams.setdefault(kind, law)

    def take(self, law: KernelLaw) -> None:
        """Use a law in place of the catalogue's, for the kernels that it names: how laws are fitted."""
        found = Found(law, 1.0, 1.0, MEASURED)
        for kernel in law.kernels:
            if law.kind == PRODUCT:
                self._products[kernel] = self._as_product(found)
            elif law.kind == EXPERTS:
                self._experts[kernel] = self._as_experts(found)
            elif law.kind in (PREFILL, LATENT_PREFILL):
                self._prefills[law.kind == LATENT_PREFILL, kernel] = self._as_prefill(found)
            elif law.kind in (DECODE, LATENT_DECODE):
                self._decodes[law.kind == LATENT_DECODE, kernel] = self._as_decode(found)
            elif law.kind == MESSAGE:
                self._taken = found
                self._messages.clear()
            else:
                self._streams[law.kind] = self._as_stream(found)

    def _start(self, values: Mapping[str, float]) -> float:
        return max(values["start_s"] - self.own.ahead_s, 0.0)

    def _as_product(self, found: Found) -> ProductLaw:
        values = found.law.values
        quantize = values.get("quantize_bytes", 0.0) / self.bandwidth
        return ProductLaw(
            self._start(values),
            values["depth_s"],
            values["tile_s"],
            values["split_depth"],
            read=self._read(found),
            rate=min(self._rate(found), self._sheet_rate(found)),  # a factor of 16 bit goes beyond the whole of others
            sharpness=values["sharpness"],
            quantize_s=quantize,
            row_s=values.get("row_s", 0.0),
        )

    def _as_experts(self, found: Found) -> ExpertsLaw:
        values = found.law.values
        quantize = values.get("quantize_bytes", 0.0) / self.bandwidth
        starts = self._start(values), values.get("depth_s", 0.0)
        own = values["sharpness"], quantize, values.get("idle_rows", 0.0), values.get("row_s", 0.0)
        tile = EXPERT_TILES.get(found.law.kernels[0].removesuffix(TRITONS), EXPERT_TILE)
        return ExpertsLaw(*starts, self._read(found), self._rate(found), *own, tile)

    def _as_prefill(self, found: Found) -> PrefillLaw:
        values = found.law.values
        return PrefillLaw(
            self._start(values),
            self._read(found),
            self._rate(found),
            values["sharpness"],
            setup_keys=values["setup_keys"],
            setup_width=values["setup_width"],
            last_wave=values["last_wave"],
            units=self.units,
        )

    def _as_decode(self, found: Found) -> DecodeLaw:
        values = found.law.values
        own = values["sharpness"], values["turn_s"]
        return DecodeLaw(self._start(values), values["key_s"], self._read(found), self._rate(found), *own)

    def _as_stream(self, found: Found) -> StreamLaw:
        values = found.law.values
        own = values.get("sharpness", 1.0), values.get("step_s", 0.0), values.get("chunk_s", 0.0)
        return StreamLaw(self._start(values), self._read(found), self._rate(found), *own)


def kernel_laws() -> dict[tuple[str, str, str, str], KernelLaw]:
    """Return the laws of the catalogue by kind, kernel, family and engine, the last empty for those of any engine."""
    facts = catalog()
    return facts.once(
        "kernel laws",
        lambda: {
            (law.kind, kernel, law.family, engine): law
            for law in facts.kernel_laws()
            for kernel in law.kernels
            for engine in law.engines or ("",)
        },
    )
