"""What a line says of what stands where: on which cards, in the host's memory, and beside the model."""

from calc.lines.host import read_kind
from calc.lines.reader import Reader
from calc.scenario.model import known_architecture
from calc.units import GIB

OF_CARDS = ("pcie", "power_limit")


def placed(reader: Reader) -> dict[str, object]:
    """Return what a line leaves in the host's memory; more layers on devices than there are leave nothing there."""
    found = reader.said(("gpu_layers", "experts_on_host"))
    layers = known_architecture(reader.facts, str(reader.value("model"))).layer_count
    return {name: value for name, value in found.items() if not isinstance(value, int) or value < layers}


def unlike(reader: Reader) -> dict[str, object]:
    """Return the list of devices of a line that has two kinds, with what it says of cards; nothing of any other."""
    if (other := reader.value("other_accelerator")) is None:
        return {}
    devices = str(reader.value("accelerator")), str(other)
    counts = [reader.count(name) or 1 for name in ("accelerators", "other_accelerators")]
    listed = [
        {"id": device, "count": count, **of_card(reader, device, devices)}
        for device, count in zip(devices, counts, strict=True)
    ]
    return {"accelerator": listed, "accelerators": sum(counts)}


def of_card(reader: Reader, device: str, devices: tuple[str, ...]) -> dict[str, object]:
    """Return what a line says of its cards for one kind: a limit of power is none of those that draw less anyway."""
    found = reader.said(OF_CARDS)
    limit = reader.number("power_limit")
    own = [reader.facts.accelerator(name).quantity("power") or 0.0 for name in (device, *devices)]
    if limit is not None and own[0] < limit <= max(own):
        found.pop("power_limit")
    return found


def beside(reader: Reader) -> dict[str, object]:
    """Return what a line says of bits that no format has, of shares, of adapters, and of what drafts tokens."""
    found = reader.said(("memory_fraction", "prefix_hit_rate", "sequence_slots"))
    if (bits := reader.value("bits_per_weight")) is not None and reader.value("weights") is None:
        found["weights"] = {"bits_per_weight": bits}
    if (adapters := reader.value("adapters")) is not None:
        found["adapters_served"] = {"count": adapters, **reader.said(("rank",))}
    if (draft := reader.value("draft")) is not None:
        found["speculation"] = {"method": "draft", "model": draft}
    elif (method := reader.value("speculation")) is not None:
        found["speculation"] = {"method": method}
    return found


def host(reader: Reader) -> dict[str, object]:
    """Return what a line says of the host."""
    found = reader.said(("processor",))
    if (memory := reader.host_memory()) is not None:
        found["memory"] = memory * GIB
        if reader.value("host_memory") is None:
            reader.taken["host_memory"] = memory
    named = reader.value("processor")
    kind = read_kind(reader.line, str(named or ""), reader.facts) if found or reader.alone else None
    if kind is not None:
        found["processor"], bandwidth = kind
        if named is None:
            reader.taken["processor"] = kind[0]
        if bandwidth is not None:
            reader.taken["host_bandwidth"] = found["bandwidth"] = f"{bandwidth / 1e9:g} GB/s"
    return {"host": found} if found else {}
