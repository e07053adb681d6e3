"""Your training run: what it showed beside what is computed of it, term by term."""

from collections.abc import Mapping
from typing import Any

from calc.calculators import fine_tune, measured_answer
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.hosting import POWER_LIMIT
from calc.calculators.inputs import Input, Report, Values
from calc.calculators.measured_inputs import (
    measured_fields,
    measured_inputs,
    measured_of,
    names_of,
    read_pasted,
    set_beside,
)
from calc.calculators.rendering import spoken
from calc.measured_run.terms import TRAINED
from calc.measured_run.training_run import TrainingRun, training_figures

INPUTS: tuple[Input, ...] = (*fine_tune.INPUTS, POWER_LIMIT, *measured_inputs(TRAINED))
NAMES = {field.name for field in INPUTS}
PRESETS = (
    Preset("Nothing measured yet: Llama 3.1 8B with QLoRA on an RTX 4090", {}),
    Preset(
        "All of Llama 3.2 3B on an A100 under torchtune, its README",
        {
            "model": "llama-3.2-3b",
            "method": "full",
            "framework": "torchtune",
            "precision": "bf16",
            "optimizer": "adamw",
            "checkpointing": "none",
            "cross_entropy": "full",
            "micro_batch": "2",
            "sequence_tokens": "4096",
            "accelerator": "a100-sxm-80gb",
            "run_allocated_gib": "60.0",
        },
    ),
)


def scenario(values: dict[str, object]) -> dict[str, object]:
    """Return what a form holds: the run's scenario, and what was measured."""
    plain = {name: value for name, value in values.items() if name not in names_of(TRAINED).values()}
    return {"scenario": fine_tune.scenario(plain), "measured": measured_of(values, TRAINED)}


def answer(asked: dict[str, object]) -> Report:
    """Return the report on a run, with its comparison beside."""
    run = TrainingRun(dict(asked["scenario"]))  # type: ignore[call-overload]
    measured: dict[str, float] = asked["measured"]  # type: ignore[assignment]
    report = run.report()
    return set_beside(report, run=run, figures=training_figures(report), measured=measured)


def pasted(text: str, _present: Mapping[str, str]) -> tuple[Values, str]:
    """Return the fields of the form that a pasted text fills in, and a sentence on it; raises ScenarioError.

    What was measured before is forgotten; of the run what the text does not say stays as it is.
    """
    found, said = read_pasted(text)
    fields: dict[str, Any] = {name: str(value) for name, value in found.fields.items() if name in NAMES}
    return measured_fields(found.terms, TRAINED) | fields, said


CALCULATOR = Calculator(
    id="your-training",
    title="Your training run",
    question="What did your training run show, and what does the guide compute of it?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=scenario,
    render=measured_answer.render,
    status=spoken(measured_answer.headline),
    headings=("Terms measured", "In the range", "Answer"),
    row=measured_answer.row,
    answer=answer,
    pasted=pasted,
)
