"""What would make it fit: single changes of a scenario of inference, each computed, least harm first.

A change that is offered fits, and runs as far as is known. The order is: the number format of the cache, the engine's
share of the device, attention by data ranks, fewer sequences, a shorter context, the next formats of the weights,
experts or layers in host memory, more devices, another device. Where something does not run at all, other engines come
before all of these.
"""

from collections.abc import Iterator
from typing import NamedTuple

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Engine, Mixture, NumberFormat, StoredWeights, Weights
from calc.memory.budget import Demand, Layout
from calc.memory.placement import ON_DEVICES, Placement
from calc.memory.stored_weights import whole_model
from calc.memory.weights import stage_weights_bytes
from calc.planning.fit import most_that_fit
from calc.planning.layout import apart_layouts, best_layout, fullest
from calc.planning.serving import Serving
from calc.planning.support import sold_in_multiples, usual_engine, what_runs
from calc.units import show_count

NONE, LITTLE, SPEED, QUALITY, SCOPE, HARDWARE = (
    "nothing",
    "a little quality",
    "speed",
    "quality",
    "shorter or fewer texts at once",
    "hardware",
)
# The number format of a cache in 8 bit, by engine, and for the mathematics alone; and formats of weights for that.
CACHE_FORMATS = {"vllm": "fp8", "sglang": "fp8", "tensorrt-llm": "fp8", "llama.cpp": "q8_0"}
BARE_CACHE, BARE_FORMATS = "fp8", ("fp8", "awq")
LARGEST_SHARE = 0.95  # of a device that an engine is given without trouble
STEP = 256  # tokens: a shorter context is a multiple of it
LEAST_CONTEXT = 4  # a context is not cut to less than this part of it
MOST_FORMATS, MOST_OTHERS = 3, 3  # offered at once
MOST_BUILT = 16  # devices of two machines


class Repair(NamedTuple):
    """A change with its effect. A field of `change` whose value is None is taken out of the scenario."""

    change: dict[str, object]
    message: str
    headroom_bytes: int
    cost: str


class Wanted(NamedTuple):
    """What does not fit, or does not run: the demand under an engine, or by the mathematics alone, on its devices."""

    facts: Catalog
    demand: Demand
    layout: Layout
    accelerator: Accelerator
    serving: Serving | None
    runs: bool

    @property
    def engine(self) -> Engine | None:
        """The engine, None for the mathematics alone."""
        return self.serving.engine if self.serving else None

    def room(self, demand: Demand, layout: Layout | None = None, serving: Serving | None = None) -> int:
        """Return the bytes that are left on the fullest device; negative where it does not fit."""
        serving, layout = serving or self.serving, layout or self.layout
        if serving is None:
            return self.accelerator.capacity_bytes - fullest(demand, layout)[1].total
        if not serving.fits_host(demand):
            return -1
        runtime = serving.fullest(demand, layout)[1]
        return (runtime.capacity or 0) - runtime.device

    def missing(self, demand: Demand, serving: Serving | None = None) -> int:
        """Return the bytes missing on the fullest device, as evenly as they grow; not above 0 where it fits."""
        serving = serving or self.serving
        if serving is None:
            return -self.room(demand)
        return serving.missing(demand, self.layout)

    def able(self, engine: Engine | None, weights: Weights, accelerator: Accelerator | None = None) -> bool:
        """Return whether an engine is not known to refuse a number format on a device."""
        device = accelerator or self.accelerator
        found = what_runs(
            facts=self.facts,
            engine=engine,
            device=device,
            weights=weights,
            architecture=self.demand.architecture,
        )
        return found.runs is not False


def repairs(wanted: Wanted) -> list[Repair]:
    """Return the changes after which it fits and runs, least harm first."""
    if not wanted.runs:
        return [*of_engine(wanted), *of_weights(wanted)]
    return [
        *of_cache(wanted),
        *of_share(wanted),
        *of_attention(wanted),
        *of_sequences(wanted),
        *of_context(wanted),
        *of_weights(wanted),
        *of_experts(wanted),
        *of_layers(wanted),
        *of_devices(wanted),
        *of_other_devices(wanted),
    ]


def fitting(room: int, change: dict[str, object], message: str, cost: str) -> Iterator[Repair]:
    """Yield a change where it leaves room."""
    if room >= 0:
        yield Repair(change, message, room, cost)


def of_engine(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the engine that runs the model as it is, where the one asked for does not."""
    demand = wanted.demand
    other = usual_engine(
        facts=wanted.facts, device=wanted.accelerator, weights=demand.weights, architecture=demand.architecture
    )
    if other is None or wanted.serving is None:
        return
    serving = under(wanted.serving, engine=other, fraction=None, placement=ON_DEVICES, host=None, batched_tokens=None)
    layout = best_layout(demand, wanted.layout.devices, other)
    if layout is not None:
        change: dict[str, object] = {"engine": other.id, "memory_fraction": None, "gpu_layers": None}
        change |= {
            "experts_on_host": None,
            "host": None,
            "engine_version": None,
            "parallelism": None,
            "batched_tokens": None,
        }
        yield from fitting(wanted.room(demand, layout[0], serving), change, f"Run it under {other.name}", NONE)


def under(serving: Serving, **changes: object) -> Serving:
    """Return a demand's engine and device with something changed."""
    kept = ("engine", "accelerator", "fraction", "batched_tokens", "attention", "placement", "host", "slots")
    return Serving(**{**{name: getattr(serving, name) for name in kept}, **changes})


def of_cache(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the cache in 8 bit, in the number format that the engine keeps it in."""
    demand, engine = wanted.demand, wanted.engine
    if demand.keys.bits < 16 or (engine is not None and engine.id not in CACHE_FORMATS):
        return
    small = wanted.facts.number_format(CACHE_FORMATS[engine.id] if engine else BARE_CACHE)
    sizes = [
        size for kind in demand.architecture.kinds for kept in kind.caches for size in (kept.key_dim, kept.value_dim)
    ]
    if not sizes or (small.group and any(size % small.group for size in sizes)):
        return
    room = wanted.room(demand._replace(keys=small, values=small))
    change: dict[str, object] = {"kv_cache": small.id, "kv_cache_v": None}
    yield from fitting(room, change, f"Keep the cache in {small.name}", LITTLE)


def of_share(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over a larger share of the device, under engines that take one of the whole device."""
    serving = wanted.serving
    if serving is None or serving.engine.id not in ("vllm", "sglang"):
        return
    if (serving.fraction or serving.engine.values.get("memory_fraction", 1)) < LARGEST_SHARE:
        room = wanted.room(wanted.demand, serving=under(serving, fraction=LARGEST_SHARE))
        message = f"Give {serving.engine.name} {LARGEST_SHARE:.0%} of the device".replace("%", " %")
        yield from fitting(room, {"memory_fraction": LARGEST_SHARE}, message, NONE)


def of_attention(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over data parallelism of attention, where tensor ranks repeat what one cache holds: the first that fits.

    Each data rank caches its own sequences alone, and all ranks share the experts, as DeepSeek-V3 is served
    (arXiv:2412.19437).
    """
    layout, engine = wanted.layout, wanted.engine
    if layout.data > 1 or layout.context > 1 or (engine is not None and engine.splits_layers):
        return
    for apart in apart_layouts(wanted.demand.architecture, layout.tensor):
        apart = apart._replace(pipeline=layout.pipeline)
        if (room := wanted.room(wanted.demand, apart)) >= 0:
            message = f"Let {show_count(apart.data)} ranks cache sequences of their own (data parallelism of attention)"
            change: dict[str, object] = {"parallelism": apart._asdict(), "accelerators": None}
            yield Repair(change, f"{message}, and divide the experts over all", room, NONE)
            return


def of_sequences(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the most sequences that fit, where there are several."""
    demand = wanted.demand

    def missing(count: int) -> int:
        return wanted.missing(demand._replace(sequences=count))

    if most := most_that_fit(missing, 0, 1, demand.sequences - 1):
        room = wanted.room(demand._replace(sequences=most))
        words = "one sequence" if most == 1 else f"{show_count(most)} sequences"
        yield from fitting(room, {"sequences": most}, f"Serve {words} at once", SCOPE)


def of_context(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the longest context that fits, if it is not cut to less than a quarter."""
    demand = wanted.demand
    written = demand.tokens - demand.prompt_tokens

    def cut(steps: int) -> Demand:
        tokens = steps * STEP
        return demand._replace(tokens=tokens, prompt_tokens=max(tokens - min(written, tokens // 2), 1))

    least, most = demand.tokens // LEAST_CONTEXT // STEP, (demand.tokens - 1) // STEP
    least = max(least, -(-(demand.prefix.shared_tokens + written) // STEP))
    steps = most_that_fit(lambda steps: wanted.missing(cut(steps)), 0, least, most) if least else 0
    if not steps:
        return
    change: dict[str, object] = {"context_tokens": steps * STEP, "prompt_tokens": None, "output_tokens": None}
    change["cached_tokens"] = None
    message = f"Keep texts to {show_count(steps * STEP)} tokens"
    yield from fitting(wanted.room(cut(steps)), change, message, SCOPE)


def of_weights(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the engine's number formats with fewer bytes than the weights have now, the first that fit."""
    demand, facts = wanted.demand, wanted.facts
    if isinstance(demand.weights, StoredWeights):
        return
    offered, now = 0, weights_bytes(demand, demand.weights, demand.group)
    for name in wanted.engine.formats if wanted.engine else BARE_FORMATS:
        weights = facts.weights_format(name)
        if offered == MOST_FORMATS or not wanted.able(wanted.engine, weights):
            continue
        if wanted.runs and weights_bytes(demand, weights, None) >= now:
            continue
        for repair in fitting(
            wanted.room(demand._replace(weights=weights, group=None)),
            {"weights": weights.id},
            f"Take the weights in {weights.name}{loss_of(weights)}",
            QUALITY if bits_of(weights, facts) < 8 else LITTLE,
        ):
            offered += 1
            yield repair


def weights_bytes(demand: Demand, weights: Weights, group: int | None) -> int:
    """Return the bytes of a whole model's weights."""
    return stage_weights_bytes(
        stage=whole_model(demand.architecture), tensor_parallel=1, expert_parallel=1, weights=weights, group=group
    )


def bits_of(weights: NumberFormat | Mixture, facts: Catalog) -> float:
    """Return the bits of most weights."""
    return facts.number_format(weights.base).bits if isinstance(weights, Mixture) else weights.bits


def loss_of(weights: NumberFormat | Mixture) -> str:
    """Return what a number format was measured to lose, as an addition to its name; empty where no source says it."""
    if not isinstance(weights, Mixture) or not weights.perplexity:
        return ""
    return f" (perplexity of Llama 3 8B {weights.perplexity:+g})"


def of_experts(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the fewest layers whose experts stay in host memory under llama.cpp, the rest on the device."""
    serving, demand = wanted.serving, wanted.demand
    if serving is None or not leaves_nothing(wanted) or not demand.architecture.experts:
        return
    layers = demand.architecture.layer_count

    def held(count: int) -> Serving:
        return under(serving, placement=Placement(None, layers - count))

    if wanted.missing(demand, serving=held(0)) <= 0:
        kept = most_that_fit(lambda count: wanted.missing(demand, serving=held(count)), 0, 1, layers - 1)
        message = f"Leave the experts of {layers - kept} of {layers} layers in the host's memory"
        room = wanted.room(demand, serving=held(kept))
        yield from fitting(room, {"experts_on_host": layers - kept}, message, SPEED)


def leaves_nothing(wanted: Wanted) -> bool:
    """Return whether an engine could leave parts of a model in the host's memory, and leaves none so far."""
    serving, layout = wanted.serving, wanted.layout
    if serving is None or serving.engine.id != "llama.cpp" or serving.placement.on_host:
        return False
    return layout.devices == layout.pipeline


def of_layers(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the most layers that stand on the device under llama.cpp, the others in host memory."""
    serving, demand = wanted.serving, wanted.demand
    if serving is None or not leaves_nothing(wanted):
        return
    layers = demand.architecture.layer_count

    def held(count: int) -> Serving:
        return under(serving, placement=Placement(count))

    if most := most_that_fit(lambda count: wanted.missing(demand, serving=held(count)), 0, 1, layers - 1):
        message = f"Leave {layers - most} of {layers} layers in the host's memory"
        yield from fitting(wanted.room(demand, serving=held(most)), {"gpu_layers": most}, message, SPEED)


def of_devices(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the fewest devices of the kind that hold it, in a number that machines and engines are made for."""
    engine, now = wanted.engine, wanted.layout.devices
    if not sold_in_multiples(wanted.accelerator):
        return
    by_layers = engine is not None and engine.splits_layers
    for count in range(now + 1, MOST_BUILT + 1) if by_layers else (2, 4, 8, MOST_BUILT):
        found = best_layout(wanted.demand, count, engine) if count > now else None
        if found is not None and (room := wanted.room(wanted.demand, found[0])) >= 0:
            change: dict[str, object] = {"accelerators": count, "parallelism": found[0]._asdict()}
            yield Repair(change, f"Take {show_count(count)} of them", room, HARDWARE)
            return


def of_other_devices(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over devices of the same maker and kind with more memory, the smallest that hold it first."""
    device, layout = wanted.accelerator, wanted.layout
    others = [
        other
        for other in wanted.facts.accelerators()
        if (other.vendor, other.segment) == (device.vendor, device.segment)
        and other.capacity_bytes > device.capacity_bytes
        and (layout.devices == 1 or sold_in_multiples(other))
    ]
    offered = 0
    for other in sorted(others, key=lambda item: (item.capacity_bytes, item.released)):
        if offered == MOST_OTHERS or not wanted.able(wanted.engine, wanted.demand.weights, other):
            continue
        serving = under(wanted.serving, accelerator=other) if wanted.serving else None
        room = wanted._replace(accelerator=other).room(wanted.demand, serving=serving)
        for repair in fitting(room, {"accelerator": other.id}, f"Take {other.name}", HARDWARE):
            offered += 1
            yield repair
