"""llama.cpp's names for model families and for the keys of their configs, and what they are called in a config.json.

Source: llama.cpp, gguf-py/gguf/constants.py (MODEL_ARCH_NAMES, Keys) and convert_hf_to_gguf.py, which writes them.
"""

from typing import NamedTuple

Names = dict[str, str]


class GgufFamily(NamedTuple):
    """How a family of llama.cpp becomes a config."""

    model_type: str
    names: Names  # key of the metadata: key of the config
    flags: Names  # key of the config: tensor of the first layer whose presence makes it true; with "!", its absence
    facts: dict[str, object]  # what all models of the family have, and the file does not say


SIZES: Names = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
}
WINDOW: Names = {"attention.sliding_window": "sliding_window"}
GPT2: Names = {
    "block_count": "n_layer",
    "embedding_length": "n_embd",
    "feed_forward_length": "n_inner",
    "context_length": "n_positions",
    "attention.head_count": "n_head",
}
MPT: Names = {
    "block_count": "n_layers",
    "embedding_length": "d_model",
    "context_length": "max_seq_len",
    "attention.head_count": "n_heads",
}
EXPERTS: Names = {
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
}
LOCAL_EXPERTS: Names = {"expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok"}
ROUTED_EXPERTS: Names = {
    **EXPERTS,
    "expert_count": "n_routed_experts",
    "expert_shared_count": "n_shared_experts",
    "leading_dense_block_count": "first_k_dense_replace",
}
SHARED_WIDTH: Names = {"expert_shared_feed_forward_length": "shared_expert_intermediate_size"}
LATENT: Names = {
    "attention.q_lora_rank": "q_lora_rank",
    "attention.kv_lora_rank": "kv_lora_rank",
    "rope.dimension_count": "qk_rope_head_dim",
    "attention.value_length": "v_head_dim",
    "attention.value_length_mla": "v_head_dim",
}
INDEXER: Names = {
    "attention.indexer.head_count": "index_n_heads",
    "attention.indexer.key_length": "index_head_dim",
}
STATE_SPACE: Names = {
    "ssm.conv_kernel": "conv_kernel",
    "ssm.state_size": "state_size",
    "ssm.inner_size": "intermediate_size",
    "ssm.time_step_rank": "time_step_rank",
}
LINEAR: Names = {
    "full_attention_interval": "full_attention_interval",
    "ssm.conv_kernel": "linear_conv_kernel_dim",
    "ssm.state_size": "linear_key_head_dim",
    "ssm.group_count": "linear_num_key_heads",
    "ssm.time_step_rank": "linear_num_value_heads",
}
ERNIE: Names = {
    "expert_count": "moe_num_experts",
    "expert_used_count": "moe_k",
    "expert_shared_count": "moe_num_shared_experts",
    "expert_feed_forward_length": "moe_intermediate_size",
    "leading_dense_block_count": "moe_layer_start_index",
    "interleave_moe_layer_step": "moe_layer_interval",
}
BIAS: Names = {"attention_bias": "attn_q.bias"}
MLP_BIAS: Names = {"mlp_bias": "ffn_up.bias"}
STABLE: Names = {
    "use_qkv_bias": "attn_q.bias",
    "qk_layernorm": "attn_q_norm.weight",
    "use_parallel_residual": "!ffn_norm.weight",
}
SHARED_GRANITE: Names = {"expert_shared_feed_forward_length": "shared_intermediate_size"}
EXPERT_WIDTH: Names = {"expert_feed_forward_length": "intermediate_size"}
HEAD_NORMS: Names = {"use_qk_norm": "attn_q_norm.weight"}


def family(model_type: str, *names: Names, flags: Names | None = None, **facts: object) -> GgufFamily:
    """Return a family whose keys are `names`, the later of them over the earlier."""
    merged: Names = {}
    for some in names:
        merged |= some
    return GgufFamily(model_type, merged, flags or {}, facts)


GPT_OSS = family("gpt_oss", SIZES, LOCAL_EXPERTS, WINDOW, EXPERT_WIDTH)

# A family whose models are of two kinds has the second one behind a key or tensor that only it has: see VARIANTS.
FAMILIES: dict[str, GgufFamily] = {
    "llama": family("llama", SIZES, flags={**BIAS, **MLP_BIAS}),
    "llama:expert_count": family("mixtral", SIZES, LOCAL_EXPERTS, WINDOW),
    "mistral3": family("llama", SIZES),
    "granite": family("granite", SIZES, flags={**BIAS, **MLP_BIAS}),
    "internlm2": family("internlm2", SIZES),
    "qwen2": family("qwen2", SIZES),
    "qwen2vl": family("qwen2", SIZES),
    "qwen2moe": family("qwen2_moe", SIZES, EXPERTS, SHARED_WIDTH),
    "qwen3": family("qwen3", SIZES),
    "qwen3vl": family("qwen3", SIZES),
    "qwen3moe": family("qwen3_moe", SIZES, EXPERTS),
    "qwen3vlmoe": family("qwen3_moe", SIZES, EXPERTS),
    "qwen3next": family("qwen3_next", SIZES, EXPERTS, SHARED_WIDTH, LINEAR),
    "qwen35": family("qwen3_5_text", SIZES, LINEAR),
    "qwen35moe": family("qwen3_5_moe_text", SIZES, EXPERTS, SHARED_WIDTH, LINEAR),
    "phi3": family("phi3", SIZES, WINDOW),
    "phimoe": family("phimoe", SIZES, LOCAL_EXPERTS, WINDOW, attention_bias=True, lm_head_bias=True),
    "gemma": family("gemma", SIZES),
    "gemma2": family("gemma2", SIZES, WINDOW),
    "gemma3": family("gemma3_text", SIZES, WINDOW),
    "smollm3": family("smollm3", SIZES),
    "olmo2": family("olmo2", SIZES),
    "olmo2:attention.sliding_window": family("olmo3", SIZES, WINDOW),
    "olmoe": family("olmoe", SIZES, EXPERTS),
    "exaone4": family("exaone4", SIZES, WINDOW),
    "command-r": family("cohere", SIZES, flags=HEAD_NORMS),
    "deepseek2": family("deepseek_v2", SIZES, ROUTED_EXPERTS, LATENT),
    "glm4moe": family("glm4_moe", SIZES, ROUTED_EXPERTS, flags={**BIAS, **HEAD_NORMS}),
    "glm-dsa": family("glm_moe_dsa", SIZES, ROUTED_EXPERTS, LATENT, INDEXER),
    "gpt-oss": GPT_OSS,
    "gptoss": GPT_OSS,  # as Ollama names it
    "ernie4_5-moe": family("ernie4_5_moe", SIZES, ERNIE, moe_num_shared_experts=0),  # where a file has no such key
    "deepseek": family("deepseek", SIZES, ROUTED_EXPERTS),
    "dots1": family("dots1", SIZES, ROUTED_EXPERTS),
    "minicpm3": family("minicpm3", SIZES, LATENT),
    "granitemoe": family("granitemoe", SIZES, LOCAL_EXPERTS, SHARED_GRANITE),
    "minimax-m2": family("minimax_m2", SIZES, LOCAL_EXPERTS, EXPERT_WIDTH, flags=HEAD_NORMS),
    "cohere2": family("cohere2", SIZES, WINDOW),
    "glm4": family("glm4", SIZES, flags=BIAS),
    "seed_oss": family("seed_oss", SIZES, flags=BIAS),
    "ernie4_5": family("ernie4_5", SIZES),
    "hunyuan-dense": family("hunyuan_v1_dense", SIZES),
    "stablelm": family("stablelm", SIZES, flags=STABLE),
    "olmo": family("olmo", SIZES),
    "arcee": family("arcee", SIZES),
    "apertus": family("apertus", SIZES),
    "baichuan": family("baichuan", SIZES),
    "exaone": family("exaone", SIZES),
    "phi2": family("phi", SIZES),
    "starcoder2": family("starcoder2", SIZES),
    "gpt2": family("gpt2", GPT2),
    "starcoder": family("gpt_bigcode", GPT2),
    "gptneox": family("gpt_neox", SIZES),
    "bloom": family("bloom", SIZES),
    "mpt": family("mpt", MPT, flags={"no_bias": "!attn_qkv.bias"}),
    "falcon": family("falcon", SIZES, {"feed_forward_length": "ffn_hidden_size"}),
    "falcon:blk.0.attn_norm_2.weight": family(
        "falcon",
        SIZES,
        {"feed_forward_length": "ffn_hidden_size", "attention.head_count_kv": "num_kv_heads"},
        new_decoder_architecture=True,
    ),
    "nemotron": family("nemotron", SIZES, flags=BIAS),
    "mamba": family("mamba", SIZES, STATE_SPACE),
    "mamba2": family("mamba2", SIZES, STATE_SPACE, {"ssm.time_step_rank": "num_heads", "ssm.group_count": "n_groups"}),
}
VARIANTS = {name.partition(":")[0]: name.partition(":")[2] for name in FAMILIES if ":" in name}
