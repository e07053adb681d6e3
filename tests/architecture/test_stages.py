"""Splits over devices cover the whole model, and nothing is lost at the edges."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.architecture.stages import Stage, local_share, stages
from calc.networks import FAMILIES
from calc.planning.layout import tensor_degrees
from tests.known import family_configs

BASES = family_configs()
families = st.sampled_from(sorted(FAMILIES))


def architecture_of(family: str) -> Architecture:
    """Return a real architecture of the family."""
    return read_config(Config({**BASES[family], "model_type": family}))


@given(family=families, pipeline=st.integers(1, 12))
def test_stages_cover_every_layer_once(family: str, pipeline: int) -> None:
    """Consecutive stages hold all layers, none twice, and differ by one layer at most."""
    architecture = architecture_of(family)
    found = stages(architecture, pipeline)
    assert [stage.first for stage in found[1:]] == [stage.last for stage in found[:-1]]
    assert (found[0].first, found[-1].last) == (0, architecture.layer_count)
    sizes = [stage.last - stage.first for stage in found]
    assert max(sizes) - min(sizes) <= 1


@given(family=families, pipeline=st.integers(1, 12))
def test_stages_hold_every_tensor(family: str, pipeline: int) -> None:
    """All stages together hold the model's parameters; a tied embedding is held twice when first and last differ."""
    architecture = architecture_of(family)
    if pipeline > architecture.layer_count:
        return

    def held(stage: Stage) -> int:
        return sum(count * tensor.elements for tensor, count in stage.tensors() if not tensor.shared)

    again = architecture.embeddings[0].elements if architecture.tied and pipeline > 1 else 0
    assert sum(map(held, stages(architecture, pipeline))) == held(stages(architecture, 1)[0]) + again


@given(family=families, pipeline=st.integers(1, 12))
def test_a_stage_holds_what_its_layers_share(family: str, pipeline: int) -> None:
    """What layers have in common stands once on each stage that has one of them, and a pass meets it in each layer."""
    architecture = architecture_of(family)
    for stage in stages(architecture, min(pipeline, architecture.layer_count)):
        stored = [tensor for tensor, count in stage.tensors() if tensor.shared and count == 1]
        used = [tensor for kind, _ in stage.kind_counts() for tensor in kind.tensors if tensor.shared]
        assert stored == used
        times = {tensor: stage.uses(tensor, 1) for tensor in used}
        assert all(count <= stage.last - stage.first for count in times.values())


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_tensor_parallel_ranks_cover_every_tensor(family: str) -> None:
    """The shares of all ranks together are at least the whole, and exactly the whole of KV heads that divide evenly."""
    architecture = architecture_of(family)
    for degree in tensor_degrees(architecture):
        for kind in architecture.kinds:
            for tensor in kind.tensors:
                copies, shape = local_share(tensor, degree)
                together = degree * copies * prod(shape)
                assert together >= tensor.elements
                if tensor.units is not None and degree <= tensor.units:
                    assert together == tensor.elements


@given(family=families, expert=st.integers(1, 64))
def test_expert_ranks_cover_every_expert(family: str, expert: int) -> None:
    """Ranks of whole experts hold all of them together, and what is no expert is not divided by them."""
    for kind in architecture_of(family).kinds:
        for tensor in kind.tensors:
            copies, shape = local_share(tensor, 1, expert)
            assert shape == tensor.shape
            if tensor.active is None:
                assert copies == tensor.copies
            else:
                assert expert * copies >= tensor.copies > expert * (copies - 1)
