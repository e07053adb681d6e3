"""xLSTM: layers whose state is a matrix for each head, ruled by exponential gates, without attention and cache."""

from calc.architecture.blocks import Mixer, dense, layer, norms
from calc.architecture.config import Config
from calc.architecture.decoders import LINEAR, assemble
from calc.architecture.families.registry import family
from calc.architecture.families.state_space import FP32
from calc.architecture.layers import Architecture, Recurrence, StateCache
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, linear, norm

XLSTM = {
    "vocab_size": 50304,
    "hidden_size": 4096,
    "num_heads": 8,
    "qk_dim_factor": 0.5,
    "v_dim_factor": 1.0,
    "ffn_proj_factor": 2.667,
    "ffn_round_up_to_multiple_of": 64,
    "mlstm_round_up_to_multiple_of": 64,
}


def rounded(size: float, step: int) -> int:
    """Return a size rounded up to a multiple of `step`, from its whole part."""
    return -(-int(size) // step) * step


@family("xlstm", defaults=XLSTM)
def xlstm(config: Config) -> Architecture:
    """xLSTM 7B (arXiv:2503.13427): a matrix memory in each head and a gated MLP."""
    config.refuse("use_bias", (False,), "no published xLSTM has biases there")
    hidden, heads = config.hidden("hidden_size", "embedding_dim"), config.integer("num_heads", most=2**20)
    layers = config.integer("num_hidden_layers", "num_blocks", default=32, most=10_000)
    step = config.integer("mlstm_round_up_to_multiple_of")
    keys = rounded(config.number("qk_dim_factor", default=0.5) * hidden, step)
    values = rounded(config.number("v_dim_factor", default=1.0) * hidden, step)
    width = rounded(
        config.number("ffn_proj_factor", default=2.667) * hidden, config.integer("ffn_round_up_to_multiple_of")
    )
    block = "ssm"
    tensors = linear("mlstm.q", block, keys, hidden, split=SPLIT_OUT) + linear(
        "mlstm.k", block, keys, hidden, split=SPLIT_OUT
    )
    tensors += linear("mlstm.v", block, values, hidden, split=SPLIT_OUT)
    tensors += linear("mlstm.ogate", block, values, hidden, split=SPLIT_OUT)
    for name in ("igate", "fgate"):
        tensors += linear(f"mlstm.{name}", block, heads, hidden, split=SPLIT_OUT, bias=True)
    tensors += norm("mlstm.multihead_norm", values, block=block)
    tensors += linear("mlstm.out_proj", block, hidden, values, split=SPLIT_IN)
    inner = (max(keys // heads, 1), max(values // heads, 1))
    states = (
        StateCache("matrix memory", (heads, *inner), FP32),
        StateCache("normaliser", (heads, inner[0]), FP32),
        StateCache("largest gate", (heads, 1), FP32),
    )
    mixer = Mixer(tensors, recurrence=Recurrence(heads, 2 * keys + 2 * values), states=states)
    built = layer(mixer, dense(hidden, max(width, 1)), *norms(hidden, "norm_mlstm", "norm_ffn"))
    return assemble(
        config,
        hidden=hidden,
        layers=[(LINEAR,)] * layers,
        build=lambda _: built,
        tied=config.flag("tie_word_embeddings", default=False),
    )
