"""The model families: from a `config.json` to the list of a model's layers.

A family is one small function in a module of its kind, found by its `model_type`. Layouts follow the classes of Hugging
Face transformers (`modeling_<model_type>.py`), whose parameter counts the tests compare to the last parameter.
"""

from calc.architecture.families import (
    bert_kin,
    compressed,
    cross_attention,
    delta_hybrid,
    dense,
    encoder,
    gemma,
    gpt,
    hearing,
    hybrid,
    inkling,
    inner_adapters,
    latent,
    linear_attention,
    matrix_memory,
    mixture,
    multimodal,
    ngram_tables,
    reading,
    remote_code,
    rwkv,
    searched,
    seeing,
    shared_blocks,
    shared_mixture,
    short_convolution,
    sparse_attention,
    state_space,
    translation,
)
from calc.architecture.families.registry import FAMILIES, left_out, read_config

MODULES = (  # importing them fills the registry
    bert_kin,
    compressed,
    cross_attention,
    delta_hybrid,
    dense,
    encoder,
    gemma,
    gpt,
    hearing,
    hybrid,
    inkling,
    inner_adapters,
    latent,
    linear_attention,
    matrix_memory,
    mixture,
    multimodal,
    ngram_tables,
    reading,
    remote_code,
    rwkv,
    searched,
    seeing,
    shared_blocks,
    shared_mixture,
    short_convolution,
    sparse_attention,
    state_space,
    translation,
)

__all__ = ["FAMILIES", "MODULES", "left_out", "read_config"]
