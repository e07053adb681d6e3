"""Writing an entry of the catalogue as TOML, in the order and style of those that stand there."""

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from calc.catalog.checking.loader import read_tables
from calc.errors import CatalogError

WIDTH = 120  # of a line
BARE = re.compile(r"[A-Za-z0-9_-]+")


def key_text(key: str) -> str:
    """Return a key as TOML writes it.

    >>> key_text("qwen3.5-2b"), key_text("hidden_size")
    ('"qwen3.5-2b"', 'hidden_size')
    """
    return key if BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def value_text(value: object) -> str:
    """Return a value as TOML writes it on one line; raises TypeError for what TOML has no word for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key_text(key)} = {value_text(item)}" for key, item in value.items() if item is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(value_text(item) for item in value)}]"
    raise TypeError(f"TOML has no word for {value!r:.60}")


def line_text(key: str, value: object) -> str:
    """Return a key with its value, a long list with an item on each line."""
    line = f"{key_text(key)} = {value_text(value)}"
    if len(line) <= WIDTH or not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return line + "\n"
    return f"{key_text(key)} = [\n" + "".join(f"    {value_text(item)},\n" for item in value) + "]\n"


def table_text(path: Sequence[str], values: Mapping[str, object]) -> str:
    """Return a table and the tables in it; what has no value is left out."""
    shown = ".".join(json.dumps(path[0], ensure_ascii=False) if not i else key_text(key) for i, key in enumerate(path))
    plain = {key: value for key, value in values.items() if value is not None and not isinstance(value, Mapping)}
    text = f"[{shown}]\n" + "".join(line_text(key, value) for key, value in plain.items())
    for key, value in values.items():
        if isinstance(value, Mapping):
            text += "\n" + table_text([*path, key], value)
    return text


def append(target: Path, text: str, folder: Path) -> None:
    """Add a table to a file of the catalogue in `folder`; a file that does not load is left as it was.

    Raises CatalogError with what is wrong.
    """
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    target.write_text(f"{before.rstrip()}\n\n{text}".lstrip(), encoding="utf-8")
    try:
        read_tables(folder)
    except CatalogError:
        if before:
            target.write_text(before, encoding="utf-8")
        else:
            target.unlink()
        raise
