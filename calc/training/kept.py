"""What one layer keeps of a token for its backward pass, by what it is, from a report on a training run."""

from typing import Any

LABEL = "A layer keeps: "  # steps of a report on the tensors of one layer


def kept_of_token(report: dict[str, Any]) -> dict[str, float]:
    """Return the bytes that one layer keeps of a token, by what they are."""
    scenario = report["scenario"]
    tokens = scenario["micro_batch"] * scenario["sequence_tokens"]
    part = next(part for part in report["memory"]["parts"] if part["id"] == "activations")
    return {step["name"].removeprefix(LABEL): step["value"] / tokens for step in part["steps"] if LABEL in step["name"]}


def kept_together(kept: dict[str, float]) -> float:
    """Return the bytes of all that a layer keeps of a token.

    >>> kept_together({"inputs": 8192.0, "outputs": 4096.0})
    12288.0
    """
    return sum(kept.values())
