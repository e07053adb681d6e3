"""The browser runtime as built, run in node: what a browser gets, without a browser."""

import ast
import json
import marshal
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

import macros.runtime
from calc.calculators import CALCULATORS, answer
from macros.runtime import ASKED, ASKED_PACKAGES, RuntimeBuildError, build
from macros.runtime.inside import compiled

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in macros.runtime._shipped_files(ROOT)
)
REQUESTS = [
    json.dumps({"calculator": name, "fields": preset.values})
    for name, calculator in CALCULATORS.items()
    for preset in calculator.presets
]

READ = 'import fs from "node:fs"; fs.writeFileSync(process.argv[2], JSON.stringify(await import(process.argv[1])))'
# What the page's worker does, without a page: unpack the archives, boot, put calc on the path, answer; then all that
# can be asked is imported.
OF_ALL = {"what-runs", "what-budget"}  # calculators that look at every model, and so at those that write nothing
FIRST = [json.dumps({"calculator": name, "fields": {}}) for name in CALCULATORS if name not in OF_ALL]
SUMS = b"""
def sums(first, *rest, by, **more):
    total, found = by, []
    for number in (first, *rest):
        total += number
        found.append(total)
    return found + [total + one for one in more.values()]
"""
WORKER = ROOT / "docs/assets/calculator/worker.mjs"
BOOT = """
import fs from "node:fs";
import zlib from "node:zlib";
const [runtime, stdlib, job, worker, result] = process.argv.slice(1);
const { archives, late, lock } = await import(runtime + "/manifest.mjs");
const { loadPyodide } = await import(runtime + "/pyodide.mjs");
const unpack = (archive) => zlib.brotliDecompressSync(fs.readFileSync(`${runtime}/${archive.brotli.name}`));
fs.writeFileSync(stdlib, unpack(archives.stdlib));
const python = await loadPyodide({
  indexURL: runtime, stdLibURL: stdlib, lockFileContents: lock, packageBaseUrl: runtime + "/",
});
python.FS.writeFile("/lib/calc.zip", unpack(archives.calc));
python.FS.writeFile("/lib/asked.zz", fs.readFileSync(`${runtime}/${late["asked.zz"].name}`));
const [, unpacking] = /const UNPACKING = `([^`]*)`/.exec(fs.readFileSync(worker, "utf8"));
python.globals.set("job", fs.readFileSync(job, "utf8"));
fs.writeFileSync(result, python.runPython(`
import json, sys
sys.path.insert(0, "/lib/calc.zip")
job = json.loads(job)
import calc
${unpacking}
calc.__path__.append("/lib/asked.zip/calc")
import traceback
from importlib.util import MAGIC_NUMBER
from calc.calculators import answer
first = [answer(request) for request in job["first"]]
opened = "/lib/asked.zip/calc" in sys.path_importer_cache
answers = [answer(request) for request in job["requests"]]
early = sorted(sys.modules)
imported = {name: __import__(name) and sys.modules[name].__file__ for name in job["modules"]}
try:
    answer("not JSON")
except ValueError as error:
    told = "".join(traceback.format_exception(error))
json.dumps({
    "imported": imported, "magic": MAGIC_NUMBER.hex(), "traceback": told, "early": early, "opened": opened,
    "answers": answers,
    "wrong": answer('{"calculator": "will-it-fitt", "fields": {}}'),
})
`));
process.exit(0);
"""


@pytest.fixture(scope="module")
def runtime() -> Path:
    """The built folder."""
    return build(ROOT)


@pytest.fixture(scope="module")
def manifest(runtime: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the manifest exports."""
    return run_node(READ, tmp_path_factory.mktemp("manifest"), runtime / "manifest.mjs")


@pytest.fixture(scope="module")
def booted(runtime: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Python said after a boot from the built folder."""
    folder = tmp_path_factory.mktemp("boot")
    (folder / "job.json").write_text(json.dumps({"modules": MODULES, "first": FIRST, "requests": REQUESTS}))
    return run_node(BOOT, folder, runtime, folder / "stdlib.zip", folder / "job.json", WORKER)


def run_node(script: str, folder: Path, *arguments: Path) -> dict[str, Any]:
    """Run a module script and return the JSON that it writes to the file of its last argument."""
    node = macros.runtime._node(ROOT)
    assert node is not None
    result = folder / "result.json"
    command = [node, "--input-type=module", "-e", script, *map(str, arguments), str(result)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(result.read_text())


def unpacked(runtime: Path, entry: dict[str, Any], folder: Path) -> dict[str, bytes]:
    """The members of an archive, from its gzip form."""
    archive = folder / "archive.zip"
    archive.write_bytes(zlib.decompress((runtime / entry["gzip"]["name"]).read_bytes(), wbits=31))
    assert archive.stat().st_size == entry["bytes"]
    return macros.runtime._members(archive)


def asked_for(packed: Path, folder: Path) -> dict[str, bytes]:
    """The members of the archive that is fetched when asked for."""
    archive = folder / "asked.zip"
    archive.write_bytes(zlib.decompress(packed.read_bytes()))
    return macros.runtime._members(archive)


def test_imports_every_module_of_calc(booted: dict[str, Any]) -> None:
    """Every module of calc imports from the archives, each from the one that it is in."""
    assert set(booted["imported"]) == set(MODULES)
    for name, path in booted["imported"].items():
        asked = [*name.split("."), ""][1] in ASKED_PACKAGES
        assert path.startswith(f"/lib/{'asked' if asked else 'calc'}.zip/calc/") and path.endswith(".pyc")


def test_no_first_answer_opens_what_is_asked_for(booted: dict[str, Any]) -> None:
    """What forms begin with is answered without the second archive, which is fetched when opened.

    Those that look at all models open it, and examples of models that write nothing. None needs what the standard
    library has for others: to install, to wait on sockets and to write logs.
    """
    assert "calc.planner" in booted["early"] and not booted["opened"]
    spared = {"calc.lines", "calc.files", "zipfile", "shutil", "random", "dataclasses", "selectors"}
    assert not spared & set(booted["early"])


def test_formats_a_traceback(booted: dict[str, Any]) -> None:
    """An error in calc is worded with files, functions and the lines where these begin, though no source is shipped."""
    told = re.findall(r'"(calc/[^"]*)", line (\d+), in (\w+)', booted["traceback"])
    assert told
    for path, line, function in told:
        assert f"def {function}(" in (ROOT / path).read_text().splitlines()[int(line) - 1]
    assert "json.decoder.JSONDecodeError" in booted["traceback"]


def test_answers_as_this_python_does(booted: dict[str, Any]) -> None:
    """Each worked example has the same answer, byte for byte, in the runtime and in this Python."""
    assert [json.loads(reply)["ok"] for reply in booted["answers"]] == [True] * len(REQUESTS)
    assert booted["answers"] == [answer(request) for request in REQUESTS]


def test_ships_names_of_arguments_alone() -> None:
    """Of what a function works with, only what callers name keeps its name; each still finds its own."""
    _, shipped = compiled("sums.py", SUMS)
    found: dict[str, Any] = {}
    exec(marshal.loads(shipped[16:]), found)
    assert found["sums"](1, 2, by=3, most=40) == [4, 6, 46]
    assert found["sums"].__code__.co_varnames[:4] == ("first", "by", "rest", "more")
    assert set(found["sums"].__code__.co_varnames[4:]) == {"_"}


def test_suggests_a_name(booted: dict[str, Any]) -> None:
    """What only a wrong input imports is shipped too."""
    assert "will-it-fit" in json.loads(booted["wrong"])["errors"][0]["message"]


def test_ships_bytecode_of_the_runtime(
    runtime: Path, manifest: dict[str, Any], booted: dict[str, Any], tmp_path: Path
) -> None:
    """The archives hold the runtime's bytecode and the catalogue, and neither source nor TOML."""
    archives = {name: unpacked(runtime, entry, tmp_path) for name, entry in manifest["archives"].items()}
    archives[ASKED] = asked_for(runtime / manifest["late"][ASKED]["name"], tmp_path)
    for name, members in archives.items():
        for member, content in members.items():
            if member != macros.runtime.CATALOG:
                assert member.endswith(".pyc"), f"{member} in {name}"
                assert content[:4].hex() == booted["magic"], f"{member} in {name}"


def test_ships_what_calc_names(runtime: Path, manifest: dict[str, Any], tmp_path: Path) -> None:
    """Each module of the standard library that calc names, in a function too, is built in or shipped."""
    shipped = {
        name.split("/")[0].removesuffix(".pyc") for name in unpacked(runtime, manifest["archives"]["stdlib"], tmp_path)
    }
    for path in macros.runtime._shipped_files(ROOT):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in (name.split(".")[0] for name in names):
                built_in = name in sys.builtin_module_names or name == "math"
                # The catalogue is shipped packed, so nothing in the browser reads TOML.
                spared = name in ("calc", "tomllib", "hashlib", "tempfile")  # what reads TOML is not called there
                assert name in shipped or built_in or spared, f"{path.name} imports {name}"


def test_the_folder_is_what_the_manifest_says(runtime: Path, manifest: dict[str, Any]) -> None:
    """Every file is listed with its size, and there is no other."""
    listed = [*manifest["files"].values(), *manifest["late"].values()]
    listed += [entry[way] for entry in manifest["archives"].values() for way in ("brotli", "gzip")]
    assert {path.name for path in runtime.iterdir()} == {"manifest.mjs", *(entry["name"] for entry in listed)}
    assert all((runtime / entry["name"]).stat().st_size == entry["bytes"] for entry in listed)


def test_pyodide_is_trimmed(manifest: dict[str, Any]) -> None:
    """What only a compiled package would link to is gone: half of the glue, and a tenth of the WebAssembly."""
    for name, at_most in (("pyodide.asm.mjs", 0.55), ("pyodide.asm.wasm", 0.92), ("pyodide.mjs", 1)):
        assert manifest["files"][name]["bytes"] <= at_most * (ROOT / "node_modules/pyodide" / name).stat().st_size


def test_a_pyodide_of_another_make_is_refused(tmp_path: Path) -> None:
    """Where the glue is not written as the trimming knows it, a build says so and ships nothing half trimmed."""
    (tmp_path / "pyodide.asm.mjs").write_text("export default async function createPyodideModule() {}")
    node = macros.runtime._node(ROOT)
    assert node is not None
    with pytest.raises(RuntimeBuildError, match="is not written as macros"):
        macros.runtime._run([node, str(ROOT / "macros/runtime/trimming.mjs"), str(tmp_path), str(tmp_path)], ROOT)


def test_is_small(manifest: dict[str, Any]) -> None:
    """The library stays within 0.29 MB and with `calc` in 1.13: a page is within the benchmark's 4.2 MB.

    What is fetched when asked for comes as it is from many a host, and is within 0.21 MB.
    """
    sizes = {name: entry["brotli"]["bytes"] for name, entry in manifest["archives"].items()}
    assert sizes["stdlib"] < 290_000
    assert sum(sizes.values()) < 1_130_000
    assert manifest["late"][ASKED]["bytes"] < 210_000


def test_does_nothing_when_nothing_changed(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second build runs no program and touches no file."""
    before = {path: path.stat().st_mtime_ns for path in runtime.iterdir()}
    monkeypatch.setattr(macros.runtime, "_run", None)
    assert build(ROOT) == runtime
    assert {path: path.stat().st_mtime_ns for path in runtime.iterdir()} == before


def test_says_what_is_missing(tmp_path: Path) -> None:
    """Without the tools, the message names them and the command that brings them."""
    (tmp_path / "calc").mkdir()
    for name in ("pyproject.toml", "package-lock.json"):
        (tmp_path / name).touch()
    with pytest.raises(RuntimeBuildError, match=r"Pyodide and binaryen not found: run `python3 guide.py build`"):
        build(tmp_path)


@pytest.mark.slow
def test_another_build_has_the_same_bytes(runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build elsewhere gives the same files; then a change of the catalogue compiles nothing and swaps one archive."""
    shutil.copytree(ROOT / "calc", tmp_path / "calc", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "package-lock.json", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    trimmed = tmp_path / ".cache/runtime" / macros.runtime._trimmed(ROOT).name
    trimmed.parent.mkdir(parents=True)
    trimmed.symlink_to(macros.runtime._trimmed(ROOT))  # the same of every `calc`
    monkeypatch.setattr(macros.runtime, "BEST", 5)  # the best takes seconds; an archive's name is of what is packed
    other = build(tmp_path)
    made = {path.name: path.read_bytes() for path in other.iterdir()}
    assert made.keys() == {path.name for path in runtime.iterdir()}
    packed = {name for name in made if name.endswith((".brotli", "manifest.mjs"))}
    assert len(packed) == 3
    assert all(made[name] == (runtime / name).read_bytes() for name in made.keys() - packed)

    monkeypatch.setattr(macros.runtime, "_compile", None)
    build(tmp_path, quick=True)
    assert {path.name: path.read_bytes() for path in other.iterdir()} == made  # what is packed well stays

    source = next((tmp_path / "calc/catalog/data/sources").glob("*.toml"))
    source.write_text(source.read_text().replace('title = "', 'title = "New: ', 1))
    build(tmp_path, quick=True)
    quick = {path.name for path in other.iterdir() if path.name.startswith("calc-")}
    assert len(quick) == 2 and all("-9.zip." in name for name in quick)
    build(tmp_path)
    names = {path.name for path in other.iterdir()}
    assert {name.split("-")[0] for name in names if (runtime / name).exists()} >= {"stdlib"}
    assert not any("-9.zip." in name or (runtime / name).exists() for name in names if name.startswith("calc-"))
