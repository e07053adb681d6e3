"""Products that AMD's library was tuned on: rows of the tables in AITER, as operations and their seconds.

The tables are `aiter/configs/**/*_tuned_gemm*.csv` of https://github.com/ROCm/aiter (MIT): for a shape, the fastest of
its kernels and how long that took, in microseconds, of operands that come from memory (its tuner rotates them). They
are read from the folder `aiter` beside the other tables.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from calc.validation.kernel_tables import LEAST_WIDTH, product
from calc.validation.measured_kernels import Measured

FOLDER, LIBRARY = "aiter", "aiter"
DEVICES = {("gfx942", "304"): "mi300x", ("gfx950", "256"): "mi355x"}  # by the instruction set and compute units
# What a table's name says of its operands; integers and FP8 with a scale for each row share tables.
FORMATS = {"a4w4": "w4a4_mxfp4", "a8w8_blockscale": "fp8_block", "a8w8": "fp8", "bf16": "bfloat16"}
INTEGERS = "torch.int8"


def products(folder: Path) -> Iterator[Measured]:
    """Iterate over matrix products of whole powers of two of rows, as the other tables have them."""
    for path in sorted((folder / FOLDER).rglob("*_tuned_gemm*.csv")):
        dtype = next((dtype for name, dtype in FORMATS.items() if name in path.name), None)
        if dtype is None or "batched" in path.name:
            continue
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                device = DEVICES.get((row.get("gfx") or "", row["cu_num"]))
                if device is None or row.get("q_dtype_w") == INTEGERS:
                    continue
                m, n, k, seconds = int(row["M"]), int(row["N"]), int(row["K"]), float(row["us"]) / 1e6
                if m & (m - 1) or min(n, k) < LEAST_WIDTH or seconds <= 0.0:
                    continue
                done = product((m, n, k), dtype)
                name = row.get("libtype") or path.stem
                yield Measured("product", device, LIBRARY, name, shape=(n, k), operations=(done,), seconds=seconds)
