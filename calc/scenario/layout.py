"""The devices of a scenario: how many there are, and how they divide the work."""

from calc.errors import ScenarioError
from calc.memory.budget import Layout
from calc.scenario.fields import DEGREES, MOST_DEGREE
from calc.scenario.reader import Reader, read_object, whole


def read_layout(reader: Reader) -> tuple[Layout | None, int | None]:
    """Return the layout and the number of devices that a scenario asks for, None where it leaves them open."""
    given = reader.given.get("parallelism")
    devices = reader.count("accelerators", most=MOST_DEGREE) if "accelerators" in reader.given else None
    if devices is None and given is None and (named := named_count(reader)):
        devices = whole(named, "accelerator", 1, MOST_DEGREE)
    if given is None:
        return (None, devices) if devices else (Layout(), 1)
    layout = read_degrees(given, "parallelism")
    if devices is not None and devices != layout.devices:
        product = f"{layout.tensor} × {layout.pipeline} × {layout.data} × {layout.context} = {layout.devices}"
        others = layout.devices // layout.data
        works = f"; data {devices // others} makes {devices}" if devices % others == 0 else f"; {layout.devices} works"
        raise ScenarioError("accelerators", f"is {devices}, and tensor × pipeline × data × context is {product}{works}")
    return layout, layout.devices


def read_degrees(value: object, field: str) -> Layout:
    """Return the degrees of parallelism, each 1 unless it is given; raises ScenarioError for what is wrong."""
    given = read_object(value, field, DEGREES)
    return Layout(
        **{name: whole(given.get(name, 1), f"{field}.{name}", 1, MOST_DEGREE, instead=(1, 2)) for name in DEGREES}
    )


def named_count(reader: Reader) -> int | None:
    """Return the devices that an accelerator's name counts, as in "2x RTX 3090"."""
    name = reader.given.get("accelerator")
    if not isinstance(name, str) or (name[:1].isalpha() and " x" not in name.casefold()):
        return None
    from calc.catalog.market_names import count_in  # names without a number need it not

    return count_in(name)
