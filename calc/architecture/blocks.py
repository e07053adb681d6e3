"""The blocks that layers are made of: attention in its kinds, and feed-forward networks, dense or of experts."""

from typing import NamedTuple

from calc.architecture.layers import WHOLE, Attention, Layer, Recurrence, StateCache, Style, TokenCache
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, linear, norm

RMS_BEFORE = Style()
SILU = "silu"


class Mixer(NamedTuple):
    """The part of a layer that mixes tokens."""

    tensors: tuple[Tensor, ...] = ()
    attention: Attention | None = None
    recurrence: Recurrence | None = None
    caches: tuple[TokenCache, ...] = ()
    states: tuple[StateCache, ...] = ()
    cross: Attention | None = None


class FeedForward(NamedTuple):
    """The part of a layer that works on each token for itself."""

    tensors: tuple[Tensor, ...] = ()
    width: int = 0
    gated: bool = False
    activation: str = SILU
    fused: bool = False


def layer(mixer: Mixer, feed: FeedForward, *others: Tensor, style: Style = RMS_BEFORE) -> Layer:
    """Return the layer made of a mixer, a feed-forward network and further tensors: its norms, as they are met."""
    return Layer(
        tensors=mixer.tensors + feed.tensors + others,
        attention=mixer.attention,
        recurrence=mixer.recurrence,
        caches=mixer.caches,
        states=mixer.states,
        mlp_width=feed.width,
        mlp_gated=feed.gated,
        activation=feed.activation,
        mlp_fused=feed.fused,
        cross=mixer.cross,
        norms=tuple(t.name.removesuffix(".weight") for t in others if t.block == "norm" and t.name.endswith(".weight")),
        style=style,
    )


def norms(hidden: int, *names: str, bias: bool = False) -> tuple[Tensor, ...]:
    """Return a layer's normalisations over the hidden size."""
    return tuple(tensor for name in names for tensor in norm(name, hidden, bias=bias))


def keys_and_values(attention: Attention, part: str = WHOLE, fixed_tokens: int | None = None) -> TokenCache:
    """Return the cache of ordinary attention: a key and a value for each KV head (GQA, arXiv:2305.13245)."""
    size = attention.head_dim
    return TokenCache(
        "keys and values",
        attention.kv_heads,
        size,
        size,
        window_tokens=attention.window_tokens,
        part=part,
        fixed_tokens=fixed_tokens,
    )


def softmax_attention(
    hidden: int,
    attention: Attention,
    *,
    bias: bool = False,
    out_bias: bool | None = None,
    qk_norm: str = "",
    gated: bool = False,
    sinks: bool = False,
    norm_bias: bool = False,
) -> Mixer:
    """Return attention with a matrix each for query, key, value and output, and a cache of keys and values.

    `bias`: all four have one; `out_bias` says it of the output where that differs. `qk_norm` is "head" for one norm
    that all heads share, "each" for one per head, "all" for one over all heads together. `gated`: the query matrix also
    gives a gate on the output. `sinks`: a logit per head that takes attention from all tokens.
    """
    query, keys = attention.heads * attention.head_dim, attention.kv_heads * attention.head_dim
    kv_heads = attention.kv_heads
    tensors = linear("self_attn.q_proj", "attention", query * (2 if gated else 1), hidden, split=SPLIT_OUT, bias=bias)
    tensors += linear("self_attn.k_proj", "attention", keys, hidden, split=SPLIT_OUT, bias=bias, units=kv_heads)
    tensors += linear("self_attn.v_proj", "attention", keys, hidden, split=SPLIT_OUT, bias=bias, units=kv_heads)
    tensors += linear(
        "self_attn.o_proj", "attention", hidden, query, split=SPLIT_IN, bias=bias if out_bias is None else out_bias
    )
    if sinks:
        tensors += (Tensor("self_attn.sinks", "attention", (attention.heads,), SPLIT_OUT),)
    if qk_norm == "head":
        tensors += norm("self_attn.q_norm", attention.head_dim, block="attention", bias=norm_bias)
        tensors += norm("self_attn.k_norm", attention.head_dim, block="attention", bias=norm_bias)
    elif qk_norm == "each":
        for name, heads in (("q", attention.heads), ("k", kv_heads)):
            weight = norm(f"self_attn.{name}_norm", attention.head_dim, block="attention", copies=heads)
            tensors += weight
    elif qk_norm == "all":
        tensors += (Tensor("self_attn.q_norm.weight", "attention", (query,), SPLIT_OUT),)
        tensors += (Tensor("self_attn.k_norm.weight", "attention", (keys,), SPLIT_OUT, units=kv_heads),)
        attention = attention._replace(normed_together=True)
    return Mixer(tensors, attention, caches=(keys_and_values(attention),))


def dense(
    hidden: int, width: int, *, gated: bool = True, bias: bool = False, activation: str = SILU, fused: bool = False
) -> FeedForward:
    """Return an MLP of two matrices, or of three with a gate (SwiGLU, GeGLU: arXiv:2002.05202)."""
    tensors = mlp_tensors("mlp", "mlp", hidden, width, gated=gated, bias=bias)
    return FeedForward(tensors, width, gated, activation, fused=fused)


def mlp_tensors(
    name: str,
    block: str,
    hidden: int,
    width: int,
    *,
    gated: bool = True,
    bias: bool = False,
    copies: int = 1,
    active: int | None = None,
) -> tuple[Tensor, ...]:
    """Return the matrices of an MLP, or of `copies` experts of which a token uses `active`."""
    tensors: tuple[Tensor, ...] = ()
    for part in ("gate_proj", "up_proj") if gated else ("up_proj",):
        tensors += linear(
            f"{name}.{part}", block, width, hidden, split=SPLIT_OUT, bias=bias, copies=copies, active=active
        )
    return tensors + linear(
        f"{name}.down_proj", block, hidden, width, split=SPLIT_IN, bias=bias, copies=copies, active=active
    )


def mixture(
    hidden: int,
    width: int,
    counts: tuple[int, int],
    *,
    shared_width: int = 0,
    shared_gate: bool = False,
    gated: bool = True,
    bias: bool = False,
    router_bias: bool = False,
    shared_bias: bool = False,
    expert_hidden: int | None = None,
    activation: str = SILU,
) -> FeedForward:
    """Return a router with its experts, and with an MLP that every token passes too where `shared_width` is given.

    `counts`: experts, and those of them that a token uses. `expert_hidden` is what the experts read and write where it
    is not the hidden size.

    Source: sparsely-gated mixtures (arXiv:1701.06538); shared experts (DeepSeekMoE, arXiv:2401.06066).
    """
    experts, active = counts
    tensors = linear("mlp.router", "router", experts, hidden, bias=router_bias)
    tensors += mlp_tensors(
        "mlp.experts", "expert", expert_hidden or hidden, width, gated=gated, bias=bias, copies=experts, active=active
    )
    if shared_width:
        tensors += mlp_tensors(
            "mlp.shared_expert", "shared_expert", hidden, shared_width, gated=gated, bias=shared_bias
        )
        if shared_gate:
            tensors += linear("mlp.shared_expert_gate", "shared_expert_gate", 1, hidden)
    return FeedForward(tensors, active * width + shared_width, gated, activation)
