"""The file of options of TensorRT-LLM: graphs, the cache, ranks that attend apart, what drafts, and adapters."""

from collections.abc import Mapping
from typing import Any

from calc.catalog import Catalog
from calc.launching.drafts import DRAFTER, LOOKED_UP
from calc.launching.layouts import attends_apart, balances
from calc.launching.stores import in_memory
from calc.scenario.model import known_architecture

DECODING = {"mtp": "MTP", "ngram": "NGram", "eagle": "Eagle", "draft": "Draft_Target"}
# Its names of the matrices that adapters stand beside; others it takes by their own.
MODULES = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_dense",
    "gate_proj": "mlp_h_to_4h",
    "up_proj": "mlp_gate",
    "down_proj": "mlp_4h_to_h",
}


def options(filled: Mapping[str, Any], facts: Catalog) -> str:
    """Return what has no flag. By itself it records graphs of few sizes, and runs others without.

    What stands here of the cache replaces all that flags say of it: its share stands here too, then.
    """
    engine = facts.engine(filled["engine"])
    kept = ["  dtype: fp8\n"] if filled["kv_cache"] == "fp8" else []
    if room := in_memory(filled):
        kept.append(f"  host_cache_size: {room // filled['accelerators']}\n")
    if kept:
        kept.append(
            f"  free_gpu_memory_fraction: {filled.get('memory_fraction') or engine.values['memory_fraction']:g}\n"
        )
    cache = "kv_cache_config:\n" + "".join(kept) if kept else ""
    most = filled.get("graphs", filled.get("sequence_slots") or engine.whole("captured_sequences"))
    sizes = f"\n  enable_padding: true\n  max_batch_size: {most}\n" if most else " null\n"
    apart = "enable_attention_dp: true\n" if attends_apart(filled["parallelism"]) else ""
    placed = ""
    if balances(filled) and isinstance(filled["model"], str):
        slots = known_architecture(facts, facts.model(filled["model"]).id).experts
        placed = f"moe_config:\n  load_balancer:\n    num_slots: {slots}\n    layer_updates_per_iter: 1\n"
    beside = drafts_of(filled["speculation"]) if "speculation" in filled else ""
    return f"{cache}cuda_graph_config:{sizes}{apart}{placed}{beside}{adapters_of(filled)}"


def drafts_of(drafted: Mapping[str, Any]) -> str:
    """Return what drafts tokens ahead, as `speculative_config` has it."""
    method, tokens = drafted["method"], drafted["tokens"]
    lines = [f"decoding_type: {DECODING[method]}"]
    lines.append(f"num_nextn_predict_layers: {tokens}" if method == "mtp" else f"max_draft_len: {tokens}")
    if method == "ngram":
        lines.append(f"max_matching_ngram_size: {LOOKED_UP}")
    elif method != "mtp":
        lines.append(f"speculative_model: {drafted.get('model', DRAFTER)}")
    return "speculative_config:\n" + "".join(f"  {line}\n" for line in lines)


def adapters_of(filled: Mapping[str, Any]) -> str:
    """Return the adapters that are served, as `lora_config` has them; empty where none is."""
    served = filled.get("adapters_served")
    if not served:
        return ""
    names = ", ".join(MODULES.get(name, name) for name in served["targets"])
    return (
        f"lora_config:\n  lora_target_modules: [{names}]\n  max_lora_rank: {served['rank']}\n"
        f"  max_loras: {served['count']}\n  max_cpu_loras: {served['count']}\n"
    )
