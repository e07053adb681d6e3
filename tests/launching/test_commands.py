"""Commands: what an answer assumed is said by a flag, a shell reads it as it was meant, and files parse."""

import json
import shlex
import subprocess
from typing import Any

import pytest
import yaml

from calc import ScenarioError, estimate, launch
from calc.catalog import catalog

H100 = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb"}
SCENARIOS: dict[str, dict[str, Any]] = {
    "vllm": {**H100, "engine": "vllm", "weights": "fp8", "kv_cache": "fp8", "sequence_slots": 64},
    "vllm on two machines": {**H100, "engine": "vllm", "parallelism": {"tensor": 8, "pipeline": 2}},
    "vllm that drafts": {**H100, "engine": "vllm", "speculation": {"method": "ngram", "tokens": 4}},
    "vllm with adapters": {**H100, "engine": "vllm", "adapters_served": {"count": 8, "rank": 32}},
    "vllm without graphs": {**H100, "engine": "vllm", "graphs": False},
    "sglang without graphs": {**H100, "engine": "sglang", "graphs": False},
    "tensorrt-llm without graphs": {**H100, "engine": "tensorrt-llm", "graphs": False},
    "sglang": {**H100, "engine": "sglang", "memory_fraction": 0.8, "batched_tokens": 4096},
    "sglang on two machines": {
        "model": "deepseek-v3",
        "accelerator": "h100-sxm-80gb",
        "engine": "sglang",
        "parallelism": {"tensor": 16, "expert": 16},
    },
    "tensorrt-llm": {**H100, "engine": "tensorrt-llm", "kv_cache": "fp8", "sequence_slots": 32},
    "tensorrt-llm on two machines": {**H100, "engine": "tensorrt-llm", "parallelism": {"tensor": 8, "pipeline": 2}},
    "llama.cpp": {
        "model": "qwen3-32b",
        "accelerator": "rtx-3090",
        "accelerators": 2,
        "engine": "llama.cpp",
        "weights": "q4_k_m",
        "kv_cache": "q8_0",
        "context_tokens": 8192,
        "sequences": 3,
    },
    "llama.cpp on unlike devices": {
        "model": "qwen3-32b",
        "accelerator": [{"id": "rtx-3090"}, {"id": "rtx-3060-12gb"}],
        "engine": "llama.cpp",
        "weights": "q6_k",
        "tensor_split": [3, 1],
    },
    "llama.cpp on a processor": {"model": "qwen3-8b", "engine": "llama.cpp", "weights": "q4_k_m", "gpu_layers": 0},
    "llama.cpp with experts apart": {
        "model": "qwen3-30b-a3b",
        "accelerator": "rtx-3060-12gb",
        "engine": "llama.cpp",
        "weights": "q4_k_m",
        "experts_on_host": 20,
    },
    "transformers": {**H100, "engine": "transformers", "weights": "nf4"},
    "mlx": {"model": "llama-3.1-8b", "accelerator": "m4-max-64gb", "engine": "mlx", "weights": "mlx-4bit"},
    "fsdp": {
        **H100,
        "workload": "training",
        "accelerators": 16,
        "sharding": "zero-3",
        "checkpointing": "full",
        "precision": "bf16-autocast",
    },
    "deepspeed": {**H100, "workload": "training", "accelerators": 2, "sharding": "zero-2", "offload": ["optimizer"]},
    "qlora": {
        **H100,
        "workload": "training",
        "method": "qlora",
        "lora": {"rank": 8, "targets": ["q_proj", "v_proj"]},
        "micro_batch": 4,
    },
}


def words(answer: Any) -> list[str]:
    """Return the words of the program that the first command starts in the end."""
    text = answer["commands"][0]["text"].replace("\\\n", " ")
    return shlex.split(text.split("\n")[-1])


@pytest.mark.parametrize("name", SCENARIOS)
def test_shells_and_parsers_read_them(name: str) -> None:
    """Bash finds no fault in commands and batch scripts, and every manifest and configuration is YAML."""
    answer: Any = launch(SCENARIOS[name], replicas=2)
    scripts = [command["text"] for command in answer["commands"]] + ([answer["slurm"]] if answer["slurm"] else [])
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    for text in [answer["kubernetes"], *(file["text"] for file in answer["files"] if file["name"].endswith(".yaml"))]:
        assert text is None or yaml.safe_load(text)
    for file in answer["files"]:
        if file["name"].endswith(".py"):
            compile(file["text"], file["name"], "exec")
    assert (answer["slurm"] is not None) == (answer["machines"] > 1)


def test_a_hybrid_is_started_for_as_many_sequences_as_its_cache_has_blocks() -> None:
    """Qwen3.6 27B in FP8 on an H100 does not start at vLLM's default of 1,024: the command says for how many."""
    asked = {"model": "Qwen/Qwen3.6-27B-FP8", "accelerator": "h100-sxm-80gb", "engine": "vllm"}
    report: Any = estimate(asked)
    said = words(launch(asked))
    assert said[said.index("--max-num-seqs") + 1] == str(report["memory"]["sequence_limit"])


@pytest.mark.parametrize(("degree", "mode"), [("tensor", "tensor"), ("pipeline", "layer")])
def test_llama_cpp_divides_by_tensors_or_layers(degree: str, mode: str) -> None:
    """Each layer among two cards, or each card's own layers; rows alone are divided no longer."""
    asked = {"model": "llama-3.1-8b", "weights": "q8_0", "accelerator": "rtx-3090", "engine": "llama.cpp"}
    said = words(launch({**asked, "accelerators": 2, "parallelism": {degree: 2}}))
    assert said[said.index("-sm") + 1] == mode


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        (
            "vllm",
            {"--quantization": "fp8", "--kv-cache-dtype": "fp8", "--max-num-seqs": "64", "--max-model-len": "2304"},
        ),
        ("vllm on two machines", {"--tensor-parallel-size": "8", "--pipeline-parallel-size": "2"}),
        ("vllm with adapters", {"--max-loras": "8", "--max-lora-rank": "32"}),
        ("sglang", {"--mem-fraction-static": "0.8", "--chunked-prefill-size": "4096", "--context-length": "2304"}),
        ("sglang on two machines", {"--tp-size": "16", "--ep-size": "16", "--nnodes": "2"}),
        ("tensorrt-llm", {"--max_batch_size": "32", "--extra_llm_api_options": "options.yaml"}),
        ("llama.cpp", {"-c": "24576", "-np": "3", "-ctk": "q8_0", "-ctv": "q8_0", "-sm": "layer", "-fa": "on"}),
        ("llama.cpp on unlike devices", {"-ts": "3,1", "-sm": "layer", "-ngl": "999"}),
        ("llama.cpp on a processor", {"-ngl": "0"}),
        ("llama.cpp with experts apart", {"--n-cpu-moe": "20", "-ngl": "999"}),
        ("fsdp", {"--max_length": "2048", "--gradient_checkpointing": "True", "--dtype": "float32"}),
        ("deepspeed", {"--gradient_checkpointing": "False", "--dtype": "bfloat16", "--optim": "adamw_torch_fused"}),
        ("qlora", {"--lora_r": "8", "--per_device_train_batch_size": "4", "--bnb_4bit_quant_type": "nf4"}),
    ],
)
def test_what_was_assumed_is_said(name: str, flags: dict[str, str]) -> None:
    """Degrees, lengths, shares, slots and formats of a scenario stand behind their flags."""
    given = words(launch(SCENARIOS[name]))
    assert {flag: given[given.index(flag) + 1] for flag in flags} == flags


def test_a_base_that_waits_is_left_by_fsdp() -> None:
    """QLoRA with all that waits on the host is FSDP with `fsdp_offload_params`, as bitsandbytes has it for a 70B."""
    waits = {"sharding": "zero-3", "offload": ["optimizer", "parameters"]}
    scenario = {"workload": "training", "model": "llama-2-70b", "method": "qlora", "accelerator": "rtx-3090"}
    answer: Any = launch({**scenario, "accelerators": 2, **waits})
    config = yaml.safe_load(answer["files"][0]["text"])
    assert config["distributed_type"] == "FSDP" and config["fsdp_config"]["fsdp_offload_params"] is True
    one: Any = launch({**scenario, "accelerators": 2, **waits, "offload": ["parameters"]})
    assert yaml.safe_load(one["files"][0]["text"])["deepspeed_config"]["offload_param_device"] == "cpu"


TITAN = {"workload": "training", "framework": "torchtitan", "accelerator": "h100-sxm-80gb", "method": "full"}


def test_torchtitan_starts_what_is_divided_by_experts_and_stages() -> None:
    """It is told of ranks of experts, shards and stages; a step of stages is one batch, divided into its passes."""
    experts = {**TITAN, "model": "qwen3-30b-a3b", "parallelism": {"data": 16, "expert": 8}, "sharding": "zero-3"}
    answer: Any = launch({**experts, "training_tokens": 2**25, "checkpointing": "full"})
    given = words(answer)
    told = {"--module": "qwen3", "--config": "qwen3_30b_a3b", "--parallelism.expert_parallel_degree": "8"}
    told |= {"--parallelism.data_parallel_shard_degree": "16", "--parallelism.fsdp_reshard_after_forward": "always"}
    told |= {"--training.global_batch_size": "16", "--training.steps": "1024", "--training.dtype": "float32"}
    assert {flag: given[given.index(flag) + 1] for flag in told} == told
    assert given[0] == "torchrun" and given[-1] == "activation-checkpoint:full"
    assert answer["engine"] == "torchtitan" and '--rdzv_endpoint "$HEAD:29500"' in answer["slurm"]
    staged = {**TITAN, "model": "llama-3.1-8b", "parallelism": {"pipeline": 2, "data": 4}, "sharding": "none"}
    given = words(launch({**staged, "micro_batch": 2, "gradient_accumulation": 4}))
    told = {"--training.local_batch_size": "8", "--parallelism.pipeline_parallel_microbatch_size": "2"}
    told |= {"--training.global_batch_size": "32", "--parallelism.data_parallel_replicate_degree": "4"}
    assert {flag: given[given.index(flag) + 1] for flag in told} == told


@pytest.mark.parametrize(("precision", "kept"), [("fp16-autocast", "float32"), ("bf16", "bfloat16")])
def test_torchtitan_keeps_weights_as_the_precision_does(precision: str, kept: str) -> None:
    """Under autocast weights are in FP32, whatever 16-bit format products have."""
    given = words(launch({**TITAN, "model": "llama-3.1-8b", "precision": precision}))
    assert given[given.index("--training.dtype") + 1] == kept


def test_what_torchtitan_has_not_is_said() -> None:
    """No configuration of Gemma, no adapters, and no weights in 16 bit beside those in 32."""
    asked = {**TITAN, "model": "gemma-3-12b", "method": "lora", "precision": "bf16-mixed"}
    answer: Any = launch(asked)
    found = {(warning["code"], warning["field"]) for warning in answer["warnings"]}
    assert {("weights-needed", "model"), ("no-flag", "adapters"), ("precision-differs", "precision")} <= found


@pytest.mark.parametrize(("framework", "told"), [("trl", False), ("deepspeed", False), ("megatron-lm", True)])
def test_a_command_of_another_program_is_called_so(framework: str, told: bool) -> None:
    """TRL starts what is built on it; of a run under Megatron-LM its command is another's, and says so."""
    answer: Any = launch({**H100, "workload": "training", "framework": framework, "accelerators": 2})
    assert ("other-program" in [warning["code"] for warning in answer["warnings"]]) == told


def test_what_does_not_train_is_said() -> None:
    """A 70B in full on one card of 80 GB does not fit, and QLoRA on tensor ranks does not run: both are told."""
    run = {"workload": "training", "model": "llama-3.1-70b", "accelerator": "h100-sxm-80gb"}
    for more, code in (
        ({"method": "full"}, "does-not-fit"),
        ({"method": "qlora", "parallelism": {"tensor": 2}}, "does-not-run"),
    ):
        answer: Any = launch({**run, **more})
        assert code in [warning["code"] for warning in answer["warnings"]]


def test_shards_of_four_bits_are_stored_alike() -> None:
    """FSDP shards what has one type: packed weights are stored in 16 bit then, as bitsandbytes' guide has it."""
    run = {"workload": "training", "model": "llama-3.1-8b", "method": "qlora", "accelerator": "rtx-4090"}
    shared = words(launch({**run, "accelerators": 2, "sharding": "zero-3"}))
    assert shared[shared.index("--bnb_4bit_quant_storage") + 1] == "bfloat16"
    assert "--bnb_4bit_quant_storage" not in words(launch(run))


def test_many_expert_ranks_are_told_what_is_computed() -> None:
    """Beyond eight, tokens are sent to experts that a balancer places; TensorRT-LLM reads of that in a file."""
    asked = {"model": "deepseek-v3", "accelerator": "gb200-186gb", "parallelism": {"data": 16, "expert": 16}}
    for engine, flags in (
        ("vllm", ["--all2all-backend", "deepep_low_latency"]),
        ("sglang", ["--moe-a2a-backend", "deepep"]),
    ):
        given = words(launch({**asked, "engine": engine}))
        assert given[given.index(flags[0]) + 1] == flags[1] and "--enable-eplb" in given
        assert "--enable-eplb" not in words(launch({**asked, "engine": engine, "balance_experts": False}))
    file: Any = launch({**asked, "engine": "tensorrt-llm"})
    assert yaml.safe_load(file["files"][0]["text"])["moe_config"]["load_balancer"]["num_slots"] == 256
    few = words(launch({**asked, "parallelism": {"data": 8, "expert": 8}, "engine": "vllm", "balance_experts": True}))
    assert "--all2all-backend" not in few and "--enable-eplb" in few


def test_a_server_is_started_for_the_longest_text_that_is_said() -> None:
    """For what is asked where nothing is said of it."""
    for said, longest in (({}, "2304"), ({"longest_tokens": 200_000}, "200000")):
        given = words(launch({**SCENARIOS["vllm"], "prompt_tokens": 2048, "output_tokens": 256, **said}))
        assert given[given.index("--max-model-len") + 1] == longest


def test_what_is_left_out_is_a_switch() -> None:
    """A server without graphs, and a model without what sees, are told by flags of vLLM; SGLang has one for graphs."""
    asked = {"model": "qwen3.8-27b", "accelerator": "rtx-pro-6000-blackwell", "graphs": False}
    given = words(launch({**asked, "engine": "vllm", "text_only": True}))
    assert {"--enforce-eager", "--language-model-only"} <= set(given)
    seen = {"model": "qwen2.5-vl-7b", "engine": "vllm", "accelerator": "rtx-4090", "context_tokens": 32_768}
    limited = words(launch({**seen, "videos": False}))
    assert limited[limited.index("--limit-mm-per-prompt") + 1] == '{"video": 0}'
    assert "--disable-cuda-graph" in words(launch({**asked, "engine": "sglang"}))
    assert "--enforce-eager" not in words(launch({**asked, "engine": "vllm", "graphs": True}))


def test_pinned_memory_maps_no_file() -> None:
    """llama.cpp reads what stays in the host's memory into pinned memory where it maps no file.

    `--no-mmap` is refused from b10884 on, and `--load-mode` was unknown until the summer of 2026.
    """
    asked = {"model": "qwen3-30b-a3b", "engine": "llama.cpp", "weights": "q4_k_m", "accelerator": "rtx-3060-12gb"}
    for pinned in (False, True):
        case = {**asked, "experts_on_host": 20, "host": {"pinned": pinned}}
        given, before = words(launch(case)), words(launch({**case, "engine_version": "b9849"}))
        assert ("--load-mode none" in " ".join(given)) == ("--no-mmap" in before) == pinned
        assert "--no-mmap" not in given and "--load-mode" not in before


def test_the_largest_graph_is_told() -> None:
    """Graphs of steps of so many sequences are asked for; TensorRT-LLM is told always, as it records few by itself."""
    for engine, flag in (("vllm", "--max-cudagraph-capture-size"), ("sglang", "--cuda-graph-max-bs-decode")):
        given = words(launch({**H100, "engine": engine, "graphs": 64}))
        assert given[given.index(flag) + 1] == "64"
    for more, most in (({}, 2048), ({"sequence_slots": 32}, 32), ({"graphs": 8}, 8)):
        answer: Any = launch({**H100, "engine": "tensorrt-llm", **more})
        options = yaml.safe_load(answer["files"][0]["text"])
        assert options == {"cuda_graph_config": {"enable_padding": True, "max_batch_size": most}}


def test_drafts_are_json() -> None:
    """What drafts is one word of JSON on the command line, whatever a shell would make of its quotes."""
    given = words(launch(SCENARIOS["vllm that drafts"]))
    drafts = json.loads(given[given.index("--speculative-config") + 1])
    assert drafts == {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}


@pytest.mark.parametrize(
    ("drafted", "told"),
    [
        ({"method": "mtp"}, {"decoding_type": "MTP", "num_nextn_predict_layers": 3}),
        ({"method": "ngram"}, {"decoding_type": "NGram", "max_draft_len": 3, "max_matching_ngram_size": 4}),
        ({"method": "eagle"}, {"decoding_type": "Eagle", "max_draft_len": 3, "speculative_model": "/models/drafter"}),
    ],
)
def test_tensorrt_llm_reads_of_drafts_in_its_file(drafted: dict[str, object], told: dict[str, object]) -> None:
    """It has no flag for them: each stands under the name that its file has for it."""
    case = {"model": "deepseek-v3", "engine": "tensorrt-llm", "accelerator": "h200-sxm-141gb", "accelerators": 8}
    answer: Any = launch({**case, "speculation": {**drafted, "tokens": 3, "acceptance": 0.7}})
    assert yaml.safe_load(answer["files"][0]["text"])["speculative_config"] == told
    assert "no-flag" not in [warning["code"] for warning in answer["warnings"]]


def test_what_drafts_is_a_repository() -> None:
    """vLLM is told where the model that drafts is, and not what it is called here."""
    drafted = {"method": "draft", "model": "qwen3-0.6b", "tokens": 3, "acceptance": 0.7}
    given = words(launch({**H100, "model": "qwen3-32b", "engine": "vllm", "accelerators": 2, "speculation": drafted}))
    assert json.loads(given[given.index("--speculative-config") + 1])["model"] == "Qwen/Qwen3-0.6B"


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
def test_what_drafts_by_its_own_config_stands_in_a_folder(engine: str) -> None:
    """A model that is given by its config has no repository: its folder is the reader's."""
    small = {**catalog().model("llama-3.2-1b").config, "num_hidden_layers": 4}
    drafted = {"method": "draft", "model": {"config": small}, "tokens": 3}
    asked = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": engine, "speculation": drafted}
    assert "/models/drafter" in json.dumps(launch(asked))


@pytest.mark.parametrize(
    ("engine", "rank", "told"),
    [
        ("vllm", 48, {"--max-lora-rank": "64", "--max-loras": "4", "--lora-target-modules": "q_proj"}),
        ("sglang", 48, {"--max-lora-rank": "48", "--max-loras-per-batch": "4", "--lora-target-modules": "q_proj"}),
    ],
)
def test_adapters_are_told(engine: str, rank: int, told: dict[str, str]) -> None:
    """vLLM has some ranks alone; SGLang refuses to start where neither adapters nor their matrices are named."""
    served = {"count": 4, "rank": rank, "targets": ["q_proj", "v_proj"]}
    answer: Any = launch({**H100, "engine": engine, "adapters_served": served})
    given = words(answer)
    assert {flag: given[given.index(flag) + 1] for flag in told} == told
    assert given[given.index("--lora-target-modules") + 2] == "v_proj"
    assert [warning["code"] for warning in answer["warnings"]] == ["adapters-needed"]


def test_one_adapter_for_all_requests() -> None:
    """llama.cpp and MLX are told where the adapter is; TensorRT-LLM reads of its adapters in a file."""
    served = {"adapters_served": {"count": 1, "rank": 8, "targets": ["q_proj", "down_proj"]}}
    llama = words(launch({**H100, "engine": "llama.cpp", "weights": "q8_0", **served}))
    assert llama[llama.index("--lora") + 1] == "/models/adapter.gguf"
    mlx = words(launch({**SCENARIOS["mlx"], **served}))
    assert mlx[mlx.index("--adapter-path") + 1] == "/models/adapter"
    file: Any = launch({**H100, "engine": "tensorrt-llm", **served})["files"]
    told = yaml.safe_load(file[0]["text"])["lora_config"]
    assert told == {
        "lora_target_modules": ["attn_q", "mlp_4h_to_h"],
        "max_lora_rank": 8,
        "max_loras": 1,
        "max_cpu_loras": 1,
    }


def test_ranks_that_attend_apart_share_what_sglang_is_told() -> None:
    """It divides sequences and tokens of a piece among them; vLLM's and TensorRT-LLM's are of each rank."""
    apart = {"model": "deepseek-v3", "accelerator": "h200-sxm-141gb", "parallelism": {"data": 8, "expert": 8}}
    asked = {**apart, "sequence_slots": 64, "batched_tokens": 4096}
    for engine, slots, tokens, times in (
        ("sglang", "--max-running-requests", "--chunked-prefill-size", 8),
        ("vllm", "--max-num-seqs", "--max-num-batched-tokens", 1),
        ("tensorrt-llm", "--max_batch_size", "--max_num_tokens", 1),
    ):
        given = words(launch({**asked, "engine": engine}))
        assert [int(given[given.index(flag) + 1]) for flag in (slots, tokens)] == [64 * times, 4096 * times]


def test_a_pass_of_llama_cpp_is_no_larger_than_its_batch() -> None:
    """Of 4,096 tokens both are told, as a pass is cut to the batch of 2,048; of 1,024 the pass alone."""
    for tokens, batch in ((4096, True), (1024, False)):
        given = words(launch({**SCENARIOS["llama.cpp"], "batched_tokens": tokens}))
        assert given[given.index("-ub") + 1] == str(tokens) and ("-b" in given) == batch
        assert not batch or given[given.index("-b") + 1] == str(tokens)


def test_mlx_is_told_of_pieces_and_caches() -> None:
    """Its server has flags for the tokens of a piece, for sequences at a time, and for caches in 8 bit."""
    asked = {**SCENARIOS["mlx"], "batched_tokens": 4096, "sequence_slots": 4, "kv_cache": "int8"}
    answer: Any = launch(asked)
    given = words(answer)
    told = {"--prefill-step-size": "4096", "--decode-concurrency": "4", "--kv-bits": "8", "--quantized-kv-start": "0"}
    assert {flag: given[given.index(flag) + 1] for flag in told} == told
    assert "no-flag" not in [warning["code"] for warning in answer["warnings"]]


@pytest.mark.parametrize(
    ("engine", "drafted", "flags"),
    [
        (
            "sglang",
            {"method": "eagle"},
            {
                "--speculative-algorithm": "EAGLE3",
                "--speculative-num-steps": "3",
                "--speculative-eagle-topk": "1",
                "--speculative-num-draft-tokens": "4",
                "--speculative-draft-model-path": "/models/drafter",
            },
        ),
        (
            "sglang",
            {"method": "draft", "model": "qwen3-0.6b"},
            {"--speculative-algorithm": "STANDALONE", "--speculative-draft-model-path": "Qwen/Qwen3-0.6B"},
        ),
        (
            "llama.cpp",
            {"method": "draft", "model": "qwen3-0.6b"},
            {"--spec-type": "draft-simple", "--spec-draft-n-max": "3", "--spec-draft-model": "/models/drafter.gguf"},
        ),
        (
            "mlx",
            {"method": "draft", "model": "qwen3-0.6b"},
            {"--num-draft-tokens": "3", "--draft-model": "Qwen/Qwen3-0.6B"},
        ),
        ("llama.cpp", {"method": "ngram"}, {"--spec-type": "ngram-simple", "--spec-ngram-simple-size-m": "3"}),
    ],
)
def test_drafts_are_told_by_flags(engine: str, drafted: dict[str, object], flags: dict[str, str]) -> None:
    """SGLang and llama.cpp are told by flags of their own what drafts, and how many tokens; no model looks up."""
    card = "m3-ultra-256gb" if engine == "mlx" else "h100-sxm-80gb"
    case = {"model": "qwen3-32b", "engine": engine, "accelerator": card, "context_tokens": 4096}
    answer: Any = launch({**case, "speculation": {**drafted, "tokens": 3, "acceptance": 0.7}})
    given = words(answer)
    assert {flag: given[given.index(flag) + 1] for flag in flags} == flags
    assert "no-flag" not in [warning["code"] for warning in answer["warnings"]]
    takes_a_model = any(flag.endswith(("-draft-model", "-draft-model-path")) for flag in given)
    assert takes_a_model == (drafted["method"] != "ngram")


def test_the_share_is_the_version_s() -> None:
    """vLLM's share of the device is that of its version: 0.92 today, 0.9 until 0.20."""
    for version, share in ((None, "0.92"), ("0.19.0", "0.9")):
        given = words(launch({**H100, "engine": "vllm", "engine_version": version}))
        assert given[given.index("--gpu-memory-utilization") + 1] == share


def test_flags_follow_the_version() -> None:
    """llama.cpp's -fa was a switch, and takes on, off or auto since August 2025, as Ollama 0.24 carries it."""
    scenario = SCENARIOS["llama.cpp"]
    new, carried, old = (
        words(launch({**scenario, "engine_version": version})) for version in ("b9849", "0.24.0", "b4000")
    )
    assert new[new.index("-fa") + 1] == carried[carried.index("-fa") + 1] == "on"
    assert old[old.index("-fa") + 1].startswith("-")


def test_no_version_is_the_newest() -> None:
    """TensorRT-LLM divides sequences since 1.0, and is told so where nothing is said; 0.18, named, cannot be."""
    scenario = {**H100, "engine": "tensorrt-llm", "parallelism": {"context": 2}}
    assert "--cp_size" in words(launch(scenario))
    old: Any = launch({**scenario, "engine_version": "0.18"})
    assert "--cp_size" not in words(old) and "context" in {warning["field"] for warning in old["warnings"]}


def test_a_published_file_is_called_by_its_format() -> None:
    """gpt-oss is published in MXFP4, and its file for llama.cpp is named so; Llama 3.1 8B's is of 16 bit."""
    for model, name in (
        ("gpt-oss-20b", "/models/gpt-oss-20b-MXFP4.gguf"),
        ("llama-3.1-8b", "/models/llama-3.1-8b-BF16.gguf"),
    ):
        assert name in words(launch({"model": model, "engine": "llama.cpp", "accelerator": "rtx-4090"}))


def test_weights_come_from_where_they_are() -> None:
    """A repository in the format asked for is named; a format made at loading is a flag; else a folder stands in."""
    published = words(launch({"model": "llama-3.1-405b", "engine": "vllm", "weights": "fp8-channel"}))
    assert "meta-llama/Llama-3.1-405B-Instruct-FP8" in published or any("/models/" in word for word in published)
    made: Any = launch({**H100, "engine": "vllm", "weights": "fp8"})
    assert words(made)[2] == "meta-llama/Llama-3.1-8B" and made["warnings"] == []
    others: Any = launch({**H100, "engine": "vllm", "weights": "awq"})
    assert words(others)[2] == "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4" and others["warnings"] == []
    own: Any = launch({**H100, "model": "falcon-7b", "engine": "vllm", "weights": "awq"})
    assert words(own)[2] == "/models/falcon-7b-awq"
    assert [warning["code"] for warning in own["warnings"]] == ["weights-needed"]


@pytest.mark.parametrize(
    ("engine", "flags"),
    [
        ("sglang", {"--tp-size": "8", "--dp-size": "8", "--ep-size": "8", "--enable-dp-attention": "--ep-size"}),
        ("tensorrt-llm", {"--tp_size": "8", "--ep_size": "8", "--extra_llm_api_options": "options.yaml"}),
        ("vllm", {"--data-parallel-size": "8"}),
    ],
)
def test_ranks_that_attend_apart(engine: str, flags: dict[str, str]) -> None:
    """SGLang and TensorRT-LLM count ranks with sequences of their own as tensor ranks; vLLM does not."""
    apart = {"model": "deepseek-v3", "accelerator": "h200-sxm-141gb", "parallelism": {"data": 8, "expert": 8}}
    answer: Any = launch({**apart, "engine": engine})
    given = words(answer)
    assert {flag: given[given.index(flag) + 1] for flag in flags} == flags
    assert not [warning for warning in answer["warnings"] if warning["code"] == "no-flag"]
    assert ("--tensor-parallel-size" in given) is False
    if engine == "tensorrt-llm":
        assert yaml.safe_load(answer["files"][0]["text"])["enable_attention_dp"] is True


# Options as each program's own source has them, read on 2026-11-27: SGLang 0.5.23 (arg_groups/fields; 0.5.19 and before
# have --cuda-graph-max-bs, too), vLLM 0.33.0 (engine/arg_utils.py), TRL 1.16.0 (ModelConfig, SFTConfig and its base,
# trl/cli), mlx-lm 0.32.2 (server.py), llama.cpp as llama-cpp-python 0.3.36 has it (common/arg.cpp; --no-mmap at
# 0017d6f, an older one), torchtitan 0.3.0 (config/configs.py, distributed/activation_checkpoint.py), TensorRT-LLM
# (commands/serve.py at 00209af).
READ = {
    "sglang": "--tp-size --pp-size --dp-size --enable-dp-attention --ep-size --context-length --mem-fraction-static "
    "--max-running-requests --disable-cuda-graph --cuda-graph-max-bs --cuda-graph-max-bs-decode --chunked-prefill-size "
    "--attention-backend --kv-cache-dtype --enable-hierarchical-cache --hicache-size --speculative-algorithm "
    "--speculative-num-steps --speculative-eagle-topk --speculative-num-draft-tokens --speculative-draft-model-path "
    "--quantization --enable-lora --max-loras-per-batch --max-lora-rank --lora-target-modules "
    "--nnodes --node-rank --dist-init-addr --moe-a2a-backend --enable-eplb",
    "tensorrt-llm": "--tp_size --pp_size --cp_size --ep_size --max_seq_len --kv_cache_free_gpu_memory_fraction "
    "--max_batch_size --max_num_tokens --extra_llm_api_options",
    "llama.cpp": "--no-mmap --load-mode -ngl --n-cpu-moe -c -np -ctk -ctv -fa -ub -b --lora -sm -ts --cache-ram "
    "--spec-type --spec-draft-n-max --spec-ngram-simple-size-m --spec-draft-model",
    "vllm": "--tensor-parallel-size --pipeline-parallel-size --data-parallel-size --enable-expert-parallel "
    "--max-model-len --gpu-memory-utilization --max-num-seqs --enforce-eager --max-cudagraph-capture-size "
    "--language-model-only --limit-mm-per-prompt --max-num-batched-tokens --enable-prefix-caching --kv-cache-dtype "
    "--quantization --speculative-config --kv-offloading-size "
    "--enable-lora --max-loras --max-lora-rank --lora-target-modules "
    "--distributed-executor-backend --nnodes --node-rank --master-addr --all2all-backend --enable-eplb "
    "--attention-backend",
    "trl": "--accelerate_config --dataset_name --per_device_train_batch_size --gradient_accumulation_steps "
    "--max_length --packing --dtype --bf16 --fp16 --optim --attn_implementation --gradient_checkpointing "
    "--use_liger_kernel --use_peft --lora_r --lora_target_modules --load_in_4bit --bnb_4bit_quant_type "
    "--use_bnb_nested_quant --bnb_4bit_quant_storage",
    "torchtitan": "--training.local_batch_size --training.global_batch_size --training.seq_len --training.steps "
    "--training.dtype --training.mixed_precision_param --training.enable_cpu_offload --compile.enable "
    "--parallelism.tensor_parallel_degree --parallelism.pipeline_parallel_degree "
    "--parallelism.pipeline_parallel_microbatch_size --parallelism.context_parallel_degree "
    "--parallelism.expert_parallel_degree --parallelism.data_parallel_replicate_degree "
    "--parallelism.data_parallel_shard_degree --parallelism.fsdp_reshard_after_forward "
    "activation-checkpoint:none activation-checkpoint:selective activation-checkpoint:full",
    "transformers": "",
    "mlx": "--decode-concurrency --prefill-step-size --kv-bits --quantized-kv-start --num-draft-tokens --draft-model "
    "--adapter-path",
}


@pytest.mark.parametrize("name", catalog().ids("launchers"))
def test_programs_have_the_options(name: str) -> None:
    """Each option that a command may have stands in the source of the program, as it was read."""
    assert {flag.flag for flag in catalog().launcher(name).flags} == set(READ[name].split())


# Keys that accelerate's configuration may have, read on 2026-11-23: ClusterConfig, which refuses others, in
# commands/config/config_args.py at 002dd35; its parts for FSDP in TRL's fsdp2.yaml at 9ce14f8, for DeepSpeed in
# commands/launch.py at 00785cd. Under them what each may hold, where the program has a list of it.
ACCELERATE = {
    "": "compute_environment distributed_type mixed_precision num_machines num_processes machine_rank main_process_ip "
    "main_process_port fsdp_config deepspeed_config",
    "fsdp_config": "fsdp_version fsdp_reshard_after_forward fsdp_offload_params fsdp_auto_wrap_policy "
    "fsdp_cpu_ram_efficient_loading fsdp_state_dict_type fsdp_activation_checkpointing",
    "deepspeed_config": "zero_stage offload_optimizer_device offload_param_device gradient_accumulation_steps "
    "deepspeed_multinode_launcher",
}
HELD = {
    "distributed_type": ("NO", "MULTI_GPU", "DEEPSPEED", "FSDP"),
    "mixed_precision": ("no", "fp16", "bf16", "fp8"),
    "zero_stage": (0, 1, 2, 3),
    "offload_optimizer_device": ("none", "cpu", "nvme"),
    "offload_param_device": ("none", "cpu", "nvme"),
    "deepspeed_multinode_launcher": ("pdsh", "standard", "openmpi", "mvapich", "mpich", "nossh", "slurm"),
}


@pytest.mark.parametrize("sharding", ["none", "zero-1", "zero-2", "zero-3"])
@pytest.mark.parametrize("precision", ["bf16", "bf16-mixed", "bf16-autocast", "fp16-autocast", "fp16-mixed", "fp32"])
@pytest.mark.parametrize("offload", [[], ["optimizer"], ["optimizer", "parameters"]])
def test_accelerate_has_the_keys(sharding: str, precision: str, offload: list[str]) -> None:
    """Each key of a training run's configuration stands in accelerate's source, and holds what that has a list of."""
    run = {**H100, "workload": "training", "accelerators": 16, "precision": precision, "sharding": sharding}
    if "parameters" in offload and sharding != "zero-3":
        return  # no framework leaves parameters on the host that each rank has whole
    answer: Any = launch({**run, "offload": offload})
    (file,) = answer["files"]
    config = yaml.safe_load(file["text"])
    parts = {"": config, **{name: value for name, value in config.items() if isinstance(value, dict)}}
    for name, part in parts.items():
        assert set(part) <= set(ACCELERATE[name].split())
        for key in set(part) & set(HELD):
            assert part[key] in HELD[key], key
    assert ("deepspeed_config" in config) == (config["distributed_type"] == "DEEPSPEED")
    if config["distributed_type"] == "DEEPSPEED":  # unasked it is pdsh, which wants a list of machines
        assert config["deepspeed_config"]["deepspeed_multinode_launcher"] == "standard"
    assert ("fsdp_config" in config) == (config["distributed_type"] == "FSDP")


def test_machines_follow_the_devices() -> None:
    """Sixteen H100 are two machines of eight: two commands, a batch script and groups of two on Kubernetes."""
    answer: Any = launch(SCENARIOS["vllm on two machines"], replicas=3)
    assert answer["machines"] == 2 and "--nodes=2" in answer["slurm"]
    first, others = (command["text"] for command in answer["commands"])
    assert "--nnodes 2" in first and "--node-rank 0" in first and "--headless" not in first and "ray" not in first
    assert '--node-rank "$RANK"' in others and others.endswith("--headless")
    manifest = yaml.safe_load(answer["kubernetes"])
    assert manifest["spec"]["replicas"] == 3 and manifest["spec"]["leaderWorkerTemplate"]["size"] == 2


def in_pod(scenario: dict[str, Any]) -> tuple[str, str]:
    """Return the image and the script of the container that a manifest starts."""
    manifest = yaml.safe_load(launch(scenario)["kubernetes"])  # type: ignore[arg-type]
    (own,) = manifest["spec"]["template"]["spec"]["containers"]
    return own["image"], own["args"][0]


def test_a_container_has_what_it_runs() -> None:
    """It writes the files that are read, finds the program, listens to others, and is the one for its devices."""
    _, written = in_pod(SCENARIOS["tensorrt-llm"])
    assert written.startswith("cat > options.yaml <<'END'\n") and written.rstrip().endswith("--host 0.0.0.0")
    subprocess.run(["bash", "-n"], input=written, text=True, check=True)
    content = written.partition("<<'END'\n")[2].partition("END\n")[0]
    assert yaml.safe_load(content) == yaml.safe_load(launch(SCENARIOS["tensorrt-llm"])["files"][0]["text"])  # type: ignore[index]
    assert in_pod(SCENARIOS["sglang"])[1].rstrip().endswith("--host 0.0.0.0")
    assert in_pod(SCENARIOS["llama.cpp"])[1].startswith('export PATH="$PATH:/app"\nllama-server')
    assert in_pod(SCENARIOS["vllm"])[0] == "vllm/vllm-openai" and "--host" not in in_pod(SCENARIOS["vllm"])[1]
    assert in_pod({**H100, "engine": "vllm", "accelerator": "mi300x"})[0] == "vllm/vllm-openai-rocm"


def test_flags_are_those_of_the_version_that_is_asked_for() -> None:
    """Where none is asked for they are of the newest, and no version is named: an era's first knows fewer of them."""
    for version in ("0.9.2", None):
        answer: Any = launch({**SCENARIOS["vllm on two machines"], "engine_version": version})
        assert answer["engine_version"] == version


def test_mpi_starts_the_ranks_of_other_machines() -> None:
    """Of TensorRT-LLM the first machine alone starts ranks; the others let it in, and on Kubernetes it waits for them.

    Source: TensorRT-LLM, examples/models/core/deepseek_v3/README.md (Multi-node, mpirun).
    """
    answer: Any = launch(SCENARIOS["tensorrt-llm on two machines"])
    first, others = (command["text"] for command in answer["commands"])
    assert first.startswith("mpirun --allow-run-as-root -n 16 -H $HOSTS") and "trtllm-llmapi-launch" in first
    assert "sshd" in others and "mpirun" not in others
    assert [warning["code"] for warning in answer["warnings"]] == ["keys-needed"]
    group = yaml.safe_load(answer["kubernetes"])["spec"]["leaderWorkerTemplate"]
    leader, worker = (group[name]["spec"] for name in ("leaderTemplate", "workerTemplate"))
    started, waiting = (pod["containers"][0]["args"][0] for pod in (leader, worker))
    assert started.index("ssh -o") < started.index("mpirun") and "HOSTS=$LWS_LEADER_ADDRESS:8" in started
    assert "mpirun" not in waiting and waiting.endswith("-D\n") and "options.yaml" not in waiting
    assert all(pod["volumes"][-1]["secret"] == {"secretName": "ssh", "defaultMode": 0o600} for pod in (leader, worker))
    one = yaml.safe_load(launch(SCENARIOS["tensorrt-llm"])["kubernetes"])["spec"]["template"]["spec"]  # type: ignore[arg-type]
    assert len(one["volumes"]) == 1


def test_ray_joins_the_machines_of_then() -> None:
    """vLLM reaches other machines by itself since 0.12, and its images have no Ray any more; before it was Ray."""
    answer: Any = launch({**SCENARIOS["vllm on two machines"], "engine_version": "0.9.2"})
    first, others = (command["text"] for command in answer["commands"])
    assert first.startswith("ray start --head") and "--nnodes" not in first and others.startswith("ray start --block")
    assert "ray start" in answer["slurm"]


@pytest.mark.parametrize(
    ("engine", "field", "value", "flag", "warns"),
    [
        ("vllm", "pcie", "4.0 x16", None, True),
        ("vllm", "power_limit", 300, None, True),
        ("vllm", "display", True, "--gpu-memory-utilization", False),
        ("llama.cpp", "display", True, None, True),
        ("vllm", "memory_limit", "40 GiB", "--gpu-memory-utilization", False),
        ("tensorrt-llm", "memory_limit", "40 GiB", None, True),
        ("sglang", "prompt_logits", "all", None, True),
        ("vllm", "attention", "eager", None, True),
        ("vllm", "attention", "triton", "--attention-backend", False),
        ("sglang", "attention", "triton", "--attention-backend", False),
        ("sglang", "attention", "eager", None, True),
        ("llama.cpp", "attention", "eager", "-fa", False),
        ("vllm", "shared_prefix_tokens", 64, "--enable-prefix-caching", False),
        ("sglang", "shared_prefix_tokens", 64, None, False),
    ],
)
def test_nothing_asked_is_left_out_in_silence(
    engine: str, field: str, value: object, flag: str | None, warns: bool
) -> None:
    """A field is said by a flag, or that none says it; what an engine does unasked needs neither."""
    card = {"model": "llama-3.2-1b", "accelerator": "rtx-pro-6000-blackwell", "engine": engine, "context_tokens": 4096}
    card |= {"weights": "q8_0"} if engine == "llama.cpp" else {}
    plain, told = (launch(scenario) for scenario in (card, card | {field: value}))
    if flag:
        said = [[each for each in answer["flags"] if each["flag"] == flag] for answer in (plain, told)]  # type: ignore[attr-defined]
        assert said[1] and said[0] != said[1]
    assert (field in [warning["field"] for warning in told["warnings"]]) == warns  # type: ignore[attr-defined]


def test_a_limit_is_a_smaller_share_of_the_whole_device() -> None:
    """0.92 of 40 GiB is so much less of an H100, which vLLM counts from."""
    report: Any = estimate({**H100, "engine": "vllm", "memory_limit": "40 GiB"})
    whole: Any = estimate({**H100, "engine": "vllm"})
    answer: Any = launch({**H100, "engine": "vllm", "memory_limit": "40 GiB"})
    share = float(next(flag["value"] for flag in answer["flags"] if flag["flag"] == "--gpu-memory-utilization"))
    usual = catalog().engine("vllm").values["memory_fraction"]
    left = report["memory"]["capacity_bytes"] / whole["memory"]["capacity_bytes"]
    assert left * usual - 1e-4 < share <= left * usual


def test_what_has_no_flag_is_said() -> None:
    """What TRL or an engine cannot be told, and what does not fit, is a warning and not left out in silence."""
    run = {
        **H100,
        "workload": "training",
        "accelerators": 4,
        "parallelism": {"tensor": 4},
        "checkpointing": "selective",
    }
    codes = {(warning["code"], warning["field"]) for warning in launch(run)["warnings"]}  # type: ignore[attr-defined]
    assert {("no-flag", "parallelism.tensor"), ("no-flag", "checkpointing")} <= codes
    large: Any = launch({"model": "deepseek-v3", "accelerator": "rtx-4090", "engine": "vllm"})
    assert "does-not-fit" in [warning["code"] for warning in large["warnings"]]


@pytest.mark.parametrize(
    ("engine", "more", "flags"),
    [
        ("vllm", {}, {"--kv-offloading-size": "32"}),
        ("vllm", {"parallelism": {"tensor": 1, "data": 2}}, {"--kv-offloading-size": "16"}),
        ("vllm", {"engine_version": "0.12.0"}, None),
        ("sglang", {}, {"--enable-hierarchical-cache": "--hicache-size", "--hicache-size": "17"}),
        ("llama.cpp", {"weights": "q8_0"}, {"--cache-ram": "32768"}),
    ],
)
def test_room_for_caches_in_the_hosts_memory_is_told(
    engine: str, more: dict[str, object], flags: dict[str, str] | None
) -> None:
    """32 GiB of two devices: vLLM counts GiB of a replica, SGLang GB of a device, llama.cpp MiB; TensorRT-LLM bytes."""
    case: dict[str, Any] = {"model": "llama-3.1-8b", "engine": engine, "accelerator": "rtx-4090", "accelerators": 2}
    answer: Any = launch({**case, "cache_offload": {"to": "host", "bytes": "32 GiB"}, **more})
    given, unsaid = words(answer), [one["field"] for one in answer["warnings"] if one["code"] == "no-flag"]
    assert {flag: given[given.index(flag) + 1] for flag in flags or ()} == (flags or {})
    assert unsaid == ([] if flags else ["stored_cache"])


def test_rooms_that_no_flag_is_of() -> None:
    """TensorRT-LLM reads bytes of a device from its file, beside the cache's format; a disk is set up by hand."""
    case = {"model": "llama-3.1-8b", "engine": "tensorrt-llm", "accelerator": "h100-sxm-80gb", "accelerators": 2}
    room: dict[str, object] = {"cache_offload": {"to": "host", "bytes": "32 GiB"}}
    for fields, kept in ((room, ""), ({**room, "kv_cache": "fp8"}, "  dtype: fp8\n")):
        (file,) = launch({**case, **fields})["files"]  # type: ignore[misc]
        share = "  free_gpu_memory_fraction: 0.9\n"  # what a flag says of the cache is replaced by what stands here
        assert file["text"].startswith(f"kv_cache_config:\n{kept}  host_cache_size: {2**34}\n{share}cuda_graph_config")
    disk = {"cache_offload": {"to": "disk", "bytes": "1 TB", "bandwidth": "7 GB/s"}}
    answer: Any = launch({**case, **disk, "engine": "vllm"})
    assert ("no-flag", "caches_on_disk") in {(one["code"], one["field"]) for one in answer["warnings"]}


def test_a_build_for_the_backend_that_is_asked_for() -> None:
    """llama.cpp's kernels are chosen when it is built; what a device usually has needs no word."""
    case: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "weights": "q8_0",
        "engine": "llama.cpp",
        "accelerator": "rtx-4090",
    }
    for more, told in (({"backend": "vulkan"}, ["take a build of llama.cpp for vulkan"]), ({}, [])):
        warnings: Any = launch({**case, **more})["warnings"]
        assert [one["message"] for one in warnings if one["code"] == "build-needed"] == told


def test_kernels_of_aiter_are_turned_on_by_the_environment() -> None:
    """No flag of vLLM's does it, so that the answer says it; what it takes by itself needs nothing."""
    asked: dict[str, Any] = {"model": "qwen3-30b-a3b", "engine": "vllm", "accelerator": "mi300x"}
    for backend, told in (("aiter", True), ("triton", False)):
        warnings: Any = launch({**asked, "backend": backend})["warnings"]
        assert any("VLLM_ROCM_USE_AITER=1" in warning["message"] for warning in warnings) == told


def test_every_flag_has_a_reason_and_a_source() -> None:
    """A flag says why it is there, and where its program documents it."""
    for name, scenario in SCENARIOS.items():
        for flag in launch(scenario)["flags"]:  # type: ignore[attr-defined]
            assert flag["because"] and catalog().source(flag["source"]).url, name


def test_every_engine_has_a_launcher() -> None:
    """Each engine of the catalogue can be started."""
    assert set(catalog().ids("engines")) <= set(catalog().ids("launchers"))


def test_hostile_words_stay_words() -> None:
    """A name with quotes or commands in it reaches no shell as one: unknown models are refused by name."""
    for name in ("$(reboot)", "x; reboot", "a'b"):
        with pytest.raises(ScenarioError):
            launch({"model": name, "engine": "vllm"})


@pytest.mark.parametrize(
    ("scenario", "replicas", "field"),
    [({"model": "gpt2"}, 1, "engine"), ({**H100, "engine": "vllm"}, 0, "replicas"), ({"engine": "vllm"}, 1, "model")],
)
def test_wrong_questions(scenario: dict[str, object], replicas: int, field: str) -> None:
    """Without an engine or a model nothing is started, and there is a copy at least."""
    with pytest.raises(ScenarioError) as error:
        launch(scenario, replicas=replicas)
    assert error.value.field == field


def test_the_command_is_of_the_report() -> None:
    """The longest sequence of the command is that of the report it goes with."""
    scenario = {**SCENARIOS["vllm"], "prompt_tokens": 5000, "output_tokens": 700, "cached_tokens": 300}
    report: Any = estimate(scenario)
    given = words(launch(scenario))
    whole = report["scenario"]["context_tokens"] + report["scenario"]["cached_tokens"]
    assert given[given.index("--max-model-len") + 1] == str(whole) == "6000"
