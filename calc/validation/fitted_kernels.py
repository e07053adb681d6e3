"""Which laws of kernels are fitted, and on which rows of the tables each."""

from typing import NamedTuple

from calc.performance.operations import Experts
from calc.validation.measured_kernels import Measured

CUBLAS_DEPTH = 4096.0  # from which on cuBLAS splits it
TABLES, LIBRARY_TABLES = "aiconfigurator-kernels", "aiter-kernels"
CHECKED = {TABLES: "2026-11-22", LIBRARY_TABLES: "2026-11-27"}


class Fit(NamedTuple):
    """A law to be fitted: for which kernels and engines, and on which rows of the tables."""

    kind: str
    kernel: str
    rate: str
    names: tuple[str, ...] = ("",)  # beginnings of the tables' names of kernels
    row_engines: tuple[str, ...] = ("vllm", "sglang", "tensorrt-llm", "")  # or libraries
    engines: tuple[str, ...] = ()
    quantizes: bool = False
    bounds: tuple[tuple[str, float, float, float], ...] = ()
    split_depth: float = 1e6  # no inner dimension is as long: it is not split
    source: str = TABLES


HOPPERS = ("h100-sxm-80gb", "h200-sxm-141gb")
TRT = ("tensorrt-llm",)
# Operands of a prompt's attention were just written and lie in the cache of the last level.
FRESH = (("memory_share", 0.8, 0.2, 4.0),)
# States are read as weights are: rows say nothing that could be.
STATES = (("memory_share", 0.85, 0.84, 0.86),)
FITS = (
    Fit("product", "bf16", "bf16", split_depth=CUBLAS_DEPTH),
    Fit("product", "fp8", "fp8", row_engines=("vllm",), quantizes=True),
    Fit("product", "fp8", "fp8", row_engines=("sglang",), engines=("sglang",), quantizes=True),
    Fit("product", "fp8", "fp8", row_engines=TRT, engines=TRT, quantizes=True),
    Fit("product", "fp8-block", "fp8", quantizes=True),
    Fit("product", "nvfp4", "fp4", row_engines=("vllm",), quantizes=True),
    Fit("product", "nvfp4", "fp4", row_engines=("sglang",), engines=("sglang",), quantizes=True),
    Fit("product", "nvfp4", "fp4", row_engines=TRT, engines=TRT, quantizes=True),
    Fit("product", "int8", "int8", quantizes=True),
    Fit("product", "w4a16", "bf16", engines=TRT),
    Fit("product", "w8a16", "bf16", engines=TRT),
    # Kernels alone: what brings operands to their format is not in these tables.
    *(
        Fit("product", kernel, rate, row_engines=("aiter",), source=LIBRARY_TABLES)
        for kernel, rate in (("bf16", "bf16"), ("fp8", "fp8"), ("fp8-block", "fp8"), ("mxfp4", "fp4"))
    ),
    Fit("prefill", "bf16", "bf16", ("vllm",), bounds=FRESH),
    Fit(
        "prefill",
        "bf16",
        "bf16",
        ("fa3", "flash", "trtllm_mha"),
        row_engines=("sglang",),
        engines=("sglang",),
        bounds=FRESH,
    ),
    Fit("prefill", "bf16", "bf16", ("torch_flow ",), row_engines=TRT, engines=TRT, bounds=FRESH),
    Fit("prefill", "fp8", "fp8", ("fa3", "trtllm_mha"), row_engines=("sglang",), bounds=FRESH),
    Fit("prefill", "fp8", "fp8", ("torch_flow ",), row_engines=TRT, engines=TRT, bounds=FRESH),
    Fit("decode", "bf16", "bf16", ("vllm",)),
    Fit("decode", "bf16", "bf16", ("fa3", "flash", "trtllm_mha"), row_engines=("sglang",), engines=("sglang",)),
    Fit("decode", "bf16", "bf16", ("torch_flow ",), row_engines=TRT, engines=TRT),
    Fit("decode", "fp8", "bf16", ("vllm",)),
    Fit("decode", "fp8", "bf16", ("fa3", "flash", "trtllm_mha"), row_engines=("sglang",), engines=("sglang",)),
    Fit("decode", "fp8", "bf16", ("torch_flow ",), row_engines=TRT, engines=TRT),
    # The modules of vLLM waited for the host, which launched their kernels one by one.
    Fit("latent-decode", "bf16", "bf16", row_engines=TRT),
    Fit("latent-decode", "fp8", "bf16", row_engines=TRT),
    *(
        Fit("experts", kernel, rate, row_engines=("vllm",), quantizes=kernel != "bf16")
        for kernel, rate in (
            ("bf16", "bf16"),
            ("fp8", "fp8"),
            ("fp8-block", "fp8"),
            ("nvfp4", "fp4"),
            ("mxfp4", "bf16"),
            ("w4a16", "bf16"),
        )
    ),
    *(
        Fit("experts", kernel, rate, row_engines=("sglang",), engines=("sglang",), quantizes="bf16" not in kernel)
        for kernel, rate in (
            ("bf16", "bf16"),
            ("bf16-triton", "bf16"),
            ("fp8-block", "fp8"),
            ("fp8-block-triton", "fp8"),
            ("nvfp4", "fp4"),
            ("mxfp4", "bf16"),
            ("w4a16", "bf16"),
        )
    ),
    *(
        Fit("experts", kernel, rate, row_engines=TRT, engines=TRT, quantizes=kernel != "bf16")
        for kernel, rate in (("bf16", "bf16"), ("fp8", "fp8"), ("nvfp4", "fp4"), ("mxfp4", "bf16"))
    ),
    Fit("message", "all-reduce", "bf16", row_engines=("",)),
    Fit("message", "all-reduce", "bf16", row_engines=("vllm",), engines=("vllm",)),
    Fit("message", "all-reduce", "bf16", row_engines=("sglang",), engines=("sglang",)),
    Fit("message", "all-reduce", "bf16", row_engines=TRT, engines=TRT),
    Fit("message", "all-gather", "bf16", ("all_gather", "reduce_scatter"), row_engines=("",)),
    Fit("message", "all-to-all", "bf16", row_engines=("",)),
    Fit("recurrence", "bf16", "bf16", row_engines=("vllm",), bounds=STATES),
    Fit("recurrence", "bf16", "bf16", row_engines=("sglang",), engines=("sglang",), bounds=STATES),
    Fit("recurrence", "bf16", "bf16", row_engines=TRT, engines=TRT, bounds=STATES),
)
# What a law serves beside its own: other messages, and FP8 with one scale, which has Triton's kernel for blocks.
SERVED = {
    "all-gather": ("all-gather", "reduce-scatter", "send"),
    "fp8-block-triton": ("fp8-block-triton", "fp8-triton"),
}


def doubtful(row: Measured) -> bool:
    """Return whether a law is not fitted on a row, nor judged by it.

    A100 rows of attention under TensorRT-LLM read their cache faster than the device's memory can. Experts without a
    gate take SGLang six times as long on Hopper in 16 bit as others with as many bytes, at one token and at thousands.
    """
    if row.kind == "decode":
        return (row.device, row.engine) == ("a100-sxm-80gb", "tensorrt-llm")
    done = row.operations[-1]
    ungated = isinstance(done, Experts) and done.matrices == 2 and done.kernel == "bf16"
    return ungated and row.engine == "sglang" and row.device in HOPPERS
