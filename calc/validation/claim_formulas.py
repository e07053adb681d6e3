"""The formulas of claims' checks, evaluated: sums, products, powers and a few functions of named values."""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

FUNCTIONS: dict[str, Callable[..., float]] = {"ceil": math.ceil, "max": max, "min": min, "sqrt": math.sqrt}
OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def evaluate(formula: str, values: dict[str, float]) -> float:
    """Return what a formula comes to; the catalogue has checked that it is one.

    >>> evaluate("ceil(a / b) + 1", {"a": 7, "b": 2})
    5
    """

    def value(node: Any) -> float:
        if isinstance(node, ast.Constant):
            return node.value  # type: ignore[return-value]
        if isinstance(node, ast.Name):
            return values[node.id]
        if isinstance(node, ast.Call):
            return FUNCTIONS[node.func.id](*map(value, node.args))  # type: ignore[attr-defined]
        return OPERATORS[type(node.op)](value(node.left), value(node.right))

    return value(ast.parse(formula, mode="eval").body)
