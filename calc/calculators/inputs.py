"""The inputs of a calculator: their labels, help and defaults, and how typed text becomes a scenario's value."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from calc.errors import ScenarioError
from calc.scenario.reader import counts_in_binary
from calc.units import read_count

Values = dict[str, str]
Report = dict[str, Any]  # of calc.estimate, or of a plan
TEXT_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+- ")
LONGEST_TEXT = 40
LONGEST_OWN = 65_536  # of a model's config in an address; a config with a word for each of 200 layers has a tenth


class Choice(NamedTuple):
    """A list to choose from; `kind` is the part of the catalogue it lists, or `options` are (value, label) pairs.

    An input with a `topic` is folded under that heading; those without one are asked first.
    """

    name: str
    label: str
    help: str
    default: str
    kind: str = ""
    options: tuple[tuple[str, str], ...] = ()
    empty: str = ""  # label of choosing none; no such choice if empty
    topic: str = ""


class Number(NamedTuple):
    """A whole number in a range."""

    name: str
    label: str
    help: str
    default: str
    least: int
    most: int
    topic: str = ""


class Amount(NamedTuple):
    """A number with a point, in a range; it may be left empty."""

    name: str
    label: str
    help: str
    default: str
    least: float
    most: float
    topic: str = ""


class Text(NamedTuple):
    """A short text, which may be left empty; what it may say, the scenario's own reading decides."""

    name: str
    label: str
    help: str
    default: str = ""
    topic: str = ""


Input = Choice | Number | Amount | Text


def read(field: Input, typed: str) -> object:
    """Return what a reader typed as a scenario's value, None where nothing was chosen.

    Raises ScenarioError for the field. Thousands may be separated by commas, spaces or underscores, and 8k is 8,192.
    """
    typed = typed.strip()
    if isinstance(field, Choice):
        if not typed and not field.empty:
            raise ScenarioError(field.name, "must be one of the list")
        if typed and field.options and typed not in dict(field.options):
            raise ScenarioError(field.name, f"must be {' or '.join(dict(field.options))}")
        if field.kind == "models" and typed.startswith("{"):
            return read_own(field, typed)
        return typed or None
    if isinstance(field, Amount):
        return read_amount(field, typed)
    if isinstance(field, Text):
        return read_text(field, typed)
    count = read_count(typed, binary=counts_in_binary(field.name)) if typed.isascii() else None
    if count is None or not field.least <= count <= field.most:
        raise ScenarioError(field.name, f"must be a whole number from {field.least:,} to {field.most:,}")
    return count


def read_text(field: Text, typed: str) -> str | None:
    """Return a short text, None for nothing; letters, digits and what joins them."""
    if not set(typed) <= TEXT_SIGNS or len(typed) > LONGEST_TEXT:
        raise ScenarioError(field.name, "must be letters, digits, points, hyphens and spaces: 0.10.2, 48 GiB")
    return typed or None


def whole(read_values: Mapping[str, object], name: str) -> int:
    """Return a value that a `Number` has read."""
    value = read_values[name]
    assert isinstance(value, int)
    return value


def amount(read_values: Mapping[str, object], name: str) -> float:
    """Return a value that an `Amount` has read."""
    value = read_values[name]
    assert isinstance(value, float)
    return value


def whole_if(value: object) -> object:
    """Return a number as a whole one where it is; the scenario says what is wrong with another."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read_amount(field: Amount, typed: str) -> float | None:
    """Return a number such as 2.50, None for nothing; a comma is refused, which is read in two ways."""
    if not typed:
        return None
    whole, _, after = typed.partition(".")
    digits = whole + after
    if (
        not digits.isascii()
        or not digits.isdigit()
        or len(digits) > 16
        or not field.least <= float(typed) <= field.most
    ):
        ends = " to ".join(f"{end:,.9f}".rstrip("0").rstrip(".") for end in (field.least, field.most))
        message = f"must be a number from {ends}, with a point: 2.50"
        raise ScenarioError(field.name, message)
    return float(typed)


def read_own(field: Choice, typed: str) -> object:
    """Return a model that a reader brought: the JSON of a scenario's `model`, as an import or a link has it."""
    from calc.files.json_text import read_json  # most never need it

    if len(typed) > LONGEST_OWN:
        raise ScenarioError(field.name, f"has {len(typed):,} characters; at most {LONGEST_OWN:,} are read")
    return read_json(typed, field.name)
