"""The devices of a scenario: how many there are, and how they divide the work."""

from collections.abc import Mapping

from calc.errors import ScenarioError, WrongValueError, nearest
from calc.memory.budget import Layout
from calc.scenario.fields import DEGREES, MOST_DEGREE
from calc.scenario.reader import Reader, whole


def read_layout(reader: Reader) -> tuple[Layout | None, int | None]:
    """Return the layout and the number of devices that a scenario asks for, None where it leaves them open."""
    given = reader.given.get("parallelism")
    devices = reader.count("accelerators", most=MOST_DEGREE) if "accelerators" in reader.given else None
    if devices is None and given is None and (named := named_count(reader)):
        devices = whole(named, "accelerator", 1, MOST_DEGREE)
    if given is None:
        return (None, devices) if devices else (Layout(), 1)
    if not isinstance(given, Mapping):
        raise WrongValueError("parallelism", f"must be an object with {', '.join(DEGREES)}, not {given!r:.60}")
    for name in given:
        if name not in DEGREES:
            hint = nearest(str(name), DEGREES)
            raise WrongValueError(
                f"parallelism.{name}", f"is not a kind of parallelism{hint}; kinds are {', '.join(DEGREES)}"
            )
    degrees = {
        name: whole(given.get(name, 1), f"parallelism.{name}", 1, MOST_DEGREE, instead=(1, 2)) for name in DEGREES
    }
    layout = Layout(**degrees)
    if devices is not None and devices != layout.devices:
        product = f"{layout.tensor} × {layout.pipeline} × {layout.data} × {layout.context} = {layout.devices}"
        others = layout.devices // layout.data
        works = f"; data {devices // others} makes {devices}" if devices % others == 0 else f"; {layout.devices} works"
        raise ScenarioError("accelerators", f"is {devices}, and tensor × pipeline × data × context is {product}{works}")
    return layout, layout.devices


def named_count(reader: Reader) -> int | None:
    """Return the devices that an accelerator's name counts, as in "2x RTX 3090"."""
    name = reader.given.get("accelerator")
    if not isinstance(name, str) or (name[:1].isalpha() and " x" not in name.casefold()):
        return None
    from calc.catalog.market_names import count_in  # names without a number need it not

    return count_in(name)
