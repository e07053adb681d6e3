"""The devices that are tried: the reader's own, or all that one gets, in which numbers, and what they cost."""

from collections.abc import Iterator
from math import inf

from calc.catalog import Catalog
from calc.catalog.choices import MARKETS
from calc.catalog.entries import sold_with
from calc.catalog.records import Accelerator
from calc.errors import ScenarioError
from calc.planner.devices import Devices
from calc.planner.question import Question, own_price
from calc.planning.cost import DOLLARS, LAUNCH, LOWEST, SOLD, newest_rent, purchase_today
from calc.scenario.device import read_accelerator
from calc.scenario.layout import named_count
from calc.scenario.reader import Reader

COUNTS = (1, 2, 4, 8, 16, 32, 64)  # of devices that are tried of a kind: as they are rented, and tensors are divided
OWN_COUNTS = tuple(sorted({*COUNTS, 3, 6, 12, 24, 48}))  # in people's own machines, where layers are divided
MOST_OWN = 72  # that one reader has: a rack of an NVL72
MACHINE = 8  # devices: beyond one those of a training run are rented by the machine
CLUSTERS = tuple(MACHINE * machines for machines in (3, 6, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512))
OWN = "consumer"  # what they are made for
RENTED, MODIFIED, CLOUD = "rented", "modified", "cloud"
USUAL_DEVICES = 8  # of a replica at most, unless a limit is given


def machines(question: Question, facts: Catalog) -> list[Devices]:
    """Return the devices that are tried, as many of a kind as one option has.

    Where they are not the reader's own, the next question is mostly about the same, of which much is known by then.
    """
    if question.have:
        return found_machines(question, facts)
    own = own_price(question, "price_per_hour"), question.account.purchase_price
    asked = str((question.want, question.limits, own, question.need.days is None, question.trains))
    last = facts.once("machines", dict[str, list[Devices]])
    if asked not in last:
        last.clear()
        last[asked] = found_machines(question, facts)
    return last[asked]


def found_machines(question: Question, facts: Catalog) -> list[Devices]:
    """Return the same, looked for."""
    found = []
    for accelerator in kinds(question, facts):
        one = devices(question, facts, accelerator)
        found += [one.together(count) for count in counts(question, accelerator)]
    if question.want == "hardware":
        paid = "purchase" if question.limits.buys else "rent_per_hour"
        found.sort(key=lambda several: inf if (price := getattr(several, paid)) is None else price)
    return found


def lasting(facts: Catalog, device: str) -> bool:
    """Whether a device that no shop has new is there nevertheless: offers of market places come and go."""
    known = facts.prices("accelerators", device)
    return any(price.kind != LAUNCH and price.market != MARKETS[-1] for price in known)


def is_there(record: Accelerator, facts: Catalog) -> bool:
    """Whether one gets a device today, as its maker made it; of one that is rented nobody may say for how much."""
    if record.availability in (SOLD, MODIFIED):
        return record.availability == SOLD
    unpriced = all(price.kind == LAUNCH for price in facts.prices("accelerators", record.id))
    return lasting(facts, record.id) or (record.availability == RENTED and unpriced)


def all_there(facts: Catalog) -> list[Accelerator]:
    """Return all devices that one gets today, found once for each loaded catalogue."""
    return facts.once(
        "devices that one gets", lambda: [record for record in in_each_size(facts) if is_there(record, facts)]
    )


def in_each_size(facts: Catalog) -> Iterator[Accelerator]:
    """Iterate over all accelerators, and over those with other memory than their entries' of which a price is known."""
    for record in facts.accelerators():
        yield record
        others = sold_with(record.id, facts.entries("accelerators")[record.id])
        yield from (facts.accelerator(other) for other in others if facts.prices("accelerators", other))


def kinds(question: Question, facts: Catalog) -> list[Accelerator]:
    """Return the accelerators that are tried: the reader's own, or all that are sold or rented."""
    if question.have:
        return [owned(question, facts)]
    limits, named = question.limits, question.limits.accelerators
    tried = [record for record in in_each_size(facts) if record.id in named] if named else all_there(facts)
    return [
        record
        for record in tried
        if (not limits.vendors or record.vendor in limits.vendors)
        and (not limits.segments or record.segment in limits.segments)
    ]


def owned(question: Question, facts: Catalog) -> Accelerator:
    """Return the reader's own accelerator, with what a program may use of it; of unlike ones the first, or the host."""
    if question.alone:
        return question.alone
    if question.unlike:
        return question.unlike[0]
    try:
        found = read_accelerator(Reader({name: question.have[name] for name in question.have}), facts)
    except ScenarioError as error:
        raise ScenarioError(f"have.{error.field}", error.message) from error
    assert found is not None
    return found


def counts(question: Question, accelerator: Accelerator) -> tuple[int, ...]:
    """Return the numbers of devices that are tried: as many as there are, or up to the limit.

    Replicas that share what is asked may be of fewer devices than there are. Of boards that hold several, whole ones
    are bought.
    """
    if question.unlike or question.alone:
        return (1,)  # all of them, which `devices` counts
    if question.have:
        given = whole_count(question)
        if question.need.shared and question.want == "models":
            return tuple(count for count in range(1, given + 1) if given % count == 0)
        return (given,)
    usual = CLUSTERS[-1] if question.need.days is not None else USUAL_DEVICES  # as many as end a run in its days
    most = (question.limits.devices or usual) if accelerator.sold_in_multiples else 1
    tried = OWN_COUNTS if accelerator.segment == OWN else COUNTS
    if question.trains:
        tried = tuple(sorted({*tried, *CLUSTERS}))
    return tuple(count for count in tried if count <= most and count % accelerator.devices_per_package == 0)


def whole_count(question: Question) -> int:
    """Return how many devices there are."""
    given = question.have.get("accelerators", named_count(Reader(question.have)) or 1)
    if type(given) is not int or not 1 <= given <= MOST_OWN:
        raise ScenarioError("have.accelerators", f"must be a whole number from 1 to {MOST_OWN}, not {given!r:.60}")
    return given


def devices(question: Question, facts: Catalog, accelerator: Accelerator) -> Devices:
    """Return one device with what it costs, or all of those that are not alike."""
    if question.unlike:
        each = [one_device(question, facts, device) for device in question.unlike]
        rents, prices = ([getattr(one, name) for one in each] for name in ("rent_per_hour", "purchase"))
        return Devices(
            accelerator=accelerator,
            number=len(each),
            rent_per_hour=None if None in rents else sum(rents),
            purchase=None if None in prices else sum(prices),
            unlike=question.unlike,
        )
    if question.alone:
        return Devices(accelerator, 1, rent_per_hour=None, purchase=question.account.purchase_price)
    return one_device(question, facts, accelerator)


def one_device(question: Question, facts: Catalog, accelerator: Accelerator) -> Devices:
    """Return one device with what it costs."""
    own = own_price(question, "price_per_hour")
    rent, price, alone = facts.once(f"paid {accelerator.id}", lambda: paid(facts, accelerator))
    return Devices(
        accelerator=accelerator,
        number=1,
        rent_per_hour=rent if own is None else own,
        purchase=question.account.purchase_price or price,
        rents_one=own is None and alone,
    )


def paid(facts: Catalog, accelerator: Accelerator) -> tuple[float | None, float | None, bool]:
    """Return a device's rent by the hour and its price, in dollars, and whether that rent is of one alone.

    It is where it is the least of a market, or of a device of which no cloud has several in a machine.
    """
    rent, price = newest_rent(facts, accelerator), purchase_today(facts, accelerator)
    rent = rent if rent and rent.currency == DOLLARS else None
    one = rent is not None and (rent.kind == LOWEST or rented_alone(facts, accelerator))
    return rent.each if rent else None, price.each if price else None, one


def rented_alone(facts: Catalog, accelerator: Accelerator) -> bool:
    """Whether clouds have no machine with several of a device."""
    rented = facts.once("rented together", lambda: most_rented(facts))
    return rented.get(accelerator.id) == 1


def most_rented(facts: Catalog) -> dict[str, int]:
    """Return the most of each device that a cloud's machine in the catalogue holds."""
    found = dict[str, int]()
    for machine in facts.machines():
        if machine.kind == CLOUD:
            found[machine.accelerator] = max(machine.devices, found.get(machine.accelerator, 0))
    return found
