"""Deployments that others publish: the planner finds each of them to serve, and says why others come first.

Each row of `deployments.csv` is a model on so many devices, in the publisher's own words: vLLM's recipes, SGLang's page
of DeepSeek, NVIDIA's tables for its microservices, guides of clouds.
"""

from typing import Any

import pytest

from calc import estimate, plan
from calc.catalog import catalog
from calc.planning.chance import SURE
from calc.planning.cost import newest_rent
from calc.validation.deployments import FILE, FIRST, Choice, asked, choices
from calc.validation.scores import read_rows

ROWS = read_rows(FILE)
MONTH_HOURS = 730.0
# What is published and is not found to serve, by model, device and engine, with the reason that is computed.
CANNOT = {
    # 109 billion parameters in FP8 on one card of 80 GB, 1.5 TB on 1,536 GB, and 689 GB on 640 GB.
    "nvidia/Llama-4-Scout-17B-16E-Instruct-FP8 on 1 h100-sxm-80gb": "memory",
    "zai-org/GLM-5 on 8 mi300x": "memory",
    "deepseek-ai/DeepSeek-V3.2 on 8 h100-sxm-80gb": "memory",
    # Three cards divide layers unevenly, as 128 heads are not divisible by three.
    "nvidia/DeepSeek-V3.2-NVFP4 on 3 h200-sxm-141gb": "memory",
    # More than the share of a device that vLLM takes by itself.
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16 on 8 h200-sxm-141gb": "memory",
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16 on 4 b300-sxm-288gb": "memory",
    # With the cache in 16 bit vLLM measured no room for it either (R0237); the recipe keeps it in FP8.
    "nvidia/Llama-3.3-70B-Instruct-FP8 on 1 h100-sxm-80gb": "memory",
    # SGLang leaves a part of the card to what sees, and its kernels for FP8 in blocks of mixtures stop on Ampere.
    "Qwen/Qwen3.6-35B-A3B on 1 h100-sxm-80gb": "memory",
    "MiniMaxAI/MiniMax-M2.7 on 4 a100-sxm-80gb with sglang": "runs",
}


@pytest.fixture(scope="module")
def found() -> list[Choice]:
    """What the planner finds for each of them."""
    return choices()


def cannot(row: Any) -> str | None:
    """Return why a deployment is known not to serve; None where it does."""
    name = f"{row['model']} on {row['accelerators']} {row['accelerator']}"
    return CANNOT.get(name, CANNOT.get(f"{name} with {row['engine']}"))


def fits(row: Any, accelerator: str, number: int) -> bool:
    """Return whether a deployment's model fits on so many devices of a kind, and runs."""
    report: Any = estimate({**asked(row), "accelerator": accelerator, "accelerators": number}, repairs=False)
    return bool(report["memory"]["fits"]) and report["runs"] is not False


def is_tight(row: Any, accelerator: str, number: int) -> bool:
    """Return whether a deployment's model fits on so many devices of a kind, and may not."""
    have = {"accelerator": accelerator, "accelerators": number}
    return float(plan({"want": "models", "have": have, **asked(row)})["options"][0]["chance"]) < SURE  # type: ignore[index]


def rent_of(accelerator: str, number: int) -> float | None:
    """Return the rent of a month, as the catalogue has it of one."""
    price = newest_rent(catalog(), catalog().accelerator(accelerator))
    return None if price is None else number * price.each * MONTH_HOURS


def test_there_are_enough() -> None:
    """A hundred deployments are known, each with its page, of vLLM's recipes and of six publishers besides."""
    assert len(ROWS) >= 100 and len({row["model"] for row in ROWS}) >= 40
    others = [row["page"] for row in ROWS if "vllm-project/recipes" not in row["page"]]
    assert len(others) >= 25 and len(set(others)) >= 6
    assert all(row["page"].startswith("https://") and row["says"] for row in ROWS)


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['model']} {row['weights']} on {row['accelerators']} {row['accelerator']}"
)
def test_what_is_published_serves(row: dict[str, str]) -> None:
    """On the devices that its recipe names a model fits and runs, or the planner says why it cannot."""
    have = {"accelerator": row["accelerator"], "accelerators": int(row["accelerators"])}
    answer: Any = plan({"want": "models", "have": have, **asked(row)})
    if reason := cannot(row):
        assert answer["options"] == [] and list(answer["rejected"]) == [reason]
        return
    (option,) = answer["options"]
    assert option["fits"] and option["scenario"]["accelerators"] == int(row["accelerators"])


@pytest.mark.slow
def test_the_first_five_hold_what_is_published_or_say_why_not(found: list[Choice]) -> None:
    """Each published choice is among the first five, or has a reason; of the same devices none is called otherwise."""
    assert len(found) == len(ROWS)
    for choice in found:
        kinds = [kind for kind, _, _ in choice.first]
        assert len(set(kinds)) == len(kinds) <= FIRST
        held = choice.row["accelerator"] in kinds
        assert (held and choice.number == choice.published) == choice.same == (not choice.reason), choice
    assert sum(choice.same for choice in found) >= 30


@pytest.mark.slow
def test_reasons_are_computed(found: list[Choice]) -> None:
    """What is said to do does by its own report, on fewer devices and on others, whose rents are no more than its.

    Where it is tight, dearer ones that surely fit come before it.
    """
    fewer = dearer = 0
    for choice in found:
        row, published = choice.row, choice.row["accelerator"]
        own = rent_of(published, choice.published)
        if choice.number is None:
            assert not fits(row, published, choice.published) and cannot(row)
            continue
        assert choice.rent == (None if own is None else pytest.approx(own))
        if choice.number < choice.published:
            assert fits(row, published, choice.number)
            fewer += 1
        if choice.place:
            continue
        if own is None:
            assert "nobody says" in choice.reason
            continue
        rents = [rent_of(kind, number) for kind, number, _ in choice.first]
        cheaper = all(rent is not None and rent <= own for rent in rents)
        assert len(rents) == FIRST and (cheaper or is_tight(row, published, choice.number)), choice
        dearer += 1
    assert fewer > 10 and dearer > 30


@pytest.mark.slow
def test_first_options_serve(found: list[Choice]) -> None:
    """The first option of each deployment fits by its own report."""
    for choice in found[::5]:
        kind, number, _ = choice.first[0]
        assert fits(choice.row, kind, number), choice
