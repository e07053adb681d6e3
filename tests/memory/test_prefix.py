"""What prompts have in common is cached once, and not read again."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError, estimate
from calc.architecture.layers import PROMPT, TokenCache
from calc.memory.prefix import Prefix, shared_entries

ASKED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "weights": "bf16",
    "accelerator": "h100-sxm-80gb",
    "prompt_tokens": 20_500,
    "output_tokens": 500,
}
TOKEN = 131_072  # bytes of a token of Llama 3.1 8B: 32 layers × 8 heads × 128 × 2 × 2


def asked(**fields: object) -> Any:
    """Return a report."""
    return estimate({**ASKED, **fields})


def cache(**fields: object) -> int:
    """Return the bytes of the cache."""
    parts = asked(**fields)["memory"]["parts"]
    return next(int(part["bytes"]) for part in parts if part["id"] == "kv_cache")


def first_s(**fields: object) -> float:
    """Return the seconds to the first token."""
    return float(asked(**fields)["speed"]["time_to_first_token_s"]["typical"])


def test_a_shared_document_is_cached_once() -> None:
    """Fifty readers of a document of 20,000 tokens: the document, and 1,000 tokens for each reader."""
    assert cache(sequences=50) == 50 * 21_000 * TOKEN
    assert cache(sequences=50, shared_prefix_tokens=20_000) == (20_000 + 50 * 1000) * TOKEN


def test_whole_pages_alone_are_shared() -> None:
    """Of 20,010 shared tokens 1,250 pages of 16 are whole; a sequence has 1,313 pages."""
    found = cache(engine="vllm", sequences=3, shared_prefix_tokens=20_010)
    assert found == (3 * 1313 - 2 * 1250) * 16 * TOKEN


def test_llama_cpp_keeps_a_copy_in_each_slot() -> None:
    """Its slots share nothing: the memory is that of whole sequences, and the prompt is not read again."""
    asked_for = {"engine": "llama.cpp", "weights": "q8_0", "accelerator": "rtx-4090", "sequences": 2}
    assert cache(**asked_for, shared_prefix_tokens=20_000) == cache(**asked_for)
    assert first_s(**asked_for, shared_prefix_tokens=20_000) < first_s(**asked_for) / 5


def test_each_replica_has_the_prefix() -> None:
    """Two data-parallel ranks with four sequences each hold it once each."""
    found = cache(sequences=8, shared_prefix_tokens=20_000, parallelism={"data": 2})
    assert found == (20_000 + 4 * 1000) * TOKEN


def test_the_pool_holds_as_many_tokens() -> None:
    """How many tokens a pool has does not depend on who shares them; how many sequences fit does."""
    for engine in ("vllm", "none"):
        alone, together = (asked(engine=engine, sequences=4, **more)["memory"] for more in ({}, SHARED))
        assert together["kv_pool_tokens"] == pytest.approx(alone["kv_pool_tokens"], rel=1e-3)
        assert together["max_sequences"] > 10 * alone["max_sequences"]


SHARED: dict[str, Any] = {"shared_prefix_tokens": 20_000}


@given(st.integers(1, 5000), st.integers(0, 5000), st.integers(1, 4096), st.integers(1, 8))
def test_what_is_shared_is_part_of_what_is_held(tokens: int, shared: int, window: int, stride: int) -> None:
    """No sequence shares more entries than it has, and one whose window is past the prefix shares none."""
    shared = min(shared, tokens)
    kept = TokenCache("keys and values", 8, 128, 128, window_tokens=window, stride=stride)
    entries = shared_entries(cache=kept, tokens=tokens, shared_tokens=shared)
    assert 0 <= entries <= kept.entries(tokens, tokens)
    if tokens - shared >= window:
        assert entries == 0


def test_an_encoder_shares_nothing() -> None:
    """What a decoder keeps of an encoder's output depends on the whole prompt."""
    kept = TokenCache("keys and values", 8, 128, 128, part=PROMPT)
    assert shared_entries(cache=kept, tokens=100, shared_tokens=50) == 0


@given(st.integers(1, 10_000), st.floats(0, 1), st.integers(0, 10_000))
def test_the_last_token_is_read(prompt: int, rate: float, shared: int) -> None:
    """However much is found, the last token of a prompt is read: its logits choose the first answer."""
    assert 0 <= Prefix(shared, rate).found(prompt) <= prompt - 1


def test_what_is_found_is_not_read() -> None:
    """Of half a prompt found in the cache, the time is that of the other half behind a cache of it."""
    found = first_s(engine="vllm", prefix_hit_rate=0.5)
    assert found == pytest.approx(first_s(engine="vllm", cached_tokens=10_250, prompt_tokens=10_250), rel=0.01)


@pytest.mark.parametrize("load", [{"concurrency": 32}, {"arrivals": {"requests_per_s": 2}}])
def test_a_loaded_server_reads_less(load: dict[str, Any]) -> None:
    """The first token comes sooner and more requests are answered, in the steady state as event by event."""
    plain, found = (asked(engine="vllm", **load, **more)["speed"] for more in ({}, SHARED))
    assert found["time_to_first_token_s"]["typical"] < plain["time_to_first_token_s"]["typical"] / 4
    most = "requests_per_s" if "concurrency" in load else "most_requests_per_s"
    more, less = ((speed[most] if "concurrency" in load else speed[most]["typical"]) for speed in (found, plain))
    assert more > 2 * less


def test_the_hit_rate_is_filled_in() -> None:
    """Left out, it is the share of the tokens that all prompts have in common."""
    scenario = asked(shared_prefix_tokens=4100, engine="vllm")
    assert scenario["scenario"]["prefix_hit_rate"] == pytest.approx(0.2)
    assert "prefix_hit_rate" in scenario["defaults"]
    assert asked(**scenario["scenario"])["memory"] == scenario["memory"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"shared_prefix_tokens": 30_000}, ("shared_prefix_tokens", "20,500")),
        ({"shared_prefix_tokens": 20_000, "prefix_hit_rate": 0.5}, ("prefix_hit_rate", "shared_prefix_tokens")),
        ({"shared_prefix_tokens": 100, "cached_tokens": 5}, ("shared_prefix_tokens", "cached_tokens")),
        ({"prefix_hit_rate": 0.5, "prompt_logits": "all"}, ("prefix_hit_rate", "prompt_logits")),
        ({"prefix_hit_rate": 1.5}, ("prefix_hit_rate", "from 0 to 1")),
        ({"prefix_hit_rate": 0.5, "engine": "transformers"}, ("prefix_hit_rate", "transformers")),
    ],
)
def test_what_does_not_go_together_is_refused(fields: dict[str, Any], words: tuple[str, str]) -> None:
    """Both fields are named."""
    with pytest.raises(ScenarioError) as caught:
        asked(**fields)
    assert caught.value.field == words[0] and words[1] in caught.value.message.replace("Transformers", "transformers")
