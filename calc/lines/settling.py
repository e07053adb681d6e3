"""What a line leaves open is settled: the number format that fits, and how many devices are needed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.planner.answer import answer
from calc.planner.formats import is_small
from calc.planner.wanted import recent
from calc.planning.support import place_of
from calc.planning.usual_engine import format_of_bits, is_served
from calc.scenario.fields import PUBLISHED, USUAL
from calc.scenario.model import known_architecture

Scenario = Mapping[str, object]
HAVE = ("accelerator", "accelerators", "host")
ON_PROCESSORS = "llama.cpp"  # which alone leaves parts of a model in the host's memory
ON_HOST = frozenset(("experts_on_host", "gpu_layers"))
FEW_BITS = 4  # below which what a model writes suffers


class Settled(NamedTuple):
    """A scenario without anything left open, and what was settled, by field; None where nothing was found."""

    scenario: dict[str, Any]
    found: dict[str, object]


def settled(scenario: Scenario, kind: str) -> Settled:
    """Return a line's scenario with what it leaves open: the format, and for "devices" their fewest number.

    The format is what is published, or the first one that fits of those that the engine's users go down to; where none
    does, what is published or has four bits, whatever misses less. Where a line says what memory the host has, what the
    devices do not hold stays there. Raises ScenarioError for a scenario that is wrong.
    """
    asked, found = dict(scenario), dict[str, object]()
    if "host" in asked and "accelerator" in asked and asked.get("engine") == USUAL:
        whole = settled({name: value for name, value in asked.items() if name != "host"}, kind)
        report: Any = estimate(whole.scenario, repairs=False)
        if report["scenario"]["engine"] != ON_PROCESSORS:
            if report["memory"]["fits"]:
                return whole  # on its devices, under the engine that people take there
            found["engine"] = ON_PROCESSORS
        asked["engine"] = ON_PROCESSORS
    if kind == "devices":
        found["accelerators"] = fewest(asked)
        asked["accelerators"] = found["accelerators"] or 1
    elif "weights" not in asked and kind != "cache" and asked.get("workload") != "training":
        found["weights"] = asked["weights"] = first_format(asked)
    if "host" in asked and "accelerator" in asked and not ON_HOST & asked.keys():
        kept = on_host(asked)
        asked |= kept
        found |= kept
    return Settled(asked, found)


def on_host(scenario: Scenario) -> dict[str, object]:
    """Return what has to stay in the host's memory: experts, or whole layers; nothing where the devices hold it."""
    report: Any = estimate(scenario)
    if report["memory"]["fits"]:
        return {}
    changes: list[dict[str, object]] = [repair["change"] for repair in report["repairs"]]
    return next((change for change in changes if change.keys() <= ON_HOST), {})


def fewest(scenario: Scenario) -> object:
    """Return the smallest number of devices on which a scenario fits, None where none was found."""
    report: Any = estimate({**scenario, "accelerators": 1}, repairs=False)
    return report["memory"]["devices_needed"]


def first_format(scenario: Scenario) -> object:
    """Return the number format that a scenario has to have to fit; where none does, the smallest that many take."""
    have = {name: scenario[name] for name in HAVE if name in scenario}
    rest = {name: value for name, value in scenario.items() if name not in HAVE}
    try:
        found: Any = answer({"want": "models", "have": have, "weights": "any", "count": 1, **rest})
    except ScenarioError:
        return smallest(scenario)
    return found["options"][0]["scenario"]["weights"] if found["options"] else smallest(scenario)


def smallest(scenario: Scenario) -> object:
    """Return what is published or has four bits under the engine that people take, whatever misses less."""
    if "accelerator" not in scenario and not known_architecture(catalog(), str(scenario["model"])).writes:
        return PUBLISHED  # what only reads is small
    engine = scenario.get("engine", USUAL)
    if engine == USUAL:  # the one of such devices, and not the one that has the published format there
        segment = catalog().accelerator(str(scenario["accelerator"])).segment
        engine = next((program.id for program in catalog().engines() if segment in program.usual_on), None)
    if engine in (None, "none"):
        return PUBLISHED
    if engine != ON_PROCESSORS and is_small(scenario["model"], catalog()):
        return PUBLISHED
    device = scenario.get("accelerator")
    if device is not None and not is_served(facts=catalog(), place=place_of(catalog().accelerator(str(device)))):
        return PUBLISHED  # a TPU, Trainium: without an engine
    published: Any = estimate(scenario, repairs=False)
    weights = format_of_bits(catalog().engine(str(engine)), FEW_BITS, catalog())
    quantized: Any = estimate({**scenario, "weights": weights}, repairs=False)
    if published["scenario"]["engine"] != engine or published["runs"] is False:
        return weights
    memories = [report["memory"] for report in (published, quantized)]
    room = [memory.get("headroom_bytes", -memory["device_bytes"]) for memory in memories]  # a processor alone has none
    return PUBLISHED if room[0] >= room[1] else weights


def settled_question(question: Mapping[str, Any]) -> tuple[dict[str, Any], object]:
    """Return a question with what it leaves open, and the number format that was found for it, None for none.

    The most of something is asked for a format that fits; what runs is asked of models of the last two years.
    """
    if question.get("workload") != "training" and question.get("models", "any") == "any" and "model" not in question:
        return {**question, "models": recent(catalog())}, None
    if question["want"] != "limit" or "weights" in question or question.get("workload") == "training":
        return dict(question), None
    rest = {name: value for name, value in question.items() if name not in ("want", "of", "have")}
    weights = first_format({**question["have"], **rest})
    return {**question, "weights": weights}, weights
