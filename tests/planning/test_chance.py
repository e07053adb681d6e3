"""How likely it is that something fits: the room it has, and what its range goes beyond it, by hand."""

from typing import Any

from calc.planning.chance import chance_in, least_chance, room_of

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
    assert room_of(WHOLE) == (40, 15)
    pooled = {**WHOLE, **POOL, "parts": [{"id": "weights", "bytes": 22}, {"id": "kv_pool_free", "bytes": 8}]}
    assert room_of(pooled) == (8, 7)
    assert room_of({**pooled, "fits": False}) == (40, 15)


def test_what_others_lack_fits_by_no_chance() -> None:
    """A host without room for what is left to it is not mended by room on the device."""
    assert chance_in(WHOLE) > 0.9
    assert chance_in({**WHOLE, "fits": False}) == 0.0
    assert 0 < chance_in({**WHOLE, "fits": False, "headroom_bytes": -2}) < 0.5


def test_a_pool_with_room_does_not_make_up_for_a_device_without() -> None:
    """Four fifths of the device are free in the pool, which surely do; 2 bytes beside it of 4 that may be needed."""
    pooled = {**WHOLE, **POOL, "parts": [{"id": "kv_pool_free", "bytes": 80}]}
    roomy = {**pooled, "headroom_bytes": 20, "device_bytes": 80, "device_bytes_range": [76, 84]}
    tight = {**pooled, "headroom_bytes": 2, "device_bytes": 98, "device_bytes_range": [94, 102]}
    assert chance_in(roomy) > 0.97
    assert chance_in(tight) == least_chance(100, None, (2, 4)) == least_chance(100, (80, 7), (2, 4)) < 0.85
