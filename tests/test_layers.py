"""The house of `calc` has floors: a module imports what stands below it, and nothing above."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from calc.networks import FAMILIES

ROOT = Path(__file__).parent.parent
CALC = ROOT / "calc"
FLOORS = (
    ("errors", "units", "derivation"),
    ("catalog",),
    ("architecture",),
    ("networks",),
    ("memory",),
    ("performance",),
    ("planning",),
    ("scenario",),
    ("service",),
    ("training",),
    ("question",),
    ("question_warnings",),
    ("found",),
    ("estimate",),
    ("planner",),
    ("launching",),
    ("files", "lines"),
    ("measured_run",),
    ("measured_output",),
    ("calculators",),
    ("plots",),
    ("__init__",),
    ("validation", "maintenance", "command"),
    ("__main__",),
)
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}


def imports(path: Path) -> set[str]:
    """Return the parts of `calc` that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return {[*name.split("."), "__init__"][1] for name in found if name.split(".")[0] == "calc"}


def test_imports_point_down() -> None:
    """Facts know nothing of formulas, formulas nothing of scenarios, and none of them of pages."""
    for path in CALC.rglob("*.py"):
        part = path.relative_to(CALC).parts[0].removesuffix(".py")
        for name in imports(path) - {part}:
            assert FLOOR_OF[name] < FLOOR_OF[part], f"{path.relative_to(CALC)} imports calc.{name}"


def test_every_part_has_a_floor() -> None:
    """A new module says where it stands."""
    parts = {path.relative_to(CALC).parts[0].removesuffix(".py") for path in CALC.rglob("*.py")}
    assert parts == set(FLOOR_OF)


def test_the_layout_in_the_readme_is_the_house() -> None:
    """Each folder is explained there, what is imported above what imports it."""
    layout = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n    calc/ ")[2].partition("\n    macros/")[0]
    named = re.findall(r"^ {6}(\w+)(?:/|\.py)", layout, re.MULTILINE)
    folders = {path.parent.name for path in CALC.glob("*/__init__.py")}
    assert set(named) - {"estimate"} == folders
    assert named == sorted(named, key=lambda name: FLOOR_OF[name])


def test_only_families_and_files_know_families() -> None:
    """What a family does differently is a field of its layers: rooms above architecture name no family."""
    for room in ("memory", "performance", "planning", "training"):
        for path in (CALC / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Compare | ast.Tuple | ast.List | ast.Set):
                    texts = {part.value for part in ast.iter_child_nodes(node) if isinstance(part, ast.Constant)}
                    assert not texts & set(FAMILIES), f"{path}:{node.lineno}"


VARIADIC = ("address", "family", "specification")  # any number of the same


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Iterate over the calls in `calc` and in macros, each with where it stands."""
    for path in [*CALC.rglob("*.py"), *(ROOT / "macros").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield f"{path}:{node.lineno}", node


def test_many_arguments_have_names() -> None:
    """A call with more than four arguments says what they are."""
    for place, call in calls():
        if not any(isinstance(arg, ast.Starred) for arg in call.args):
            assert len(call.args) <= 4 or ast.unparse(call.func) in VARIADIC, f"{place}: name the arguments"


def test_no_number_is_read_out_of_its_own_text() -> None:
    """What holds a number has a type that says so: `float(str(value))` would take anything for one."""
    for place, call in calls():
        if ast.unparse(call.func) in ("int", "float") and call.args:
            assert not ast.unparse(call.args[0]).startswith("str("), place


def modules_of(path: Path, known: frozenset[str]) -> set[str]:
    """Return the modules of `calc` that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(inner & known or {node.module} & known)
    return found


def test_no_modules_import_in_a_circle() -> None:
    """Taking away what imports nothing that is left leaves nothing: inside a room imports point down too.

    A package's own file only lists what is in it.
    """
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in CALC.rglob("*.py")}
    left = {name: modules_of(path, frozenset(paths)) for name, path in paths.items()}
    while free := [name for name, needs in left.items() if needs.isdisjoint(left)]:
        for name in free:
            del left[name]
    assert not left
