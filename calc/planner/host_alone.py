"""The processor of a computer alone, without an accelerator: what it is to the search, and to the reports it reads."""

from collections.abc import Mapping
from typing import Any

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Fact
from calc.errors import ScenarioError
from calc.planning.chance import chance_in
from calc.service.host import stated_host, usual_processor

ALONE = {"gpu_layers": 0}  # the field of a scenario that leaves all layers to the processor


def read_host_alone(have: Mapping[str, object], facts: Catalog) -> Accelerator:
    """Return the memory and its bandwidth of a host that works alone, as the search asks devices for theirs.

    Raises ScenarioError where nobody says how much memory there is.
    """
    for name in have:
        if name != "host":
            raise ScenarioError(f"have.{name}", "needs have.accelerator: of which device?")
    host = stated_host(have["host"], lambda: usual_processor(facts, None, 0), facts)[0]
    if host.usable_bytes is None:
        raise ScenarioError("have.host.memory", "is needed where a processor works alone: what fits in how much?")
    memory = Fact(value=host.usable_bytes, unit="GiB", basis="", source=host.source, checked="", note="")
    return Accelerator(
        id="",
        name=host.name,
        aliases=(),
        vendor="",
        segment="",
        architecture="",
        released="",
        availability="",
        facts={"memory": memory, "bandwidth": memory._replace(value=host.bandwidth, unit="GB/s")},
        also=(),
    )


def within_host(report: dict[str, Any], room: int) -> dict[str, Any]:
    """Return the report on a host alone with what fits in its memory, which says nothing of it by itself."""
    memory = report["memory"]
    left = room - memory["device_bytes"]
    found = {**memory, "capacity_bytes": room, "headroom_bytes": left, "fits": left >= 0}
    return {**report, "memory": {**found, "chance": chance_in(found)}}
