"""What reports and repairs say of a case, by hand: the bucket of a run, the text of a repair, an engine's formats."""

import re
from typing import Any

import pytest

from calc import estimate
from calc.catalog import catalog
from calc.planning.measured import training_bucket
from calc.planning.usual_engine import format_of_bits
from calc.training.reading import read_training

FACTS = catalog()


@pytest.mark.parametrize(
    ("method", "precision", "bucket"),
    [
        ("full", "bf16-mixed", "full_hopper-data-center_bf16_dense"),
        ("full", "fp8-mixed", "full_hopper-data-center_fp8_dense"),
        ("full", "fp32", "full_hopper-data-center_fp32_dense"),
        ("lora", "bf16-mixed", "adapters_hopper-data-center_bf16_dense"),
    ],
)
def test_the_bucket_of_a_training_run(method: str, precision: str, bucket: str) -> None:
    """Runs with adapters are like runs with adapters, on devices of one generation, in one class of formats."""
    asked = {"workload": "training", "model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "method": method}
    read = read_training({**asked, "precision": precision}, FACTS)
    assert training_bucket(read.plan, read.accelerator) == bucket


def test_a_shorter_text_is_said_in_tokens() -> None:
    """The message has the number of the change, and the change fits."""
    asked = {
        "model": "llama-3.1-8b",
        "weights": "bf16",
        "accelerator": "rtx-4090",
        "engine": "llama.cpp",
        "context_tokens": 131072,
    }
    report: Any = estimate(asked)
    (repair,) = [one for one in report["repairs"] if "context_tokens" in one["change"]]
    tokens = repair["change"]["context_tokens"]
    assert f"{tokens:,} tokens" in re.sub(r"\s", " ", repair["message"])
    shorter: Any = estimate(asked | {"context_tokens": tokens})
    assert shorter["memory"]["fits"] and not report["memory"]["fits"]


@pytest.mark.parametrize(
    ("engine", "bits", "name"),
    [
        ("llama.cpp", 16, "bf16"),
        ("vllm", 8, "fp8"),
        ("vllm", 4, "awq"),
        ("llama.cpp", 4, "q4_k_m"),
        ("llama.cpp", 1, None),
    ],
)
def test_the_format_of_so_many_bits(engine: str, bits: int, name: str | None) -> None:
    """The gentlest of an engine's formats with no more bits; a mixture counts by its base, and the last is below."""
    record = FACTS.engine(engine)
    assert format_of_bits(record, bits, FACTS) == (name or record.formats[-1])
