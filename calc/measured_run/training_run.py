"""A training run that was measured: what is computed of it, and what would have to be otherwise."""

from collections.abc import Callable
from typing import Any, NamedTuple

from calc.estimate import estimate
from calc.measured_run.comparison import Compared, Figure
from calc.measured_run.terms import BYTES, TERMS
from calc.units import show_number

Report = dict[str, Any]
TOTALS = ("allocated_bytes", "reserved_bytes", "device_bytes")
SHAPED = ("weights", "master_weights", "adapters", "gradients", "optimizer_states")  # what shapes decide


class TrainingRun(NamedTuple):
    """A training run: its scenario."""

    scenario: dict[str, Any]

    def report(self) -> Report:
        """Return the report on the run."""
        return estimate(self.scenario)


def training_figures(report: Report) -> dict[str, Figure]:
    """Return what is computed of each term of a training run: bytes of the fullest device, seconds, tokens a second."""
    memory, speed, found = report["memory"], report["speed"] or {}, {}
    for name in TOTALS:
        if memory.get(name):
            found[name] = Figure(memory[name], *memory[f"{name}_range"])
    if step := speed.get("step_s"):
        low, typical, high = (step[name] for name in ("low", "typical", "high"))
        found["step_s"] = Figure(typical, low, high)
        tokens = speed["step_tokens"]
        found["trained_tokens_per_s"] = Figure(tokens / typical, tokens / high, tokens / low)
    return found


def what_training_takes(found: Compared, report: Report, show_bytes: Callable[[float], str]) -> str:
    """Return what would have to be otherwise for a term of a training run, in a sentence without its end."""
    if TERMS[found.id].unit != BYTES:
        slower = 1 / found.ratio if found.id.endswith("per_s") else found.ratio
        return f"a step would take {show_number(slower)} times as long"
    shaped = sum(part["bytes"] for part in report["memory"]["parts"] if part["id"] in SHAPED)
    beside, would = (size - shaped for size in (found.computed.value, found.measured))
    if would < 0:
        return (
            f"parameters, gradients and optimizer states alone take {show_bytes(shaped)}: another method, precision, "
            "optimizer or division"
        )
    beside_these = "all beside parameters, gradients and optimizer states"
    return f"{beside_these} would take {show_bytes(would)}, not {show_bytes(beside)}"
