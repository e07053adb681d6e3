"""A roofline with measured efficiencies: the time of a pass is that of its slowest resource, part by part."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.catalog import catalog
from calc.catalog.records import Accelerator, NumberFormat, Weights
from calc.memory.budget import Layout
from calc.performance.collectives import Way, all_reduce_s, exchange_s, hand_over_s
from calc.performance.fabric import DEVICE, joined
from calc.performance.flops import Work

MEMORY, COMPUTE, LAUNCH, LINKS = "memory", "compute", "launch", "links"
SIXTEEN_BIT, QUANTIZED, NATIVE = "", "quantized", "native"
FULL = ("fp32", "tf32")  # formats of 32 bits, which are not multiplied at the rate of 16


class Machine(NamedTuple):
    """A device's rates, and the efficiencies that an engine reaches on its generation."""

    bandwidth: float
    matrix_rate: float  # of the format that matrices are multiplied in
    attention_rate: float  # 16 bit
    tensor_way: Way
    expert_way: Way
    stage_way: Way  # from a pipeline stage to the next
    weights_share: float  # of the bandwidth, reading weights
    cache_share: float  # of the bandwidth, reading the cache
    matrix_share: float
    expert_share: float  # of what dense matrices reach
    attention_share: float
    layer_gap_s: float  # idle between the kernels of a layer
    step_s: float  # between steps: scheduling, sampling
    host_layer_s: float  # the host's time to launch a layer, beside the device's
    host_expert_s: float  # where experts are launched one by one
    sequence_s: float  # of a step, for each sequence: sampling, bookkeeping
    cache_passes: float  # times that the cache is read or written in a step
    repeats_heads: bool  # KV heads are copied for each query head that shares them, and the copies read


class Times(NamedTuple):
    """Seconds of a pass by resource."""

    weights: float
    matrices: float
    cache: float
    attention: float
    launch: float
    links: float
    host: float

    @property
    def total(self) -> float:
        """Seconds of the pass: matrices wait for the slower of weights and arithmetic, attention follows."""
        device = max(self.weights, self.matrices) + max(self.cache, self.attention) + self.launch + self.links
        return max(device, self.host)

    @property
    def bound_by(self) -> str:
        """The resource that most of the time goes to."""
        if self.host > max(self.weights, self.matrices) + max(self.cache, self.attention) + self.launch + self.links:
            return LAUNCH
        sums = {MEMORY: 0.0, COMPUTE: 0.0, LAUNCH: self.launch, LINKS: self.links}
        for slow, fast in ((self.weights, self.matrices), (self.cache, self.attention)):
            sums[MEMORY if slow >= fast else COMPUTE] += max(slow, fast)
        return max(sums, key=sums.__getitem__)


def kernel_class(weights: Weights, accelerator: Accelerator) -> str:
    """Return how matrices are multiplied: in 16 bit, in the format itself, or unpacked from it."""
    if isinstance(weights, NumberFormat) and weights.native:
        if weights.native in ("bf16", "fp16"):
            return SIXTEEN_BIT
        return NATIVE if weights.native in accelerator.facts else QUANTIZED
    if isinstance(weights, NumberFormat) and weights.bits >= 16:
        return SIXTEEN_BIT
    return SIXTEEN_BIT if weights.id in ("f16", "gguf-bf16") else QUANTIZED


def sixteen_bit_rate(accelerator: Accelerator, half_sums: bool) -> float:
    """Return the device's 16-bit rate, with sums in FP16 where the engine uses them; FP32's where no other is known."""
    for name in ("fp16_accumulate", "fp16", "bf16", "fp32") if half_sums else ("bf16", "fp16", "fp32"):
        rate = accelerator.quantity(name)
        if rate:
            return rate
    return 0.0


def coefficient(values: Mapping[str, float], name: str, kinds: tuple[str, ...], classes: tuple[str, ...]) -> float:
    """Return a coefficient: for the kind of kernel first, within it for the device's class, else the plain one.

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
    raise KeyError(name)


def device_classes(accelerator: Accelerator) -> tuple[str, ...]:
    """Return what coefficients may distinguish devices by: generation, then the kind of memory."""
    memory = "HBM" if accelerator.text("memory_type").startswith("HBM") else "GDDR"
    return (accelerator.architecture, memory if accelerator.segment != "soc" else "unified")


def machine(
    *,
    accelerator: Accelerator,
    weights: Weights,
    values: Mapping[str, float],
    layout: Layout,
    attention: str = "flash",
) -> Machine | None:
    """Return the machine of an engine's coefficients on a device, None where its rates are not known."""
    bandwidth, rate = accelerator.quantity("bandwidth"), sixteen_bit_rate(accelerator, bool(values["half_sums"]))
    if bandwidth and not rate and accelerator.segment == "soc":  # Apple publishes none
        rate = bandwidth * values.get("unpublished_rate", 0.0)
    if not bandwidth or not rate:
        return None
    if weights.id in FULL:  # torch multiplies FP32 as such unless it is told to round it to TF32
        rate = accelerator.quantity(weights.id) or accelerator.quantity("fp32") or rate
    kind, classes = kernel_class(weights, accelerator), device_classes(accelerator)
    kinds = (weights.id, kind, "") if kind else ("",)
    matrix_rate = rate
    if kind == NATIVE and isinstance(weights, NumberFormat):
        matrix_rate = accelerator.quantity(weights.native) or rate

    def of(name: str, used: tuple[str, ...] = ("",)) -> float:
        return coefficient(values, name, used, classes)

    attends = (attention, "")

    return Machine(
        bandwidth=bandwidth,
        matrix_rate=matrix_rate,
        attention_rate=rate,
        tensor_way=group_way(accelerator, values, layout, ranks=layout.tensor),
        expert_way=group_way(accelerator, values, layout, ranks=layout.expert),
        stage_way=stage_way(accelerator, values, layout),
        weights_share=of("weights_share", kinds),
        cache_share=of("cache_share", attends),
        matrix_share=of("matrix_share", kinds),
        expert_share=of("expert_share"),
        attention_share=of("attention_share", attends),
        layer_gap_s=of("layer_gap_s"),
        step_s=of("step_s"),
        host_layer_s=of("host_layer_s", kinds),
        host_expert_s=values["host_expert_s"],
        sequence_s=values["sequence_s"],
        cache_passes=values["cache_passes"],
        repeats_heads=bool(values["repeats_heads"]),
    )


def group_way(accelerator: Accelerator, values: Mapping[str, float], layout: Layout, *, ranks: int) -> Way:
    """Return what a group of ranks has between its members, as the engine reaches it.

    Bytes a second are those measured on the link. What a message waits for is the engine's own; a group that is spread
    over machines waits for the network as well, once for each level of a tree of machines and back.
    """
    group = joined(accelerator, ranks=ranks)
    waits = values["link_latency_s" if group.kind == DEVICE else "pcie_latency_s"]
    waits *= max(1, layout.tensor // 2, layout.expert // 2) ** 0.5
    if group.machines > 1:
        waits += 2 * (group.machines - 1).bit_length() * network_wait()
    return group.way._replace(latency=waits)


def stage_way(accelerator: Accelerator, values: Mapping[str, float], layout: Layout) -> Way:
    """Return what a stage has to the next one: the network where the stages stand in several machines."""
    within = group_way(accelerator, values, layout, ranks=min(2, layout.pipeline))
    group = joined(accelerator, ranks=layout.tensor * layout.pipeline)
    if layout.pipeline == 1 or group.machines == 1:
        return within
    rate = min(layout.tensor, group.inside) * group.network_rate  # each rank of a stage sends its share by its own port
    return Way(2, min(rate, within.link), within.latency + network_wait(), True)


def network_wait() -> float:
    """Return the seconds that a short message waits for a network."""
    return next(item.waits["network"] for item in catalog().protocols() if item.id == "ring-ll")


def pass_times(work: Work, machine: Machine, layout: Layout, *, decode: bool) -> Times:
    """Return the seconds of a pass. Tensor ranks reduce twice a layer; stages hand their hidden states on."""
    links = 0.0
    if layout.tensor > 1:
        links += (
            2
            * work.layers
            * all_reduce_s(
                ranks=layout.tensor,
                message_bytes=work.message_bytes,
                link=machine.tensor_way.link,
                latency=machine.tensor_way.latency,
            )
        )
    if layout.expert > 1 and work.active:
        links += (
            2
            * work.layers
            * exchange_s(
                ranks=layout.expert,
                active=work.active,
                message_bytes=work.message_bytes / min(layout.tensor, layout.expert),
                link=machine.expert_way.link,
                latency=machine.expert_way.latency,
            )
        )
    if layout.pipeline > 1:
        links += (layout.pipeline - 1) * hand_over_s(
            message_bytes=work.message_bytes, link=machine.stage_way.link, latency=machine.stage_way.latency
        )
    passes = machine.cache_passes if decode else 1.0
    if decode and machine.repeats_heads and work.head_groups > 1:
        passes += 2 * work.head_groups
    return Times(
        weights=work.weight_bytes / (machine.bandwidth * machine.weights_share),
        matrices=(work.matrix_flops + work.expert_flops / machine.expert_share)
        / (machine.matrix_rate * machine.matrix_share),
        cache=passes * work.cache_bytes / (machine.bandwidth * machine.cache_share),
        attention=work.attention_flops / (machine.attention_rate * machine.attention_share),
        launch=work.layers * machine.layer_gap_s + machine.step_s + work.sequences * machine.sequence_s,
        links=links,
        host=work.layers * (machine.host_layer_s + work.experts * machine.host_expert_s),
    )
