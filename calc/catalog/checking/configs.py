"""Checking the models of the catalogue: their fields, and that what stands in a config can stand there."""

from collections.abc import Iterator

from calc.catalog.checking.check import Check, check_reference
from calc.catalog.checking.rules import CONFIG_SIZES, CONFIG_TEXTS, MODEL_RULES, PUBLISHED_RULES, TORCH_TYPES
from calc.catalog.entries import Entry, Tables


def check_model(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one model; that its config describes a known architecture is checked where architectures are known."""
    if not check.fields(where, entry, MODEL_RULES):
        return
    check_reference(check, f"{where}.source", entry["source"], tables)
    context = entry["context_tokens"]
    if not isinstance(context, int) or not 128 <= context <= 10**8:
        check.problem(f"{where}.context_tokens", f"must be from 128 to 100,000,000 tokens, not {context}")
    for path, key, value in leaves(f"{where}.config", entry["config"]):
        check_setting(check, path, key, value)
    published = entry.get("published", {})
    assert isinstance(published, dict)
    for repository, item in published.items():
        place = f"{where}.published.{repository}"
        if not isinstance(item, dict):
            check.problem(place, "must be a table with the repository's quantization_config")
        elif repository not in (*entry["repositories"], *entry.get("finetunes", ())):  # type: ignore[misc]
            check.problem(place, "is not one of the entry's repositories")
        elif check.fields(place, item, PUBLISHED_RULES):
            check_reference(check, f"{place}.source", item["source"], tables)


def leaves(path: str, value: object, key: str = "") -> Iterator[tuple[str, str, object]]:
    """Yield what stands in a config, at any depth: its path, its own key, and the value."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(f"{path}.{name}", item, name)
    else:
        yield path, key, value


def check_setting(check: Check, path: str, key: str, value: object) -> None:
    """Check one setting of a config: a size within its bounds, a number without quotes, a type that torch has."""
    if isinstance(value, str) and value.isdecimal():
        check.problem(path, f"a number stands without quotes, not as {value!r:.40}")
    elif key in CONFIG_SIZES and not isinstance(value, list):
        check.number(path, value, 1, CONFIG_SIZES[key])
    elif key in TORCH_TYPES:
        check.choice(path, value, TORCH_TYPES[key])
    elif key in CONFIG_TEXTS and not isinstance(value, str):
        check.problem(path, f"must be text, not {value!r:.40}")
