"""What layers have on one rank, by the configs of known models: looks of attention, states, small work, messages."""

from typing import Any

import pytest

from calc.catalog import catalog
from calc.memory.budget import Layout
from calc.memory.stored_weights import whole_model
from calc.performance.collectives import ALL_GATHER, ALL_REDUCE
from calc.performance.forward import Segment, forward
from calc.performance.operations import Collective
from calc.performance.rank_layers import STATE_FLOPS, Look
from calc.performance.rank_model import RankModel, rank_model
from calc.scenario.model import known_architecture

FACTS = catalog()
BF16 = FACTS.number_format("bf16")


def rank_of(model: str, **degrees: int) -> RankModel:
    """Return a rank of a model in 16 bit."""
    stage = whole_model(known_architecture(FACTS, model))
    return rank_model(
        stage=stage, weights=BF16, group=None, keys=BF16, values=BF16, element_bytes=2, layout=Layout(**degrees)
    )


def looks(model: str, tensor: int = 1) -> dict[Look, int]:
    """Return the attentions of a model on one of so many tensor ranks, each with its number of layers."""
    return dict(rank_of(model, tensor=tensor).looks)


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


@pytest.mark.parametrize("tensor", [1, 8])
def test_an_indexer_is_on_every_rank(tensor: int) -> None:
    """DeepSeek V3.2: all 64 heads of 128 that choose are on each rank, whatever divides the others."""
    found = {look.name: look for look in looks("deepseek-v3.2", tensor)}
    indexer = found["Indexer"]
    assert (indexer.heads, indexer.kv_heads, indexer.key_dim, indexer.value_dim) == (64, 1, 128, 0)
    assert (found["Attention"].heads, found["Attention"].chosen) == (128 // tensor, 2048)


@pytest.mark.parametrize("tensor", [1, 2])
def test_states(tensor: int) -> None:
    """Mamba 2.8B: a convolution of 4 over 5,120 channels, and 16 FP32 numbers of each, both read and written."""
    channels = 5120 // tensor
    ((state, layers),) = rank_of("mamba-2.8b", tensor=tensor).states
    assert layers == 64
    assert state.token_flops == 2 * 4 * channels + STATE_FLOPS * 16 * channels
    assert state.sequence_bytes == 2 * (16 * channels * 4 + 4 * channels * 2)


@pytest.mark.parametrize("tensor", [1, 4])
def test_work_on_each_element(tensor: int) -> None:
    """Llama 3.1 8B: both blocks on the stream and what is added to it, queries and keys, the MLP's three parts."""
    work, layers = rank_of("llama-3.1-8b", tensor=tensor).pointwork[0]
    elements = 2 * 4 * 4096 + 2 * (32 + 2 * 8) * 128 // tensor + 3 * 14336 // tensor
    assert (layers, work.token_bytes, work.kernels) == (32, 2 * elements, 2 + 2 + 1)


def test_each_norm_is_a_kernel() -> None:
    """Gemma 3 norms blocks on both sides, queries and keys; Phi-2 has one norm for two blocks that add."""
    work, layers = rank_of("gemma-3-12b").pointwork[0]
    elements = 2 * 4 * 3840 + 2 * 2 * 3840 + 2 * 2 * (16 + 2 * 8) * 256 + 3 * 15360
    assert (layers, work.token_bytes, work.kernels) == (48, 2 * elements, 2 + 2 + 3 + 1)
    kernels = {"qwen3-8b": 2 + 3 + 1, "gemma-4-26b-a4b": 7 + 3 + 1, "phi-2": 2 + 2 + 1}
    assert {model: rank_of(model).pointwork[0][0].kernels for model in kernels} == kernels


@pytest.mark.parametrize(
    ("model", "segment", "kind", "expected"),
    [
        # Keys and values of new tokens go round: 2 × 8 × 128 elements of each, 2 × 1,024 tokens.
        ("llama-3.1-8b", Segment(2, 1024, 0, 1), ALL_GATHER, {2 * 1024 * 4096: 32}),
        # Of entries that 4 or 128 tokens share a token sends its part; the indexer's are a quarter as wide.
        (
            "deepseek-v4-flash",
            Segment(1, 1024, 0, 1),
            ALL_GATHER,
            {1024 * 1024: 43, 1024 * 1024 // 4: 21, 1024 * 256 // 4: 21, 1024 * 1024 // 128: 20},
        ),
        # Three drafted tokens cannot be divided by four: each rank looks at its keys, and 32 heads of 128 are added up.
        ("llama-3.1-8b", Segment(64, 3, 8192, 3), ALL_REDUCE, {64 * 3 * 32 * 128 * 2: 32}),
        ("deepseek-v3", Segment(4, 1, 4096, 1), ALL_REDUCE, {4 * 128 * 512 * 2: 61}),
    ],
)
def test_messages_of_context_ranks(model: str, segment: Segment, kind: str, expected: dict[int, int]) -> None:
    """Four ranks send keys and values of a prompt that they divide, and parts of attention where its keys are."""
    sent = [item for item in forward(rank_of(model, context=4), segment) if isinstance(item.operation, Collective)]
    assert {item.operation.kind for item in sent} == {kind}  # type: ignore[union-attr]
    assert {item.operation.message_bytes: item.times for item in sent} == expected  # type: ignore[union-attr]
