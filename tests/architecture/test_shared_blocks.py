"""Blocks that layers have in common are stored once, and used by each layer."""

from functools import lru_cache

import pytest

from calc import estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_active, parameters_total
from calc.architecture.stages import stages
from calc.catalog import catalog
from calc.memory.weights import stage_weights_bytes
from calc.performance.token_flops import forward_flops

ALBERT_LAYER = 7_087_872  # 4 · (768² + 768) + 2 · 768 · 3,072 + 3,072 + 768 + 4 · 768


@lru_cache
def architecture(model: str) -> Architecture:
    """Return a catalogue model's architecture."""
    return read_config(Config(catalog().model(model).config))


def test_albert_stores_one_layer() -> None:
    """Twelve layers of ALBERT base are one of 7.1 million parameters, and BERT base has twelve of those."""
    one, twelve = architecture("albert-base"), architecture("bert-base")
    inside = sum(tensor.elements for tensor in one.kinds[0].tensors)
    assert inside == ALBERT_LAYER == sum(tensor.elements for tensor in twelve.kinds[0].tensors)
    assert parameters_total(one) == parameters_active(one) == 11_683_584
    tables = sum(tensor.elements for tensor in one.embeddings + one.head)
    assert parameters_total(one) == tables + ALBERT_LAYER


def test_albert_computes_as_much_as_bert() -> None:
    """A token passes the one layer twelve times, so that ALBERT base is as much work as BERT base."""
    albert, _, looks = forward_flops(architecture("albert-base"), 512)
    bert, _, same = forward_flops(architecture("bert-base"), 512)
    assert looks == same
    assert bert * 0.999 < albert < bert * 1.001


@pytest.mark.parametrize("weights", ["bf16", "awq", "q4_k_m", "q8_0"])
def test_bytes_are_stored_once(weights: str) -> None:
    """Zamba 2.7B takes what its parameters take in a format, not what its uses would."""
    model = architecture("zamba2-2.7b")
    form = catalog().weights_format(weights)
    (whole,) = stages(model, 1)
    size = stage_weights_bytes(stage=whole, tensor_parallel=1, expert_parallel=1, weights=form)
    bits = 8 * size / parameters_total(model)
    assert (
        {"bf16": 15.9, "awq": 4.0, "q4_k_m": 4.4, "q8_0": 8.4}[weights]
        < bits
        < {
            "bf16": 16.1,
            "awq": 6.0,
            "q4_k_m": 5.6,
            "q8_0": 9.0,
        }[weights]
    )


def test_each_stage_of_a_pipeline_has_its_own_copy() -> None:
    """Two stages of Zamba 2 hold both shared blocks each: together more than the model by one of both."""
    model, form = architecture("zamba2-2.7b"), catalog().weights_format("bf16")
    shared = sum(2 * tensor.elements for kind in model.kinds for tensor in kind.tensors if tensor.shared)
    sizes = [
        stage_weights_bytes(stage=stage, tensor_parallel=1, expert_parallel=1, weights=form)
        for stage in stages(model, 2)
    ]
    tied = 2 * model.vocab_size * model.hidden_size
    assert sum(sizes) == 2 * parameters_total(model) + shared + tied


def test_training_has_one_gradient_and_one_state() -> None:
    """AdamW keeps eight bytes a parameter that is stored, and twelve uses make one gradient."""
    report = estimate(
        {"workload": "training", "model": "albert-base", "method": "full", "precision": "fp32", "optimizer": "adamw"}
    )
    parts = {part["id"]: part["bytes"] for part in report["memory"]["parts"]}
    assert report["model"]["parameters_trainable"] == 11_683_584
    assert parts["weights"] == 4 * 11_683_584
    assert 0 <= parts["optimizer_states"] - 8 * 11_683_584 < 1000


def test_a_shared_block_reads_its_own_cache_in_each_layer() -> None:
    """Nine layers of Zamba 2.7B attend, and each keeps keys and values of its own: 32 heads of 160 numbers."""
    model = architecture("zamba2-2.7b")
    assert model.attention_layers == 9
    parts = estimate({"model": "zamba2-2.7b", "context_tokens": 1024, "engine": "none"})["memory"]["parts"]
    cache = next(part["bytes"] for part in parts if part["id"] == "kv_cache")
    assert cache == 9 * 2 * 32 * 160 * 2 * 1024


def test_a_second_layer_group_is_refused() -> None:
    """ALBERT with two groups of layers was never published, and is refused by the name of the field."""
    config = {**catalog().model("albert-base").config, "num_hidden_groups": 2}
    with pytest.raises(Exception, match="num_hidden_groups"):
        read_config(Config(config))
