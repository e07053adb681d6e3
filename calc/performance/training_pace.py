"""The pace of a trainer: the share of their speed that kernels keep in a step, and what is hidden behind others."""

from collections.abc import Mapping
from math import inf

from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.memory.training.loss import FP32
from calc.memory.training.plan import FIRST_TILES, LAYERS, NEWEST_TILES, RING, WHOLE_STEP, Plan
from calc.performance.device_rates import device_class, family_of, matrix_rate
from calc.performance.kernels import Kernels, kernels
from calc.performance.power import unlimited
from calc.performance.training_clock import (
    ADAPTED,
    ATTENTION,
    BACKWARD,
    COPIED,
    MOVED,
    PRODUCTS,
    UNPACKED,
    Launches,
    Timed,
)

MOST_KNOWN = 256  # devices whose kernels are remembered
MODULE = "module"  # what power is of: processor and GPU of a superchip together
PRODUCT_SHARE = "product_share"  # the coefficient: what a step keeps of the speed of matrix products


class Pace:
    """What a trainer's schedule makes of kernels: the share of their speed that each kind keeps, and what is hidden."""

    def __init__(self, plan: Plan, accelerator: Accelerator, values: Mapping[str, float]) -> None:
        self.trainer, self.values = plan.trainer, values
        generation = accelerator.architecture
        self.devices = f"{generation}/{device_class(accelerator)}", generation
        self.overlap, self.links = self.of("overlap"), self.of("link_share")
        self.launch_hidden = self.of("launch_hidden")
        self.tensor_hidden = self.of("tensor_hidden_in_pieces" if plan.tensor_overlap else "tensor_hidden")
        fused = "core_kernel_s" if plan.core else "fused_kernel_s"
        self.within_s, self.looped_s = self.of("kernel_s"), self.of("loop_kernel_s")
        self.kernel_s = self.of(fused) if plan.choices.compiled else self.within_s
        self.hook_kernels, self.view_kernels = values["hook_kernels"], values["view_kernels"]
        self.graphs = plan.graphs
        self.host_memory, self.tensor_s = values["host_bandwidth"], values["tensor_s"]
        share = own_share(accelerator, self.of(PRODUCT_SHARE), values)
        products = kept_of_products(accelerator, share, values)
        attention = products / share  # its laws hold at the same clock
        if plan.choices.flash:
            attention *= self.of("unpaged_share")
        if plan.choices.flash and plan.scheme.compute < FP32 and plan.attention_kernel != NEWEST_TILES:
            attention *= self.of("flash_2_share")
            if plan.tiles:
                attention *= self.of("flash_2_share_named")
            if plan.attention_kernel == FIRST_TILES:
                attention *= self.of("flash_1_share")
        if plan.layout.context > 1 and plan.context_exchange == RING:
            attention *= self.of("ring_share")
        base = plan.method.base.id.partition("-")[0]
        self.shares = {
            PRODUCTS: products,
            ATTENTION: attention,
            BACKWARD: attention / self.of("attention_backward"),
            ADAPTED: 1.0,  # two kernels of a matrix, whose bytes are counted one by one
            MOVED: 1.0 if plan.choices.compiled else self.of("eager_share"),
            UNPACKED: values.get(f"{base}_unpack_share", 1.0),
            COPIED: 1.0,
        }

    def of(self, name: str) -> float:
        """Return a coefficient: for this trainer and class of devices or generation, for one of them, or for all."""
        values, own = self.values, f"{name}_{self.trainer}"
        for device in self.devices:
            if (key := f"{own}@{device}") in values or (key := f"{name}@{device}") in values:
                return values[key]
        return values[own] if own in values else values[name]

    def launched(self, found: Timed) -> Launches:
        """Return the kernels that the host launches one by one: a captured graph holds the others.

        How many tokens an expert gets is not known before a step runs: graphs of layers leave experts out.
        """
        if self.graphs == WHOLE_STEP:
            return Launches()
        return found.routed if self.graphs == LAYERS else found.launches

    def launch_s(self, launches: Launches) -> float:
        """Return the seconds of the host for kernels."""
        within = launches.within + self.hooks(launches)
        return launches.led * self.kernel_s + within * self.within_s + launches.looped * self.looped_s

    def hooks(self, launches: Launches) -> float:
        """Return the kernels that the host would launch while it goes through hooks of sharded units."""
        return self.hook_kernels * launches.hooked + self.view_kernels * launches.views

    def seconds(self, found: Timed, *kinds: str) -> float:
        """Return the seconds of kinds of operations in a step."""
        return sum(found.sums[kind] / self.shares[kind] for kind in kinds if kind in found.sums)


def watts_per_rate(accelerator: Accelerator) -> float:
    """Return the power limit over the operations a second of the data sheet in 16 bit; no limit where none is known."""
    power, rate = accelerator.quantity("power"), matrix_rate(accelerator, "bf16")
    return power / rate if power and rate else inf


def clock_share(accelerator: Accelerator, exponent: float) -> float:
    """Return the clock beside that of the measured device of its kind, by the power that each has for its rate.

    A module's limit is that of its processor, too, which takes of it: its GPU has no more than the measured device.
    What a lower limit leaves of the clock is in the device's rates.
    """
    accelerator = unlimited(accelerator)
    family = family_of(accelerator)
    reference = family.powered or next(iter(family.measured), "")
    if not reference:
        return 1.0
    power = accelerator.facts.get("power")
    most = 1.0 if power is not None and power.basis == MODULE else inf
    ratio = watts_per_rate(accelerator) / watts_per_rate(catalog().accelerator(reference))
    return float(min(ratio, most) ** exponent)


def own_share(accelerator: Accelerator, share: float, values: Mapping[str, float]) -> float:
    """Return the share of products' speed that a device's kind keeps: `share`, or its own.

    Cards for consumers, whose matrix units take 16 bit at half the rate of their die, keep their clock.
    """
    return values["half_rate_share"] if device_class(accelerator) == "consumer" else share


def kept_of_products(accelerator: Accelerator, share: float, values: Mapping[str, float]) -> float:
    """Return the share of products' speed that a device keeps, where the measured device of its kind keeps `share`.

    A law holds at the clock of the device that it was measured on: one with power to spare is faster than that, up to
    what any product reaches of a data sheet's rate.
    """
    device, rate = kernels_of(accelerator), matrix_rate(accelerator, "bf16")
    most = max(values["product_most"] * rate / device.most_rate, 1.0) if device else 1.0
    return min(share * clock_share(accelerator, values["power_exponent"]), most)


def most_products_per_s(accelerator: Accelerator, values: Mapping[str, float]) -> float | None:
    """Return the operations a second that matrix products of 16 bit do not exceed in any run; None where not known.

    It is the rate of a law's largest products, of which a trainer keeps the largest share that any of them does.
    """
    device = kernels(accelerator)
    if device is None or accelerator.sixteen_bit is None:
        return None
    own, generation = f"{PRODUCT_SHARE}_", f"@{accelerator.architecture}"
    usual = values.get(f"{PRODUCT_SHARE}{generation}")
    shares = [value for name, value in values.items() if name.startswith(own) and name.endswith(generation)]
    if usual is None:
        usual = values[PRODUCT_SHARE]
        shares += [value for name, value in values.items() if name.startswith(own) and "@" not in name]
    share = own_share(accelerator, max(usual, *shares, 0.0), values)
    return device.most_rate * kept_of_products(accelerator, share, values)


def kernels_of(accelerator: Accelerator) -> Kernels | None:
    """Return the kernels of a device, with the seconds that they are known to take: a search asks for many layouts."""
    known = catalog().once("kernels of training", dict[int, tuple[Accelerator, Kernels | None]])
    if len(known) > MOST_KNOWN:
        known.clear()
    if id(accelerator) not in known:
        known[id(accelerator)] = accelerator, kernels(accelerator)
    return known[id(accelerator)][1]
