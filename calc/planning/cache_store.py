"""What room for caches outside of the devices is worth: the tokens in it, and the seconds to bring a prompt's back."""

from calc.derivation import INFO, Step, Warn
from calc.memory.cache_store import CacheStore
from calc.memory.runtime import CACHES
from calc.performance.fabric import HOST, host_link, reached_share
from calc.planning.served import Served
from calc.planning.serving_question import speed_factors
from calc.planning.serving_report import Report, pool_tokens
from calc.units import show_count, show_number, show_seconds

LINK = "ml-engineering-network"


def stored(served: Served, store: CacheStore) -> Report:
    """Return the bytes of the room, and the tokens of all replicas that it holds."""
    devices, layout = served.layout.devices, served.layout
    cache = served.runtime.bytes_of(*CACHES)
    each = pool_tokens(served, store.size_bytes // devices, cache)
    return {"stored_cache_bytes": store.size_bytes, "stored_cache_tokens": each * layout.data}


def restored(served: Served, store: CacheStore) -> tuple[Report, list[Step]]:
    r"""Return the seconds to bring the cache of one prompt back: $M / \min(n \cdot BW_{\text{PCIe}}, BW)$.

    Each rank has its part of the cache over its own PCIe, side by side; a disk is read once for all.
    """
    case, accelerator = served.case, served.serving.accelerator
    assert accelerator is not None
    layout = served.layout
    ranks = layout.tensor * layout.context
    parts = case.sequence_bytes(served.demand.prompt_tokens) * ranks * layout.pipeline
    link = host_link(accelerator)
    rate = ranks * layout.pipeline * link.bytes_per_s_one_way * reached_share(link, HOST, 2)
    if store.bandwidth is not None:
        rate = min(rate, store.bandwidth)
    seconds, factor = parts / rate, speed_factors(served)[1]
    step = Step(
        "Bringing the cache of a prompt back",
        r"\frac{M_{\text{cache}}}{BW}",
        f"{show_count(parts)} / {show_number(rate)}",
        seconds,
        unit="s",
        source=LINK,
    )
    return {"cache_restore_s": {"low": seconds / factor, "typical": seconds, "high": seconds * factor}}, [step]


def store_warnings(served: Served, speed: Report) -> list[Warn]:
    """Return whether reading a prompt again is quicker than bringing its cache back."""
    back, again = speed["cache_restore_s"], speed["time_to_first_token_s"]
    assert isinstance(back, dict) and isinstance(again, dict)
    each = again["typical"] / max(served.demand.sequences, 1)
    if back["typical"] < each:
        return []
    message = f"bringing the cache of a prompt back takes {show_seconds(back['typical'])}, reading it again "
    return [Warn("cache-sooner-read", f"{message}{show_seconds(each)}", "cache_offload", INFO)]
