"""The CUDA graphs that vLLM records when it starts: for how many sizes of a step, and what they hold."""

from calc.memory.engines.vllm_tower import tower_of
from calc.memory.runtime import Amount, Case, constant

SUMS = 2  # of what tensor ranks have, in a layer


def set_aside(case: Case, graphs: int) -> int:
    """Return what the share has for graphs when the cache is sized: from 0.21 on, and nothing under one runner."""
    engine, architecture = case.engine, case.stage.architecture
    if not engine.values["graphs_in_share"]:
        return 0
    since = engine.second_runner.get(architecture.family) or engine.second_runner.get("dense")
    second = since and engine.lacks("counts_graphs_of_second_runner") and not engine.before(since)
    if second and not (architecture.experts or case.budget.recurrent_state or tower_of(case.stage)):
        return 0
    return round(graphs * engine.values["graphs_estimated"]) if engine.lacks("sets_graphs_aside") else graphs


def graph_amount(case: Case, sequences: int) -> Amount:
    """Return the CUDA graphs: what all share, and the nodes of each layer in each of them.

    Graphs are captured for pieces of steps of up to twice as many tokens as sequences may run, and whole for decoding
    steps of as many; of no more than 512 either way, or what a scenario lets it record. Before V1 there were none for
    pieces. Where tokens are drafted, a sequence has all of them in a step. Where NCCL adds up what ranks have, a graph
    keeps both sums of a layer, too.
    Source: vLLM's `_set_cudagraph_sizes`.
    """
    shared = case.on_device("graphs", lambda case: constant(case, "cuda_graphs", "CUDA graphs", "cuda_graphs"))
    each = case.engine.values.get("cuda_graph_layer")
    if not each:
        return shared
    if case.layout.tensor > 1 and case.joined_by_pcie:
        each += SUMS * case.engine.values.get("captured_sum", 0)
    layers, most = case.stage.last - case.stage.first, case.engine.whole("captured_sequences")
    draft = case.demand.draft
    tokens = sequences * (1 + draft.tokens if draft else 1)
    graphs = captured(min(tokens, most))
    if case.engine.values["graph_pieces"]:
        graphs += captured(min(2 * tokens, most))
    return Amount(
        id=shared.id,
        label=shared.label,
        bytes=shared.bytes + round(layers * graphs * each),
        formula=r"M_{\text{shared}} + L \cdot n_{\text{graphs}} \cdot M_{\text{layer}}",
        template="{} + {} × {} × {}",
        numbers=(shared.bytes, layers, graphs, each),
        scope=shared.scope,
        source=shared.source,
    )


def captured(tokens: int) -> int:
    """Return for how many sizes up to so many tokens, and no more than 512, graphs are captured.

    >>> captured(8), captured(256), captured(2048)
    (4, 35, 51)
    """
    most = min(tokens, 512)
    few = min(most.bit_length(), 3)  # of 1, 2 and 4
    return few + min(most, 248) // 8 + max((most - 240) // 16, 0)  # every 8 until 248, every 16 from 256 on
