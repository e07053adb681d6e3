"""What would make it fit, by the number format of its weights: fewer bits of them, or llama.cpp, which reads most."""

from collections.abc import Callable, Iterator

from calc.catalog import Catalog
from calc.catalog.records import Mixture, NumberFormat, StoredWeights, Weights
from calc.memory.budget import Demand
from calc.memory.published_formats import is_eight_bit
from calc.memory.stored_weights import whole_model
from calc.memory.weights import stage_weights_bytes
from calc.planning.changes import LITTLE, QUALITY, Repair, Wanted
from calc.planning.placed_repairs import change_to, in_place_of, of_experts, of_layers

BARE_FORMATS = ("fp8", "awq")  # of weights, for the mathematics alone
EIGHT_BITS = 8  # of a weight: with fewer, quality is lost that can be measured
FEW_BITS = 3  # of a weight: with fewer, it is lost to the eye
OWN_CARDS = ("consumer", "workstation")


def of_weights(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over the engine's number formats with fewer bytes than the weights have now, of three bits or more."""
    return in_formats(wanted, lambda bits: bits >= FEW_BITS)


def of_few_bits(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over those of fewer bits, which cost more quality than a part in the host's memory costs speed."""
    return in_formats(wanted, lambda bits: bits < FEW_BITS)


def in_formats(wanted: Wanted, among: Callable[[float], bool]) -> Iterator[Repair]:
    """Iterate over weights in number formats with so many bits."""
    for weights in narrower(wanted):
        if among(bits_of(weights, wanted.facts)):
            left = wanted.trial(wanted.demand._replace(weights=weights, group=None))
            yield from wanted.fitting(left, {"weights": weights.id}, words_of(weights), harm_of(weights, wanted.facts))


def narrower(wanted: Wanted) -> Iterator[Mixture | NumberFormat]:
    """Iterate over the engine's number formats that it runs and with which the weights have fewer bytes than now."""
    demand = wanted.demand
    if isinstance(demand.weights, StoredWeights):
        return
    now = weights_bytes(demand, demand.weights, demand.group)
    for name in wanted.engine.formats if wanted.engine else BARE_FORMATS:
        weights = wanted.facts.weights_format(name)
        if (name == "fp8" and is_eight_bit(demand.weights)) or not wanted.able(wanted.engine, weights):
            continue
        if not wanted.runs or weights_bytes(demand, weights, None) < now:
            yield weights


def of_llama_cpp(wanted: Wanted) -> Iterator[Repair]:
    """Iterate over llama.cpp on one card of a person's own: in its formats, and with a part in the host's memory."""
    serving, demand = wanted.serving, wanted.demand
    if serving is None or wanted.layout.devices > 1 or wanted.accelerator.segment not in OWN_CARDS:
        return
    engine = wanted.facts.engine("llama.cpp")
    if serving.engine.id == engine.id or isinstance(demand.weights, StoredWeights):
        return
    there = wanted._replace(serving=in_place_of(serving, engine))
    for name, kinds in (*((name, ()) for name in engine.formats), (engine.fetched, (of_experts, of_layers))):
        weights = wanted.facts.weights_format(name)
        if bits_of(weights, wanted.facts) < FEW_BITS or not there.able(engine, weights):
            continue
        change = {"weights": weights.id, **change_to(engine, wanted.layout)}
        words, harm = f"Run it under {engine.name} in {weights.name}", harm_of(weights, wanted.facts)
        made = there._replace(demand=demand._replace(weights=weights, group=None))
        if not kinds:
            yield from wanted.fitting(made.trial(made.demand), change, words, harm)
        for kind in kinds:
            yield from (repair.after(change, words, harm) for repair in kind(made))


def weights_bytes(demand: Demand, weights: Weights, group: int | None) -> int:
    """Return the bytes of a whole model's weights."""
    return stage_weights_bytes(
        stage=whole_model(demand.architecture), tensor_parallel=1, expert_parallel=1, weights=weights, group=group
    )


def bits_of(weights: NumberFormat | Mixture, facts: Catalog) -> float:
    """Return the bits of most weights."""
    return facts.number_format(weights.base).bits if isinstance(weights, Mixture) else weights.bits


def harm_of(weights: NumberFormat | Mixture, facts: Catalog) -> str:
    """Return what a number format costs."""
    return QUALITY if bits_of(weights, facts) < EIGHT_BITS else LITTLE


def words_of(weights: NumberFormat | Mixture) -> str:
    """Return in words that weights are taken in a number format, with what it was measured to lose."""
    words = f"Take the weights in {weights.name}"
    if not isinstance(weights, Mixture) or not weights.perplexity:
        return words
    return f"{words} (perplexity of Llama 3 8B {weights.perplexity:+g})"
