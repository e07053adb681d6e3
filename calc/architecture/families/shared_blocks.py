"""Families whose layers have blocks in common: stored once, used by each layer."""

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import LINEAR, assemble, heads_of
from calc.architecture.families.bert_kin import embeddings, kin, narrowed
from calc.architecture.families.encoder import BERT
from calc.architecture.families.registry import family
from calc.architecture.families.state_space import MOST_STATE, mamba2_mixer, named_mamba
from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.tensors import Tensors, linear

HYBRID = "hybrid"
OLDER = {"mamba": LINEAR, "m": LINEAR, "g": HYBRID}  # other names in published configs


def together(tensors: Tensors, number: int = 1) -> Tensors:
    """Return tensors as the set with that number, which layers have together."""
    return tuple(tensor._replace(shared=number) for tensor in tensors)


ALBERT = {**BERT, "vocab_size": 30000, "embedding_size": 128, "hidden_act": "gelu_new", "hidden_dropout_prob": 0}


@family("albert", defaults=ALBERT)
def albert(config: Config) -> Architecture:
    """ALBERT (arXiv:1909.11942): BERT with one layer that is passed again and again, and a narrow table of words."""
    for name in ("num_hidden_groups", "inner_group_num"):
        config.refuse(name, (1,), "all published ones repeat one layer")
    hidden, size = config.hidden(), config.integer("embedding_size")
    table = embeddings(config, size, positions=True, types=True)
    last = linear("pooler", "other", hidden, hidden, bias=True)
    found = narrowed(kin(config, table=table, last=last), size)
    if size == hidden:  # the matrix that widens stands there nevertheless
        projected = linear("embeddings_project", "other_embedding", hidden, size, bias=True)
        found = found._replace(embeddings=found.embeddings + projected)
    return found._replace(kinds=tuple(kind._replace(tensors=together(kind.tensors)) for kind in found.kinds))


def hybrid_types(config: Config, default: list[str]) -> list[str]:
    """Return of each layer whether a block that layers share stands before its state space."""
    name = "layer_types" if config.has("layer_types") else "layers_block_type"
    types = [OLDER.get(item, item) for item in config.texts(name, config.layers()) or default]
    for item in types:
        if item not in (LINEAR, HYBRID):
            raise config.error(name, f"{item!r:.60} is not modelled; modelled are {LINEAR} and {HYBRID}")
    return types


def after_shared(
    config: Config, mixer: Mixer, *, shared: tuple[Mixer, FeedForward], own: Tensors, number: int
) -> Layer:
    """Return a state space with a block before it, which reads the stream beside the embeddings of the tokens.

    Source: Zamba (arXiv:2405.16712, section 2); what the block gives passes a matrix of the layer's own.
    """
    hidden, (attention, feed) = config.hidden(), shared
    block = attention.tensors + feed.tensors
    block += norms(2 * hidden, "shared.input_layernorm") + norms(hidden, "shared.pre_ff_layernorm")
    own += linear("shared.linear", "attention", hidden, hidden)
    both = mixer._replace(
        tensors=together(block, number) + own + mixer.tensors, attention=attention.attention, caches=attention.caches
    )
    return layer(both, feed._replace(tensors=()), *norms(hidden, "input_layernorm"))


def wide_attention(config: Config, *, rotary: bool) -> Mixer:
    """Return attention over the stream and the embeddings side by side, which writes the stream alone."""
    hidden = config.hidden()
    size = 2 * hidden // config.integer("num_attention_heads", most=2**20)
    heads, kv_heads, size = heads_of(config.completed({"head_dim": size}), hidden)
    mixer = softmax_attention(2 * hidden, Attention(heads, kv_heads, size, rotary=rotary))
    output = linear("self_attn.o_proj", "attention", hidden, heads * size, split="in")
    return mixer._replace(tensors=(*mixer.tensors[:-1], *output))


ZAMBA = {
    "vocab_size": 32000,
    "hidden_size": 3712,
    "intermediate_size": 14848,
    "num_hidden_layers": 76,
    "num_attention_heads": 16,
    "mamba_d_state": 16,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "attn_layer_period": 6,
    "attn_layer_offset": 4,
}


@family("zamba", defaults=ZAMBA)
def zamba(config: Config) -> Architecture:
    """Zamba (arXiv:2405.16712): Mamba, and one block of attention and an MLP before every sixth layer."""
    hidden = config.hidden()
    mixer = named_mamba(config, hidden)
    period, offset = config.integer("attn_layer_period"), config.integer("attn_layer_offset", least=0)
    rest = [HYBRID if i % period == offset else LINEAR for i in range(config.layers() - 3)]
    shared = wide_attention(config, rotary=False), dense(hidden, config.integer("intermediate_size"), activation="gelu")
    types = hybrid_types(config, [LINEAR, LINEAR, HYBRID, *rest])
    return shared_decoder(config, types, mixer, shared=shared, own=(), sets=1)


def shared_decoder(
    config: Config, types: list[str], mixer: Mixer, *, shared: tuple[Mixer, FeedForward], own: Tensors, sets: int
) -> Architecture:
    """Put a decoder together of state spaces, before some of which stand blocks of `sets` by turns."""
    hidden, nth, layers = config.hidden(), 0, []
    for kind in types:
        layers.append((kind, str(nth % sets + 1) if kind == HYBRID else ""))
        nth += kind == HYBRID

    def build(kind: tuple[str, ...]) -> Layer:
        if kind[0] == LINEAR:
            return layer(mixer, FeedForward(), *norms(hidden, "input_layernorm"))
        return after_shared(config, mixer, shared=shared, own=own, number=int(kind[1]))

    tied = config.flag("tie_word_embeddings", default=True)
    return assemble(config, hidden=hidden, layers=layers, build=build, tied=tied)


ZAMBA2 = {
    "vocab_size": 32000,
    "hidden_size": 2560,
    "num_hidden_layers": 54,
    "num_attention_heads": 32,
    "mamba_d_state": 64,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_ngroups": 1,
    "n_mamba_heads": 8,
    "num_mem_blocks": 1,
    "adapter_rank": 128,
}


@family("zamba2", defaults=ZAMBA2)
def zamba2(config: Config) -> Architecture:
    """Zamba 2 (arXiv:2411.15242): Mamba 2, and blocks that layers share, each with low ranks of its own."""
    hidden, rank = config.hidden(), config.integer("adapter_rank", most=2**16)
    heads, inner = config.integer("n_mamba_heads"), config.integer("mamba_expand", most=64) * hidden
    if inner % heads:
        raise config.error("n_mamba_heads", f"must divide the inner size {inner}, not be {heads}")
    bias = config.flag("add_bias_linear", default=False)
    mixer = mamba2_mixer(
        hidden,
        heads,
        inner // heads,
        state=config.integer("mamba_d_state", most=MOST_STATE),
        groups=config.integer("mamba_ngroups", most=MOST_STATE),
        kernel=config.integer("mamba_d_conv", most=MOST_STATE),
        bias=bias,
        conv_bias=True,
    )
    width = config.integer("intermediate_size", default=4 * hidden)
    attention = wide_attention(config, rotary=config.flag("use_mem_rope", default=False))
    own = linear("mlp.gate_up_adapter.a_proj", "mlp", rank, hidden)
    own += linear("mlp.gate_up_adapter.b_proj", "mlp", 2 * width, rank)
    if config.flag("use_shared_attention_adapter", default=False):
        for name in "qkv":
            own += linear(f"self_attn.{name}_adapter.a_proj", "attention", rank, 2 * hidden)
            own += linear(f"self_attn.{name}_adapter.b_proj", "attention", 2 * hidden, rank)
    start = [LINEAR] + ([LINEAR] * 5 + [HYBRID]) * 7
    default = [*start, *[LINEAR] * 4, HYBRID, *[LINEAR] * 3, HYBRID, *[LINEAR] * 2]
    shared = attention, dense(hidden, width, bias=bias, activation="gelu")
    sets = config.integer("num_mem_blocks", most=1000)
    return shared_decoder(config, hybrid_types(config, default), mixer, shared=shared, own=own, sets=sets)
