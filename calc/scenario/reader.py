"""A scenario as it is read: each field checked, each default filled in and named; counts, lengths, prices."""

from collections.abc import Mapping, Sequence
from math import isfinite

from calc.catalog.records.engines import version_numbers
from calc.errors import ScenarioError, WrongValueError, check_names, nearest
from calc.memory.budget import OUTPUT_TOKENS, PROMPT_TOKENS
from calc.scenario.fields import DEFAULTS, FIELDS, MOST_TOKENS
from calc.units import read_count

MOST_PRICE = 1_000_000
MOST_VERSION = 40  # characters of a version
MOST_LEVELS = 32  # no config nests as deep


class Reader:
    """Takes the fields out of a scenario, one method a kind of value, and keeps what was filled in."""

    fields: Sequence[str] = FIELDS
    of = ""  # whose fields these are
    usual: Mapping[str, object] = DEFAULTS
    presets: Mapping[str, object] = {}  # what is done where nothing is said, before what is usual

    def __init__(self, scenario: Mapping[str, object]) -> None:
        if not isinstance(scenario, Mapping):
            raise ScenarioError("", "a scenario is an object of fields; needed is at least model")
        self.given = {name: value for name, value in scenario.items() if value is not None}
        self.filled: dict[str, object] = {}
        self.defaults: list[str] = []
        check_names(scenario, self.fields, of=self.of)

    def on(self, scenario: Mapping[str, object]) -> "Reader":
        """Return the same as far as it is read, for a scenario that differs in what was not read yet."""
        found = Reader.__new__(Reader)
        found.given = {name: value for name, value in scenario.items() if value is not None}
        found.filled, found.defaults = dict(self.filled), list(self.defaults)
        return found

    def take(self, name: str, default: object = None) -> object:
        """Return the field's value, or its default, and note which."""
        if name in self.given:
            value = self.filled[name] = self.given[name]
            return value
        usual = self.usual.get(name) if default is None else default
        value = self.filled[name] = self.presets.get(name, usual)
        self.defaults.append(name)
        return value

    def choice(self, name: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """Return the field as one of the words allowed."""
        return one_of(self.take(name, default), name, allowed)

    def count(self, name: str, *, least: int = 1, most: int = MOST_TOKENS, default: int | None = None) -> int:
        """Return the field as a whole number in its range."""
        value = self.filled[name] = whole(self.take(name, default), name, least, most)
        return value


def read_version(value: object, examples: str) -> str | None:
    """Return the version of a program as it is written, None where none is; raises ScenarioError for another value."""
    if value is None:
        return None
    if not isinstance(value, str) or not version_numbers(value) or len(value) > MOST_VERSION:
        raise ScenarioError("engine_version", f"must be a version such as {examples}, not {value!r:.60}")
    return value


def counts_in_binary(field: str) -> bool:
    """Whether a k of a field is 1,024: of contexts and their parts, and not of what a run reads or a service serves."""
    return field.endswith("_tokens") and field != "training_tokens"


def read_object(value: object, field: str, allowed: Sequence[str]) -> Mapping[str, object]:
    """Return a value with fields of its own; raises ScenarioError for another one, and for a field it cannot have."""
    if not isinstance(value, Mapping):
        raise WrongValueError(field, f"must be an object with {', '.join(allowed)}, not {value!r:.60}")
    check_names(value, allowed, f"{field}.")
    return value


def one_of(value: object, field: str, allowed: tuple[str, ...]) -> str:
    """Return a value as one of the words allowed; raises ScenarioError for another."""
    if value not in allowed:
        words = " or ".join(filter(None, (", ".join(allowed[:-1]), allowed[-1])))
        hint = nearest(str(value), allowed)
        raise WrongValueError(field, f"must be {words}, not {value!r:.60}{hint}", instead=allowed)
    return str(value)


def read_flag(value: object, field: str) -> bool:
    """Return a value that is true or false; raises ScenarioError for another."""
    if not isinstance(value, bool):
        raise WrongValueError(field, f"must be true or false, not {value!r:.60}")
    return value


def whole(value: object, field: str, least: int, most: int, instead: tuple[int, ...] = ()) -> int:
    """Return a value as a whole number from `least` to `most`; 8192.0 counts as whole, and so does "8k"."""
    if isinstance(value, str) and (count := read_count(value, binary=counts_in_binary(field))) is not None:
        value = count
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        message = f"must be a whole number from {least:,} to {most:,}, not {value!r:.60}"
        never = isinstance(value, bool) or not isinstance(value, int) or value < least  # `most` may be another field's
        raise (WrongValueError if never else ScenarioError)(field, message, instead=instead)
    return value


def check_json(value: object, field: str, level: int = 0) -> None:
    """Raise ScenarioError, by path, for what no JSON text says: numbers without end, and nesting without need."""
    if level == MOST_LEVELS:
        raise ScenarioError(field, f"nests deeper than {MOST_LEVELS} levels")
    if isinstance(value, float) and not isfinite(value):
        raise ScenarioError(field, f"must be a finite number, not {value}")
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        check_json(item, f"{field}.{key}", level + 1)


def read_tokens(reader: Reader, longest: int | None, usual: int = OUTPUT_TOKENS) -> tuple[int, int]:
    """Return prompt and output tokens of a sequence, from either of them, from their sum, or from the defaults.

    The defaults are no more than the tokens that the model is made for, where somebody says how many these are; `usual`
    of them are written.
    """
    whole_context = reader.given.get("context_tokens")
    if whole_context is None:
        spoken = not reader.given.keys().isdisjoint(("prompt_tokens", "output_tokens"))
        room = PROMPT_TOKENS + OUTPUT_TOKENS if spoken or longest is None else max(longest, 2)
        output = reader.count("output_tokens", least=0, default=min(usual, room // 2))
        prompt = reader.count("prompt_tokens", default=min(PROMPT_TOKENS, room - min(usual, room // 2)))
        reader.filled["context_tokens"] = prompt + output
        return prompt, output
    context = reader.count("context_tokens")
    if "prompt_tokens" in reader.given:
        prompt = reader.count("prompt_tokens", most=context)
        output = reader.count("output_tokens", least=0, default=context - prompt)
    else:
        output = reader.count("output_tokens", least=0, most=context - 1, default=min(usual, context // 2))
        prompt = reader.count("prompt_tokens", default=context - output)
    if prompt + output != context:
        message = f"is the whole of prompt and output: {prompt:,} + {output:,} are not {context:,}"
        raise ScenarioError("context_tokens", message)
    return prompt, output


def read_price(reader: Reader, field: str) -> float | None:
    """Return a price of the reader's own in US dollars, None where the catalogue's is asked for."""
    value = reader.given.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_PRICE:
        raise WrongValueError(field, f"must be a number from 0 to {MOST_PRICE:,}, not {value!r:.60}")
    reader.filled[field] = value
    return float(value)
