"""Errors of pools as shares of a device: which were shown before, and how large they were."""

from math import log

import pytest

from calc.planning.measured import NEW_POOLS, POOLS
from calc.validation import pools
from calc.validation.inference_memory import FILE
from calc.validation.scores import Row, read_rows

ROWS = {row["id"]: row for row in read_rows(FILE) if row["metric"] == "kv_cache_available"}


def rows_of(source: str) -> list[Row]:
    """Return the rows of pools of a source."""
    return [row for row in ROWS.values() if row["source_key"] == source]


def test_a_share_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth too much of a pool of half a device is a twentieth of it; the family that was there before is not new."""
    first, second = rows_of("vllm_28228")[0], rows_of("recipes_12")[0]  # Kimi Linear; Qwen3 Coder, as others had it
    monkeypatch.setattr(pools, "at_first_sight", lambda _: {second["id"]: log(1.1), first["id"]: log(1.1)})
    monkeypatch.setattr(pools, "measured_share", lambda _: 0.5)
    found = pools.pool_errors()
    assert [(row.id, row.outside) for row in found[NEW_POOLS]] == [(first["id"], pytest.approx(0.05))]
    assert [(row.id, row.outside) for row in found[POOLS]] == [(second["id"], pytest.approx(0.05))]


def test_a_family_is_shown_by_another_source_that_came_before() -> None:
    """Rows that were not kept at first sight were always there; a source's own rows show it nothing."""
    rows = rows_of("vllm_28228")
    begun = pools.first_places({rows[0]["id"]: "kimi_linear"}, {})
    assert begun == {"kimi_linear": {"vllm_28228": -1}}
    assert pools.first_places({rows[0]["id"]: "kimi_linear"}, {rows[0]["id"]: 7}) == {"kimi_linear": {"vllm_28228": 7}}


def test_the_share_of_a_measured_pool() -> None:
    """A pool in GiB over the GiB that the driver shows."""
    row = next(row for row in rows_of("recipes_12") if row["unit"] == "GiB")
    assert pools.measured_share(row) == pytest.approx(float(row["value"]) / 140, rel=0.02)  # an H20 of 141 GB
