"""Parts of a report's memory, by hand."""

from typing import Any

import pytest

from calc import estimate
from calc.calculators.parts import (
    bytes_of,
    growth_of_cache,
    left_without,
    on_all_devices,
    saved_bytes,
    token_bytes,
)
from calc.calculators.rendering import part_bytes

LLAMA_TOKEN = 2 * 32 * 8 * 128 * 2  # keys and values of 32 layers with 8 heads of 128, in 16 bit


def report(model: str = "llama-3.1-8b", **fields: object) -> dict[str, Any]:
    """Return the report on a model in 16 bit."""
    return dict(estimate({"model": model, "weights": "bf16", **fields}))


@pytest.mark.parametrize(("sequences", "tokens"), [(1, 1000), (4, 8192)])
def test_a_token_s_cache_is_that_of_all_over_their_number(sequences: int, tokens: int) -> None:
    """Whatever the lengths of the sequences and their number: 128 KiB of Llama 3.1 8B."""
    assert token_bytes(report(sequences=sequences, context_tokens=tokens)) == LLAMA_TOKEN == 131_072


def test_a_cache_grows_by_a_token_s() -> None:
    """Of a model whose every layer sees all; one half of whose layers have windows grows by those of the others."""
    assert growth_of_cache(report(context_tokens=512), report(context_tokens=1024)) == LLAMA_TOKEN
    gpt_oss = [report("gpt-oss-20b", context_tokens=tokens) for tokens in (131_072, 131_584)]
    assert (
        growth_of_cache(*gpt_oss) == 12 * 2 * 8 * 64 * 2 == token_bytes(report("gpt-oss-20b", context_tokens=128)) / 2
    )


def test_parts_together_and_what_they_leave() -> None:
    """A part that a report has not adds nothing; what is left and what is taken are the device."""
    found = report(accelerator="rtx-4090", context_tokens=8192)
    named = ["weights", "kv_cache", "recurrent_state"]
    assert bytes_of(found, named) == part_bytes(found, "weights") + part_bytes(found, "kv_cache")
    assert left_without(found, named) + bytes_of(found, named) == found["memory"]["capacity_bytes"]


def test_all_devices_hold_as_much_as_the_fullest() -> None:
    """Two tensor-parallel halves are the weights, and little that both keep."""
    whole = part_bytes(report(), "weights")
    halves = on_all_devices(report(parallelism={"tensor": 2}), "weights")
    assert whole <= halves < 1.001 * whole


def test_what_a_change_saves_on_the_fullest_device() -> None:
    """Under no engine a cache of 8-bit numbers saves half of one in 16 bit; back again it saves less than nothing."""
    wide, narrow = (report(context_tokens=8192, kv_cache=kind) for kind in ("bf16", "fp8"))
    assert saved_bytes(wide, narrow) == -saved_bytes(narrow, wide) == 8192 * LLAMA_TOKEN // 2
