"""Names that both inference scores share: models, accelerators and number formats as the sources of rows write them."""

import re

from calc import ScenarioError
from calc.catalog import catalog
from calc.catalog.records import version_numbers
from calc.catalog.support import FAMILY, NO
from calc.scenario.fields import PUBLISHED
from calc.validation.models import named
from calc.validation.scores import Row, SkipError

FORMATS = {
    "bf16": "bf16",
    "fp16": "fp16",
    "f16": "fp16",
    "fp8": "fp8",
    "fp8 (amd *-fp8-kv)": "fp8",
    "mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
    "gptq-int8": "gptq-int8",
    "bnb 4-bit": "nf4",
    "int4 (bnb load_in_4bit)": "nf4",
    "int4 weight-only": "awq",
    "int4 (4-bit)": "awq",
    "int8": "int8",
}
# Unsloth's dynamic mixtures of older models give a few tensors more bits than the mixture of that name; of
# those of 2026 the catalogue knows the rules.
DYNAMIC_SINCE = "2026-01"
DYNAMIC = {
    "q2_k_xl": "q2_k",
    "q3_k_xl": "q3_k_m",
    "q4_k_xl": "q4_k_m",
    "q5_k_xl": "q5_k_m",
    "q6_k_xl": "q6_k",
    "q8_k_xl": "q8_0",
}
# Names that a source writes and a catalogue does not.
ACCELERATORS = {
    "NVIDIA A100 80GB": "a100-sxm-80gb",
    "NVIDIA A100-80G": "a100-sxm-80gb",
    "NVIDIA A100 80G": "a100-sxm-80gb",
    "NVIDIA A100": "a100-sxm-80gb",
    "A100": "a100-sxm-80gb",
    "NVIDIA A100-SXM4-80GB": "a100-sxm-80gb",
    "NVIDIA A100-SXM-80G": "a100-sxm-80gb",
    "NVIDIA A100-40G": "a100-sxm-40gb",
    "A100 SXM 80GB": "a100-sxm-80gb",
    "NVIDIA A100-PCIE-40GB": "a100-pcie-40gb",
    "NVIDIA GPU (A100-SXM-80G for speed test)": "a100-sxm-80gb",
    "NVIDIA H100 80GB (79.18 GiB)": "h100-sxm-80gb",
    "NVIDIA H100 SXM 80GB": "h100-sxm-80gb",
    "NVIDIA H100 80GB": "h100-sxm-80gb",
    "NVIDIA H200 SXM 141GB": "h200-sxm-141gb",
    "NVIDIA B200 180GB": "b200-sxm-180gb",
    "NVIDIA GB200 192GB": "gb200-186gb",
    "NVIDIA RTX 6000 Pro Blackwell Server Edition 96GB": "rtx-pro-6000-server-96gb",
    "AMD Instinct MI300X 192GB": "mi300x",
    "A10G": "a10g-24gb",
    "A40 48GB": "a40-48gb",
    "L40S 48GB": "l40s-48gb",
    "RTX A6000 48GB": "rtx-a6000",
    "RTX 6000 Ada 48GB": "rtx-6000-ada",
    "RTX 4000 Ada 20GB": "rtx-4000-ada",
    "RTX 5000 Ada 32GB": "rtx-5000-ada",
    "3090 24GB": "rtx-3090",
    "4090 24GB": "rtx-4090",
    "4080 16GB": "rtx-4080",
    "3070 8GB": "rtx-3070",
    "3080 10GB": "rtx-3080",
    "3080 Ti 12GB": "rtx-3080-ti",
    "4070 Ti 12GB": "rtx-4070-ti",
    "M2 Ultra 76-Core GPU 192GB": "m2-ultra-192gb",
    "M1 Max 32‑Core GPU 64GB": "m1-max-64gb",
    "M3 Max 40‑Core GPU 64GB": "m3-max-64gb",
    "M1 7‑Core GPU 8GB": "m1-16gb",
    "7900 XTX": "rx-7900-xtx",
    "NVIDIA RTX 3060-12G": "rtx-3060-12gb",
    "GeForce RTX 3060": "rtx-3060-12gb",
    "NVIDIA H100 SXM5 80GB": "h100-sxm-80gb",
    "Apple M2 Max 32GB": "m2-max-96gb",  # the same chip with less memory, as the next two
    "Apple M2 Max 64GB": "m2-max-96gb",
    "Apple M4 24GB": "m4-32gb",
}
UNITS = {"GiB": 2**30, "MiB": 2**20, "MB": 10**6, "GB (GB-vs-GiB unclear)": 2**30, "tokens": 1}


PACKAGED = "(ollama)"  # in the engine of a row: a program that carries it, and counts its versions by itself
MEASURED_ON = re.compile(r"measured (20\d\d-\d\d(?:-\d\d)?)")  # in the notes of rows


def trusted(row: Row) -> None:
    """Raise SkipError for a row that is not to be believed, as its notes say."""
    if row["confidence"] == "low":
        raise SkipError("low confidence: its notes say why")


def model_of(row: Row) -> str:
    """Return the catalogue's id of a row's model, or the repository whose weights ran as it publishes them."""
    try:
        found = catalog().model(str(named(row["arch_key"])))
        return row["arch_key"] if row["quant"] == PUBLISHED else found.id
    except ScenarioError:
        raise SkipError(f"no model {row['arch_key']} in the catalogue") from None


def accelerator_of(row: Row) -> str | None:
    """Return the catalogue's id of a row's accelerator, None where the row names none."""
    name = re.sub(r"^\d+x ", "", row["gpu"])
    name = ACCELERATORS.get(name, name)
    if not name or name.startswith(("NVIDIA CUDA", "NVIDIA GPU")):
        return None
    try:
        return catalog().accelerator(name).id
    except ScenarioError:
        raise SkipError(f"no accelerator {name} in the catalogue") from None


def weights_of(row: Row) -> str:
    """Return the contract's name of a row's number format."""
    name = row["quant"].lower().removeprefix("unsloth-dynamic-")
    if name.startswith("ud-"):
        if catalog().lookup("mixtures", name) and catalog().model(model_of(row)).released >= DYNAMIC_SINCE:
            return catalog().mixture(name).id
        name = name.removeprefix("ud-")
    name = DYNAMIC.get(name, name)
    if name == PUBLISHED:
        return name
    for start in ("awq", "w4a16 awq"):
        if name.startswith(start):
            return "awq"
    if name.startswith("mlx"):
        name = "mlx-8bit" if "8bit" in name else "mlx-4bit" if "4-bit" in name or "4bit" in name else name
    if name.startswith("gptq-int4"):
        return "gptq-int4"
    if name in FORMATS:
        return FORMATS[name]
    try:
        return catalog().weights_format(name).id
    except ScenarioError:
        raise SkipError(f"no number format {row['quant']}") from None


def version_then(row: Row, engine: str) -> str:
    """Return the first version of the era that an engine was in when a row was measured, empty where it says no day.

    Of a program that carries the engine it is what that program carried.
    """
    found = MEASURED_ON.search(row["notes"])
    return catalog().engine(engine).current_on(found.group(1), packaged=PACKAGED in row["engine"]) if found else ""


def version_with(model: str, engine: str, version: str) -> str:
    """Return a version of an engine, or the first later one that knows a model: what was measured ran.

    Days say no more than an era, and builds for a new model have the number of the release before it.
    """
    family = catalog().model(model).config["model_type"]
    refused = [fact for fact in catalog().support(engine) if fact.about == FAMILY and fact.runs == NO]
    anywhere = [fact for fact in refused if not fact.where and not fact.kinds and not fact.families]
    unknown = [fact.before for fact in anywhere if fact.before and family in fact.names and fact.holds_in(version)]
    return max(unknown, key=version_numbers, default=version)


def number(row: Row, field: str) -> int:
    """Return a field as a whole number, 0 where it is empty or a text."""
    found = re.search(r"\d+", row.get(field) or "")
    return int(found.group()) if found else 0
