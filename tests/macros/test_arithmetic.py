"""Macros compute nothing: what a reader sees is computed in `calc`, where it has a test. Pages only write it out."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from calc import units
from macros import ROOMS

ROOT = Path(__file__).parents[2]
MODULES = [path for room in ROOMS for path in sorted((ROOT / room.replace(".", "/")).glob("*.py"))]
DRAWINGS = ("doors", "figures")  # how the names of modules end that place marks in a picture
ARITHMETIC = (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
COMPUTING = ("math", "statistics")  # modules of Python's
COUNTING = ("len", "count", "set", "process_time")  # what they give is no quantity that a reader sees


def is_path(node: ast.expr, paths: set[str]) -> bool:
    """Return whether an expression is a file's place: what is divided by it is its folder."""
    if isinstance(node, ast.Name):
        return node.id in paths
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return is_path(node.left, paths)
    return "Path(" in ast.unparse(node)


def paths_in(tree: ast.Module) -> set[str]:
    """Return the names in a module that are files' places: annotated so, or made of such."""
    found = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg) and names_path(node.annotation)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and is_path(node.value, found):
            found |= {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return found


def names_path(annotation: ast.expr | None) -> bool:
    """Return whether an annotation says that an argument is a file's place."""
    return annotation is not None and "Path" in ast.unparse(annotation)


def is_text(node: ast.expr) -> bool:
    """Return whether an expression is a text as it is written, or a list."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple)


def is_scale(node: ast.expr) -> bool:
    """Return whether a number is a power of ten or the size of a unit: it says in which unit one is shown."""
    if isinstance(node, ast.Name):
        return node.id.isupper() and hasattr(units, node.id)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and is_power_of_ten(node.value)


def is_power_of_ten(value: float) -> bool:
    """Return whether a number is 10, 100 and so on."""
    digits = f"{value:.0f}"
    return digits.startswith("1") and value >= 10 and not digits[1:].strip("0")


def is_counted(node: ast.expr) -> bool:
    """Return whether an expression counts things, is a set of them, or a number that is written out."""
    if isinstance(node, ast.Call):
        return (node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)) in COUNTING
    return isinstance(node, ast.Constant | ast.SetComp)


def computes(node: ast.AST, paths: set[str]) -> bool:
    """Return whether a part of a program makes a number of others: by an operation on two, or by adding a list up."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        return any(name in COMPUTING for name in names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sum":
        counted = getattr(node.args[0], "elt", None)
        return not (isinstance(counted, ast.Constant) and counted.value == 1)  # as many as there are
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ARITHMETIC)
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC)):
        return False
    if is_text(node.left) or is_text(node.right):  # repeated or filled in; what a place divides is one
        return False
    if isinstance(node.op, ast.Sub):  # as many fewer, or the place before
        return not (is_counted(node.left) or is_counted(node.right))
    if isinstance(node.op, ast.Div):
        return not (is_path(node.left, paths) or is_scale(node.right))
    return not (isinstance(node.op, ast.Mult) and (is_scale(node.left) or is_scale(node.right)))


def computing(source: str) -> Iterator[str]:
    """Iterate over what a module's text computes."""
    tree = ast.parse(source)
    paths = paths_in(tree)
    for node in ast.walk(tree):
        if computes(node, paths):
            yield f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_macros_compute_nothing(path: Path) -> None:
    """A product, quotient, difference or sum of numbers has a name and a test in the room of `calc` that it belongs to.

    A number may be shown in another unit, in percent or in GB. A sum of two is not told from joined texts.
    """
    if not path.stem.endswith(DRAWINGS):
        assert not list(computing(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "line",
    [
        "1 / seconds",
        "8 * size / count",
        "sum(sizes)",
        "import math",
        "x = 2**bits",
        "rate *= devices",
        "f(GB / each)",
        "whole - share",
        "f(a[0] - b.size)",
    ],
)
def test_arithmetic_is_found(line: str) -> None:
    """Each way to make a number of others is found wherever it stands."""
    assert list(computing(f"def macro():\n    {line}\n"))


@pytest.mark.parametrize(
    "line",
    [
        "100 * share",
        "size / GIB",
        "1e9 * tokens",
        "sum(1 for _ in rows)",
        "'-' * 3",
        "folder / name",
        "'a' + b",
        "n - 1",
        "len(names) - MOST",
        "set(a) - set(b)",
    ],
)
def test_writing_is_none(line: str) -> None:
    """Units, texts, files and places in a list are written, not computed."""
    assert not list(computing(f"def macro(folder: Path):\n    {line}\n"))
