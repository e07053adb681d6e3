"""llm-analysis: its `LLMAnalysis` on the dimensions of a config, with parallelism and recomputation."""

import dataclasses
import logging
from typing import Any

from llm_analysis.analysis import ActivationRecomputation, DSZeRO, LLMAnalysis
from llm_analysis.config import ModelConfig, ParallelismConfig, get_dtype_config_by_name, get_gpu_config_by_name
from serve import NoAnswerError, serve

logging.disable(logging.CRITICAL)
FORMATS = {"bf16": "w16a16e16", "fp16": "w16a16e16", "int8": "w8a16e16", "nf4": "w4a16e16", "awq": "w4a16e16",
           "gptq-int4": "w4a16e16"}  # fmt: skip
DENSE = {"llama", "mistral", "qwen2", "gpt2", "gpt_neox", "opt", "falcon", "bloom", "gemma", "phi3", "mixtral"}
RECOMPUTED = {"none": 0, "selective": 1, "full": 2}
SHARDED = {"none": 0, "zero-1": 1, "zero-2": 2, "zero-3": 3}
HELD = ("weight_memory_per_gpu", "kv_cache_memory_per_gpu", "prefill_activation_memory_per_gpu")
TRAINED = ("weight_memory_per_gpu", "gradient_memory_per_gpu", "optimizer_state_memory_per_gpu")


def first(config: dict[str, Any], *names: str) -> Any:
    """Return the first of some fields that a config has."""
    return next((config[name] for name in names if config.get(name) is not None), None)


def model_config(config: dict[str, Any]) -> ModelConfig:
    """Return the dimensions that the tool asks for."""
    if config["model_type"] not in DENSE:
        raise NoAnswerError("no such architecture")
    hidden = first(config, "hidden_size", "n_embd", "d_model")
    inner = first(config, "intermediate_size", "n_inner", "ffn_dim") or 4 * hidden
    return ModelConfig(
        name=config["model_type"],
        num_layers=first(config, "num_hidden_layers", "n_layer"),
        n_head=first(config, "num_attention_heads", "n_head"),
        hidden_dim=hidden,
        vocab_size=config["vocab_size"],
        max_seq_len=10**9,
        num_key_value_heads=first(config, "num_key_value_heads"),
        ffn_embed_dim=inner,
        expansion_ratio=inner / hidden,
        model_type=config["model_type"],
        moe_num_experts=config.get("num_local_experts", 1),
        moe_top_k=config.get("num_experts_per_tok", 1),
    )


def analysis(case: dict[str, Any], weights: str, **degrees: int) -> LLMAnalysis:
    """Return the tool's analysis of a case."""
    if weights not in FORMATS:
        raise NoAnswerError("no such format")
    return LLMAnalysis(
        model_config(case["config"]),
        dataclasses.replace(get_gpu_config_by_name("a100-sxm-80gb"), mem_per_GPU_in_GB=1e6),  # what fits is not asked
        get_dtype_config_by_name(FORMATS[weights]),
        ParallelismConfig(**degrees),
    )


def trained(case: dict[str, Any]) -> float:
    """Return the memory of a training step."""
    scenario, layout = case["scenario"], case["scenario"]["parallelism"]
    tensor, pipeline, data = (layout.get(name, 1) for name in ("tensor", "pipeline", "data"))
    asked = analysis(case, "bf16", tp_size=tensor, pp_size=pipeline, sp_size=tensor, dp_size=data)
    found = asked.training(
        batch_size_per_gpu=scenario["micro_batch"],
        gradient_accumulation_steps=scenario.get("gradient_accumulation", 1),
        seq_len=scenario["sequence_tokens"],
        total_num_tokens=1e9,
        activation_recomputation=ActivationRecomputation(RECOMPUTED[scenario["checkpointing"]]),
        ds_zero=DSZeRO(SHARDED[scenario["sharding"]]),
        mlp_gated_linear_units=case["config"]["model_type"] in ("llama", "mistral", "qwen2"),
    )
    return sum(found[name] for name in TRAINED) + found["activation_memory_per_gpu"]


def answer(case: dict[str, Any]) -> float:
    """Return what the tool says for a case."""
    scenario, kind = case["scenario"], case["kind"]
    if kind == "pool":
        raise NoAnswerError("no engines")
    if kind == "training":
        return trained(case)
    if kind == "cache":
        prompt, output, sequences = scenario["context_tokens"] - 1, 1, scenario["sequences"]
    elif kind == "inference":
        prompt, output = scenario.get("prompt_tokens"), scenario.get("output_tokens")
        if not prompt:
            prompt, output = scenario.get("context_tokens", 2304) - 1, 1
        sequences = scenario["sequences"]
    else:
        prompt, output, sequences = 1, 1, 1
    asked = analysis(case, scenario.get("weights", "bf16"))
    found = asked.inference(batch_size_per_gpu=sequences, seq_len=prompt, num_tokens_to_generate=output or 1)
    if kind == "weights":
        return float(found["weight_memory_per_gpu"])
    if kind == "cache":
        return float(found["kv_cache_memory_per_gpu"])
    return float(sum(found[name] for name in HELD))


serve("llm-analysis", answer)
