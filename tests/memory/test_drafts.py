"""What speculation holds beside a model: weights of what drafts, its cache, states to go back to."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.architecture.drafters import eagle, predicting
from calc.architecture.prediction import parameters_prediction
from calc.catalog import catalog
from calc.memory.drafts import Draft
from calc.scenario.model import known_architecture
from tests.working import evaluated

LLAMA: dict[str, Any] = {"model": "llama-3.1-8b", "weights": "bf16", "prompt_tokens": 1000, "output_tokens": 24}


def parts(**fields: object) -> dict[str, int]:
    """Return the parts of a report's memory."""
    report: Any = estimate({**LLAMA, **fields})
    return {part["id"]: part["bytes"] for part in report["memory"]["parts"]}


def elements(architecture: Any) -> int:
    """Return the parameters of an architecture's layers and output."""
    layers = sum(count * tensor.elements for kind, count in architecture.kind_counts() for tensor in kind.tensors)
    return layers + sum(tensor.elements for tensor in architecture.head)


def test_a_head_for_llama_has_the_size_of_its_file() -> None:
    """EAGLE3-LLaMA3.1-Instruct-8B is published in a file of 811 MiB: 425 million parameters in 16 bit."""
    head = eagle(known_architecture(catalog(), "llama-3.1-8b"))
    assert elements(head) == pytest.approx(811 * 2**20 / 2, rel=0.002)
    assert parts(speculation={"method": "eagle"})["draft_weights"] == 2 * elements(head)


@pytest.mark.parametrize(
    ("model", "width"),
    [("gpt-oss-120b", 17_280), ("qwen3-30b-a3b", 12_288), ("qwen3-8b", 12_288), ("qwen3-32b", 25_600)],
)
def test_heads_are_as_wide_as_those_that_are_trained(model: str, width: int) -> None:
    """The inner width that SpecForge's configs have: the model's own, or six times a mixture's hidden size."""
    (kind,) = eagle(known_architecture(catalog(), model)).kinds
    assert kind.mlp_width == width


@pytest.mark.parametrize(
    "model", [name for name in catalog().ids("models") if "qwen3.5" in name or "deepseek-v3" in name]
)
def test_a_model_drafts_with_what_its_file_stores(model: str) -> None:
    """The layer that drafts has the parameters that the model's card counts apart, and no tables of its own."""
    architecture = known_architecture(catalog(), model)
    drafter = predicting(architecture)
    layers = sum(tensor.elements for kind in drafter.kinds for tensor in kind.tensors)
    assert architecture.prediction_layers * layers == parameters_prediction(architecture)
    assert drafter.head == architecture.head


def test_a_smaller_model_brings_all_of_itself() -> None:
    """Llama 3.2 1B: 1,235,814,400 parameters in BF16, and a cache of 16 layers × 8 heads × 64 × 2 × 2 bytes a token."""
    found = parts(speculation={"method": "draft", "model": "llama-3.2-1b"}, sequences=2)
    assert found["draft_weights"] == 2 * 1_235_814_400
    assert found["draft_cache"] == 2 * 1024 * 16 * 8 * 64 * 2 * 2


def test_states_are_kept_for_each_drafted_token() -> None:
    """A recurrent state cannot be taken back: of four drafted tokens four states are kept beside the one in use."""
    fields: dict[str, Any] = {"model": "qwen3.5-27b", "speculation": {"method": "ngram", "tokens": 4}}
    found = parts(**fields)
    assert found["draft_cache"] == 4 * found["recurrent_state"] > 0
    assert parts(speculation={"method": "ngram"})["draft_cache"] == 0


def test_text_drafts_for_nothing() -> None:
    """N-grams have no weights."""
    assert parts(speculation={"method": "ngram"})["draft_weights"] == 0


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp"])
def test_an_engine_has_less_room_for_cache(engine: str) -> None:
    """What drafts takes its weights from the pool, and its cache from each sequence's share of it."""
    device = {"engine": engine, "accelerator": "h100-sxm-80gb"}
    plain: Any = estimate({**LLAMA, **device})["memory"]
    drafted: Any = estimate({**LLAMA, **device, "speculation": {"method": "eagle"}})["memory"]
    lost = plain["kv_pool_bytes"] - drafted["kv_pool_bytes"]
    weights = parts(**device, speculation={"method": "eagle"})["draft_weights"]
    assert weights * 0.89 <= lost <= weights + 1
    assert drafted["max_sequences"] < plain["max_sequences"]


def test_the_last_stage_holds_what_drafts() -> None:
    """Of four pipeline stages one has the drafting layer: the sum over devices has it once."""
    split: dict[str, Any] = {"parallelism": {"pipeline": 4}, "model": "qwen3.5-27b"}
    plain: Any = estimate({**LLAMA, **split})["memory"]["sum_over_devices_bytes"]
    drafted: Any = estimate({**LLAMA, **split, "speculation": {"method": "mtp"}})["memory"]["sum_over_devices_bytes"]
    whole = parts(model="qwen3.5-27b", speculation={"method": "mtp"})
    assert drafted - plain == whole["draft_weights"] + whole["draft_cache"]


@pytest.mark.parametrize(
    ("tokens", "acceptance", "expected"), [(1, 0.5, 1.5), (3, 0.0, 1.0), (3, 1.0, 4.0), (2, 0.9, 2.71)]
)
def test_expected_tokens(tokens: int, acceptance: float, expected: float) -> None:
    """One, and each drafted one with the chance that it and all before it are accepted."""
    assert Draft("mtp", tokens, acceptance).expected == pytest.approx(expected)


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"speculation": {"method": "mtp"}}, "speculation.method", "multi-token prediction"),
        ({"speculation": {"method": "guess"}}, "speculation.method", "ngram"),
        ({"speculation": {"method": "eagle", "engine": 1}}, "speculation.engine", "fields are"),
        ({"speculation": {"method": "eagle", "tokens": 99}}, "speculation.tokens", "16"),
        ({"speculation": {"method": "eagle", "acceptance": 1.2}}, "speculation.acceptance", "from 0 to 1"),
        ({"speculation": {"method": "eagle", "model": "qwen3-8b"}}, "speculation.model", '"draft"'),
        ({"speculation": {"method": "draft"}}, "speculation.model", "missing"),
        ({"speculation": {"method": "draft", "model": "qwen3-0.6b"}}, "speculation.model", "151,936"),
        ({"speculation": {"method": "eagle"}, "engine": "transformers"}, "speculation.method", "draft, ngram"),
        ({"speculation": {"method": "ngram"}, "engine": "llama.cpp", "gpu_layers": 3}, "speculation", "gpu_layers"),
        ({"speculation": "mtp"}, "speculation", "object"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], field: str, words: str) -> None:
    """By the field that is wrong, with what is allowed."""
    with pytest.raises(ScenarioError) as caught:
        estimate({**LLAMA, **fields})
    assert caught.value.field == field and words in caught.value.message


def test_what_was_filled_in_gives_the_same_report() -> None:
    """The acceptance that was taken stands in the scenario."""
    report: Any = estimate({**LLAMA, "speculation": {"method": "draft", "model": "llama-3.2-1b"}})
    assert report["scenario"]["speculation"]["acceptance"] == catalog().coefficient("acceptance-draft").value
    assert estimate(report["scenario"])["memory"] == report["memory"]


@pytest.mark.parametrize("draft", [{"method": "eagle"}, {"method": "draft", "model": "llama-3.2-1b"}], ids=str)
def test_the_working_of_what_drafts_ends_in_its_parts(draft: dict[str, str]) -> None:
    """Each of its blocks has a line, and a pencil gets the weights and the cache."""
    report: Any = estimate({**LLAMA, "speculation": draft})
    found = {part["id"]: part for part in report["memory"]["parts"]}
    for name in ("draft_weights", "draft_cache"):
        *before, last = found[name]["steps"]
        assert before and all(step["name"].endswith("of what drafts") for step in before)
        assert evaluated(last["substituted"]) == pytest.approx(found[name]["bytes"], rel=0.005)
        assert last["value"] == pytest.approx(found[name]["bytes"])
