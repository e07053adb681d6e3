"""A model as one rank of a layout computes with it: its matrices, attentions and states, each with how often it stands.

What does not depend on the tokens of a pass is made here once; `forward` multiplies it with them.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from calc.architecture.layers import PROMPT, Architecture
from calc.architecture.stages import Stage
from calc.catalog.records import NumberFormat, Weights
from calc.memory.budget import Layout
from calc.memory.weights import sixteen_bit
from calc.performance.expert_ranks import ExpertRanks
from calc.performance.rank_layers import (
    MIXING,
    Look,
    Pointwork,
    Reduction,
    State,
    looks_of,
    pointwork_of,
    reductions_of,
    states_of,
)
from calc.performance.rank_matrices import DECODER, ENCODER, OUTPUTS, ExpertMatrices, Matrix, Stored


class RankModel(NamedTuple):
    """A model on one rank; every part stands with its number of layers."""

    architecture: Architecture
    layout: Layout
    element_bytes: int
    matrices: tuple[tuple[Matrix, int], ...]
    experts: tuple[tuple[ExpertMatrices, int], ...]
    looks: tuple[tuple[Look, int], ...]
    states: tuple[tuple[State, int], ...]
    pointwork: tuple[tuple[Pointwork, int], ...]
    reductions: tuple[tuple[Reduction, int], ...]
    layers: int
    encoder_tokens: int | None  # of every sequence, where they do not depend on the prompt
    expert_ranks: ExpertRanks = ExpertRanks()

    def __hash__(self) -> int:
        """Hash what tells models apart at a glance: each pass that is asked for looks up its operations by it."""
        return hash((self.architecture, self.layout, self.layers, self.matrices[:1], self.expert_ranks))

    def absorbing(self, *, all_looks: bool) -> "RankModel":
        """Return the model for an engine whose prompts look at latent vectors themselves, as decoding does.

        Else those of layers alone whose entries an indexer chooses, though there be fewer than it would choose.
        """
        absorbs = [look.absorbed is not None and (all_looks or look.chosen is not None) for look, _ in self.looks]
        if not any(absorbs):
            return self
        looks = zip(self.looks, absorbs, strict=True)
        return self._replace(looks=tuple((look._replace(absorbs=way), count) for (look, count), way in looks))

    def with_kernels(self, *, mixing: float, indexing: float) -> "RankModel":
        """Return the model for an engine with so many kernels that mix residual streams around a block, and that
        norm, turn and store what latent attention with an indexer looks at; 0: as usual.
        """
        if not (mixing or indexing):
            return self
        pointwork = []
        for work, count in self.pointwork:
            kernels = work.kernels + ((mixing - MIXING) * work.mixes if mixing else 0.0)
            kernels += min(indexing - work.indexing, 0.0) if indexing else 0.0
            pointwork.append((work._replace(kernels=kernels), count))
        return self._replace(pointwork=tuple(pointwork))

    @property
    def has_head(self) -> bool:
        """Whether the output matrix is among these layers."""
        return bool(self.output_names)

    @property
    def output_names(self) -> set[str]:
        """The names of products that make the logits."""
        return {matrix.name for matrix, _ in self.matrices if matrix.rows == OUTPUTS}

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights that a pass over many tokens reads."""
        small = sum(count * work.fixed_bytes for work, count in self.pointwork)
        dense = sum(count * matrix.weight_bytes for matrix, count in self.matrices)
        return small + dense + sum(count * group.weight_bytes for group, count in self.experts)


@lru_cache(maxsize=512)  # devices that are compared compute with the same parts
def rank_model(
    *,
    stage: Stage,
    weights: Weights,
    group: int | None,
    keys: NumberFormat,
    values: NumberFormat,
    element_bytes: int,
    layout: Layout,
    fuses: bool = True,
) -> RankModel:
    """Return a stage's part of a model on one rank of a layout.

    `fuses`: matrices that multiply the same input are one product, as serving engines join query, key and value, gate
    and up. `element_bytes` is an activation's.
    """
    architecture = stage.architecture
    stored = Stored(weights, group, sixteen_bit(keys), layout, fuses=fuses)
    for part, rows in parts_of(stage):
        stored.add(part, rows)
    looks: dict[Look, int] = {}
    states: dict[State, int] = {}
    pointwork: dict[Pointwork, int] = {}
    reductions: dict[Reduction, int] = {}
    for part, rows in parts_of(stage):
        for kind, count in part.kind_counts():
            for look in looks_of(kind, rows, architecture, layout, keys=keys, values=values, stored=stored):
                looks[look] = looks.get(look, 0) + count
            for state in states_of(kind, layout, element_bytes):
                states[state] = states.get(state, 0) + count
            work = pointwork_of(kind, rows, architecture, layout, element_bytes=element_bytes)
            pointwork[work] = pointwork.get(work, 0) + count
            for reduction, times in reductions_of(kind, rows, architecture, element_bytes):
                reductions[reduction] = reductions.get(reduction, 0) + count * times
    pointwork[Pointwork("Small parameters", DECODER, 0.0, stored.small_bytes, kernels=0.0)] = 1
    dense, experts = stored.scaled(stage)
    return RankModel(
        architecture,
        layout,
        element_bytes,
        tuple(dense.items()),
        experts=tuple(experts.items()),
        looks=tuple(looks.items()),
        states=tuple(states.items()),
        pointwork=tuple(pointwork.items()),
        reductions=tuple(reductions.items()),
        layers=stage.last - stage.first,
        encoder_tokens=next(
            (cache.fixed_tokens for kind in architecture.kinds for cache in kind.caches if cache.part == PROMPT), None
        ),
    )


def parts_of(stage: Stage) -> Iterator[tuple[Stage, str]]:
    """Yield a stage's layers with the tokens that pass them: an encoder's come first, where there is one."""
    architecture = stage.architecture
    split = stage.first
    if architecture.has_encoder:
        reads = [not architecture.kinds[index].caches for index in architecture.pattern]
        split = min(max(sum(reads), stage.first), stage.last)
    if split > stage.first:
        yield Stage(architecture, stage.first, split), ENCODER
    if split < stage.last:
        yield Stage(architecture, split, stage.last), DECODER
