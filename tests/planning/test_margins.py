"""What ranges add to what an engine needs, and how large the steps of its prompts are: by hand, on round sizes."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import estimate
from calc.catalog import catalog
from calc.catalog.records import StoredWeights
from calc.derivation import Warn
from calc.planning.bounds import Least, least
from calc.planning.chance import chance_of_fitting
from calc.planning.measured import SPEED, range_factor
from calc.planning.serving_question import prefill_tokens
from calc.planning.support import Runs
from calc.scenario.model import known_architecture


def test_tokens_of_a_prefill_pass() -> None:
    """What the reader says, but for transformers, which passes whole prompts; nothing where the engine has no limit."""

    def case(engine: str, tokens: int | None) -> Any:
        return SimpleNamespace(engine=SimpleNamespace(id=engine, values={}), batched_tokens=tokens)

    assert prefill_tokens(case("vllm", 512)) == 512
    assert prefill_tokens(case("transformers", 512)) is None
    assert prefill_tokens(case("mlx", None)) is None


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp"])
def test_the_range_of_a_speed(engine: str) -> None:
    """Steps vary by the factor of decoding, first tokens by that of prefill, either way; whole answers by both."""
    report: Any = estimate({"model": "llama-3.1-8b", "engine": engine, "accelerator": "h100-sxm-80gb"})
    speed, sources = report["speed"], report["measured"]["speed"]["sources"]
    step, first = (
        range_factor(catalog(), SPEED, engine=engine, phase=phase, sources=sources) for phase in ("decode", "prefill")
    )
    for name, factor in (
        ("decode_tokens_per_s", step),
        ("time_per_output_token_s", step),
        ("prefill_tokens_per_s", first),
        ("time_to_first_token_s", first),
    ):
        figure = speed[name]
        assert figure["typical"] / figure["low"] == pytest.approx(factor)
        assert figure["high"] / figure["typical"] == pytest.approx(factor)
    written = report["scenario"]["output_tokens"]
    times = [speed[name] for name in ("time_to_first_token_s", "time_per_output_token_s")]
    for end, other in (("low", "high"), ("typical", "typical"), ("high", "low")):
        whole = times[0][other] + times[1][other] * (written - 1)
        assert speed["output_tokens_per_s"][end] == pytest.approx(written / whole)


@pytest.mark.parametrize(("spare", "upper", "chance"), [(0, 0, 1.0), (1, 0, 1.0), (-1, 0, 0.0), (0, 9, 0.5)])
def test_the_chance_of_fitting(spare: int, upper: int, chance: float) -> None:
    """What has no range fits or does not; with one, just no room to spare is even odds."""
    assert chance_of_fitting(room_bytes=100, spare_bytes=spare, upper_bytes=upper) == chance


@given(needed=st.floats(1e8, 1e12), ratio=st.floats(1.01, 5), shares=st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)))
def test_the_chance_follows_the_range(needed: float, ratio: float, shares: tuple[float, float]) -> None:
    """A tenth is beyond the range's upper end, as much below its mirror image, and more room never fits less."""

    def chance(room: float) -> float:
        return chance_of_fitting(room_bytes=room, spare_bytes=room - needed, upper_bytes=needed * (ratio - 1))

    assert chance(needed * ratio) == pytest.approx(0.9)
    assert chance(needed / ratio) == pytest.approx(0.1)
    assert chance(needed * min(shares)) <= chance(needed * max(shares))


def test_what_is_said_of_what_may_not_run() -> None:
    """A no is wrong, what nobody knows is doubtful where something was looked for; both concern the engine."""
    because = (("A does not run B", "a"), ("B is not known", "b"))
    no = Warn("does-not-run", "A does not run B; B is not known", "engine", "wrong")
    assert Runs(False, because).warnings() == [no]
    assert Runs(None, because[1:]).warnings() == [Warn("not-known-to-run", "B is not known", "engine", "caution")]
    assert Runs(None, ()).warnings() == Runs(True, because).warnings() == []


def test_the_least_of_a_model() -> None:
    """Llama 3.1 8B in BF16: all but the token table, read as often, and multiplied without the output matrix and norms.

    A file that gives sums alone says nothing of tensors. An encoder is read once for a prompt, and not for each token.
    """
    llama = known_architecture(catalog(), "llama-3.1-8b")
    table, norms = 128256 * 4096, (2 * 32 + 1) * 4096
    found = least(llama, catalog().number_format("bf16"))
    assert found.held == 2 * (8_030_261_248 - table)
    assert (found.read, found.multiplied) == (found.held, 8_030_261_248 - 2 * table - norms)
    qwen = known_architecture(catalog(), "qwen3-30b-a3b")
    mixture = least(qwen, catalog().number_format("fp8"))
    experts = 48 * 128 * 3 * 2048 * 768
    assert mixture.held - mixture.read == experts * 120 // 128
    assert least(llama, StoredWeights(1, 2, 3)) == Least(0, 0, 0)
    translator = least(known_architecture(catalog(), "t5-large"), catalog().number_format("bf16"))
    assert translator.held > 0 == translator.read == translator.multiplied
