"""What is taken out of Pyodide: the names that only packages of compiled code ask for."""

import re
from pathlib import Path

import pytest

from macros.runtime import exports

PYODIDE = Path(__file__).resolve().parents[2] / "node_modules/pyodide"
SCRIPT = (
    'var _used,_unused;function assignWasmExports(wasmExports){_used=Module["_used"]=wasmExports["used"];'
    '_unused=Module["_unused"]=wasmExports["unused"].value>>>0;}'
    'Module["FS"]=FS;Module["GL"]=GL;_used(3)'
)
HEADER = b"\0asm\1\0\0\0"


def name(text: str) -> bytes:
    """A name as a module of WebAssembly writes it."""
    return exports.number(len(text)) + text.encode()


def section(kind: int, *entries: bytes) -> bytes:
    """A section with those entries."""
    content = exports.number(len(entries)) + b"".join(entries)
    return bytes([kind]) + exports.number(len(content)) + content


def module(imported: bytes) -> bytes:
    """A module with one import, three exports and code that is not looked at."""
    listed = [name(text) + b"\0" + exports.number(300 + i) for i, text in enumerate(("used", "unused", "own"))]
    return HEADER + section(2, imported) + section(7, *listed) + b"\x0a\x03\1\2\3"


def test_what_nothing_names_is_taken_out() -> None:
    """The script keeps the export that it calls and the function that the loader reads; the module exports the same."""
    own = name("GOT.func") + name("own") + b"\3\x7f\1"
    script, code = exports.trimmed(SCRIPT, "Module.FS.mkdir()", module(own))
    assert script == (
        'var _used;function assignWasmExports(wasmExports){_used=Module["_used"]=wasmExports["used"];}'
        'Module["FS"]=FS;_used(3)'
    )
    (at,) = [content for kind, _, content, _ in exports.sections(code) if kind == exports.EXPORTED]
    assert [text for text, _, _ in exports.exports(code, at)] == ["used", "own"]
    assert code.endswith(b"\x0a\x03\1\2\3")


def test_another_import_is_no_reason_to_keep() -> None:
    """What the module imports from elsewhere is not an export of its own."""
    _, code = exports.trimmed(SCRIPT, "", module(name("env") + name("own") + b"\0\5"))
    assert b"own\0\xae" not in code and b"used" in code


def test_what_is_not_known_is_said() -> None:
    """A script that assigns nothing, and a module that imports a memory, are not guessed at."""
    with pytest.raises(ValueError, match="does not assign its exports"):
        exports.trimmed("var a=1;", "", module(name("env") + name("own") + b"\0\5"))
    with pytest.raises(ValueError, match=r"imports env\.memory, which is neither"):
        exports.trimmed(SCRIPT, "", module(name("env") + name("memory") + b"\2\0\1"))


def test_numbers_are_read_as_they_are_written() -> None:
    """Numbers of one to five bytes are the same after a way through LEB128."""
    for value in (0, 1, 127, 128, 300, 2**14, 2**32 - 1):
        assert exports.read_number(exports.number(value), 0) == (value, len(exports.number(value)))


def test_pyodide_names_each_variable_that_is_left() -> None:
    """In Pyodide itself every variable that is declared for an export is assigned, or used where it is assigned."""
    script = (PYODIDE / "pyodide.asm.mjs").read_text()
    code = (PYODIDE / "pyodide.asm.wasm").read_bytes()
    left, packed = exports.trimmed(script, (PYODIDE / "pyodide.mjs").read_text(), code)
    (at,) = [content for kind, _, content, _ in exports.sections(packed) if kind == exports.EXPORTED]
    known = {text for text, _, _ in exports.exports(packed, at)}
    read = set(re.findall(r'wasmExports\["([^"]+)"\]', left)) | set(re.findall(r"wasmExports\.(\w+)", left))
    before = {
        text
        for kind, _, content, _ in exports.sections(code)
        if kind == exports.EXPORTED
        for text, _, _ in exports.exports(code, content)
    }
    assert read & before <= known
    assert len(known) < len(before) / 10 and len(left) < 0.6 * len(script)
