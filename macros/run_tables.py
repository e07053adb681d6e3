"""Tables of whole training runs: their operations, their time and cost, and what they store."""

from collections.abc import Mapping
from typing import Any

from calc import estimate
from calc.calculators.html import table, text
from calc.calculators.sizes import size_decimal
from calc.catalog import catalog
from calc.performance.token_flops import over_six_n, six_n, token_flops
from calc.planning.storage import data_set_bytes, in_sixteen_bit, token_bytes
from calc.scenario.model import known_architecture
from calc.training.reading import read_training
from calc.training.step import bytes_a_parameter
from calc.units import show_count, show_large_count, show_number
from macros.inline import SHOW, look_up, opening, step
from macros.links import calculator_link
from macros.markdown import block
from macros.training_numbers import full_parameters, training

__all__ = ["data_set", "operations_table", "run_time_table", "saved_table"]

Run = Mapping[str, Any]
TIMED = ("tokens_per_s", "utilization", "gpu_hours", "days", "rent", "kwh")
ASKED = (  # fields of a run that the calculator of training time asks for, besides its degrees
    "model",
    "accelerator",
    "sharding",
    "precision",
    "checkpointing",
    "micro_batch",
    "gradient_accumulation",
    "sequence_tokens",
    "training_tokens",
)


def operations_table(*rows: tuple[str, int]) -> str:
    """Return the operations for one token of models at lengths: by 6N, of the model, and of the hardware."""
    cells = []
    for model, tokens in rows:
        scenario = training({"model": model, "sequence_tokens": tokens, "checkpointing": "full"})
        plan = read_training(scenario, catalog()).plan
        flops, rule = token_flops(plan), six_n(plan.architecture)
        found = [show_number(count / 1e9, 4) for count in (rule, flops.of_matrices, flops.of_attention)]
        for count in (flops.model, flops.hardware):
            found.append(f"{show_number(count / 1e9, 4)} ({over_six_n(count, plan.architecture):.2f}×)")
        name = calculator_link("training-time", catalog().model(model).name, model=model, sequence_tokens=tokens)
        cells.append([name, show_count(tokens), *found])
    headings = ("Model", "Tokens", "6N", "Matrices", "Attention", "Together", "Checkpointed")
    caption = "Billions of operations for a token of training, by tokens of a sequence (how many times 6N)"
    return block(table(headings, cells, caption=caption))


def run_link(shown: str, scenario: Run) -> str:
    """Return words that lead to the calculator of training time, filled in with a run."""
    asked = {name: scenario[name] for name in ASKED if name in scenario}
    return calculator_link("training-time", shown, **asked, **scenario["parallelism"])


def run_time_table(base: Run, *rows: tuple[str, Run], caption: str) -> str:
    """Return runs with their GPUs, speed, utilization, time, rent and energy. A row is its words and its changes."""
    cells = []
    for shown, changes in rows:
        report: Any = estimate(training({**base, **changes}), repairs=False)
        figures = []
        for what in TIMED:
            value, _, form = look_up(what, report)
            figures.append(show_count(value) if what == "gpu_hours" else SHOW[form](value))
        if not report["memory"]["fits"]:
            raise ValueError(f"{shown}: the run does not fit, so nobody can take that long for it")
        cells.append([run_link(shown, report["scenario"]), show_count(report["scenario"]["accelerators"]), *figures])
    headings = ("Run", "GPUs", "Each GPU", "MFU", "GPU-hours", "Time", "Rent", "Energy")
    return block(table(headings, cells, caption=caption))


def saved_table(*rows: tuple[str, Run], caption: str) -> str:
    """Return what runs save: their weights alone in 16 bit, and a checkpoint from which they go on."""
    cells = []
    for shown, run in rows:
        report: Any = estimate(training(run), repairs=False)
        size, _, form = look_up("checkpoint", report)
        count = full_parameters(report["model"]["id"])
        trained = report["model"]["parameters_trainable"]
        each = bytes_a_parameter(size, parameters=trained)
        numbers = (size_decimal(in_sixteen_bit(trained)), SHOW[form](size), f"{each:.3g}")
        cells.append([text(shown), show_large_count(count), show_large_count(trained), *numbers])
    headings = ("Run", "Parameters", "Trained", "Trained weights in 16 bit", "To go on", "Bytes for each trained")
    return block(table(headings, cells, caption=caption))


def data_set(tokens: float, model: str) -> str:
    """Return what a data set takes once its texts are tokens of a model's vocabulary, inline. `tokens` in billions."""
    record = catalog().model(model)
    vocabulary, count = known_architecture(catalog(), record.id).vocab_size, round(tokens * 1e9)
    shown = size_decimal(data_set_bytes(tokens=count, vocabulary=vocabulary))
    numbers = f"{show_count(count)} × {token_bytes(vocabulary)} B, for {show_count(vocabulary)} words"
    return opening(shown, step(f"Tokens of {record.name}", r"D \cdot b", numbers, shown))
