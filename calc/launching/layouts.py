"""The layout of a server's devices, as the flags of engines have it: degrees, and what ranks of experts do."""

from collections.abc import Iterator, Mapping
from typing import Any

from calc.catalog.launchers import Launcher
from calc.performance import expert_ranks
from calc.scenario.fields import SHARING_ENGINES

APART = "attention_apart"  # the choice that ranks attend to sequences of their own
EXCHANGES = {"vllm": "deepep_low_latency", "sglang": "deepep"}  # of tokens with their experts, where it has to be said
DIVIDES = "sglang"  # the engine that divides sequences and the tokens of a piece among ranks that attend apart


def attends_apart(layout: Mapping[str, int]) -> bool:
    """Return whether data ranks attend to sequences of their own and divide the experts among all."""
    return layout["data"] > 1 and layout["expert"] > layout["tensor"]


def of_experts(filled: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Iterate over what ranks of experts do: whether tokens are sent to them, and whether they are balanced."""
    layout = filled["parallelism"]
    if layout["expert"] > expert_ranks.MANY and attends_apart(layout):
        yield "exchange", EXCHANGES.get(filled["engine"], True)
    if balances(filled):
        yield "balanced", True


def balances(filled: Mapping[str, Any]) -> bool:
    """Return whether experts are placed by what they have to do: as was said, or on a large scale."""
    ranks, said = filled["parallelism"]["expert"], filled.get("balance_experts")
    return filled["engine"] in SHARING_ENGINES and expert_ranks.balances(ranks, said)


def degrees(layout: Mapping[str, int], launcher: Launcher) -> Iterator[tuple[str, object]]:
    """Iterate over the degrees of a layout above one. Some engines count ranks that attend apart as tensor ranks."""
    flags = {flag.of for flag in launcher.flags}
    together = attends_apart(layout) and APART in (*flags, *launcher.otherwise)
    counted = {**layout, "tensor": layout["tensor"] * (layout["data"] if together else 1)}
    for name in ("tensor", "pipeline", "data", "context", "expert"):
        if counted[name] > 1 and not (together and name == "data" and name not in flags):
            yield name, counted[name]
    if together:
        yield APART, True


def over_ranks(number: int, filled: Mapping[str, Any]) -> int:
    """Return what an engine is told where each rank is to have a number of sequences, or of tokens of a piece."""
    layout = filled["parallelism"]
    return number * layout["data"] if filled["engine"] == DIVIDES and attends_apart(layout) else number
