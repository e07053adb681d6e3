"""vLLM: a share of the whole device; what a profiling run leaves of it becomes the cache."""

from typing import NamedTuple

from calc.catalog.records import Accelerator, Engine
from calc.memory.device_sizes import by_size
from calc.memory.engines.vllm_experts import expert_padding, expert_workspace, passing_rows
from calc.memory.engines.vllm_graphs import graph_amount, set_aside
from calc.memory.engines.vllm_latent import latent_amount
from calc.memory.engines.vllm_links import driver_amount, joins_others, links_amounts
from calc.memory.engines.vllm_pages import block_bytes, reading_bytes
from calc.memory.engines.vllm_tables import absorbed_copies, position_tables, split_outputs
from calc.memory.engines.vllm_tower import tower_amounts
from calc.memory.pool import with_pool
from calc.memory.runtime import (
    ALLOCATED,
    Amount,
    Case,
    Runtime,
    corrected,
    held_amounts,
    total,
)


def vllm(case: Case) -> Runtime:
    """Return vLLM's memory of a device.

    $M_{pool} = f \\cdot M_{device} - M_{weights} - M_{profile} - M_{links}$. The profiling run passes as many tokens
    as a step may hold, then samples for as many sequences as may run. The context of the driver lies outside of the
    share, and so did CUDA graphs until 0.21, which are captured afterwards. Source: `determine_available_memory`.
    Where a large device's default of sequences leaves no room for a single one, that of a small one is taken, as an
    operator would set it, and as images start whose sampler is FlashInfer's, whether or not there is room then; a limit
    that is stated is kept. Where
    layers keep states, each sequence that may run needs a block of the cache for them, or it does not start
    (`resolve_cudagraph_mode_and_sizes`).
    """
    found = start_of(case)
    state = case.budget.recurrent_state + found.apart
    amounts = held_amounts(case, weights=found.weights, cache=found.cache, state=state) + found.step.all
    return with_pool(
        case,
        amounts,
        pool=None if found.limit is None else max(found.limit - found.fixed, 0),
        limit=found.limit,
        fixed=found.fixed,
        formula=r"\max(f \cdot M_{\text{device}} - M_{\text{fixed}} - M_{\text{cache}}, 0)",
        room=max(found.sequences * state_block(case), found.reading),
        sequences=found.sequences,
    )


class Start(NamedTuple):
    """What vLLM holds from its start on, when at most so many sequences may run."""

    sequences: int
    weights: int
    cache: int  # of all sequences, as it is paged
    step: "StepAmounts"
    fixed: int  # bytes of its share that are no cache
    limit: int | None  # of its share; None without a device
    apart: int = 0  # of states that are set aside for sequences beyond those that are asked for
    reading: int = 0  # of the blocks that one sequence takes while it is read

    def has_room(self, case: Case) -> bool:
        """Return whether one sequence fits; without a device, it does."""
        kept = self.cache + case.budget.recurrent_state + case.budget.draft_cache
        one = kept - (case.sequences - 1) * kept // case.sequences
        return self.limit is None or self.fixed + max(one + self.apart, self.reading) <= self.limit


def start_of(case: Case) -> Start:
    """Return vLLM with `max_num_seqs` as stated, or the device's default, or a small one's where one then fits.

    Where the cache has fewer blocks for states than the default has sequences, it is what the error asks for: as many.
    """
    weights = case.once("weights", loaded_weights)
    cache = case.paged_cache(case.engine.whole("block_tokens"))
    reading, limit = case.once("reading", lambda case: reading_bytes(case, case.once("step tokens", step_tokens))), None
    if case.visible is not None:
        share = case.engine.values["memory_fraction"] if case.fraction is None else case.fraction
        limit = int(share * case.visible)

    def start(sequences: int) -> Start:
        step = step_amounts(case, sequences)
        fixed = weights + case.budget.beside + total(step.inside) + set_aside(case, step.graphs.bytes)
        more = max(sequences - case.sequences, 0) if case.engine.lacks("caches_states") else 0
        apart = more * case.load.state
        return Start(sequences, weights, cache, step, fixed=fixed, limit=limit, apart=apart, reading=reading)

    if case.slots is not None:
        return start(case.slots)
    found = start(running_sequences(case))
    if not found.has_room(case):
        found = start(max(case.engine.whole("sequences"), case.sequences))
    block = state_block(case)
    if limit is None or not block or found.fixed + found.sequences * block <= limit:
        return found
    return start(max((limit - found.fixed) // block, case.sequences))


def loaded_weights(case: Case) -> int:
    """Return the weights with what is made beside them as they are loaded."""
    return case.budget.weights + expert_padding(case) + position_tables(case) + absorbed_copies(case)


def state_block(case: Case) -> int:
    """Return the bytes of a block that holds a sequence's states, in all layers of a group; 0 where none is needed.

    Only what records graphs of whole steps asks for a block for each sequence.
    """
    if not (case.budget.recurrent_state and case.engine.values.get("state_blocks") and case.engine.graphs):
        return 0
    return block_bytes(case)


def fewer_sequences(case: Case, runtime: Runtime) -> int | None:
    """Return the sequences that vLLM starts with where its default does not start; None where that does, or none do."""
    starts = runtime.limit is None or runtime.needed <= runtime.limit
    if case.engine.id != "vllm" or case.slots is not None or not starts:
        return None
    limit = runtime.sequences
    return limit if limit < default_sequences(case.engine, case.accelerator) else None


def default_sequences(engine: Engine, accelerator: Accelerator | None) -> int:
    """Return the engine's own `max_num_seqs` on a device: more on a large one."""
    return round(by_size(engine.values, "sequences", accelerator))


def running_sequences(case: Case) -> int:
    """Return the sequences that a step may have: as the engine is set up, or its default and what is asked for."""
    usual = case.on_device("sequences", lambda case: default_sequences(case.engine, case.accelerator))
    return case.slots or max(usual, case.sequences)


def step_tokens(case: Case) -> int:
    """Return the tokens of the largest step: as stated, the engine's own number, or a whole text where none is cut.

    Versions before V1 read prompts whole, up to a length from which they cut them, and of any length at first.
    """
    if case.batched_tokens is not None:
        return case.batched_tokens
    usual, tokens = round(by_size(case.engine.values, "batched_tokens", case.accelerator)), case.demand.tokens
    whole = tokens <= case.engine.values.get("whole_prompt", 0) or case.engine.lacks("cuts_prompts")
    return max(usual, tokens) if whole else usual


def counted_amounts(case: Case, sequences: int) -> list[Amount]:
    """Return what counts as held by the profiling run: its tensors, for a time with what its allocator had besides.

    What the driver no longer had free was used then, and not what PyTorch had given out
    (`determine_num_available_blocks`).
    """
    found = profile_amounts(case, sequences)
    if case.engine.lacks("counts_unused") or not case.engine.lacks("counts_tensors"):
        return found
    first, share, held = found[0], case.engine.values["unused_blocks"], total(found)
    counted = first._replace(
        bytes=first.bytes + round(share * held),
        formula=rf"{first.formula} + u \cdot M_{{\text{{profile}}}}",
        template=f"{first.template} + {{}} × {{}}",
        numbers=(*first.numbers, share, held),
    )
    return [counted, *found[1:]]


def profile_amounts(case: Case, sequences: int) -> list[Amount]:
    """Return what the profiling run holds at its peak: what sees, or after it the language model beside its outputs."""
    tokens = case.once("step tokens", step_tokens)
    tower, seen_bytes = tower_amounts(case, step_tokens=tokens, sequences=sequences)
    language = language_amounts(case, sequences, tokens)
    if tower is not None and tower.bytes > total(language) + seen_bytes:
        return [tower]
    if not seen_bytes:
        return language
    first = language[0]
    kept = first._replace(
        bytes=first.bytes + seen_bytes,
        formula=rf"{first.formula} + M_{{\text{{seen}}}}",
        template=f"{first.template} + {{}}",
        numbers=(*first.numbers, seen_bytes),
    )
    return [kept, *language[1:]]


def language_amounts(case: Case, sequences: int, tokens: int) -> list[Amount]:
    """Return what a language model is profiled with: its widest layer, or the sampler with its sorted logits.

    Or it is latent attention that reads a piece of a context.

    `sequences` may run at most: the sampler is profiled with all of them, or one for each of a step's `tokens`.
    """
    values, architecture, size = case.engine.values, case.stage.architecture, case.demand.activation_bytes
    width = case.load.width
    experts = expert_workspace(case)
    streams = 2 * architecture.hidden_size + experts
    width = max(width, streams, 2 * architecture.hidden_size + max(passing_rows(case), split_outputs(case)))
    if values.get("layer_input"):
        width += architecture.hidden_size  # what a layer was given, which the loop over layers holds until it is done
    layers = tokens * width * size
    context = latent_amount(case, sequences, tokens=tokens, beside=streams)
    sequences = min(sequences, tokens)
    outputs = architecture.output_size if case.stage.is_last else 0
    hidden = tokens * (architecture.hidden_size + experts) * size
    logits = round(sequences * outputs * values["sampler_logit_bytes"])
    if context is not None and context.bytes > max(layers, hidden + logits):
        return [context]
    if layers >= hidden + logits:
        numbers = (tokens, width, size)
        return [
            Amount(
                id="activations",
                label="Activations",
                bytes=layers,
                scope=ALLOCATED,
                formula=r"T \cdot w \cdot b",
                template="{} × {} × {}",
                numbers=numbers,
                source=case.engine.source,
            )
        ]
    source = case.engine.coefficient("sampler_logit_bytes").source
    return [
        Amount(
            id="activations",
            label="Activations at the output matrix, and the workspace of experts",
            bytes=hidden,
            scope=ALLOCATED,
            formula=r"T \cdot (h + w_{\text{experts}}) \cdot b",
            template="{} × ({} + {}) × {}",
            numbers=(tokens, architecture.hidden_size, experts, size),
            source=case.engine.source,
        ),
        Amount(
            id="logits",
            label="Logits and their sorting in the sampler",
            bytes=logits,
            scope=ALLOCATED,
            formula=r"n_{\text{seq}} \cdot V \cdot b_{\text{sampler}}",
            template="{} × {} × {}",
            numbers=(sequences, outputs, values["sampler_logit_bytes"]),
            source=source,
        ),
    ]


class StepAmounts(NamedTuple):
    """What an engine holds beside weights and cache: of a step, for the links, recorded graphs, and the driver's."""

    profile: list[Amount]
    links: list[Amount]
    graphs: Amount
    context: Amount

    @property
    def inside(self) -> list[Amount]:
        """What is always in the share of the device."""
        return [*self.profile, *self.links]

    @property
    def all(self) -> list[Amount]:
        """All of them."""
        return [*self.inside, self.graphs, self.context]


def step_amounts(case: Case, sequences: int) -> StepAmounts:
    """Return what an engine that serves holds beside weights and cache when at most so many sequences run.

    How many are asked for does not matter to it.
    """
    joined, family = joins_others(case), case.stage.architecture.family
    return case.once(
        ("step", sequences),
        lambda case: StepAmounts(
            corrected(case, counted_amounts(case, sequences)),
            case.on_device(("links", joined, family), lambda case: corrected(case, links_amounts(case))),
            corrected(case, [graph_amount(case, sequences)])[0],
            case.on_device(("driver", joined), lambda case: corrected(case, [driver_amount(case)])[0]),
        ),
    )
