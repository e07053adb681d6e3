"""How likely it is that something fits: the room it has, and what its range goes beyond it, by hand."""

from contextlib import suppress
from typing import Any

from calc import ScenarioError, estimate
from calc.planning.chance import chance_in, chance_of_cache, room_of
from calc.validation.inference_memory import FILE, POOLS, measured_of, scenario_of
from calc.validation.scores import SkipError, read_rows

WHOLE: dict[str, Any] = {
    "parts": [{"id": "weights", "bytes": 60}],
    "fits": True,
    "capacity_bytes": 100,
    "headroom_bytes": 40,
    "device_bytes": 60,
    "device_bytes_range": [55, 75],
}
POOL: dict[str, Any] = {"kv_pool_bytes": 30, "kv_pool_bytes_range": [24, 37]}


def test_the_room_of_a_cache_that_is_set_aside_is_its_own() -> None:
    """The device has 40 bytes left and may need 15 more; the pool has 8 left and may need 7 more, where it fits."""
    assert room_of(WHOLE) == (40, 15, False)
    pooled = {**WHOLE, **POOL, "parts": [{"id": "weights", "bytes": 22}, {"id": "kv_pool_free", "bytes": 8}]}
    assert room_of(pooled) == (8, 7, True)
    assert room_of({**pooled, "fits": False}) == (40, 15, False)


def test_what_others_lack_fits_by_no_chance() -> None:
    """A host without room for what is left to it is not mended by room on the device."""
    assert chance_in(WHOLE) > 0.9
    assert chance_in({**WHOLE, "fits": False}) == 0.0
    assert 0 < chance_in({**WHOLE, "fits": False, "headroom_bytes": -2}) < 0.5


def test_errors_of_caches_have_long_tails() -> None:
    """Of sources a quarter have less than the range says, a tenth by more than three times, one in twenty by six."""
    beyond: dict[str, list[float]] = {}
    for row in read_rows(FILE):
        if row["metric"] in POOLS and row["engine"] in ("vllm", "sglang", "tensorrt-llm"):
            with suppress(ScenarioError, SkipError):
                memory: Any = estimate(scenario_of(row), repairs=False)["memory"]
                pool, end = memory["kv_pool_bytes"], memory["kv_pool_bytes_range"][1]
                measured = measured_of(row) * pool / memory[POOLS[row["metric"]]]
                beyond.setdefault(row["source_key"], []).append((pool - measured) / (end - pool))
    typical = [sorted(found)[len(found) // 2] for found in beyond.values()]
    assert len(typical) >= 50
    for times in (1, 3, 6):
        share = sum(found > times for found in typical) / len(typical)
        assert abs(share - (1 - chance_of_cache(spare_bytes=times, upper_bytes=1))) < 0.06, times
