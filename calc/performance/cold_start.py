"""Seconds from the start of an engine until it answers: processes, weights, compilation, graphs, warming up.

The steps are those that vLLM's start was taken apart into (arXiv:2606.07362), which found each of them to be linear:
reading in bytes, compilation in layers, captured graphs in layers and graphs. The coefficients of an engine are its
entry's, from the logs of starts.
"""

from collections.abc import Mapping
from typing import NamedTuple

from calc.catalog.records import Engine
from calc.derivation import Step
from calc.units import show_count, show_number

DISK, NETWORK, PAGE_CACHE = "disk", "network", "page-cache"
PLACES = (PAGE_CACHE, DISK, NETWORK)
SOURCE = "vllm-cold-start"


class Start(NamedTuple):
    """From where an engine starts."""

    place: str  # of the weights: kept in memory by the system, on a disk, or to be fetched
    bytes_per_s: float | None  # from there; None: as measured
    compiled: bool  # what was compiled at an earlier start is still there


class Beginning(NamedTuple):
    """A step of a start."""

    id: str
    label: str
    seconds: float
    formula: str
    numbers: str


def beginnings(
    values: Mapping[str, float], start: Start, *, weights_bytes: int, layers: int, graphs: int
) -> list[Beginning]:
    """Return the steps of a start; of an engine without measured starts, reading alone.

    `layers` are those of the largest pipeline stage, each of which is compiled and captured by its own process.
    """
    found = []
    size = show_count(weights_bytes)

    def read(name: str, label: str, rate: float) -> None:
        numbers = f"{size} / {show_number(rate, 4)}"
        found.append(Beginning(name, label, weights_bytes / rate, r"\frac{M}{v}", numbers=numbers))

    if "cold_start_s" not in values:
        assert start.bytes_per_s is not None
        read("reading", "Reading the weights", start.bytes_per_s)
        return found
    most = values["cold_cache_rate"]
    if start.place == NETWORK:
        read("fetching", "Fetching the weights", start.bytes_per_s or values["cold_network_rate"])
    rate = most
    if start.place == DISK:
        rate = min(start.bytes_per_s or values["cold_disk_rate"], most)
    read("reading", "Reading the weights, and copying them to the device", rate)

    def counted(name: str, label: str, coefficient: str, formula: str, counts: tuple[int, ...] = ()) -> None:
        each, seconds = values[coefficient], values[coefficient]
        for count in counts:
            seconds *= count
        numbers = " × ".join([*(show_count(count) for count in counts), f"{each:g}"])
        found.append(Beginning(name, label, seconds, formula, numbers=numbers))

    counted("processes", "Imports and processes", "cold_start_s", "t")
    counted("tracing", "Tracing the model", "cold_trace_s", r"L \cdot t", counts=(layers,))
    name = "cold_cached_s" if start.compiled else "cold_compile_s"
    counted(
        "compiling",
        "Loading what was compiled" if start.compiled else "Compiling",
        name,
        r"L \cdot t",
        counts=(layers,),
    )
    counted("capturing", "Capturing graphs", "cold_capture_s", r"L \cdot n \cdot t", counts=(layers, graphs))
    counted("warming", "Profiling and warming up", "cold_warm_s", "t")
    return found


def start_steps(found: list[Beginning], engine: Engine) -> list[Step]:
    """Return the working of a start."""
    known = "cold_start_s" in engine.values
    steps = [
        Step(f"Start: {part.label.lower()}", part.formula, part.numbers, part.seconds, unit="s", source=SOURCE)
        for part in found
    ]
    total = sum(part.seconds for part in found)
    numbers = " + ".join(show_number(part.seconds, 4) for part in found)
    name = "Seconds until it is ready" if known else "Seconds until the weights are read"
    return [*steps, Step(name, r"\sum t", numbers, total, unit="s", source=SOURCE)]
