"""What an engine refuses when it starts: caches that it cannot read, long texts, and weights that it converts late."""

from typing import NamedTuple

from calc.catalog.records import Accelerator, Engine
from calc.catalog.support import Support
from calc.memory.budget import Demand, Layout
from calc.memory.runtime import visible_bytes
from calc.planning.layout import fullest
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
    fact: Support, engine: Engine, demand: Demand, *, layout: Layout, device: Accelerator
) -> Refusal | None:
    """Return that devices do not hold a demand's weights in 16 bit, which an engine converts once it has them all.

    The `fact` says so of the engine. None where they hold them.
    """
    whole, room = fullest(demand, layout)[1].weights, visible_bytes(device, engine)
    if whole <= room:
        return None
    message = f"{fact.because}: {show_gib(whole)} on a device of {show_gib(room)}; a repository in the format has none"
    return Refusal(message, fact.source, told=True)
