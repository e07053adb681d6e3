"""Reading a `config.json`: typed, bounded access, so that a wrong one is refused by the name of its field."""

from collections.abc import Mapping

from calc.errors import ScenarioError

LARGEST = 2**40  # no published model has a dimension near it; it keeps arithmetic on a hostile config quick
MOST_LAYERS = 10_000


class Config:
    """A model's configuration. `field` is the path under which the scenario gave it, for messages."""

    def __init__(self, values: Mapping[str, object], field: str = "model.config") -> None:
        if not isinstance(values, Mapping):
            raise ScenarioError(field, "must be an object: the content of a config.json")
        self.values = values
        self.field = field

    def has(self, name: str) -> bool:
        """Whether the config gives `name` a value; null counts as not given."""
        return self.values.get(name) is not None

    @property
    def classes(self) -> str:
        """The names of the classes that its files are made for, with spaces between; empty where it names none."""
        named = self.values.get("architectures")
        return " ".join(map(str, named)) if isinstance(named, list) else ""

    def error(self, name: str, message: str) -> ScenarioError:
        """Return the error for the field `name`."""
        return ScenarioError(f"{self.field}.{name}", message)

    def integer(self, *names: str, default: int | None = None, least: int = 1, most: int = LARGEST) -> int:
        """Return the first of `names` that is given, as a whole number from `least` to `most`, else `default`.

        Some classes write ratios as 4.0, which is whole, too.
        """
        for name in names:
            if not self.has(name):
                continue
            value = self.values[name]
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise self.error(name, f"must be a whole number from {least:,} to {most:,}, not {value!r:.60}")
            return value
        if default is None:
            raise self.error(names[0], "is missing" + (f" (or {', '.join(names[1:])})" if names[1:] else ""))
        return default

    def flag(self, *names: str, default: bool) -> bool:
        """Return the first of `names` that is given, as true or false, else `default`."""
        for name in names:
            if not self.has(name):
                continue
            value = self.values[name]
            if not isinstance(value, bool):
                raise self.error(name, f"must be true or false, not {value!r:.60}")
            return value
        return default

    def text(self, name: str, default: str) -> str:
        """Return `name` as text, else `default`."""
        if not self.has(name):
            return default
        value = self.values[name]
        if not isinstance(value, str):
            raise self.error(name, f"must be text, not {value!r:.60}")
        return value

    def number(self, name: str, *, default: float, most: float = 1e6) -> float:
        """Return `name` as a number from 0 to `most`, else `default`."""
        value = self.values.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise self.error(name, f"must be a number from 0 to {most:,g}, not {value!r:.60}")
        return float(value)

    def listed_texts(self, name: str) -> list[str]:
        """Return `name` as a list of texts."""
        value = self.values.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(name, "is missing" if value is None else "must be a list of texts")
        return value

    def texts(self, name: str, length: int) -> list[str] | None:
        """Return `name` as a list of `length` texts, or None where it is not given."""
        if not self.has(name):
            return None
        value = self.listed_texts(name)
        if len(value) != length:
            raise self.error(name, f"must have one item for each of the {length} layers, not {len(value)}")
        return value

    def integers(self, name: str) -> list[int] | None:
        """Return `name` as a list of whole numbers, or None where it is not given."""
        if not self.has(name):
            return None
        value = self.values[name]
        if not isinstance(value, list) or not all(type(item) is int and 0 <= item <= LARGEST for item in value):
            raise self.error(name, f"must be a list of whole numbers from 0 to {LARGEST:,}")
        return value

    def layers(self, *names: str) -> int:
        """Return the number of layers, as the first of `names` that is given or as `num_hidden_layers`."""
        return self.integer(*(names or ("num_hidden_layers",)), most=MOST_LAYERS)

    def hidden(self, *names: str) -> int:
        """Return the hidden size, as the first of `names` that is given or as `hidden_size`."""
        return self.integer(*(names or ("hidden_size",)))

    def nested(self, name: str, inherited: tuple[str, ...] = ()) -> "Config":
        """Return the config inside this one under `name`; `inherited` are keys that it takes from this one."""
        value = self.values.get(name)
        if not isinstance(value, Mapping):
            raise self.error(name, "is missing" if value is None else "must be an object")
        outer = {key: self.values[key] for key in inherited if self.has(key)}
        return Config({**outer, **value}, f"{self.field}.{name}")

    def objects(self, name: str, length: int) -> list["Config"]:
        """Return `name` as a list of `length` configs."""
        value = self.values.get(name)
        if not isinstance(value, list) or len(value) != length:
            found = "is missing" if value is None else f"must be a list of {length} objects"
            raise self.error(name, found)
        return [Config(item, f"{self.field}.{name}.{index}") for index, item in enumerate(value)]

    def completed(self, defaults: Mapping[str, object]) -> "Config":
        """Return the config with `defaults` where it gives nothing."""
        return Config({**defaults, **{k: v for k, v in self.values.items() if v is not None}}, self.field)

    def replaced(self, values: Mapping[str, object]) -> "Config":
        """Return the config with `values` in place of its own."""
        return Config({**self.values, **values}, self.field)

    def refuse(self, name: str, allowed: tuple[object, ...], why: str) -> None:
        """Raise unless `name` is missing or one of `allowed`: a variant that is not modelled is never guessed."""
        if self.has(name) and self.values[name] not in allowed:
            raise self.error(name, f"{self.values[name]!r:.60} is not modelled yet: {why}")
