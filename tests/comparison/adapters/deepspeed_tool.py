"""deepspeed: its estimators of model states for ZeRO 2 and 3, which leave activations out and say so."""

from typing import Any

from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs
from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs
from serve import NoAnswerError, serve


def answer(case: dict[str, Any]) -> float:
    """Return the model states of a device."""
    scenario = case["scenario"]
    layout = scenario.get("parallelism", {})
    if case["kind"] != "training" or scenario["sharding"] not in ("zero-2", "zero-3"):
        raise NoAnswerError("training with ZeRO 2 or 3 alone")
    if layout.get("tensor", 1) * layout.get("pipeline", 1) * layout.get("context", 1) > 1:
        raise NoAnswerError("data parallelism alone")
    devices, count = layout.get("data", 1), case["parameters"]
    if scenario["sharding"] == "zero-2":
        _, needed = estimate_zero2_model_states_mem_needs(count, devices, 1, False, 1)
        return float(needed)
    largest = case["largest_layer"]
    _, needed, _ = estimate_zero3_model_states_mem_needs(count, largest, devices, 1, False, False, False, 1)
    return float(needed)


serve("deepspeed", answer)
