"""What ranges add to what an engine needs, and how large the steps of its prompts are: by hand, on round sizes."""

from types import SimpleNamespace
from typing import Any

import pytest

from calc.planning.serving_report import device_share, margin, pool_range, prefill_tokens


def runtime(**sizes: int) -> Any:
    """Return what an engine holds."""
    amounts = [SimpleNamespace(id=name, bytes=size) for name, size in sizes.items()]
    return SimpleNamespace(amounts=amounts, needed=sum(sizes.values()))


@pytest.mark.parametrize(
    ("values", "added"),
    [
        ({"range_weights": 0.02, "range_rest": 0.1}, 2 + 10),
        ({"range_weights": 0.02, "range_rest": 0.1, "range_high": 1.3}, 2 + 30),
        ({"range_weights": 0.02}, 2),
    ],
)
def test_a_margin(values: dict[str, float], added: int) -> None:
    """2 % of 100 bytes of weights and 10 % of 100 others; 250 of cache and 50 of states are exact."""
    held = runtime(weights=100, kv_cache=250, recurrent_state=50, activations=70, logits=30)
    engine: Any = SimpleNamespace(values=values)
    assert margin(engine, held) == added


def test_a_margin_of_what_is_exact() -> None:
    """An engine that needs no more than its exact parts has the range of its weights alone."""
    held = runtime(weights=100, kv_cache=250)
    held.needed = 200
    engine: Any = SimpleNamespace(values={"range_weights": 0.1, "range_rest": 0.5})
    assert margin(engine, held) == 10


@pytest.mark.parametrize(("rest", "spread"), [({}, 2 + 20), ({"range_rest": 0.5}, 2 + 50)])
def test_a_pool_varies_by_weights_activations_and_logits(rest: dict[str, float], spread: int) -> None:
    """2 % of 100 bytes of weights, and a fifth of 70 and 30 where the engine says nothing else."""
    engine = SimpleNamespace(values={"range_weights": 0.02, **rest})
    served: Any = SimpleNamespace(
        serving=SimpleNamespace(engine=engine), runtime=runtime(weights=100, activations=70, logits=30, kv_cache=9)
    )
    assert pool_range(served, 1000) == [1000 - spread, 1000 + spread]
    assert pool_range(served, 1) == [0, 1 + spread]
    assert pool_range(served, 0) == [0, 0]


def test_layers_on_the_device() -> None:
    """All of them unless some are left in host memory."""
    architecture = SimpleNamespace(layer_count=32)
    for layers, share in ((None, 1.0), (8, 0.25), (0, 0.0)):
        served: Any = SimpleNamespace(
            serving=SimpleNamespace(gpu_layers=layers), demand=SimpleNamespace(architecture=architecture)
        )
        assert device_share(served) == share


def test_tokens_of_a_prefill_pass() -> None:
    """What the reader says, but for transformers, which passes whole prompts; nothing where the engine has no limit."""

    def case(engine: str, tokens: int | None) -> Any:
        return SimpleNamespace(engine=SimpleNamespace(id=engine, values={}), batched_tokens=tokens)

    assert prefill_tokens(case("vllm", 512)) == 512
    assert prefill_tokens(case("transformers", 512)) is None
    assert prefill_tokens(case("mlx", None)) is None
