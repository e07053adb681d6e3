"""Reading two pools of devices, one for prompts and one for answers: a scenario's `disaggregation`."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Engine
from calc.errors import ScenarioError
from calc.memory.budget import Layout
from calc.planning.layout import check_layout
from calc.planning.serving_pools import PoolLayouts
from calc.scenario.fields import MOST_DEGREE, OF_HOST, SHARING_ENGINES
from calc.scenario.layout import read_degrees
from calc.scenario.reader import Reader, read_object, whole

FIELD = "disaggregation"
POOLS = ("prefill", "decode")
POOL_FIELDS = ("accelerators", "parallelism")
INSTEAD = ("parallelism", "accelerators", "sequences", "arrivals", "cache_offload", *OF_HOST)


def read_pools(reader: Reader, engine: Engine | None, architecture: Architecture, facts: Catalog) -> PoolLayouts:
    """Return the two pools."""
    value = reader.given[FIELD]
    if engine is None or engine.id not in SHARING_ENGINES:
        raise ScenarioError(FIELD, f"does not apply: {', '.join(SHARING_ENGINES)} serve from two pools")
    if not architecture.writes:
        raise ScenarioError(FIELD, "does not apply: the model writes no text, for which the second pool is")
    if not isinstance(value, Mapping) or not set(POOLS) <= set(value) <= {*POOLS, "link"}:
        raise ScenarioError(FIELD, f"must be an object with prefill, decode and link, not {value!r:.60}")
    check_devices(reader)
    for name in INSTEAD:
        if name in reader.given:
            raise ScenarioError(FIELD, f"does not go together with {name}: each pool says its own")
    if "concurrency" not in reader.given:
        raise ScenarioError(FIELD, "needs concurrency: how many requests are in both pools at a time?")
    pools = [read_pool(value[name], f"{FIELD}.{name}", architecture) for name in POOLS]
    link = None
    filled: dict[str, object] = {
        name: {"accelerators": pool.layout.devices, "parallelism": pool.server._asdict()}
        for name, pool in zip(POOLS, pools, strict=True)
    }
    if value.get("link") is not None:
        if not isinstance(value["link"], str):
            raise ScenarioError(f"{FIELD}.link", f"must be the name of a link, not {value['link']!r:.60}")
        link = facts.link(value["link"], f"{FIELD}.link")
        filled["link"] = link.id
    reader.filled[FIELD] = filled
    prefill, decode = pools
    return PoolLayouts(prefill.layout, decode.layout, link, prefill.server.data)


def check_devices(reader: Reader) -> None:
    """Raise ScenarioError unless one kind of device is asked for, which both pools have."""
    if "accelerator" not in reader.given:
        raise ScenarioError(FIELD, "needs an accelerator: which devices are in both pools?")
    if isinstance(reader.given["accelerator"], list):
        raise ScenarioError(FIELD, "does not go together with several kinds of accelerator")


class Pool(NamedTuple):
    """The servers of a pool: how one divides the model, and how many there are."""

    server: Layout
    copies: int

    @property
    def layout(self) -> Layout:
        """All of them as one: copies are further data ranks."""
        return self.server._replace(data=self.server.data * self.copies)


def read_pool(value: object, field: str, architecture: Architecture) -> Pool:
    """Return how a pool divides the model: the degrees of a server, and copies up to its number of devices."""
    fields, place = read_object(value, field, POOL_FIELDS), f"{field}.parallelism"
    layout = read_degrees(fields.get("parallelism") or {}, place)
    devices = whole(fields.get("accelerators", layout.devices), f"{field}.accelerators", 1, MOST_DEGREE)
    if devices % layout.devices:
        message = f"{devices} are no whole number of copies of the {layout.devices} that its parallelism takes"
        raise ScenarioError(f"{field}.accelerators", message)
    pool = Pool(layout, devices // layout.devices)
    check_layout(architecture, pool.layout, place)
    return pool
