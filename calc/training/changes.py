"""Changes of a training run that could make it fit: what each changes, what it costs, and of some how far they go."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from calc.catalog import Catalog
from calc.memory.training.loss import CHUNKED, FUSED
from calc.memory.training.loss import FULL as FULL_LOSS
from calc.memory.training.moments import Timeline
from calc.memory.training.plan import FULL, GRADIENTS, NO_CHECKPOINTS, OPTIMIZER, PARAMETERS, SELECTIVE, Plan
from calc.memory.training.reserve import device_total
from calc.memory.training.states import FACTORED
from calc.planning.chance import sure_bytes
from calc.planning.fit import most_that_fit
from calc.planning.layout import tensor_degrees
from calc.planning.training_fit import MOST_DEVICES, WIDEST_TENSOR, fullest, hosted_bytes, stays_beyond
from calc.units import show_count

FREE, LITTLE, SPEED, QUALITY, HARDWARE = range(5)
PRICES = ("nothing", "a little speed", "speed", "quality or scope", "hardware")
SEQUENCE_STEP = 128  # tokens: a shorter sequence is a multiple of it
ADAMW = ("adamw", "adamw-foreach")
MORE = "The devices, and a link that carries what they exchange."
# Data ranks that machines have: up to eight in one, then whole machines.
MACHINES = (2, 4, 6, *range(8, 64, 8), *range(64, MOST_DEVICES + 1, 64))
STAGE_NAMES = {"zero-1": "ZeRO-1", "zero-2": "ZeRO-2", "zero-3": "ZeRO-3 (FSDP)"}

# Changes of what comes and goes in a step: what stays through it is as much as it was with a micro-batch of one.
PASSING = {
    "flash",
    "fused-loss",
    "chunked-loss",
    "selective",
    "checkpointing",
    "micro-batch",
    "offload-activations",
    "sequence",
}
# Changes that leave each device the weights that it has, though not what stands beside them.
BESIDE_WEIGHTS = PASSING | {"8-bit", "paged", "in-backward", "offload-optimizer"}
# Changes of what stays through a step: layers keep as much, unless sharding lets them work in another type.
STAYING = {"8-bit", "paged", "in-backward", "offload-optimizer", "offload-parameters"}
DIVIDING = {"sharding", "devices"}

AWAY = ("paged", "offload-activations", "offload-optimizer", "offload-parameters")  # to the host's memory

Scenario = Mapping[str, object]


class Change(NamedTuple):
    """A change of one thing. A field whose value is None is taken out of the scenario."""

    id: str
    what: str
    price: str
    level: int  # position in `PRICES`
    fields: dict[str, object]
    part: float = 1.0  # of what is divided ever further, as much as it leaves together


class Size(NamedTuple):
    """What a run takes: on the fullest device, with what nearly all such runs take there, and of host memory in all."""

    device: int
    sure: int
    host: int
    passing: int  # activations and logits at their widest there, which no change of what stays lessens

    def least(self, *, surely: bool) -> int:
        """Return the bytes of a device on which the run fits, or surely does."""
        return max(self.device, self.sure) if surely else self.device


def size_of(plan: Plan, facts: Catalog) -> Size:
    """Return what a plan takes, as a report has it."""
    return sized(plan, fullest(plan), facts)


def sized(plan: Plan, found: tuple[Timeline, list[Timeline]], facts: Catalog) -> Size:
    """Return what a plan takes, of which `fullest` found the steps."""
    device = device_total(plan, found[0], facts)
    sure = sure_bytes(needed_bytes=device.typical, upper_bytes=device.high - device.typical)
    return Size(device.typical, sure, hosted_bytes(plan, found[1]), passing=found[0].widest_pass)


def candidates(
    scenario: Scenario, plan: Plan, capacity_bytes: int, facts: Catalog, *, fine_tuning: bool
) -> Iterator[Change]:
    """Iterate over the changes that apply to a run; of those with one id the milder comes first.

    Nothing is left in the memory of a host whose memory is the device's own.
    """
    shared = facts.accelerator(str(scenario["accelerator"])).shares_host_memory
    every = of_run(scenario, plan, capacity_bytes, facts, fine_tuning=fine_tuning)
    yield from (change for change in every if not (shared and change.id in AWAY))


def of_run(
    scenario: Scenario, plan: Plan, capacity_bytes: int, facts: Catalog, *, fine_tuning: bool
) -> Iterator[Change]:
    """Iterate over the same, whatever the device is."""
    yield from of_computation(plan)
    yield from of_batch(plan)
    yield from of_sharding(plan)
    yield from of_optimizer(plan)
    yield from of_offload(plan)
    if fine_tuning:
        yield from of_method(plan, scenario)
    yield from of_sequence(plan, scenario, capacity_bytes, facts)
    yield from of_devices(plan, scenario)


def of_computation(plan: Plan) -> Iterator[Change]:
    """Iterate over other ways to compute the same: the attention, the loss, and what is computed twice."""
    if not plan.choices.flash:
        price = "None: the same results, and faster."
        yield Change("flash", "Use flash attention", price, FREE, fields={"attention": "flash", "selective": None})
    if plan.architecture.output_size == plan.architecture.vocab_size and plan.architecture.vocab_size:
        if plan.cross_entropy != FUSED and plan.layout.tensor == 1:
            price = "About the same speed; it needs a kernel such as Liger's."
            yield Change(
                "fused-loss", "Fuse the loss with the output matrix", price, FREE, fields={"cross_entropy": FUSED}
            )
        if plan.cross_entropy == FULL_LOSS:
            price = "About the same speed; the training loop must compute the loss piece by piece."
            yield Change("chunked-loss", "Compute the loss in chunks", price, FREE, fields={"cross_entropy": CHUNKED})
    if plan.checkpointing == NO_CHECKPOINTS:
        price = "A part of each layer is computed twice."
        fields: dict[str, object] = {"checkpointing": SELECTIVE, "selective": None}
        yield Change("selective", "Checkpoint selectively", price, LITTLE, fields=fields)
    if plan.checkpointing != FULL:
        price = "Every forward pass is computed twice: about a third more computing."
        yield Change("checkpointing", "Checkpoint every layer", price, SPEED, fields={"checkpointing": FULL})


def of_batch(plan: Plan) -> Iterator[Change]:
    """Iterate over smaller micro-batches with as many more of them; the step's batch stays the same."""
    for micro in range(plan.micro_batch - 1, 0, -1):
        if plan.micro_batch % micro:
            continue
        count = plan.accumulation * plan.micro_batch // micro
        what = f"Micro-batch {show_count(micro)} with {show_count(count)} accumulated"
        price = "The same batch a step; smaller matrices use the device a little less well."
        fields: dict[str, object] = {"micro_batch": micro, "gradient_accumulation": count}
        yield Change("micro-batch", what, price, LITTLE, fields=fields, part=micro)


def of_sharding(plan: Plan) -> Iterator[Change]:
    """Iterate over further stages of sharding, where there are ranks to share and the optimizer allows it."""
    ranks = plan.layout.data * plan.layout.context
    if ranks == 1 or plan.method.optimizer.kind == FACTORED:
        return
    for stage, name in ((OPTIMIZER, "zero-1"), (GRADIENTS, "zero-2"), (PARAMETERS, "zero-3")):
        if stage <= plan.stage_of_zero or (stage > OPTIMIZER and plan.layout.pipeline > 1):
            continue
        further = stage == PARAMETERS
        price = (
            "Each layer's parameters cross the link before they are used: half as much traffic again."
            if further
            else "No more traffic than adding up the gradients has."
        )
        level = SPEED if further else FREE
        yield Change("sharding", f"Shard with {STAGE_NAMES[name]}", price, level, fields={"sharding": name})


def of_optimizer(plan: Plan) -> Iterator[Change]:
    """Iterate over optimizers with smaller states, states elsewhere, and gradients that are used at once."""
    whole = plan.adapters is None
    if plan.method.optimizer.id in ADAMW:
        price = "States are rounded in blocks; results rarely differ."
        yield Change("8-bit", "Use 8-bit AdamW", price, QUALITY, fields={"optimizer": "adamw-8bit"})
        if not plan.stage_of_zero and "optimizer" not in plan.offload:
            price = "States wait in host memory, and every step pages them in over PCIe."
            yield Change("paged", "Use paged AdamW", price, SPEED, fields={"optimizer": "paged-adamw"})
    alone = plan.accumulation == 1 and plan.layout.pipeline == 1 and "optimizer" not in plan.offload
    if whole and alone and not plan.in_backward and not plan.scheme.master and plan.stage_of_zero in (0, PARAMETERS):
        price = "No accumulation, and no clipping by the norm of all gradients."
        fields: dict[str, object] = {"optimizer_in_backward": True}
        yield Change("in-backward", "Run the optimizer in the backward pass", price, LITTLE, fields=fields)


def of_offload(plan: Plan) -> Iterator[Change]:
    """Iterate over what can wait in host memory."""
    kept = list(plan.offload)
    if "activations" not in kept:
        price = "Activations cross PCIe twice a step; slow unless layers compute for longer than that takes."
        yield offload("activations", "Offload activations", price, kept)
    if "optimizer" not in kept and not plan.method.optimizer.paged and not plan.in_backward:
        price = "Gradients and parameters cross PCIe each step, and the processor updates them."
        yield offload("optimizer", "Offload the optimizer", price, kept)
    if "parameters" not in kept and plan.stage_of_zero == PARAMETERS:
        price = "Every layer crosses PCIe twice a micro-batch."
        yield offload("parameters", "Offload the parameters", price, kept)


def offload(what: str, name: str, price: str, kept: list[str]) -> Change:
    """Return the change that moves one thing more to host memory."""
    return Change(f"offload-{what}", name, price, SPEED, fields={"offload": [*kept, what]})


def of_method(plan: Plan, scenario: Scenario) -> Iterator[Change]:
    """Iterate over ways to train less of the model, or in fewer bits."""
    full_only: dict[str, object] = {"optimizer_in_backward": None, "gradient_dtype": None}
    if plan.adapters is None:
        if plan.scheme.id in ("bf16-mixed", "bf16-autocast"):
            price = "Updates smaller than BF16 resolves are lost, unless it rounds stochastically."
            plain: dict[str, object] = {"precision": "bf16", "gradient_dtype": None}
            yield Change("bf16", "Keep weights and states in BF16 alone", price, QUALITY, fields=plain)
        price = "Only adapters learn: enough for style and tasks, less for new knowledge."
        yield Change("lora", "Train with LoRA", price, QUALITY, fields={**full_only, "method": "lora"})
    layout = plan.layout
    if scenario.get("method") != "qlora" and layout.tensor == layout.pipeline == 1:
        price = "Only adapters learn, on a 4-bit base that is unpacked for every use: slower, slightly less exact."
        fields = {**full_only, "method": "qlora", "base_weights": None}
        yield Change("qlora", "Train with QLoRA", price, QUALITY, fields=fields)


def of_sequence(plan: Plan, scenario: Scenario, capacity_bytes: int, facts: Catalog) -> Iterator[Change]:
    """Iterate over the longest shorter sequence that surely fits, or fits where none surely does.

    None is if a quarter is still too long: that is another run.
    """

    sizes: dict[int, Size] = {}  # by steps, those that surely fit and those that fit alike

    def size(steps: int) -> Size:
        if steps not in sizes:
            sizes[steps] = size_of(plan._replace(tokens=steps * SEQUENCE_STEP), facts)
        return sizes[steps]

    def longest(*, surely: bool) -> int:
        steps = (plan.tokens - 1) // SEQUENCE_STEP
        return most_that_fit(lambda count: size(count).least(surely=surely), capacity_bytes, least, steps)

    if stays_beyond(plan, capacity_bytes):
        return
    least = max(-(-plan.layout.context // SEQUENCE_STEP), plan.tokens // 4 // SEQUENCE_STEP, 1)
    if most := longest(surely=True) or longest(surely=False):
        tokens = most * SEQUENCE_STEP
        what = f"Cut sequences to {show_count(tokens)} tokens"
        price = "Longer examples are cut or left out; the model learns no longer dependencies."
        fields: dict[str, object] = {"sequence_tokens": tokens}
        if scenario.get("packed_tokens") and plan.packed > tokens:  # one of them fills all that is left
            fields["packed_tokens"] = tokens
        yield Change("sequence", what, price, QUALITY, fields=fields)


def of_devices(plan: Plan, scenario: Scenario) -> Iterator[Change]:
    """Iterate over more devices: ranks that share one copy, or tensor ranks where a layout divides the model so.

    No trainer divides matrices of packed weights over tensor ranks (huggingface/transformers#38122).
    """
    layout = plan.layout
    alone = layout.tensor == layout.pipeline == 1
    if plan.stage_of_zero or alone:
        part, degrees = layout.devices // layout.data, layout._asdict()
        for data in (ranks for ranks in MACHINES if ranks > layout.data and ranks * part <= MOST_DEVICES):
            fields: dict[str, object] = {"parallelism": {**degrees, "data": data}, "accelerators": data * part}
            what = f"Use {show_count(data * part)} devices"
            if not plan.stage_of_zero:
                fields["sharding"] = "zero-3"
                what += " and FSDP"
            yield Change("devices", what, MORE, HARDWARE, fields={**fields, "shard_ranks": None}, part=1 / data)
    packed = scenario.get("method") == "qlora"
    if not packed and not plan.stage_of_zero and (layout.data == 1 or not alone):
        for tensor in tensor_degrees(plan.architecture):
            if layout.tensor < tensor <= WIDEST_TENSOR:
                wider = layout._replace(tensor=tensor)
                what = f"Use {show_count(wider.devices)} devices, {tensor} of them tensor-parallel"
                fields = {"parallelism": wider._asdict(), "accelerators": wider.devices}
                yield Change("tensor", what, MORE, HARDWARE, fields=fields, part=1 / tensor)
