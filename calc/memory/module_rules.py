"""Rules that give a model's modules a number format, from the names and patterns that quantisers list."""

import re
from collections.abc import Iterator, Mapping

from calc.catalog.records import NumberFormat, Rule
from calc.errors import ScenarioError

FIELD = "model.config.quantization_config"  # whose patterns they are
# Where the modules stand that a method leaves at 16 bit.
LEFT_OUT = ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers", "llm_int8_skip_modules", "exclude")
# A name down from the model, with the number of its layer, or several numbers as `condensed` writes them.
NUMBERED = re.compile(r"^.*?layers\\?\.(\d+|\((?:\d+\|)*\d+\))(?:\\?\.|$)")
# What stands before a name that another class would begin with: up to the layers, or the names of wrapping models.
PREFIX = re.compile(r"^.*?(?=layers\.)|^(?:(?:model|language_model|backbone|thinker)\.)+")


def of_modules(modules: tuple[str, ...], number_format: NumberFormat) -> Iterator[Rule]:
    """Iterate over the rules that give modules a number format."""
    for module in modules:
        try:
            yield rule_of(module, number_format)
        except re.error:
            raise ScenarioError(FIELD, f"names modules by {module!r:.60}, which is no regular expression") from None


def rule_of(module: str, number_format: NumberFormat) -> Rule:
    """Return the rule for modules by a name, by a name with `*`, or by `re:` and a regular expression."""
    is_pattern = module.startswith("re:")
    name = module.removeprefix("re:")
    numbered = NUMBERED.match(name)
    layers = None
    if numbered:
        layers = frozenset(int(number) for number in numbered[1].strip("()").split("|"))
        name = name[numbered.end() :]
    elif not is_pattern:
        name = PREFIX.sub("", name)
    if not is_pattern:
        end = "" if not name or name.endswith("*") else r"(\.|$)"
        name = re.escape(name).replace(r"\*", ".*") + end
    if numbered or not (is_pattern or name.startswith(".*")):
        name = ("^" if numbered else r"(^|\.)") + name
    re.compile(name)
    by_number = not numbered and re.search(r"layers\W*\d|\\d|\[0-9", name) is not None
    return Rule(number_format, "", name, layers, in_layer=numbered is not None, by_number=by_number)


def merged(rules: list[Rule]) -> tuple[Rule, ...]:
    """Return rules with those made one that differ in their layers alone, where they stand next to each other in kind.

    Lists name every layer by its number; a few rules with sets of layers say the same.
    """
    found: dict[Rule, set[int]] = {}
    for rule in rules:
        key = rule._replace(layers=None if rule.layers is None else frozenset())
        found.setdefault(key, set()).update(rule.layers or ())
    return tuple(rule._replace(layers=None if rule.layers is None else frozenset(found[rule])) for rule in found)


def condensed(quantization: Mapping[str, object]) -> dict[str, object]:
    """Return a `quantization_config` that says the same in fewer words: modules of many layers under one name.

    >>> condensed({"ignore": ["model.layers.0.mlp.gate", "model.layers.1.mlp.gate", "lm_head"]})["ignore"]
    ['re:layers\\\\.(0|1)\\\\.mlp\\\\.gate(\\\\.|$)', 'lm_head']
    """
    kept: dict[str, object] = {}
    for name, value in quantization.items():
        if name in LEFT_OUT and isinstance(value, list):
            kept[name] = list(condensed_names(dict.fromkeys(item for item in value if isinstance(item, str))))
        elif name == "quantized_layers" and isinstance(value, Mapping):
            algorithms = {str(item.get("quant_algo")) for item in value.values() if isinstance(item, Mapping)}
            kept[name] = {
                module: {"quant_algo": algorithm}
                for algorithm in sorted(algorithms)
                for module in condensed_names(
                    {
                        re.sub(r"\.experts\.\d+\.", ".experts.0.", key): None
                        for key, item in value.items()
                        if isinstance(item, Mapping) and str(item.get("quant_algo")) == algorithm
                    }
                )
            }
        elif name == "config_groups" and "quantized_layers" in quantization:
            continue
        elif name not in ("producer", "input_activations", "activation_scheme"):
            kept[name] = value
    return kept


def condensed_names(names: Mapping[str, None]) -> Iterator[str]:
    """Iterate over names, those that differ in the number of their layer as one regular expression."""
    layers: dict[str, list[str]] = {}
    for name in names:
        found = None if name.startswith("re:") else re.match(r"^.*?layers\.(\d+)\.(.*)$", name)
        layers.setdefault(found[2] if found else f"={name}", []).append(found[1] if found else name)
    for inner, numbers in layers.items():
        if inner.startswith("="):
            yield inner[1:]
            continue
        end = "" if inner.endswith("*") else r"(\.|$)"
        numbered = "|".join(sorted(set(numbers), key=int))
        yield rf"re:layers\.({numbered})\." + re.escape(inner).replace(r"\*", ".*") + end
