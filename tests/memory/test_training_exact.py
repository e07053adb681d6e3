"""Training memory against torch itself: whole steps to the byte, and the closed form of a layer."""

import json
from pathlib import Path
from typing import Any

import pytest

from calc import estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.memory.training.recording import record_layer
from calc.memory.training.run import Batch, Choices, Numerics
from tests.known import trained_models

DATA = Path(__file__).parent.parent / "data"
STEPS = json.loads((DATA / "training_step_peaks.json").read_text(encoding="utf-8"))["rows"]
MINI = {
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
}
TINY = {**MINI, "hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 2, "vocab_size": 2000} | {
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
MODELS: dict[str, object] = {
    "llama-tiny": {"config": TINY},
    "llama-mini": {"config": MINI},
    "GPT-2": "gpt2",
    "Llama-3.2-1B": "llama-3.2-1b",
    "Qwen2.5-0.5B": "qwen2.5-0.5b",
}
OPTIMIZERS = {
    "adamw_fused": "adamw",
    "adamw_foreach": "adamw-foreach",
    "sgd": "sgd",
    "sgd_momentum": "sgd-momentum",
    "lion_forloop": "lion",
    "adamw_forloop": "adamw-for-loop",
    "torch_adafactor": "adafactor",
}
# What the tape leaves out: the loss and its weight (8 bytes), positions of a model's own (8 bytes a token), and step
# counters, of which GPT-2 has one where calc has three.
TOLERANCE_BYTES = 8_200
# torch's Adafactor goes from tensor to tensor, and its last update is alive until the next one replaces it.
LOOSE = [row for row in STEPS if (row["optimizer"], row["dtype"]) == ("torch_adafactor", "fp32")]
MODELLED = [row for row in STEPS if row not in LOOSE]


def scenario(row: dict[str, Any]) -> dict[str, object]:
    """Return a measured step as a scenario."""
    return {
        "workload": "training",
        "model": MODELS[row["model"]],
        "precision": {"bf16": "bf16", "fp32": "fp32"}.get(row["dtype"], "bf16-autocast"),
        "optimizer": OPTIMIZERS[row["optimizer"]],
        "attention": "eager" if row["attn"] == "eager" else "flash",
        "padding_mask": row["mask"] == "pad",
        "checkpointing": "full" if row["ckpt"] else "none",
        "micro_batch": row["B"],
        "sequence_tokens": row["S"],
        "keep_logits": row["kept_logits"],
    }


def label(row: dict[str, Any]) -> str:
    """Return a row's name for a test."""
    parts = ("model", "dtype", "attn", "mask", "ckpt", "B", "S", "optimizer")
    return "-".join(str(row[part]) for part in parts)


def tensor_bytes(report: dict[str, Any]) -> int:
    """Return the tensors alive at the peak: no allocator, no context."""
    beyond = ("allocator_reserve", "runtime_context")
    return sum(part["bytes"] for part in report["memory"]["parts"] if part["id"] not in beyond)


def test_most_measured_steps_are_modelled() -> None:
    """Of 77 measured steps all but one are modelled to the byte, and that one is known by how much it is off."""
    assert (len(STEPS), len(MODELLED)) == (77, 76)
    assert all(row["model"] in MODELS and row["optimizer"] in OPTIMIZERS for row in STEPS)


@pytest.mark.parametrize("row", LOOSE, ids=label)
def test_adafactor_also_holds_its_last_update(row: dict[str, Any]) -> None:
    """Adafactor's step holds one matrix more than is modelled: the update of a projection of 256 x 256."""
    report = estimate(scenario(row))
    assert abs(tensor_bytes(report) + 4 * 256 * 256 - row["peak"]) <= TOLERANCE_BYTES


@pytest.mark.parametrize("row", MODELLED, ids=label)
def test_peak_of_a_step_is_torchs(row: dict[str, Any]) -> None:
    """The peak of a whole step agrees with torch's tensors, alive or freed, to a few bytes in gigabytes."""
    report = estimate(scenario(row))
    assert abs(tensor_bytes(report) - row["peak"]) <= TOLERANCE_BYTES


@pytest.mark.parametrize("row", MODELLED, ids=label)
def test_peak_phase_is_torchs(row: dict[str, Any]) -> None:
    """The phase that peaks is torch's; its backward includes the loss's."""
    phase = "optimizer" if row["opt_peak"] >= max(row["bwd_peak"], row["fwd_peak"]) else "backward"
    found = estimate(scenario(row))["memory"]
    assert isinstance(found, dict)
    assert ("optimizer" if found["phase"] == "optimizer" else "backward") == phase


SHAPES = [
    (1, 2048, 4096, 14336, 32, 8, 128),
    (4, 512, 2048, 5632, 32, 4, 64),
    (2, 1000, 896, 4864, 14, 2, 64),
    (1, 77, 5120, 13824, 40, 40, 128),
]


@pytest.mark.parametrize(("sequences", "tokens", "h", "i", "heads", "kv", "d"), SHAPES)
def test_llama_layer_follows_the_closed_form(
    sequences: int, tokens: int, h: int, i: int, heads: int, kv: int, d: int
) -> None:
    """What a layer keeps is the closed form that 840 measured cells agree with, in every way to compute it."""
    config = {
        **MINI,
        "hidden_size": h,
        "intermediate_size": i,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "head_dim": d,
    }
    layer = read_config(Config(config)).kinds[0]
    rows, weights = sequences * tokens, h * (2 * heads * d + 2 * kv * d + 3 * i)
    plain, cast = Numerics(2, 2, 2, 2, False, 2), Numerics(2, 4, 4, 4, True, 4)

    def kept(numerics: Numerics, *, flash: bool = True, mask: bool = False) -> int:
        choices = Choices(flash, mask, compiled=False)
        batch = Batch(sequences, tokens, tokens)
        return record_layer(layer=layer, hidden=h, numerics=numerics, batch=batch, choices=choices).saved_bytes

    inside = 4 * heads * d + 8 * i + 8
    assert kept(plain) == rows * (16 * h + inside + 4 * kv * d + 4 * heads) + 24
    assert kept(cast) == rows * (26 * h + inside + 4 * kv * d + 4 * heads) + 24 + 2 * weights
    repeated = 4 * (heads if heads != kv else kv) * d
    masked = rows * (16 * h + inside + repeated + 4 * heads) + 2 * sequences * tokens**2
    assert abs(kept(plain, mask=True) - masked) <= 24
    assert kept(plain, flash=False) == rows * (16 * h + inside + repeated) + 6 * sequences * heads * tokens**2


@pytest.mark.parametrize(
    ("tensor", "sequence_parallel", "of_stream"), [(1, False, 34), (8, False, 10 + 24 / 8), (8, True, 34 / 8)]
)
def test_gpt_layer_follows_megatrons_formula(tensor: int, sequence_parallel: bool, of_stream: float) -> None:
    """With fused kernels a GPT layer keeps 34 bytes a token and hidden element, divided as in arXiv:2205.05198."""
    config = {
        "model_type": "gpt2",
        "n_embd": 6144,
        "n_head": 64,
        "n_layer": 48,
        "n_positions": 2048,
        "vocab_size": 51200,
    }
    tape = record_layer(
        layer=read_config(Config(config)).kinds[0],
        hidden=6144,
        numerics=Numerics(2, 2, 2, 2, False, 2),
        batch=Batch(4, 2048, 2048, tensor, sequence_parallel),
        choices=Choices(flash=True, mask=False, compiled=True),
    )
    assert tape.saved_bytes == pytest.approx(4 * 2048 * 6144 * of_stream, rel=0.002)


def test_sums_of_the_phases_are_not_the_peak() -> None:
    """Gradients fill while activations drain: Llama 3.1 8B at 2,048 tokens needs 65.1 GB, not 79.0."""
    asked = {"workload": "training", "model": "llama-3.1-8b", "precision": "bf16", "sequence_tokens": 2048}
    assert tensor_bytes(estimate(asked)) / 1e9 == pytest.approx(65.1, abs=0.05)
    several = estimate({**asked, "gradient_accumulation": 2})
    assert tensor_bytes(several) / 1e9 == pytest.approx(81.1, abs=0.05)


def test_every_catalogue_model_can_be_trained() -> None:
    """Every model of the catalogue has an answer whose parts add up, but those whose training is refused."""
    for name in trained_models():
        memory = estimate({"workload": "training", "model": name, "sequence_tokens": 256})["memory"]
        assert isinstance(memory, dict)
        assert sum(part["bytes"] for part in memory["parts"]) == memory["device_bytes"]
