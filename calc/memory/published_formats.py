"""The number formats that a model is published in: from its config's `quantization_config` and stated type."""

from collections.abc import Mapping

from calc.architecture.layers import Architecture
from calc.architecture.tensors import QUANTIZED_BLOCKS
from calc.catalog.records import ModelFormat, NumberFormat, Recipe, Rule, Weights
from calc.memory.module_rules import merged, of_modules
from calc.memory.quantization_methods import Find, Values, listed, read_method
from calc.memory.recipes import HEAD, settled

LANGUAGE_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
TYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "half": "fp16", "float": "fp32"}


def published_format(config: Values, architecture: Architecture, find: Find) -> ModelFormat:
    """Return what a config says its weights are stored in; BF16 where it says nothing.

    `find` returns a number format by its id. Raises ScenarioError for a method that is not known.
    """
    plain = find(TYPES.get(stated_type(config), "bf16"))
    quantization = quantization_of(config)
    if not quantization:
        return plain
    stated = read_method(quantization, config, find)
    left = plain if plain.bits == 16 else find("bf16")
    rules = [*of_modules(stated.only, stated.base)]
    if stated.head:
        rules.append(Rule(stated.base, block=HEAD))
    if stated.only:
        rules = [*(Rule(left, block=block) for block in QUANTIZED_BLOCKS), *rules]
    for name in stated.left_out:
        rules += of_modules(listed(quantization, name), left)
    for module, number_format in stated.others:
        rules += of_modules((module,), number_format)
    recipe = Recipe("published", stated.base.name, stated.base, left, rules=merged(rules))
    return settled(architecture, recipe)


def is_eight_bit(weights: Weights) -> bool:
    """Return whether matrices of weights are in FP8, with scales of any kind."""
    base = weights.base if isinstance(weights, Recipe) else weights
    return isinstance(base, NumberFormat) and base.bits == 8 and base.native == "fp8"


def published_cache(config: Values) -> str:
    """Return the number format that a config says caches are kept in, as ModelOpt has it; empty where it says none."""
    quantization = quantization_of(config)
    scheme = quantization.get("kv_cache_scheme")
    stated = isinstance(scheme, Mapping) and (scheme.get("num_bits"), scheme.get("type")) == (8, "float")
    return "fp8" if stated or quantization.get("kv_cache_quant_algo") == "FP8" else ""


def quantization_of(config: Values) -> Values:
    """Return a config's `quantization_config`, of the whole or of its language part; empty where it has none."""
    parts = [config, *(config[name] for name in LANGUAGE_PARTS if isinstance(config.get(name), Mapping))]
    for part in parts:
        assert isinstance(part, Mapping)
        for name in ("quantization_config", "quantization"):
            found = part.get(name)
            if isinstance(found, Mapping) and found:
                return found
    return {}


def stated_type(config: Values) -> str:
    """Return the type that a config states for its weights, of the whole or of its language part."""
    parts = [config, *(config[name] for name in LANGUAGE_PARTS if isinstance(config.get(name), Mapping))]
    found = [part.get(name) for part in parts if isinstance(part, Mapping) for name in ("torch_dtype", "dtype")]
    return next((item.removeprefix("torch.") for item in found if isinstance(item, str)), "")
