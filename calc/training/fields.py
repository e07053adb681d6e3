"""The fields of a training scenario, their defaults, and taking them one by one."""

from collections.abc import Mapping

from calc.architecture.stages import EVEN
from calc.memory.training.loss import FULL as FULL_LOSS
from calc.memory.training.plan import (
    GRADIENTS,
    NO_CHECKPOINTS,
    NONE,
    OPTIMIZER,
    PARAMETERS,
    RING,
)
from calc.scenario.reader import Reader, read_flag

BITSANDBYTES = ("nf4", "nf4-dq", "int8")  # formats into which it puts what is loaded in 16 bit
QLORA_BASE = "nf4-dq"  # what QLoRA stores where nobody says it (arXiv:2305.14314, section 3)
SHARDING = {"none": NONE, "zero-1": OPTIMIZER, "zero-2": GRADIENTS, "zero-3": PARAMETERS, "fsdp": PARAMETERS}
USUAL, UNKNOWN = "usual", "unknown"  # what a flag is that a scenario leaves open
EAGER = "eager"
ATTENTIONS = ("flash", "flash-1", "flash-2", "flash-3", EAGER)
OFFLOADS = ("optimizer", "parameters", "activations")
GRADIENT_TYPES = {"bf16": 2, "fp16": 2, "fp32": 4}
MOST_BATCH, MOST_SEQUENCE, MOST_RANK = 2**20, 2**30, 2**16
FIELDS = (
    "workload",
    "model",
    "accelerator",
    "accelerators",
    "memory_limit",
    "display",
    "power_limit",
    "pcie",
    "parallelism",
    "framework",
    "engine_version",
    "method",
    "lora",
    "base_weights",
    "base_inputs_kept",
    "experts_quantized",
    "precision",
    "adapter_dtype",
    "gradient_dtype",
    "reduce_dtype",
    "narrow_gradients_kept",
    "optimizer",
    "sharding",
    "shard_ranks",
    "optimizer_in_backward",
    "gradient_reduction",
    "frozen_gradients",
    "tables_apart",
    "adapters_apart",
    "gather_dtype",
    "padding_mask",
    "checkpointing",
    "selective",
    "attention",
    "cross_entropy",
    "keep_logits",
    "compile",
    "expandable_segments",
    "offload",
    "sequence_parallel",
    "tensor_overlap",
    "graphs",
    "context_exchange",
    "gathered_inputs_kept",
    "gathered_weights_kept",
    "narrow_inputs_kept",
    "experts_weighted_inside",
    "micro_batch",
    "sequence_tokens",
    "packed_tokens",
    "varied_lengths",
    "gradient_accumulation",
    "stage_split",
    "virtual_stages",
    "training_tokens",
    "network_gbit_per_s",
    "price_per_hour",
    "electricity_per_kwh",
)
DEFAULTS: dict[str, object] = {
    "method": "full",
    "precision": "bf16-mixed",
    "optimizer": "adamw",
    "base_inputs_kept": False,
    "experts_quantized": True,
    "sharding": "none",
    "optimizer_in_backward": False,
    "gradient_reduction": "each",
    "frozen_gradients": False,
    "tables_apart": False,
    "adapters_apart": False,
    "narrow_gradients_kept": False,
    "gathered_inputs_kept": False,
    "gathered_weights_kept": False,
    "narrow_inputs_kept": False,
    "experts_weighted_inside": False,
    "padding_mask": False,
    "checkpointing": NO_CHECKPOINTS,
    "attention": "flash",
    "cross_entropy": FULL_LOSS,
    "keep_logits": True,
    "offload": [],
    "sequence_parallel": False,
    "tensor_overlap": False,
    "graphs": False,
    "context_exchange": RING,
    "micro_batch": 1,
    "sequence_tokens": 2048,
    "compile": USUAL,
    "expandable_segments": False,
    "varied_lengths": UNKNOWN,
    "stage_split": EVEN,
    "virtual_stages": 1,
}


class TrainingReader(Reader):
    """Takes the fields of a training scenario."""

    fields = FIELDS
    of = " of training"
    usual = DEFAULTS

    def __init__(self, scenario: Mapping[str, object]) -> None:
        super().__init__(scenario)
        self.presets: dict[str, object] = {}  # what the framework does

    def flag(self, name: str, default: bool | None = None) -> bool:
        """Return the field as true or false."""
        return read_flag(self.take(name, default), name)

    def open_flag(self, name: str, word: str) -> bool | None:
        """Return the field as true or false, None where it is left open with a word."""
        return None if self.take(name) == word else self.flag(name)
