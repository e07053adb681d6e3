"""Families from before their successors' layouts were settled: GPT-1, XLNet and the first ChatGLM."""

from calc.architecture.blocks import Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import gpt_like, heads_of
from calc.architecture.families.encoder import encoder, reader
from calc.architecture.families.registry import family
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Style
from calc.architecture.tensors import SPLIT_OUT, Tensor, Tensors, linear

GPT = {"vocab_size": 40478, "n_positions": 512, "n_embd": 768, "n_layer": 12, "n_head": 12}


@family("openai-gpt", defaults=GPT)
def openai_gpt(config: Config) -> Architecture:
    """GPT-1 (Radford et al., 2018): GPT-2's layers with the norms after each block, and none at the end."""
    hidden, heads = config.hidden("n_embd"), config.integer("n_head", most=2**20)
    if hidden % heads:
        raise config.error("n_head", f"must divide the hidden size {hidden}, not be {heads}")
    found = gpt_like(
        config,
        hidden=hidden,
        layers=config.layers("n_layer"),
        heads=(heads, heads, hidden // heads),
        width=4 * hidden,
        tied=True,
        activation=config.text("afn", "gelu"),
        fused=True,
        style=Style(LAYER_NORM, AFTER, config.number("resid_pdrop", default=0.1, most=1) > 0),
        positions=config.integer("n_positions"),
    )
    return found._replace(head=())


XLNET = {"vocab_size": 32000, "d_model": 1024, "n_layer": 24, "n_head": 16, "d_inner": 4096}


@family("xlnet", defaults=XLNET)
def xlnet(config: Config) -> Architecture:
    """XLNet (arXiv:1906.08237): BERT's layers with matrices of relative positions, two segments, and no biases in them.

    Counted is one pass over a text, as it is used; permutations and the second stream of its training are not.
    """
    config = config.replaced({"num_attention_heads": config.integer("n_head", most=2**20)})
    hidden = config.hidden("d_model")
    heads, _, size = heads_of(config, hidden, "n_head")
    seen = Attention(heads, heads, size, causal=False, rotary=False)
    plain, block = softmax_attention(hidden, seen), "attention"
    beside: Tensors = linear("self_attn.r_proj", block, hidden, hidden, split=SPLIT_OUT)
    for name in ("r_r_bias", "r_s_bias", "r_w_bias"):
        beside += (Tensor(f"self_attn.{name}", block, (heads, size)),)
    beside += (Tensor("self_attn.seg_embed", block, (2, heads, size)),)
    mixer = Mixer(plain.tensors + beside, plain.attention)
    feed = dense(
        hidden, config.integer("d_inner"), gated=False, bias=True, activation=config.text("ff_activation", "gelu")
    )
    around = norms(hidden, "attention_layernorm", "output_layernorm", bias=True)
    return encoder(
        config,
        hidden=hidden,
        layers=config.layers("n_layer"),
        block=layer(reader(mixer), feed, *around, style=Style(LAYER_NORM, AFTER, True)),
        embeddings=(Tensor("mask_emb", "other_embedding", (1, 1, hidden)),),
        last=(Tensor("lm_loss.bias", "head", (config.integer("vocab_size"),)),),
    )


def first_chatglm(config: Config) -> Architecture:
    """ChatGLM 6B, before its second: GLM's layers (arXiv:2210.02414) with LayerNorms and biases, rotary positions.

    How it weighs what stands beside a layer has no parameters.
    """
    hidden, layers = config.hidden(), config.layers("num_layers")
    context = config.integer("max_sequence_length", default=0, least=0) or None
    return gpt_like(
        config.completed({"max_position_embeddings": context, "num_hidden_layers": layers}),
        hidden=hidden,
        layers=layers,
        heads=heads_of(config, hidden),
        width=config.integer("inner_hidden_size"),
        tied=True,
        activation="gelu",
        rotary=True,
        joined=True,
    )
