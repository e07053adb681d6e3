"""What families do differently in a layer, beyond its shapes, as their classes in transformers compute it."""

from typing import Any

import pytest

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import (
    AFTER,
    AROUND,
    BEFORE,
    BESIDE,
    LAYER_NORM,
    ON_OUTPUT,
    RMS,
    WIDE_RMS,
    Architecture,
    Attention,
)
from calc.catalog import catalog
from calc.memory.training.recording import record_layer
from calc.memory.training.run import Batch, Choices, Numerics
from calc.performance.rank_matrices import NOT_PASSED
from tests.known import trained_models


def read(name: str, **change: object) -> Architecture:
    """Return a catalogue model's architecture, with changes to its config."""
    return read_config(Config({**catalog().model(name).config, **change}))


def attention_of(name: str, layer: int = 0) -> Attention:
    """Return the attention of one of a model's layers."""
    architecture = read(name)
    found = architecture.kinds[architecture.pattern[layer]].attention
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "place", "norm"),
    [
        ("llama-3.1-8b", BEFORE, RMS),
        ("gpt2", BEFORE, LAYER_NORM),
        ("pythia-1b", BESIDE, LAYER_NORM),
        ("falcon-7b", BESIDE, LAYER_NORM),
        ("gemma-2-9b", AROUND, WIDE_RMS),
        ("olmo-2-7b", ON_OUTPUT, WIDE_RMS),
        ("bert-base", AFTER, LAYER_NORM),
        ("bart-large", AFTER, LAYER_NORM),
        ("opt-350m", AFTER, LAYER_NORM),
        ("opt-125m", BEFORE, LAYER_NORM),
        ("t5-small", BEFORE, RMS),
        ("whisper-large-v3", BEFORE, LAYER_NORM),
        ("gpt-oss-20b", BEFORE, WIDE_RMS),
    ],
)
def test_norms_stand_where_the_family_has_them(name: str, place: str, norm: str) -> None:
    """A norm stands before a block, on its output, on both, or on the sum; BERT and BART have the last."""
    style = read(name).kinds[0].style
    assert (style.place, style.norm) == (place, norm)


ENCODERS = [name for name in catalog().ids("models") if read(name).output_size == 0 and read(name).attention]


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_look_both_ways(name: str) -> None:
    """BERT, ViT, SigLIP and ModernBERT see all tokens; the text side of CLIP and of OWL, Mimi and ColQwen do not."""
    causal = next(attention.causal for kind in read(name).kinds if (attention := kind.attention))
    assert causal is name.startswith(("clip", "owl", "mimi", "colqwen"))


def test_a_translators_decoder_is_causal_and_its_encoder_is_not() -> None:
    """T5's encoder sees the whole text; its decoder what it has written, and over the encoder's output all of it."""
    encoder, decoder = read("t5-small").kinds
    assert encoder.attention is not None and not encoder.attention.causal and encoder.cross is None
    assert decoder.attention is not None and decoder.attention.causal
    assert decoder.cross is not None and not decoder.cross.causal


@pytest.mark.parametrize(
    ("name", "rotary"),
    [
        ("llama-3.1-8b", True),
        ("gpt2", False),
        ("bloom-560m", False),
        ("mpt-7b", False),
        ("t5-small", False),
        ("whisper-large-v3", False),
        ("bert-base", False),
        ("modernbert-base", True),
        ("falcon-7b", True),
    ],
)
def test_positions_are_rotated_or_not(name: str, rotary: bool) -> None:
    """Learned positions, ALiBi and T5's distances rotate nothing."""
    assert (read(name).rotary is not None) is rotary


def test_some_layers_that_see_everything_have_no_positions() -> None:
    """Command R7B rotates in the layers with a window alone."""
    architecture = read("command-r7b")
    assert all(
        kind.attention.rotary == (kind.attention.window_tokens is not None)
        for kind in architecture.kinds
        if kind.attention is not None
    )


def test_one_matrix_for_three_is_known() -> None:
    """Phi 3 and GPT-2 have one matrix for queries, keys and values; Llama has three."""
    assert attention_of("phi-3-mini-4k").fused and attention_of("gpt2").fused
    assert not attention_of("llama-3.1-8b").fused


@pytest.mark.parametrize(
    ("name", "change", "activation", "dropout"),
    [
        ("gpt2", {}, "gelu_new", True),
        ("gpt2", {"resid_pdrop": 0.0}, "gelu_new", False),
        ("opt-125m", {}, "relu", True),
        ("llama-3.1-8b", {}, "silu", False),
        ("t5-small", {}, "relu", True),
        ("gemma-2-9b", {}, "gelu_pytorch_tanh", False),
    ],
)
def test_activation_and_dropout_come_from_the_config(
    name: str, change: dict[str, Any], activation: str, dropout: bool
) -> None:
    """A config's own words win over the defaults of its class."""
    layer = read(name, **change).kinds[0]
    assert (layer.activation, layer.style.dropout) == (activation, dropout)


@pytest.mark.parametrize("name", trained_models())
def test_every_matrix_of_a_layer_is_on_its_tape(name: str) -> None:
    """Training makes a gradient of each matrix of a layer; 3 % are left for what few families have beside blocks.

    Training of layers on grids of their own is refused.
    """
    architecture = read(name)
    choices = Choices(flash=True, mask=False, compiled=False)
    for layer in architecture.kinds:
        tape = record_layer(
            layer=layer,
            hidden=architecture.hidden_size,
            numerics=Numerics(2, 2, 2, 2, autocast=False, adapter=2),
            batch=Batch(1, 64, 64),
            choices=choices,
        )
        made = sum(op.weight_grad_bytes for op in tape.ops) / 2
        matrices = [t for t in layer.tensors if len(t.shape) == 2 and t.name.endswith(".weight")]
        held = sum(t.elements for t in matrices if t.block not in NOT_PASSED)
        assert 0.97 * held <= made <= 1.01 * held + sum(t.elements for t in layer.tensors if len(t.shape) == 1)
