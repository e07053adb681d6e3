"""What is known of the sources of training's rows beyond the rows: what trained them, and its ways then."""

# What trained the rows of a source, by its name in the catalogue of frameworks.
FRAMEWORKS = {
    "axolotl": "axolotl",
    "chenyaofo": "deepspeed",
    "crusoe": "torchtitan",
    "deepspeed_sdma": "deepspeed",
    "dgx_spark_stack": "transformers",
    "dlrover": "transformers",
    "dlrover_3d": "deepspeed",
    "experts4bit": "unsloth",
    "fitcheck": "transformers",
    "flagperf": "megatron-lm",
    "flagperf_deepspeed": "deepspeed",
    "fms": "transformers",
    "fsdp_qlora": "fsdp-qlora",
    "hf_one_gpu": "transformers",
    "internevo": "internevo",
    "kyuz0_finetuning": "trl",
    "litgpt": "litgpt",
    "litgpt_hub": "litgpt",
    "llamafactory_4772": "llama-factory",
    "moe_zoo": "megatron-lm",
    "peft_metamath": "transformers",
    "qwen_readme": "transformers",
    "soup": "transformers",
    "stas00": "deepspeed",
    "swift": "ms-swift",
    "swift_deepspeed": "ms-swift",
    "swift_megatron": "megatron-lm",
    "swiss_ai": "megatron-lm",
    "titan_deepep": "torchtitan",
    "torchao_pretraining": "torchtitan",
    "torchtitan": "torchtitan",
    "torchtune": "torchtune",
    "touchnet": "torchtitan",
    "trl_long_context": "trl",
    "universal_trainer": "transformers",
    "unsloth_notebooks": "unsloth",
    "vertex_openllama": "transformers",
}
SPEED_FRAMEWORKS = {  # the same of rows of speed
    **FRAMEWORKS,
    "dgxc": "nemo",
    "megatron_bridge": "nemo",
    "llm_foundry": "llm-foundry",
    "megatron_lm": "megatron-lm",
    "megatron_lm_llama": "megatron-lm",
    "gpu_recipes": "nemo",
    "nemo": "nemo",
    "surogate_unsloth": "unsloth",
    "te_llama": "transformers",
    "tprimat": "nemo",
    "tprimat_primus": "megatron-lm",
    "xtuner_bench": "xtuner",
    "xtuner_megatron": "megatron-lm",
}
MASTERS = ("bigscience", "llm_foundry", "internevo", "tinyllama", "qwen_readme")  # keep FP32 beside 16 bit
FUSED = (
    "bigscience",
    "megatron_lm",
    "megatron_bridge",
    "nemo",
    "nemo_automodel",
    "tinyllama",
    "megatron_lm_llama",
    "swift_megatron",
    "xtuner_megatron",
)  # fuse their pointwise operations by hand
FIRST_TILES = ("llm_foundry",)  # Triton's version of the first FlashAttention, attn_impl "triton"
OLD = ("dlperf_v100",)  # ran before there was attention in tiles
ADAPTERS = {  # defaults of their scripts
    "qwen_readme": {"rank": 64, "targets": ["c_attn", "c_proj", "w1", "w2"], "dropout": 0.05},
    "megatron_bridge": {"rank": 32, "targets": ["q", "k", "v"]},
    "nemo": {"rank": 32, "targets": ["q", "k", "v"]},
    "nemo_automodel": {"rank": 8, "targets": ["q", "k", "v", "o", "mlp"]},
    "peft_metamath": {"rank": 32, "targets": ["q", "v"], "dropout": 0},
    "universal_trainer": {"rank": 8, "targets": "all-linear"},
    "axolotl": {"rank": 32, "targets": ["q", "k", "v", "o"]},
    "dgx_spark_stack": {"rank": 16, "targets": ["q", "k", "v", "o"], "dropout": 0.05},
    "experts4bit": {"rank": 16, "targets": "all-linear"},
    "guide_h200": {"rank": 16, "targets": "all-linear"},
    "intel_gaudi": {"rank": 8, "targets": ["q", "v"], "dropout": 0.05},
    "memopro": {"rank": 16, "targets": "all-linear"},
    "surogate_unsloth": {"rank": 16, "targets": "all-linear"},
    "vectorlm": {"rank": 8, "targets": ["q", "v"], "dropout": 0.1},
}
# torchtitan compiles the loss with the model since April 2025 (pull request 1033): runs of a later date.
LOSS_COMPILED = (
    "M-torchtitan-019",
    "M-torchtitan-020",
    "M-torchao-004",
    "M-torchao-005",
    "M-torchao-006",
    "M-torchao-007",
)
# Rows that say less than weights, gradients and the states of the optimizer that they name: something else was run.
IMPOSSIBLE = ("M-litgpt-070", "M-litgpt-073", "M-litgpt-082")
LATER_BITSANDBYTES = (
    "dgx_spark_stack",
    "experts4bit",
    "fms",
    "memopro",
    "unsloth_notebooks",
)  # from 0.43.2 on, where matrices keep no inputs (pull request 1270)
