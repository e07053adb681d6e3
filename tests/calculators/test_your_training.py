"""The page of training runs: a pasted log fills in what was measured, and it stands beside what is computed."""

import json
from typing import Any

import pytest

from calc.calculators import CALCULATORS, imported
from tests.calculators.asking import ask
from tests.measured_output.test_reading import INDEX, pasted

NAME = "your-training"
LOGS = [name for name in INDEX if INDEX[name].get("training")]
LORA = {"model": "llama-3.1-8b", "method": "lora", "accelerator": "rtx-4090"}


def paste(text: str, **fields: str) -> Any:
    """Return the page's reply to a pasted text."""
    return json.loads(imported(json.dumps({"calculator": NAME, "fields": fields, "files": [], "text": text}), []))


@pytest.mark.parametrize("name", LOGS)
def test_a_published_log_is_compared(name: str) -> None:
    """Each term that a log has stands in the form, whose answer compares it."""
    reply = paste(pasted(name))
    assert reply["ok"] and reply["status"].startswith("Read the log of a training run")
    found = ask(NAME, **{name: value for name, value in reply["fields"].items() if name != "framework"})
    assert found["html"].count(">in the range<") + found["html"].count(">outside<") == len(INDEX[name]["terms"])


def test_what_was_measured_of_training_is_not_carried_to_serving() -> None:
    """The two forms of measurements share the names of a run and none of what was measured."""
    one, other = ({field.name for field in CALCULATORS[name].inputs} for name in (NAME, "your-measurement"))
    assert "model" in one & other and not [name for name in one & other if name.startswith(("run_", "measured_"))]


def test_a_published_run_agrees() -> None:
    """torchtune's README: all of Llama 3.2 3B in BF16, two sequences of 4,096 tokens, 60.0 GiB."""
    found = ask(
        NAME, model="llama-3.2-3b", method="full", framework="torchtune", precision="bf16", checkpointing="none",
        micro_batch="2", sequence_tokens="4096", accelerator="a100-sxm-80gb", run_allocated_gib="60.0",
        optimizer="adamw", cross_entropy="full",
    )  # fmt: skip
    assert found["status"].startswith("It agrees: the one term measured lies in the range")


def test_what_differs_is_said_in_the_terms_of_training() -> None:
    """What would have to be otherwise: the rest beside what shapes decide, or the method; a step that takes longer."""
    form = CALCULATORS["fine-tune"]
    report: Any = form.report(LORA)
    computed = report["memory"]["allocated_bytes"] / 2**30
    step = report["speed"]["step_s"]["typical"]
    more = ask(NAME, **LORA, run_allocated_gib=f"{computed + 5:.3f}", run_step_s=f"{3 * step:.4f}")["html"]
    assert "all beside parameters, gradients and optimizer states would take" in more
    assert "a step would take 3.00 times as long" in more and "data-correct" not in more
    assert "another method, precision, optimizer or division" in ask(NAME, **LORA, run_allocated_gib="2")["html"]


def test_trainer_and_the_notebooks_of_unsloth() -> None:
    """0.15 steps a second are 6.67 s each; memory in "GB" of 1,024³ bytes, on the device that is named."""
    text = (
        "GPU = NVIDIA GeForce RTX 4090. Max memory = 23.52 GB.\n2.916 GB of memory reserved.\n"
        "{'train_steps_per_second': 0.15, 'train_loss': 1.56, 'epoch': 3.0}\nPeak reserved memory = 10.951 GB.\n"
    )
    fields = paste(text)["fields"]
    assert (fields["run_step_s"], fields["run_reserved_gib"]) == ("6.66667", "10.951")
    assert fields["accelerator"] == "rtx-4090" and fields["run_allocated_gib"] == ""


def test_answers_of_training_lead_here() -> None:
    """Under a fine-tune's answer stands a link whose fields give the same run; a run with tensor ranks has none."""
    html = ask("fine-tune", **LORA, micro_batch="2")["html"]
    query = html.partition("calculators/your-training/?")[2].partition('"')[0].replace("&amp;", "&")
    fields = dict(pair.split("=") for pair in query.split("&"))
    form = CALCULATORS[NAME]
    assert set(fields) <= {field.name for field in form.inputs} and fields["micro_batch"] == "2"
    same = CALCULATORS["fine-tune"].report({**LORA, "micro_batch": "2"})
    assert form.report(fields)["memory"]["device_bytes"] == same["memory"]["device_bytes"]  # type: ignore[index]
    assert "your-training" not in ask("pre-training", tensor="2", data="4")["html"]
