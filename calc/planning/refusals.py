"""What an engine refuses when it starts: caches that it cannot read, long texts, and weights that it converts late."""

from typing import NamedTuple

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Engine
from calc.catalog.support import LOADING
from calc.memory.budget import Demand, Layout
from calc.memory.runtime import visible_bytes
from calc.planning.layout import fullest
from calc.planning.support import told_of
from calc.units import show_gib

TILES_ALONE = "https://github.com/ggml-org/llama.cpp/issues/28524"
# By engine, how it is told to take texts longer than the config allows for, and where one that was not told refused.
LONGER = {
    "vllm": (
        "--hf-overrides scale rotary positions",
        "https://github.com/vllm-project/vllm/issues/3676",
    ),
    "sglang": (
        "--json-model-override-args scale rotary positions",
        "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/configs/model_config.py",
    ),
}
HALF_BITS = 16


class Refusal(NamedTuple):
    """Why an engine does not start, or starts only if it is told something, with the source."""

    message: str
    source: str
    told: bool = False  # whether it starts if it is told something


def refusal(engine: Engine, demand: Demand, attention: str, own_tokens: int | None) -> Refusal | None:
    """Return what an engine has against a demand, None where it has nothing.

    llama.cpp reads values in fewer than 16 bits in tiles alone.
    """
    if engine.id == "llama.cpp" and attention == "eager" and demand.values.bits < HALF_BITS:
        values = f"values of the cache in {demand.values.name}"
        return Refusal(f"{engine.name} has {values} only with flash attention (-fa on)", TILES_ALONE)
    if engine.id in LONGER and own_tokens and demand.tokens > own_tokens:
        how, source = LONGER[engine.id]
        message = f"{engine.name} takes more than the {own_tokens:,} tokens of the config only if it is told: {how}"
        return Refusal(message, source, told=True)
    return None


def whole_first(
    facts: Catalog, engine: Engine, model: str, demand: Demand, layout: Layout, device: Accelerator
) -> Refusal | None:
    """Return that devices do not hold the 16-bit weights which an engine converts once it has all; None where they do.

    A repository that holds a model in the format has none of these.
    """
    wanted = demand.weights.id
    fact = next((fact for fact in told_of(facts, engine, LOADING) if wanted in fact.names), None)
    if fact is None:
        return None
    from calc.service.checkpoints import SIXTEEN_BIT, converted, published_in  # most formats are loaded as they are

    held = [*published_in(facts.model(model), facts), *converted(facts.model(model), facts)]
    if not held or held[0] not in SIXTEEN_BIT or any(name.startswith(wanted) for name in held):
        return None
    whole = fullest(demand._replace(weights=facts.number_format("bf16")), layout)[1].weights
    room = visible_bytes(device, engine)
    if whole <= room:
        return None
    message = f"{fact.because}: {show_gib(whole)} on a device of {show_gib(room)}; a repository in the format has none"
    return Refusal(message, fact.source, told=True)
