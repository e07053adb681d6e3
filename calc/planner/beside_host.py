"""Models of which a part stands in the host's memory, under the one engine that leaves parts there."""

from collections.abc import Mapping

from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.planner.options import Miss, short
from calc.planner.question import Question
from calc.planning.changes import Wanted
from calc.planning.placed_repairs import of_experts, of_layers
from calc.planning.repairs import offered
from calc.question import read_question
from calc.scenario.fields import HOST_ENGINE, OF_HOST, USUAL
from calc.service.host import stated_host, usual_processor


def is_beside(question: Question, accelerator: Accelerator, engine: str) -> bool:
    """Return whether models are looked for that stand in two memories: the host's is another one, and is said.

    A service for many is not looked for there, and what a device has left says nothing where the host takes the rest.
    """
    host = question.have.get("host")
    return (
        (question.want == "models" or question.of == "model")
        and isinstance(host, Mapping)
        and host.get("memory") is not None
        and not (question.trains or question.unlike or question.alone or question.need.shared)
        and question.rank_by != "margin"
        and not accelerator.shares_host_memory
        and engine in (USUAL, HOST_ENGINE)
        and question.fields.keys().isdisjoint(OF_HOST)
    )


def memory_of(question: Question, facts: Catalog) -> int:
    """Return the bytes that a model gets of the memory that a question gives the host of its devices."""
    device = facts.accelerator(str(question.have["accelerator"]))
    host = stated_host(question.have["host"], lambda: usual_processor(facts, device, 0), facts)[0]
    return host.usable_bytes or 0


def divided(scenario: dict[str, object], facts: Catalog) -> dict[str, object] | Miss:
    """Return a scenario with as little of it in the host's memory as has to be: experts, or whole layers.

    Raises ScenarioError for a scenario that is wrong.
    """
    read = read_question(scenario)
    serving, device = read.serving(), read.accelerator
    assert serving is not None and device is not None
    wanted = Wanted(
        facts=facts, demand=read.demand, layout=read.layout, accelerator=device, serving=serving, runs=True, fits=False
    )
    found = offered((repair for way in (of_experts, of_layers) for repair in way(wanted)), 1, tight=True)
    if not found:
        return short(max(wanted.trial(read.demand, whole=True).missing, 0), round(device.quantity("memory") or 0))
    return scenario | found[0].change
