"""Tables of whole training runs, as pages show them."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from calc import estimate
from calc.calculators.pre_training import DEGREES
from calc.calculators.training_time import scenario
from macros.inline import number
from macros.links import stand_on
from macros.run_tables import data_set, operations_table, run_time_table, saved_table

RUN: dict[str, Any] = {"model": "llama-3.2-1b", "accelerator": "h100-sxm-80gb", "sequence_tokens": 2048}


@pytest.fixture(autouse=True)
def _on_a_page() -> None:
    """Links are relative to a page."""
    stand_on("training/page/")


def cells(html: str) -> list[str]:
    """Return the words of a table's body, cell by cell."""
    return [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[hd][^>]*>.*?</t[hd]>", html, re.S)]


def test_operations_of_palms_formula() -> None:
    """6 (N − token table) + 12 L H d (T + 1) / 2 for Llama 3.1 8B: 45.03 and 6.44 billion, N from its config."""
    found = cells(operations_table(("llama-3.1-8b", 8192)))
    assert found[-5:-1] == ["48.18", "45.03", "6.443", "51.47 (1.07×)"]
    attention = 12 * 32 * 32 * 128 * 8193 / 2
    assert f"{attention / 1e9:.3f}" == found[-3]


def test_a_timed_row_leads_to_the_same_run() -> None:
    """The calculator that a row fills in takes as long as the row says."""
    run = {**RUN, "accelerators": 8, "sharding": "zero-1", "training_tokens": 10**10}
    html = run_time_table(run, ("eight", {}), caption="A run")
    address = urlparse(unescape(re.findall('href="([^"]*)"', html)[0]))
    asked: dict[str, Any] = {name: values[0] for name, values in parse_qs(address.query).items()}
    counts = ("micro_batch", "gradient_accumulation", "sequence_tokens", "training_tokens", *DEGREES)
    asked |= {name: int(asked[name]) for name in counts}
    mine, theirs = (
        estimate(one)["speed"]  # type: ignore[arg-type]
        for one in ({**run, "workload": "training"}, scenario({**asked, "method": "full"}))
    )
    assert mine == theirs


def test_a_run_that_does_not_fit_has_no_time() -> None:
    """A table of times stops the build where memory is missing."""
    large = {**RUN, "model": "llama-3.1-70b", "training_tokens": 10**10}
    with pytest.raises(ValueError, match="does not fit"):
        run_time_table(large, ("one card", {}), caption="A run")


def test_a_checkpoint_has_fourteen_bytes_a_parameter() -> None:
    """Weights, masters and two states, however the run is divided; of LoRA the adapters alone, in FP32."""
    assert cells(saved_table(("70B", {"model": "llama-2-70b"}), caption="Saved"))[-2:] == ["965.7 GB", "14"]
    assert cells(saved_table(("LoRA", {**RUN, "method": "lora"}), caption="Saved"))[-1] == "12"
    whole, divided = (
        number("checkpoint", workload="training", **RUN, accelerators=count, sharding=sharding)
        for count, sharding in ((1, "none"), (8, "zero-3"))
    )
    assert re.findall(">([^<]*) GB<", whole)[0] == re.findall(">([^<]*) GB<", divided)[0]


def test_costs_of_a_run_need_its_tokens() -> None:
    """Days and money of a run whose tokens nobody said stop the build."""
    for what in ("days", "rent"):
        with pytest.raises(ValueError, match="training_tokens"):
            number(what, workload="training", **RUN)


def test_a_trillion_tokens_of_two_vocabularies() -> None:
    """Two bytes each for 32,000 words, four for 128,256."""
    assert "2.000 TB" in data_set(1000, "llama-2-7b") and "4.000 TB" in data_set(1000, "llama-3.1-8b")
