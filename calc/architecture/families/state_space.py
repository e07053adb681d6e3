"""Families of state spaces: Mamba and Mamba 2, and the mixers that hybrids share with them."""

from calc.architecture.blocks import FeedForward, Mixer, layer, norms
from calc.architecture.config import Config
from calc.architecture.decoders import LINEAR, assemble
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Recurrence, StateCache
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, linear, norm

FP32 = 32  # transformers keeps recurrent states in FP32 whatever the weights are in
MOST_STATE = 2**16


def mamba_mixer(
    hidden: int,
    inner: int,
    *,
    state: int,
    kernel: int,
    rank: int,
    bias: bool,
    conv_bias: bool,
    inner_norms: bool = False,
) -> Mixer:
    """Return a selective state space (Mamba, arXiv:2312.00752): a state of `state` numbers for each inner channel."""
    block = "ssm"
    tensors = linear("mixer.in_proj", block, 2 * inner, hidden, split=SPLIT_OUT, bias=bias)
    tensors += convolution("mixer.conv1d", inner, kernel, conv_bias)
    tensors += linear("mixer.x_proj", block, rank + 2 * state, inner, split=SPLIT_IN)
    tensors += linear("mixer.dt_proj", block, inner, rank, split=SPLIT_OUT, bias=True)
    tensors += (Tensor("mixer.A_log", block, (inner, state), SPLIT_OUT), Tensor("mixer.D", block, (inner,), SPLIT_OUT))
    tensors += linear("mixer.out_proj", block, hidden, inner, split=SPLIT_IN, bias=bias)
    if inner_norms:
        for name, size in (("dt", rank), ("b", state), ("c", state)):
            tensors += norm(f"mixer.{name}_layernorm", size, block=block)
    states = (StateCache("convolution", (inner, kernel)), StateCache("state space", (inner, state), FP32))
    return Mixer(tensors, recurrence=Recurrence(inner, 3 * inner), states=states)


def convolution(name: str, channels: int, kernel: int, bias: bool) -> tuple[Tensor, ...]:
    """Return a convolution over time of each channel for itself."""
    weight = Tensor(f"{name}.weight", "ssm", (channels, 1, kernel), SPLIT_OUT)
    return (weight, Tensor(f"{name}.bias", "ssm", (channels,), SPLIT_OUT)) if bias else (weight,)


def automatic_rank(config: Config, name: str, hidden: int) -> int:
    """Return the rank of the time step: a number, or "auto" for a sixteenth of the hidden size."""
    if config.values.get(name, "auto") == "auto":
        return -(-hidden // 16)
    return config.integer(name)


def named_mamba(config: Config, hidden: int, *, inner_norms: bool = False) -> Mixer:
    """Return the Mamba of hybrids, which Jamba and Zamba name alike in their configs."""
    return mamba_mixer(
        hidden,
        config.integer("mamba_expand", most=64) * hidden,
        state=config.integer("mamba_d_state", most=MOST_STATE),
        kernel=config.integer("mamba_d_conv", most=MOST_STATE),
        rank=automatic_rank(config, "mamba_dt_rank", hidden),
        bias=config.flag("mamba_proj_bias", default=False),
        conv_bias=config.flag("mamba_conv_bias", default=True),
        inner_norms=inner_norms,
    )


MAMBA = {
    "vocab_size": 50280,
    "hidden_size": 768,
    "num_hidden_layers": 32,
    "state_size": 16,
    "conv_kernel": 4,
}


@family("mamba", "falcon_mamba", defaults=MAMBA)
def mamba(config: Config) -> Architecture:
    """Mamba and Falcon Mamba: one state-space block a layer, no attention, no MLP."""
    hidden = config.hidden()
    inner = config.integer("intermediate_size", default=config.integer("expand", default=2, most=64) * hidden)
    mixer = mamba_mixer(
        hidden,
        inner,
        state=config.integer("state_size", most=MOST_STATE),
        kernel=config.integer("conv_kernel", most=MOST_STATE),
        rank=automatic_rank(config, "time_step_rank", hidden),
        bias=config.flag("use_bias", default=False),
        conv_bias=config.flag("use_conv_bias", default=True),
    )
    return state_space_only(config, mixer, tied=True)


def state_space_only(config: Config, mixer: Mixer, *, tied: bool) -> Architecture:
    """Put a decoder together whose layers are a norm and a recurrent mixer."""
    hidden = config.hidden()
    block = layer(mixer, FeedForward(), *norms(hidden, "norm"))
    return assemble(
        config,
        hidden=hidden,
        layers=[(LINEAR,)] * config.layers(),
        build=lambda _: block,
        tied=config.flag("tie_word_embeddings", default=tied),
    )


def mamba2_mixer(
    hidden: int,
    heads: int,
    head_dim: int,
    *,
    state: int,
    groups: int,
    kernel: int,
    bias: bool,
    conv_bias: bool,
    normed: bool = True,
) -> Mixer:
    """Return a state space in heads (Mamba 2, arXiv:2405.21060): each head's state is head size by state size."""
    block, inner = "ssm", heads * head_dim
    channels = inner + 2 * groups * state
    tensors = linear("mixer.in_proj", block, inner + channels + heads, hidden, split=SPLIT_OUT, bias=bias)
    tensors += convolution("mixer.conv1d", channels, kernel, conv_bias)
    tensors += tuple(Tensor(f"mixer.{name}", block, (heads,), SPLIT_OUT) for name in ("dt_bias", "A_log", "D"))
    if normed:
        tensors += (Tensor("mixer.norm.weight", block, (inner,), SPLIT_OUT),)
    tensors += linear("mixer.out_proj", block, hidden, inner, split=SPLIT_IN, bias=bias)
    states = (
        StateCache("convolution", (channels, kernel)),
        StateCache("state space", (heads, head_dim, state), FP32),
    )
    return Mixer(tensors, recurrence=Recurrence(heads, 2 * inner + channels + heads), states=states)


MAMBA2 = {
    "vocab_size": 32768,
    "hidden_size": 4096,
    "num_hidden_layers": 64,
    "num_heads": 128,
    "head_dim": 64,
    "state_size": 128,
    "n_groups": 8,
    "conv_kernel": 4,
}


@family("mamba2", defaults=MAMBA2)
def mamba2(config: Config) -> Architecture:
    """Mamba 2 and Codestral Mamba: one state-space block a layer, no attention, no MLP."""
    mixer = mamba2_mixer(
        config.hidden(),
        config.integer("num_heads"),
        config.integer("head_dim"),
        state=config.integer("state_size", most=MOST_STATE),
        groups=config.integer("n_groups", most=MOST_STATE),
        kernel=config.integer("conv_kernel", most=MOST_STATE),
        bias=config.flag("use_bias", default=False),
        conv_bias=config.flag("use_conv_bias", default=True),
    )
    return state_space_only(config, mixer, tied=False)


def named_mamba2(
    config: Config, *, heads: int | None = None, head_dim: int | None = None, normed: bool = True
) -> Mixer:
    """Return Mamba 2's mixer as hybrids name its sizes."""
    return mamba2_mixer(
        config.hidden(),
        heads or config.integer("mamba_n_heads"),
        head_dim or config.integer("mamba_d_head"),
        state=config.integer("mamba_d_state", most=MOST_STATE),
        groups=config.integer("mamba_n_groups", most=MOST_STATE),
        kernel=config.integer("mamba_d_conv", most=MOST_STATE),
        bias=config.flag("mamba_proj_bias", default=False),
        conv_bias=config.flag("mamba_conv_bias", default=True),
        normed=normed,
    )
