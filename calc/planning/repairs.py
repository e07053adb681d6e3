"""What would make it fit: single changes of a scenario of inference, each computed, least harm first.

A change that is offered fits, and runs as far as is known. The order is: the number format of the cache, the engine's
share of the device, the GPU's of a memory that it shares, the sequences that it is set up for, attention by data
ranks, no videos, nothing but text, fewer sequences, a shorter context, smaller pieces of prompts, no recorded graphs,
the next number formats of the weights, experts or layers in host memory, more devices, another device. Where
something does not run at all, other layouts and engines come first, then the cache and the weights in formats that
run.
"""

from collections.abc import Iterator

from calc.catalog import Catalog
from calc.catalog.records import Mixture, NumberFormat, StoredWeights, Weights
from calc.memory.budget import OUTPUT_TOKENS, Demand
from calc.memory.stored_weights import whole_model
from calc.memory.weights import stage_weights_bytes
from calc.planning.changes import LITTLE, NONE, QUALITY, SCOPE, SPEED, Repair, Wanted, under
from calc.planning.fit import most_that_fit
from calc.planning.placed_repairs import (
    of_attention,
    of_devices,
    of_engine,
    of_experts,
    of_layers,
    of_layout,
    of_other_devices,
    of_shared_memory,
)
from calc.units import show_count

# The number format of a cache in 8 bit, by engine, and for the mathematics alone; and formats of weights for that.
CACHE_FORMATS = {"vllm": "fp8", "sglang": "fp8", "tensorrt-llm": "fp8", "llama.cpp": "q8_0"}
BARE_CACHE, BARE_FORMATS = "fp8", ("fp8", "awq")
LARGEST_SHARE = 0.95  # of a device that an engine is given without trouble
STEP = 256  # tokens: a shorter context is a multiple of it
LEAST_CONTEXT = 4  # a context is not cut to less than this part of it
LEAST_PIECE = 512  # tokens of a prompt that pass at once: with fewer it is read much slower
MOST_FORMATS = 3  # offered at once


def repairs(wanted: Wanted, *, fits: bool) -> Iterator[Repair]:
    """Iterate over the changes after which it fits and runs, of each kind those after which it surely does, if any do.

    They come as kinds of changes do, least harm first. What `fits` is tight: it needs little more, and other tight ones
    are no help.
    """
    kinds = KINDS[: KINDS.index(of_experts)] if fits else KINDS
    for kind in kinds if wanted.runs else STARTING:
        sure = list(kind(wanted._replace(surely=True)))
        yield from sure or (() if fits else kind(wanted))


def of_cache(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the cache in 8 bit, in the number format that the engine keeps it in: instead of 16, or another."""
    demand, engine = wanted.demand, wanted.engine
    if (wanted.runs and demand.keys.bits < 16) or (engine is not None and engine.id not in CACHE_FORMATS):
        return
    small = wanted.facts.number_format(CACHE_FORMATS[engine.id] if engine else BARE_CACHE)
    sizes = [
        size for kind in demand.architecture.kinds for kept in kind.caches for size in (kept.key_dim, kept.value_dim)
    ]
    if not sizes or (small.group and any(size % small.group for size in sizes)):
        return
    if not wanted.able(engine, demand.weights, caches=(small.id, small.id)):
        return
    room = wanted.room(demand._replace(keys=small, values=small))
    change: dict[str, object] = {"kv_cache": small.id, "kv_cache_v": None}
    yield from wanted.fitting(room, change, f"Keep the cache in {small.name}", LITTLE)


def of_share(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over a larger share of the device, under engines that take one of the whole device."""
    serving = wanted.serving
    if serving is None or serving.engine.id not in ("vllm", "sglang"):
        return
    if (serving.fraction or serving.engine.values.get("memory_fraction", 1)) < LARGEST_SHARE:
        room = wanted.room(wanted.demand, serving=under(serving, fraction=LARGEST_SHARE))
        message = f"Give {serving.engine.name} {LARGEST_SHARE:.0%} of the device".replace("%", " %")
        yield from wanted.fitting(room, {"memory_fraction": LARGEST_SHARE}, message, NONE)


def of_slots(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the most sequences that the engine can be set up for, no fewer than are asked for.

    What it holds for each that may run is there whether it runs or not: logits in the sampler, or recurrent states.
    """
    serving, asked = wanted.serving, wanted.demand.sequences_on(wanted.layout)
    if serving is None or not {"slots", "sequences"} & serving.engine.values.keys():
        return

    def missing(count: int) -> int:
        return wanted.missing(wanted.demand, under(serving, slots=count))

    if slots := most_that_fit(missing, 0, asked, serving.most_running - 1):
        room = wanted.room(wanted.demand, serving=under(serving, slots=slots))
        words = "one sequence" if slots == 1 else f"{show_count(slots)} sequences"
        yield from wanted.fitting(
            room, {"sequence_slots": slots}, f"Set {serving.engine.name} up for {words} at most", NONE
        )


def of_sight(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over vLLM without memory for videos, and with text alone, for which it loads nothing that sees."""
    demand, engine = wanted.demand, wanted.engine
    budget = engine.towers.get(demand.architecture.family) if engine else None
    if engine is None or engine.id != "vllm":
        return
    if budget is not None and budget.video_tokens and demand.videos:
        room = wanted.room(demand._replace(videos=False))
        yield from wanted.fitting(room, {"videos": False}, "Ask it about images and not about videos", SCOPE)
    alone = demand.architecture.alone
    if alone != demand.architecture and "V1" not in engine.from_era:
        room = wanted.room(demand._replace(architecture=alone))
        change: dict[str, object] = {"text_only": True, "videos": None}
        yield from wanted.fitting(room, change, "Ask it about text alone, and load nothing that sees or hears", SCOPE)


def of_sequences(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the most sequences that fit, where there are several."""
    demand = wanted.demand

    def missing(count: int) -> int:
        return wanted.missing(demand._replace(sequences=count))

    if most := most_that_fit(missing, 0, 1, demand.sequences - 1):
        room = wanted.room(demand._replace(sequences=most))
        words = "one sequence" if most == 1 else f"{show_count(most)} sequences"
        yield from wanted.fitting(room, {"sequences": most}, f"Serve {words} at once", SCOPE)


def of_context(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the longest context that fits, if it is not cut to less than a quarter."""
    demand = wanted.demand

    def cut(steps: int) -> Demand:  # as a scenario is read that says no more than the context
        tokens = steps * STEP
        return demand._replace(tokens=tokens, prompt_tokens=tokens - min(OUTPUT_TOKENS, tokens // 2))

    least, most = demand.tokens // LEAST_CONTEXT // STEP, (demand.tokens - 1) // STEP
    least = max(least, -(-(demand.prefix.shared_tokens + OUTPUT_TOKENS) // STEP))
    steps = most_that_fit(lambda steps: wanted.missing(cut(steps)), 0, least, most) if least else 0
    if not steps:
        return
    change: dict[str, object] = {"context_tokens": steps * STEP, "prompt_tokens": None, "output_tokens": None}
    change["cached_tokens"] = None
    message = f"Keep texts to {show_count(steps * STEP)} tokens"
    yield from wanted.fitting(wanted.room(cut(steps)), change, message, SCOPE)


def of_pieces(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the longest pieces of a prompt, of half the tokens and again, that leave room for the rest."""
    serving = wanted.serving
    tokens = serving.piece_tokens if serving else None
    while serving and tokens and (tokens := tokens // 2) >= LEAST_PIECE:
        smaller = under(serving, batched_tokens=tokens)
        if wanted.missing(wanted.demand, smaller) <= 0:
            message = f"Read prompts in pieces of {show_count(tokens)} tokens"
            room = wanted.room(wanted.demand, serving=smaller)
            yield from wanted.fitting(room, {"batched_tokens": tokens}, message, SPEED)
            return


def of_graphs(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the engine without recorded graphs, where it holds memory for some."""
    serving = wanted.serving
    if serving is not None and serving.engine.graphs and serving.engine.values.get("cuda_graphs"):
        plain = serving.engine._replace(graphs=0)
        room = wanted.room(wanted.demand, serving=under(serving, engine=plain.valued(plain.values)))
        yield from wanted.fitting(room, {"graphs": False}, f"Let {plain.name} record no graphs of its kernels", SPEED)


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
        for repair in wanted.fitting(
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


STARTING = (of_layout, of_engine, of_cache, of_weights)  # what makes run what does not
KINDS = (
    of_cache,
    of_share,
    of_shared_memory,
    of_slots,
    of_attention,
    of_sight,
    of_sequences,
    of_context,
    of_pieces,
    of_graphs,
    of_weights,
    of_experts,
    of_layers,
    of_devices,
    of_other_devices,
)
