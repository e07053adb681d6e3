"""What is tried for a question: on so many devices of a kind each model, under each engine, in each format."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.errors import ScenarioError
from calc.memory.budget import Layout
from calc.planner.beside_host import is_beside
from calc.planner.candidate import Candidate
from calc.planner.devices import Devices
from calc.planner.formats import stored, usual_formats, ways
from calc.planner.offered import counts, devices, machines, owned, whole_count
from calc.planner.question import Question
from calc.planning.layout import apart_layouts, tensor_degrees
from calc.question import read_asked
from calc.scenario.fields import HOST_ENGINE, SHARING_ENGINES, USUAL
from calc.scenario.model import read_model
from calc.scenario.reader import Reader

MOST_REPLICAS = 10_000


class Place(NamedTuple):
    """So many devices of a kind, and what is tried on them."""

    devices: Devices
    number: int  # of the scenarios
    candidates: Callable[[], Iterator[Candidate]]


class Try(NamedTuple):
    """A model under an engine, attention divided in a way of its own or as the engine does, in some formats."""

    model: object
    engine: str
    divided: Mapping[str, object]
    held: tuple[dict[str, object], ...]  # the fields of each format


def places(question: Question, facts: Catalog) -> Iterator[Place]:
    """Iterate over what is tried: models on what there is, devices for models, or layouts of the devices.

    Of devices that one could have the cheapest come first, and so before others that are ranked alike.
    """
    if question.want == "layout":
        yield layouts(question, facts)
        return
    read = {str(model): shared_by(question, model, facts) for model in question.models}
    held = dict[str, tuple[list[Try], int]]()  # with the number of their scenarios
    order = 0
    for together in machines(question, facts):
        found = ways(question, facts, together.accelerator)
        kind = str((found, together.accelerator.segment, together.number) if question.need.shared else found)
        if kind not in held:  # the same of most devices
            every = list(tries(question, facts, found))
            if question.need.shared:
                every = list(apart_first(question, facts, together, tried=every, read=read))
            held[kind] = every, sum(len(one.held) for one in every)
        tried, number = held[kind]
        make = partial(candidates_on, question, facts, together, tried=tried, read=read, order=order)
        yield Place(together, number, make)
        order += len(tried)


def apart_first(
    question: Question,
    facts: Catalog,
    together: Devices,
    *,
    tried: Iterable[Try],
    read: Mapping[str, Architecture | None],
) -> Iterator[Try]:
    """Iterate over what is tried with attention divided apart, where that may be, and then as engines do it."""
    for one in tried:
        for divided in attended_apart(question, facts, together, read[str(one.model)], engine=one.engine):
            yield one._replace(divided=divided)
        yield one


def tries(question: Question, facts: Catalog, found: Iterable[tuple[str, tuple[object, ...]]]) -> Iterator[Try]:
    """Iterate over the models that are tried, each under each of the engines that were found, in its formats."""
    for model in question.models:
        for engine, formats in found:
            yield Try(model, engine, {}, tuple(stored(model, formats, facts)))


def candidates_on(
    question: Question,
    facts: Catalog,
    together: Devices,
    *,
    tried: Iterable[Try],
    read: Mapping[str, Architecture | None],
    order: int,
) -> Iterator[Candidate]:
    """Iterate over what is tried on so many devices of a kind."""
    accelerator, count = together.accelerator, 1 if question.unlike or question.alone else together.number
    where, most = placed(question, accelerator, count), most_replicas(question, count)
    engines = set(map(attrgetter("engine"), tried))
    split = {engine: in_two_memories(question, facts, accelerator, engine) for engine in engines}
    for place, one in enumerate(tried, order):
        asked = {**question.fields, **one_request(question, read[str(one.model)]), **where}
        if "concurrency" in asked:
            asked.pop("sequences", None)  # all of whom would else ask at the same moment
        base = {**asked, "engine": one.engine}
        beside = {**base, **split[one.engine], "model": one.model} if split[one.engine] else None
        scenarios = tuple({**base, **one.divided, **way} for way in one.held)
        group = accelerator.id if question.want == "hardware" else str(one.model)
        yield Candidate(group, together, scenarios, place, most_replicas=most, beside=beside)


def shared_by(question: Question, model: object, facts: Catalog) -> Architecture | None:
    """Return the architecture of a model that many use at once; None where one alone does, or it cannot be read."""
    if not question.need.shared:
        return None
    try:
        return read_model(model, facts).architecture
    except ScenarioError:
        return None


def one_request(question: Question, architecture: Architecture | None) -> dict[str, object]:
    """Return the field of what a replica is given, until that is known; none where nothing is shared.

    What comes at random is in a server at a time, and so are people who ask again and again, whose first tokens count;
    a model that writes no text has no answers to follow there.
    """
    need = question.need
    if need.mean_rate is None and need.waiting is None:
        return {}
    followed = architecture is not None and architecture.writes and (need.waiting is None or need.ttft_s is not None)
    return {"concurrency": 1} if followed else {"sequences": 1}


def attended_apart(
    question: Question, facts: Catalog, devices: Devices, architecture: Architecture | None, *, engine: str
) -> list[dict[str, object]]:
    """Return data parallelism of attention for a model that many use at once, where tensor ranks repeat its cache."""
    if architecture is None or question.unlike or "parallelism" in question.fields:
        return []
    found = apart_layouts(architecture, devices.number)[:1]
    served = (
        engine == USUAL and devices.accelerator.segment not in facts.engine(HOST_ENGINE).usual_on if found else False
    )
    return [{"parallelism": layout._asdict()} for layout in found if served or engine in SHARING_ENGINES]


def most_replicas(question: Question, count: int) -> int:
    """Return how many replicas of so many devices there may be."""
    if not question.need.shared:
        return 1
    if question.unlike or question.alone:
        return 1
    devices = whole_count(question) if question.have else question.limits.devices
    return min(devices // count if devices else MOST_REPLICAS, question.limits.servers or MOST_REPLICAS)


def placed(question: Question, accelerator: Accelerator, count: int) -> dict[str, object]:
    """Return the fields of a scenario that say on what."""
    if question.unlike or question.alone:
        return dict(question.have)
    have = {**question.have, "accelerator": accelerator.id, "accelerators": count}
    if is_beside(question, accelerator, HOST_ENGINE):
        del have["host"]  # where devices hold all of it
    return have


def in_two_memories(question: Question, facts: Catalog, accelerator: Accelerator, engine: str) -> dict[str, object]:
    """Return the fields of a scenario with a part in the host's memory, in few bits; empty where none may be."""
    if not is_beside(question, accelerator, engine):
        return {}
    weights = question.weights or usual_formats(facts, HOST_ENGINE, accelerator)
    return {"host": question.have["host"], "engine": HOST_ENGINE, "weights": weights[-1]}


def layouts(question: Question, facts: Catalog) -> Place:
    """Return the devices with the ways to divide the model over all of them."""
    accelerator = owned(question, facts)
    count = counts(question, accelerator)[0]
    if "parallelism" in question.fields:
        raise ScenarioError("parallelism", 'does not apply: want "layout" looks for it')
    architecture = read_asked(Reader({"model": question.models[0]})).demand.architecture
    shared = one_request(question, architecture)
    base = {**shared, **question.fields, **placed(question, accelerator, count), "model": question.models[0]}
    own = devices(question, facts, accelerator).together(count)
    found = [
        Layout(tensor=tensor, pipeline=count // tensor // data, data=data, expert=expert)
        for tensor in tensor_degrees(architecture)
        if count % tensor == 0
        for data in range(1, count // tensor + 1)
        if count // tensor % data == 0 and count // tensor // data <= architecture.layer_count
        for expert in sorted({1, tensor * data} if architecture.experts >= tensor * data else {1})
    ]
    tried = [
        (layout, engine, weights)
        for layout in found
        for engine, formats in ways(question, facts, accelerator)
        for weights in formats
    ]
    every = [
        Candidate(
            str(layout),
            own,
            ({**base, "engine": engine, "weights": weights, "parallelism": layout._asdict()},),
            order,
        )
        for order, (layout, engine, weights) in enumerate(tried)
    ]
    return Place(own, len(every), partial(iter, every))
