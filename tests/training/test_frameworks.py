"""Frameworks fill in what a scenario leaves open, and nothing else."""

from typing import Any

import pytest

from calc import ScenarioError, estimate
from calc.catalog import catalog
from calc.training.fields import FIELDS

FRAMEWORKS = catalog().ids("frameworks")
LLAMA = {"workload": "training", "model": "llama-3.1-8b", "accelerators": 8, "gradient_accumulation": 4}
RUNS = [
    {"method": method, "sharding": sharding}
    for method in ("full", "lora", "qlora")
    for sharding in ("none", "zero-1", "zero-3")
]


def report(**changed: object) -> Any:
    """Return the report of a changed scenario."""
    return estimate({**LLAMA, **changed})


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_presets_are_fields_of_a_scenario_and_go_together(framework: str) -> None:
    """Each preset names a field of training, and no way to train is refused because of them."""
    for preset in catalog().framework(framework).presets:
        assert preset.field.partition(".")[0] in FIELDS
        assert all(field.partition(".")[0] in FIELDS for field in preset.when)
    for run in RUNS:
        assert report(framework=framework, **run)["memory"]["device_bytes"] > 0
    layout = {"tensor": 2, "pipeline": 2, "data": 2}
    assert report(framework=framework, parallelism=layout)["memory"]["device_bytes"] > 0


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("run", RUNS, ids=str)
def test_a_report_asked_again_is_the_same(framework: str, run: dict[str, object]) -> None:
    """What a framework fills in stands in the report's scenario, which says the whole run."""
    found = report(framework=framework, **run)
    again: Any = estimate(found["scenario"])
    assert again["memory"] == found["memory"]


def test_a_field_that_is_given_stands_above_the_framework() -> None:
    """LitGPT reduces gradients after the last micro-batch; a run that says otherwise is taken at its word."""
    usual = report(framework="litgpt", sharding="zero-3")
    assert usual["scenario"]["gradient_reduction"] == "last"
    assert "gradient_reduction" in usual["defaults"]
    stated = report(framework="litgpt", sharding="zero-3", gradient_reduction="each")
    assert stated["scenario"]["gradient_reduction"] == "each"
    assert stated["memory"]["device_bytes"] < usual["memory"]["device_bytes"]


def test_presets_hold_where_they_say() -> None:
    """LitGPT's AdamW is paged under a quantized base alone; torchtitan divides the stream with tensor ranks."""
    assert report(framework="litgpt", method="qlora")["scenario"]["optimizer"] == "paged-adamw"
    assert report(framework="litgpt", method="lora")["scenario"]["optimizer"] == "adamw-foreach"
    assert report(framework="torchtitan")["scenario"]["sequence_parallel"] is False
    tensor = report(framework="torchtitan", parallelism={"tensor": 8})
    assert tensor["scenario"]["sequence_parallel"] is True


def test_fsdp_under_both_of_its_names() -> None:
    """ "fsdp" is "zero-3" for the presets too."""
    one, other = (report(framework="transformers", sharding=name) for name in ("fsdp", "zero-3"))
    assert one["memory"] == other["memory"]
    assert one["scenario"]["gradient_reduction"] == "last"


def test_names_as_people_write_them() -> None:
    """Names, aliases and ids lead to the same framework; unknown ones are named with the nearest."""
    assert report(framework="Hugging Face Transformers")["scenario"]["framework"] == "transformers"
    assert report(framework="Megatron-LM")["scenario"]["framework"] == "megatron-lm"
    with pytest.raises(ScenarioError, match="torchtune") as caught:
        report(framework="torchtun")
    assert caught.value.field == "framework"
    with pytest.raises(ScenarioError, match="must be the name"):
        report(framework=3)


def test_litgpt_as_measured() -> None:
    """LoRA of Llama 2 13B by LitGPT takes 33.13 GiB on each of four devices, with nothing said but the framework."""
    found = report(
        model="llama-2-13b",
        framework="litgpt",
        method="lora",
        lora={"rank": 8, "targets": ["q_proj", "v_proj"]},
        sharding="fsdp",
        accelerators=4,
        sequence_tokens=1304,
        checkpointing="full",
        gradient_accumulation=32,
    )
    assert found["memory"]["allocated_bytes"] == pytest.approx(33.13 * 2**30, rel=0.05)
