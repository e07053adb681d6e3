"""The command that trains what a scenario of training is about: TRL under accelerate, or torchtitan under torchrun."""

from collections.abc import Iterator, Mapping
from typing import Any

from calc.catalog import Catalog
from calc.derivation import Warn
from calc.launching import torchtitan
from calc.launching.command import flags_of
from calc.launching.trained import PORT, Trained, keeps_wide
from calc.performance.fabric import joined

MIXED = {  # accelerate's word for a precision
    "bf16-mixed": "bf16",
    "bf16-autocast": "bf16",
    "fp16-mixed": "fp16",
    "fp16-autocast": "fp16",
}
STATES = {"optimizer", "parameters"}
STARTED = (None, "transformers", "trl", "deepspeed")  # frameworks that TRL's command starts
ZERO = {"none": 0, "zero-1": 1, "zero-2": 2, "zero-3": 3}


def trained(report: Mapping[str, Any], facts: Catalog) -> Trained:
    """Return what is started for a scenario of training, as its report filled it in."""
    filled = report["scenario"]
    count = filled["accelerators"]
    device = facts.accelerator(filled["accelerator"]) if filled.get("accelerator") else None
    inside = min(joined(device, ranks=count).inside, count) if device is not None and count > 1 else count
    machines = -(-count // inside)
    if filled.get("framework") == torchtitan.NAME:
        return torchtitan.started(filled, facts, machines=machines, devices=inside)
    model = filled["model"]
    record = facts.model(model) if isinstance(model, str) else None
    named = facts.variant(model) or next(iter(record.repositories), "") if record else ""
    launcher = facts.launcher("trl")
    said, left = flags_of(launcher, dict(choices(filled)), "")
    config = configuration(filled, machines=machines, devices=inside)
    return Trained(
        framework=launcher.id,
        words=(*launcher.program, launcher.model_flag, named or "/models/model"),
        said=tuple(said),
        files=(("accelerate.yaml", config),),
        machines=machines,
        devices=inside,
        warnings=(*doubts(filled, facts), *left),
        each="each machine, with machine_rank in the file from 0 on, and main_process_ip",
        slurm=f'--machine_rank "$SLURM_NODEID" --main_process_ip "$HEAD" --main_process_port {PORT}',
    )


def choices(filled: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Iterate over what a run is told, by the name that flags have for it."""
    yield "config", "accelerate.yaml"
    yield "dataset", "DATASET"
    for name in ("micro_batch", "gradient_accumulation", "sequence_tokens", "optimizer", "attention", "checkpointing"):
        yield name, filled[name]
    if not filled["padding_mask"]:
        yield "packing", True
    yield "kept", "fp32" if keeps_fp32(filled) else "bf16"
    if filled["precision"] not in ("bf16", "fp32"):
        yield "precision", filled["precision"]
    if filled["cross_entropy"] == "fused":
        yield "loss", "fused"
    if filled["method"] == "full":
        return
    targets = filled["lora"]["targets"]
    yield "adapters", True
    yield "lora_rank", filled["lora"]["rank"]
    yield "lora_targets", targets if isinstance(targets, str) else " ".join(targets)
    if filled["method"] == "qlora":
        yield "base", filled["base_weights"]
        if filled["sharding"] == "zero-3":
            yield "storage", "bf16"


def keeps_fp32(filled: Mapping[str, Any]) -> bool:
    """Return whether weights are kept in FP32: a master copy beside 16-bit ones is DeepSpeed's alone."""
    mixed = filled["precision"].endswith("-mixed") and filled["method"] == "full" and not by_deepspeed(filled)
    return keeps_wide(filled["precision"]) or mixed


def by_deepspeed(filled: Mapping[str, Any]) -> bool:
    """Return whether DeepSpeed divides the run: it shards states without parameters, and leaves some on the host."""
    return (bool(filled["offload"]) and not all_wait(filled)) or filled["sharding"] in ("zero-1", "zero-2")


def all_wait(filled: Mapping[str, Any]) -> bool:
    """Return whether a frozen base and all states wait on the host: FSDP leaves all of them there, or none."""
    return filled["method"] != "full" and filled["sharding"] == "zero-3" and set(filled["offload"]) >= STATES


def configuration(filled: Mapping[str, Any], *, machines: int, devices: int) -> str:
    """Return accelerate's configuration: plain copies, FSDP for sharded parameters, DeepSpeed for the rest."""
    stage, waits = ZERO[filled["sharding"]], list(filled["offload"])
    several = machines * devices > 1
    kind = "DEEPSPEED" if by_deepspeed(filled) else "FSDP" if stage == 3 else "MULTI_GPU" if several else "'NO'"
    lines = [
        "compute_environment: LOCAL_MACHINE",
        f"distributed_type: {kind}",
        f"mixed_precision: {MIXED.get(filled['precision'], 'no')!r}",
        f"num_machines: {machines}",
        f"num_processes: {machines * devices}",
        "machine_rank: 0",
        f"main_process_port: {PORT}",
    ]
    if kind == "FSDP":
        lines += [
            "fsdp_config:",
            "  fsdp_version: 2",
            "  fsdp_reshard_after_forward: true",
            f"  fsdp_offload_params: {'true' if all_wait(filled) else 'false'}",
            "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP",
            "  fsdp_cpu_ram_efficient_loading: true",
            "  fsdp_state_dict_type: FULL_STATE_DICT",
            "  fsdp_activation_checkpointing: false",
        ]
    elif kind == "DEEPSPEED":
        lines += [
            "deepspeed_config:",
            f"  zero_stage: {stage}",
            f"  offload_optimizer_device: {'cpu' if 'optimizer' in waits else 'none'}",
            f"  offload_param_device: {'cpu' if 'parameters' in waits else 'none'}",
            f"  gradient_accumulation_steps: {filled['gradient_accumulation']}",
        ]
        if machines > 1:  # accelerate is started on each; by itself it would reach the others from a list, by pdsh
            lines.append("  deepspeed_multinode_launcher: standard")
    return "\n".join(lines) + "\n"


def doubts(filled: Mapping[str, Any], facts: Catalog) -> Iterator[Warn]:
    """Iterate over what the command does not say of the scenario."""
    layout, named = filled["parallelism"], filled.get("framework")
    if named not in STARTED:
        message = f"this is TRL's command: {facts.framework(named).name}, of which the answer is, is started by its own"
        yield Warn("other-program", message, "framework")
    yield Warn("dataset-needed", "put the name or the folder of your own texts in place of DATASET", "training_tokens")
    divided = [name for name in ("tensor", "pipeline", "context", "expert") if layout[name] > 1]
    if divided:
        message = (
            f"TRL's commands have no flag for {' or '.join(divided)} parallelism: a script of your own divides a model "
            "by the distributed_config of from_pretrained, and Megatron-LM, NeMo and torchtitan have settings for it"
        )
        yield Warn("no-flag", message, f"parallelism.{divided[0]}")
    if keeps_fp32(filled) and not keeps_wide(filled["precision"]):
        message = (
            "TRL keeps a master copy beside 16-bit weights under DeepSpeed alone: weights are kept in FP32 here, and "
        )
        yield Warn("precision-differs", message + "precision bf16-autocast says what that takes", "precision")
    if "activations" in filled["offload"]:
        yield Warn("no-flag", "--activation_offloading true moves activations, in TRL's trainer alone", "offload")
