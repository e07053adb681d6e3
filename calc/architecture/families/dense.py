"""Families of dense decoders in Llama's layout: RMS norms, rotary positions, a gated MLP."""

from calc.architecture.blocks import dense
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, GPT_STYLE, LLAMA_NORMS, SLIDING, every, heads_of, llama_like
from calc.architecture.families.forerunners import first_chatglm
from calc.architecture.families.registry import family
from calc.architecture.layers import (
    BESIDE,
    LAYER_NORM,
    Architecture,
    FileRules,
    Style,
)
from calc.architecture.tensors import SPLIT_OUT, Tensor, linear, norm


@family("granite", "iquestcoder")
@family("internlm3", defaults={"head_dim": 128})
def llama_layout(config: Config) -> Architecture:
    """Granite 3, IQuest Coder and InternLM 3: Llama's layout."""
    return llama_like(config, attention_bias=config.flag("attention_bias", default=False))


@family("llama", "Yi")
def llama(config: Config) -> Architecture:
    """Llama 1 to 3, and what shares its layout: Yi, TinyLlama, SmolLM, Falcon 3, DeepSeek LLM."""
    return seventy_if_shared(llama_layout(config))


def seventy_if_shared(architecture: Architecture) -> Architecture:
    """Return the architecture as llama.cpp sees it: 80 layers are Llama 2 70B if heads are shared, else LLaMA 65B."""
    attention = architecture.attention
    shares = attention is not None and attention.heads > attention.kv_heads
    return architecture._replace(files=FileRules(seventy=shares))


@family("baichuan")
def baichuan(config: Config) -> Architecture:
    """Baichuan: Llama's layout with queries, keys and values in one matrix; 13B has ALiBi in place of positions."""
    rotated = (FULL, SLIDING) if config.has("max_position_embeddings") else ()
    return llama_like(config, fused=True, rotated=rotated)._replace(files=FileRules(apart=True))


@family("internlm")
def internlm(config: Config) -> Architecture:
    """InternLM: Llama's layout with biases in attention."""
    return llama_like(config, attention_bias=config.flag("bias", default=True))


@family("bitnet")
def bitnet(config: Config) -> Architecture:
    """BitNet b1.58: Llama's layout with two more norms, before the output matrices of attention and MLP."""
    hidden, width = config.hidden(), config.integer("intermediate_size")
    mlp = dense(hidden, width, activation=config.text("hidden_act", "relu2"))
    mlp = mlp._replace(tensors=mlp.tensors + norm("mlp.ffn_sub_norm", width))
    bias = config.flag("attention_bias", default=False)
    return llama_like(config, attention_bias=bias, layer_norms=(*LLAMA_NORMS, "attn_sub_norm"), mlp=mlp)


@family("internlm2")
def internlm2(config: Config) -> Architecture:
    """InternLM 2: Llama's layout with query, key and value in one matrix of the same size."""
    config.refuse("bias", (False,), "no published InternLM 2 has biases")
    return llama_like(config, fused=True)._replace(files=FileRules(apart=True))


@family("mistral", "ministral", "ministral3", defaults={"vocab_size": 32000})
def mistral(config: Config) -> Architecture:
    """Mistral and Ministral: Llama's layout; where `sliding_window` is given, every layer has that window."""
    return seventy_if_shared(llama_like(config, pattern=every(config, lambda _: True)))


QWEN2_VL = {
    "vocab_size": 152064,
    "hidden_size": 8192,
    "intermediate_size": 29568,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
}


@family("qwen2")
@family("qwen2_vl_text", "qwen2_5_vl_text", defaults=QWEN2_VL)
def qwen2(config: Config) -> Architecture:
    """Qwen 1.5 to 2.5: biases on query, key and value; a window only with `use_sliding_window`."""
    first = config.integer("max_window_layers", default=28, least=0)
    sliding = config.flag("use_sliding_window", default=False)
    pattern = every(config, lambda layer: sliding and layer >= first)
    return llama_like(config, attention_bias=True, out_bias=False, pattern=pattern)._replace(
        files=FileRules(seventy=True)
    )


@family("mimo")
def mimo(config: Config) -> Architecture:
    """MiMo 7B (arXiv:2505.07608): Qwen 2's layout, biases where its config asks for them."""
    return llama_like(config, attention_bias=config.flag("attention_bias", default=True), out_bias=False)


QWEN3_VL = {
    "vocab_size": 151936,
    "hidden_size": 4096,
    "intermediate_size": 22016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "head_dim": 128,
}


@family("qwen3")
@family("qwen3_vl_text", defaults=QWEN3_VL)
def qwen3(config: Config) -> Architecture:
    """Qwen 3: no biases, and a norm on each query and key head."""
    first = config.integer("max_window_layers", default=28, least=0)
    sliding = config.flag("use_sliding_window", default=False)
    bias = config.flag("attention_bias", default=False)
    pattern = every(config, lambda layer: sliding and layer >= first)
    return llama_like(config, attention_bias=bias, qk_norm="head", pattern=pattern)


@family("phi3")
def phi3(config: Config) -> Architecture:
    """Phi 3 and Phi 4: Llama's layout with fused matrices of the same size; every layer has the window, if any."""
    return llama_like(
        config,
        joined=True,
        fused=True,
        mlp=dense(config.hidden(), config.integer("intermediate_size"), fused=True),
        pattern=every(config, lambda _: True),
    )


SMOLLM3 = {
    "hidden_size": 2048,
    "intermediate_size": 11008,
    "num_hidden_layers": 36,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 128256,
}


@family("smollm3", defaults=SMOLLM3)
def smollm3(config: Config) -> Architecture:
    """SmolLM 3: Llama's layout with the embedding as output matrix."""
    return llama_like(config, tied=True)


@family("chatglm")
def chatglm(config: Config) -> Architecture:
    """ChatGLM 2 and 3, and the first GLM 4, under the names of their own code: GLM's layout; the first had another."""
    if config.has("inner_hidden_size"):
        return first_chatglm(config)
    config.refuse("add_bias_linear", (False,), "no published ChatGLM 2 or later has biases there")
    config.refuse("multi_query_attention", (True,), "all published ones share KV heads")
    renamed = {
        "num_hidden_layers": config.layers("num_layers"),
        "intermediate_size": config.integer("ffn_hidden_size"),
        "head_dim": config.integer("kv_channels"),
        "num_key_value_heads": config.integer("multi_query_group_num"),
        "vocab_size": config.integer("padded_vocab_size"),
        "max_position_embeddings": config.integer("seq_length", default=0, least=0) or None,
    }
    named = config.completed(renamed)
    return llama_like(
        named,
        attention_bias=config.flag("add_qkv_bias", default=True),
        out_bias=False,
        joined=True,
        fused=True,
        mlp=dense(named.hidden(), named.integer("intermediate_size"), fused=True),
    )


@family("qwen")
def qwen(config: Config) -> Architecture:
    """Qwen 1: Qwen 2's layout, with an MLP of half the width that the config gives."""
    config.refuse("no_bias", (True,), "no published Qwen has biases there")
    width = config.integer("intermediate_size") // 2
    heads = {"head_dim": config.integer("kv_channels", default=128)}
    whole = llama_like(
        config.completed(heads), attention_bias=True, out_bias=False, fused=True, mlp=dense(config.hidden(), width)
    )
    return whole._replace(wide_logits=False)


@family("seed_oss", defaults={"attention_bias": True, "head_dim": 128})
@family("helium")
def seed_oss(config: Config) -> Architecture:
    """Seed-OSS and Helium: Llama's layout, in Seed-OSS with biases on query, key and value."""
    return llama_like(
        config,
        attention_bias=config.flag("attention_bias", default=False),
        out_bias=config.flag("attention_out_bias", default=False),
    )


ERNIE = {
    "vocab_size": 103424,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 18,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 128,
}


@family("ernie4_5", defaults=ERNIE)
def ernie4_5(config: Config) -> Architecture:
    """ERNIE 4.5, dense: Llama's layout, one bias flag for all, the embedding as output matrix."""
    bias = config.flag("use_bias", default=False)
    mlp = dense(config.hidden(), config.integer("intermediate_size"), bias=bias)
    return llama_like(config, attention_bias=bias, mlp=mlp, tied=True)


@family("hunyuan_v1_dense", defaults={"vocab_size": 290943})
def hunyuan_v1_dense(config: Config) -> Architecture:
    """Hunyuan, dense: Llama's layout with a norm on each query and key head."""
    return llama_like(config, attention_bias=config.flag("attention_bias", default=False), qk_norm="head")


@family("stablelm")
def stablelm(config: Config) -> Architecture:
    """StableLM: LayerNorms with biases; the 12B one has a norm for each head, and blocks side by side."""
    one = config.flag("use_parallel_residual", default=False)
    return llama_like(
        config,
        attention_bias=config.flag("use_qkv_bias", default=False),
        out_bias=False,
        qk_norm="each" if config.flag("qk_layernorm", default=False) else "",
        joined=True,
        layer_norms=("input_layernorm",) if one else LLAMA_NORMS,
        norm_bias=True,
        style=Style(LAYER_NORM, BESIDE) if one else GPT_STYLE,
    )


@family("olmo", defaults={"vocab_size": 50304})
def olmo1(config: Config) -> Architecture:
    """OLMo 1: Llama's layout with norms that have no parameters."""
    bias = config.flag("attention_bias", default=False)
    whole = llama_like(config, attention_bias=bias, layer_norms=(), style=GPT_STYLE, final=())
    return whole._replace(files=FileRules(seventy=True))


ARCEE = {"vocab_size": 32000, "hidden_size": 2560, "intermediate_size": 18432, "num_attention_heads": 32}


@family("arcee", "apertus", defaults=ARCEE)
def arcee(config: Config) -> Architecture:
    """AFM and Apertus: Llama's layout with a plain MLP; Apertus' activation learns two numbers a layer."""
    hidden, learned = config.hidden(), config.text("model_type", "") == "apertus"
    bias = config.flag("attention_bias", default=False)
    mlp_bias = config.flag("mlp_bias", default=False)
    activation = config.text("hidden_act", "xielu" if learned else "relu2")
    mlp = dense(hidden, config.integer("intermediate_size"), gated=False, bias=mlp_bias, activation=activation)
    if learned:
        extra = tuple(Tensor(f"mlp.act_fn.{name}", "mlp", (1,)) for name in ("alpha_p", "alpha_n"))
        mlp = mlp._replace(tensors=mlp.tensors + extra)
    return llama_like(config, attention_bias=bias, qk_norm="head" if learned else "", mlp=mlp)


@family("exaone", defaults={"vocab_size": 102400})
def exaone(config: Config) -> Architecture:
    """EXAONE 3 and 3.5, under the names of their own code: Llama's layout."""
    return llama_like(config.completed({"num_hidden_layers": config.layers("num_layers", "num_hidden_layers")}))


@family("cwm")
def cwm(config: Config) -> Architecture:
    """CWM: Llama's layout; one layer in four, from the first on, sees everything, the others have a window."""
    return llama_like(config, pattern=every(config, lambda layer: layer % 4 != 0))


@family("spark2_5")
def spark2_5(config: Config) -> Architecture:
    """Spark X2.5: windows in three of four layers, and a gate for each head."""
    config.refuse("headwise_attn_output_gate", (True,), "published ones have a gate for each head")
    found, hidden = llama_like(config), config.hidden()
    gate = linear("self_attn.g_proj", "attention", heads_of(config, hidden)[0], hidden, split=SPLIT_OUT)
    return found._replace(kinds=tuple(kind._replace(tensors=kind.tensors + gate) for kind in found.kinds))
