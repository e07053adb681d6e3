"""What would make it fit: changes of a scenario of inference, each computed, least harm first.

A change that is offered fits, and runs as far as is known. The order is: the number format of the cache, the engine's
share of the device, the GPU's of a memory that it shares, the sequences that it is set up for, attention by data
ranks, no videos, nothing but text, fewer sequences, a shorter context, smaller pieces of prompts, no recorded graphs,
the next number formats of the weights, experts or layers in host memory, weights of two bits, more devices, another
device. Where no single change that costs nothing to buy is enough, two are made together, and a person's own card runs
llama.cpp. Where something does not run at all, other layouts and engines come first, then the cache and the weights in
formats that run.
"""

from collections.abc import Callable, Iterator

from calc.memory.budget import OUTPUT_TOKENS
from calc.planning.changes import LITTLE, NONE, SCOPE, SPEED, Repair, Trial, Wanted, under
from calc.planning.format_repairs import (
    FEW_BITS,
    bits_of,
    harm_of,
    narrower,
    of_few_bits,
    of_llama_cpp,
    of_weights,
    words_of,
)
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

# The number format of a cache in 8 bit, by engine, and for the mathematics alone.
CACHE_FORMATS = {"vllm": "fp8", "sglang": "fp8", "tensorrt-llm": "fp8", "llama.cpp": "q8_0"}
BARE_CACHE = "fp8"
LARGEST_SHARE = 0.95  # of a device that an engine is given without trouble
STEP = 256  # tokens: a shorter context is a multiple of it
LEAST_CONTEXT = 4  # a context is not cut to less than this part of it
LEAST_PIECE = 512  # tokens of a prompt that pass at once: with fewer it is read much slower


def repairs(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the changes after which it fits and runs, of each kind those after which it surely does, if any do.

    They come as kinds of changes do, least harm first. What fits is tight: it needs little more, so that what costs
    most is no help, and what leaves it tight neither.
    """
    kinds = KINDS[: KINDS.index(of_experts)] if wanted.fits else KINDS
    if wanted.too_small(wanted.accelerator, wanted.weights):
        kinds = tuple(kind for kind in kinds if kind not in BESIDE_WEIGHTS)
    helped = set[Callable[[Wanted], Iterator[Repair]]]()
    for kind in kinds if wanted.runs else STARTING:
        if helped.isdisjoint(UNLESS.get(kind, ())):
            found = offered(kind(wanted), MOST_OFFERED.get(kind, 1), tight=not wanted.fits)
            helped |= {kind} if found else set()
            yield from found


def offered(found: Iterator[Repair], most: int, *, tight: bool) -> list[Repair]:
    """Return the first changes of a kind that make it surely fit; where none does and `tight` ones help, those."""
    sure, likely = list[Repair](), list[Repair]()
    for repair in found:
        (sure if repair.sure else likely).append(repair)
        if len(sure) == most:
            break
    return sure or (likely[:most] if tight else [])


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
    left = wanted.trial(demand._replace(keys=small, values=small))
    change: dict[str, object] = {"kv_cache": small.id, "kv_cache_v": None}
    yield from wanted.fitting(left, change, f"Keep the cache in {small.name}", LITTLE)


def of_share(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over a larger share of the device, under engines that take one of the whole device."""
    serving = wanted.serving
    if serving is None or serving.engine.id not in ("vllm", "sglang"):
        return
    if (serving.fraction or serving.engine.values.get("memory_fraction", 1)) < LARGEST_SHARE:
        left = wanted.trial(wanted.demand, serving=under(serving, fraction=LARGEST_SHARE))
        message = f"Give {serving.engine.name} {LARGEST_SHARE:.0%} of the device".replace("%", " %")
        yield from wanted.fitting(left, {"memory_fraction": LARGEST_SHARE}, message, NONE)


def of_slots(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the most sequences that the engine can be set up for, no fewer than are asked for.

    What it holds for each that may run is there whether it runs or not: logits in the sampler, or recurrent states.
    """
    serving, asked = wanted.serving, wanted.demand.sequences_on(wanted.layout)
    if serving is None or not {"slots", "sequences"} & serving.engine.values.keys():
        return

    def of(count: int) -> Trial:
        return wanted.trial(wanted.demand, serving=under(serving, slots=count))

    for slots, left in wanted.most(of, asked, serving.most_running - 1):
        words = "one sequence" if slots == 1 else f"{show_count(slots)} sequences"
        yield from wanted.fitting(
            left, {"sequence_slots": slots}, f"Set {serving.engine.name} up for {words} at most", NONE
        )


def of_sight(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over vLLM without memory for videos, and with text alone, for which it loads nothing that sees."""
    demand, engine = wanted.demand, wanted.engine
    budget = engine.towers.get(demand.architecture.family) if engine else None
    if engine is None or engine.id != "vllm":
        return
    if budget is not None and budget.video_tokens and demand.videos:
        left = wanted.trial(demand._replace(videos=False))
        yield from wanted.fitting(left, {"videos": False}, "Ask it about images and not about videos", SCOPE)
    alone = demand.architecture.alone
    if alone != demand.architecture and "V1" not in engine.from_era:
        left = wanted.trial(demand._replace(architecture=alone))
        change: dict[str, object] = {"text_only": True, "videos": None}
        yield from wanted.fitting(left, change, "Ask it about text alone, and load nothing that sees or hears", SCOPE)


def of_sequences(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the most sequences that fit, where there are several."""
    demand = wanted.demand

    def of(count: int) -> Trial:
        return wanted.trial(demand._replace(sequences=count))

    for most, left in wanted.most(of, 1, demand.sequences - 1):
        words = "one sequence" if most == 1 else f"{show_count(most)} sequences"
        yield from wanted.fitting(left, {"sequences": most}, f"Serve {words} at once", SCOPE)


def of_context(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the longest context that fits, if it is not cut to less than a quarter."""
    demand = wanted.demand

    def cut(steps: int) -> Trial:  # as a scenario is read that says no more than the context
        tokens = steps * STEP
        return wanted.trial(demand._replace(tokens=tokens, prompt_tokens=tokens - min(OUTPUT_TOKENS, tokens // 2)))

    least, most = demand.tokens // LEAST_CONTEXT // STEP, (demand.tokens - 1) // STEP
    least = max(least, -(-(demand.prefix.shared_tokens + OUTPUT_TOKENS) // STEP))
    for steps, left in wanted.most(cut, least, most) if least else ():
        change: dict[str, object] = {"context_tokens": steps * STEP, "prompt_tokens": None, "output_tokens": None}
        change["cached_tokens"] = None
        yield from wanted.fitting(left, change, f"Keep texts to {show_count(steps * STEP)} tokens", SCOPE)


def of_pieces(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the longest pieces of a prompt, of half the tokens and again, that leave room for the rest."""
    serving = wanted.serving
    tokens = serving.piece_tokens if serving else None
    pieces = list[int]()
    while serving and tokens and (tokens := tokens // 2) >= LEAST_PIECE:
        pieces.append(tokens)

    def of(halvings: int) -> Trial:
        assert serving
        return wanted.trial(wanted.demand, serving=under(serving, batched_tokens=pieces[-halvings]))

    for count, left in wanted.most(of, 1, len(pieces)):
        message = f"Read prompts in pieces of {show_count(pieces[-count])} tokens"
        yield from wanted.fitting(left, {"batched_tokens": pieces[-count]}, message, SPEED)


def of_graphs(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the engine without recorded graphs, where it holds memory for some."""
    serving = wanted.serving
    if serving is not None and serving.engine.graphs and serving.engine.values.get("cuda_graphs"):
        plain = serving.engine._replace(graphs=0)
        left = wanted.trial(wanted.demand, serving=under(serving, engine=plain.valued(plain.values)))
        yield from wanted.fitting(left, {"graphs": False}, f"Let {plain.name} record no graphs of its kernels", SPEED)


def of_two(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over fewer bits of the weights together with a smaller cache: of fewer bits, sequences or tokens."""
    formats = [weights for weights in narrower(wanted) if bits_of(weights, wanted.facts) >= FEW_BITS]
    for kind in (of_cache, of_sequences, of_context):
        for weights in formats:
            for repair in kind(wanted._replace(demand=wanted.demand._replace(weights=weights, group=None))):
                yield repair.after({"weights": weights.id}, words_of(weights), harm_of(weights, wanted.facts))


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
    of_two,
    of_experts,
    of_layers,
    of_few_bits,
    of_llama_cpp,
    of_devices,
    of_other_devices,
)
UNLESS = {of_two: KINDS, of_few_bits: (of_weights,), of_llama_cpp: KINDS}  # what is offered where none of these was
# What leaves each device the weights that it has.
BESIDE_WEIGHTS = (of_cache, of_share, of_slots, of_sequences, of_context, of_pieces, of_graphs)
MOST_OFFERED = {of_layout: 2, of_sight: 2, of_weights: 3, of_other_devices: 3}  # at once; one of other kinds
