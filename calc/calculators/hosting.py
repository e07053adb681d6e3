"""What stays in the host's memory: the inputs that forms share, the scenario they make, and what answers say of it."""

from calc.calculators.inputs import Amount, Choice, Report, Text, amount
from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.memory.placement import left_by_system
from calc.question import read_asked
from calc.scenario.fields import HOST_ENGINE, USUAL
from calc.scenario.reader import Reader
from calc.units import GIB, show_count, show_seconds

TOPIC = "Host"
DECIDE = ("model", "weights", "kv_cache", "kv_cache_v", "accelerator", "engine")  # which engine is the usual one
MOST_LAYERS, MOST_CORES, MOST_GIB, MOST_WATTS = 1000, 1024, 100_000, 5000
POWER_LIMIT = Amount(
    "power_limit",
    "Power limit of the GPU",
    "In watts, where it is set below its own. Empty: its own.",
    "",
    least=1,
    most=MOST_WATTS,
)
INPUTS = (
    Amount(
        "gpu_layers",
        "Layers on the GPU",
        "llama.cpp leaves the others in the host's memory. Empty: all; 0: the processor alone.",
        "",
        least=0,
        most=MOST_LAYERS,
        topic=TOPIC,
    ),
    Amount(
        "experts_on_host",
        "Layers whose experts stay on the host",
        "From the first one on, under llama.cpp; more than there are means all. Empty: none.",
        "",
        least=0,
        most=MOST_LAYERS,
        topic=TOPIC,
    ),
    Choice(
        "processor",
        "Processor",
        "It works on what stays in the host's memory, as fast as that is read.",
        "",
        kind="processors",
        empty="The usual one beside the GPU",
        topic=TOPIC,
    ),
    Amount(
        "host_cores",
        "Cores of the processor",
        "If it has another number of them, or is not in the list.",
        "",
        least=1,
        most=MOST_CORES,
        topic=TOPIC,
    ),
    Amount(
        "host_bandwidth",
        "Bandwidth of the host's memory",
        "In GB/s, if yours is not the processor's own.",
        "",
        least=1,
        most=10_000,
        topic=TOPIC,
    ),
    Amount("host_memory", "Host memory", "In GiB.", "64", least=1, most=MOST_GIB, topic=TOPIC),
    Amount(
        "cache_store",
        "Room for caches that pause",
        "GiB of the host's memory that the engine keeps caches in. Empty: none.",
        "",
        least=0.1,
        most=MOST_GIB,
        topic=TOPIC,
    ),
    Text(
        "memory_limit",
        "Memory that programs get on the GPU",
        "Such as 110 GiB, where the driver was told so. Empty: as much as it gives.",
        topic=TOPIC,
    ),
    POWER_LIMIT._replace(topic=TOPIC),
    Choice("pcie", "PCIe of the GPU", "The slot that it stands in.", "", kind="slots", empty="Its own", topic=TOPIC),
)
FIELDS = {field.name for field in INPUTS}


def scenario(values: dict[str, object]) -> dict[str, object]:
    """Return the scenario of what a form holds; a host matters where something stays, or could, in its memory."""
    found = {name: value for name, value in values.items() if name not in FIELDS}
    found |= {name: values[name] for name in ("gpu_layers", "memory_limit", "power_limit", "pcie") if name in values}
    experts = values.get("experts_on_host")
    if experts:
        found["experts_on_host"] = experts
    if "cache_store" in values:
        found["cache_offload"] = {"to": "host", "bytes": size_bytes(values, "cache_store")}
    if not {"gpu_layers", "experts_on_host", "cache_offload"} & found.keys() and not leaves(found):
        return found
    host: dict[str, object] = {}
    if "processor" in values:
        host["processor"] = values["processor"]
    if "host_cores" in values:
        host["cores"] = values["host_cores"]
    if "host_bandwidth" in values:
        host["bandwidth"] = f"{values['host_bandwidth']} GB/s"
    if "host_memory" in values:
        host["memory"] = size_bytes(values, "host_memory")
    elif values.get("gpu_layers") == 0:
        raise ScenarioError("host_memory", "is needed where the processor works alone: what fits in how much?")
    return {**found, "host": host} if host else found


def leaves(asked: dict[str, object]) -> bool:
    """Return whether the engine is one that could leave parts of the model in the host's memory, as repairs offer."""
    engine = asked.get("engine")
    if engine == USUAL:
        found = read_asked(Reader({name: asked[name] for name in DECIDE if name in asked})).engine
        engine = found.id if found else None
    return engine == HOST_ENGINE


def size_bytes(values: dict[str, object], name: str) -> int:
    """Return a number of GiB that a form has read in bytes."""
    return round(amount(values, name) * GIB)


def alone(report: Report) -> bool:
    """Return whether the host's processor works alone."""
    return bool(report["scenario"].get("gpu_layers") == 0)


def processor_name(report: Report) -> str:
    """Return the name of the host's processor."""
    return catalog().processor(report["scenario"]["host"]["processor"]).name


def host_memory(report: Report) -> int | None:
    """Return what the system leaves of the memory that the host is said to have, None where nobody says."""
    found: int | None = report["scenario"].get("host", {}).get("memory")
    return None if found is None else left_by_system(found)


def beside_system(report: Report) -> str:
    """Return of how much memory the system leaves what a host that works alone has, in words; empty for any other."""
    memory = report["scenario"].get("host", {}).get("memory") if alone(report) else None
    return f" that the system leaves of {size_gib(memory)}" if memory else ""


def short(report: Report) -> str:
    """Return that the host's memory does not hold what stays in it, as a sentence; empty where it does."""
    memory, size = host_memory(report), report["memory"].get("host_bytes", 0)
    if alone(report) or memory is None or size <= memory:
        return ""
    return f" In the host's memory {size_gib(size)} would stay, and its system leaves {size_gib(memory)}."


def place(report: Report) -> str:
    """Return what stays in the host's memory, in words; empty where nothing does."""
    scenario, layers = report["scenario"], report["model"]["layers"]
    said = []
    if scenario.get("gpu_layers", layers) < layers:
        said.append(f"{layers - scenario['gpu_layers']} of {layers} layers")
    if experts := scenario.get("experts_on_host"):
        every = experts == "all" or experts >= layers
        said.append("all experts" if every else f"the experts of {experts} of {layers} layers")
    return f", {' and '.join(said)} in the memory of a host with {processor_name(report)}" if said else ""


def facts(report: Report) -> list[str]:
    """Return what is in the host's memory, as items of a list; none where nothing is."""
    size = report["memory"].get("host_bytes")
    if not size:
        return []
    memory = host_memory(report)
    of = f" of {size_gib(memory)}" if memory else ""
    found = [f"In the host's memory: <strong>{size_gib(size)}</strong>{of}"]
    if tokens := report["memory"].get("stored_cache_tokens"):
        back = (report["speed"] or {}).get("cache_restore_s")
        after = f"; that of a prompt is back after <strong>{show_seconds(back['typical'])}</strong>" if back else ""
        found.append(f"Caches that pause there: <strong>{show_count(tokens)}</strong> tokens{after}")
    return found
