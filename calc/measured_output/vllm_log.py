"""What vLLM logs when it starts: its settings, and what weights, activations, graphs and cache took."""

import re

from calc.catalog import Catalog
from calc.measured_output.names import device_fields, model_fields
from calc.measured_run.terms import Reading
from calc.units import GIB

WHAT = "a start-up log of vLLM"
BLOCK_TOKENS = 16  # of a page, where the log does not say
SIZE = r"([\d.]+) ?Gi?B"  # older versions wrote GB for the same
SIZES = {
    "weights_bytes": (
        re.compile(rf"Model loading took {SIZE}"),
        re.compile(rf"Loading model weights took {SIZE}"),
        re.compile(rf"model weights take {SIZE}"),
    ),
    "working_bytes": (re.compile(rf"PyTorch activation peak memory takes {SIZE}"),),
    "kv_pool_bytes": (
        re.compile(rf"Available KV cache memory: {SIZE}"),
        re.compile(rf"the rest of the memory reserved for KV Cache is {SIZE}"),
    ),
    "graphs_bytes": (re.compile(rf"Graph capturing finished in [\d.]+ secs?, took {SIZE}"),),
}
TOKENS = re.compile(r"GPU KV cache size: ([\d,]+) tokens")
BLOCKS = re.compile(r"# (?:GPU|cuda) blocks: (\d+)")
BLOCK = re.compile(r"block_size['\"]?[=:] ?(\d+)")
VERSION = re.compile(
    r"API server version v?(\d+\.\d+\.\d+)|engine \(v(\d+\.\d+\.\d+)|\bversion (\d+\.\d+\.\d+)\s*$", re.M
)
MODEL = re.compile(
    r"\bmodel='([^']+)'|'model(?:_tag)?': '([^']+)'|vllm serve ['\"]?([\w./-]+)"
    r"|Starting to load model ([^\s.]\S*?)\.\.\."
)


def setting(*names: str, number: str = r"\d+") -> re.Pattern[str]:
    """Return what finds a setting by its names in configs, in Python's arguments, or as a flag."""
    ways = [rf"{name}'?[=: ]+\(?({number})|--{name.replace('_', '-')}[ =]({number})" for name in names]
    return re.compile("|".join(ways))


SETTINGS = {
    "tensor": setting("tensor_parallel_size"),
    "pipeline": setting("pipeline_parallel_size"),
    "context_tokens": setting("max_seq_len", "max_model_len"),
    "sequence_slots": setting("max_num_seqs"),
    "batched_tokens": setting("max_num_batched_tokens"),
    "memory_fraction": setting("gpu_memory_utilization", number=r"[01]?\.\d+"),
}
QUANTIZATION = re.compile(r"\bquantization=['\"]?(\w+)")
CACHE = re.compile(r"kv_cache_dtype['\"]?[=:] ?'?(\w+)")
DEVICE = re.compile(r"^\s*(?:GPU models and configuration\s*:\s*)?GPU \d+: ([^\n(]+)", re.MULTILINE)


def read(text: str, catalog: Catalog) -> Reading | None:
    """Return what a start-up log of vLLM says, None where the text is none. Sizes are of the fullest rank."""
    terms = {name: size for name, patterns in SIZES.items() if (size := largest(patterns, text))}
    tokens = [int(found.replace(",", "")) for found in TOKENS.findall(text)]
    if not tokens and (blocks := BLOCKS.findall(text)):
        page = BLOCK.search(text)
        tokens = [int(count) * (int(page[1]) if page else BLOCK_TOKENS) for count in blocks]
    if tokens:
        terms["kv_pool_tokens"] = float(min(tokens))
    if not terms:
        return None
    fields: dict[str, object] = {"engine": "vllm", "sequences": 1}
    notes: list[str] = []
    if version := first(VERSION, text):
        fields["engine_version"] = version
    if name := first(MODEL, text):
        known, unknown = model_fields(name, catalog)
        fields |= known
        notes += unknown
    names = [found.strip() for found in DEVICE.findall(text)]
    known, unknown = device_fields(names, catalog)
    fields |= known
    notes += unknown
    given = {name: found for name, pattern in SETTINGS.items() if (found := first(pattern, text))}
    ranks, stages = int(given.pop("tensor", "1")), int(given.pop("pipeline", "1"))
    if ranks * stages > 1 or "accelerators" in fields:
        fields["accelerators"] = ranks * stages  # a log may list devices that were not used
    if ranks * stages > 1:
        fields["division"] = "tensor" if stages == 1 else "pipeline" if ranks == 1 else ""
    fields |= {name: float(value) if "." in value else int(value) for name, value in given.items()}
    cache = CACHE.search(text)
    if cache and cache[1].startswith("fp8"):
        fields["kv_cache"] = "fp8"
    if (
        "weights" not in fields
        and (stored := QUANTIZATION.search(text))
        and catalog.lookup("number_formats", stored[1])
    ):
        fields["weights"] = catalog.lookup("number_formats", stored[1])
    return Reading(WHAT, fields, terms, tuple(notes))


def largest(patterns: tuple[re.Pattern[str], ...], text: str) -> float:
    """Return the largest size that the first pattern with any finds, in bytes; 0 where none does."""
    found = next((sizes for pattern in patterns if (sizes := pattern.findall(text))), [])
    return max((float(size) for size in found), default=0.0) * GIB


def first(pattern: re.Pattern[str], text: str) -> str:
    """Return the first match of a pattern whose groups are ways to write it; empty where there is none."""
    found = pattern.search(text)
    return next(filter(None, found.groups()), "") if found else ""
