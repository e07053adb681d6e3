"""The speed, time and cost of a training scenario, with low and high ends calibrated on measured runs."""

from typing import NamedTuple

from calc.catalog import Catalog
from calc.derivation import Step
from calc.performance.power import unlimited
from calc.performance.token_flops import token_flops
from calc.performance.training_step import peak_rate, prepare, step_time
from calc.performance.training_working import SECONDS, rate_steps, step_steps
from calc.planning.cost import run_cost_of
from calc.planning.measured import TRAINING_SPEED, measured, range_factor, training_bucket, training_phase
from calc.training.reading import Asked
from calc.units import show_count, show_number

MOST_UTILIZATION = 0.99  # of a device's rate: no run does more than all of it
Report = dict[str, object]
Range = dict[str, float]


class Timed(NamedTuple):
    """What a report says of a run's speed and cost, and the working; nothing where the device's rates are unknown."""

    speed: Report | None
    cost: Report | None
    steps: list[Step]


def range_of(value: float, low: float, high: float, *, inverse: bool = False) -> Range:
    """Return low, typical and high of a rate, or of a time that falls as the rate grows.

    >>> range_of(100.0, 0.8, 1.25, inverse=True)
    {'low': 80.0, 'typical': 100.0, 'high': 125.0}
    """
    ends = (1 / high, 1 / low) if inverse else (low, high)
    return {"low": value * ends[0], "typical": value, "high": value * ends[1]}


def timed(asked: Asked, facts: Catalog) -> Timed:
    """Return a run's speed and cost."""
    if asked.accelerator is None:
        return Timed(None, None, [])
    trainer = facts.training_step
    values, plan = trainer.values, asked.plan
    prepared = prepare(plan, asked.accelerator, asked.network_bytes_per_s)
    if prepared is None:
        return Timed(None, None, [])
    found = step_time(prepared, values)
    flops, peak = token_flops(plan), peak_rate(plan, unlimited(asked.accelerator))
    tokens = plan.micro_batch * plan.accumulation * plan.layout.data * plan.tokens
    devices = plan.layout.devices
    rate = tokens / found.total / devices
    sources = measured(facts, TRAINING_SPEED, training_bucket(plan, asked.accelerator)).sources
    factor = range_factor(
        facts, TRAINING_SPEED, engine="training", phase=training_phase(plan.architecture), sources=sources
    )
    utilization = rate * flops.model / peak
    low, high = 1 / factor, min(factor, max(MOST_UTILIZATION / utilization, 1.0))
    speed: Report = {
        "tokens_per_s_per_device": range_of(rate, low, high),
        "step_s": range_of(found.total, low, high, inverse=True),
        "model_flops_utilization": range_of(utilization, low, high),
        "tflops_per_device": range_of(rate * flops.model / 1e12, low, high),
        "hardware_tflops_per_device": range_of(rate * flops.hardware / 1e12, low, high),
        "duration_s": None,
        "step_tokens": tokens,
        "step_shares": {name: seconds / found.total for name, seconds in found.shares.items()},
        "bound_by": found.bound_by,
    }
    steps = [
        *step_steps(found, flops, trainer.source),
        *rate_steps(plan, found, flops, peak, source=trainer.source),
    ]
    if asked.training_tokens:
        duration = asked.training_tokens / (rate * devices)
        speed["duration_s"] = range_of(duration, low, high, inverse=True)
        numbers = f"{show_count(asked.training_tokens)} / ({show_number(rate, SECONDS)} × {show_count(devices)})"
        steps.append(
            Step("Seconds of the run", r"\frac{D}{r \cdot n}", numbers, duration, unit="s", source=trainer.source)
        )
    cost, cost_steps = run_cost_of(
        facts=facts,
        accelerator=asked.accelerator,
        devices=devices,
        tokens_per_s=range_of(rate * devices, low, high),
        tokens=asked.training_tokens,
        price_per_hour=asked.price_per_hour,
        electricity_per_kwh=asked.electricity_per_kwh,
    )
    return Timed(speed, cost, [*steps, *cost_steps])
