"""What holds for every family in any size: blocks add up, ties count once, splits cover the whole, caches grow."""

from math import prod
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_active, parameters_by_block, parameters_total
from calc.architecture.stages import local_share, stages
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.memory.kv_cache import stage_sequence_bytes
from calc.memory.recurrent_state import stage_state_bytes
from calc.networks import FAMILIES
from calc.planning.layout import tensor_degrees
from tests.known import family_configs

BASES = family_configs()
BF16 = catalog().number_format("bf16")
FACTORS = (1, 2, 3, 4, 8)


def resized(config: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """Return a config with some of its sizes multiplied or divided, also inside of nested ones."""
    sizes = sorted(name for name, value in config.items() if type(value) is int and value > 0)
    chosen = data.draw(st.lists(st.sampled_from(sizes), max_size=3)) if sizes else []
    found = dict(config)
    for name in chosen:
        found[name] = max(found[name] * data.draw(st.sampled_from(FACTORS)) // data.draw(st.sampled_from(FACTORS)), 1)
    for name, value in config.items():
        if isinstance(value, bool):
            found[name] = data.draw(st.booleans()) if data.draw(st.booleans()) else value
        elif isinstance(value, dict):
            found[name] = resized(value, data)
    return found


@st.composite
def architectures(draw: st.DrawFn) -> Architecture | None:
    """Draw an architecture of any family in sizes that nobody published; None where they do not go together."""
    family = draw(st.sampled_from(sorted(FAMILIES)))
    config = resized({**BASES[family], "model_type": family}, draw(st.data()))
    try:
        return read_config(Config({**config, "model_type": family}))
    except ScenarioError:
        return None


@given(architecture=architectures())
def test_blocks_add_up_and_ties_count_once(architecture: Architecture | None) -> None:
    """Blocks add up to the total, a token uses no more than all, and a tied output matrix is not there twice."""
    if architecture is None:
        return
    blocks = parameters_by_block(architecture)
    total = parameters_total(architecture)
    assert sum(blocks.values()) == total
    assert 0 < parameters_active(architecture) <= total
    assert all(count > 0 for count in blocks.values())
    if architecture.tied:
        assert blocks.get("lm_head", 0) in (0, architecture.vocab_size)
        assert blocks["token_embedding"] == architecture.embeddings[0].elements
    elif architecture.output_size == architecture.vocab_size and architecture.vocab_size:
        matrix = architecture.vocab_size * architecture.hidden_size
        assert blocks["lm_head"] in (matrix, matrix + architecture.vocab_size)
    assert (architecture.experts > 0) == (parameters_active(architecture) < total or "expert" in blocks)


@given(architecture=architectures(), degree=st.integers(1, 16), expert=st.sampled_from([1, 2, 4]))
def test_ranks_cover_every_tensor(architecture: Architecture | None, degree: int, expert: int) -> None:
    """The shares of all ranks together are at least the whole, whether experts are divided or kept whole."""
    if architecture is None or degree not in tensor_degrees(architecture) or degree % expert:
        return
    for tensor, _ in stages(architecture, 1)[0].tensors():
        copies, shape = local_share(tensor, degree, expert)
        assert degree * copies * prod(shape) >= tensor.elements
        assert copies <= tensor.copies
        assert all(local <= whole for local, whole in zip(shape, tensor.shape, strict=True))


@given(
    architecture=architectures(), prompt=st.integers(1, 10**6), output=st.integers(0, 10**6), more=st.integers(1, 99)
)
def test_more_tokens_never_cache_less(architecture: Architecture | None, prompt: int, output: int, more: int) -> None:
    """Neither a longer prompt nor a longer answer shrinks a cache, and states do not depend on either."""
    if architecture is None:
        return
    stage = stages(architecture, 1)[0]

    def cached(read: int, written: int) -> int:
        return stage_sequence_bytes(
            stage=stage,
            tokens=read + written,
            prompt_tokens=read,
            tensor_parallel=1,
            key_format=BF16,
            value_format=BF16,
        )

    assert cached(prompt, output) <= cached(prompt + more, output)
    assert cached(prompt, output) <= cached(prompt, output + more)
    assert stage_state_bytes(stage=stage, tensor_parallel=1, activation_bytes=2) >= 0
