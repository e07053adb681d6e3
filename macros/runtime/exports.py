"""Takes out of Pyodide the names that only packages of compiled code ask for; the guide loads none.

Its WebAssembly exports thousands of functions to them, and its script names each of these twice and offers its own
functions, too: together a twentieth of all that a page loads. What the script itself calls stays, and so does what the
WebAssembly asks of its own exports when it starts.
"""

import re
from collections.abc import Iterator

# In the script: a variable of an export, a function that is offered, and the list that declares those variables.
ASSIGNED = re.compile(r'([\w$]+)=Module\["\1"\]=wasmExports\["[^"]+"\](?:\.value>>>0)?;')
OFFERED = re.compile(r'Module\["([\w$]+)"\]=\1;')
DECLARED = re.compile(r"\bvar ([\w$,]+);(?=function assignWasmExports\b)")
FIELD = re.compile(r'(?:\.|\[")([\w$]+)')
WORD = re.compile(r"[\w$]+")
HEADER = 8  # bytes before the sections of a module: its magic number and version
IMPORTED, EXPORTED = 2, 7  # sections
OWN = "GOT."  # how modules begin from which it imports the addresses of its own exports
FUNCTION, GLOBAL = 0, 3  # what is imported: an index of a type, or a type and whether it changes


def trimmed(script: str, loader: str, code: bytes) -> tuple[str, bytes]:
    """Return Pyodide's script and WebAssembly without the exports that neither the script nor its loader names.

    Raises ValueError where they are not made as this knows them.
    """
    declared = DECLARED.search(script)
    rest = DECLARED.sub("", OFFERED.sub("", ASSIGNED.sub("", script))) + loader
    used, fields = set(WORD.findall(rest)), set(FIELD.findall(rest))
    if declared is None or not ASSIGNED.search(script):
        raise ValueError("its script does not assign its exports as it did")
    unused = {found[1] for found in ASSIGNED.finditer(script)} - used
    script = ASSIGNED.sub(lambda found: "" if found[1] in unused else found[0], script)
    script = OFFERED.sub(lambda found: found[0] if found[1] in fields else "", script)
    names = [name for name in declared[1].split(",") if name not in unused]
    script = DECLARED.sub(f"var {','.join(names)};", script)
    return script, exporting(code, set(WORD.findall(script + loader)))


def exporting(code: bytes, names: set[str]) -> bytes:
    """Return a module of WebAssembly that exports those names alone, and what it imports of its own."""
    made = bytearray(code[:HEADER])
    for section, start, content, end in sections(code):
        if section == IMPORTED:
            names = names | {name for module, name in imports(code, content) if module.startswith(OWN)}
        if section != EXPORTED:
            made += code[start:end]
            continue
        kept = [code[first:last] for name, first, last in exports(code, content) if name in names]
        packed = number(len(kept)) + b"".join(kept)
        made += bytes([EXPORTED]) + number(len(packed)) + packed
    return bytes(made)


def sections(code: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield each section's kind, where it starts, where its content does, and where it ends."""
    start = HEADER
    while start < len(code):
        size, content = read_number(code, start + 1)
        yield code[start], start, content, content + size
        start = content + size


def exports(code: bytes, at: int) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each export, and where its entry starts and ends: a name, a kind and an index."""
    count, at = read_number(code, at)
    for _ in range(count):
        name, after = read_name(code, at)
        _, end = read_number(code, after + 1)
        yield name, at, end
        at = end


def imports(code: bytes, at: int) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of each import."""
    count, at = read_number(code, at)
    for _ in range(count):
        module, at = read_name(code, at)
        name, at = read_name(code, at)
        yield module, name
        kind, at = code[at], at + 1
        if kind not in (FUNCTION, GLOBAL):
            raise ValueError(f"its WebAssembly imports {module}.{name}, which is neither a function nor a global")
        at = at + 2 if kind == GLOBAL else read_number(code, at)[1]


def read_name(code: bytes, at: int) -> tuple[str, int]:
    """Return the name that stands there, and where it ends."""
    size, at = read_number(code, at)
    return code[at : at + size].decode(), at + size


def read_number(code: bytes, at: int) -> tuple[int, int]:
    """Return the number that stands there in LEB128, seven bits a byte from the least on, and where it ends."""
    value = shift = 0
    while True:
        byte, at = code[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def number(value: int) -> bytes:
    """Return a number in LEB128.

    >>> number(300).hex()
    'ac02'
    """
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])
