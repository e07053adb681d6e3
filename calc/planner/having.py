"""Reading what there is: devices that are alike, or not, or the processor of a computer alone."""

from collections.abc import Mapping

from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.errors import ScenarioError
from calc.planner.fields import listed, table
from calc.planner.host_alone import ALONE, read_host_alone
from calc.planner.wanted import ANY
from calc.scenario.fields import HOST_ENGINE, USUAL
from calc.scenario.reader import Reader
from calc.service.devices import read_devices

HAVE = ("accelerator", "accelerators", "memory_limit", "display", "host", "pcie", "power_limit", "tensor_split")
TRAINING = "training"
BOUGHT = 'What one could buy or rent is asked with want "hardware"'


def read_have(given: Mapping[str, object], want: str) -> dict[str, object]:
    """Return what there is; nothing where it is looked for."""
    have = table(given, "have", HAVE)
    if want == "hardware" and have:
        raise ScenarioError("have", 'does not apply: want "hardware" looks for it')
    if want != "hardware" and "accelerator" not in have and "host" not in have:
        raise ScenarioError(
            "have.accelerator", f"is needed, or have.host of a processor alone: {want} on what? {BOUGHT}"
        )
    if "accelerator" in have and not isinstance(have["accelerator"], str | list):
        raise ScenarioError("have.accelerator", "must be an id or a name, or a list of devices that are not alike")
    return have


def read_unlike(
    given: Mapping[str, object], have: dict[str, object], want: str, facts: Catalog
) -> tuple[Accelerator, ...]:
    """Return each of the devices that there are where they are not alike; those that are leave `have` as one kind.

    llama.cpp alone splits a model by layers over unlike devices.
    """
    if not isinstance(have.get("accelerator"), list):
        return ()
    reader = Reader({name: have[name] for name in have if name != "host"})
    try:
        unlike = read_devices(reader, facts)
    except ScenarioError as error:
        raise ScenarioError(f"have.{error.field}", error.message) from error
    if not unlike:
        have |= {name: reader.given[name] for name in HAVE if name in reader.given}
        return ()
    check_engine(given, "splits a model over devices that are not alike")
    if want == "layout" or given.get("workload") == TRAINING:
        message = "lists devices that are not alike, which are given whole layers: there is nothing to look for"
        raise ScenarioError("have.accelerator", message)
    return unlike


def read_alone(given: Mapping[str, object], have: dict[str, object], want: str, facts: Catalog) -> Accelerator | None:
    """Return the host where it works without an accelerator, which leaves no layers to others; else None."""
    if not have or "accelerator" in have:
        if given.get("gpu_layers") == 0:
            message = "of 0 leaves all to the processor: say what have.host is, without have.accelerator"
            raise ScenarioError("gpu_layers", message)
        return None
    if given.get("gpu_layers", 0) != 0:
        raise ScenarioError("have.accelerator", "is needed with gpu_layers: on which device?")
    if want == "layout" or given.get("workload") == TRAINING:
        raise ScenarioError("have.accelerator", "is needed: a processor alone serves, and divides nothing")
    check_engine(given, "works without an accelerator")
    try:
        alone = read_host_alone(have, facts)
    except ScenarioError as error:
        raise ScenarioError(f"have.{error.field.removeprefix('have.')}", error.message) from error
    have |= ALONE
    return alone


def check_engine(given: Mapping[str, object], does: str) -> None:
    """Raise ScenarioError where engines are named that do not do what llama.cpp alone does."""
    engine = given.get("engine", USUAL)
    if engine not in (USUAL, ANY) and HOST_ENGINE not in listed(engine):
        raise ScenarioError("engine", f"must be {HOST_ENGINE}: no other {does}")
