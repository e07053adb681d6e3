"""The fields of a scenario, what is taken where one is left out, and the words that they know."""

FIELDS = (
    "workload",
    "model",
    "accelerator",
    "accelerators",
    "parallelism",
    "weights",
    "kv_cache",
    "kv_cache_v",
    "engine",
    "engine_version",
    "backend",
    "sequences",
    "concurrency",
    "length_spread",
    "arrivals",
    "sequence_slots",
    "graphs",
    "text_only",
    "videos",
    "prompt_tokens",
    "output_tokens",
    "context_tokens",
    "longest_tokens",
    "cached_tokens",
    "shared_prefix_tokens",
    "prefix_hit_rate",
    "speculation",
    "adapters_served",
    "start",
    "disaggregation",
    "balance_experts",
    "prompt_logits",
    "batched_tokens",
    "memory_fraction",
    "memory_limit",
    "display",
    "attention",
    "gpu_layers",
    "experts_on_host",
    "host",
    "pcie",
    "power_limit",
    "tensor_split",
    "cache_offload",
    "correction",
    "price_per_hour",
    "electricity_per_kwh",
)


DEFAULTS: dict[str, object] = {
    "workload": "inference",
    "weights": "published",
    "kv_cache": "bf16",
    "engine": "none",
    "sequences": 1,
    "cached_tokens": 0,
    "prompt_logits": "last",
    "batched_tokens": 2048,
    "attention": "flash",
}


ENGINES = ("none", "vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "mlx")


HOST_ENGINE = "llama.cpp"  # leaves parts of a model in the host's memory


# Programs that people ask for by name and that are not computed, with what comes nearest.
NOT_COMPUTED = {
    "ktransformers": "KTransformers is not computed; llama.cpp with experts_on_host leaves the same weights to the "
    "processor. On one socket its steps come out near; prompts, which KTransformers reads with matrix units of the "
    "processor or copies layer by layer, do not, nor does memory of a second socket",
}


BACKEND_WORDS = {"hip": "rocm"}  # what people call a back end, and its name here


OF_HOST = ("gpu_layers", "experts_on_host")  # how a scenario says which


SHARING_ENGINES = ("vllm", "sglang", "tensorrt-llm")  # set aside a cache, in a share of the device; record graphs


# Two models as different as can be, for reading the other fields of a scenario whose model is wrong.
STAND_INS = {"model": ("llama-3.1-8b", "bloom-560m")}


DEGREES = ("tensor", "pipeline", "data", "expert", "context")


MOST_TOKENS, MOST_DEGREE = 10**9, 65_536


MODEL_FIELDS = ("config", "name", "stored_bytes")


PUBLISHED = "published"  # weights as the model's repository has them


USUAL = "usual"  # the engine that most people take on the device
USUAL_FRAMEWORK = "trl"  # what the examples of most models' cards tune with


STORED = "stored"  # weights in the sizes that the model's file gave


# What a scenario says of an accelerator, and what it leaves open without one.
OF_ACCELERATOR = {
    "memory_limit": "what a program may use of what",
    "display": "what a program may use of what",
    "pcie": "what is plugged in",
    "power_limit": "what draws as much",
}
