"""Numbers and tables of training runs: their working, where their rows lead, and what stops a build."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from calc import estimate
from calc.calculators.fine_tune import scenario as fine_tune_scenario
from calc.calculators.html import in_words
from calc.calculators.pre_training import scenario as pre_training_scenario
from macros.inline import look_up, number
from macros.layout_figures import COLUMNS, EXPERTS, LAYOUTS, ROWS, WHOLE, cells, layout_figure
from macros.links import stand_on
from macros.measured_tables import measured_chain
from macros.repair_tables import repair_table
from macros.training_figures import adapter_figure, stage_figure, step_figure
from macros.training_numbers import NAMES, training
from macros.training_tables import training_link, training_table

SMALL: dict[str, Any] = {"model": "llama-3.2-1b", "sequence_tokens": 1024}
COUNTS = ("micro_batch", "gradient_accumulation", "sequence_tokens", "accelerators", "rank")
DEGREES = ("tensor", "pipeline", "data", "context", "expert")


@pytest.fixture(autouse=True)
def _on_a_page() -> None:
    """Links are relative to a page."""
    stand_on("training/page/")


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_a_working_that_ends_with_it(name: str) -> None:
    """What a number opens ends with the number itself, in the unit of its steps."""
    run = {**SMALL, "accelerator": "rtx-4090", "training_tokens": 10**9}
    report: Any = estimate(training({**run, "method": "lora", "accelerators": 2, "sharding": "zero-3"}))
    value, steps, form = look_up(name, report)
    if value:
        assert steps[-1]["value"] == pytest.approx(value) or name in ("reserved", "allocated")
    assert number(name, workload="training", **run)
    assert form


def test_speed_needs_an_accelerator() -> None:
    """A number of speed without a device stops the build with what it needs."""
    with pytest.raises(ValueError, match="needs an accelerator"):
        number("step_s", workload="training", **SMALL)


def linked(changes: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the calculator that a run leads to, and the scenario that its filled-in form makes; None for no link."""
    html = training_link("words", estimate(training({**SMALL, **changes})))
    found = re.search('href="([^"]*)"', html)
    if found is None:
        return None
    address = urlparse(unescape(found[1]))
    values: dict[str, Any] = {name: values[0] for name, values in parse_qs(address.query).items()}
    values |= {name: int(value) for name, value in values.items() if name in (*COUNTS, *DEGREES)}
    if "fine-tune" in address.path:
        return "fine-tune", fine_tune_scenario({"rank": 16, **values})
    return "pre-training", pre_training_scenario(values)


@pytest.mark.parametrize(
    "changes",
    [
        {"accelerator": "rtx-4090"},
        {"accelerator": "rtx-4090", "method": "lora", "lora": {"rank": 8}, "checkpointing": "full"},
        {"accelerator": "rtx-4090", "method": "qlora", "offload": ["activations"], "cross_entropy": "fused"},
        {"accelerator": "rtx-4090", "accelerators": 8, "sharding": "zero-3", "precision": "bf16"},
        {"accelerator": "h100-sxm-80gb", "parallelism": {"tensor": 8}, "sequence_parallel": True},
        {"accelerator": "h100-sxm-80gb", "parallelism": {"pipeline": 4, "data": 2}, "sharding": "zero-1"},
    ],
)
def test_a_row_leads_to_a_calculator_with_the_same_answer(changes: dict[str, Any]) -> None:
    """The form that a row fills in makes a scenario with the row's total."""
    report: Any = estimate(training({**SMALL, **changes}))
    found = linked(changes)
    assert found is not None
    again: Any = estimate(found[1])
    assert again["memory"]["device_bytes"] == report["memory"]["device_bytes"]


@pytest.mark.parametrize(
    "changes",
    [
        {"attention": "eager"},
        {"keep_logits": False},
        {"gradient_dtype": "bf16"},
        {"offload": ["activations", "optimizer"]},
        {"method": "lora", "lora": {"targets": ["q_proj"]}},
        {"method": "lora", "parallelism": {"tensor": 2}},
        {"precision": "bf16", "optimizer_in_backward": True},
    ],
)
def test_a_run_that_no_form_can_say_leads_nowhere(changes: dict[str, Any]) -> None:
    """A link that would show another answer is not made."""
    assert linked(changes) is None


def test_savings_are_against_the_first_row() -> None:
    """A change that needs less is positive, one that needs more negative, none a dash."""
    html = training_table(
        SMALL,
        ("first", {"precision": "bf16"}),
        ("same", {"precision": "bf16"}),
        ("more", {"precision": "fp32"}),
        ("less", {"precision": "bf16", "optimizer": "sgd"}),
        columns=("saved",),
        caption="x",
    )
    cells = re.findall('<td class="calc-figure">([^<]*)</td>', in_words(html))
    assert cells[:2] == ["–", "–"]
    assert cells[2].startswith("−")
    assert cells[3][0].isdigit()


def test_a_caption_says_what_all_rows_share() -> None:
    """Two tables of one model that differ by loss or checkpointing say by what; what a row changes is its own."""
    run = {**SMALL, "checkpointing": "full", "cross_entropy": "fused"}
    shared = training_table(run, ("one", {}), ("two", {"precision": "fp32"}), columns=("total",), caption="A run")
    assert "<caption>A run, every layer checkpointed, loss fused</caption>" in shared
    own = training_table(run, ("one", {}), ("two", {"cross_entropy": "full"}), columns=("total",), caption="A run")
    assert "<caption>A run, every layer checkpointed</caption>" in own


def test_figures_say_what_they_draw() -> None:
    """Each drawing has its numbers in words for those who do not see it."""
    step = step_figure("A step.", **SMALL)
    assert step.count(", the peak") == 2  # in the drawing and in its words
    assert "ZeRO-3, FSDP:" in stage_figure("llama-3.2-1b", 4)
    assert "16 by 2,048" in adapter_figure("llama-3.2-1b", "q_proj", 16)


def test_a_measurement_that_is_not_there_stops_the_build() -> None:
    """A chain names measurements of the catalogue."""
    with pytest.raises(ValueError, match="no measurement"):
        measured_chain(("words", "M-nobody-001"), caption="x")


def test_parts_of_a_layout_fill_their_box() -> None:
    """However a box is divided, its parts cover it once."""
    for way in (WHOLE, ROWS, COLUMNS, EXPERTS):
        assert sum(wide * tall for _, _, wide, tall, _ in cells(way)) == pytest.approx(1)
    drawn = layout_figure()
    assert all(layout.name in drawn and layout.words in drawn for layout in LAYOUTS)


def test_repairs_of_a_run_that_fits_stop_the_build() -> None:
    """A table of repairs is for a run that does not fit; each of its rows makes it fit."""
    with pytest.raises(ValueError, match="fits already"):
        repair_table("x", **SMALL, accelerator="h100-sxm-80gb")
    html = repair_table("x", model="llama-3.1-8b", checkpointing="full", accelerator="h100-sxm-80gb")
    assert "LoRA" in html
