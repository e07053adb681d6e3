"""How a line says that a model is divided over devices: tp=2 pp=2."""

import math

from calc.lines.parts import DIVIDED, EVERY
from calc.lines.quantities import Quantity
from calc.lines.reader import Reader
from calc.lines.wording import DRAWS, NVLINK, POWER

DEGREES = tuple(field for field, _ in DIVIDED)
EXPERTS = "expert"  # whose ranks are those of the other degrees, and no more devices
LINKED = ("fits", "speed", "cost", "training", "duration")  # questions whose answer says so
LAID_OUT = ("fits", "speed", "cost", "limit", "training", "trained_on", "duration")  # questions of one layout


def take_layout(reader: Reader, kind: str | None) -> None:
    """Take the degrees that a line gives where they make as many devices as it counts, and give the others back.

    A tensor degree alone says how many devices there are. What the degrees leave of devices that are counted is divided
    by tensors where the line says nothing of these, and else are copies.
    """
    amounts = {amount.field: amount for amount in reader.amounts if amount.field in DEGREES}
    if not amounts:
        return
    count = reader.count("accelerators")
    degrees = degrees_of(amounts, count)
    made = ranks(degrees)
    shared = (count or made) % degrees[EXPERTS] == 0 if degrees.get(EXPERTS) else EXPERTS not in amounts
    if count is None and list(amounts) == ["tensor"] and made:
        reader.add(amounts["tensor"], "accelerators", made)
    elif kind in LAID_OUT and made and shared and (count is None or count % made == 0):
        for field, amount in amounts.items():
            reader.add(amount, field, degrees[field])
        if count is None:
            reader.taken["accelerators"] = made
        elif count > made:
            reader.taken["data" if "tensor" in amounts else "tensor"] = count // made
    else:
        for amount in amounts.values():
            reader.line.release(amount.start, amount.end)


def take_link(reader: Reader, kind: str | None) -> None:
    """Claim the words for a link of several devices and for their power, of which the answer speaks.

    No scenario has a field for these.
    """
    linked = (reader.count("accelerators") or 1) > 1
    asked = POWER.search(reader.line.small) and reader.value("accelerator")
    for words in (*((NVLINK,) if linked else ()), *((DRAWS,) if asked else ())) if kind in LINKED else ():
        for match in reader.line.found(words):
            reader.line.claim(*match.span())


def degrees_of(amounts: dict[str, Quantity], count: int | None) -> dict[str, int]:
    """Return the degrees of amounts; one without a number is of all devices that the others leave, 0 where none are."""
    found = {field: degree(amount) for field, amount in amounts.items()}
    for field in [field for field, value in found.items() if value == EVERY]:
        rest = {name: value for name, value in found.items() if name != field}
        of_experts = (count or ranks(rest)) // rest.get("pipeline", 1)
        found[field] = of_experts if field == EXPERTS else (count or 0) // max(ranks(rest), 1)
    return found


def ranks(degrees: dict[str, int]) -> int:
    """Return the devices that degrees make: the ranks of experts are those of the other ones."""
    return math.prod(value for field, value in degrees.items() if field != EXPERTS)


def degree(amount: Quantity) -> int:
    """Return a degree as the whole number that it is."""
    assert isinstance(amount.value, int)
    return amount.value


def layout(reader: Reader) -> dict[str, object]:
    """Return the fields of a scenario that say how a model is divided; none where a line says nothing of it."""
    found = {field: reader.value(field) or reader.taken.get(field) for field in DEGREES}
    degrees = {field: value for field, value in found.items() if value is not None}
    if not degrees:
        return {}
    count = reader.value("accelerators") or reader.taken["accelerators"]
    return {"accelerators": count, "parallelism": degrees}
