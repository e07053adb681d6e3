"""The number formats that are tried of a model, by engine: what is published, and what its users go down to."""

from collections.abc import Iterator

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Mixture, Model, NumberFormat
from calc.catalog.support import YES
from calc.planner.question import Question
from calc.planning.support import place_of
from calc.planning.usual_engine import of_device, runs_on
from calc.scenario.fields import HOST_ENGINE, PUBLISHED, USUAL
from calc.scenario.formats import known_published
from calc.scenario.model import read_model
from calc.service.checkpoints import converted, quantised

FEWEST_BITS = 4  # of formats that are tried unasked: below, answers suffer
SERVED = "data-center"  # where many share what there is
AWQ = "awq"  # what servers' engines go down to


def ways(question: Question, facts: Catalog, accelerator: Accelerator) -> list[tuple[str, tuple[object, ...]]]:
    """Return the engines that are tried, each with its number formats, most bits first."""
    engines = question.engines
    if engines == (USUAL,) and question.need.mean_rate is not None:
        engines = (USUAL, *servers(facts, accelerator))
    return [(engine, question.weights or usual_formats(facts, engine, accelerator)) for engine in engines]


def servers(facts: Catalog, accelerator: Accelerator) -> Iterator[str]:
    """Iterate over what people take in data centers of which it is known that it runs on their own cards, too.

    One reader's program answers few at a time, so that who serves many takes the other.
    """
    place = place_of(accelerator)
    for engine in facts.engines():
        is_other = SERVED in engine.usual_on and accelerator.segment not in engine.usual_on
        if is_other and of_device(facts=facts, engine=engine.id, place=place) == YES:
            yield engine.id


def usual_formats(facts: Catalog, engine: str, accelerator: Accelerator) -> tuple[object, ...]:
    """Return the formats that an engine's users go down to, what is published first."""
    place = place_of(accelerator)
    if engine == USUAL:
        usual = [record for record in facts.engines() if accelerator.segment in record.usual_on]
        running = [record for record in usual if runs_on(facts=facts, engine=record.id, place=place)]
        asked = running or [facts.engine(HOST_ENGINE)]  # no server's engine runs on older devices for servers
    else:
        asked = [facts.engine(engine)]
    names = [name for record in asked for name in record.formats if bits(facts, name) >= FEWEST_BITS]
    return (PUBLISHED, *dict.fromkeys(names))


def stored(model: object, formats: tuple[object, ...], facts: Catalog) -> Iterator[dict[str, object]]:
    """Iterate over a model in each of the formats; before AWQ come repositories that hold it in four bits otherwise.

    They can be had as they are, and of AWQ it may be that nobody has made it. What is published in four bits nobody
    quantizes for a server again.
    """
    for weights in formats:
        if weights == AWQ and PUBLISHED in formats and is_small(model, facts):
            continue
        if weights == AWQ and isinstance(model, str) and model in facts.entries("models"):
            yield from beside_awq(facts.model(model), facts)
        yield {"model": model, "weights": weights}


def beside_awq(model: Model, facts: Catalog) -> Iterator[dict[str, object]]:
    """Iterate over a model in four bits that are no AWQ: its maker's unless that is AWQ, others' where none is."""
    held, made = quantised(model, facts), converted(model, facts)
    if AWQ in held:
        return
    for name, repository in held.items():
        if bits(facts, name) == FEWEST_BITS:
            yield {"model": repository, "weights": PUBLISHED}
    for name in made if AWQ not in made else ():
        if bits(facts, name) == FEWEST_BITS and name not in held:
            yield {"model": model.id, "weights": name}


def is_small(model: object, facts: Catalog) -> bool:
    """Whether a model is published in as few bits as it would be quantized to; worked out once for each."""
    if not isinstance(model, str):
        return False
    known = facts.once("published in few bits", dict[str, bool])
    if model not in known:
        found = known_published(read_model(model, facts), facts)
        record = getattr(found, "base", found)  # of most tensors
        known[model] = isinstance(record, NumberFormat) and record.bits <= FEWEST_BITS
    return known[model]


def bits(facts: Catalog, name: str) -> float:
    """Return the bits of an element, of a mixture those of most tensors."""
    record = facts.weights_format(name)
    return facts.number_format(record.base).bits if isinstance(record, Mixture) else record.bits
