"""What is risky about a scenario under its engine: formats, kinds of model, devices, shares and links."""

from calc.catalog.records import Accelerator
from calc.derivation import INFO, WRONG, Warn
from calc.memory.budget import OUTPUT_TOKENS
from calc.memory.engines.vllm import default_sequences, fewer_sequences, state_block
from calc.memory.runtime import CACHES
from calc.performance.fabric import STAGED, joined
from calc.planning.served import Served


def serving_warnings(served: Served) -> list[Warn]:
    """Return what is risky about a scenario under its engine."""
    found = [*model_warnings(served), *division_warnings(served)]
    device = served.serving.accelerator
    if device is None:
        return found
    return [*found, *share_warnings(served), *link_warnings(served, device)]


def division_warnings(served: Served) -> list[Warn]:
    """Return whether layers are divided that the engine by default leaves whole."""
    engine, serving = served.serving.engine, served.serving
    used = [device.name for device, _ in serving.places(served.demand)]
    unused = [device.name for device in serving.devices if device.name not in used]
    if unused:
        message = f"{', '.join(unused)} would get no layer by its share, and is not used"
        return [Warn("device-without-layers", message, "accelerator", INFO)]
    if not engine.splits_layers or served.layout.tensor == 1:
        return []
    message = f"{engine.name} gives each device whole layers unless told otherwise: that is parallelism.pipeline"
    return [Warn("engine-keeps-layers-whole", message, "parallelism.tensor")]


def model_warnings(served: Served) -> list[Warn]:
    """Return whether the model is another than a decoder, which these speeds are for."""
    if not served.demand.architecture.writes:
        message = "the model writes nothing word by word: its speed is the time of one pass over its input"
        return [Warn("writes-no-text", message, "model", INFO)]
    return []


def share_warnings(served: Served) -> list[Warn]:
    """Return whether the engine's share of the device is too small as its defaults are."""
    engine, runtime, case = served.serving.engine, served.runtime, served.case
    found = []
    if limit := fewer_sequences(case, runtime):
        usual, why = default_sequences(engine, case.accelerator), "its sampler leaves no room for this cache"
        if state_block(case):
            why = f"it does not start, as each needs a block of states and the cache has {limit:,}"
        message = (
            f"with {engine.name}'s default of {usual:,} sequences {why}: "
            f"start it with --max-num-seqs {limit} (sequence_slots), as is counted here"
        )
        found.append(Warn("fewer-sequences-than-default", message, "sequences"))
    cache = runtime.bytes_of(*CACHES)
    if runtime.pool is not None and runtime.limit is not None and runtime.needed - cache > runtime.limit:
        message = f"{engine.name}'s share of the device does not hold the weights and a pass: no cache is left"
        found.append(Warn("share-too-small", message, "memory_fraction", WRONG))
    if runtime.beyond_piece > 0:
        message = (
            "Vulkan's drivers give 4 GiB at once, and builds before pull request 15815 ask for the compute buffer in "
            "one piece, which is larger: take a newer one, flash attention (-fa) or smaller micro-batches (-ub)"
        )
        found.append(Warn("piece-too-large", message, "batched_tokens", WRONG))
    return found


def length_warnings(served: Served, *, stated: bool, longest: int | None) -> list[Warn]:
    """Return whether the engine, which makes room for the model's `longest` text where no length is `stated`, has none.

    Source: vLLM, `_check_enough_kv_cache_memory`.
    """
    engine, demand, layout = served.serving.engine, served.demand, served.layout
    if stated or longest is None or longest <= demand.tokens or not engine.values.get("whole_length"):
        return []
    whole = demand._replace(tokens=longest, prompt_tokens=longest - min(OUTPUT_TOKENS, longest // 2), sequences=1)
    if not served.runtime.fits or served.serving.fits(whole, layout):
        return []
    message = (
        f"where nothing is said {engine.name} makes room for the model's own {longest:,} tokens, which its cache has "
        f"not: without --max-model-len it does not start; counted are {demand.tokens:,} (context_tokens)"
    )
    return [Warn("own-length-too-long", message, "context_tokens")]


def link_warnings(served: Served, device: Accelerator) -> list[Warn]:
    """Return whether tensor-parallel ranks reach each other slower than a reader might think."""
    found = []
    ranks, link = served.layout.tensor, device.text("link")
    if ranks > 1 and joined(device, ranks=ranks).kind == STAGED:
        message = f"the driver lets no {device.name} read another's memory: what ranks exchange goes through the host's"
        found.append(Warn("no-peer-to-peer", message, "parallelism.tensor"))
    if ranks > 1 and "bridge" in link:
        message = f"{device.name} has a link only with a bridge, which joins two cards; PCIe is counted on"
        found.append(Warn("link-needs-bridge", message, "parallelism.tensor", INFO))
    return found
