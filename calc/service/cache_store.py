"""Reading where an engine keeps caches of sequences that pause: a scenario's `cache_offload`."""

from calc.architecture.layers import Architecture
from calc.catalog.records import Engine
from calc.errors import ScenarioError
from calc.memory.cache_store import DISK, HOST, CacheStore
from calc.scenario.device import read_rate, read_size
from calc.scenario.fields import HOST_ENGINE
from calc.scenario.reader import Reader, read_object

FIELDS = ("to", "bytes", "bandwidth")
# vLLM's --kv-offloading-size, SGLang's --hicache-size, TensorRT-LLM's host_cache_size, llama.cpp's --cache-ram.
ENGINES = ("vllm", "sglang", "tensorrt-llm", HOST_ENGINE)


def read_cache_store(reader: Reader, engine: Engine | None, architecture: Architecture) -> CacheStore:
    """Return the room that a scenario gives to caches outside of the devices."""
    field, value = "cache_offload", reader.given["cache_offload"]
    if engine is None or engine.id not in ENGINES:
        raise ScenarioError(field, f"does not apply: {', '.join(ENGINES)} keep caches outside of their devices")
    if not any(kind.caches or kind.states for kind in architecture.kinds):
        raise ScenarioError(field, "does not apply: nothing is kept of the model's sequences")
    if "accelerator" not in reader.given:
        raise ScenarioError(field, "needs an accelerator: what is kept beside what?")
    if reader.given.get("gpu_layers") == 0:
        raise ScenarioError(field, "does not apply: with gpu_layers 0 all caches are in the host's memory")
    fields = read_object(value, field, FIELDS)
    place = fields.get("to", HOST)
    if place not in (HOST, DISK):
        raise ScenarioError(f"{field}.to", f"must be {HOST} or {DISK}, not {place!r:.60}", instead=(HOST, DISK))
    if "bytes" not in fields:
        raise ScenarioError(f"{field}.bytes", 'is missing: how much room there is, such as "64 GiB"')
    size = read_size(fields["bytes"], f"{field}.bytes")
    filled: dict[str, object] = {"to": place, "bytes": size}
    rate = None
    if place == HOST and "bandwidth" in fields:
        raise ScenarioError(f"{field}.bandwidth", "is that of a disk; what comes from memory goes over pcie")
    if place == DISK:
        if "bandwidth" not in fields:
            raise ScenarioError(f"{field}.bandwidth", 'is missing: how fast the disk is read, such as "7 GB/s"')
        filled["bandwidth"] = rate = read_rate(fields["bandwidth"], f"{field}.bandwidth")
    reader.filled[field] = filled
    return CacheStore(str(place), size, None if rate is None else float(rate))
