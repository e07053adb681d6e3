"""Numbers and tables of the case studies: as the claims that they check have them."""

import re

import pytest

from calc.calculators.html import in_words
from macros.case_numbers import bits_in, cards, electricity, gained, operations, passes, shared, timed
from macros.case_tables import batch_table, deployment_table, horizon_table, needs_table
from macros.links import stand_on


@pytest.fixture(autouse=True)
def _page() -> None:
    """Tables link to calculators from a page."""
    stand_on("cases/rtx-4090/")


def first(html: str) -> str:
    """Return the text of the button, which is the number that a reader sees."""
    found = re.search(r">([^<]+)</button>", in_words(html))
    assert found
    return found.group(1)


def cells(html: str) -> list[list[str]]:
    """Return the cells of a table's body as text."""
    body = html[html.index("<tbody") :]
    return [
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", body)
    ]


def test_claims_of_the_report() -> None:
    """A003, A006, A021, A028: bits in 150 GB, cards by memory alone, operations of a token, and less time."""
    assert first(bits_in("llama-3.1-405b", 150)) == "2.96 bits"
    assert first(bits_in("deepseek-v3", 150)) == "1.79 bits"
    assert first(cards("rtx-4090", gb=150)) == "6"
    assert first(cards("rtx-4090", gb=150, reserve=0.1)) == "7"
    assert first(cards("rtx-4090", model="llama-3.1-405b", weights="bf16")) == "32"
    assert first(operations("llama-3-8b")) == "15.0 GFLOP"  # 2 N less the token table, which is looked up
    assert first(gained("reduction")) == "86.7 %"
    assert first(gained("factor")) == "7.50"
    assert first(shared("weights")) == "14.96 GiB"
    assert first(shared("weights", of=2)) == "1.52 GiB"


def test_needs_of_the_large_models() -> None:
    """A001: 811.7 GB and 1,342 GB in BF16; 504 KiB and 68.62 KiB of cache a token."""
    llama, deepseek = cells(needs_table(("llama-3.1-405b", "bf16"), ("deepseek-v3", "bf16")))
    assert (llama[1], llama[3]) == ("811.71 GB", "504.0 KiB")
    assert (deepseek[1], deepseek[3]) == ("1,342.05 GB", "68.62 KiB")


def test_a_larger_card_never_takes_a_worse_format() -> None:
    """What fits on 24 GiB in a format fits on 32 in it too."""
    order = ["no", "IQ2_M", "IQ3_M", "Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0", "BF16"]
    for row in cells(horizon_table(("qwen3-32b", "llama-3.3-70b"), ("rtx-4090", "rtx-5090", "rtx-pro-6000-blackwell"))):
        places = [order.index(cell.split(",")[0]) for cell in row[1:]]
        assert places == sorted(places)


def test_more_texts_at_once_are_never_fewer_a_second() -> None:
    """A batch is done at least as fast as one after the other."""
    rows = cells(batch_table("bart-large-mnli", "fp16", "rtx-4090", 512, (1, 4, 16)))
    rates = [float(row[2].removesuffix(" /s").replace(",", "")) for row in rows]
    assert rates == sorted(rates)
    seconds = {"engine": "transformers", "accelerator": "rtx-4090", "prompt_tokens": 512, "output_tokens": 0}
    assert first(timed("time_to_first_token_s", model="bart-large-mnli", weights="fp16", **seconds)) == rows[0][1]
    assert int(first(passes(4, model="bart-large-mnli", weights="fp16", **seconds))) > 100


def test_a_machine_that_is_too_small_says_what_is_missing() -> None:
    """And one that is large enough has speeds."""
    vllm = {"weights": "fp8", "engine": "vllm"}
    large, small = cells(
        deployment_table(
            "llama-3.1-405b",
            ("eight", {**vllm, "accelerator": "h100-sxm-80gb", "accelerators": 8}),
            ("four", {**vllm, "accelerator": "h100-sxm-80gb", "accelerators": 4}),
        )
    )
    assert large[1] == "fits" and large[3].endswith("/s")
    assert small[1].endswith("GiB missing") and small[2] == "–"


def test_electricity_has_its_unit_and_needs_a_power() -> None:
    """450 W for 100 hours are 45 kWh."""
    assert first(electricity("rtx-4090", 100)).startswith("45.0 kWh, ")
