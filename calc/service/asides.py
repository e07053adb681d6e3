"""What a scenario says of a service beside its load, each read by a module that is imported where it is said."""

from typing import TYPE_CHECKING

from calc.architecture.layers import Architecture
from calc.catalog import catalog
from calc.catalog.records import Engine, Weights
from calc.memory.correction import UNCORRECTED, Correction
from calc.memory.placement import Placement
from calc.memory.prefix import Prefix
from calc.scenario.reader import Reader

if TYPE_CHECKING:
    from calc.memory.cache_store import CacheStore
    from calc.memory.drafts import Draft
    from calc.memory.served_adapters import ServedAdapters
    from calc.performance.arrivals import Traffic
    from calc.performance.cold_start import Start
    from calc.planning.serving_pools import PoolLayouts


def read_measured(reader: Reader, engine: Engine | None) -> Correction:
    """Return by what a reader has measured otherwise than is computed."""
    if "correction" not in reader.given:
        return UNCORRECTED
    from calc.service.correction import read_correction

    return read_correction(reader, engine)


def read_placed(reader: Reader, engine: Engine | None, architecture: Architecture) -> Placement:
    """Return what of a model stays in the host's memory."""
    if "gpu_layers" not in reader.given and "experts_on_host" not in reader.given:
        return Placement()
    from calc.service.host import read_placement

    return read_placement(reader, engine, architecture)


def read_stored_caches(reader: Reader, engine: Engine | None, architecture: Architecture) -> "CacheStore | None":
    """Return the room for caches outside of the devices, None where a scenario gives none."""
    if "cache_offload" not in reader.given:
        return None
    from calc.service.cache_store import read_cache_store

    return read_cache_store(reader, engine, architecture)


def read_arrivals(
    reader: Reader, engine: Engine | None, *, prompt_tokens: int, output_tokens: int, writes: bool
) -> "Traffic | None":
    """Return how requests come to a server, None where a scenario does not say."""
    if "arrivals" not in reader.given:
        return None
    from calc.service.traffic import read_traffic

    return read_traffic(reader, engine, prompt_tokens=prompt_tokens, output_tokens=output_tokens, writes=writes)


def read_prefixes(reader: Reader, engine: Engine | None, *, prompt_tokens: int, all_logits: bool) -> Prefix:
    """Return what prompts find in the cache; nothing where a scenario does not say."""
    if "shared_prefix_tokens" not in reader.given and "prefix_hit_rate" not in reader.given:
        return Prefix()
    from calc.service.prefix import read_prefix

    return read_prefix(reader, engine, prompt_tokens=prompt_tokens, all_logits=all_logits)


def read_drafts(
    reader: Reader, engine: Engine | None, *, architecture: Architecture, weights: Weights
) -> "Draft | None":
    """Return how tokens are drafted ahead, None where a scenario does not say."""
    if "speculation" not in reader.given:
        return None
    from calc.service.speculation import read_speculation

    return read_speculation(reader, engine, architecture=architecture, weights=weights, facts=catalog())


def read_adapters(reader: Reader, engine: Engine | None, architecture: Architecture) -> "ServedAdapters | None":
    """Return the adapters that are served beside the model, None where a scenario does not say."""
    if "adapters_served" not in reader.given:
        return None
    from calc.service.adapters import read_adapters_served

    return read_adapters_served(reader, engine, architecture)


def read_starts(reader: Reader, engine: Engine | None) -> "Start | None":
    """Return from where an engine starts, None where a scenario does not ask."""
    if "start" not in reader.given:
        return None
    from calc.service.start import read_start

    return read_start(reader, engine)


def read_apart(reader: Reader, engine: Engine | None, architecture: Architecture) -> "PoolLayouts | None":
    """Return the pools of prefill and decoding, None where both run on the same devices."""
    if "disaggregation" not in reader.given:
        return None
    from calc.service.pools import read_pools

    return read_pools(reader, engine, architecture, catalog())
