"""Where estimates of engines' coefficients begin: at what one would say who knows the code and has seen no run."""

from functools import cache

from calc.catalog import catalog

# What is estimated, everything measured that is not set by an engine's code, and where an estimate begins,
# whatever the catalogue says.
START = {
    "weights_factor": 1.0,
    "matrix_factor": 1.0,
    "cache_factor": 1.0,
    "attention_factor": 1.0,
    "expert_reading_factor": 1.0,
    "expert_factor": 1.0,
    "expert_launches": 1.0,
    "product_launches": 1.0,
    "step_s": 1e-3,
    "sequence_s": 1e-5,
    "launch_s": 1e-5,
    "request_s": 0.08,
    "processor_read_share": 0.9,
    "processor_rate_share": 0.3,
    "processor_unpack": 2.0,
    "processor_pair_s": 2e-9,
}
# The same where an engine's code says more: scores that are written and read, weights that are unpacked to 16 bit
# before they are multiplied, kernels around a product that PyTorch launches one by one from Python. vLLM multiplies AWQ
# by AutoAWQ's kernel before 0.5.3 (https://github.com/vllm-project/vllm/pull/6612).
CODE = {
    "attention_factor_eager": 3.0,
    "cache_factor_eager": 2.0,
    "launch_s@2023": 2e-5,
    "launch_s@V0": 2e-5,
    "weights_factor_w4a16@2023": 2.0,
    "weights_factor_awq@0.5": 2.0,
    "step_s@2023": 3e-3,
    "step_s_ranks@2023": 1.3e-2,
    "step_s@V0": 2e-3,
    "step_s_ranks@V0": 3e-3,
}
EAGER = {
    "launch_s": 2.5e-5,
    "weights_factor_quantized": 2.0,
    "matrix_factor_quantized": 1.5,
    "matrix_factor_awq": 2.0,
    "product_launches_awq": 2.0,
    "product_launches_nf4": 3.0,
    "product_launches_nf4-dq": 4.0,
    "product_launches_fp8": 6.0,
    "product_launches_fp8-block": 6.0,
    "product_launches_gptq-int8": 5.0,
    "product_launches_int8": 11.0,
}
# Servers whose prompts are read by PyTorch kernel by kernel, too; SGLang casts operands by kernels of their own.
# TensorRT-LLM (overlap scheduler) and vLLM from 0.14 on (asynchronous scheduling) launch a step before they have read
# the tokens of the last one. The laws' kernels were measured alone: products one after the other keep a device at its
# limit of power, and its clock falls (https://www.thonking.ai/p/strangely-matrix-multiplications). Consumer cards
# multiply 16 bit at half the professional rate, stay below that limit, and keep their clock; so do A100s, with twice
# the power for each operation a second that H100s have. Of first tokens that come 58 ms after 1,024-token prompts of
# a 70B under TensorRT-LLM, reading takes 25. Under vLLM first tokens after prompts of a dozen tokens come 11 to 16 ms
# later than one more token takes, on six cards of four authors. Under SGLang a pass of DeepSeek-V3 over one token
# takes 83 ms where the host launches its 2,500 kernels (sglang#12160), and first tokens of models with few layers
# come after 11 to 32 ms. Triton's kernels of experts in blocks of FP8 are SGLang's too, whose rows of three authors
# give 2.8 on MI300X and MI325X; AMD says that its own (AITER) are up to three times as fast. The one for MXFP4 takes
# as much longer (ROCm/triton#970: 82 microseconds for one of two products that have 50), and that for 4-bit weights
# on AMD takes 16 or 32 bytes of a row at a time, of lines of 64 and 128 (get_moe_wna16_block_config): four times. On
# B200 vLLM took Triton's until 0.11, by the tables 1.3 to 2.2 times as slow, and 1.7 times more while reading by
# SGLang's rows. Other products in blocks by AITER make DeepSeek-V3 write 19 % more (vllm#14968): 1.5 if they take
# half the time. Of what vLLM 0.5 did between steps its authors tell how long it took beside the device
# (https://blog.vllm.ai/2024/09/05/perf-update.html).
SUSTAINED = {"matrix_factor": 1.2, "matrix_factor@consumer": 1.0}
# Operators of routed experts look their kernels up in Python (NVIDIA/TensorRT-LLM#13116, sgl-project/sglang#18782); of
# NVIDIA's library, which SGLang takes on Blackwell, one call has a layer's ten kernels, behind one that casts.
# Of llama.cpp: a loop in C++ that one request has alone, which built its graph anew for each step until July 2025
# (0.13 to 0.35 ms, by its pull request 8366 and ik_llama.cpp's 94), and of whose server issue 27050 says what
# choosing takes; sums in FP16, at which GeForce cards have twice the rate. Its attention on AMD's takes packed FP16,
# at half the matrix units' rate up to RDNA 3.5 and at a quarter on RDNA 4, as on Volta where a model has sinks. Where
# a driver has no matrix units for BF16, threads multiply in FP32, at half to a quarter of their rate; Volta's do so
# at an eighth of its matrix units' rate, and Vega 20's at half of their rate of packed FP16. These take packed
# weights apart beside their dot products, and attend in FP32 under Vulkan, in small tiles. Under SYCL it is threads
# that attend, at a sixteenth of Intel's matrix units' rate, and packed weights that are not ordered anew when a model
# is loaded come at a quarter of the bandwidth that others do; under Vulkan products take twice to three times, and
# four times that on Arc A, where threads multiply.
# RDNA 2's threads have dot products of integers at twice the rate of FP16; where formats or builds under Vulkan lack
# them, they take weights apart for sums in FP16, in its first builds slower still, as RDNA 1's always do.
# Of rocBLAS on CDNA 3 a comment in llama.cpp's source says that it performs very poorly: as threads multiply.
# Of MLX: the host encodes the next step while the device works (mx.async_eval), and mixtures whose bytes would take a
# third as long bound what it takes for a kernel: https://github.com/ml-explore/mlx-lm/blob/main/mlx_lm/BENCHMARKS.md
OWN = {
    "transformers": SUSTAINED | EAGER,
    "mlx": {"step_s": 3e-4, "launch_s": 5e-6},
    "llama.cpp": {"step_s": 1e-4, "step_s@2024": 3.5e-4, "entry_s": 3.9e-9, "request_s": 0.01}
    | {"matrix_factor@NVIDIA consumer": 0.75, "attention_factor@AMD": 2.0}
    | {"attention_factor@RDNA 4@2025-08": 4.0, "attention_factor@Vega 20 vulkan": 4.0}
    | {"attention_factor@Volta@2025-08": 4.0}
    | {"matrix_factor_quantized@Vega 20": 1.5, "matrix_factor_bf16@AMD vulkan": 3.0}
    | {"matrix_factor_bf16@Volta": 8.0, "matrix_factor_bf16@Vega 20": 2.0}
    | {"matrix_factor_quantized@RDNA 2": 0.75, "matrix_factor_quantized@RDNA 2 vulkan": 0.75}
    | {"matrix_factor_tables@RDNA 2 vulkan": 1.5}
    | {f"matrix_factor_quantized@RDNA 2 vulkan@{era}": times for era, times in (("2024", 1.5), ("2023", 2.0))}
    | {"matrix_factor_quantized@RDNA 1": 1.5, "matrix_factor_quantized@RDNA 1 vulkan@2023": 2.0}
    | {"attention_factor@Intel": 16.0, "matrix_factor@Intel": 2.0}
    | {"matrix_factor_quantized@Intel vulkan": 3.0, "weights_factor_quantized@Intel vulkan": 2.0}
    | {"weights_factor_unordered@Intel": 4.0, "weights_factor_unordered@Intel vulkan": 2.0}
    | {"matrix_factor_quantized@Xe-HPG vulkan": 12.0, "matrix_factor@CDNA 3@2024": 20.0},
    "vllm": SUSTAINED
    | {"expert_reading_factor_fp8-block@CDNA 3": 2.8, "weights_factor_fp8-block@CDNA 3": 1.5}
    | {"expert_reading_factor_mxfp4@AMD": 2.8, "expert_reading_factor_w4a16@AMD": 4.0}
    | {"expert_reading_factor_w4a16@RDNA 4": 4.0}
    | {"expert_reading_factor_w4a16@NVIDIA@0.8": 2.2, "expert_reading_factor_w4a16@Ampere@0.8": 3.3}
    | {"expert_reading_factor_fp8@Blackwell data-center@0.8.4": 2.4}
    | {"expert_reading_factor_bf16@Blackwell data-center@0.8.4": 2.1}
    | {"expert_factor_fp8@Blackwell data-center@0.8.4": 2.2, "expert_factor_bf16@Blackwell data-center@0.8.4": 2.0}
    | {"matrix_factor_w4a16@consumer": 1.0, "matrix_factor_w4a16@Blackwell consumer": 1.0}
    | {"request_s": 0.012, "step_s": 2e-4, "step_s@0.11": 1e-3, "product_launches_fp8": 2.0}
    | {"sequence_s": 4e-6, "sequence_s@0.11": 2e-5, "sequence_s@0.5.3": 1.15e-4, "sequence_s@V0": 2.4e-5}
    | {"launch_s_uncompiled": 5e-5, "launch_s_uncompiled@V0": 2e-5}
    | {"attention_factor_triton": 1.5},
    "sglang": SUSTAINED
    | {"request_s": 0.008, "expert_launches": 1.5, "launch_s": 3.3e-5, "product_launches_quantized": 2.0}
    | {"attention_factor_triton": 1.5}
    | {f"expert_launches@{kind} data-center": 0.3 for kind in ("Blackwell", "Blackwell Ultra")}
    | {"step_s": 6e-4, "step_s@0.4": 1e-3},
    "tensorrt-llm": SUSTAINED
    | {"expert_launches": 5.0, "request_s": 0.035, "launch_s": 2.5e-5, "step_s": 2e-4, "ahead_s": 1e-6},
}
# What is as the laws have it, for its kernels are those that the laws were measured with: libraries' and Marlin's, and
# those of devices which keep their clock. Of llama.cpp, what libraries did under SYCL until it had kernels of its own,
# and what Vega 10 does, of which there are no rows, but those of its sibling and a profile.
STEADY = "matrix_factor@steady", "matrix_factor_quantized@steady in 8 bit"
BY_LAW = {
    "llama.cpp": ("attention_factor@Intel@2026-01", "attention_factor@Vega 10", "matrix_factor_quantized@Vega 10"),
    "sglang": (
        "weights_factor",
        "expert_reading_factor_w4a16",
        *STEADY,
        "step_s_states",  # as one machine has it with and without
    ),
    "tensorrt-llm": STEADY,
    "vllm": STEADY,
}

# The same for memory: what one would take who knows the code and has seen no run. Counts in code are not estimated.
# A sampler that sorts has logits in 16 bit and FP32 (2 + 4 bytes), values and indices sorted (4 + 8), the indices it
# began with (8) and the sort's own copy of values and indices (4 + 8): PyTorch, ATen/native/cuda/SortStable.cu.
MEMORY_START = {
    "sampler_logit_bytes": 14.0,  # logits in 16 bit and FP32, a masked copy, probabilities: 2 + 4 + 4 + 4
    "sampler_logit_bytes@V1": 38.0,  # 2 + 4 + 12 + 8 + 12
    "workspaces": 2.0**26,
    "processes_held": 2.0**31,
    "communication_buffers": 2.0**28,
    "cuda_graphs": 2.0**29,
    "cuda_graph_layer": 2.0**17,
    "graphs_estimated": 0.5,  # of graphs that share their memory, the first two of each kind
    "allocator_slack": 0.02,
    "allocator_pass_slack": 0.5,
    "runtime_context": 2.0**29,
    "runtime_context_linked": 2.0**30,
}


def memory_start_of(engine: str) -> dict[str, float]:
    """Return the coefficients of an engine's memory that rows set, at the values where an estimate begins."""
    known = catalog().engine(engine).values
    starts = {name: MEMORY_START.get(name, MEMORY_START.get(name.partition("@")[0])) for name in known}
    return {name: start for name, start in starts.items() if start is not None and known[name]}


def start_of(engine: str) -> dict[str, float]:
    """Return the coefficients of an engine that rows set, at the values where an estimate begins."""
    found = {}
    known = START | CODE | OWN.get(engine, {})
    for name, value in catalog().engine(engine).values.items():
        begins = max(
            (start for start in known if name == start or name.startswith((f"{start}_", f"{start}@"))),
            key=len,
            default="",
        )
        if begins and value > 0 and not name.startswith(BY_LAW.get(engine, ())):
            found[name] = known[begins]
    return found


@cache
def begun_with(engine: str) -> dict[str, float]:
    """Return all coefficients of an engine, as they are before any row says otherwise."""
    return {**catalog().engine(engine).values, **start_of(engine)}
