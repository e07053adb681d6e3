"""Reading devices that are not alike, and how a model's layers are split over them."""

from collections.abc import Mapping
from itertools import chain

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Engine
from calc.errors import ScenarioError, check_names
from calc.memory.budget import Layout
from calc.scenario.device import read_accelerator
from calc.scenario.fields import HOST_ENGINE, MOST_DEGREE
from calc.scenario.reader import Reader, whole

FIELDS = ("id", "count", "pcie", "power_limit", "memory_limit", "display")
APART = ("speculation", "adapters_served")  # what stands on one kind of devices
OF_EACH = ("pcie", "power_limit", "memory_limit", "display")
MOST_LISTED = 64


def read_devices(reader: Reader, catalog: Catalog) -> tuple[Accelerator, ...]:
    """Return the devices of a scenario that lists them, one by one; none where they are alike and split evenly.

    The scenario is left with the first of them, and their number, in the fields that say these.
    """
    value = reader.given["accelerator"]
    if not isinstance(value, list) or not 0 < len(value) <= MOST_LISTED:
        raise ScenarioError("accelerator", f"must be a list of 1 to {MOST_LISTED} devices, not {value!r:.60}")
    for name in OF_EACH:
        if name in reader.given:
            raise ScenarioError(name, "does not go together with a list in accelerator: say it of each device there")
    listed = [read_item(item, f"accelerator.{place}", catalog) for place, item in enumerate(value)]
    devices = tuple(chain.from_iterable([device] * count for device, count, _ in listed))
    asked = reader.given.get("accelerators", len(devices))
    if asked != len(devices):
        raise ScenarioError("accelerators", f"is {asked!r:.20}, and accelerator lists {len(devices)}")
    reader.given |= {"accelerator": listed[0][2]["id"], "accelerators": len(devices)}
    alike = all(device == devices[0] for device in devices)
    if alike and "tensor_split" not in reader.given:
        reader.given |= {name: value for name, value in listed[0][2].items() if name in OF_EACH}
        return ()
    reader.filled["accelerator"] = [item for _, _, item in listed]
    return devices


def read_item(item: object, field: str, catalog: Catalog) -> tuple[Accelerator, int, dict[str, object]]:
    """Return a device of a list, how many there are of it, and how it is asked for again."""
    if not isinstance(item, Mapping) or "id" not in item:
        raise ScenarioError(field, f'must be an object such as {{"id": "rtx-3090", "count": 1}}, not {item!r:.60}')
    check_names(item, FIELDS, f"{field}.", " here")
    count = whole(item.get("count", 1), f"{field}.count", 1, MOST_DEGREE)
    one = Reader({"accelerator": item["id"], **{name: item[name] for name in OF_EACH if name in item}})
    try:
        device = read_accelerator(one, catalog)
    except ScenarioError as error:
        place = "id" if error.field == "accelerator" else error.field
        raise ScenarioError(f"{field}.{place}", error.message) from None
    assert device is not None
    kept = {name: one.filled[name] for name in OF_EACH if name in one.filled}
    return device, count, {"id": device.id, "count": count, **kept}


def read_split(reader: Reader, devices: tuple[Accelerator, ...]) -> tuple[float, ...]:
    """Return the shares that devices get of the layers, as a scenario has them; none where their memory decides."""
    value = reader.given.get("tensor_split")
    if value is None:
        return ()
    count = len(devices)
    shape = f"must be a list of {count} numbers, one for each device, not {value!r:.60}"
    if not isinstance(value, list) or len(value) != count:
        raise ScenarioError("tensor_split", shape)
    if not all(isinstance(part, int | float) and not isinstance(part, bool) and 0 <= part < 1e9 for part in value):
        raise ScenarioError("tensor_split", shape)
    if not sum(value):
        raise ScenarioError("tensor_split", "must not be all 0: a device has to have the layers")
    reader.filled["tensor_split"] = value
    return tuple(float(part) for part in value)


def check_devices(reader: Reader, engine: Engine | None, layout: Layout) -> None:
    """Raise ScenarioError for what does not go together with unlike devices, as an engine that divides equally."""
    for name in APART:
        if name in reader.given:
            raise ScenarioError(name, "does not go together with devices in accelerator that are not alike")
    if engine is None or engine.id != HOST_ENGINE:
        name = "without an engine the model" if engine is None else engine.name
        message = (
            f"lists devices that are not alike, and {name} is divided into equal parts; {HOST_ENGINE} splits layers"
        )
        raise ScenarioError("accelerator", message)
    if layout.pipeline != layout.devices:
        message = f"does not go together with a list of devices: {HOST_ENGINE} splits layers, which is pipeline alone"
        raise ScenarioError("parallelism", message)
