"""What a framework does not train is said before anything about its memory, with the source that says so."""

from typing import Any

import pytest

from calc import estimate, plan
from calc.calculators.training_answer import status as training_status
from calc.catalog import catalog
from calc.planning.training_support import trains_in


@pytest.mark.parametrize(
    ("device", "stated", "words"),
    [
        ("A100 80GB", {"precision": "fp8-mixed"}, "8.9 or higher"),
        ("H100", {"precision": "fp8-mixed"}, ""),
        ("L40S", {"precision": "fp8-mixed", "framework": "megatron-lm"}, ""),
        ("V100 32GB", {"method": "lora", "base_weights": "int8"}, "7.5 on"),
        ("T4", {"method": "lora", "base_weights": "int8", "framework": "trl"}, ""),
        ("P40", {"method": "qlora", "framework": "unsloth"}, "Triton"),
        ("P40", {"method": "qlora", "framework": "trl"}, ""),
        ("T4", {"method": "qlora", "framework": "unsloth"}, ""),
        ("T4", {"method": "qlora", "framework": "unsloth", "precision": "bf16"}, "refuses BF16"),
        ("MI300X", {"framework": "nemo"}, "NVIDIA"),
    ],
)
def test_what_keeps_a_run_from_starting(device: str, stated: dict[str, Any], words: str) -> None:
    """A framework, a format of frozen weights or a stated precision that a device does not run is no run that fits."""
    report: Any = estimate({"workload": "training", "model": "llama-3.2-1b", "accelerator": device, **stated})
    assert report["runs"] is (False if words else None)
    assert words in "; ".join(item["message"] for item in report["runs_because"])
    assert ("does-not-run" in {warning["code"] for warning in report["warnings"]}) is bool(words)
    assert training_status(report).startswith("It does not run:") is bool(words)
    assert (report["speed"] is None) is bool(words)


def test_a_framework_is_held_to_what_it_is_built_on() -> None:
    """What Transformers' Trainer may not do, Axolotl may not; a precision that nobody states is no doubt."""
    asked = {"workload": "training", "model": "llama-3.2-1b", "accelerator": "T4", "framework": "axolotl"}
    stated: Any = estimate({**asked, "precision": "bf16-mixed"})
    assert stated["runs"] is None and "does not compute in BF16" in stated["runs_because"][0]["message"]
    assert estimate(asked)["runs_because"] == []


def test_packed_weights_are_not_divided_over_tensor_ranks() -> None:
    """QLoRA on tensor ranks does not run under Transformers, nor under any framework here; LoRA may."""
    asked = {"workload": "training", "model": "llama-3.1-8b", "accelerator": "H100", "parallelism": {"tensor": 2}}
    refused: Any = estimate({**asked, "method": "qlora", "framework": "trl"})
    assert refused["runs"] is False and "bitsandbytes" in refused["runs_because"][0]["message"]
    unnamed: Any = estimate({**asked, "method": "qlora"})
    assert unnamed["runs"] is False and "tensor ranks" in unnamed["runs_because"][0]["message"]
    card = {"want": "layout", "workload": "training", "have": {"accelerator": "rtx-3090", "accelerators": 4}}
    layout: Any = plan({**card, "model": "llama-3.3-70b", "method": "qlora"})
    assert layout["options"] and all(o["scenario"]["parallelism"]["tensor"] == 1 for o in layout["options"])
    told: Any = plan({**card, "model": "llama-3.3-70b", "method": "qlora", "parallelism": {"tensor": 4}})
    assert told["options"] == [] and "tensor ranks" in told["rejected"]["runs"]["nearest"]["lacks"]
    assert estimate({**asked, "method": "lora", "framework": "trl"})["runs_because"] == []


def test_no_plan_trains_on_what_does_not_run() -> None:
    """Nobody is told to train with Unsloth on a Pascal card that holds the run; with TRL it is offered."""
    question = {"want": "models", "workload": "training", "model": "llama-3.2-1b", "method": "qlora"}
    question |= {"have": {"accelerator": "P40"}}
    refused: Any = plan({**question, "framework": "unsloth"})
    assert refused["options"] == [] and "Triton" in str(refused)
    offered: Any = plan({**question, "framework": "trl"})
    assert offered["options"]
    longest = {**question, "want": "limit", "of": "sequence_tokens"}
    assert plan({**longest, "framework": "unsloth"})["options"] == []
    assert plan({**longest, "framework": "trl"})["options"]


@pytest.mark.parametrize(
    ("precision", "framework", "device", "trains"),
    [
        ("bf16-mixed", "megatron-lm", "v100-sxm-32gb", False),  # Transformer Engine needs Ampere for it
        ("bf16-mixed", "megatron-lm", "h100-sxm-80gb", True),
        ("fp16-mixed", "deepspeed", "gtx-1080-ti", False),  # … and DeepSpeed Volta for FP16
        ("fp16-mixed", "deepspeed", "v100-sxm-32gb", True),
        ("fp16-mixed", None, "gtx-1080-ti", True),  # which is a fact of DeepSpeed alone
        ("fp8-mixed", None, "a100-sxm-80gb", False),
        ("fp8-mixed", None, "h100-sxm-80gb", True),
    ],
)
def test_frameworks_train_in_a_precision(precision: str, framework: str | None, device: str, trains: bool) -> None:
    """What is said of a precision counts: a framework's own facts, and those of all frameworks."""
    known = catalog()
    assert trains_in(precision, facts=known, framework=framework, device=known.accelerator(device)) is trains
