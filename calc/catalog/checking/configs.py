"""Checking the models of the catalogue: their fields, and that what stands in a config can stand there."""

from collections.abc import Iterator, Mapping

from calc.catalog.checking.check import Check, Rules, check_reference, with_fields
from calc.catalog.checking.rules import (
    ACTIVATION_KEYS,
    ACTIVATIONS,
    CONFIG_SIZES,
    CONFIG_TEXTS,
    MODEL_RULES,
    PUBLISHED_RULES,
    TORCH_TYPES,
    VARIANT_RULES,
)
from calc.catalog.choices import MADE_FOR, POSITIONS
from calc.catalog.entries import DATA, Entry, Tables, said_otherwise

COUNTS = DATA / "measurements" / "parameters.json"  # of models, by makers, frameworks or files
GRID = 32  # pixels of a side that a place of the last grid stands for, where a network has several
FARTHEST = 32  # times a config's positions
FAR = 1000  # times a number of a config: more than any variant has of it
FEW, EACH, SPARE = 1000, 16, 2  # positions: from there on they come in such numbers, and RoBERTa's kin have two more


@with_fields(MODEL_RULES)
def check_model(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one model; that its config describes a known architecture is checked where architectures are known."""
    check.choice(f"{where}.made_for", entry.get("made_for", MADE_FOR[0]), MADE_FOR)
    check_context(check, f"{where}.context_tokens", entry["context_tokens"], entry["config"])
    for path, key, value in leaves(f"{where}.config", entry["config"]):
        check_setting(check, path, key, value)
    check_variants(check, where, entry, tables)
    conversions = entry.get("conversions", {})
    assert isinstance(conversions, dict)
    for repository, source in conversions.items():
        check_reference(check, f"{where}.conversions.{repository}", source, tables)
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


def check_context(check: Check, place: str, context: object, config: object) -> None:
    """Check how many tokens a model is made for, by what its config says of lengths."""
    if not isinstance(context, int) or not 16 <= context <= 10**8:
        check.problem(place, f"must be from 16 to 100,000,000 tokens, not {context}")
    elif odd_length(context, config):
        check.problem(place, f"{context} is neither the config's length nor one that models have")


def check_variants(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check repositories with other classes, words or lengths than their model: what their configs say, its source."""
    variants, config = entry.get("variants", {}), entry["config"]
    assert isinstance(variants, dict) and isinstance(config, dict)
    for repository, item in variants.items():
        place = f"{where}.variants.{repository}"
        if not isinstance(item, dict) or not said_otherwise(item):
            check.problem(place, "must be a table with what the repository's config says otherwise")
        elif check.fields(place, item, {**sizes_of(config), **VARIANT_RULES}):
            check_reference(check, f"{place}.source", item["source"], tables)
            for path, key, value in leaves(place, item):
                check_setting(check, path, key, value)
            check_alike(check, place, item, config)
            if "context_tokens" in item:
                check_context(check, f"{place}.context_tokens", item["context_tokens"], {**config, **item})


def check_alike(check: Check, place: str, value: object, usual: object) -> None:
    """Check that what a variant says otherwise is of the kind of what its model's config says, and numbers not far."""
    if isinstance(value, dict) and isinstance(usual, dict):
        for name in value.keys() & usual.keys():
            check_alike(check, f"{place}.{name}", value[name], usual[name])
    elif isinstance(value, list) and isinstance(usual, list):
        for position, (one, other) in enumerate(zip(value, usual, strict=False)):
            check_alike(check, f"{place}[{position}]", one, other)
    elif type(value) is not type(usual):
        check.problem(place, f"is not of the kind of the config's {usual!r:.40}: {value!r:.40}")
    elif isinstance(usual, int | float) and usual > 0 and not isinstance(value, bool):
        check.number(place, value, 0, usual * FAR)


def sizes_of(config: Mapping[str, object]) -> Rules:
    """Return what a variant may say besides: what its model's config says, by a value of the same kind."""
    return {f"{key}?": (type(value),) for key, value in config.items()}


def odd_length(context: int, config: object) -> bool:
    """Return whether a length is neither in the config nor round, or far from that which is.

    Round are whole times 64 or 500 tokens. Models of images have as many tokens as their pieces make, and perhaps one
    more, and such that only register. A context is stretched to some times the positions that a model was trained with,
    and less is used of many.
    """
    told: dict[str, list[int]] = {}
    for _, key, value in leaves("", config):
        first = value[0] if isinstance(value, list) and value else value  # frames stand before height and width
        if isinstance(first, int):
            told.setdefault(key, []).append(first)
    pieces = {(i // p) ** 2 for i in told.get("image_size", ()) for p in told.get("patch_size", ()) if p}
    pieces |= {(-(-side // GRID)) ** 2 for side in told.get("image_size", ())}
    times = {f // t for f in told.get("num_frames", ()) for t in told.get("tubelet_size", (1,)) if t}
    pieces |= {piece * time for piece in pieces for time in times}  # of a video
    stated = {value for key in POSITIONS for value in told.get(key, ())}
    seen = {context, context - 1, *(context - 1 - count for count in told.get("num_register_tokens", ()))}
    if min(stated, default=1) < 1 or seen & pieces or context in stated or context + 2 in stated:
        return False
    near = any(positions / FARTHEST <= context <= positions * FARTHEST for positions in stated)
    return bool(context % 64 and context % 500) or (bool(stated) and not near)


def leaves(path: str, value: object, key: str = "") -> Iterator[tuple[str, str, object]]:
    """Yield what stands in a config, at any depth: its path, its own key, and the value."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(f"{path}.{name}", item, name)
    else:
        yield path, key, value


def check_setting(check: Check, path: str, key: str, value: object) -> None:
    """Check one setting of a config: a size within its bounds, a number without quotes, a type that torch has."""
    if key in POSITIONS and isinstance(value, int) and value > FEW and value % EACH not in (0, SPARE):
        check.problem(path, f"{value} positions are no multiple of {EACH}")
    if isinstance(value, str) and value.isdecimal():
        check.problem(path, f"a number stands without quotes, not as {value!r:.40}")
    elif key in CONFIG_SIZES and not isinstance(value, list):
        check.number(path, value, 1, CONFIG_SIZES[key])
    elif key in ACTIVATION_KEYS:
        check.choice(path, value, ACTIVATIONS)
    elif key in TORCH_TYPES:
        check.choice(path, value, TORCH_TYPES[key])
    elif key in CONFIG_TEXTS and not isinstance(value, str):
        check.problem(path, f"must be text, not {value!r:.40}")
