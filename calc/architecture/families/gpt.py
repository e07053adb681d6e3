"""Families of dense decoders in GPT-2's layout: LayerNorms and an MLP without a gate."""

from calc.architecture.config import Config
from calc.architecture.decoders import FULL, SLIDING, gpt_like, heads_of
from calc.architecture.families.registry import family
from calc.architecture.layers import AFTER, BEFORE, BESIDE, LAYER_NORM, Architecture, FileRules, Style
from calc.architecture.tensors import linear


def gpt_shape(config: Config) -> tuple[int, int, tuple[int, int, int], int]:
    """Return hidden size, layers, heads and MLP width under the names that GPT-2 gave them."""
    hidden = config.integer("n_embd")
    width = config.integer("n_inner", default=4 * hidden)
    return hidden, config.layers("n_layer"), heads_of(config, hidden, "n_head"), width


def style_of(config: Config, place: str, dropout: str = "", default: float = 0.0) -> Style:
    """Return LayerNorms at a place, with dropout where the config's probability, or its class's, is not 0."""
    probability = config.number(dropout, default=default, most=1) if dropout else default
    return Style(LAYER_NORM, place, probability > 0)


@family("gpt2")
def gpt2(config: Config) -> Architecture:
    """GPT-2: learned positions, biases everywhere, the embedding as output matrix."""
    hidden, layers, heads, width = gpt_shape(config)
    return gpt_like(
        config,
        hidden=hidden,
        layers=layers,
        heads=heads,
        width=width,
        tied=True,
        activation=config.text("activation_function", "gelu_new"),
        fused=True,
        wide_softmax=False,
        style=style_of(config, BEFORE, "resid_pdrop", 0.1),
        positions=config.integer("n_positions"),
    )


@family("gpt_bigcode")
def gpt_bigcode(config: Config) -> Architecture:
    """StarCoder: GPT-2 with one KV head for all query heads."""
    hidden, layers, (heads, _, head_dim), width = gpt_shape(config)
    kv_heads = 1 if config.flag("multi_query", default=True) else heads
    return gpt_like(
        config,
        hidden=hidden,
        layers=layers,
        heads=(heads, kv_heads, head_dim),
        width=width,
        tied=True,
        activation=config.text("activation_function", "gelu_pytorch_tanh"),
        fused=True,
        wide_softmax=config.flag("attention_softmax_in_fp32", default=True),
        style=style_of(config, BEFORE, "resid_pdrop", 0.1),
        positions=config.integer("n_positions"),
    )


@family("gptj", "codegen")
def gptj(config: Config) -> Architecture:
    """GPT-J and CodeGen: attention and MLP side by side after one norm, biases in the MLP and on the output matrix."""
    hidden, layers, heads, width = gpt_shape(config)
    return gpt_like(
        config,
        hidden=hidden,
        layers=layers,
        heads=heads,
        width=width,
        tied=False,
        activation=config.text("activation_function", "gelu_new"),
        rotary=True,
        joined=True,
        fused=config.text("model_type", "") == "codegen",
        style=style_of(config, BESIDE, "resid_pdrop"),
        layer_norms=("ln_1",),
        attention_bias=False,
        head_bias=True,
    )


@family("gpt_neox")
def gpt_neox(config: Config) -> Architecture:
    """GPT-NeoX and Pythia: two norms, biases, rotary positions, an output matrix of its own."""
    hidden = config.hidden()
    place = BESIDE if config.flag("use_parallel_residual", default=True) else BEFORE
    return gpt_like(
        config,
        hidden=hidden,
        layers=config.layers(),
        heads=heads_of(config, hidden),
        width=config.integer("intermediate_size"),
        tied=False,
        activation=config.text("hidden_act", "gelu"),
        rotary=True,
        joined=True,
        fused=True,
        style=style_of(config, place, "hidden_dropout"),
        attention_bias=config.flag("attention_bias", default=True),
    )


@family("opt")
def opt(config: Config) -> Architecture:
    """OPT: learned positions with two rows to spare, biases everywhere, the embedding as output matrix.

    OPT-350M normalises after the blocks, so that no norm stands at the end, and has a narrower embedding.
    """
    hidden, first = config.hidden(), config.flag("do_layer_norm_before", default=True)
    whole = gpt_like(
        config,
        hidden=hidden,
        layers=config.layers(),
        heads=heads_of(config, hidden),
        width=config.integer("ffn_dim"),
        tied=True,
        activation=config.text("activation_function", "relu"),
        style=style_of(config, BEFORE if first else AFTER, "dropout", 0.1),
        positions=config.integer("max_position_embeddings") + 2,
        attention_bias=config.flag("enable_bias", default=True),
        mlp_bias=config.flag("enable_bias", default=True),
    )
    if not first:
        whole = whole._replace(head=tuple(tensor for tensor in whole.head if tensor.block != "final_norm"))
    narrow = config.integer("word_embed_proj_dim", default=hidden)
    if narrow == hidden:
        return whole
    table = whole.embeddings[0]._replace(shape=(whole.vocab_size, narrow))
    entry = linear("project_in", "other_embedding", hidden, narrow)
    leaving = linear("project_out", "other", narrow, hidden)
    return whole._replace(embeddings=(table, *whole.embeddings[1:], *entry), head=(*whole.head, *leaving))


BIOGPT = {"vocab_size": 42384, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}


@family("biogpt", defaults={**BIOGPT, "intermediate_size": 4096, "max_position_embeddings": 1024})
def biogpt(config: Config) -> Architecture:
    """BioGPT (doi:10.1093/bib/bbac409): OPT's layout under BERT's names."""
    renamed = {
        "ffn_dim": config.integer("intermediate_size"),
        "activation_function": config.text("hidden_act", "gelu"),
        "dropout": config.number("hidden_dropout_prob", default=0.1, most=1),
    }
    return opt(config.replaced(renamed))


@family("falcon")
def falcon(config: Config) -> Architecture:
    """Falcon: one KV head (7B) or several (40B, 180B), attention and MLP side by side, a tied output matrix."""
    hidden = config.hidden()
    heads, _, head_dim = heads_of(config, hidden, "n_head")
    several = config.flag("new_decoder_architecture", default=False)
    one = 1 if config.flag("multi_query", default=True) else heads
    kv_heads = config.integer("num_kv_heads", "n_head_kv", default=heads) if several else one
    if heads % kv_heads:
        raise config.error("num_kv_heads", f"must divide the {heads} attention heads, not be {kv_heads}")
    side_by_side = config.flag("parallel_attn", default=True)
    two_norms = config.integer("num_ln_in_parallel_attn", default=2) == 2 if several else not side_by_side
    beside = several or side_by_side
    bias = config.flag("bias", default=False)
    whole = gpt_like(
        config,
        hidden=hidden,
        layers=config.layers("num_hidden_layers", "n_layer"),
        heads=(heads, kv_heads, head_dim),
        width=config.integer("ffn_hidden_size", default=4 * hidden),
        tied=True,
        activation=config.text("activation", "gelu"),
        rotary=not config.flag("alibi", default=False),
        fused=True,
        wide_softmax=False,
        style=style_of(config, BESIDE if beside else BEFORE, "hidden_dropout"),
        layer_norms=("ln_attn", "ln_mlp") if two_norms else ("input_layernorm",),
        attention_bias=bias,
        mlp_bias=bias,
    )
    return whole._replace(files=FileRules(falcon=True))


@family("jais2", defaults={"attention_bias": True, "mlp_bias": True})
@family("nemotron")
def nemotron(config: Config) -> Architecture:
    """Nemotron 4, Minitron, Jais 2: LayerNorms with biases, a plain MLP with squared ReLU, an output matrix apart."""
    hidden, bias = config.hidden(), config.flag("attention_bias", default=False)
    return gpt_like(
        config,
        hidden=hidden,
        layers=config.layers(),
        heads=heads_of(config, hidden),
        width=config.integer("intermediate_size"),
        tied=False,
        activation=config.text("hidden_act", "relu2"),
        rotary=True,
        joined=True,
        attention_bias=bias,
        mlp_bias=config.flag("mlp_bias", default=False),
    )


@family("persimmon")
def persimmon(config: Config) -> Architecture:
    """Persimmon: GPT-NeoX's parts one behind the other, squared ReLU and a norm on each query and key head."""
    hidden = config.hidden()
    return gpt_like(
        config,
        hidden=hidden,
        layers=config.layers(),
        heads=heads_of(config, hidden),
        width=config.integer("intermediate_size"),
        tied=False,
        activation=config.text("hidden_act", "relu2"),
        rotary=True,
        joined=True,
        fused=True,
        qk_norm="head" if config.flag("qk_layernorm", default=True) else "",
    )


PHI = {"vocab_size": 51200, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24}


@family("phi", defaults={**PHI, "num_attention_heads": 32})
def phi(config: Config) -> Architecture:
    """Phi 1, 1.5 and 2: attention and MLP side by side after one norm, biases everywhere, also on the output matrix."""
    hidden = config.hidden()
    return gpt_like(
        config,
        hidden=hidden,
        layers=config.layers(),
        heads=heads_of(config, hidden),
        width=config.integer("intermediate_size"),
        tied=False,
        activation=config.text("hidden_act", "gelu_new"),
        rotary=True,
        joined=True,
        style=style_of(config, BESIDE, "resid_pdrop"),
        layer_norms=("input_layernorm",),
        head_bias=True,
        qk_norm="head" if config.flag("qk_layernorm", default=False) else "",
    )


STARCODER2 = {"vocab_size": 49152, "hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 30}


@family("starcoder2", defaults={**STARCODER2, "num_attention_heads": 24, "num_key_value_heads": 2})
def starcoder2(config: Config) -> Architecture:
    """StarCoder 2: shared KV heads, rotary positions, a window in every layer, the embedding as output matrix."""
    hidden, bias, layers = config.hidden(), config.flag("use_bias", default=True), config.layers()
    return gpt_like(
        config,
        hidden=hidden,
        layers=layers,
        heads=heads_of(config, hidden),
        width=config.integer("intermediate_size"),
        tied=True,
        activation=config.text("hidden_act", "gelu_pytorch_tanh"),
        rotary=True,
        style=style_of(config, BEFORE, "residual_dropout"),
        attention_bias=bias,
        mlp_bias=bias,
        pattern=[SLIDING] * layers,
    )


GPT_NEO = {"vocab_size": 50257, "hidden_size": 2048, "num_layers": 24, "num_heads": 16, "window_size": 256}


@family("gpt_neo", defaults={**GPT_NEO, "max_position_embeddings": 2048})
def gpt_neo(config: Config) -> Architecture:
    """GPT-Neo: GPT-2 without biases on query, key and value; every second layer, from the second on, has a window."""
    hidden, layers = config.hidden(), config.layers("num_layers")
    named = config.completed({"sliding_window": config.integer("window_size")})
    return gpt_like(
        named,
        hidden=hidden,
        layers=layers,
        heads=heads_of(config, hidden, "num_heads"),
        width=config.integer("intermediate_size", default=4 * hidden),
        tied=True,
        activation=config.text("activation_function", "gelu_new"),
        style=style_of(config, BEFORE, "resid_dropout"),
        positions=config.integer("max_position_embeddings"),
        attention_bias=False,
        out_bias=True,
        pattern=[SLIDING if layer % 2 else FULL for layer in range(layers)],
    )
