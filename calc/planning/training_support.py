"""Whether a framework trains at all: on a device, by a method, from a number format, in a precision and a layout."""

from functools import lru_cache

from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.catalog.support import (
    DEVICE,
    DIVISION,
    FORMAT,
    MAYBE,
    METHOD,
    NO,
    PACKED,
    PRECISION,
    REPLICATED,
    STATES_ALONE,
    TRAINED_APART,
    TRAINING,
    UNSHARDED,
    YES,
)
from calc.memory.budget import Layout
from calc.planning.support import ONE_DEVICE, Runs, Told, because_of, by_subject, closest, place_of, stated_of

BYTE_BITS = 8  # of the narrowest weights that are not packed


def what_trains(
    *,
    facts: Catalog,
    framework: str | None,
    device: Accelerator | None,
    base: str,
    precision: str | None,
    method: str,
    layout: Layout = ONE_DEVICE,
    sharding: str = "zero-3",
) -> Runs:
    """Return what keeps a framework from training: by a method, from weights in a format, in a precision, in a layout.

    `sharding` says what data ranks share of the model. None where nothing is known to. Facts are those on the
    framework, on what it is built on, and on the libraries of all. A precision that nobody states is what the framework
    takes on that device, which runs.
    """
    place = place_of(device)
    known = of_framework(framework, facts)
    found = [closest(known.get(DEVICE, ()), place)] if place else []
    found += stated_of(known, METHOD, (method,), place)
    found += stated_of(known, FORMAT, (base,), place)
    found += stated_of(known, PRECISION, (precision,) if precision else (), place)
    divided = [name for name in TRAINED_APART if getattr(layout, name) > 1]
    divided += [PACKED] if layout.tensor > 1 and facts.number_format(base).bits < BYTE_BITS else []
    divided += [REPLICATED] if layout.tensor > 1 and layout.data > 1 and sharding == UNSHARDED else []
    divided += [STATES_ALONE] if layout.data * layout.context > 1 and sharding == STATES_ALONE else []
    found += stated_of(known, DIVISION, tuple(divided), place)
    stated = because_of([fact for fact in found if fact is not None])
    if stated[NO]:
        return Runs(False, tuple(stated[NO]))
    return Runs(None, tuple(stated[MAYBE]))


def trains_in(precision: str, *, facts: Catalog, framework: str | None, device: Accelerator) -> bool:
    """Return whether nothing is said against a framework's training in a precision on a device."""
    known = of_framework(framework, facts)
    return not any(fact and fact.runs != YES for fact in stated_of(known, PRECISION, (precision,), place_of(device)))


def has_stages(*, facts: Catalog, framework: str | None) -> bool:
    """Return whether nothing is said against a framework's dividing a model's layers over stages."""
    return not stated_of(of_framework(framework, facts), DIVISION, ("pipeline",), None)


def has_method(method: str, *, facts: Catalog, framework: str | None) -> bool:
    """Return whether nothing is said against a framework's having a method of training."""
    return not stated_of(of_framework(framework, facts), METHOD, (method,), None)


@lru_cache(maxsize=64)
def of_framework(framework: str | None, facts: Catalog) -> Told:
    """Return the facts on a framework, on those that it follows, and on all frameworks, by what they are about."""
    names: list[str] = []
    while framework is not None:
        names.append(framework)
        framework = facts.framework(framework).follows
    return by_subject(fact for name in (*names, TRAINING) for fact in facts.support(name) if fact.holds_in(""))
