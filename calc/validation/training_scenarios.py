"""Published training runs as scenarios: what a row of training_speed.csv says in the contract's fields."""

import re
from typing import Any

from calc.validation.inference_speed import HELD
from calc.validation.models import named
from calc.validation.scores import Row, SkipError
from calc.validation.training_devices import accelerator_of, network_of
from calc.validation.training_rows import noted, number, offload_of, version_of
from calc.validation.training_sources import ADAPTERS, DEEPSPEED, FIRST_TILES, FUSED, MASTERS, OLD
from calc.validation.training_sources import SPEED_FRAMEWORKS as FRAMEWORKS

PRECISIONS = (
    ("float8", "fp8-mixed"),
    ("fp8", "fp8-mixed"),
    ("int8 weights", ""),
    ("amp_bf16", "bf16-autocast"),
    ("bf16 (fp32 master", "bf16-autocast"),
    ("bf16 under autocast", "bf16-autocast"),
    ("fp16 under autocast", "fp16-autocast"),
    ("masters beside", "bf16-mixed"),
    ("fp32", "fp32"),
    ("int4 gptq", "fp16-mixed"),
    ("mixed precision", "fp16-mixed"),
)
NEWEST = ("cuDNN", "TE", "FlashAttention 3", "FlashAttention 4")
OPTIMIZERS = (  # as notes of rows name those that are not their framework's
    ("AdamW of torch.optim", "adamw-foreach"),  # all tensors at once, an operation each
    ("AdamW, tensor by tensor", "adamw-for-loop"),
    ("fused AdamW", "adamw"),
    ("paged AdamW 8-bit", "paged-adamw-8bit"),
    ("paged AdamW", "paged-adamw"),
    ("AdamW 8-bit", "adamw-8bit"),
    ("adafactor", "adafactor"),
)
IN_PIECES = ("AsyncTP", "tp-comm-overlap")  # sums of tensor ranks go beside products
LATENT = ["q_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]  # all matrices of latent attention
PIECES = {"GPT 76B": 3, "GPT 530B": 3}  # of each stage, in Megatron-LM's examples/sc21; others there have two


def shape_of(row: Row) -> dict[str, int]:
    """Return the sizes that a row states of a model of its own."""
    text = row["arch_if_stated"]
    found = {name: int(size) for name, size in re.findall(r"(\w+)=(\d+)", text)}
    vocab = re.search(r"vocab (\d+)", text)
    return found | ({"vocab": int(vocab.group(1))} if vocab else {})


def heads_of(row: Row, hidden: int) -> int:
    """Return the heads where a row leaves them out: of 96 elements in DLPerf, else as in Megatron-LM's papers."""
    if row["source"] == "dlperf_v100":
        return hidden // 96
    return {12288: 96, 20480: 128}.get(hidden, hidden // 128)


def model_of(row: Row) -> object:
    """Return the row's model as the contract takes it."""
    name = row["model"]
    shape = shape_of(row)
    if name.startswith("MPT-"):
        return {
            "config": {
                "model_type": "mpt",
                "d_model": shape["d_model"],
                "n_heads": shape["heads"],
                "n_layers": shape["layers"],
                "vocab_size": shape["vocab"],
                "max_seq_len": number(row["seq_len"]),
                "learned_pos_emb": True,
                "attn_config": {"alibi": False},
            }
        }
    if name.startswith("Llama-3-shaped"):
        return {
            "config": {
                "model_type": "llama",
                "architectures": ["LlamaForCausalLM"],
                "hidden_size": shape["hidden"],
                "num_hidden_layers": shape["layers"],
                "num_attention_heads": shape["heads"],
                "num_key_value_heads": shape["kv_heads"],
                "intermediate_size": shape["ffn"],
                "vocab_size": shape["vocab"],
                "max_position_embeddings": number(row["seq_len"]),
                "tie_word_embeddings": False,
                **({"head_dim": shape["head_dim"]} if "head_dim" in shape else {}),
            }
        }
    if name.startswith("GPT") and shape:
        return {
            "config": {
                "model_type": "gpt2",
                "n_embd": shape["hidden"],
                "n_layer": shape["layers"],
                "n_head": shape.get("heads", heads_of(row, shape["hidden"])),
                "vocab_size": shape.get("vocab", 51200),
                "n_positions": number(row["seq_len"]),
                "activation_function": "gelu",  # one kernel, where Transformers' own GPT-2 has eight
            }
        }
    name = name.casefold().split(" (moe")[0].replace(" (gptq)", "").removesuffix("-int4").removesuffix("-chat")
    return named(name)


def check(row: Row) -> None:
    """Raise SkipError with the reason where a row has no speed of a device, or is not to be trusted."""
    if row["confidence"] == "low":
        raise SkipError("its source leaves open what was run")
    if "rowwise" in row["dtype"]:
        raise SkipError("a scale for each row: kernels of their own and exchanges in 16 bit, which no field says")
    if "all tokens" in row["notes"]:
        raise SkipError("Transformers gives all tokens to all experts of Llama 4, which no field says")
    if not row["tokens_per_s_per_gpu_derived"]:
        raise SkipError("the time of one layer alone" if "layer" in row["method"] else "no speed of one device follows")
    if not number(row["seq_len"]) or not row["n_gpus"]:
        raise SkipError("length of sequences, batch or layout is not stated")


def degrees(row: Row) -> dict[str, Any]:
    """Return the row's parallel degrees and its sharding."""
    text = row["parallelism"].casefold()
    found = {key: int(value) for key, value in re.findall(r"(fsdp|tp|pp|dp|cp|ep)=(\d+)", text)}
    devices = int(row["n_gpus"])
    layout = {"tensor": found.get("tp", 1), "pipeline": found.get("pp", 1), "context": found.get("cp", 1)}
    layout["data"] = devices // (layout["tensor"] * layout["pipeline"] * layout["context"])
    if found.get("ep", 1) > 1:
        layout["expert"] = found["ep"]
    result: dict[str, Any] = {"parallelism": layout}
    ranks = layout["data"] * layout["context"]
    stage = re.search(r"zero-?([123])", text)
    if "shard_grad_op" in text:
        result["sharding"] = "zero-2"
    elif "fsdp" in text:
        result["sharding"] = "fsdp"
    elif stage:
        result["sharding"] = f"zero-{stage.group(1)}"
    elif "distributed optimizer" in text or row["source"] == "nemo":
        result["sharding"] = "zero-1"
    inside = re.search(r"(?:zero1(?:=| within )|hsdp=)(\d+)", text)
    if inside and ranks > int(inside.group(1)):
        result["shard_ranks"] = int(inside.group(1))
    if ranks == 1:
        result.pop("sharding", None)
    result["sequence_parallel"] = layout["tensor"] > 1 and (
        row["source"] in ("torchtitan", "nemo") or ("sequence parallel" in text and "no sequence" not in text)
    )
    return result


def batches(row: Row, layout: dict[str, int]) -> dict[str, int]:
    """Return micro-batch and accumulation; with one stage and nothing said, a rank's sequences are one micro-batch."""
    micro, steps, total = number(row["micro_batch"]), number(row["grad_accum"]), number(row["global_batch_seqs"])
    if row["source"] == "torchtitan" and layout["pipeline"] > 1 and micro:
        return {"micro_batch": max(micro // layout["pipeline"], 1), "gradient_accumulation": layout["pipeline"]}
    if not micro:
        if not total or layout["pipeline"] > 1:
            raise SkipError("length of sequences, batch or layout is not stated")
        micro = total // layout["data"] // (steps or 1)
    return {"micro_batch": micro, "gradient_accumulation": steps or 1}


def precision_of(row: Row) -> str:
    """Return the row's precision; raises SkipError where the contract has none like it."""
    dtype = row["dtype"].casefold()
    found = next((name for word, name in PRECISIONS if word in dtype), "bf16")
    if not found:
        raise SkipError(f"precision {row['dtype']} is not one of the contract's")
    if found == "bf16" and row["source"] in ("torchtitan", "torchao") and int(row["n_gpus"]) > 1:
        return "bf16-autocast"  # torchtitan keeps FP32 shards
    if found == "bf16" and row["method"] == "qlora" and "FP32 stream" in row["notes"]:
        return "bf16-autocast"
    if found == "bf16" and FRAMEWORKS.get(row["source"]) == "llama-factory":
        return "bf16-mixed"  # adapters in FP32 under Trainer's autocast
    return "bf16-mixed" if found == "bf16" and row["source"] in MASTERS else found


def pieces_of(row: Row) -> dict[str, int]:
    """Return how many pieces of the model each stage of an interleaved pipeline has."""
    text = row["parallelism"].casefold()
    stated = re.search(r"vp=(\d+)|interleaved m=(\d+)", text)
    if int(next(iter(re.findall(r"pp=(\d+)", text)), 1)) == 1:
        return {}
    if stated:
        return {"virtual_stages": int(stated.group(1) or stated.group(2))}
    return {"virtual_stages": PIECES.get(row["model"], 2)} if "interleave" in text else {}


def adapters_of(row: Row) -> dict[str, Any]:
    """Return the adapters that a row's notes state, as in "rank 16 on q, k, v and o", or those of PEFT.

    >>> adapters_of({"notes": "TRL; rank 16 on q and v; base in BF16"})
    {'rank': 16, 'targets': ['q', 'v']}
    >>> adapters_of({"notes": "rank 8 on all matrices; dropout 0.05"})
    {'rank': 8, 'targets': 'all-linear', 'dropout': 0.05}
    """
    stated = re.search(r"rank (\d+) on ((?:[qkvo](?:, | and |\b))+|all of attention|all matrices)", row["notes"])
    if not stated:
        return {"rank": 8}
    targets = LATENT if "attention" in stated[2] else re.findall(r"\b[qkvo]\b", stated[2]) or "all-linear"
    dropout = re.search(r"dropout ([\d.]+)", row["notes"])
    return {"rank": int(stated[1]), "targets": targets, **({"dropout": float(dropout[1])} if dropout else {})}


def trained(row: Row) -> dict[str, Any]:
    """Return adapters, the format of what they stand beside, and an optimizer that is not the framework's."""
    found: dict[str, Any] = {}
    if row["method"] in ("lora", "qlora"):
        found["lora"] = ADAPTERS.get(row["source"]) or adapters_of(row)
        if row["source"] in DEEPSPEED:
            found["adapter_dtype"] = "fp16" if precision_of(row) == "fp16-mixed" else "bf16"
        if "gptq" in row["dtype"].casefold():
            found["base_weights"] = "gptq-int4"
    optimizer = next((name for words, name in OPTIMIZERS if words in row["notes"]), None)
    if optimizer:
        found["optimizer"] = optimizer
    return found


def optional(row: Row) -> dict[str, Any]:
    """Return the fields that not every row has: compilation, offloading, packing, the network between machines."""
    found: dict[str, Any] = {}
    packed = re.search(r"packed sequences of (\d+) tokens", row["notes"])
    if packed:
        found["packed_tokens"] = int(packed[1])
    if "XLA" in row["torch_compile"]:
        found["compile"] = "xla"
    elif row["torch_compile"].startswith(("yes", "fused")) or row["source"] in FUSED:
        found["compile"] = True
    elif row["torch_compile"].startswith("no") or row["source"] == "dlperf_v100":
        found["compile"] = False
    found |= offload_of(row)
    if any(word in row["parallelism"] + row["notes"] for word in IN_PIECES):
        found["tensor_overlap"] = True
    if row["source"] in ("internevo", "megatron_bridge"):
        found["gradient_dtype"] = "bf16"  # HybridZeroOptimizer; grad_reduce_in_fp32 = False in perf_recipes/_common.py
    return found | network_of(row)


def framework_of(row: Row) -> dict[str, str]:
    """Return what trained the row, in which version, and in what its ranks exchange gradients if not as usual."""
    framework = FRAMEWORKS.get(row["source"])
    found = {"framework": framework, **version_of(row, framework)} if framework else {}
    if row["source"] == "llm_foundry" and "| DEFAULT |" in row["quote_or_row"]:
        found["reduce_dtype"] = "fp32"  # Composer's mixed_precision DEFAULT, since 0.15; PURE has one type for all
    return found


def attention_of(row: Row) -> str:
    """Return how the row computes attention."""
    stated = row["flash_attention"]
    if stated == "no" or row["source"] in OLD:
        return "eager"
    if any(word in stated for word in NEWEST):
        return "flash-3"
    if row["source"] in FIRST_TILES or "FlashAttention 1" in stated:
        return "flash-1"
    return "flash-2" if "FlashAttention 2" in stated else "flash"


def scenario_of(row: Row) -> dict[str, Any]:
    """Return the row as a scenario; raises SkipError with the reason where there is none."""
    check(row)
    divided = degrees(row)
    again = "full" if row["source"] == "dlperf_v100" else "none"  # its TFLOP/s count the second forward pass
    return {
        "workload": "training",
        "model": model_of(row),
        "accelerator": accelerator_of(row),
        "method": {"pretrain-full": "full"}.get(row["method"], row["method"]),
        "precision": precision_of(row),
        "sequence_tokens": number(row["seq_len"]),
        "checkpointing": next(
            (name for name in ("full", "selective") if row["act_checkpoint"].startswith(name)), again
        ),
        "attention": attention_of(row),
        **divided,
        **batches(row, divided["parallelism"]),
        **pieces_of(row),
        **({"power_limit": held[1]} if (held := HELD.search(row["notes"])) else {}),
        **framework_of(row),
        **trained(row),
        **optional(row),
        **noted(row),
    }
