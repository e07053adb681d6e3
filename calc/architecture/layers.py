"""A model as the list of its layers: what each stores, what it computes with, and what it keeps of a sequence."""

from functools import lru_cache
from typing import NamedTuple

from calc.architecture.identity import Same
from calc.architecture.tensors import Tensor

# Which tokens a cache holds: all of a sequence, or where an encoder stands before the decoder, one of the two parts.
WHOLE, PROMPT, OUTPUT = "whole", "prompt", "output"
# Norms: of squares alone, of squares with the weight multiplied in FP32 before the cast back, of mean and deviation.
RMS, WIDE_RMS, LAYER_NORM = "rms", "wide-rms", "layer"
# Where a block's norms stand: on what it reads, on its output before that is added to the stream, on both, on the
# stream after the addition, or on the stream that attention and MLP read side by side.
BEFORE, ON_OUTPUT, AROUND, AFTER, BESIDE = "before", "on-output", "around", "after", "beside"


class Attention(NamedTuple):
    """What one attention layer computes with."""

    heads: int
    kv_heads: int
    head_dim: int
    window_tokens: int | None = None  # None: every earlier token is attended to
    latent: bool = False  # keys and values are made from one compressed vector (MLA, arXiv:2405.04434)
    value_dim: int | None = None  # where it is not the size of a key
    causal: bool = True  # a token sees none that come later
    rotary: bool = True  # queries and keys are rotated by position (arXiv:2104.09864)
    joined: bool = False  # rotated and plain parts of a head are joined anew, heads before tokens in memory
    fused: bool = False  # one matrix gives queries, keys and values
    soft_cap: bool = False  # scores pass a hyperbolic tangent
    wide_softmax: bool = True  # written out, the softmax is FP32; else of the type of the scores
    normed_together: bool = False  # queries and keys are normed over all heads at once
    rotary_dim: int | None = None  # elements of a head that are rotated; None: all of them

    @property
    def rotated(self) -> int:
        """The elements of a head that are rotated: each position has a sine and a cosine for two of them."""
        return (self.rotary_dim or self.head_dim) if self.rotary else 0

    @property
    def kind(self) -> str:
        """The usual name of the head sharing: MHA, GQA, MQA or MLA."""
        if self.latent:
            return "MLA"
        if self.kv_heads == self.heads:
            return "MHA"
        return "MQA" if self.kv_heads == 1 else "GQA"


class Recurrence(NamedTuple):
    """What one state-space or linear-attention layer computes with."""

    heads: int  # what tensor parallelism divides: heads, or channels where there are none
    width: int  # elements of one token that are alive at the widest moment, without the residual stream


class TokenCache(NamedTuple):
    """What a layer keeps of every token it may look back at: `heads` times a key and a value."""

    label: str
    heads: int
    key_dim: int
    value_dim: int  # 0 where one vector serves as key and value
    window_tokens: int | None = None  # of the newest tokens only: a sliding window, or a chunk at its fullest
    stride: int = 1  # tokens that share an entry
    part: str = WHOLE
    fixed_tokens: int | None = None  # an encoder's length that does not depend on the prompt
    chosen: int | None = None  # entries that a token looks at, of all that are held: an indexer chooses them

    def entries(self, tokens: int, prompt_tokens: int) -> int:
        """Return how many entries a sequence of `tokens` has, of which `prompt_tokens` are the prompt.

        >>> TokenCache("keys and values", 4, 256, 256, window_tokens=4096).entries(10_000, 9_000)
        4096
        """
        if self.fixed_tokens is not None:
            return self.fixed_tokens
        held = {WHOLE: tokens, PROMPT: prompt_tokens, OUTPUT: max(tokens - prompt_tokens, 1)}[self.part]
        if self.window_tokens is not None:
            held = min(held, self.window_tokens)
        return held // self.stride


class StateCache(NamedTuple):
    """What a layer keeps of a sequence however long it is; the first dimension is the one that ranks divide."""

    label: str
    shape: tuple[int, ...]
    bits: int | None = None  # None: as the activations


class Style(NamedTuple):
    """What stands around the blocks of a layer."""

    norm: str = RMS
    place: str = BEFORE
    dropout: bool = False  # in training, on the blocks' outputs and on the weights of attention


class Layer(NamedTuple):
    """A kind of layer; a model repeats one kind, or a few in a pattern."""

    tensors: tuple[Tensor, ...]
    attention: Attention | None
    recurrence: Recurrence | None
    caches: tuple[TokenCache, ...]
    states: tuple[StateCache, ...]
    mlp_width: int  # inner width that one token passes: of the MLP, or of its experts and the shared one together
    mlp_gated: bool
    activation: str = "silu"  # by its name in configs
    mlp_fused: bool = False  # one matrix gives the gate and what it opens
    cross: Attention | None = None  # over an encoder's output, after the attention over the layer's own tokens
    norms: tuple[str, ...] = ()  # over the hidden size, in the order in which they are met
    style: Style = Style()
    hidden: int = 0  # its own hidden size, where that is not the model's
    places: int = 1  # of a finer grid that a token stands for, each of which passes the layer


TOWERS = ("vision", "audio")  # blocks of tensors that text does not pass


class FileRules(NamedTuple):
    """What llama.cpp's converter and quantiser do with a family beyond what its shapes say."""

    apart: bool = False  # a fused matrix of queries, keys and values is stored as three
    falcon: bool = False  # the quantiser's rules for Falcon
    seventy: bool = False  # 80 layers are called "70B", which has rules of its own


class Architecture(NamedTuple):
    """A model: embeddings, then layers in order, then the final norm and the output head."""

    family: str
    hidden_size: int
    vocab_size: int
    embeddings: tuple[Tensor, ...]  # the token table first; towers that see or hear stand here too
    kinds: tuple[Layer, ...]
    pattern: tuple[int, ...]  # for each layer the index of its kind
    head: tuple[Tensor, ...]  # without the output matrix where it is the embedding again
    tied: bool
    context_tokens: int | None  # positions the config allows for
    output_size: int  # logits of one position: the vocabulary, classes, or 0 for a model that gives hidden states
    rope_factors: int = 0  # factors of the rotary frequencies, which files of llama.cpp store and no parameter is
    prediction_layers: int = 0  # that draft further tokens, beside the model
    predicting: tuple[Layer, ...] = ()  # what one of them repeats, where it is not what the last layers are
    wide_logits: bool = True  # logits are raised to FP32 before the loss
    files: FileRules = FileRules()
    filled_width: int = 0  # inside of the MLP, as the maker's files in groups of 4 and 8 bits have it, where it is more
    tower: tuple[int, int] | None = None  # layers and width of what sees, where its config has them by these names
    fused_groups: int = 0  # of queries, keys and values that files store as one matrix, each in blocks of its own

    def __hash__(self) -> int:
        """Hash what tells models apart at a glance: an estimate looks up hundreds of stages, and tensors are many."""
        return hash((self.family, self.hidden_size, self.vocab_size, len(self.pattern)))

    @property
    def alone(self) -> "Architecture":
        """The language model without what sees or hears."""
        kept = tuple(tensor for tensor in self.embeddings if tensor.block not in TOWERS)
        return self if len(kept) == len(self.embeddings) else self._replace(embeddings=kept, tower=None)

    @property
    def convolves(self) -> bool:
        """Whether layers work on grids of their own, on whose places windows lie."""
        return any(kind.places > 1 or any(tensor.reads for tensor in kind.tensors) for kind in self.kinds)

    @property
    def layer_count(self) -> int:
        """Number of layers."""
        return len(self.pattern)

    @property
    def attention(self) -> Attention | None:
        """The attention of the first layer that has one."""
        return next((kind.attention for kind in self.kinds if kind.attention is not None), None)

    @property
    def rotary(self) -> Attention | None:
        """The attention of the first layer whose queries and keys are rotated."""
        found = (kind.attention for kind in self.kinds)
        return next((attention for attention in found if attention is not None and attention.rotary), None)

    @property
    def attention_kind(self) -> str:
        """The usual name of the model's attention, as in `Attention.kind`; "none" where no layer has one."""
        return "none" if self.attention is None else self.attention.kind

    @property
    def attention_layers(self) -> int:
        """Number of layers that have attention."""
        return sum(count for kind, count in self.kind_counts() if kind.attention is not None)

    @property
    def writes(self) -> bool:
        """Whether the model writes text token by token; encoders and classifiers pass over theirs once."""
        return self.output_size >= self.vocab_size > 0

    @property
    def has_encoder(self) -> bool:
        """Whether an encoder reads the prompt before a decoder writes."""
        return any(cache.part == PROMPT for kind in self.kinds for cache in kind.caches)

    @property
    def keeps_states(self) -> bool:
        """Whether layers keep states of a sequence that do not grow with it."""
        return any(kind.states for kind in self.kinds)

    @property
    def forgets(self) -> bool:
        """Whether what it keeps of a sequence cannot be cut off at any token: states, or windows."""
        caches = [cache for kind in self.kinds for cache in kind.caches]
        return self.keeps_states or any(cache.window_tokens is not None for cache in caches)

    @property
    def experts(self) -> int:
        """Number of experts in a layer; 0 for a model without."""
        return max(
            (tensor.copies for kind in self.kinds for tensor in kind.tensors if tensor.active is not None), default=0
        )

    def kind_counts(self, first: int = 0, last: int | None = None) -> tuple[tuple[Layer, int], ...]:
        """Return each kind of layer with how often it stands among the layers `first` to `last` (exclusive)."""
        return counted_kinds(Same(self), first, last)


@lru_cache(maxsize=4096)  # an estimate asks for the same of hundreds of stages
def counted_kinds(model: Same[Architecture], first: int, last: int | None) -> tuple[tuple[Layer, int], ...]:
    """Return what `Architecture.kind_counts` does, with the kinds of that very model, not of one that is alike."""
    span = model.value.pattern[first:last]
    return tuple((kind, count) for index, kind in enumerate(model.value.kinds) if (count := span.count(index)))
