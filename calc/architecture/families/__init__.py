"""The model families: from a `config.json` to the list of a model's layers.

A family is one small function in a module of its kind, found by its `model_type`. Layouts follow the classes of Hugging
Face transformers (`modeling_<model_type>.py`), whose parameter counts the tests compare to the last parameter.
"""

from importlib import import_module

from calc.architecture.families.registry import left_out, modelled, read_config

__all__ = ["left_out", "modelled", "read_config"]

for kind in (  # each puts its families into the registry
    "alibi",
    "bert_kin",
    "captioning",
    "compressed",
    "cross_attention",
    "delta_hybrid",
    "dense",
    "encoder",
    "forerunners",
    "gated_latent",
    "gemma",
    "gpt",
    "hearing",
    "hybrid",
    "inkling",
    "inner_adapters",
    "latent",
    "layerwise",
    "linear_attention",
    "listening",
    "matrix_memory",
    "merging",
    "mixture",
    "multimodal",
    "ngram_tables",
    "norm_places",
    "pages",
    "proteins",
    "radio",
    "reading",
    "remote_code",
    "resampling",
    "rwkv",
    "searched",
    "seeing",
    "senses",
    "shared_blocks",
    "shared_entries",
    "shared_mixture",
    "short_convolution",
    "sparse_attention",
    "speaking",
    "state_space",
    "t5_gemma",
    "text_encoders",
    "translation",
    "viewing",
    "windowed",
):
    import_module(f"{__name__}.{kind}")
