"""Measured kernels: rows of the tables that NVIDIA publishes with aiconfigurator, as operations and their seconds.

The tables are in the Python package `aiconfigurator-core` 0.12.0 (Apache-2.0), under `systems/data/`: one CSV for each
kind of operation, with the columns that the readers below name, and `device`, `engine` and `kernel` for where a row is
from. Latencies are of a kernel repeated on a warm and otherwise idle device, in milliseconds.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from calc.performance.device_laws import TRITONS
from calc.performance.operations import Attention, Experts, Operation, Product, Recurrence
from calc.validation.kernel_messages import messages
from calc.validation.measured_kernels import DEVICES, Measured, Row, measured, rows, seconds_of

BYTES = {"bfloat16": 2.0, "fp8": 1.0}
# How a table names the format of weights: our kernel, bytes of an element of the weights and of the other operand.
FORMATS = {
    "bfloat16": ("bf16", 2.0, 2.0),
    "fp8": ("fp8", 1.0, 1.0),
    "fp8_block": ("fp8-block", 1.0 + 4 / 128**2, 1.0),
    "nvfp4": ("nvfp4", 0.5 + 1 / 16, 0.5 + 1 / 16),
    "int4_wo": ("w4a16", 0.5 + 2 / 128, 2.0),
    "int8_wo": ("w8a16", 1.0, 2.0),
    "sq": ("int8", 1.0, 1.0),
    "w4a16_mxfp4": ("mxfp4", 0.5 + 1 / 32, 2.0),
    "w4a8_mxfp4_mxfp8": ("mxfp4", 0.5 + 1 / 32, 1.0),
    "w4a4_mxfp4": ("mxfp4", 0.5 + 1 / 32, 0.5 + 1 / 32),
}
# Multiply packed weights in 16 bit, whatever their scales are: gpt-oss where nothing takes MXFP4 as it is.
MARLIN = ("vllm_gptossmxfp4moe_marlin_marlinexperts", "sglang_marlin_moe")
# Devices on which SGLang takes experts of some families from NVIDIA's library, and else from Triton: two laws.
TRITON, WITH_LIBRARY = "sglang_fused_moe_triton", ("b200_sxm", "gb200", "b300_sxm", "gb300")
LEAST_WIDTH = 512  # of a product, as layers have them
STATE_FLOPS = 6.0  # of each element of a state for a token: what is forgotten, written and read
STATE_BYTES = 4.0
RECURRENCE_KEY = ("device", "engine", "phase", "batch_size", "seq_len", "model_name", "num_v_heads")
MOST_STATES = 8  # sequences up to which reading states does not matter
TILE_WIDTH = 64  # elements that an expert's inner width comes in
# DeepSeek-V3's experts by outer width and count: its router takes them from four groups of eight, in which equal scores
# send all tokens of these tables to the same few. How many are touched is not known.
GROUPED = (7168, 256)
BALANCED = "balanced"  # as tables name even loads
DRAWS = 5  # of a power law, that are measured one after the other
# Experts without a gate, by outer and inner width: Nemotron 3.
NOT_GATED = {(2688, 1856), (1024, 2688), (2048, 5120), (4096, 2688), (8192, 5120)}
LEAST_PROMPT = 64  # tokens; shorter prompts wait for launches


def multiplied(name: str, sizes: tuple[int, int, int], kernel: str, *, stored: float, operand: float) -> Product:
    """Return a product: weights are read once, the other operand is read and the result written in 16 bit.

    `stored` and `operand` are bytes of an element of the weights and of the other operand.
    """
    m, n, k = sizes
    moved = m * (operand * k + 2.0 * n)
    return Product(name, m, n, k, kernel=kernel, weight_bytes=stored * n * k, io_bytes=moved)


def products(folder: Path) -> Iterator[Measured]:
    """Iterate over matrix products. In 16 bit all engines call the same library: the median of theirs is taken."""
    shared: dict[tuple[str, int, int, int], list[float]] = {}
    for row in rows(folder, "gemm"):
        m, n, k = int(row["m"]), int(row["n"]), int(row["k"])
        if min(n, k) < LEAST_WIDTH or (row["gemm_dtype"] == "fp8_block" and row["engine"] == "vllm"):
            continue  # narrow ones wait for launches; blocks under vLLM were launched by the host, one by one
        if row["gemm_dtype"] == "bfloat16":
            shared.setdefault((row["device"], m, n, k), []).append(seconds_of(row))
        else:
            done = product((m, n, k), row["gemm_dtype"])
            yield measured(row, "product", row["kernel"], shape=(n, k), operations=(done,), seconds=seconds_of(row))
    for (device, m, n, k), found in shared.items():
        done = product((m, n, k), "bfloat16")
        yield Measured(
            "product",
            DEVICES[device],
            "",
            "median of engines",
            shape=(n, k),
            operations=(done,),
            seconds=median(found),
        )


def product(sizes: tuple[int, int, int], dtype: str) -> Product:
    """Return a product with weights in a format of the tables."""
    kernel, stored, operand = FORMATS[dtype]
    return multiplied("product", sizes, kernel, stored=stored, operand=operand)


def attentions(folder: Path, kind: str) -> Iterator[Measured]:
    """Iterate over attention of whole prompts ("prefill") or of the next token ("decode")."""
    for row in rows(folder, f"attention_{kind}"):
        queries, step = int(row["isl"]), int(row["step"])
        converted = row["attn_dtype"] != row["kv_cache_dtype"]
        if kind == "prefill" and (queries < LEAST_PROMPT or step or converted):
            continue
        sequences, heads = int(row["batch_size"]), int(row["num_heads"])
        kv_heads, width = int(row["num_key_value_heads"]), int(row["head_dim"])
        window = int(float(row["window_size"] or 0)) or None
        seen = min(step + queries, window + queries - 1) if window else step + queries
        cached = row["kv_cache_dtype"] if kind == "decode" else row["attn_dtype"]
        kernel = FORMATS[cached][0]
        stored = 2.0 * sequences * seen * kv_heads * width * BYTES[row["kv_cache_dtype"]]
        done = Attention(
            kind,
            sequences,
            queries,
            step,
            heads=heads,
            kv_heads=kv_heads,
            key_dim=width,
            value_dim=width,
            causal=True,
            window=window,
            latent=False,
            kernel=kernel,
            cache_bytes=stored,
        )
        name = f"{row['kernel']} {row['attn_dtype']} {row['kv_cache_dtype']}"
        yield measured(row, kind, name, shape=(heads, kv_heads, width), operations=(done,), seconds=seconds_of(row))


# DeepSeek-V3's latent attention, which the tables of whole modules are measured with.
HIDDEN, QUERY_RANK, LATENT, ROTARY, PLAIN, VALUE = 7168, 1536, 512, 64, 128, 128


def latents(folder: Path) -> Iterator[Measured]:
    """Iterate over whole modules of latent attention in decoding: its projections, and attention itself."""
    for row in rows(folder, "mla_decode"):
        if int(row["tp_size"]) != 1 or row["gemm_type"] != "bfloat16":
            continue  # projections in 16 bit, whose law is the surest
        tokens, heads, keys = int(row["batch_size"]), int(row["num_heads"]), int(row["step"])
        kernel, stored, operand = FORMATS[row["gemm_type"]]
        cached = BYTES[row["kv_cache_dtype"]]
        projections = tuple(
            multiplied("projection", (tokens, n, k), kind, stored=each, operand=other)
            for n, k, kind, each, other in (
                (QUERY_RANK + LATENT + ROTARY, HIDDEN, kernel, stored, operand),
                (heads * (PLAIN + ROTARY), QUERY_RANK, kernel, stored, operand),
                (heads * LATENT, PLAIN, "bf16", 2.0, 2.0),
                (heads * VALUE, LATENT, "bf16", 2.0, 2.0),
                (HIDDEN, heads * VALUE, kernel, stored, operand),
            )
        )
        width = LATENT + ROTARY
        read = tokens * (keys + 1) * width * cached
        kernel = FORMATS[row["kv_cache_dtype"]][0]
        done = Attention(
            "latent",
            tokens,
            1,
            keys,
            heads=heads,
            kv_heads=1,
            key_dim=width,
            value_dim=LATENT,
            causal=True,
            window=None,
            latent=True,
            kernel=kernel,
            cache_bytes=read,
        )
        name = f"{row['kernel']} {row['mla_dtype']} {row['kv_cache_dtype']} {row['gemm_type']}"
        operations: tuple[Operation, ...] = (*projections, done)
        yield measured(row, "latent-decode", name, shape=(heads, keys), operations=operations, seconds=seconds_of(row))


def experts(folder: Path) -> Iterator[Measured]:
    """Iterate over a layer's experts on one rank, evenly loaded and by a power law.

    Where an engine was measured with several kernels, the fastest stands for it: engines choose by trying.
    """
    fastest: dict[tuple[object, ...], Measured] = {}
    for row in rows(folder, "moe"):
        if int(row["moe_ep_size"]) != 1 or row["moe_dtype"] not in FORMATS:
            continue
        tokens, active, count = int(row["num_tokens"]), int(row["topk"]), int(row["num_experts"])
        whole, k = int(row["inter_size"]), int(row["hidden_size"])
        n = whole // int(row["moe_tp_size"])
        if n % TILE_WIDTH or (k, count) == GROUPED:
            continue  # engines pad such widths, or refuse them
        matrices = 2 if (k, whole) in NOT_GATED else 3
        kernel, stored, _ = FORMATS[row["moe_dtype"]]
        if row["kernel"] in MARLIN:
            kernel = "w4a16"
        if row["kernel"] == TRITON and row["device"] in WITH_LIBRARY:
            kernel += TRITONS
        touched = touched_experts(row["distribution"], tokens, active, count)
        weights = touched * matrices * n * k * stored
        moved = 2.0 * tokens * active * (2 * k + (matrices - 1) * 2 * n)
        done = Experts(
            "experts",
            tokens,
            touched,
            count,
            active=active,
            n=n,
            k=k,
            matrices=matrices,
            kernel=kernel,
            weight_bytes=weights,
            io_bytes=moved,
        )
        name = f"{kernel} {row['distribution']}"
        found = measured(row, "experts", name, shape=(k, n, count), operations=(done,), seconds=seconds_of(row))
        key = (*found[:5], active, tokens)
        if key not in fastest or found.seconds < fastest[key].seconds:
            fastest[key] = found
    yield from fastest.values()


def touched_experts(distribution: str, tokens: int, active: int, count: int) -> float:
    r"""Return how many experts any token is sent to.

    Even loads: as many as there are choices. By a power law, loads follow $x^{-\alpha}$ from 1 to 0.8 of the tokens, or
    from 0.01 to 2 where there are no more choices than experts, are scaled to the choices that are made, and rounded;
    choices that are left over go to one expert each that has none (`_generate_power_law_distribution` of the tables'
    `collector/helper.py`, https://github.com/ai-dynamo/aiconfigurator).
    """
    choices = tokens * active
    if distribution == BALANCED or tokens == 1:
        return float(min(choices, count))
    slope = 1.0 - float(distribution.rpartition("_")[2])
    least, most = (1.0, 0.8 * tokens) if choices > count else (0.01, 2.0)
    ends = least**slope, most**slope
    loads = [(ends[0] + (ends[1] - ends[0]) * (i + 0.5) / count) ** (1.0 / slope) for i in range(count)]
    scale = choices / sum(loads)
    taken = [min(round(load * scale), tokens) for load in loads]
    touched = sum(load > 0 for load in taken)
    return float(min(touched + max(choices - sum(taken), 0), count))


def repeated_bytes(row: Measured) -> float:
    """Return the bytes that are read before the same are read again: of experts by a power law, those of all draws."""
    done = row.operations[-1]
    if not isinstance(done, Experts) or row.kernel.endswith(BALANCED):
        return float(done.bytes)
    share = done.touched / done.experts
    return done.io_bytes + done.weight_bytes * (1.0 - (1.0 - share) ** DRAWS) / share


def recurrences(folder: Path) -> Iterator[Measured]:
    """Iterate over gated delta nets: convolution and update of the state together, of prompts or of the next token.

    The states of many sequences were read faster than any memory can be, maybe because they share one; such rows are
    left out, and those of one token tell when kernels start; of a prompt of one token nobody calls those that cut
    prompts into chunks.
    """
    convolved: dict[tuple[str, ...], float] = {}
    found: dict[tuple[str, ...], tuple[Row, float]] = {}
    for row in rows(folder, "linear_attention"):
        key = tuple(row[name] for name in RECURRENCE_KEY)
        seconds = seconds_of(row)
        if row["kernel"].startswith("causal_conv1d"):
            convolved[key] = seconds
        elif "gated_delta_rule" in row["kernel"] and seconds < found.get(key, (row, 1e9))[1]:
            found[key] = row, seconds
    for key, (row, seconds) in found.items():
        sequences, tokens = int(row["batch_size"]), int(row["num_tokens"])
        heads, width = int(float(row["num_v_heads"])), int(float(row["head_k_dim"])) * int(float(row["head_v_dim"]))
        prompt = tokens > sequences
        if key not in convolved or (not prompt and (sequences > MOST_STATES or row["phase"] == "context")):
            continue
        state = 2.0 * STATE_BYTES * sequences * heads * width
        done = Recurrence(
            "recurrence", row["phase"], tokens, sequences, flops=STATE_FLOPS * tokens * heads * width, state_bytes=state
        )
        name, shape = f"{row['kernel']} {row['phase']}", (heads, int(row["d_model"]))
        both = seconds + convolved[key]
        yield measured(row, "recurrence", name, shape=shape, operations=(done,), seconds=both)


READERS: dict[str, Callable[[Path], Iterator[Measured]]] = {
    "product": products,
    "prefill": lambda folder: attentions(folder, "prefill"),
    "decode": lambda folder: attentions(folder, "decode"),
    "latent-decode": latents,
    "experts": experts,
    "recurrence": recurrences,
    "message": messages,
}
