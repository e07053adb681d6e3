"""Repairs of a training run: the single changes that make it fit, cheapest first, and the room where it fits.

Every function takes a scenario of `workload: training` as a reader gives it, without the defaults filled in, so that a
change of one field lets the defaults of others follow. Sizes are those that `estimate` would report.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from calc.catalog import Catalog, catalog
from calc.errors import ScenarioError
from calc.memory.training.loss import CHUNKED, FUSED
from calc.memory.training.loss import FULL as FULL_LOSS
from calc.memory.training.plan import FULL, GRADIENTS, NO_CHECKPOINTS, OPTIMIZER, PARAMETERS, SELECTIVE, Plan
from calc.memory.training.reserve import totals
from calc.memory.training.states import FACTORED
from calc.planning.layout import tensor_degrees
from calc.planning.training_fit import MOST_DEVICES, WIDEST_TENSOR, fullest
from calc.training.fields import MOST_BATCH, MOST_SEQUENCE
from calc.training.reading import read_training
from calc.units import show_count

FREE, LITTLE, SPEED, QUALITY, HARDWARE = range(5)
PRICES = ("nothing", "a little speed", "speed", "quality or scope", "hardware")
SEQUENCE_STEP = 128  # tokens: a shorter sequence is a multiple of it
LEAST_GAIN_BYTES = 2**20  # a change that saves less has no effect worth naming
ADAMW = ("adamw", "adamw-foreach")
STAGE_NAMES = {"zero-1": "ZeRO-1", "zero-2": "ZeRO-2", "zero-3": "ZeRO-3 (FSDP)"}

Scenario = Mapping[str, object]


class Change(NamedTuple):
    """A change of one thing. A field whose value is None is taken out of the scenario."""

    id: str
    what: str
    price: str
    level: int  # position in `PRICES`
    fields: dict[str, object]


class Repair(NamedTuple):
    """A change with its effect: what the fullest device and the host then need, and what the device saves."""

    change: Change
    device_bytes: int
    host_bytes: int
    saved_bytes: int


class Room(NamedTuple):
    """The largest micro-batch, and the longest sequence, that fit with everything else as it is."""

    micro_batch: int
    sequence_tokens: int
    whole_context: bool  # whether the sequence ends where the model's context does, and not where memory does


class Size(NamedTuple):
    """What a run takes: on the fullest device, and of host memory in all."""

    device: int
    host: int


def size_of(plan: Plan, facts: Catalog) -> Size:
    """Return what a plan takes, as a report has it."""
    widest, by_stage = fullest(plan)
    layout = plan.layout
    device = totals(plan, widest, facts).device.typical
    return Size(device, layout.devices // layout.pipeline * sum(stage.host for stage in by_stage))


def changed(scenario: Scenario, fields: Mapping[str, object]) -> dict[str, object]:
    """Return the scenario with fields replaced; None takes a field out."""
    return {name: value for name, value in {**scenario, **fields}.items() if value is not None}


def tried(scenario: Scenario, fields: Mapping[str, object], facts: Catalog) -> Size | None:
    """Return what a changed scenario takes, None where the change cannot be made."""
    try:
        return size_of(read_training(changed(scenario, fields), facts).plan, facts)
    except ScenarioError:
        return None


def repairs(scenario: Scenario, *, fine_tuning: bool = True) -> list[Repair]:
    """Return the single changes that make a run fit that does not, cheapest first; of each kind the mildest.

    `fine_tuning` says whether the model is trained already: adapters and 16-bit updates are offered only then.
    Raises ScenarioError for a scenario that is wrong, or that has no accelerator to fit.
    """
    facts = catalog()
    plan, capacity, size = start(scenario, facts)
    found: dict[str, Repair] = {}
    if size.device <= capacity:
        return []
    for change in candidates(scenario, plan, capacity, facts, fine_tuning=fine_tuning):
        if change.id in found:
            continue
        after = tried(scenario, change.fields, facts)
        if after and after.device <= capacity and size.device - after.device >= LEAST_GAIN_BYTES:
            found[change.id] = Repair(change, after.device, after.host, size.device - after.device)
    return sorted(found.values(), key=lambda repair: repair.change.level)


def together(scenario: Scenario, *, fine_tuning: bool = True) -> list[Repair]:
    """Return changes that make a run fit together where no single one does; empty if these do not either.

    They are taken from the cheapest on until the run fits, and then those left out that it fits without. `saved_bytes`
    is what each saves on top of the ones before it. More devices are left out: they would hide what else can be done.
    """
    facts = catalog()
    plan, capacity, size = start(scenario, facts)
    every = list(candidates(scenario, plan, capacity, facts, fine_tuning=fine_tuning))
    taken: list[Change] = []
    for change in sorted((item for item in every if item.level < HARDWARE), key=lambda item: item.level):
        after = combined(scenario, [*taken, change], facts)
        if size.device <= capacity:
            break
        if after and size.device - after.device >= LEAST_GAIN_BYTES:
            taken, size = [*taken, change], after
    if size.device > capacity:
        return []
    for change in tuple(taken):
        fewer = [item for item in taken if item is not change]
        without = combined(scenario, fewer, facts)
        if without and without.device <= capacity:
            taken = fewer
    return in_turn(scenario, taken, facts)


def in_turn(scenario: Scenario, changes: list[Change], facts: Catalog) -> list[Repair]:
    """Return changes made one after another, each with its effect on top of the ones before it."""
    result = []
    for count in range(1, len(changes) + 1):
        before, after = (combined(scenario, changes[:made], facts) for made in (count - 1, count))
        if before and after:
            result.append(Repair(changes[count - 1], after.device, after.host, before.device - after.device))
    return result


def combined(scenario: Scenario, changes: list[Change], facts: Catalog) -> Size | None:
    """Return what the scenario takes with all the changes."""
    fields: dict[str, object] = {}
    for change in changes:
        fields |= change.fields
    return tried(scenario, fields, facts)


def start(scenario: Scenario, facts: Catalog) -> tuple[Plan, int, Size]:
    """Return the plan of a scenario, what its device has, and what it takes."""
    asked = read_training(scenario, facts)
    if asked.accelerator is None:
        raise ScenarioError("accelerator", "is needed: what shall it fit on?")
    return asked.plan, asked.accelerator.capacity_bytes, size_of(asked.plan, facts)


def candidates(
    scenario: Scenario, plan: Plan, capacity_bytes: int, facts: Catalog, *, fine_tuning: bool
) -> Iterator[Change]:
    """Iterate over the changes that apply to a run; of those with one id the milder comes first."""
    yield from of_computation(plan)
    yield from of_batch(plan)
    yield from of_sharding(plan)
    yield from of_optimizer(plan)
    yield from of_offload(plan)
    if fine_tuning:
        yield from of_method(plan, scenario)
    yield from of_sequence(plan, capacity_bytes, facts)
    yield from of_devices(plan)


def of_computation(plan: Plan) -> Iterator[Change]:
    """Iterate over other ways to compute the same: the attention, the loss, and what is computed twice."""
    if not plan.choices.flash:
        price = "None: the same results, and faster."
        yield Change("flash", "Use flash attention", price, FREE, {"attention": "flash"})
    if plan.architecture.output_size == plan.architecture.vocab_size and plan.architecture.vocab_size:
        if plan.cross_entropy != FUSED and plan.layout.tensor == 1:
            price = "About the same speed; it needs a kernel such as Liger's."
            yield Change("fused-loss", "Fuse the loss with the output matrix", price, FREE, {"cross_entropy": FUSED})
        if plan.cross_entropy == FULL_LOSS:
            price = "About the same speed; the training loop must compute the loss piece by piece."
            yield Change("chunked-loss", "Compute the loss in chunks", price, FREE, {"cross_entropy": CHUNKED})
    if plan.checkpointing == NO_CHECKPOINTS:
        price = "A part of each layer is computed twice."
        fields: dict[str, object] = {"checkpointing": SELECTIVE, "selective": None}
        yield Change("selective", "Checkpoint selectively", price, LITTLE, fields)
    if plan.checkpointing != FULL:
        price = "Every forward pass is computed twice: about a third more computing."
        yield Change("checkpointing", "Checkpoint every layer", price, SPEED, {"checkpointing": FULL})


def of_batch(plan: Plan) -> Iterator[Change]:
    """Iterate over smaller micro-batches with as many more of them; the step's batch stays the same."""
    for micro in range(plan.micro_batch - 1, 0, -1):
        if plan.micro_batch % micro:
            continue
        count = plan.accumulation * plan.micro_batch // micro
        what = f"Micro-batch {show_count(micro)} with {show_count(count)} accumulated"
        price = "The same batch a step; smaller matrices use the device a little less well."
        yield Change("micro-batch", what, price, LITTLE, {"micro_batch": micro, "gradient_accumulation": count})


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
        yield Change("sharding", f"Shard with {STAGE_NAMES[name]}", price, level, {"sharding": name})


def of_optimizer(plan: Plan) -> Iterator[Change]:
    """Iterate over optimizers with smaller states, states elsewhere, and gradients that are used at once."""
    whole = plan.adapters is None
    if plan.method.optimizer.id in ADAMW:
        price = "States are rounded in blocks; results rarely differ."
        yield Change("8-bit", "Use 8-bit AdamW", price, QUALITY, {"optimizer": "adamw-8bit"})
        if not plan.stage_of_zero and "optimizer" not in plan.offload:
            price = "States wait in host memory, and every step pages them in over PCIe."
            yield Change("paged", "Use paged AdamW", price, SPEED, {"optimizer": "paged-adamw"})
    alone = plan.accumulation == 1 and plan.layout.pipeline == 1 and "optimizer" not in plan.offload
    if whole and alone and not plan.in_backward and not plan.scheme.master and plan.stage_of_zero in (0, PARAMETERS):
        price = "No accumulation, and no clipping by the norm of all gradients."
        fields: dict[str, object] = {"optimizer_in_backward": True}
        yield Change("in-backward", "Run the optimizer in the backward pass", price, LITTLE, fields)


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
    return Change(f"offload-{what}", name, price, SPEED, {"offload": [*kept, what]})


def of_method(plan: Plan, scenario: Scenario) -> Iterator[Change]:
    """Iterate over ways to train less of the model, or in fewer bits."""
    full_only: dict[str, object] = {"optimizer_in_backward": None, "gradient_dtype": None}
    if plan.adapters is None:
        if plan.scheme.id in ("bf16-mixed", "bf16-autocast"):
            price = "Updates smaller than BF16 resolves are lost, unless it rounds stochastically."
            plain: dict[str, object] = {"precision": "bf16", "gradient_dtype": None}
            yield Change("bf16", "Keep weights and states in BF16 alone", price, QUALITY, plain)
        price = "Only adapters learn: enough for style and tasks, less for new knowledge."
        yield Change("lora", "Train with LoRA", price, QUALITY, {**full_only, "method": "lora"})
    layout = plan.layout
    if scenario.get("method") != "qlora" and layout.tensor == layout.pipeline == 1:
        price = "Only adapters learn, on a 4-bit base that is unpacked for every use: slower, slightly less exact."
        fields = {**full_only, "method": "qlora", "base_weights": None}
        yield Change("qlora", "Train with QLoRA", price, QUALITY, fields)


def of_sequence(plan: Plan, capacity_bytes: int, facts: Catalog) -> Iterator[Change]:
    """Iterate over the longest shorter sequence that fits, none if a quarter is still too long: that is another run."""

    def size(steps: int) -> int:
        return size_of(plan._replace(tokens=steps * SEQUENCE_STEP), facts).device

    least = max(-(-plan.layout.context // SEQUENCE_STEP), plan.tokens // 4 // SEQUENCE_STEP, 1)
    most = most_that_fit(size, capacity_bytes, least, (plan.tokens - 1) // SEQUENCE_STEP)
    if most:
        tokens = most * SEQUENCE_STEP
        what = f"Cut sequences to {show_count(tokens)} tokens"
        price = "Longer examples are cut or left out; the model learns no longer dependencies."
        yield Change("sequence", what, price, QUALITY, {"sequence_tokens": tokens})


def of_devices(plan: Plan) -> Iterator[Change]:
    """Iterate over more devices: ranks that share one copy, or where a layout divides the model more tensor ranks."""
    layout = plan.layout
    price = "The devices, and a link that carries what they exchange."
    if plan.stage_of_zero or layout.tensor == layout.pipeline == 1:
        data = layout.data * 2
        while data * layout.devices // layout.data <= MOST_DEVICES:
            count = data * layout.devices // layout.data
            fields: dict[str, object] = {"parallelism": layout._replace(data=data)._asdict(), "accelerators": count}
            what = f"Use {show_count(count)} devices"
            if not plan.stage_of_zero:
                fields["sharding"] = "zero-3"
                what += " and FSDP"
            yield Change("devices", what, price, HARDWARE, {**fields, "shard_ranks": None})
            data *= 2
        return
    for tensor in tensor_degrees(plan.architecture):
        if layout.tensor < tensor <= WIDEST_TENSOR:
            wider = layout._replace(tensor=tensor)
            what = f"Use {show_count(wider.devices)} devices, {tensor} of them tensor-parallel"
            fields = {"parallelism": wider._asdict(), "accelerators": wider.devices}
            yield Change("devices", what, price, HARDWARE, fields)


def room(scenario: Scenario) -> Room:
    """Return the largest micro-batch and the longest sequence that fit; zero where not even the least does."""
    facts = catalog()
    plan, capacity, _ = start(scenario, facts)
    limit = read_training(scenario, facts).context_limit

    def of_micro_batch(count: int) -> int:
        return size_of(plan._replace(micro_batch=count), facts).device

    def of_tokens(tokens: int) -> int:
        return size_of(plan._replace(tokens=tokens), facts).device

    def of_steps(steps: int) -> int:
        return of_tokens(steps * SEQUENCE_STEP)

    end = limit if limit and plan.tokens <= limit else MOST_SEQUENCE
    steps = most_that_fit(of_steps, capacity, -(-plan.layout.context // SEQUENCE_STEP), end // SEQUENCE_STEP)
    lengths = [steps * SEQUENCE_STEP]
    lengths += [tokens for tokens in (plan.tokens, end) if tokens - lengths[0] in range(SEQUENCE_STEP)]
    longest = max(tokens for tokens in lengths if tokens == lengths[0] or of_tokens(tokens) <= capacity)
    return Room(most_that_fit(of_micro_batch, capacity, 1, MOST_BATCH), longest, longest == limit)


def most_that_fit(size: Callable[[int], int], capacity_bytes: int, least: int, most: int) -> int:
    """Return the largest count from `least` to `most` whose size fits; 0 if none does. `size` must not fall.

    Sizes are nearly straight lines, so each try stands where a line through the two ends meets the capacity; every
    other one halves the rest, which bounds the tries where they bend.
    """
    if most < least or (low_size := size(least)) > capacity_bytes:
        return 0
    low, high = least, min(most, least * 2 + 1)
    while (high_size := size(high)) <= capacity_bytes:
        if high == most:
            return most
        slope = max((high_size - low_size) // (high - low), 1)
        low, low_size = high, high_size
        high = min(most, max(high * 2, high + (capacity_bytes - high_size) // slope + 1))
    turn = 0
    while high - low > 1:
        middle = (low + high) // 2
        if turn % 3 != 2:
            share = (capacity_bytes - low_size) / max(high_size - low_size, 1)
            middle = min(max(low + int(share * (high - low)) + turn % 3, low + 1), high - 1)
        turn += 1
        if (middle_size := size(middle)) <= capacity_bytes:
            low, low_size = middle, middle_size
        else:
            high, high_size = middle, middle_size
    return low
