"""A forward pass as the list of its operations: part of a prompt, a decoding step, both mixed, or training."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from calc.architecture.routing import experts_touched
from calc.architecture.stages import Stage
from calc.memory.budget import Demand, Layout
from calc.performance.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, SEND
from calc.performance.operations import Attention, Collective, Counted, Experts, Pass, Pointwise, Product, Recurrence
from calc.performance.rank_layers import Look
from calc.performance.rank_matrices import DECODER, ENCODED, ENCODER, OUTPUTS, ExpertMatrices
from calc.performance.rank_model import RankModel, rank_model

TENSOR, PIPELINE, DATA, CONTEXT, EXPERT = "tensor", "pipeline", "data", "context", "expert"
MOST_ABSORBED = 8  # new tokens of a sequence up to which latent attention looks at the cached vectors themselves
LOGIT_BYTES = 6.0  # of one logit: written in 16 bit, read, and written as FP32


class Segment(NamedTuple):
    """Sequences of a pass that are alike: each has `queries` new tokens after `keys` that are cached."""

    sequences: float
    queries: int
    keys: int
    outputs: float  # new tokens of each whose logits are wanted
    encoding: int = 0  # tokens of each that an encoder reads in this pass
    encoded: int = 0  # tokens of each whose keys a decoder has from an encoder


def rank_of(stage: Stage, demand: Demand, layout: Layout, *, fuses: bool = True) -> RankModel:
    """Return some layers of a demand's model on one rank."""
    return rank_model(
        stage=stage,
        weights=demand.weights,
        group=demand.group,
        keys=demand.keys,
        values=demand.values,
        element_bytes=demand.activation_bytes,
        layout=layout,
        fuses=fuses,
    )


@lru_cache(maxsize=1024)  # devices that are compared do the same work
def forward(model: RankModel, *segments: Segment) -> Pass:
    """Return the operations of a pass over segments on one rank: products are of all together, attention of each.

    Messages that stages of a pipeline send stand in it too. Tokens of a prompt are divided over the context ranks, and
    the keys that a decoding token looks at.
    """
    context, tokens = model.layout.context, tokens_of(model, segments)
    found = list(products(model, tokens))
    found += [Counted(experts_of(group, model, tokens[DECODER]), count) for group, count in model.experts]
    for look, count in model.looks:
        for segment in segments:
            found += [Counted(item, count) for item in attentions(look, segment, context, model.element_bytes)]
    for state, count in model.states:
        for segment in segments:
            passed, sequences = segment.sequences * segment.queries, segment.sequences
            flops, size = passed * state.token_flops, sequences * state.sequence_bytes
            found.append(
                Counted(Recurrence("State", state.kind, passed, sequences, flops=flops, state_bytes=size), count)
            )
    for work, count in model.pointwork:
        if tokens[work.rows] or work.fixed_bytes:
            moved = tokens[work.rows] * work.token_bytes + work.fixed_bytes
            found.append(Counted(Pointwise(work.name, moved, work.kernels), count))
    if tokens[OUTPUTS] and model.architecture.output_size and model.has_head:
        logits = tokens[OUTPUTS] * model.architecture.output_size / model.layout.tensor
        found.append(Counted(Pointwise("Logits", logits * LOGIT_BYTES, 1.0), 1))
    return (*found, *messages(model, segments, tokens))


def products(model: RankModel, tokens: dict[str, float]) -> Iterator[Counted]:
    """Yield the products with matrices that all tokens of a kind pass."""
    for matrix, count in model.matrices:
        m, times = tokens[matrix.rows] * matrix.places, float(count)
        if 0.0 < m < 1.0:  # of several passes that are alike, one has it
            m, times = 1.0, times * m
        if m:
            moved = m * (matrix.n + (matrix.reads or matrix.k)) * model.element_bytes
            product = Product(
                matrix.name,
                m,
                matrix.n,
                matrix.k,
                kernel=matrix.kernel,
                weight_bytes=matrix.weight_bytes,
                io_bytes=moved,
            )
            yield Counted(product, times)


def tokens_of(model: RankModel, segments: tuple[Segment, ...]) -> dict[str, float]:
    """Return the tokens of a pass on one rank, by which of the matrices they are multiplied with."""
    passed = dict.fromkeys((DECODER, ENCODER, ENCODED, OUTPUTS), 0.0)
    for segment in segments:
        passed[DECODER] += segment.sequences * segment.queries / divided(segment, model.layout.context)
        passed[OUTPUTS] += segment.sequences * segment.outputs
        encoding = segment.encoding and (model.encoder_tokens or segment.encoding)
        passed[ENCODER] += segment.sequences * encoding
        passed[ENCODED] += segment.sequences * encoding
    return passed


def divided(segment: Segment, context: int) -> int:
    """Return over how many context ranks the new tokens are divided; where they are too few, their keys are."""
    return context if segment.queries >= context else 1


def experts_of(group: ExpertMatrices, model: RankModel, tokens: float) -> Experts:
    """Return the routed experts' products. Expert ranks are tensor ranks, or join the tokens of several data ranks."""
    layout = model.layout
    together = tokens * model.expert_ranks.replicas(max(1, layout.expert // layout.tensor))
    active = group.active / layout.expert
    share = experts_touched(experts=group.total, active=group.active, tokens=together) / group.total
    rows = together * active
    moved = rows * (2.0 * group.k + (group.matrices - 1) * 2.0 * group.n) * model.element_bytes
    return Experts(
        name=group.name,
        tokens=together,
        touched=group.experts * share,
        experts=group.experts,
        active=active,
        n=group.n,
        k=group.k,
        matrices=group.matrices,
        kernel=group.kernel,
        weight_bytes=group.weight_bytes * share,
        io_bytes=moved,
        ranks=layout.expert,
        balanced=model.expert_ranks.balanced,
    )


def attentions(look: Look, segment: Segment, context: int, element_bytes: int) -> list[Attention | Product]:
    """Return the attention of one segment over one kind of cache.

    New tokens of a prompt stand on all context ranks alike: each rank's look back at half of the others' as a mean. A
    latent vector is expanded to keys and values for many new tokens at once; where cached ones come before them, those
    are expanded again. Where each token looks at entries that an indexer chose, it looks at the vectors themselves, as
    all do under an engine that expands none.
    """
    queries, keys = float(segment.queries * look.places), float(segment.keys * look.places)
    if look.rows == ENCODER:
        queries, keys = float(segment.encoding and (look.fixed or segment.encoding)), 0.0
    if look.fixed is not None or look.over == ENCODED:
        keys = (look.fixed or segment.encoded or segment.encoding) - queries
    if not queries:
        return []
    window = look.window
    parts = divided(segment, context)
    if parts > 1:
        whole, queries = queries, queries / parts
        keys += (whole - queries) / (2.0 if look.causal else 1.0)
    elif context > 1:
        keys = (keys + queries) / context - queries
    entries = (keys + queries) / look.stride
    keys, causal = shared_keys(look, queries, keys)
    if window is not None:
        entries = min(entries, window + queries - 1)
    chooses = look.chosen is not None and look.chosen < entries
    if look.chosen is not None and chooses:
        window, entries = look.chosen, min(entries, queries * look.chosen)
    key, value, kv_heads, latent = look.key_dim, look.value_dim, look.kv_heads, False
    found: list[Attention | Product] = []
    if look.absorbed is not None and (segment.queries <= MOST_ABSORBED or chooses or look.absorbs):
        (key, value), kv_heads, latent = look.absorbed, 1, True
    elif look.expansion is not None and segment.keys:
        n, k, kernel, stored = look.expansion
        m = segment.sequences * keys
        moved = m * (n + k) * element_bytes
        found.append(
            Product(
                "Keys and values of cached latent vectors", m, n, k, kernel=kernel, weight_bytes=stored, io_bytes=moved
            )
        )
    found.append(
        Attention(
            name=look.name,
            sequences=segment.sequences,
            queries=queries,
            keys=keys,
            heads=look.heads,
            kv_heads=kv_heads,
            key_dim=key,
            value_dim=value,
            causal=causal,
            window=window,
            latent=latent,
            kernel=look.kernel,
            cache_bytes=segment.sequences * entries * look.entry_bytes,
            chosen=(look.chosen or 0) if latent else 0,
        )
    )
    return found


def shared_keys(look: Look, queries: float, keys: float) -> tuple[float, bool]:
    """Return the keys before new tokens, and whether these look at no later ones, where tokens may share an entry.

    Of its own tokens, too, a prompt then looks at entries that are shared: each token at half of those as a mean.
    """
    if look.stride == 1:
        return keys, look.causal
    return (keys + queries / (2.0 if look.causal else 1.0)) / look.stride - queries, False


def messages(model: RankModel, segments: tuple[Segment, ...], tokens: dict[str, float]) -> list[Counted]:
    """Return what ranks send each other in a pass.

    Tensor ranks add up what `reductions_of` lists and gather logits. Expert ranks of several data ranks send each token
    to its experts and back (arXiv:2006.16668); within the tensor ranks, the sum after a block serves the experts too.
    Context ranks gather keys and values of a prompt, or add up what a decoding token found.
    """
    layout, architecture = model.layout, model.architecture
    row = float(architecture.hidden_size * model.element_bytes)
    found: list[Counted] = []
    if layout.tensor > 1:
        for (name, rows, token_bytes), count in model.reductions:
            if size := tokens[rows] * token_bytes:
                found.append(Counted(Collective(name, ALL_REDUCE, size, layout.tensor, group=TENSOR), count))
        size = tokens[OUTPUTS] * architecture.output_size * model.element_bytes
        if size:
            found.append(
                Counted(Collective("Logits of tensor ranks", ALL_GATHER, size, layout.tensor, group=TENSOR), 1)
            )
    if layout.expert > layout.tensor:
        for group, count in model.experts:
            found += exchanged(group, model, tokens=tokens[DECODER] / layout.tensor, layers=count)
    if layout.context > 1:
        found += context_messages(model, segments)
    if layout.pipeline > 1:
        item = Collective("Hidden states to the next stage", SEND, tokens[DECODER] * row, 2, group=PIPELINE)
        found.append(Counted(item, layout.pipeline - 1))
    return found


def exchanged(group: ExpertMatrices, model: RankModel, *, tokens: float, layers: int) -> list[Counted]:
    """Return how tokens of a rank get to the experts of layers on others, and what these answer back, in 16 bit."""
    ranks, way = model.layout.expert, model.expert_ranks
    there = tokens * group.k * way.sent_bytes(group.kernel, model.element_bytes)
    back = tokens * group.k * model.element_bytes
    if way.gathers:
        senders = way.senders(ranks, ranks // model.layout.tensor)
        gathered = Collective("All tokens to all experts", ALL_GATHER, senders * there, ranks, group=EXPERT)
        summed = Collective("Sum of what experts answer", REDUCE_SCATTER, senders * back, ranks, group=EXPERT)
        return [Counted(gathered, layers), Counted(summed, layers)]
    name, copies = "Tokens to experts and back", way.copies(group.active, ranks)
    sizes = {there: 2} if there == back else {there: 1, back: 1}
    return [
        Counted(Collective(name, ALL_TO_ALL, copies * size, ranks, group=EXPERT), times * layers)
        for size, times in sizes.items()
    ]


def context_messages(model: RankModel, segments: tuple[Segment, ...]) -> list[Counted]:
    """Return what context ranks send each other."""
    ranks, found = model.layout.context, []
    for look, count in model.looks:
        for segment in segments:
            if divided(segment, ranks) > 1:
                size = segment.sequences * segment.queries * look.entry_bytes / look.stride
                found.append(Counted(Collective("Keys and values", ALL_GATHER, size, ranks, group=CONTEXT), count))
            else:
                value = look.absorbed[1] if look.absorbed else look.value_dim
                size = segment.sequences * segment.queries * look.heads * value * model.element_bytes
                found.append(Counted(Collective("Parts of attention", ALL_REDUCE, size, ranks, group=CONTEXT), count))
    return found
