"""The report without an engine, by hand: the memory that the mathematics alone needs, and what fits."""

from typing import Any

import pytest

from calc import estimate

GIB = 2**30
TOKEN = 131_072  # bytes of Llama 3.1 8B's cache: keys and values of 32 layers with 8 heads of 128, in 16 bit
LLAMA: dict[str, object] = {"model": "llama-3.1-8b", "weights": "bf16", "accelerator": "rtx-4090"}


def memory(**fields: object) -> dict[str, Any]:
    """Return the memory of a report."""
    found: Any = estimate({**LLAMA, **fields}, repairs=False)
    return dict(found["memory"])


def test_totals_are_one_exact_number() -> None:
    """Nothing is reserved and nothing lies between: the parts' sum is all three totals, and their ranges are points."""
    found = memory(context_tokens=8192)
    total = sum(part["bytes"] for part in found["parts"])
    for name in ("allocated_bytes", "reserved_bytes", "device_bytes"):
        assert found[name] == total
        assert found[f"{name}_range"] == [total, total]


@pytest.mark.parametrize(("sequences", "tokens"), [(1, 8192), (1, 1000), (3, 1000)])
def test_the_rest_of_a_card_is_cache(sequences: int, tokens: int) -> None:
    """What is left beside weights and activations holds so many whole tokens of 128 KiB."""
    found = memory(sequences=sequences, context_tokens=tokens)
    cache = next(part["bytes"] for part in found["parts"] if part["id"] == "kv_cache")
    room = found["capacity_bytes"] - found["device_bytes"] + cache
    assert cache == sequences * tokens * TOKEN
    assert found["kv_pool_bytes"] == room
    assert found["kv_pool_tokens"] == room // TOKEN and isinstance(found["kv_pool_tokens"], int)
    assert found["headroom_bytes"] == found["capacity_bytes"] - found["device_bytes"]
    assert found["fits"] is True and found["devices_needed"] == 1


def test_fewer_devices_are_named_where_they_do() -> None:
    """A 70B of 141 GB stands on six cards of 24 GiB and not on five; a card more holds it too, and is not needed."""
    needed = memory(model="llama-3.3-70b")["devices_needed"]
    assert needed == 6
    held = memory(model="llama-3.3-70b", parallelism={"pipeline": needed + 1})
    assert held["fits"] is True and held["devices_needed"] == needed
    over = memory(model="llama-3.3-70b", parallelism={"pipeline": needed - 1})
    assert over["fits"] is False and over["devices_needed"] == needed


@pytest.mark.parametrize("parallelism", [{"data": 2, "tensor": 2}, {"context": 2}, {"pipeline": 3}])
def test_a_layout_that_fits_is_enough(parallelism: dict[str, int]) -> None:
    """Nobody is told to take more devices than those on which it fits."""
    found = memory(sequences=64, parallelism=parallelism)
    devices = 1
    for degree in parallelism.values():
        devices *= degree
    assert not found["fits"] or found["devices_needed"] <= devices
    assert (found["devices_needed"] is None) == (found["devices_needed_parallelism"] is None)


def test_a_layout_is_enough_where_no_other_would_be() -> None:
    """1,024 caches of 4 GiB fill 171 cards; Llama 3.2 1B's 16 layers of 8 heads stand on 128, or as 256 copies."""
    found = memory(model="llama-3.2-1b", context_tokens=131_072, sequences=1024, parallelism={"data": 256})
    assert found["fits"] is True
    assert (found["devices_needed"], found["devices_needed_parallelism"]["data"]) == (256, 256)


@pytest.mark.parametrize("device", ["m4-pro-24gb", "m4-max-36gb"])
def test_nobody_is_told_to_join_computers_that_have_one_memory(device: str) -> None:
    """43 GB of a 70B in four bits would stand on two of them, but no engine here divides a model over them."""
    found = memory(model="llama-3.3-70b", engine="llama.cpp", weights="q4_k_m", accelerator=device)
    assert (found["fits"], found["devices_needed"]) == (False, None)
