"""Room for caches outside of the devices, as each engine counts it."""

from collections.abc import Iterator, Mapping
from typing import Any

from calc.memory.cache_store import HOST
from calc.units import GB, GIB, MIB


def stored(filled: Mapping[str, Any], engine: str) -> Iterator[tuple[str, object]]:
    """Iterate over the room for caches outside of the devices, as the engine counts it.

    vLLM takes GiB of a replica, SGLang whole GB of a device, and llama.cpp MiB.
    """
    if room := in_memory(filled):
        sizes = {"vllm": f"{room / filled['parallelism']['data'] / GIB:g}", "llama.cpp": room // MIB}
        yield "stored_cache", sizes.get(engine, max(int(room / filled["accelerators"] / GB), 1))
    elif "cache_offload" in filled:
        yield "caches_on_disk", True


def in_memory(filled: Mapping[str, Any]) -> int | None:
    """Return the bytes of the host's memory in which caches are kept; None where it keeps none."""
    store = filled.get("cache_offload")
    return int(store["bytes"]) if store and store["to"] == HOST else None
