"""Families of dense decoders in GPT-2's layout with ALiBi (arXiv:2108.12409): scores fall with distance."""

from calc.architecture.config import Config
from calc.architecture.decoders import gpt_like, heads_of
from calc.architecture.families.gpt import style_of
from calc.architecture.families.registry import family
from calc.architecture.layers import BEFORE, Architecture


@family("bloom")
def bloom(config: Config) -> Architecture:
    """BLOOM: biases everywhere, a norm after the embedding, ALiBi in place of positions."""
    hidden = config.integer("hidden_size", "n_embed")
    return gpt_like(
        config,
        hidden=hidden,
        layers=config.layers("n_layer", "num_hidden_layers"),
        heads=heads_of(config, hidden, "n_head"),
        width=4 * hidden,
        tied=True,
        activation="gelu",
        fused=True,
        style=style_of(config, BEFORE, "hidden_dropout"),
        embedding_norm=True,
    )


@family("mpt")
def mpt(config: Config) -> Architecture:
    """MPT: ALiBi in place of positions, no biases, the embedding as output matrix; small ones may have both."""
    hidden, bias = config.integer("d_model"), not config.flag("no_bias", default=True)
    alibi = config.has("attn_config") and config.nested("attn_config").flag("alibi", default=True)
    learned = config.flag("learned_pos_emb", default=False) and not alibi
    return gpt_like(
        config,
        hidden=hidden,
        layers=config.layers("n_layers"),
        heads=heads_of(config, hidden, "n_heads"),
        width=config.integer("expansion_ratio", default=4, most=64) * hidden,
        tied=True,
        activation="gelu",
        fused=True,
        style=style_of(config, BEFORE, "resid_pdrop"),
        positions=config.integer("max_seq_len") if learned else 0,
        attention_bias=bias,
        mlp_bias=bias,
        norm_bias=bias,
    )
