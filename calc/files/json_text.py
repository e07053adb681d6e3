"""Reading JSON that anyone may have written: nothing but a value comes back, or a ScenarioError."""

import json
import math
import re
from typing import Any

from calc.errors import ScenarioError

DEEPEST = 16  # no file that is read nests half as deep
# Both pass over a text once, whatever is in it: a quote that is not closed reaches to the end.
QUOTED = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
OTHER = re.compile(r"[^\[\]{}]+")


def read_json(data: bytes | str, field: str, what: str = "is not valid JSON") -> Any:
    """Return the value that a JSON text stands for.

    Raises ScenarioError for `field`, whose message begins with `what`: for what is not UTF-8 or not JSON, with its line
    and column, for what JSON leaves open (a key twice, NaN; Infinity is nothing) and for nesting that no config needs.
    """
    try:
        text = (data.decode() if isinstance(data, bytes) else data).removeprefix("\ufeff")
        if nested(text):
            raise ContentError(f"it nests deeper than {DEEPEST} levels")
        return json.loads(text, object_pairs_hook=unique, parse_constant=constant, parse_float=finite)
    except UnicodeDecodeError as error:
        message = f"byte {error.start:,} is not UTF-8 text"
    except json.JSONDecodeError as error:
        message = f"{error.msg} in line {error.lineno:,}, column {error.colno:,}"
    except ContentError as error:
        message = str(error)
    except ValueError:
        message = "a number in it has too many digits"  # more than Python converts
    raise ScenarioError(field, f"{what}: {message}")


class ContentError(ValueError):
    """What is JSON, and still not to be read."""


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose keys stand in it once."""
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ContentError(f"the key {key!r:.60} stands twice in one object")
            seen.add(key)
    return value


def constant(name: str) -> None:
    """Take Infinity for nothing, as configs of Mamba 2 write a limit that is none; refuse NaN."""
    if name == "NaN":
        raise ContentError(f"{name} is no number there")


def finite(text: str) -> float:
    """Return a number with a fraction or an exponent."""
    value = float(text)
    if not math.isfinite(value):
        raise ContentError(f"{text:.20} is too large a number")
    return value


def nested(text: str) -> bool:
    """Whether a text nests deeper than allowed, before anything recurses into it."""
    if text.count("{") + text.count("[") <= DEEPEST:
        return False
    brackets = OTHER.sub("", QUOTED.sub("", text))
    for _ in range(DEEPEST):
        brackets = brackets.replace("[]", "").replace("{}", "")
    opened = brackets.count("{") + brackets.count("[")  # those that are not closed are what is cut off
    return "[]" in brackets or "{}" in brackets or opened > DEEPEST
