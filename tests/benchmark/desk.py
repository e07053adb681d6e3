"""Measures `calc` on CPython: importing it, loading the catalogue, answering for every model."""

import statistics
import subprocess
import sys
import time
from typing import Any

from calc import estimate
from calc.catalog import catalog, reload
from calc.catalog.checking.loader import read_tables

IMPORTS = 10
TIMED_IMPORT = "import time; begun = time.perf_counter(); import calc; print(1000 * (time.perf_counter() - begun))"


def milliseconds(action: Any, rounds: int) -> float:
    """Return the median time of an action."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        action()
        times.append(1000 * (time.perf_counter() - begun))
    return statistics.median(times)


def imports() -> float:
    """Return the median time of `import calc` in a fresh interpreter."""
    runs = [
        subprocess.run([sys.executable, "-c", TIMED_IMPORT], capture_output=True, text=True, check=True)
        for _ in range(IMPORTS)
    ]
    return statistics.median(float(run.stdout) for run in runs)


def estimates() -> list[float]:
    """Return the median time of an estimate with a search for what fits, for each model of the catalogue."""
    scenarios = [
        {"model": name, "accelerator": "h100-sxm-80gb", "weights": "bf16", "context_tokens": 8192, "sequences": 8}
        for name in catalog().ids("models")
    ]
    return [milliseconds(lambda asked=asked: estimate(asked), 5) for asked in scenarios]


def measure() -> dict[str, Any]:
    """Return the figures, in milliseconds."""
    return {
        "import_ms": imports(),
        "edited_catalog_ms": milliseconds(read_tables, 5),
        "catalog_ms": milliseconds(reload, 5),
        "estimate_ms": estimates(),
    }


def table(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the table of the figures."""
    times = figures["estimate_ms"]
    rows = [
        ["Importing calc in a fresh interpreter, median", f"{figures['import_ms']:.0f} ms"],
        ["Loading the catalogue, median", f"{figures['catalog_ms']:.0f} ms"],
        ["Reading and checking its TOML, once after an edit, median", f"{figures['edited_catalog_ms']:.0f} ms"],
        ["An estimate with its search for what fits, median over the models", f"{statistics.median(times):.2f} ms"],
        ["The same, slowest model", f"{max(times):.2f} ms"],
    ]
    version = ".".join(str(part) for part in sys.version_info[:3])
    return {"caption": f"calc on CPython {version}", "headings": ["What", "Time"], "rows": rows}
