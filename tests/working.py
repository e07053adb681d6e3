"""Following the working of an answer with a pencil: the numbers put into a formula, evaluated."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

POWER = re.compile(r"([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")  # "1,024" is a number, "max(3, 4)" is two
SIGNS = {"^": "**", "×": "*", "·": "*", "−": "-", "÷": "/"}
CEILING = re.compile(r"⌈([^⌈⌉⌊⌋]*)⌉")
FLOOR = re.compile(r"⌊([^⌈⌉⌊⌋]*)⌋")
FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "max": max,
    "min": min,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
}
OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def evaluated(substituted: str) -> float:
    """Return what a reader with a pencil gets. Raises ValueError for what is no arithmetic.

    >>> evaluated("⌈1,000 × 4.5 / 8⌉ + max(3, 2,048)")
    2611
    """
    text = THOUSANDS.sub("", substituted)
    for sign, plain in SIGNS.items():
        text = text.replace(sign, plain)
    text = POWER.sub(lambda found: "**(" + found[1].translate(DIGITS) + ")", text)
    while (step := FLOOR.sub(r"floor(\1)", CEILING.sub(r"ceil(\1)", text))) != text:
        text = step
    try:
        return number(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, KeyError) as error:
        raise ValueError(f"{substituted!r} is no arithmetic") from error


def number(node: ast.AST) -> float:
    """Return the value of one part of an expression."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -number(inner)
        case ast.BinOp(left=left, op=sign, right=right):
            return OPERATIONS[type(sign)](number(left), number(right))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name](*(number(argument) for argument in arguments))
    raise ValueError(f"{ast.unparse(node)} is no arithmetic")


def every_step(report: Any) -> list[dict[str, Any]]:
    """Return each step of working in a report, wherever it stands."""
    if isinstance(report, list):
        return [step for part in report for step in every_step(part)]
    if not isinstance(report, dict):
        return []
    return [report] if "substituted" in report else [step for part in report.values() for step in every_step(part)]
