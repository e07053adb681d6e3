"""RWKV in its generations: a recurrence in place of attention, in which each token mixes with the one before it."""

from calc.architecture.blocks import FeedForward, Mixer, layer, norms
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE, LINEAR, assemble
from calc.architecture.families.registry import family
from calc.architecture.families.state_space import FP32
from calc.architecture.layers import Architecture, Layer, Recurrence, StateCache
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm

FIRST = "first"  # the kind of the first layer, which has a norm more


RWKV = {"vocab_size": 50277, "hidden_size": 4096, "num_hidden_layers": 32}


@family("rwkv", defaults=RWKV)
def rwkv(config: Config) -> Architecture:
    """RWKV 4 (arXiv:2305.13048): a recurrence in place of attention, LayerNorms, one more before the first layer."""
    hidden = config.hidden()
    inner = config.integer("attention_hidden_size", default=hidden)
    width = config.integer("intermediate_size", default=4 * hidden)
    names = [f"attention.{name}" for name in ("key", "value", "receptance")]
    tensors = mixes("ssm", hidden, *names)
    tensors += tuple(Tensor(f"attention.{name}", "ssm", (inner,), SPLIT_OUT) for name in ("time_decay", "time_first"))
    for name in names:
        tensors += linear(name, "attention", inner, hidden, split=SPLIT_OUT)
    tensors += linear("attention.output", "attention", hidden, inner, split=SPLIT_IN)
    states = (
        StateCache("previous token", (2, hidden)),
        StateCache("weighted sum, its weight and its exponent", (3, inner), FP32),
    )
    mixer = Mixer(tensors, recurrence=Recurrence(inner, 4 * inner), states=states)
    return whole(config, hidden, {FIRST: mixer, LINEAR: mixer}, channel_mix(hidden, width, receptance=True))


def around(hidden: int, kind: tuple[str, ...]) -> Tensors:
    """Return the norms of a layer; the first one also normalises the embedding."""
    first = norm("pre_ln", hidden, bias=True, block="layer_other") if kind[0] == FIRST else ()
    return norms(hidden, "ln1", "ln2", bias=True) + first


def mixes(block: str, hidden: int, *names: str) -> Tensors:
    """Return vectors that say, channel by channel, how a token mixes with the one before it."""
    return tuple(Tensor(f"{name}.mix", block, (1, 1, hidden)) for name in names)


def pair(name: str, hidden: int, rank: int, outputs: int) -> Tensors:
    """Return two matrices of a low rank between them."""
    inner = Tensor(f"attention.{name}_w1", "ssm", (rank, hidden))
    return inner, Tensor(f"attention.{name}_w2", "ssm", (outputs, rank), SPLIT_OUT)


def channel_mix(hidden: int, width: int, *, receptance: bool) -> FeedForward:
    """Return RWKV's feed-forward network, in older generations with a gate on its output."""
    tensors = linear("feed_forward.key", "mlp", width, hidden, split=SPLIT_OUT)
    tensors += linear("feed_forward.value", "mlp", hidden, width, split=SPLIT_IN)
    if receptance:
        tensors += linear("feed_forward.receptance", "mlp", hidden, hidden)
    names = ("feed_forward.key", "feed_forward.receptance") if receptance else ("feed_forward.key",)
    return FeedForward(tensors + mixes("mlp", hidden, *names), width, activation="relu2")


def heads_in(config: Config, inner: int, size: int, name: str) -> int:
    """Return how many heads of a size the inner size has."""
    if inner % size:
        raise config.error(name, f"must divide the inner size {inner}, not be {size}")
    return inner // size


def matrix_states(hidden: int, heads: int, size: int) -> tuple[StateCache, ...]:
    """Return the states of a generation whose heads each keep a matrix: it, and the token before, in both blocks."""
    return StateCache("previous token", (2, hidden)), StateCache("weighted sums", (heads, size, size), FP32)


def whole(config: Config, hidden: int, mixer: dict[str, Mixer], feed: FeedForward) -> Architecture:
    """Put an RWKV together whose layers are alike but for the first."""

    def build(kind: tuple[str, ...]) -> Layer:
        return layer(mixer[kind[0]], feed, *around(hidden, kind), style=GPT_STYLE)

    return assemble(
        config,
        hidden=hidden,
        layers=[(FIRST if index == 0 else LINEAR,) for index in range(config.layers())],
        build=build,
        tied=config.flag("tie_word_embeddings", default=False),
        norm_bias=True,
    )


WIDE = 4096  # from this hidden size on, Finch's low ranks are doubled


@family("rwkv5", "rwkv6", defaults={"vocab_size": 65536})
def eagle(config: Config) -> Architecture:
    """RWKV 5 and 6 (Eagle and Finch, arXiv:2404.05892): heads that keep a matrix; Finch mixes by what it reads."""
    hidden, finch = config.hidden(), config.text("model_type", "") == "rwkv6"
    inner = config.integer("attention_hidden_size", default=hidden)
    size = config.integer("head_size", default=64)
    heads = heads_in(config, inner, size, "head_size")
    width = config.integer("intermediate_size", default=max(int(hidden * 3.5) // 32 * 32, 1))
    names = [f"attention.{name}" for name in ("key", "value", "receptance", "gate")]
    tensors = mixes("ssm", hidden, *names)
    tensors += (Tensor("attention.time_decay", "ssm", (inner,), SPLIT_OUT),)
    tensors += (Tensor("attention.time_faaaa", "ssm", (heads, size), SPLIT_OUT),)
    if finch:
        ranks = 2 if hidden >= WIDE else 1
        tensors += mixes("ssm", hidden, "attention.x", "attention.decay")
        tensors += tuple(Tensor(f"attention.time_maa_{name}", "ssm", (5, 32 * ranks, hidden)) for name in ("w1", "w2"))
        tensors += pair("time_decay", hidden, 64 * ranks, inner)
    for name in names:
        tensors += linear(name, "attention", inner, hidden, split=SPLIT_OUT)
    tensors += linear("attention.output", "attention", hidden, inner, split=SPLIT_IN)
    tensors += norm("attention.ln_x", inner, bias=True, block="ssm")
    states = matrix_states(hidden, heads, size)
    mixer = Mixer(tensors, recurrence=Recurrence(heads, 5 * inner), states=states)
    return whole(config, hidden, {FIRST: mixer, LINEAR: mixer}, channel_mix(hidden, width, receptance=True))


RWKV7 = {"vocab_size": 65536, "head_dim": 64}
RANKS = {"decay_low_rank_dim": 64, "a_low_rank_dim": 64, "v_low_rank_dim": 32, "gate_low_rank_dim": 128}


@family("rwkv7", defaults={**RWKV7, **RANKS})
def goose(config: Config) -> Architecture:
    """RWKV 7 (Goose, arXiv:2503.14456): a delta rule; layers after the first also read the first one's values."""
    hidden, size = config.hidden(), config.integer("head_dim")
    heads = heads_in(config, hidden, size, "head_dim")
    width = config.integer("intermediate_size", default=4 * hidden)
    decay, rate, value, gate = (config.integer(name) for name in RANKS)
    tensors = mixes("ssm", hidden, *(f"attention.{name}" for name in "rwkvag"))
    tensors += tuple(Tensor(f"attention.{name}", "ssm", (hidden,), SPLIT_OUT) for name in ("k_k", "k_a", "r_k"))
    for name, rank in (("decay", decay), ("a", rate)):
        tensors += (*pair(name, hidden, rank, hidden), Tensor(f"attention.{name}_bias", "ssm", (hidden,), SPLIT_OUT))
    tensors += pair("gate", hidden, gate, hidden)
    for name in ("receptance", "key", "value"):
        tensors += linear(f"attention.{name}", "attention", hidden, hidden, split=SPLIT_OUT)
    tensors += linear("attention.output", "attention", hidden, hidden, split=SPLIT_IN)
    tensors += norm("attention.ln_x", hidden, bias=True, block="ssm")
    later = (*pair("value", hidden, value, hidden), Tensor("attention.value_bias", "ssm", (hidden,), SPLIT_OUT))
    first = Mixer(tensors, recurrence=Recurrence(heads, 7 * hidden), states=matrix_states(hidden, heads, size))
    kinds = {FIRST: first, LINEAR: first._replace(tensors=tensors + later)}
    return whole(config, hidden, kinds, channel_mix(hidden, width, receptance=False))
