"""What the calculators of training ask: how the work is divided, how a model is trained, and in which batches."""

from calc.calculators.inputs import Choice, Number, Text

DEGREES = ("tensor", "pipeline", "data", "context", "expert")
SPLIT = "Other ways to divide"

TENSOR_RANKS = Number(
    "tensor",
    "Tensor-parallel ranks",
    "Each has a part of every matrix.",
    "1",
    least=1,
    most=4096,
    topic=SPLIT,
)
STAGES = Number(
    "pipeline",
    "Pipeline stages",
    "Each has some of the layers.",
    "1",
    least=1,
    most=4096,
    topic=SPLIT,
)
CONTEXT_RANKS = Number(
    "context",
    "Context-parallel ranks",
    "Each has a part of every sequence.",
    "1",
    least=1,
    most=4096,
    topic=SPLIT,
)
EXPERT_RANKS = Number(
    "expert",
    "Expert-parallel ranks",
    "Taken out of tensor and data ranks, not added.",
    "1",
    least=1,
    most=4096,
    topic=SPLIT,
)
PRECISION = Choice(
    "precision",
    "Precision",
    "What the framework keeps of each parameter beside the one it computes with.",
    "",
    options=(
        ("bf16-mixed", "BF16 with FP32 masters (Megatron-LM, DeepSpeed)"),
        ("bf16", "BF16 alone (torchtune's usual)"),
        ("bf16-autocast", "FP32 with BF16 autocast (PyTorch)"),
        ("fp16-mixed", "FP16 with FP32 masters"),
        ("fp16-autocast", "FP32 with FP16 autocast (PyTorch)"),
        ("fp8-mixed", "FP8 matrices with FP32 masters"),
        ("fp32", "FP32"),
    ),
    empty="What the framework does; without one BF16 with FP32 masters",
    topic="How it is trained",
)
FRAMEWORK = Choice(
    "framework",
    "Framework",
    "What it does by itself where nothing is chosen here: precision, optimizer, loss, compiling, gradients, padding.",
    "",
    kind="frameworks",
    empty="Not stated",
    topic="How it is trained",
)
VERSION = Text(
    "engine_version",
    "Its version",
    "Older ones did other things by themselves: 4.44, 0.9.2. Empty: the newest.",
    topic="How it is trained",
)
OPTIMIZER = Choice(
    "optimizer",
    "Optimizer",
    "AdamW has two states for each trained parameter.",
    "",
    options=(
        ("adamw", "AdamW, fused"),
        ("adamw-foreach", "AdamW, foreach"),
        ("adamw-8bit", "AdamW in 8 bit"),
        ("paged-adamw", "Paged AdamW"),
        ("paged-adamw-8bit", "Paged AdamW in 8 bit"),
        ("lion", "Lion"),
        ("lion-8bit", "Lion in 8 bit"),
        ("adafactor", "Adafactor"),
        ("muon", "Muon"),
        ("sgd-momentum", "SGD with momentum"),
        ("sgd", "SGD"),
        ("adagrad", "Adagrad"),
    ),
    empty="What the framework takes; without one AdamW, fused",
    topic="How it is trained",
)
CHECKPOINTING = Choice(
    "checkpointing",
    "Checkpointing",
    "What is thrown away after the forward pass and computed again.",
    "full",
    options=(("none", "None"), ("selective", "Selective"), ("full", "Every layer")),
    topic="How it is trained",
)
LOSS = Choice(
    "cross_entropy",
    "Loss",
    "How logits become a loss. TRL's chunked_nll is the fused one here, though its name has chunks in it.",
    "",
    options=(
        ("full", "All logits at once: Transformers, Megatron-LM"),
        ("full-shifted", "All at once and shifted: Transformers before 4.49"),
        ("full-16-bit", "All at once, in 16 bit alone"),
        ("chunked", "In chunks: LitGPT, torchtune before 0.6"),
        ("compiled", "Compiled: torchtitan, LLM Foundry"),
        ("fused", "Fused with the output matrix: TRL, Liger, Unsloth"),
    ),
    empty="What the framework does; without one all logits at once",
    topic="How it is trained",
)
OFFLOAD = Choice(
    "offload",
    "Kept in host memory",
    "It crosses PCIe when it is needed.",
    "",
    options=(("optimizer", "Optimizer"), ("parameters", "Parameters"), ("activations", "Activations")),
    empty="Nothing, or what the framework does",
    topic="How it is trained",
)
MICRO_BATCH = Number(
    "micro_batch", "Micro-batch", "Sequences that one device works on at once.", "1", least=1, most=2**20, topic="Batch"
)
ACCUMULATION = Number(
    "gradient_accumulation",
    "Micro-batches accumulated",
    "Their gradients add up to one step.",
    "1",
    least=1,
    most=2**20,
    topic="Batch",
)
SEQUENCE = Number("sequence_tokens", "Sequence", "Tokens of each sequence.", "2048", least=1, most=2**30)
SHARDING_OPTIONS = (
    ("none", "Nothing: each GPU has a copy"),
    ("zero-1", "Optimizer states (ZeRO-1)"),
    ("zero-2", "… and gradients (ZeRO-2)"),
    ("zero-3", "… and parameters (ZeRO-3)"),
    ("fsdp", "The same by PyTorch (FSDP)"),
)
