"""Cases that are one step away: each input of a scenario one step down and one up, everything else as it is."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from calc.catalog import catalog
from calc.catalog.records import Engine
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.plots.format_ladder import ladder
from calc.scenario.fields import PUBLISHED
from calc.units import show_count

Scenario = Mapping[str, Any]
Report = dict[str, Any]
Change = tuple[str, dict[str, object]]  # in words, and the fields that it sets
SIXTEEN_BIT = ("bf16", "f16", "fp16")
CACHES: dict[str | None, tuple[str, ...]] = {"llama.cpp": ("bf16", "q8_0", "q4_0"), None: ("bf16", "fp8")}
CHOICES = {  # of training, from what takes most of a device to what takes least
    "method": ("full", "lora", "qlora"),
    "checkpointing": ("none", "selective", "full"),
    "sharding": ("none", "zero-1", "zero-2", "zero-3"),
    "cross_entropy": ("full", "chunked", "fused"),
    "optimizer": ("adamw", "adamw-8bit"),
}
COUNTS = {
    "context_tokens": "Context",
    "prompt_tokens": "Prompt",
    "output_tokens": "Output",
    "sequences": "Sequences",
    "concurrency": "Requests",
    "sequence_tokens": "Sequence",
    "micro_batch": "Micro-batch",
    "gradient_accumulation": "Accumulated",
    "accelerators": "GPUs",
}
NAMES = {
    "weights": "Weights",
    "kv_cache": "Cache",
    "method": "Method",
    "checkpointing": "Checkpointing",
    "sharding": "Sharding",
    "cross_entropy": "Loss",
    "optimizer": "Optimizer",
}


class Moved(NamedTuple):
    """What an input one step away makes of a quantity."""

    name: str
    to: str  # the input's value there, in words
    value: float
    fits: bool


def moved(
    scenario: Scenario, filled: Report, measure: Callable[[Report], float | None]
) -> Iterator[tuple[str, list[Moved]]]:
    """Iterate over the inputs with what one step down and one up makes of a quantity; a step that is none is left out.

    A step of a count is half or twice of it, of a choice the next one; `filled` is the scenario as its report has it.
    """
    for name, changes in steps(scenario, filled):
        found = []
        for to, change in changes:
            try:
                report: Report = estimate({**scenario, **change}, repairs=False)
            except ScenarioError:  # what cannot be divided so, or goes with nothing else
                continue
            value = measure(report)
            if value is not None and report.get("runs") is not False:
                found.append(Moved(name, to, value, report["memory"].get("fits") is not False))
        if found:
            yield name, found


def steps(scenario: Scenario, filled: Report) -> Iterator[tuple[str, list[Change]]]:
    """Iterate over the inputs by name, with their values one step down and one up."""
    for field, name in COUNTS.items():
        value = scenario.get(field)
        if isinstance(value, int):
            lower = [value // 2] if value > 1 else []
            yield name, [(show_count(count), {field: count}) for count in (*lower, 2 * value)]
    training = scenario.get("workload") == "training"
    if training and (rank := scenario.get("lora", {}).get("rank")):
        lora = scenario["lora"]
        ranks = [count for count in (rank // 2, 2 * rank) if count]
        yield "Rank", [(show_count(count), {"lora": {**lora, "rank": count}}) for count in ranks]
    if training and (layout := scenario.get("parallelism")):
        data = layout.get("data", 1)
        ranks = [*([data // 2] if data > 1 else []), 2 * data]
        yield "Data ranks", [(show_count(count), {"parallelism": {**layout, "data": count}}) for count in ranks]
    choices = CHOICES if training else served_choices(filled)
    for field, listed in choices.items():
        if field not in scenario:
            continue
        yield NAMES[field], [(words(field, choice), {field: choice}) for choice in beside(listed, filled.get(field))]


def served_choices(filled: Report) -> dict[str, tuple[str, ...]]:
    """Return the formats that an engine has for weights and cache, from the most bits to the fewest."""
    engine = filled["engine"]
    weights = ladder(None if engine == "none" else engine)
    if filled["weights"] == PUBLISHED:
        weights = (PUBLISHED, *(name for name in weights if name not in SIXTEEN_BIT))
    return {"weights": weights, "kv_cache": CACHES.get(engine, CACHES[None])}


def lower_caches(engine: Engine | None, chosen: str) -> list[str]:
    """Return the formats of fewer bits that an engine has for a cache, the first of which is one step away."""
    listed = CACHES.get(engine.id if engine else "none", CACHES[None])
    return list(listed[listed.index(chosen) + 1 :]) if chosen in listed else []


def beside(listed: tuple[str, ...], chosen: object) -> list[str]:
    """Return what stands before and after a choice in a list; nothing for what is not in it.

    >>> beside(("a", "b", "c"), "b"), beside(("a", "b"), "a"), beside(("a", "b"), "x")
    (['a', 'c'], ['b'], [])
    """
    if chosen not in listed:
        return []
    place = listed.index(str(chosen))
    return [*listed[max(place - 1, 0) : place], *listed[place + 1 : place + 2]]


def words(field: str, choice: str) -> str:
    """Return a choice in words."""
    if field in ("weights", "kv_cache"):
        return "as published" if choice == PUBLISHED else catalog().weights_format(choice).name
    return {"lora": "LoRA", "qlora": "QLoRA"}.get(choice, choice)
