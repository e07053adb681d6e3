"""Runs inside the browser runtime's own Python, under node: finds what it imports, and compiles that to bytecode.

The runtime's standard library comes as source, which a browser would compile at every visit. Bytecode must match the
runtime's Python, so that Python makes it, and the same bytes come out on any host. `runtime.mjs` mounts `/work` (the
job), and calls `compile_archives` or `used_members`.
"""

import ast
import json
import marshal
import sys
from importlib.util import MAGIC_NUMBER
from inspect import CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from types import CodeType
from typing import Any

LIBRARY = f"/lib/python{sys.version_info[0]}{sys.version_info[1]}.zip"
WORK = Path("/work")
UNCHECKED, HASH = 0b01, bytes(8)  # bytecode with a hash of its source, which is not looked at: zeros, which pack well
# Modules that Pyodide's start imports for what no page does: it installs no packages, opens no sockets and starts no
# processes, has no threads to wait for, and colours no terminal. Each is replaced by what the start and asyncio's front
# take of it, and what only the others imported is left out with them: two fifths of all that a start would read.
STAND_INS = {
    "asyncio/__init__": b"""
from asyncio.coroutines import *
from asyncio.events import *
from asyncio.events import _BaseDefaultEventLoopPolicy as DefaultEventLoopPolicy
from asyncio.events import _set_event_loop_policy as set_event_loop_policy
from asyncio.exceptions import *
from asyncio.futures import *
from asyncio.runners import *
from asyncio.tasks import *
""",
    "concurrent/futures/__init__": b"""
FIRST_COMPLETED, FIRST_EXCEPTION, ALL_COMPLETED = "FIRST_COMPLETED", "FIRST_EXCEPTION", "ALL_COMPLETED"
class Future: pass
class CancelledError(Exception): pass
class InvalidStateError(Exception): pass
""",
    "logging/__init__": b"DEBUG = 10",
    "socket": b"AF_UNSPEC, AI_PASSIVE = 0, 1",
    "subprocess": b"PIPE = -1",
    "pyodide/_package_loader": b"""
from pathlib import Path
from pyodide_js import loadedPackages  # a memory that is kept has it
from site import getsitepackages
SITE_PACKAGES, DSO_DIR = Path(getsitepackages()[0]), Path("/usr/lib")
def init_loaded_packages(): pass
""",
    "_colorize": b"""
class Plain:
    def __getattr__(self, name): return ""
class Theme:
    traceback = Plain()
def can_colorize(*, file=None): return False
def get_theme(**choices): return Theme
""",
}


def exercise(job: dict[str, Any]) -> None:
    """Do what a page does: import all of `calc`, answer a preset and wrong inputs, word an error without source."""
    import traceback

    for name in job["modules"]:
        __import__(name)
    from calc.calculators import CALCULATORS, answer

    for name, calculator in CALCULATORS.items():
        wrong = [{field.name: "nonsense"} for field in calculator.inputs]
        for fields in [calculator.presets[0].values, *wrong]:
            reply = json.loads(answer(json.dumps({"calculator": name, "fields": fields})))
            if not reply["ok"] and fields not in wrong:
                raise RuntimeError(f"{name} does not answer its preset {fields}: {reply}")
    for statement in (
        "undefined",
        "import undefined",
        "().undefined",
        "{}['undefined']",
        "raise ExceptionGroup('', [OSError()])",
    ):
        try:
            exec(compile(statement, "/lib/calc.zip/calc/no_source.py", "exec"), {})
        except Exception as error:
            traceback.format_exception(error)


def used_members(job: dict[str, Any]) -> list[str]:
    """Return the files of the standard library, without suffix, that booting and `exercise` import."""
    exercise(job)
    used = set()
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        path = getattr(module, "__file__", None) or ""
        if path.startswith(LIBRARY + "/") and getattr(spec, "origin", "") != "frozen":  # frozen: already in the wasm
            used.add(path.removeprefix(LIBRARY + "/").rpartition(".")[0])
    return sorted(used)


def compile_archives(job: dict[str, Any]) -> list[str]:
    """Compile `calc` and the used part of the standard library in WORK; return that part's files, without suffix."""
    used = used_members(job)
    import zipfile  # after what is used is known: a page has no use for it

    with zipfile.ZipFile(LIBRARY) as library:
        sources = {name: library.read(f"{name}.py") for name in used} | STAND_INS
        parts = [compiled(f"{name}.py", source) for name, source in sources.items()]
        write_zip(WORK / "stdlib.zip", parts)
    with zipfile.ZipFile(WORK / job["wheel"]) as wheel:
        sources = {name: wheel.read(name) for name in wheel.namelist() if name.endswith(".py")}
    write_zip(WORK / "compiled.zip", [compiled(name, source) for name, source in sources.items()])
    return used


TYPES = ("typing", "collections", "calc")  # packages whose names a module may import for its annotations alone


class Unannotated(ast.NodeTransformer):
    """Takes annotations away: each is code of its own, which nobody runs in a page. Of records the names alone stay."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        """Return a name of a record, of whatever type."""
        self.generic_visit(node)
        node.annotation = ast.copy_location(ast.Constant(None), node.annotation)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Return the function without them, and what is in it."""
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Return the module without those of its own names, and without imports that only annotations used."""
        self.generic_visit(node)
        node.body = [
            ast.copy_location(ast.Assign(targets=[part.target], value=part.value), part)
            if isinstance(part, ast.AnnAssign) and part.value
            else part
            for part in node.body
        ]
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        used |= {str(part.value) for part in ast.walk(node) if isinstance(part, ast.Constant)}  # what it hands on
        typed = [part for part in node.body if isinstance(part, ast.ImportFrom)]
        for part in [part for part in typed if str(part.module).partition(".")[0] in TYPES]:
            part.names = [name for name in part.names if (name.asname or name.name) in used]
            if not part.names:
                node.body.remove(part)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Return an argument without its annotation."""
        node.annotation = None
        return node


def compiled(name: str, source: bytes) -> tuple[str, bytes]:
    """Return a module's bytecode with the name of its file, as PEP 552 has it; its source is not looked for."""
    tree = Unannotated().visit(ast.parse(source, name))
    code = pared(compile(tree, name, "exec", dont_inherit=True))
    return f"{name}c", MAGIC_NUMBER + UNCHECKED.to_bytes(4, "little") + HASH + marshal.dumps(code)


def pared(code: CodeType) -> CodeType:
    """Return code that knows the lines where functions begin and no other, as CPython's code_objects.md writes them.

    The others are a sixth of the bytes, and names with those of what is around them a hundredth. What goes wrong in a
    page goes wrong outside of it, too, where they are known. What a function works with is found by its place: its
    arguments alone are called by their names, and those of all else are a thirtieth of what is left.
    """
    inner = tuple(pared(part) if isinstance(part, CodeType) else part for part in code.co_consts)
    units = len(code.co_code) // 2  # of which an entry of the table covers up to eight
    first_line = b"".join(bytes([0x80 | 13 << 3 | min(8, units - at) - 1, 0]) for at in range(0, units, 8))
    taken = code.co_argcount + code.co_kwonlyargcount
    taken += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    names = code.co_varnames[:taken] + ("_",) * (code.co_nlocals - taken)
    return code.replace(co_consts=inner, co_linetable=first_line, co_qualname=code.co_name, co_varnames=names)


def write_zip(path: Path, members: list[tuple[str, bytes]]) -> None:
    """Write a stored zip whose bytes depend on the members only."""
    import zipfile

    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
