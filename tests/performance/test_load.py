"""How a server reads prompts beside what it decodes."""

from math import sqrt
from typing import Any

import pytest

from calc.catalog import catalog
from calc.performance.load import Load, apart_of
from tests.performance.test_steady_state import speed


@pytest.mark.parametrize(
    ("model", "build", "longer"),
    [
        ("qwen3.5-9b", "b9600", True),
        ("gemma-3-12b", "b9600", True),
        ("qwen3.5-9b", "b8200", True),
        ("llama-3.1-8b", "b9600", False),
        ("gemma-3-12b", "b5000", False),
    ],
)
def test_a_server_reads_apart_what_follows_a_copy(model: str, build: str, longer: bool) -> None:
    """llama-server reads a prompt's last tokens by themselves, where it keeps a copy of states or windows before."""
    asked = {"model": model, "engine": "llama.cpp", "engine_version": build, "weights": "q4_k_m", "prompt_tokens": 512}
    alone, served = (speed(**asked, accelerator="rtx-4090", **{one: 1}) for one in ("sequences", "concurrency"))
    first_s, last_s = (found["time_to_first_token_s"]["typical"] for found in (alone, served))
    beside_s = catalog().engine("llama.cpp").coefficient("request_s").value
    assert (last_s - first_s - beside_s > 0.8 * alone["time_per_output_token_s"]["typical"]) is longer


def test_stages_that_overlap_in_part_read_a_prompt_later() -> None:
    """A prompt of several passes takes two of a person's cards as long through a server as through the engine alone."""
    asked = {"model": "qwen3-14b", "engine": "llama.cpp", "weights": "q4_k_m", "prompt_tokens": 16384}
    asked |= {"accelerator": "rtx-3090", "parallelism": {"pipeline": 2}}
    alone, served = (speed(**asked, **{one: 1})["time_to_first_token_s"] for one in ("sequences", "concurrency"))
    assert served["typical"] == pytest.approx(alone["typical"], rel=0.1)


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({}, (0.5 + 10 * 0.01) / 2),  # the client's 0.5 s and the front end's for each of ten, of 100 steps of 0.02 s
        ({"spread": 0.1}, 0.1 * sqrt(12)),  # even lengths of such a deviation lie further apart
        ({"request_s": 0.0, "between_s": 0.0}, 0.01),  # those of one step at once
        ({"request_s": 9.0}, 1.0),
        ({"closed": False, "request_s": 0.0}, 1.0),
    ],
)
def test_how_far_apart_prompts_come(changes: dict[str, Any], share: float) -> None:
    """Behind answers that began together: as their lengths differ, or as client and front end take them."""
    load = Load(10, 10, 128, 101, 0, 8192, request_s=0.5, ranks=1, mixes=True, closed=True, between_s=0.01, spread=0.0)
    assert apart_of(load._replace(**changes), 10.0, steps=100, step_s=0.02) == pytest.approx(share)
