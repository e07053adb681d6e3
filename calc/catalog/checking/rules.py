"""What entries of models, number formats, engines and sources must look like: their fields and types."""

from collections.abc import Mapping

from calc.catalog.checking.check import Rules

SOURCE_KINDS = (
    "data sheet",
    "white paper",
    "paper",
    "documentation",
    "product page",
    "measurement",
    "code",
    "press",
    "database",
)
MODEL_RULES: Rules = {
    "name": (str,),
    "repositories": (list,),
    "finetunes?": (list,),  # repositories of others that hold the same shape under names of their own
    "variants?": (dict,),  # such as have other classes or words at their ends, each with what its config says of them
    "aliases": (list,),
    "organization": (str,),
    "made_for?": (str,),  # one of MADE_FOR, of a model that does one thing and is not asked what it is told
    "licence": (str,),
    "released": (str,),
    "gated": (bool,),
    "context_tokens": (int,),
    "config": (dict,),
    "published?": (dict,),
    "conversions?": (dict,),  # repositories whose names say the number format, each with the source that has it
    "source": (str,),
    "checked": (str,),
    "note?": (str,),
}
# What stands in a config, at any depth: the largest that sizes can be, what torch calls its types, and what is text.
CONFIG_SIZES: Mapping[str, int] = {
    "hidden_size": 2**16,
    "intermediate_size": 2**18,
    "vocab_size": 2**20,
    "num_hidden_layers": 2**10,
    "num_attention_heads": 2**10,
    "max_position_embeddings": 10**8,
}
TORCH_TYPES: Mapping[str, tuple[str, ...]] = dict.fromkeys(("torch_dtype", "dtype"), ("bfloat16", "float16", "float32"))
# Of those that Hugging Face transformers names (`ACT2FN`), what published configs have; T5 says a gate with it.
ACTIVATIONS = (
    "silu",
    "gelu",
    "gelu_new",
    "gelu_pytorch_tanh",
    "gelu_fast",
    "quick_gelu",
    "relu",
    "relu2",
    "swish",
    "tanh",
    "gated-gelu",
    "gated-silu",
)
ACTIVATION_KEYS = ("hidden_act", "hidden_activation", "activation_function", "feed_forward_proj", "mlp_hidden_act")
CONFIG_TEXTS = ("model_type", "hidden_act", "quant_method")
# What a variant's config may say otherwise, beside the keys of its model's config, and where that was read.
VARIANT_RULES: Rules = {
    "source": (str,),
    "checked": (str,),
    "architecture?": (str,),  # by timm's name for its shape
    "architectures?": (list,),
    "num_labels?": (int,),
    "dim?": (int,),  # of a short vector for each token
    "vocab_size?": (int,),
    "type_vocab_size?": (int,),
    "num_queries?": (int,),
    "context_tokens?": (int,),
    "sliding_window?": (int,),
    "_name_or_path?": (str,),
    "max_position_embeddings?": (int,),
    "image_size?": (int,),
    "tie_word_embeddings?": (bool,),
    "use_mean_pooling?": (bool,),
}
# A repository that stores a model otherwise: its config's `quantization_config`, as it stands there.
PUBLISHED_RULES: Rules = {"quantization_config": (dict,), "source": (str,), "checked": (str,), "note?": (str,)}
SOURCE_RULES: Rules = {
    "title": (str,),
    "publisher": (str,),
    "kind": (str,),
    "url": (str,),
    "dated?": (str,),
    "checked": (str,),
    "note?": (str,),
}
# Which tensors a number format is for: every one; the matrices of the layers, the embedding and the output matrix;
# those of the layers alone; those of the experts where there are any.
SCOPES = ("all", "matrices", "linear", "experts")
FORMAT_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "bits": (int, float),
    "scope": (str,),
    "summary": (str,),
    "source": (str,),
    "checked": (str,),
    "native?": (str,),
    "kernel?": (str,),
    "suffixes?": (list,),
    "cache?": (bool,),
    "flattened?": (bool,),
} | {
    f"{name}?": (int,)
    for name in (
        "group",
        "group_rows",
        "group_bits",
        "outer_group",
        "outer_bits",
        "row_bits",
        "column_bits",
        "tensor_bytes",
    )
}
FORMAT_BOUNDS = {
    "bits": (1, 64),
    "group": (8, 4096),
    "group_rows": (1, 4096),
    "group_bits": (1, 1024),
    "outer_group": (8, 65_536),
    "outer_bits": (1, 1024),
    "row_bits": (1, 64),
    "column_bits": (1, 64),
    "tensor_bytes": (1, 65_536),
}
ENGINE_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "versions": (str,),
    "summary": (str,),
    "usual_on": (list,),
    "formats": (list,),
    "drafters?": (list,),
    "platforms": (str,),
    "source": (str,),
    "checked": (str,),
    "coefficients": (dict,),
    "eras?": (list,),
    "towers?": (dict,),
    "backends?": (dict,),
    "window_pools?": (list,),
    "compressed_pages?": (list,),
    "family_slots?": (dict,),
    "library_experts?": (dict,),
    "triton_attention?": (dict,),
    "stepwise_choice?": (dict,),
    "tuned_products?": (dict,),
    "second_runner?": (dict,),
    "fetched?": (str,),
    "since?": (dict,),
}
CHANGE_RULES: Rules = {"version": (str,), "source": (str,), "checked": (str,)}
ERA_RULES: Rules = {
    "id": (str,),
    "name": (str,),
    "first": (str,),
    "dated?": (str,),
    "later?": (dict,),
    "packaged?": (dict,),
    "measured": (str,),
    "reason": (str,),
    "source": (str,),
}
PACKAGED_RULES: Rules = {"version": (str,), "dated": (str,)}
TOWER_COUNTS = ("image_tokens", "patches", "video_tokens", "pair_tokens", "kept_tokens", "widths")
TOWER_RULES: Rules = {
    "image_tokens": (int,),
    "patches": (int,),
    "video_tokens?": (int,),
    "pair_tokens?": (int,),
    "kept_tokens?": (int,),
    "widths?": (int,),
    "ended?": (str,),
    "source": (str,),
}
ENGINE_COEFFICIENT_RULES: Rules = {
    "value": (int, float),
    "unit?": (str,),
    "versions?": (str,),
    "rows?": (list,),
    "source?": (str,),
    "checked?": (str,),
    "reason": (str,),
}
MIXTURE_RULES: Rules = {
    "name": (str,),
    "aliases": (list,),
    "base": (str,),
    "importance_matrix?": (bool,),
    "dynamic?": (bool,),  # of Unsloth's quantiser
    "perplexity?": (int, float),  # what it adds to that of Llama 3 8B, as llama-quantize prints it
    "summary": (str,),
    "source": (str,),
    "checked": (str,),
}
COEFFICIENT_RULES: Rules = {
    "name": (str,),
    "value": (int, float),
    "unit": (str,),
    "low?": (int, float),
    "high?": (int, float),
    "summary": (str,),
    "rows": (str,),
    "source": (str,),
    "checked": (str,),
}
# Rows and sources of measurements of a bucket, by figure; and within which factors sources lay that were left out.
FIGURES = ("speed", "memory", "training-speed", "training-memory")
BUCKET_RULES: Rules = {**{f"{figure}?": (list,) for figure in FIGURES}, "since?": (str,)}
MEASURED_RULES: Rules = {"sources": (int,)}  # that measured a model
RANGE_RULES: Rules = {
    "inside": (int, float),
    "between": (int, float),
    "rows": (int,),
    "sources": (int,),
    "checked": (str,),
}
COEFFICIENT_UNITS = ("B", "ratio")
