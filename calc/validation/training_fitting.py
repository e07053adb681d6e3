"""Rows of training speed as items of a fit: the work of a step is prepared once, and coefficients are tried on it."""

from collections.abc import Mapping
from typing import Any

from calc import ScenarioError
from calc.catalog import catalog
from calc.performance.training_step import prepare, step_time
from calc.planning.measured import training_bucket, training_phase
from calc.training.reading import read_training
from calc.validation.fitting import Item
from calc.validation.scores import Row, SkipError

# Where an estimate begins, whatever the catalogue says: kernels keep most of their speed; of that of attention, what
# the papers of FlashAttention 2 and 3 say of the generation before (arXiv:2307.08691, arXiv:2407.08608).
START = {
    "product_share": 0.9,
    "flash_1_share": 0.55,
    "ring_share_fsdp": 0.8,
    "eager_share": 0.6,
    "kernel_s": 2e-5,
    "fused_kernel_s": 4e-5,
    "core_kernel_s": 8e-5,
    "loop_kernel_s": 1e-5,
    "tensor_s": 1.5e-4,
    "gptq_unpack_share": 0.25,
    "power_exponent": 0.5,
    "launch_hidden": 0.85,
    "overlap": 0.5,
    "link_share_fsdp": 0.7,
    "tensor_hidden": 0.2,
    "tensor_hidden_in_pieces": 0.5,
}


def start_of() -> dict[str, float]:
    """Return the coefficients of a step that rows set, at the values where an estimate begins."""
    found = {}
    for name in catalog().training_step.values:
        known = max((known for known in START if name.startswith(known)), key=len, default="")
        if known:
            found[name] = START[known]
    return found


def item_of(row: Row, scenario: Mapping[str, Any], measured: float) -> Item:
    """Return a row as an item; raises SkipError where its scenario is refused."""
    try:
        asked = read_training(scenario, catalog())
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field}") from None
    assert asked.accelerator is not None
    plan, network = asked.plan, asked.network_bytes_per_s
    prepared = prepare(plan, asked.accelerator, network)
    if prepared is None:
        raise SkipError("no rates of the device")
    tokens = plan.micro_batch * plan.accumulation * plan.tokens * plan.layout.data / plan.layout.devices

    def predict(values: Mapping[str, float]) -> float:
        return float(tokens / step_time(prepared, values).total)

    group = (row["source"], asked.accelerator.architecture)
    phase, bucket = training_phase(plan.architecture), training_bucket(plan, asked.accelerator)
    return Item(row["id"], row["source"], group, phase, bucket=bucket, measured=measured, predict=predict)
