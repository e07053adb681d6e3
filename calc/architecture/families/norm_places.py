"""Families of decoders in Llama's layout whose norms stand after blocks, around them, or once for two of them."""

from calc.architecture.blocks import dense, mixture
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, LLAMA_NORMS, LLAMA_STYLE, SLIDING, every, llama_like
from calc.architecture.families.mixture import expert_counts
from calc.architecture.families.registry import family
from calc.architecture.layers import AROUND, BESIDE, ON_OUTPUT, WIDE_RMS, Architecture, Style


@family("olmo2", "olmo3")
def olmo(config: Config) -> Architecture:
    """OLMo 2 and 3: norms after the blocks and over all query and all key heads; OLMo 3 has windows in 3 of 4."""
    windowed = config.text("model_type", "") == "olmo3"
    pattern = every(config, lambda layer: windowed and (layer + 1) % 4 != 0)
    names = ("post_attention_layernorm", "post_feedforward_layernorm")
    bias = config.flag("attention_bias", default=False)
    return llama_like(
        config, attention_bias=bias, qk_norm="all", layer_norms=names, style=Style(WIDE_RMS, ON_OUTPUT), pattern=pattern
    )


@family("exaone4")
def exaone4(config: Config) -> Architecture:
    """EXAONE 4: norms after the blocks and on each query and key head; one layer in four sees everything.

    Where there are windows, the layers that see everything have no positions.
    """
    config.refuse("sliding_window_pattern", ("LLLG", 4), "published are three local layers and one global")
    windowed = config.has("sliding_window")
    pattern = every(config, lambda layer: windowed and (layer + 1) % 4 != 0)
    names = ("post_attention_layernorm", "post_feedforward_layernorm")
    return llama_like(
        config,
        qk_norm="head",
        rotated=(SLIDING,) if windowed else (FULL,),
        layer_norms=names,
        style=Style(place=ON_OUTPUT),
        pattern=pattern,
    )


@family("hyperclovax")
def hyperclovax(config: Config) -> Architecture:
    """HyperCLOVA X SEED: Granite's layout with a norm behind each block, too."""
    before, after = LLAMA_NORMS
    behind = config.flag("use_post_norm", default=True)
    return llama_like(
        config,
        attention_bias=config.flag("attention_bias", default=False),
        layer_norms=(before, "post_norm1", after, "post_norm2") if behind else LLAMA_NORMS,
        style=Style(place=AROUND) if behind else LLAMA_STYLE,
    )


COHERE_STYLE = Style(WIDE_RMS, BESIDE)  # its norm is written out, and keeps as much as one of squares does


@family("cohere", defaults={"vocab_size": 256000})
def cohere(config: Config) -> Architecture:
    """Command R: attention and MLP side by side after one norm; the large one has norms over all heads."""
    config.refuse("attention_bias", (False,), "no published Command R has biases")
    qk_norm = "all" if config.flag("use_qk_norm", default=False) else ""
    return llama_like(config, qk_norm=qk_norm, layer_norms=("input_layernorm",), style=COHERE_STYLE, tied=True)


@family("cohere2", defaults={"vocab_size": 256000, "sliding_window": 4096})
def cohere2(config: Config) -> Architecture:
    """Command R7B and Command A: Command R's layout; one layer in four sees everything and has no positions."""
    config.refuse("attention_bias", (False,), "no published Command A has biases")
    period = config.integer("sliding_window_pattern", default=4)
    pattern = every(config, lambda layer: (layer + 1) % period != 0)
    return llama_like(
        config,
        rotated=(SLIDING,),
        layer_norms=("input_layernorm",),
        style=COHERE_STYLE,
        pattern=pattern,
        tied=True,
    )


GLM = {"vocab_size": 151552, "num_key_value_heads": 2, "head_dim": 128, "attention_bias": True}


@family("glm", "glm4", defaults=GLM)
@family("glm4v_text", defaults={"vocab_size": 151552, "num_key_value_heads": 2})
def glm(config: Config) -> Architecture:
    """GLM 4: biases on query, key and value; GLM-4-0414 has norms after each block, too."""
    name = config.text("model_type", "")
    both, always = name != "glm", name == "glm4v_text"
    before, after = LLAMA_NORMS
    return llama_like(
        config,
        attention_bias=always or config.flag("attention_bias", default=True),
        out_bias=False,
        joined=True,
        mlp=dense(config.hidden(), config.integer("intermediate_size"), fused=True),
        layer_norms=(before, "post_self_attn_layernorm", after, "post_mlp_layernorm") if both else LLAMA_NORMS,
        style=Style(place=AROUND) if both else LLAMA_STYLE,
    )


KOLIBRI = {"num_experts": 384, "num_experts_per_tok": 6, "shared_expert_intermediate_size": 512}


@family("kolibri1", defaults={**KOLIBRI, "moe_intermediate_size": 512, "sliding_window": 513})
def kolibri1(config: Config) -> Architecture:
    """Kolibri 1: norms around each block and on query and key heads, narrow experts beside a shared one everywhere.

    One layer in five sees everything and has no positions.
    """
    before, after = LLAMA_NORMS
    width, shared = config.integer("moe_intermediate_size"), config.integer("shared_expert_intermediate_size")
    return llama_like(
        config,
        qk_norm="head",
        rotated=(SLIDING,),
        layer_norms=(before, "post_self_attn_layernorm", after, "post_mlp_layernorm"),
        style=Style(place=AROUND),
        pattern=every(config, lambda layer: (layer + 1) % 5 != 0),
        experts=mixture(
            config.hidden(), width, expert_counts(config, "num_experts", "num_local_experts"), shared_width=shared
        ),
    )
