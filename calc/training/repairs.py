"""Repairs of a training run: the single changes that make it fit, cheapest first, and the room where it fits.

Every function takes a scenario of `workload: training` as a reader gives it, without the defaults filled in, so that a
change of one field lets the defaults of others follow. Sizes are those that `estimate` would report.
"""

from collections.abc import Callable, Mapping, Set
from functools import partial
from itertools import groupby
from math import inf
from typing import NamedTuple

from calc.catalog import Catalog, catalog
from calc.errors import ScenarioError
from calc.memory.training.device import Device
from calc.memory.training.plan import PARAMETERS, Plan
from calc.planning.fit import first_that_fits, most_that_fit
from calc.planning.training_fit import fullest, fullest_within, room_on
from calc.training.changes import (
    BESIDE_WEIGHTS,
    DIVIDING,
    HARDWARE,
    PASSING,
    PRICES,
    QUALITY,
    SEQUENCE_STEP,
    STAYING,
    Change,
    Scenario,
    Size,
    candidates,
    size_of,
    sized,
)
from calc.training.fields import MOST_BATCH, MOST_SEQUENCE
from calc.training.reading import read_training, works_of

LEAST_GAIN_BYTES = 2**20  # a change that saves less has no effect worth naming
FEW = 4  # changes that are tried one by one


class Repair(NamedTuple):
    """A change with its effect: what the fullest device and the host then need, and what the device saves."""

    change: Change
    device_bytes: int
    host_bytes: int
    saved_bytes: int
    sure: bool  # whether it surely fits then, or is tight


class Room(NamedTuple):
    """The largest micro-batch, and the longest sequence, that fit with everything else as it is."""

    micro_batch: int
    sequence_tokens: int
    whole_context: bool  # whether the sequence ends where the model's context does, and not where memory does


def changed(scenario: Scenario, fields: Mapping[str, object]) -> dict[str, object]:
    """Return the scenario with fields replaced; None takes a field out."""
    return {name: value for name, value in {**scenario, **fields}.items() if value is not None}


def tried(
    scenario: Scenario, fields: Mapping[str, object], facts: Catalog, capacity_bytes: int | None = None
) -> Size | None:
    """Return what a changed scenario takes, None where it cannot be made, would not run, or is soon seen not to fit."""
    try:
        asked = read_training(changed(scenario, fields), facts)
    except ScenarioError:
        return None
    found = fullest(asked.plan) if capacity_bytes is None else fullest_within(asked.plan, capacity_bytes)
    if found is None or works_of(asked, facts).runs is False:
        return None
    return sized(asked.plan, found, facts)


def repairs(scenario: Scenario, *, fine_tuning: bool = True) -> list[Repair]:
    """Return the single changes that make a run surely fit that does not, cheapest first; of each kind the mildest.

    Last come those that leave it tight, where it does not fit at all. `fine_tuning` says whether the model is trained
    already: adapters and 16-bit updates are offered only then.
    Raises ScenarioError for a scenario that is wrong, or that has no accelerator to fit.
    """
    return repairs_of(scenario, *start(scenario, catalog()), fine_tuning=fine_tuning)


def repairs_of(scenario: Scenario, plan: Plan, capacity: int, size: Size, *, fine_tuning: bool = True) -> list[Repair]:
    """Return the same of a run whose plan and size are known already."""
    facts, known = catalog(), dict[str, Size | None]()
    if size.least(surely=True) <= capacity:
        return []

    def lacking(change: Change, *, surely: bool) -> float:
        if change.what not in known:
            known[change.what] = tried(scenario, change.fields, facts, capacity)
        after = known[change.what]
        if after is None:
            return inf
        return max(after.least(surely=surely) - capacity, after.device + LEAST_GAIN_BYTES - size.device)

    useless = beside_the_point(plan, capacity, size.passing)
    every = candidates(scenario, plan, capacity, facts, fine_tuning=fine_tuning)
    kinds = groupby((change for change in every if change.id not in useless), key=lambda change: change.id)
    listed = list[Repair]()
    for alike in (list(changes) for _, changes in kinds):
        change = mildest(alike, partial(lacking, surely=True))
        if change is None and size.device > capacity:  # what is tight is helped by nothing that leaves it so
            change = mildest(alike, partial(lacking, surely=False))
        if change is not None and (after := known[change.what]):
            listed.append(effect(change, before=size, after=after, capacity=capacity))
    return sorted(listed, key=lambda repair: (not repair.sure, repair.change.level, devices_of(repair)))


def beside_the_point(plan: Plan, capacity: int, passing: int) -> Set[str]:
    """Return the ids of changes that leave alone what is too much by itself.

    That is the weights, or all that stays, or of what comes and goes as much as is `passing` at once.
    """
    device = Device(plan._replace(micro_batch=1), plan.stages[0], 0)
    if device.static["weights"] > capacity:
        return BESIDE_WEIGHTS
    if device.staying > capacity:
        return PASSING
    if passing <= capacity:
        return frozenset()
    sharded = plan._replace(stage_of_zero=PARAMETERS)
    return STAYING | DIVIDING if sharded.numerics == plan.numerics else STAYING


def effect(change: Change, *, before: Size, after: Size, capacity: int) -> Repair:
    """Return a change with what it does."""
    sure = after.least(surely=True) <= capacity
    return Repair(change, after.device, after.host, saved_bytes=before.device - after.device, sure=sure)


def mildest(changes: list[Change], lacking: Callable[[Change], float]) -> Change | None:
    """Return the first of some changes with one id after which nothing is lacking, None where something always is.

    Of many, halves and doubles of one number, each needs less than the one before.
    """
    if len(changes) < FEW:
        return next((change for change in changes if lacking(change) <= 0), None)
    parts = [change.part for change in changes]
    place = first_that_fits(lambda place: lacking(changes[place]), parts.__getitem__, len(changes))
    return None if place is None else changes[place]


def devices_of(repair: Repair) -> int:
    """Return the devices that a change takes; 0 where it takes those that are there."""
    count = repair.change.fields.get("accelerators")
    return count if isinstance(count, int) else 0


def listed_repairs(scenario: Scenario, plan: Plan, capacity_bytes: int, size: Size) -> list[dict[str, object]]:
    """Return the repairs of a run as a report has them."""
    return [
        {
            "change": repair.change.fields,
            "message": repair.change.what,
            "headroom_bytes": capacity_bytes - repair.device_bytes,
            "cost": PRICES[repair.change.level],
            "sure": repair.sure,
        }
        for repair in repairs_of(scenario, plan, capacity_bytes, size)
    ]


def together(scenario: Scenario, *, fine_tuning: bool = True) -> list[Repair]:
    """Return changes that make a run surely fit together, or else fit, where no single one does; empty if none do.

    They are taken from the cheapest on until the run surely fits, or fits where more would cost quality, and then those
    left out that it fits without. `saved_bytes` is what each saves on top of the ones before it. More devices are left
    out: they would hide what else can be done.
    """
    facts = catalog()
    plan, capacity, size = start(scenario, facts)
    every = list(candidates(scenario, plan, capacity, facts, fine_tuning=fine_tuning))
    taken: list[Change] = []
    for change in sorted((item for item in every if item.level < HARDWARE), key=lambda item: item.level):
        after = combined(scenario, [*taken, change], facts)
        if size.least(surely=change.level < QUALITY) <= capacity:
            break
        if after and size.device - after.device >= LEAST_GAIN_BYTES:
            taken, size = [*taken, change], after
    if size.device > capacity:
        return []
    surely = size.least(surely=True) <= capacity
    for change in tuple(taken):
        fewer = [item for item in taken if item is not change]
        without = combined(scenario, fewer, facts)
        if without and without.least(surely=surely) <= capacity:
            taken = fewer
    return in_turn(scenario, taken, facts, capacity)


def in_turn(scenario: Scenario, changes: list[Change], facts: Catalog, capacity: int) -> list[Repair]:
    """Return changes made one after another, each with its effect on top of the ones before it."""
    result = []
    for count in range(1, len(changes) + 1):
        before, after = (combined(scenario, changes[:made], facts) for made in (count - 1, count))
        if before and after:
            result.append(effect(changes[count - 1], before=before, after=after, capacity=capacity))
    return result


def combined(scenario: Scenario, changes: list[Change], facts: Catalog) -> Size | None:
    """Return what the scenario takes with all the changes."""
    fields: dict[str, object] = {}
    for change in changes:
        fields |= change.fields
    return tried(scenario, fields, facts)


def start(scenario: Scenario, facts: Catalog) -> tuple[Plan, int, Size]:
    """Return the plan of a scenario, what its device has, and what it takes."""
    asked = read_training(scenario, facts)
    if asked.accelerator is None:
        raise ScenarioError("accelerator", "is needed: what shall it fit on?")
    return asked.plan, room_on(asked.accelerator, facts), size_of(asked.plan, facts)


def room(scenario: Scenario) -> Room:
    """Return the largest micro-batch and the longest sequence that fit; zero where not even the least does.

    Of a run that surely fits, those that surely do.
    """
    facts = catalog()
    plan, capacity, own = start(scenario, facts)
    surely = own.least(surely=True) <= capacity
    limit = read_training(scenario, facts).model.context_tokens

    def of_micro_batch(count: int) -> int:
        return size_of(plan._replace(micro_batch=count), facts).least(surely=surely)

    def of_tokens(tokens: int) -> int:
        return size_of(plan._replace(tokens=tokens), facts).least(surely=surely)

    def of_steps(steps: int) -> int:
        return of_tokens(steps * SEQUENCE_STEP)

    end = limit if limit and plan.tokens <= limit else MOST_SEQUENCE
    steps = most_that_fit(of_steps, capacity, -(-plan.layout.context // SEQUENCE_STEP), end // SEQUENCE_STEP)
    lengths = [steps * SEQUENCE_STEP]
    lengths += [tokens for tokens in (plan.tokens, end) if tokens - lengths[0] in range(SEQUENCE_STEP)]
    longest = max(tokens for tokens in lengths if tokens == lengths[0] or of_tokens(tokens) <= capacity)
    return Room(most_that_fit(of_micro_batch, capacity, 1, MOST_BATCH), longest, longest == limit)
