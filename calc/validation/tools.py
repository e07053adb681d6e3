"""What other public tools answered of the cases that they were asked."""

from typing import Any


def answered(tool: dict[str, Any]) -> tuple[int, int]:
    """Return how many cases a tool answered, over all kinds of figures, and how many it was asked.

    >>> weights, cache = {"cases": 10, "silent": {"no": 2, "error": 1}}, {"cases": 5, "silent": {}}
    >>> answered({"kinds": {"weights": weights, "cache": cache}})
    (12, 15)
    """
    kinds = tool["kinds"].values()
    asked = sum(found["cases"] for found in kinds)
    return asked - sum(sum(found["silent"].values()) for found in kinds), asked
