"""Comparing accelerators: each row is what the single calculators say, and the order is the one asked for."""

from typing import Any

import pytest

from calc import estimate
from calc.calculators import CALCULATORS
from calc.calculators.compare import RANKS, ranked, value_of
from calc.catalog import catalog
from calc.planning.cost import newest_purchase

COMPARE = CALCULATORS["compare"]
CASES = (
    {},
    {"weights": "fp8", "engine": "vllm", "sequences": "32"},
    {"model": "gpt-oss-120b", "weights": "mxfp4", "engine": "transformers"},
    {"model": "deepseek-v3", "weights": "fp8-block", "engine": "sglang", "most_devices": "16"},
)


@pytest.mark.parametrize("changed", CASES, ids=str)
def test_a_row_is_what_the_single_calculators_say(changed: dict[str, str]) -> None:
    """Count, memory left, speeds and costs of offers are those of a scenario with these devices."""
    report: Any = COMPARE.report({**changed, "rows": "all"})
    asked = {name: value for name, value in report["scenario"].items() if name in ("model", "weights", "engine")}
    tokens = {name: report["scenario"][name] for name in ("prompt_tokens", "output_tokens", "sequences")}
    assert len(report["offers"]) > 10
    for offer in report["offers"][::9]:
        one: Any = estimate({**asked, **tokens, "accelerator": offer.accelerator.id, "accelerators": offer.devices})
        assert one["memory"]["fits"] and one["memory"]["headroom_bytes"] == offer.headroom_bytes
        assert (one["speed"] is None) == (offer.speed is None)
        if offer.speed:
            for name in ("decode_tokens_per_s", "prefill_tokens_per_s", "output_tokens_per_s"):
                assert one["speed"][name]["typical"] == pytest.approx(offer.speed[name])
            energy = one["cost"]["energy_kwh_per_million_output_tokens"]
            assert (energy or {"typical": None})["typical"] == pytest.approx(offer.kwh_per_million)
            rent = one["cost"]["rent"]
            assert (rent is None) == (offer.rent_per_million is None)
            if rent:
                assert rent["per_million_output_tokens"]["typical"] == pytest.approx(offer.rent_per_million)
        if offer.devices > 1:
            fewer: Any = estimate({**asked, **tokens, "accelerator": offer.accelerator.id})
            assert not fewer["memory"]["fits"]


@pytest.mark.parametrize("rank", RANKS)
def test_the_order_is_the_one_asked_for(rank: str) -> None:
    """Best first, and what is not known last."""
    offers = ranked(COMPARE.report({"rank": rank})["offers"], rank)
    values = [value_of(offer, rank) for offer in offers]
    known = [value for value in values if value is not None]
    assert known and values[len(known) :] == [None] * (len(values) - len(known))
    assert known == sorted(known, reverse=RANKS[rank][2])


def test_what_is_chosen_is_all_that_is_compared() -> None:
    """A segment, a maker and a bin of memory are met by every row; 24 GB is in the bin up to 24."""
    report = COMPARE.report({"segment": "consumer", "vendor": "NVIDIA", "size": "24", "model": "llama-3.1-8b"})
    names = {offer.accelerator.id for offer in report["offers"]}
    assert {"rtx-3090", "rtx-4090"} <= names and not names & {"rtx-5090", "rx-7900-xtx", "l4-24gb"}
    assert len(names) == report["chosen"]


def test_nothing_to_compare_is_said() -> None:
    """No engine for Apple's devices but llama.cpp and transformers; and a model too large for one of anything."""
    assert COMPARE.status(COMPARE.report({"engine": "vllm", "vendor": "Apple"})).startswith("Nothing to compare")
    large = COMPARE.report({"model": "deepseek-v3", "weights": "bf16", "engine": "vllm", "most_devices": "1"})
    assert COMPARE.status(large).startswith("None of ")
    assert "calc-parts" not in COMPARE.render(large)


def test_a_computer_with_its_own_memory_is_taken_once() -> None:
    """No row has two Macs."""
    report = COMPARE.report({"segment": "soc", "rows": "all"})
    assert report["offers"] and all(offer.devices == 1 for offer in report["offers"])


def test_a_model_of_one_s_own_has_rows_without_links() -> None:
    """A config in every link would make the answer as long as a book."""
    own = '{"config": {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, '
    own += '"num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000}}'
    html = COMPARE.render(COMPARE.report({"model": own, "weights": "bf16", "engine": "vllm"}))
    assert "GPUs" in html and "will-it-fit/?" not in html


def test_a_purchase_is_what_one_pays_now() -> None:
    """Of two prices of a day the shops' is taken; a device that is sold within a machine has the machine's."""
    facts = catalog()
    card = newest_purchase(facts, facts.accelerator("rtx-5090"))
    inside = newest_purchase(facts, facts.accelerator("gb10"))
    assert card is not None and card.kind == "retail"
    assert inside is not None and inside.item == "dgx-spark"
    assert newest_purchase(facts, facts.accelerator("gtx-1080-ti")) is None
