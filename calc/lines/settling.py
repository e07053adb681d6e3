"""What a line leaves open is settled: the number format that fits, and how many devices are needed."""

from collections.abc import Mapping
from math import ceil
from typing import Any, NamedTuple

from calc.catalog import catalog
from calc.catalog.records import Engine
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.lines.model_sizes import FEW_BITS
from calc.planner.answer import answer
from calc.planner.formats import is_small
from calc.planner.offered import COUNTS, MACHINE
from calc.planner.question import MOST_DEVICES
from calc.planner.wanted import recent
from calc.planning.support import place_of, what_runs
from calc.planning.usual_engine import by_use, format_of_bits, is_served
from calc.scenario.fields import PUBLISHED, USUAL
from calc.scenario.model import known_architecture

Scenario = Mapping[str, object]
HAVE = ("accelerator", "accelerators", "host")
ON_PROCESSORS = "llama.cpp"  # which alone leaves parts of a model in the host's memory
ON_HOST = frozenset(("experts_on_host", "gpu_layers"))


class Settled(NamedTuple):
    """A scenario without anything left open, and what was settled, by field; None where nothing was found."""

    scenario: dict[str, Any]
    found: dict[str, object]


def settled(scenario: Scenario, kind: str) -> Settled:
    """Return a line's scenario with what it leaves open: the format, or the fewest devices, where these are asked for.

    Of devices a second number is found, "narrower", where fewer hold it in a format of fewer bits than is published.

    The format is what is published, or the first one that fits of those that the engine's users go down to; where none
    does, what is published or has four bits, whatever misses less. Where a line says what memory the host has, what the
    devices do not hold stays there. Raises ScenarioError for a scenario that is wrong.
    """
    asked, found = dict(scenario), dict[str, object]()
    if "host" in asked and "accelerator" in asked and asked.get("engine") == USUAL:
        whole = settled({name: value for name, value in asked.items() if name != "host"}, kind)
        report = held(whole.scenario)
        if report["scenario"]["engine"] != ON_PROCESSORS:
            if report["memory"]["fits"]:
                return whole  # on its devices, under the engine that people take there
            found["engine"] = ON_PROCESSORS
        asked["engine"] = ON_PROCESSORS
    if kind == "devices":
        found |= fewest(asked)
        asked["accelerators"] = found["accelerators"] or 1
    elif kind == "trained_on":
        found["accelerators"] = trained_on(asked)
        asked["accelerators"] = found["accelerators"] or 1
    elif "weights" not in asked and kind != "cache" and asked.get("workload") != "training":
        found |= format_of(asked, kind)
        asked["weights"] = found["weights"]
    if "host" in asked and "accelerator" in asked and not ON_HOST & asked.keys():
        kept = on_host(asked)
        asked |= kept
        found |= kept
    return Settled(asked, found)


def held(scenario: Scenario) -> Any:
    """Return a scenario's report with what it holds and whether it runs; how fast it is and what would mend it not."""
    return estimate(scenario, repairs=False, speed=False)


def on_host(scenario: Scenario) -> dict[str, object]:
    """Return what has to stay in the host's memory: experts, or whole layers; nothing where the devices hold it."""
    for asked in (scenario, {name: value for name, value in scenario.items() if name != "host"}):  # or too small a host
        report: Any = estimate(asked)
        if report["memory"]["fits"]:
            return {}
        changes: list[dict[str, object]] = [repair["change"] for repair in report["repairs"]]
        if kept := next((change for change in changes if change.keys() <= ON_HOST), None):
            return kept
    return {}


def fewest(scenario: Scenario) -> dict[str, Any]:
    """Return how many devices hold a line's scenario at least, as they are had, None where none do.

    And with which format of fewer bits fewer do, where the line names none.
    """
    rest = demands(scenario)
    limits = {"accelerators": [scenario["accelerator"]], "devices": MOST_DEVICES}
    asked = {"want": "hardware", "limits": limits, "rank_by": "devices", "count": 1, "weights": PUBLISHED, **rest}
    least, small = first(asked), first({**asked, "weights": "any"}) if "weights" not in scenario else None
    if least is None:  # more than are had in one place
        count = held({**scenario, "accelerators": 1})["memory"]["devices_needed"]
    else:
        count = least["accelerators"]
    if small is None or (count is not None and small["accelerators"] >= count):
        return {"accelerators": count}
    return {"accelerators": count, "narrower": (held(small)["model"]["weights"], small["accelerators"])}


def demands(scenario: Scenario) -> dict[str, object]:
    """Return what a scenario asks of the devices that it has; as many sequences as they hold are one at least."""
    return {name: value for name, value in scenario.items() if name not in HAVE and value != "max"}


def trained_on(scenario: Scenario) -> int | None:
    """Return how many devices hold a training run at least, in whole machines of more than one; None where none do."""
    needed: int | None = held({**scenario, "accelerators": 2})["memory"]["devices_needed"]
    if needed is None or needed > MACHINE:
        return needed and ceil(needed / MACHINE) * MACHINE
    return next(count for count in COUNTS if count >= needed)


def first(question: Scenario) -> dict[str, Any] | None:
    """Return the scenario of a planner's first option, None where there is none."""
    options: Any = answer(question)["options"]
    return options[0]["scenario"] if options else None


def first_format(scenario: Scenario) -> object:
    """Return the number format that a scenario has to have to fit; where none does, the smallest that many take."""
    have = {name: scenario[name] for name in HAVE if name in scenario}
    rest = demands(scenario)
    try:
        found = first({"want": "models", "have": have, "weights": "any", "count": 1, **rest})
    except ScenarioError:
        return smallest(scenario)
    return found["weights"] if found else smallest(scenario)


def format_of(scenario: Scenario, kind: str) -> dict[str, object]:
    """Return the number format of a line that names none, and the engine whose habit it is, where it is one.

    It is what the engine fetches then, if the line names the engine or asks for a speed, and else the first that fits.
    """
    engine, writes = program_of(scenario), known_architecture(catalog(), str(scenario["model"])).writes
    asked = engine is not None and (scenario.get("engine") == engine.id or kind == "speed")
    if engine is None or not (engine.fetched and writes and asked):
        return {"weights": first_format(scenario)}
    if is_small(scenario["model"], catalog()) and runs_as_published(scenario, engine):
        return {"weights": PUBLISHED}
    return {"weights": engine.fetched, "fetched": engine.name}


def runs_as_published(scenario: Scenario, engine: Engine) -> bool:
    """Return whether an engine runs a model in the format in which it is published, as far as is known."""
    return held({**scenario, "engine": engine.id, "weights": PUBLISHED})["runs"] is not False


def program_of(scenario: Scenario) -> Engine | None:
    """Return the engine of a line: the one that it names, or that people take on its devices; None for none.

    On an old card of servers it is another one than theirs if that runs no format of few bits there: llama.cpp on a P40
    or a V100.
    """
    engine = scenario.get("engine", USUAL)
    if engine != USUAL:
        return None if engine == "none" else catalog().engine(str(engine))
    device = catalog().accelerator(str(scenario["accelerator"]))
    usual = [program for program in by_use(catalog(), device.segment) if program.usual_on]
    architecture, facts = known_architecture(catalog(), str(scenario["model"])), catalog()
    for program in usual:  # and not the one that has the published format there
        weights = facts.weights_format(format_of_bits(program, FEW_BITS, facts))
        known = what_runs(facts=facts, engine=program, device=device, weights=weights, architecture=architecture)
        if known.runs:
            return program
    return usual[0]


def smallest(scenario: Scenario) -> object:
    """Return what is published or has four bits under the engine that people take, whatever misses less."""
    if "accelerator" not in scenario and not known_architecture(catalog(), str(scenario["model"])).writes:
        return PUBLISHED  # what only reads is small
    engine = program_of(scenario)
    if engine is None or (is_small(scenario["model"], catalog()) and runs_as_published(scenario, engine)):
        return PUBLISHED
    device = scenario.get("accelerator")
    if isinstance(device, str) and not is_served(facts=catalog(), place=place_of(catalog().accelerator(str(device)))):
        return PUBLISHED  # a TPU, Trainium: without an engine
    published = held(scenario)
    weights = format_of_bits(engine, FEW_BITS, catalog())
    quantized = held({**scenario, "weights": weights})
    if published["scenario"]["engine"] != engine.id or published["runs"] is False:
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
