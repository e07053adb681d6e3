"""Where the parts of a model stand: by hand on a model of few layers, and over the catalogue's mixtures."""

import pytest

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.catalog.records import StoredWeights
from calc.memory.placement import ON_DEVICES, Placement, expert_bytes, widest_bytes
from calc.memory.weights import stage_weights_bytes


def architecture(name: str) -> Architecture:
    """Return a model of the catalogue."""
    return read_config(Config(catalog().model(name).config))


def test_the_last_layers_stand_on_devices() -> None:
    """Eight of 32 are those from 24 on; the host has those before, and with none on devices it works alone."""
    llama = architecture("llama-3.1-8b")
    placement = Placement(8)
    assert placement.first(llama) == 24 and placement.host_layers(llama) == Stage(llama, 0, 24)
    assert placement.on_host and not placement.alone
    assert Placement(0).alone and not ON_DEVICES.on_host and ON_DEVICES.first(llama) == 0


def test_experts_leave_from_the_first_layer_on() -> None:
    """Of the stage of layers 20 to 48 those up to 30 have theirs in the host's memory; none of the stage behind it."""
    qwen = architecture("qwen3-30b-a3b")
    placement = Placement(host_experts=30)
    assert placement.apart(Stage(qwen, 20, 48)) == Stage(qwen, 20, 30)
    assert placement.apart(Stage(qwen, 40, 48)) == Stage(qwen, 40, 40)
    assert placement.apart(Stage(qwen, 0, 10)) == Stage(qwen, 0, 10)


def test_experts_of_a_layer_by_hand() -> None:
    """128 experts of three matrices of 768 × 2,048 in 16 bit; DeepSeek-V3's first three layers are dense."""
    plain = catalog().number_format("bf16")
    qwen, deepseek = architecture("qwen3-30b-a3b"), architecture("deepseek-v3")
    assert expert_bytes(Stage(qwen, 0, 1), plain, None) == 128 * 3 * 768 * 2048 * 2
    assert expert_bytes(Stage(deepseek, 0, 3), plain, None) == 0
    assert expert_bytes(Stage(deepseek, 3, 4), plain, None) == 256 * 3 * 2048 * 7168 * 2


@pytest.mark.parametrize("weights", ["bf16", "q4_k_m", "mxfp4", "awq"])
def test_experts_are_a_part_of_the_weights(weights: str) -> None:
    """What experts take is less than what the layers take, and most of it."""
    model = architecture("gpt-oss-20b")
    stage, stored = Stage(model, 0, model.layer_count), catalog().weights_format(weights)
    whole = stage_weights_bytes(stage=stage, tensor_parallel=1, expert_parallel=1, weights=stored)
    assert 0.5 * whole < expert_bytes(stage, stored, None) < whole


def test_experts_of_a_file_are_their_share_of_its_layers() -> None:
    """A file that gives sums alone: 100 bytes of layers, nine tenths of whose parameters are experts, and more."""
    model = architecture("qwen3-30b-a3b")
    file = StoredWeights(embeddings=1, layers=1000, head=1)
    every = expert_bytes(Stage(model, 0, model.layer_count), file, None)
    assert 930 < every < 990
    assert expert_bytes(Stage(model, 0, 24), file, None) == pytest.approx(every / 2, abs=1)


def test_the_widest_matrix_is_all_experts_of_a_layer() -> None:
    """In a dense model it is one of the MLP; no layers have none."""
    plain = catalog().number_format("bf16")
    qwen, llama = architecture("qwen3-30b-a3b"), architecture("llama-3.1-8b")
    assert widest_bytes(Stage(qwen, 0, 2), plain, None, experts_alone=True) == 128 * 768 * 2048 * 2
    assert widest_bytes(Stage(llama, 0, 2), plain, None, experts_alone=False) == 14336 * 4096 * 2
    assert widest_bytes(Stage(llama, 0, 2), plain, None, experts_alone=True) == 0
    assert widest_bytes(Stage(llama, 0, 0), plain, None, experts_alone=False) == 0
