"""What attention looks at on one rank, by the configs of known models: heads, widths, windows, and latent vectors."""

from typing import Any

import pytest

from calc.catalog import catalog
from calc.memory.budget import Layout
from calc.memory.stored_weights import whole_model
from calc.performance.rank_layers import Look
from calc.performance.rank_model import rank_model
from calc.scenario.model import known_architecture

FACTS = catalog()
BF16 = FACTS.number_format("bf16")


def looks(model: str, tensor: int = 1) -> dict[Look, int]:
    """Return the attentions of a model on one of so many tensor ranks, each with its number of layers."""
    stage = whole_model(known_architecture(FACTS, model))
    found = rank_model(
        stage=stage, weights=BF16, group=None, keys=BF16, values=BF16, element_bytes=2, layout=Layout(tensor=tensor)
    )
    return dict(found.looks)


def expected(**fields: Any) -> Look:
    """Return a decoder's attention with these fields."""
    usual: dict[str, Any] = {"name": "Attention", "rows": "decoder", "over": "decoder", "causal": True, "window": None}
    usual |= {"chosen": None, "stride": 1, "fixed": None, "absorbed": None, "expansion": None, "kernel": "bf16"}
    return Look(**{**usual, **fields})


@pytest.mark.parametrize(("tensor", "heads", "kv_heads"), [(1, 32, 8), (4, 8, 2), (16, 2, 1)])
def test_grouped_queries(tensor: int, heads: int, kv_heads: int) -> None:
    """Llama 3.1 8B: 32 heads of 128 look at 8; ranks divide both, and repeat what is fewer than they are."""
    entry = 2 * kv_heads * 128 * 2.0
    one = expected(heads=heads, kv_heads=kv_heads, key_dim=128, value_dim=128, entry_bytes=entry)
    assert looks("llama-3.1-8b", tensor) == {one: 32}


def test_windows() -> None:
    """Gemma 3 12B: five layers of six look back 1,024 tokens, the sixth at all: 16 heads of 256, 8 for keys."""
    whole = expected(heads=16, kv_heads=8, key_dim=256, value_dim=256, entry_bytes=2 * 8 * 256 * 2.0)
    assert looks("gemma-3-12b") == {whole._replace(window=1024): 40, whole: 8}


@pytest.mark.parametrize("tensor", [1, 8])
def test_latent_vectors(tensor: int) -> None:
    """DeepSeek-V3: a token keeps 512 + 64 numbers on each rank, and 128 heads make keys and values of them."""
    heads = 128 // tensor
    rows = heads * (128 + 128)
    one = expected(
        heads=heads,
        kv_heads=heads,
        key_dim=192,
        value_dim=128,
        entry_bytes=576 * 2.0,
        absorbed=(576, 512),
        expansion=(rows, 512, "bf16", rows * 512 * 2.0),
    )
    assert looks("deepseek-v3", tensor) == {one: 61}


def test_an_encoder_and_what_looks_at_it() -> None:
    """T5 large: its encoder looks both ways, its decoder back, and across at the encoder's output."""
    own = expected(heads=16, kv_heads=16, key_dim=64, value_dim=64, entry_bytes=2 * 16 * 64 * 2.0)
    across = own._replace(name="Attention over the encoder's output", over="encoded", causal=False)
    assert looks("t5-large") == {own._replace(rows="encoder", over="encoder", causal=False): 24, own: 24, across: 24}
