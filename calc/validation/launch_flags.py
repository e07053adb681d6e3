"""What the launch command of a server, as a row's notes quote it, says in the fields of a scenario."""

import re
from collections.abc import Callable

from calc.validation.scores import Row, SkipError

VALUE = r"[= ]([\w.]+)"
# Fields by the flags that vLLM, SGLang and TensorRT-LLM have for them.
FLAGS: tuple[tuple[str, str, Callable[[str], object]], ...] = (
    ("memory_fraction", "gpu-memory-utilization|mem-fraction-static|kv_cache_free_gpu_memory_fraction", float),
    ("sequence_slots", "max-num-seqs|max-running-requests|max_batch_size", int),
    ("batched_tokens", "max-num-batched-tokens|chunked-prefill-size|max_num_tokens", int),
)
# Fields with their values by what turns them on or off.
SWITCHES: tuple[tuple[re.Pattern[str], str, object], ...] = (
    (re.compile(r"enforce.eager|disable-cuda-graph(?!-)"), "graphs", False),
    (re.compile(r"AITER enabled|VLLM_ROCM_USE_AITER=1"), "backend", "aiter"),
    (re.compile(r"kv-cache-dtype[= ]fp8"), "kv_cache", "fp8"),
    (re.compile(r"--attention-backend[= ](?:triton|TRITON_ATTN|ROCM_AITER_UNIFIED_ATTN)\b"), "attention", "triton"),
)
REPLICAS = re.compile(r"(?:--dp-size|--data-parallel-size|-dp)[= ]([2-9]|1\d)\b")
EXPERTS = re.compile(r"--enable-expert-parallel|--ep-size[= ]([2-9]|1\d)\b|--ep_size[= ]([2-9]|1\d)\b")
APART = re.compile(r"--enable-dp-attention")
UNPADDED = 32  # sequences up to which TensorRT-LLM records each size where nothing is said; of larger 64 and 128
WAITING = "the client read tokens that had been waiting"
# What rows say for which a scenario has no field, and what it did. Of first tokens alone in the second list.
# SGLang's kernels with pages of many tokens have hybrids share no beginnings, and steps are launched ahead.
OTHERS = (
    (re.compile(WAITING), "the client that measured was slower than the server"),
    (re.compile(r"--enable-prefill-delayer"), "prompts wait for other ranks' by a flag that a scenario has not"),
    (re.compile(r"--speculative"), "tokens are drafted, and how many are accepted is not stated"),
    (re.compile(r"beginnings are not shared"), "beginnings are not shared by a flag that a scenario has not"),
)
OTHERS_FIRST = (
    (re.compile(r"--linear-backend marlin"), "products of prompts unpack weights by a flag that a scenario has not"),
    (re.compile(r"--num-scheduler-steps"), "requests wait for several steps by a flag that a scenario has not"),
)


def comparable(row: Row) -> None:
    """Raise SkipError where a row's notes say that something else was measured than a scenario can have."""
    for said, effect in OTHERS + (OTHERS_FIRST if "ttft" in row.get("metric", "") else ()):
        if said.search(row["notes"]):
            raise SkipError(effect)


def launched(row: Row, devices: int) -> dict[str, object]:
    """Return the fields that a row's launch command sets; raises SkipError where something else was measured.

    SGLang divides slots and chunks among its replicas of attention (`--enable-dp-attention`).
    """
    comparable(row)
    command = row["notes"].partition("args: ")[2] or row["notes"]
    found: dict[str, object] = {}
    replicas = int(said.group(1)) if (said := REPLICAS.search(command)) else 1
    shared = replicas if APART.search(command) else 1
    for field, names, read in FLAGS:
        if said := re.search(rf"--(?:{names}){VALUE}", command):
            value = read(said.group(1))
            if isinstance(value, int) and value < 1:
                continue  # SGLang's -1: prompts are not cut
            found[field] = max(value // shared, 1) if isinstance(value, int) else value
    if replicas > 1:
        tensor = max(devices // replicas, 1)  # SGLang's --tp counts all devices, vLLM's those of a replica
        found["parallelism"] = {"data": replicas, "expert": devices} | ({"tensor": tensor} if tensor > 1 else {})
    elif EXPERTS.search(command) and devices > 1:
        found["parallelism"] = {"tensor": devices, "expert": devices}
    found |= {field: value for pattern, field, value in SWITCHES if pattern.search(command)}
    return {"graphs": UNPADDED} | found if command.startswith("trtllm-serve") else found
