"""Families that read proteins, a letter for each amino acid: ESM."""

from calc.architecture.blocks import dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE, heads_of
from calc.architecture.families.encoder import BERT, encoder, reader, text_head
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention
from calc.architecture.tensors import Tensor, Tensors, linear, norm

ESM = {**BERT, "vocab_size": 33, "max_position_embeddings": 1026}


@family("esm", defaults=ESM)
def esm(config: Config) -> Architecture:
    """ESM-1b and ESM-2 (doi:10.1126/science.ade2574): RoBERTa with norms before the blocks, from 2 on rotary.

    Every one has a regression of contacts on its heads' attention, and one that fills masks in a head of its own.
    """
    hidden, layers = config.hidden(), config.layers()
    heads, _, size = heads_of(config, hidden)
    rotary = config.text("position_embedding_type", "absolute") == "rotary"
    table: Tensors = ()
    if not rotary:
        table += (
            Tensor(
                "position_embeddings.weight", "other_embedding", (config.integer("max_position_embeddings"), hidden)
            ),
        )
    if config.flag("emb_layer_norm_before", default=False):
        table += norm("embed_layernorm", hidden, bias=True)
    seen = Attention(heads, heads, size, causal=False, rotary=rotary, wide_softmax=False)
    block = layer(
        reader(softmax_attention(hidden, seen, bias=True)),
        dense(hidden, config.integer("intermediate_size"), gated=False, bias=True),
        *norms(hidden, "attention_layernorm", "output_layernorm", bias=True),
        style=GPT_STYLE,
    )
    last = norm("emb_layer_norm_after", hidden, bias=True, block="final_norm")
    last += linear("contact_head.regression", "other", 1, layers * heads, bias=True)
    if "ForMaskedLM" in config.classes:
        last += linear("lm_head.dense", "head", hidden, hidden, bias=True)
        last += norm("lm_head.layer_norm", hidden, bias=True, block="head")
        last += (Tensor("lm_head.bias", "head", (config.integer("vocab_size"),)),)
    else:
        last += text_head(config, hidden, pooled=True)
    return encoder(config, hidden=hidden, layers=layers, block=block, embeddings=table, last=last)
