"""Reading the host of a scenario: its processor, memory and PCIe, and what of a model stays in its memory."""

import re
from collections.abc import Callable, Mapping

from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Engine, Processor
from calc.derivation import INFO, WRONG, Warn
from calc.errors import ScenarioError, WrongValueError, check_names
from calc.memory.budget import Demand, Layout
from calc.memory.placement import Host, Placement, kept_bytes
from calc.scenario.device import read_rate, read_size
from calc.scenario.fields import HOST_ENGINE, OF_HOST
from calc.scenario.reader import Reader, read_flag, whole
from calc.units import show_gib

FIELDS = ("processor", "cores", "bandwidth", "memory", "pinned")
MOST_CORES = 1024
ALL, MOST_LAYERS = "all", 10_000  # more layers than a model has are all of them, as llama.cpp reads it
DESKTOP_BYTES = 256 * 2**30  # four modules of 64 GiB, the most that desktops hold; who keeps more has a server
# What systems write around a processor's name.
REMARKS = re.compile(
    r"\((?:r|tm|c)\)|@.*|with radeon.*|\b(?:\d+-core|cpu|processor|\d+th gen)\b|[(-]? *\d+ ?gb\)?$", re.IGNORECASE
)
MAKERS = re.compile(r"\b(?:amd|intel|core)\b", re.IGNORECASE)


def read_placement(reader: Reader, engine: Engine | None, architecture: Architecture) -> Placement:
    """Return what of a model stays in the host's memory: layers (-ngl), experts of the first layers (--n-cpu-moe)."""
    given = [name for name in OF_HOST if name in reader.given]
    for name in given:
        if engine is None or engine.id != HOST_ENGINE:
            raise ScenarioError(
                name, f"does not apply: {HOST_ENGINE} alone leaves parts of a model in the host's memory"
            )
        if reader.given.get("adapters_served") is not None:
            raise ScenarioError(name, "does not go together with adapters_served, which stand on devices alone")
    layers = architecture.layer_count
    count = reader.count("gpu_layers", least=0, most=layers) if "gpu_layers" in given else layers
    experts = read_experts(reader, architecture) if "experts_on_host" in given else 0
    if not count and experts:
        message = "does not go together with gpu_layers 0, which leaves all of the model in the host's memory"
        raise ScenarioError("experts_on_host", message)
    return Placement(None if count == layers else count, experts)


def read_experts(reader: Reader, architecture: Architecture) -> int:
    """Return of how many layers, from the first on, the routed experts stay in the host's memory."""
    if not architecture.experts:
        raise ScenarioError("experts_on_host", "does not apply: the model has no experts")
    layers = architecture.layer_count
    if reader.take("experts_on_host") == ALL:
        return layers
    try:
        return min(reader.count("experts_on_host", least=0, most=MOST_LAYERS), layers)
    except ScenarioError as error:
        raise ScenarioError("experts_on_host", f'{error.message}; or "{ALL}"') from None


def check_placed(placement: Placement, layout: Layout) -> None:
    """Raise ScenarioError where a layout divides what a placement leaves in the host's memory."""
    field = "experts_on_host" if placement.host_experts else "gpu_layers"
    for name in ("tensor", "data", "expert", "context"):
        if placement.on_host and getattr(layout, name) > 1:
            message = (
                f"does not go together with parallelism.{name}: {HOST_ENGINE} divides such a model by layers alone"
            )
            raise ScenarioError(field, message)
    if placement.alone and layout.devices > 1:
        raise ScenarioError("accelerators", "does not go together with gpu_layers 0: the host works alone")
    if placement.device_layers and layout.pipeline > placement.device_layers:
        message = f"is less than the {layout.pipeline} stages of parallelism.pipeline: each has a layer at least"
        raise ScenarioError("gpu_layers", message)


def read_host(
    reader: Reader,
    catalog: Catalog,
    engine: Engine | None,
    accelerator: Accelerator | None,
    *,
    placement: Placement,
    demand: Demand,
) -> Host | None:
    """Return the host that a scenario names, or the usual one where something stands in its memory; else None.

    A computer of one memory has what its GPU leaves of it, unless the scenario says how much.
    """
    value = reader.given.get("host")
    if value is None and not placement.on_host:
        return None
    kept = kept_bytes(placement, demand.architecture, demand.weights, demand.group)
    if value is None:
        processor = usual_processor(catalog, accelerator, kept)
        reader.filled["host"] = {"processor": processor.id}
        reader.defaults.append("host")
        return beside_gpu(host_of(processor), accelerator, placement)
    if "cache_offload" not in reader.given and (engine is None or engine.id != HOST_ENGINE):
        raise ScenarioError("host", f"does not apply: {HOST_ENGINE} alone leaves parts of a model in the host's memory")
    found, given = stated_host(value, lambda: usual_processor(catalog, accelerator, kept), catalog)
    reader.filled["host"] = given
    return found if "memory" in given else beside_gpu(found, accelerator, placement)


def stated_host(value: object, usual: Callable[[], Processor], catalog: Catalog) -> tuple[Host, dict[str, object]]:
    """Return a host as it is stated, with the `usual` processor where none is named, and what was read."""
    if not isinstance(value, Mapping) or not value:
        raise WrongValueError("host", f"must be an object with some of {', '.join(FIELDS)}, not {value!r:.60}")
    check_names(value, FIELDS, "host.", " of a host")
    processor = named_processor(value["processor"], catalog) if "processor" in value else usual()
    found, given = with_given(host_of(processor), value)
    return found, {"processor": processor.id} | given


def beside_gpu(host: Host, accelerator: Accelerator | None, placement: Placement) -> Host:
    """Return a host whose memory is not stated with what a GPU that shares it leaves; any other host as it is."""
    if accelerator is None or not accelerator.shares_host_memory:
        return host
    whole_memory = round(accelerator.quantity("memory") or 0)
    if placement.alone:
        return host._replace(memory_bytes=whole_memory)
    return host._replace(memory_bytes=max(whole_memory - accelerator.capacity_bytes, 0), shared=True)


def with_given(found: Host, value: Mapping[str, object]) -> tuple[Host, dict[str, object]]:
    """Return a host with what a scenario says of it beside its processor, and what was read."""
    filled: dict[str, object] = {}
    if "cores" in value:
        filled["cores"] = cores = whole(value["cores"], "host.cores", 1, MOST_CORES)
        found = found._replace(cores=cores, rate=found.rate * cores / found.cores)
    if "bandwidth" in value:
        filled["bandwidth"] = bandwidth = read_rate(value["bandwidth"], "host.bandwidth")
        found = found._replace(bandwidth=float(bandwidth))
    if "memory" in value:
        filled["memory"] = memory = read_size(value["memory"], "host.memory")
        found = found._replace(memory_bytes=memory)
    if "pinned" in value:
        filled["pinned"] = pinned = read_flag(value["pinned"], "host.pinned")
        found = found._replace(pinned=pinned)
    return found, filled


def host_of(processor: Processor) -> Host:
    """Return a host with a processor of the catalogue, and as much memory as it takes."""
    return Host(
        name=processor.name,
        bandwidth=processor.bandwidth,
        cores=processor.cores,
        rate=processor.rate,
        memory_bytes=None,
        source=processor.source,
    )


def named_processor(value: object, catalog: Catalog) -> Processor:
    """Return a processor by its id, or by its name as people and systems write it."""
    if not isinstance(value, str):
        raise WrongValueError("host.processor", f"must be the name of a processor, not {value!r:.60}")
    plain = REMARKS.sub(" ", value)
    for name in (value, plain, MAKERS.sub(" ", plain)):
        if found := catalog.lookup("processors", name.strip()):
            return catalog.processor(found)
    return catalog.processor(value, "host.processor")


def usual_processor(catalog: Catalog, accelerator: Accelerator | None, kept: int) -> Processor:
    """Return what stands beside an accelerator: the usual desktop or server of its time, of now where none is given.

    Beside cards for desktops stands a server, too, if more bytes are kept than a desktop's memory holds.
    """
    served = accelerator is not None and accelerator.segment in ("data-center", "cloud")
    kind = "server" if served or kept > DESKTOP_BYTES else "desktop"
    usual = sorted(
        (entry for entry in catalog.processors() if entry.usual and entry.kind == kind),
        key=lambda entry: entry.released,
    )
    since = [entry for entry in usual if accelerator is None or entry.released <= accelerator.released]
    return since[-1] if since else usual[0]


def host_warnings(reader: Reader, host: Host, placement: Placement, host_bytes: object) -> list[Warn]:
    """Return what is risky about a host, or was taken of it."""
    found = []
    if placement.alone and "accelerator" in reader.given:
        message = f"with gpu_layers 0 the host works alone: {reader.filled['accelerator']} is not used"
        found.append(Warn("device-not-used", message, "gpu_layers", INFO))
    if placement.on_host and "host" in reader.defaults:
        message = f"the host is taken to have a {host.name}, whose memory gives {host.bandwidth / 1e9:,.0f} GB/s"
        found.append(Warn("host-assumed", f"{message}; host says otherwise", "host", INFO))
    usable = host.usable_bytes
    if isinstance(host_bytes, int) and usable is not None and host_bytes > usable:
        message = f"{show_gib(host_bytes)} stay in the host's memory, of which its system leaves {show_gib(usable)}: "
        message += "what is mapped is read from the disk again with every token, and read as a whole "
        message += "(--load-mode none) it does not start"
        sizes = (host_bytes, usable)
        found.append(Warn("host-memory-short", message, "host.memory", WRONG, sizes_bytes=sizes))
    return found
