"""What is remembered between answers stands where a page's reads can be told apart from those of the page before it.

`macros.reads` forgets what functions of modules remember (`cache_clear`), and the catalogue's own. What is kept in any
other place would hide what later pages read of the catalogue, and they would be taken as they were.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path

import pytest

from calc.catalog import catalog

ROOT = Path(__file__).parents[2]
MEMORIES = {"lru_cache", "cache"}
WRITING = {"append", "add", "update", "setdefault", "extend", "insert", "appendleft", "__setitem__"}
# What functions write into a module of `calc`: what is registered while it is imported; scores, frozen while serving;
# the work that processes inherit.
WRITTEN_BY_CALC = {
    "calc/architecture/families/multimodal.py": {"WITH_TOWERS"},
    "calc/architecture/families/registry.py": {"FAMILIES"},
    "calc/validation/processors.py": {"_inherited"},
    "calc/validation/recorded.py": {"_frozen"},
}
# … and of `macros`: which build, page and process it is, and what of this page is placed, noted or set aside.
WRITTEN_BY_MACROS = {
    "macros/beside.py": {"_helps", "_second"},
    "macros/drawing.py": {"_copied"},
    "macros/hooks.py": {"_order", "_page", "_serving"},
    "macros/inline.py": {"_opened"},
    "macros/kept.py": {"_began", "_code", "_first", "_names", "_owed", "_seconds", "_state", "_whole"},
    "macros/links.py": {"_page_url"},
    "macros/markdown.py": {"_held", "_made"},
    "macros/pages.py": {"_placed"},
    "macros/plain.py": {"_nav", "_pages"},
    "macros/plots.py": {"_compiled"},
    "macros/reads.py": {"_read", "_tables"},
    "macros/security.py": {"_serving"},
    "macros/serving.py": {"_serving"},
    "macros/terms.py": {"_page"},
}
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def named(node: ast.AST) -> str:
    """Return the last word of a name, of what is called, or of an attribute; empty of anything else."""
    if isinstance(node, ast.Call):
        return named(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def base(node: ast.AST) -> str:
    """Return the name that what is written into begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def hidden_memories(tree: ast.Module) -> list[str]:
    """Return the functions that remember by `functools` and are none of the module itself."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    remembering = [one for one in functions if any(named(decorator) in MEMORIES for decorator in one.decorator_list)]
    return [function.name for function in remembering if function not in tree.body]


def of_module(tree: ast.Module) -> set[str]:
    """Return the names that a module binds, and the constants that it takes from others."""
    statements = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    bound = {name.id for node in statements for name in ast.walk(node) if stored(name) and isinstance(name, ast.Name)}
    taken = [
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    return bound | {name for name in taken if name.isupper() or name.startswith("_")}


def stored(node: ast.AST) -> bool:
    """Return whether something is written into by its place in a statement."""
    return isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)


def local(function: Function) -> set[str]:
    """Return the names that a function binds itself."""
    bound = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    return bound | {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and stored(node)}


def written(tree: ast.Module) -> set[str]:
    """Return the names of a module that its functions write into, or set."""
    found = set()
    for function in [node for node in ast.walk(tree) if isinstance(node, Function)]:
        own = local(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                found.update(node.names)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITING:
                found |= {base(node.func.value)} - own
            elif isinstance(node, ast.Subscript | ast.Attribute) and stored(node):
                found |= {base(node)} - own
    return found & of_module(tree)


@cache
def trees() -> dict[str, ast.Module]:
    """Return the modules whose functions answer, or render answers, by their paths."""
    paths = [path for part in ("calc", "macros") for path in (ROOT / part).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def test_only_functions_of_modules_remember() -> None:
    """So that `reads.memories` finds each of them."""
    assert {path: found for path, tree in trees().items() if (found := hidden_memories(tree))} == {}


def test_no_function_keeps_answers_in_its_module() -> None:
    """A dictionary, list or set of a module is read by functions, and written where it is made."""
    found = {path: names for path, tree in trees().items() if (names := written(tree))}
    assert found == WRITTEN_BY_CALC | WRITTEN_BY_MACROS


def test_nothing_that_a_module_holds_remembers() -> None:
    """No object that lives as long as its module has properties that are computed once."""
    for path in trees():
        name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if not name.endswith("__main__"):  # which is a program
            assert not remembering(vars(import_module(name)).values()), name


def remembering(values: Iterable[object]) -> list[object]:
    """Return the objects among some values, and in what holds several, that keep a property once it is computed."""
    return [
        value
        for value in held(values)
        if any(isinstance(one, cached_property) for kind in type(value).__mro__ for one in vars(kind).values())
    ]


def test_a_memory_of_an_object_is_seen() -> None:
    """The catalogue is one: what it made of entries is forgotten before each page."""
    assert remembering([{"facts": [catalog()]}]) == [catalog()]
    assert not remembering([1, "text", catalog().accelerator("rtx-4090")])


def held(values: Iterable[object], depth: int = 3) -> Iterator[object]:
    """Iterate over the objects of our own classes among some values, and in what holds several."""
    for value in values:
        if isinstance(value, dict | list | tuple | set | frozenset) and depth:
            yield from held(value.values() if isinstance(value, dict) else value, depth - 1)
        elif type(value).__module__.startswith(("calc.", "macros.")):
            yield value


@pytest.mark.parametrize(
    "text",
    [
        "KEPT = {}\ndef f(x):\n    KEPT[x] = 1",
        "KEPT: dict = {}\ndef f(x):\n    return KEPT.setdefault(x, 1)",
        "KEPT = 0\ndef f(x):\n    global KEPT\n    KEPT = x",
        "from a import _kept\ndef f(x):\n    _kept.append(x)",
        "KEPT = []\nf = lambda x: KEPT.append(x)",
    ],
)
def test_a_memory_of_a_module_is_seen(text: str) -> None:
    """Each way to keep something in a module."""
    assert written(ast.parse(text)) in ({"KEPT"}, {"_kept"})


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    @lru_cache\n    def f(self): ...",
        "def f():\n    @cache\n    def g(): ...",
        "class A:\n    @functools.lru_cache(maxsize=1)\n    def f(self): ...",
    ],
)
def test_a_memory_within_is_seen(text: str) -> None:
    """A function within a class or a function is none of the module's."""
    assert hidden_memories(ast.parse(text))
