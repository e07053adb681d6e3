"""A run of training as a plan, for tests of what is computed of it."""

from typing import Any

from calc.catalog import catalog
from calc.memory.training.plan import Plan
from calc.training.reading import read_training

RUN = {"workload": "training", "model": "llama-3.1-8b", "sequence_tokens": 1024, "accelerator": "h100-sxm-80gb"}


def plan_of(**changes: Any) -> Plan:
    """Return a run of Llama 3.1 8B with other fields as a plan."""
    return read_training(RUN | changes, catalog()).plan
