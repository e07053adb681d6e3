"""hf-vram-calc: weights by parameters counted on a model of the config, its cache, and factors for the rest."""

from functools import lru_cache
from typing import Any

from hf_vram_calc.calculator import ParameterCalculator, VRAMCalculator
from hf_vram_calc.config import ConfigManager
from hf_vram_calc.models import ModelConfig
from serve import NoAnswerError, serve
from transformers import AutoConfig

FORMATS = {
    "bf16": "bf16",
    "fp16": "fp16",
    "fp32": "fp32",
    "fp8": "fp8",
    "int8": "int8",
    "nf4": "int4",
    "awq": "awq_int4",
    "gptq-int4": "int4",
}
CALCULATOR = VRAMCalculator(ConfigManager())
GIB = 2**30


@lru_cache(maxsize=64)
def parameters(config: tuple[tuple[str, Any], ...]) -> int:
    """Return the parameters of a model of a config."""
    return int(ParameterCalculator.calculate_transformer_params(model_config(dict(config))))


def model_config(config: dict[str, Any]) -> ModelConfig:
    """Return a config as the tool's parser makes it."""
    read = AutoConfig.for_model(**config)
    return ModelConfig(
        model_name=config["model_type"],
        vocab_size=read.vocab_size,
        hidden_size=read.hidden_size,
        num_layers=read.num_hidden_layers,
        num_attention_heads=read.num_attention_heads,
        intermediate_size=getattr(read, "intermediate_size", None),
        num_key_value_heads=getattr(read, "num_key_value_heads", None),
        model_type=config["model_type"],
        test_config=read,
    )


def answer(case: dict[str, Any]) -> float:
    """Return what the tool's tables show for a case."""
    scenario, kind = case["scenario"], case["kind"]
    plain = {name: value for name, value in case["config"].items() if not isinstance(value, dict | list)}
    if kind == "cache":
        tokens, sequences = scenario["context_tokens"], scenario["sequences"]
        return CALCULATOR.calculate_kv_cache_memory(model_config(plain), "bf16", sequences, tokens) * GIB
    if kind == "pool":
        raise NoAnswerError("no engines")
    name = "bf16" if kind == "training" else scenario["weights"]
    if name not in FORMATS:
        raise NoAnswerError("no such format")
    weights = CALCULATOR.calculate_model_memory(parameters(tuple(sorted(plain.items()))), FORMATS[name])
    if kind == "inference":
        return CALCULATOR.calculate_inference_memory(weights) * GIB
    if kind == "training":
        if any(degree > 1 for degree in scenario["parallelism"].values()):
            raise NoAnswerError("one device alone")
        return CALCULATOR.calculate_training_memory(weights) * GIB
    return weights * GIB


serve("hf-vram-calc", answer)
