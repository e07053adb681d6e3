"""How long an engine takes until it answers, against logs of starts."""

import csv
from statistics import median
from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.performance.cold_start import Start, beginnings
from calc.validation.scores import MEASUREMENTS

ASKED: dict[str, Any] = {"model": "llama-3.1-8b", "engine": "vllm", "accelerator": "l40s", "weights": "bf16"}
ROWS = list(csv.DictReader((MEASUREMENTS / "cold_start.csv").read_text().splitlines()))
ENGINE_PARTS = ("tracing", "compiling", "capturing", "warming")


def predicted(row: dict[str, str]) -> float:
    """Return what is computed of a row's part."""
    found = beginnings(
        catalog().engine("vllm").values,
        Start(row["place"], None, row["compiled"] == "1"),
        weights_bytes=round(float(row["weights_gib"]) * 2**30),
        layers=int(row["layers"]),
        graphs=int(row["graphs"]),
    )
    seconds = {part.id: part.seconds for part in found}
    if row["part"] == "total":
        return sum(seconds.values())
    return sum(seconds[name] for name in ENGINE_PARTS) if row["part"] == "engine" else seconds[row["part"]]


def start(**fields: object) -> Any:
    """Return what a report says of a start."""
    asked: Any = estimate({**ASKED, "start": {"from": "disk", **fields}})
    return asked["cold_start"]


def test_whole_starts_are_met() -> None:
    """The engine's own seconds, and those until the first answer: four of five starts lie within the range."""
    spread = catalog().engine("vllm").values["cold_range"]
    whole = [row for row in ROWS if row["part"] in ("engine", "total")]
    inside = [row for row in whole if 1 / spread < predicted(row) / float(row["seconds"]) < spread]
    assert len(whole) >= 5 and len(inside) >= 0.8 * len(whole)


def test_parts_are_met_at_the_median() -> None:
    """Half of the parts of all logs lie within four tenths: compilation and graphs are the host's work."""
    assert median(abs(predicted(row) / float(row["seconds"]) - 1) for row in ROWS) < 0.4


def test_the_parts_make_up_the_whole() -> None:
    """They add up, and the working says the same."""
    report: Any = estimate({**ASKED, "start": {"from": "network"}})
    found = report["cold_start"]
    total = sum(part["seconds"] for part in found["parts"])
    assert found["seconds"]["typical"] == pytest.approx(total)
    assert found["seconds"]["low"] < total < found["seconds"]["high"]
    steps = {step["name"]: step["value"] for step in report["steps"]}
    assert steps["Seconds until it is ready"] == pytest.approx(total)


def test_what_is_kept_saves_time() -> None:
    """What was compiled before is loaded sooner than it is compiled, and memory is read sooner than a disk."""
    cold, kept = (start(compiled=value)["seconds"]["typical"] for value in (False, True))
    assert kept < cold
    cached = start(**{"from": "page-cache", "compiled": True})["seconds"]["typical"]
    assert cached < kept < start(**{"from": "network", "compiled": True})["seconds"]["typical"]


def test_reading_is_bytes_over_bandwidth() -> None:
    """16.06 GB at 2 GB/s are 8.03 seconds."""
    reading = next(part for part in start(bandwidth="2 GB/s")["parts"] if part["id"] == "reading")
    assert reading["seconds"] == pytest.approx(8.03, abs=0.01)


def test_other_engines_read_alone() -> None:
    """No start of them was measured, and the answer says so."""
    report: Any = estimate({**ASKED, "engine": "llama.cpp", "weights": "q8_0", "start": {"bandwidth": "2 GB/s"}})
    found = report["cold_start"]
    assert [part["id"] for part in found["parts"]] == ["reading"] and found["measured"] is False


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"start": {"from": "tape"}}, "start.from"),
        ({"start": {"bandwidth": 3}}, "start.bandwidth"),
        ({"start": {"from": "page-cache", "bandwidth": "3 GB/s"}}, "start.bandwidth"),
        ({"start": {}, "engine": "sglang"}, "start.bandwidth"),
        ({"start": {"compiled": 1}}, "start.compiled"),
        ({"start": {"disk": 1}}, "start.disk"),
        ({"start": {}, "engine": "none"}, "start"),
        ({"start": 3}, "start"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], field: str) -> None:
    """By the field that is wrong."""
    with pytest.raises(ScenarioError) as caught:
        estimate({**ASKED, **fields})
    assert caught.value.field == field


def test_graphs_are_captured_for_steps_and_for_pieces() -> None:
    """vLLM records steps of up to so many sequences whole, and of twice as many in pieces: 1, 2, 4, then every 8th.

    256 sequences are 35 and 51 sizes, 8 are 4 and 5.
    """
    many, few = (
        {part["id"]: part["seconds"] for part in estimate_start(sequence_slots=slots)["parts"]}["capturing"]
        for slots in (256, 8)
    )
    assert many / few == pytest.approx((35 + 51) / (4 + 5))


def estimate_start(**fields: object) -> Any:
    """Return what a report on other fields says of a start."""
    report: Any = estimate({**ASKED, "start": {"from": "disk"}, **fields})
    return report["cold_start"]
