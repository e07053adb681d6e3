"""The memory of one device during inference: what is alive in each phase of a forward pass, and which phase peaks."""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from calc.architecture.layers import Architecture, TokenCache
from calc.architecture.stages import Stage
from calc.catalog.records import NumberFormat, Weights
from calc.memory.activations import logits_bytes, stage_width
from calc.memory.drafts import Draft, held_by
from calc.memory.kv_cache import sequence_bytes, stage_entries
from calc.memory.prefix import Prefix, shared_bytes
from calc.memory.recurrent_state import stage_state_bytes
from calc.memory.weights import stage_weights_bytes

if TYPE_CHECKING:
    from calc.memory.served_adapters import ServedAdapters

LAYER_PHASE, HEAD_PHASE = "layer", "head"
PROMPT_TOKENS, OUTPUT_TOKENS = 2048, 256  # of a sequence where nobody says how long they are


class Layout(NamedTuple):
    """How many ways each kind of parallelism divides the work."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    context: int = 1
    expert: int = 1  # ranks taken out of tensor × data, not added to them

    @property
    def devices(self) -> int:
        """Number of devices."""
        return self.tensor * self.pipeline * self.data * self.context


class Demand(NamedTuple):
    """What is asked of the devices: a model in a number format, and the sequences it serves at once."""

    architecture: Architecture
    weights: Weights
    group: int | None  # weights in groups of another size than the format's own
    keys: NumberFormat
    values: NumberFormat
    sequences: int
    tokens: int  # of one sequence in the cache when it is longest
    prompt_tokens: int
    batched_tokens: int  # tokens that one forward pass works on
    all_logits: bool  # logits of every prompt position, not of the last one only
    prefix: Prefix = Prefix()  # what prompts find in the cache
    draft: Draft | None = None  # what drafts tokens ahead
    adapters: "ServedAdapters | None" = None  # that are served beside the model
    videos: bool = True  # a model that sees is shown videos, too
    longest: int = 0  # tokens of a text that a server is started for, where that decides anything
    balances_experts: bool | None = None  # a balancer places experts by what they have to do; None: as guides have it

    @property
    def cache_formats(self) -> tuple[str, str]:
        """Number formats in which keys and values are kept."""
        return self.keys.id, self.values.id

    @property
    def activation_bytes(self) -> int:
        """Bytes of one element of the activations: computation is 16 bit unless the weights are FP32."""
        return 4 if isinstance(self.weights, NumberFormat) and self.weights.bits == 32 else 2

    @property
    def read_tokens(self) -> int:
        """Tokens of a prompt that are read: those that are not found in the cache."""
        return self.prompt_tokens - self.prefix.found(self.prompt_tokens)

    def sequences_on(self, layout: Layout) -> int:
        """Sequences on the fullest data-parallel rank."""
        return -(-self.sequences // layout.data)

    def batch_on(self, layout: Layout) -> int:
        """Tokens of a forward pass on the fullest rank: no more than its prompts, over the context ranks."""
        prompts = self.sequences_on(layout) * self.read_tokens
        return -(-min(self.batched_tokens, prompts) // layout.context)

    def logit_positions(self, layout: Layout) -> int:
        """Positions whose logits are kept at once."""
        return self.sequences_on(layout) * (self.prompt_tokens if self.all_logits else 1)


class Budget(NamedTuple):
    """Bytes on one device: what stays, and what each phase adds."""

    weights: int
    kv_cache: int
    sequence: int  # of a sequence's cache
    shared: int  # of that, what all have in common and is held once
    recurrent_state: int
    phases: dict[str, dict[str, int]]  # phase: {"activations": bytes, "logits": bytes}
    draft_weights: int = 0
    draft_cache: int = 0  # of what drafts, and states to go back to
    adapters: int = 0  # that are served

    @property
    def peak_phase(self) -> str:
        """The phase in which most is alive."""
        return max(self.phases, key=lambda phase: sum(self.phases[phase].values()))

    @property
    def total(self) -> int:
        """Bytes at the peak."""
        return self.held + sum(self.phases[self.peak_phase].values())

    @property
    def held(self) -> int:
        """Bytes that stay in every phase."""
        return self.weights + self.kv_cache + self.recurrent_state + self.beside + self.draft_cache

    @property
    def beside(self) -> int:
        """Bytes of weights that stand beside the model's: of what drafts, and adapters."""
        return self.draft_weights + self.adapters


class Load(NamedTuple):
    """What a device of a pipeline stage holds however many sequences there are and however long they become."""

    stage: Stage
    weights: int
    entries: tuple[tuple[TokenCache, int], ...]  # each kind of cache, with the bytes of one entry in all its layers
    state: int  # bytes of recurrent state of one sequence
    width: int  # elements of one token at the widest moment of a layer


def stage_load(*, demand: Demand, stage: Stage, layout: Layout) -> Load:
    """Return what the fullest device of a pipeline stage holds; numbers of sequences and tokens do not matter to it."""
    return known_load(
        stage=stage,
        tensor_parallel=layout.tensor,
        expert_parallel=layout.expert,
        weights=demand.weights,
        group=demand.group,
        key_format=demand.keys,
        value_format=demand.values,
        activation_bytes=demand.activation_bytes,
    )


@lru_cache(maxsize=4096)  # a search asks for the same stages again and again, and so does a reader who moves a slider
def known_load(
    *,
    stage: Stage,
    tensor_parallel: int,
    expert_parallel: int,
    weights: Weights,
    group: int | None,
    key_format: NumberFormat,
    value_format: NumberFormat,
    activation_bytes: int,
) -> Load:
    """Return what the fullest device of a pipeline stage holds."""
    return Load(
        stage=stage,
        weights=stage_weights_bytes(
            stage=stage,
            tensor_parallel=tensor_parallel,
            expert_parallel=expert_parallel,
            weights=weights,
            group=group,
        ),
        entries=stage_entries(
            stage=stage, tensor_parallel=tensor_parallel, key_format=key_format, value_format=value_format
        ),
        state=stage_state_bytes(stage=stage, tensor_parallel=tensor_parallel, activation_bytes=activation_bytes),
        width=stage_width(stage=stage, tensor_parallel=tensor_parallel).elements,
    )


def load_budget(*, demand: Demand, load: Load, layout: Layout, alike: Budget | None = None) -> Budget:
    """Return the memory of the fullest device of a pipeline stage; `alike` is that of another number of sequences.

    In the layer phase the widest layer's tensors are alive for the batched tokens; in the head phase, on the last
    stage, the final hidden states and the logits are. One is over before the other begins, so their space is shared.
    """
    token_bytes = demand.batch_on(layout) * demand.activation_bytes
    phases = {LAYER_PHASE: {"activations": token_bytes * load.width, "logits": 0}}
    if load.stage.is_last:
        architecture = load.stage.architecture
        phases[HEAD_PHASE] = {
            "activations": token_bytes * architecture.hidden_size,
            "logits": logits_bytes(architecture=architecture, positions=demand.logit_positions(layout)),
        }
    sequences = demand.sequences_on(layout)
    sequence, shared = (alike.sequence, alike.shared) if alike else cache_of(demand, load, layout)
    cache, state = sequence * sequences - shared * (sequences - 1), load.state * sequences
    found = Budget(load.weights, cache, sequence, shared, recurrent_state=state, phases=phases)
    if demand.adapters is not None:
        from calc.memory.served_adapters import adapters_bytes  # few scenarios ask for it

        added = adapters_bytes(
            load.stage, demand.adapters, tensor_parallel=layout.tensor, expert_parallel=layout.expert
        )
        found = found._replace(adapters=added)
    return found if demand.draft is None else with_drafts(found, demand.draft, demand=demand, load=load, layout=layout)


def cache_of(demand: Demand, load: Load, layout: Layout) -> tuple[int, int]:
    """Return the bytes of a sequence's cache on a device, and of that what all sequences have in common."""
    entries, tokens, ranks = load.entries, demand.tokens, layout.context
    whole = sequence_bytes(entries=entries, tokens=tokens, prompt_tokens=demand.prompt_tokens, context_parallel=ranks)
    held = demand.prefix.held_tokens
    return whole, shared_bytes(entries=entries, tokens=tokens, shared_tokens=held, context_parallel=ranks)


def with_drafts(budget: Budget, draft: Draft, *, demand: Demand, load: Load, layout: Layout) -> Budget:
    """Return a budget with what speculation holds beside the model."""
    held = held_by(
        draft,
        stage=load.stage,
        tokens=demand.tokens,
        prompt_tokens=demand.prompt_tokens,
        tensor_parallel=layout.tensor,
        expert_parallel=layout.expert,
        key_format=demand.keys,
        value_format=demand.values,
        activation_bytes=demand.activation_bytes,
    )
    sequences = demand.sequences_on(layout)
    return budget._replace(draft_weights=held.weights, draft_cache=held.sequence * sequences)
