"""A config.json as people have it: which part of it describes the language model, and which of its keys are needed."""

from collections.abc import Callable, Mapping

from calc.architecture.config import Config
from calc.architecture.families import left_out, modelled, read_config
from calc.architecture.layers import Architecture
from calc.errors import ScenarioError
from calc.files.head import refused

Values = dict[str, object]
LANGUAGE_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
# No published config comes near these; they keep the search for the needed keys quick.
MOST_BYTES = 2**20
MOST_KEYS = 1000
MOST_READS = 400


def language_part(config: Mapping[str, object]) -> tuple[Values, bool]:
    """Return the config that is read of a multimodal model: its own, or that of its language model alone.

    The second value says whether towers that see or hear were left out, because the whole is not modelled.
    """
    part = dict(config)
    for _ in range(3):
        if modelled(str(part.get("model_type"))) is not None:
            break
        inner = next((part[name] for name in LANGUAGE_PARTS if isinstance(part.get(name), Mapping)), None)
        if not isinstance(inner, Mapping):
            return dict(config), False
        part = dict(inner)
    else:
        return dict(config), False
    return part, part != config


def architecture_of(config: Mapping[str, object]) -> Architecture:
    """Return what a config describes. Raises ScenarioError for the file, naming the key that is wrong."""
    try:
        return read_config(Config(config))
    except ScenarioError as error:
        key = error.field.removeprefix("model.config").lstrip(".")
        raise refused(f"is no config that can be used: {key} {error.message}") from None


def needed(config: Mapping[str, object]) -> Values:
    """Return the config without the keys that its architecture, and what is said of it, do not depend on.

    A key is needed if without it another architecture, or none, is read. Keys are tried many at a time; those that are
    left when that takes too long stay.
    """
    whole, missing = architecture_of(config), left_out(Config(config))
    reads = 0

    def same(values: Mapping[str, object]) -> bool:
        nonlocal reads
        reads += 1
        if reads > MOST_READS:
            return False
        try:
            return read_config(Config(values)) == whole and left_out(Config(values)) == missing
        except ScenarioError:
            return False

    return reduced(dict(config), same)


def reduced(values: Values, same: Callable[[Values], bool]) -> Values:
    """Return the values without those, also in objects among them, without which `same` still holds."""
    kept = values
    spans = [list(values)]
    while spans:
        span = spans.pop()
        dropped = set(span)
        without = {key: value for key, value in kept.items() if key not in dropped}
        if same(without):
            kept = without
        elif len(span) > 1:
            middle = len(span) // 2
            spans += [span[:middle], span[middle:]]
    for key, value in kept.items():
        if isinstance(value, dict):
            kept = {**kept, key: reduced(value, within(kept, key, same))}
    return kept


def within(values: Values, key: str, same: Callable[[Values], bool]) -> Callable[[Values], bool]:
    """Return the test of an object that stands among `values` under `key`."""
    return lambda inner: same({**values, key: inner})
