"""Deployments that others publish: the planner finds each of them to serve, and nothing that costs more.

Each row of `tests/data/deployments.csv` is a model on so many devices, in the publisher's own words: vLLM's recipes,
SGLang's page of DeepSeek, NVIDIA's tables for its microservices, guides of clouds.
"""

import csv
from pathlib import Path
from typing import Any

import pytest

from calc import plan
from calc.catalog import catalog

TABLE = Path(__file__).parents[1] / "data" / "deployments.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))
CONTEXT = 8192
# What is published and cannot be, with the reason that is computed.
CANNOT = {"nvidia/Llama-4-Scout-17B-16E-Instruct-FP8": "memory"}  # 109 billion parameters in FP8 on one card of 80 GB


def have(row: dict[str, str]) -> dict[str, object]:
    """Return the devices of a deployment."""
    return {"accelerator": row["accelerator"], "accelerators": int(row["accelerators"])}


def asked(row: dict[str, str]) -> dict[str, object]:
    """Return what a deployment serves."""
    longest = catalog().model(row["model"]).context_tokens
    tokens = min(CONTEXT, longest) if longest else CONTEXT
    weights = row["weights"] or "published"
    return {"model": row["model"], "weights": weights, "engine": row["engine"], "context_tokens": tokens}


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
    answer: Any = plan({"want": "models", "have": have(row), **asked(row)})
    if row["model"] in CANNOT:
        assert answer["options"] == [] and list(answer["rejected"]) == [CANNOT[row["model"]]]
        return
    (option,) = answer["options"]
    assert option["fits"] and option["scenario"]["accelerators"] == int(row["accelerators"])


def test_nothing_dearer_is_found() -> None:
    """The published devices are among the first five of their maker, or five other kinds cost no more than they do."""
    kinds = {}
    for row in ROWS:
        kinds.setdefault((row["model"], row["weights"], row["engine"]), row)
    for row in list(kinds.values())[::4]:
        if row["model"] in CANNOT:
            continue
        device = catalog().accelerator(row["accelerator"])
        limits = {"vendors": [device.vendor], "segments": ["data-center"], "devices": max(int(row["accelerators"]), 8)}
        answer: Any = plan({"want": "hardware", **asked(row), "limits": limits, "count": 5})
        published: Any = plan({"want": "models", "have": have(row), **asked(row)})
        rent = published["options"][0]["cost"]["rent_per_month"]
        rents = {option["scenario"]["accelerator"]: option["cost"]["rent_per_month"] for option in answer["options"]}
        known = [value for value in rents.values() if value is not None]
        if device.id in rents:
            assert rents[device.id] <= rent * (1 + 1e-9), row
        else:
            assert len(known) == 5 and max(known) <= rent, row
