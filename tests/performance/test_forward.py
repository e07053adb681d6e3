"""A forward pass: its operations for every family, and those of known models worked out by hand."""

import math
from functools import lru_cache

import pytest

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage
from calc.architecture.tensors import Tensor
from calc.catalog import catalog
from calc.memory.budget import Layout
from calc.memory.weights import stage_weights_bytes
from calc.performance.forward import Segment, forward
from calc.performance.operations import Attention, Collective, Counted, Experts, Pointwise, Product, Recurrence
from calc.performance.rank_matrices import NOT_PASSED
from calc.performance.rank_model import RankModel, rank_model
from calc.performance.totals import total_bytes, total_flops, weights_read
from tests.performance.sent import total_sent

ALONE = Layout()
FAMILIES = {}
for model in catalog().models():
    FAMILIES.setdefault(model.config["model_type"], model.id)
MULTIPLIED = ("attention", "ssm", "mlp", "router", "expert", "shared_expert", "shared_expert_gate", "layer_other")


@lru_cache
def read(name: str) -> Architecture:
    """Return the architecture of a model in the catalogue."""
    return read_config(Config(catalog().model(name).config))


def on_rank(name: str, weights: str = "bf16", layout: Layout = ALONE, *, fuses: bool = True) -> RankModel:
    """Return a model on one rank of a layout, its cache in 16 bit."""
    facts, architecture = catalog(), read(name)
    plain = facts.number_format("bf16")
    return rank_model(
        stage=Stage(architecture, 0, architecture.layer_count),
        weights=facts.weights_format(weights),
        group=None,
        keys=plain,
        values=plain,
        element_bytes=2,
        layout=layout,
        fuses=fuses,
    )


def of_kind(operations: tuple[Counted, ...], kind: type) -> list[Counted]:
    """Return the operations of one kind."""
    return [item for item in operations if isinstance(item.operation, kind)]


def name_of(item: Counted) -> str:
    """Return the name of an operation; empty where it has none."""
    return str(getattr(item.operation, "name", ""))


def is_matrix(tensor: Tensor) -> bool:
    """Return whether tokens are multiplied with a tensor: a matrix, blocks of them, a convolution one token wide."""
    blocks = tensor.name.endswith("_gate_weight")
    blocks |= len(tensor.shape) == 3 and tensor.shape[-1] == 1 < tensor.shape[1] and tensor.name.endswith(".weight")
    return blocks or (len(tensor.shape) == 2 and tensor.name.endswith((".weight", ".fn")))


def linear_weights(architecture: Architecture) -> float:
    """Return the elements of all matrices of the layers that one token uses."""
    found = float(sum(t.elements for t in architecture.embeddings if t.block == "other" and is_matrix(t)))
    for kind, count in architecture.kind_counts():
        for tensor in kind.tensors:
            if tensor.reads or (tensor.block in MULTIPLIED and is_matrix(tensor)):
                each = tensor.places * math.prod(tensor.shape)
                found += count * each * (tensor.copies if tensor.active is None else tensor.active)
    return found


@pytest.mark.parametrize("name", FAMILIES.values())
def test_matrices_cost_two_operations_for_each_weight_and_token(name: str) -> None:
    """2 · T · N over the matrices of the layers for every family; what else is multiplied is the head or small."""
    architecture, tokens = read(name), 16
    encoding = tokens if architecture.has_encoder else 0
    operations = forward(on_rank(name), Segment(1, tokens, 0, 0, encoding))
    done = total_flops(operations, Product, Experts)
    fixed = next((c.fixed_tokens for k in architecture.kinds for c in k.caches if c.part == "prompt"), None)
    if fixed is not None:  # the encoder reads 30 s of sound however long the text is
        assert done > 2 * tokens * linear_weights(architecture)
        return
    assert done == pytest.approx(2 * tokens * linear_weights(architecture), rel=5e-3)


@pytest.mark.parametrize("name", FAMILIES.values())
def test_a_pass_over_many_tokens_reads_every_weight(name: str) -> None:
    """All that is stored but tables that are looked up, and towers."""
    architecture, plain = read(name), catalog().number_format("bf16")
    stage = Stage(architecture, 0, architecture.layer_count)
    stored = stage_weights_bytes(stage=stage, tensor_parallel=1, expert_parallel=1, weights=plain)
    for tensor in architecture.embeddings + architecture.head:
        table = tensor.block == "token_embedding" and not architecture.tied
        if table or tensor.block in NOT_PASSED:
            stored -= 2 * tensor.elements
    for kind, count in architecture.kind_counts():
        for tensor in kind.tensors:
            if tensor.block in NOT_PASSED:
                stored -= 2 * count * tensor.elements
            elif tensor.shared:  # read in each layer, and stored once
                stored += 2 * (count - 1) * tensor.elements
    assert on_rank(name).weight_bytes == pytest.approx(stored, rel=1e-9)


def test_a_step_of_llama_is_nine_operations() -> None:
    """Llama 3.1 8B after 999 tokens: 8,030,261,248 parameters less the table's 128,256 × 4,096, and 1,000 entries."""
    read_parameters = 8030261248 - 128256 * 4096
    operations = forward(on_rank("llama-3.1-8b"), Segment(1, 1, 999, 1))
    assert len(operations) == 9
    norms = (2 * 32 + 1) * 4096
    assert weights_read(operations) == 2 * (read_parameters - norms)
    assert total_flops(operations, Product) == 2 * (read_parameters - norms)
    assert total_bytes(operations, Attention) == 1000 * 131072
    names = [item.operation.name for item in of_kind(operations, Product)]
    assert names[:3] == ["self_attn.q_proj+k_proj+v_proj", "self_attn.o_proj", "mlp.gate_proj+up_proj"]


def test_engines_that_join_nothing_multiply_seven_times_a_layer() -> None:
    """The same operations and bytes of weights, in more products."""
    joined, alone = (forward(on_rank("llama-3.1-8b", fuses=fuses), Segment(1, 1, 999, 1)) for fuses in (True, False))
    assert [sum(item.times for item in of_kind(found, Product)) for found in (joined, alone)] == [
        4 * 32 + 1,
        7 * 32 + 1,
    ]
    assert weights_read(joined) == weights_read(alone)
    assert total_flops(joined) == total_flops(alone)


def test_a_prompt_pays_for_the_pairs_of_its_tokens() -> None:
    """Causal attention over 2,000 tokens: 32 layers × 4 × 2,000 × 2,001 / 2 × 32 heads × 128."""
    operations = forward(on_rank("llama-3.1-8b"), Segment(1, 2000, 0, 1))
    assert total_flops(operations, Attention) == 32 * 4 * (2000 * 2001 / 2) * 32 * 128


def test_logits_are_of_the_tokens_that_want_them() -> None:
    """A prompt's last token alone, or all of them."""
    last, every = (forward(on_rank("llama-3.1-8b"), Segment(1, 100, 0, outputs)) for outputs in (1, 100))
    assert total_flops(every, Product) - total_flops(last, Product) == 2 * 99 * 128256 * 4096


def test_of_alike_passes_one_has_logits() -> None:
    """An eighth of a token with logits is one product with the vocabulary in eight passes, of one row each."""
    whole, eighth = (
        next(
            item for item in forward(on_rank("llama-3.1-8b"), Segment(1, 64, 0, outputs)) if name_of(item) == "lm_head"
        )
        for outputs in (1.0, 1 / 8)
    )
    assert whole.operation == eighth.operation
    assert (whole.times, eighth.times) == (1.0, 0.125)


def test_a_batch_reads_the_experts_that_it_touches() -> None:
    """Of 128 experts with 8 a token, one token reads 8, and 16 tokens half of all and a little more."""
    found = [of_kind(forward(on_rank("qwen3-30b-a3b"), Segment(n, 1, 0, 1)), Experts)[0].operation for n in (1, 16)]
    assert [item.touched for item in found] == pytest.approx([8, 128 * 16 / 31])
    assert found[0].weight_bytes == pytest.approx(8 * 3 * 768 * 2048 * 2)
    assert found[1].flops == 16 * 8 * 2 * 3 * 768 * 2048


def test_expert_ranks_share_the_tokens_of_data_ranks() -> None:
    """DeepSeek-V3 on 16 data ranks: 16 experts on each, half a token's eight experts each, and all ranks' tokens."""
    operations = forward(on_rank("deepseek-v3", "fp8", Layout(data=16, expert=16)), Segment(4, 1, 999, 1))
    experts = of_kind(operations, Experts)[0].operation
    assert (experts.tokens, experts.active, experts.experts) == (64, 0.5, 16)
    (sent,) = of_kind(operations, Collective)
    assert sent.operation.kind == "all-to-all" and sent.times == 2 * 58
    alone = forward(on_rank("deepseek-v3", "fp8"), Segment(64, 1, 999, 1))
    assert 16 * experts.flops == of_kind(alone, Experts)[0].operation.flops


def test_experts_have_the_tokens_of_those_ranks_that_read() -> None:
    """Of 16 data ranks two read: their experts have two ranks' tokens, and what is gathered of all is an eighth."""
    model = on_rank("deepseek-v3", "fp8", Layout(data=16, expert=16))
    model = model._replace(expert_ranks=model.expert_ranks._replace(gathers=True))
    few = model._replace(expert_ranks=model.expert_ranks._replace(reading=2))
    passed = Segment(1, 4096, 0, 1)
    all_of_them, some = (forward(found, passed) for found in (model, few))
    tokens = [of_kind(found, Experts)[0].operation.tokens for found in (all_of_them, some)]
    assert tokens == [16 * 4096, 2 * 4096]
    sent = [of_kind(found, Collective)[0].operation.message_bytes for found in (all_of_them, some)]
    assert sent[1] == sent[0] / 8
    assert total_flops(some) < total_flops(all_of_them)


@pytest.mark.parametrize(
    ("name", "asked", "fewer"),
    [
        ("deepseek-v3.2", {"mixing": 142.0, "indexing": 0.0}, 0),
        ("deepseek-v3.2", {"mixing": 0.0, "indexing": 3.0}, 61 * 11),
        ("deepseek-v3", {"mixing": 0.0, "indexing": 3.0}, 0),
        ("deepseek-v4-flash", {"mixing": 142.0, "indexing": 0.0}, -43 * 2 * 140),
    ],
)
def test_engines_join_small_kernels_or_have_more(name: str, asked: dict[str, float], fewer: int) -> None:
    """Of 14 kernels around an indexer three are left in each of 61 layers; each block's streams are mixed by two."""
    model, step = on_rank(name), Segment(1, 1, 999, 1)
    kernels = [
        sum(item.times * item.operation.launches for item in of_kind(forward(found, step), Pointwise))
        for found in (model, model.with_kernels(**asked))
    ]
    assert kernels[0] - kernels[1] == pytest.approx(fewer)


def test_tensor_ranks_divide_the_work_and_add_up_twice_a_layer() -> None:
    """Llama 3.1 8B on four ranks: a fourth of the operations, 64 sums of a token's 4,096 elements."""
    one, four = (forward(on_rank("llama-3.1-8b", layout=Layout(tensor=n)), Segment(8, 1, 999, 1)) for n in (1, 4))
    assert total_flops(four) == total_flops(one) / 4
    sums = next(item for item in of_kind(four, Collective) if item.operation.kind == "all-reduce")
    assert (sums.times, sums.operation.message_bytes) == (64, 8 * 4096 * 2)
    assert total_sent(one) == 0


@pytest.mark.parametrize("name", ["deepseek-v3.2", "glm-5"])
def test_attention_looks_at_what_an_indexer_chose(name: str) -> None:
    """DSA after 8,191 cached tokens: 2,048 vectors of 576 numbers in 16 bit are read, of all 8,192 only index keys.

    By hand for one layer: 128 heads of 1,088 numbers (64 of GLM 5's) over 2,048 entries, 64 (32) heads of the indexer
    of 128 over 8,192. In a prompt of 4,096 the first 2,048 tokens look at all before them, each later one at 2,048.
    """
    model = on_rank(name)
    heads, small = (128, 64) if name == "deepseek-v3.2" else (64, 32)
    looked, index = (
        next(item.operation for item in of_kind(forward(model, Segment(1, 1, 8191, 1.0)), Attention) if found(item))
        for found in (lambda item: item.operation.name != "Indexer", lambda item: item.operation.name == "Indexer")
    )
    assert (looked.flops, looked.bytes) == (2 * 2048 * heads * (576 + 512), 2048 * 576 * 2)
    assert (index.flops, index.bytes) == (2 * 8192 * small * 128, 8192 * 128 * 2)
    prompt = of_kind(forward(model, Segment(1, 4096, 0, 1.0)), Attention)[0].operation
    assert isinstance(prompt, Attention)
    assert prompt.latent and prompt.pairs == 2048 * 2049 / 2 + 2048 * 2048
    assert prompt.bytes == 4096 * 576 * 2


def test_few_tokens_need_no_choice() -> None:
    """Up to as many tokens as an indexer would choose, attention is DeepSeek-V3's, but by other kernels."""
    plain, sparse = (
        next(item.operation for item in of_kind(forward(on_rank(name), Segment(3, 1, 2047, 1.0)), Attention))
        for name in ("deepseek-v3", "deepseek-v3.2")
    )
    assert isinstance(plain, Attention)
    assert plain._replace(chosen=2048) == sparse


def test_latent_attention_looks_at_vectors_in_decoding_and_at_keys_in_a_prompt() -> None:
    """DeepSeek-V3: 128 heads over 576 and 512 numbers of the cached vector, or over keys of 192 and values of 128."""
    decoded = of_kind(forward(on_rank("deepseek-v3"), Segment(1, 1, 4095, 1)), Attention)[0].operation
    assert decoded.latent and (decoded.key_dim, decoded.value_dim) == (576, 512)
    assert decoded.flops == 2 * 4096 * 128 * (576 + 512)
    assert decoded.cache_bytes == 4096 * 576 * 2
    prompt = of_kind(forward(on_rank("deepseek-v3"), Segment(1, 4096, 0, 1)), Attention)[0].operation
    assert not prompt.latent and prompt.flops == 2 * (4096 * 4097 / 2) * 128 * (192 + 128)


def test_a_later_chunk_expands_the_cached_vectors_again() -> None:
    """Keys and values of 4,096 cached tokens: each a product with 512 × 128 · (128 + 128)."""
    operations = forward(on_rank("deepseek-v3"), Segment(1, 2048, 4096, 1))
    again = next(item for item in operations if "cached latent" in item.operation.name)
    assert again.operation.flops == 2 * 4096 * 512 * 128 * 256 and again.times == 61


def test_windows_bound_what_is_looked_at_and_read() -> None:
    """Gemma 3 4B: 29 layers look at 1,024 tokens, 5 at all; a prompt's pairs end at the window too."""
    layers = of_kind(forward(on_rank("gemma-3-4b"), Segment(1, 1, 4095, 1)), Attention)
    assert {(item.times, item.operation.pairs) for item in layers} == {(29, 1024), (5, 4096)}
    assert sum(item.times * item.operation.cache_bytes for item in layers) == (29 * 1024 + 5 * 4096) * 4 * 512 * 2
    prompt = of_kind(forward(on_rank("gemma-3-4b"), Segment(1, 4096, 0, 1)), Attention)
    assert {item.operation.pairs for item in prompt} == {1024 * 1025 / 2 + 3072 * 1024, 4096 * 4097 / 2}


def test_a_prompt_looks_at_entries_that_its_own_tokens_share() -> None:
    """DeepSeek V4 Flash, of 128 tokens an entry: half of a prompt's own entries as a mean, and those before it."""
    model = on_rank("deepseek-v4-flash")
    whole, later = (of_kind(forward(model, Segment(1, 8192, keys, 1)), Attention) for keys in (0, 8192))
    assert 8192 * 8192 / 2 / 128 in {item.operation.pairs for item in whole}
    assert 8192 * (8192 + 8192 / 2) / 128 in {item.operation.pairs for item in later}
    step = of_kind(forward(model, Segment(1, 1, 8191, 1)), Attention)
    assert 8192 / 128 - 1 < min(item.operation.pairs for item in step) <= 8192 / 128


def test_hybrids_read_and_write_a_state_of_fixed_size() -> None:
    """Qwen3-Next: 36 layers with 32 FP32 matrices of 128 × 128 and a convolution, twice, however long the text."""
    for tokens in (10, 10_000):
        (state,) = of_kind(forward(on_rank("qwen3-next-80b-a3b"), Segment(1, 1, tokens, 1)), Recurrence)
        assert state.times == 36
        assert state.operation.bytes == 2 * (32 * 128 * 128 * 4 + 8192 * 4 * 2)


def test_an_encoder_reads_the_prompt_once() -> None:
    """T5: decoding passes no layer of the encoder, and makes no keys of its output again."""
    model = on_rank("t5-base")
    prefill, step = forward(model, Segment(1, 1, 0, 1, 512)), forward(model, Segment(1, 1, 9, 1, 0, 512))
    over = next(item.operation for item in of_kind(step, Attention) if "encoder" in item.operation.name)
    assert over.pairs == 512
    one = next(kind for kind, _ in read("t5-base").kind_counts())
    encoder = 12 * sum(math.prod(t.shape) for t in one.tensors if len(t.shape) == 2)
    keys = 12 * 2 * 768 * 768
    assert total_flops(prefill, Product) - total_flops(step, Product) == 2 * 512 * (encoder + keys)


def test_a_vision_tower_takes_no_text() -> None:
    """Qwen3-VL 2B multiplies text with what Qwen3 1.7B has."""
    assert weights_read(forward(on_rank("qwen3-vl-2b"), Segment(1, 1, 0, 1))) == weights_read(
        forward(on_rank("qwen3-1.7b"), Segment(1, 1, 0, 1))
    )


def test_context_ranks_divide_a_prompt() -> None:
    """Four ranks each do a fourth of a prompt's operations, and of the cache that a decoding token looks at."""
    one, four = (on_rank("llama-3.1-8b", layout=Layout(context=n)) for n in (1, 4))
    prompts = [forward(model, Segment(1, 8192, 0, 0)) for model in (one, four)]
    assert total_flops(prompts[1]) == pytest.approx(total_flops(prompts[0]) / 4)
    steps = [forward(model, Segment(1, 1, 8191, 1)) for model in (one, four)]
    assert total_bytes(steps[1], Attention) == total_bytes(steps[0], Attention) / 4


def test_prompts_and_steps_share_a_pass() -> None:
    """Mixed, tokens of a chunk and of eight sequences are one product, and weights are read once."""
    model = on_rank("llama-3.1-8b")
    chunk, steps = Segment(1, 504, 0, 1), Segment(8, 1, 999, 1)
    mixed = forward(model, chunk, steps)
    assert total_flops(mixed) == pytest.approx(total_flops(forward(model, chunk)) + total_flops(forward(model, steps)))
    assert weights_read(mixed) == weights_read(forward(model, steps))
    assert {item.operation.m for item in of_kind(mixed, Product)} == {512.0, 9.0}


def test_stages_hand_hidden_states_on() -> None:
    """Four stages hand each token on three times."""
    operations = forward(on_rank("llama-3.1-8b", layout=Layout(pipeline=4)), Segment(2, 1, 99, 1))
    assert total_sent(operations, "pipeline") == 3 * 2 * 4096 * 2


def test_a_token_reads_the_biases_of_its_own_experts() -> None:
    """gpt-oss has biases beside each expert's matrices: a token of the 120B reads those of 4 of 128.

    By hand for each of 36 layers in 16 bit: three matrices of 2,880 × 2,880 and 3 × 2,880 numbers beside them.
    """
    experts = of_kind(forward(on_rank("gpt-oss-120b"), Segment(1, 1, 512, 1.0)), Experts)
    assert sum(item.times for item in experts) == 36
    read_bytes = {item.operation.weight_bytes for item in experts if isinstance(item.operation, Experts)}
    assert read_bytes == {4 * 2 * (3 * 2880 * 2880 + 3 * 2880)}


def test_an_engine_that_expands_no_latents_looks_at_them_in_prompts_too() -> None:
    """llama.cpp's prompts look at DeepSeek-V3's 576 numbers of 36,864 tokens, and expand none of the cached ones."""
    expanding = on_rank("deepseek-v3")
    prompt = Segment(1, 4096, 32_768, 1.0)
    found = of_kind(forward(expanding.absorbing(all_looks=True), prompt), Attention)[0].operation
    assert isinstance(found, Attention)
    assert (found.latent, found.kv_heads, found.key_dim, found.value_dim) == (True, 1, 576, 512)
    names = [
        [name_of(item) for item in forward(model, prompt)] for model in (expanding, expanding.absorbing(all_looks=True))
    ]
    assert ["Keys and values of cached latent vectors" in listed for listed in names] == [True, False]
    assert on_rank("llama-3.1-8b").absorbing(all_looks=True) == on_rank("llama-3.1-8b")


def test_an_engine_may_absorb_only_where_an_indexer_chooses() -> None:
    """vLLM's prompts of DeepSeek-V3.2 look at latent vectors even where all of them are chosen; V3's do not."""
    prompt = Segment(1, 1024, 0, 1.0)
    models = [on_rank(name).absorbing(all_looks=False) for name in ("deepseek-v3.2", "deepseek-v3")]
    looks = [item.operation for model in models for item in of_kind(forward(model, prompt), Attention)]
    found = [(look.latent, look.chosen) for look in looks if isinstance(look, Attention)]
    assert found == [(True, 2048), (False, 0), (False, 0)]
