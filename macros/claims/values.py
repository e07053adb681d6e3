"""What a check computes with: a number of a report, a fact of the catalogue, a count, or what a source says."""

import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from calc import estimate
from calc.architecture.parameters import parameters_total
from calc.calculators.asked import format_words
from calc.calculators.html import element, text
from calc.calculators.rendering import source_html
from calc.catalog import catalog
from calc.catalog.claims import in_base, in_unit
from calc.memory.effective_bits import bits_per_weight, matrix_bits
from calc.scenario.model import known_architecture
from calc.units import show_number
from macros.facts import fact_line
from macros.inline import steps_inline
from macros.links import calculator_link

Entry = dict[str, Any]
CONDITION = re.compile(r"(<=|>=|<|>)\s*([\d.-]+)\s*(\S*)")
COMPARE = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}


class Value(NamedTuple):
    """A number in its base unit, the unit it is shown in, and a line of HTML that says where it is from."""

    number: float
    unit: str
    line: str


def shown(number: float, unit: str) -> str:
    """Return a number as readers see it, in the unit of a claim.

    >>> shown(137_953_316_864, "GB"), shown(0.8667, "%"), shown(7.5, "times"), shown(24, "")
    ('137.95 GB', '86.7 %', '7.5 times', '24')
    """
    scaled = in_unit(number, unit)
    if scaled == int(scaled) or abs(scaled) >= 1000:
        digits = f"{scaled:,.0f}"
    elif unit in ("GB", "GiB"):
        digits = f"{scaled:,.2f}"
    elif unit == "%":
        digits = f"{scaled:.1f}"
    else:
        digits = show_number(scaled, 4)
    digits = digits.rstrip("0").rstrip(".") if "." in digits and unit not in ("GB", "GiB") else digits
    return f"{digits} {unit}".strip()


def value_of(value: Entry) -> Value:
    """Return a value of a check. Raises ValueError, or ScenarioError, where there is no such thing."""
    for kind, read in READ.items():
        if kind in value:
            return read(value)
    raise ValueError(f"{value} is no value of a check")


def line(content: str) -> str:
    """Return HTML as one line of a working."""
    return element("span", content, class_="calc-step")


def of_report(value: Entry) -> Value:
    """Return a number of the report on a scenario, found by a path such as `memory.parts.weights.bytes`."""
    report: Any = estimate(value["scenario"], repairs=False)
    path = value["report"].split(".")
    found: Any = report
    for name in path:
        if isinstance(found, list):
            found = next((item for item in found if item["id"] == name), None)
        elif isinstance(found, dict):
            found = found.get(name)
        if found is None:
            raise ValueError(f"the report on {value['scenario']} has no {value['report']!r} (at {name!r})")
    unit = "GB" if path[-1].endswith("bytes") else ""
    return Value(float(found), unit, line(scenario_words(value["scenario"])) + working(report, path))


def working(report: Any, path: list[str]) -> str:
    """Return how a report comes to a number: the steps of a part, the parts of a sum."""
    if path[:2] == ["memory", "parts"]:
        part = next(part for part in report["memory"]["parts"] if part["id"] == path[2])
        return steps_inline(part["steps"])
    if path[0] == "memory" and path[-1].endswith("device_bytes"):
        parts = [part for part in report["memory"]["parts"] if part["bytes"]]
        return line(" + ".join(f"{text(part['label'])} {shown(part['bytes'], 'GB')}" for part in parts))
    if path == ["model", "parameters_total"]:
        return line(" + ".join(f"{text(name)} {count:,}" for name, count in report["model"]["blocks"].items()))
    return ""


def scenario_words(scenario: Entry) -> str:
    """Return a scenario in a line, as a link to the calculator where that has fields for all of it."""
    words = in_a_line(scenario)
    plain_fields = {
        "model",
        "weights",
        "kv_cache",
        "accelerator",
        "accelerators",
        "sequences",
        "context_tokens",
        "engine",
    }
    if set(scenario) <= plain_fields and not any(isinstance(given, dict) for given in scenario.values()):
        return calculator_link("will-it-fit", words, **scenario)
    return text(words)


def in_a_line(scenario: Entry) -> str:
    """Return a scenario in a line: what has a name by it, and other fields with what they say."""
    return ", ".join(said(name, given) for name, given in scenario.items())


def said(name: str, given: object) -> str:
    """Return a scenario's field as words."""
    field = name.replace("_", " ")
    if name == "accelerator" and isinstance(given, list):
        return " and ".join(f"{item['count']} × {catalog().accelerator(item['id']).name}" for item in given)
    if isinstance(given, dict):
        return f"{field} " + " and ".join(said(part, value) for part, value in given.items())
    if given == "none":
        return f"no {field}"
    if name == "weights" and isinstance(given, str):
        return format_words(given)
    if name in ("model", "accelerator", "engine", "processor") and isinstance(given, str):
        return getattr(catalog(), name)(given).name  # type: ignore[no-any-return]
    return f"{field} {given:,}" if isinstance(given, int) and not isinstance(given, bool) else f"{field} {given}"


def of_accelerator(value: Entry) -> Value:
    """Return a fact of an accelerator."""
    record = catalog().accelerator(value["accelerator"])
    if value["fact"] not in record.facts:
        raise ValueError(f"{record.id} has no {value['fact']}; it has {', '.join(record.facts)}")
    found = record.facts[value["fact"]]
    return Value(float(found.value), found.unit, fact_line(record, value["fact"]))


def of_link(value: Entry) -> Value:
    """Return a fact of a link."""
    record = catalog().link(value["link"])
    found = getattr(record, value["fact"])
    said = f"{record.name}, {value['fact'].replace('_', ' ')}: {found.show()}. "
    return Value(float(found.value), found.unit, line(text(said) + cited(found.source, found.checked)))


def of_machine(value: Entry) -> Value:
    """Return a fact of a machine."""
    record = catalog().machine(value["machine"])
    found = record.facts[value["fact"]]
    said = f"{record.name}, {value['fact'].replace('_', ' ')}: {found.show()}. "
    return Value(float(found.value), found.unit, line(text(said) + cited(found.source, found.checked)))


def of_model(value: Entry) -> Value:
    """Return a number of a model's config, or the context that its maker states."""
    record = catalog().model(value["model"])
    found: Any = record.context_tokens if value["fact"] == "context_tokens" else record.config[value["fact"]]
    said = f"{record.name}, {value['fact']}: {found:,}. "
    return Value(float(found), "", line(text(said) + cited(record.source, record.checked)))


def of_run(value: Entry) -> Value:
    """Return a number of how a known model was trained."""
    record = next(run for run in catalog().runs() if run.id == value["run"])
    found = getattr(record, value["fact"])
    said = f"{record.name}, {value['fact'].replace('_', ' ')}: {found:,}. "
    return Value(float(found), "", line(text(said) + cited(record.source, record.checked)))


def of_number_format(value: Entry) -> Value:
    """Return the bits per weight of a format: of a large matrix, or of a whole model."""
    record = catalog().weights_format(value["number_format"])
    if "model" in value:
        report: Any = estimate({"model": value["model"], "weights": value["number_format"]})
        weights = next(part["bytes"] for part in report["memory"]["parts"] if part["id"] == "weights")
        bits = bits_per_weight(size_bytes=weights, parameters=report["model"]["parameters_total"])
        said = f"{record.name} over the whole of {report['model']['name']}: {bits:.3f} bits per weight. "
    else:
        bits = matrix_bits(catalog().number_format(value["number_format"]))
        said = f"{record.name} in a large matrix: {bits:.3f} bits per weight. {record.summary} "
    return Value(bits, "bits", line(text(said) + cited(record.source, record.checked)))


def of_count(value: Entry) -> Value:
    """Return how many entries of a kind meet conditions."""
    found = [record for record in getattr(catalog(), value["count"])() if meets(record, value["where"])]
    names = ", ".join(record.name for record in found[:12]) + (" and others" if len(found) > 12 else "")
    said = f"{value['count'].capitalize()} in the catalogue, {words_of(value['where'])}: {len(found)}. {names}"
    return Value(len(found), "", line(text(said)))


def of_extreme(value: Entry) -> Value:
    """Return the largest or smallest value of a fact among accelerators that meet conditions."""
    kind = "largest" if "largest" in value else "smallest"
    field = value[kind]
    having = [record for record in catalog().accelerators() if field in record.facts and meets(record, value["where"])]
    if not having:
        raise ValueError(f"no accelerator has {field} and meets {value['where']}")
    chosen = (max if kind == "largest" else min)(having, key=lambda record: record.quantity(field) or 0)
    said = f"The {kind} {field.replace('_', ' ')} of accelerators, {words_of(value['where'])}. "
    return Value(chosen.quantity(field) or 0, chosen.facts[field].unit, line(text(said)) + fact_line(chosen, field))


def words_of(where: Entry) -> str:
    """Return conditions in words."""
    said = []
    for name, wanted in where.items():
        name = name.replace("_", " ")
        said.append(f"{'with' if wanted else 'without'} {name}" if isinstance(wanted, bool) else f"{name} {wanted}")
    return ", ".join(said) if said else "all of them"


def meets(record: Any, where: Entry) -> bool:
    """Return whether an entry meets conditions: a text, `true` for a fact that it has, a bound like "> 24 GiB"."""
    facts = getattr(record, "facts", {})
    for name, wanted in where.items():
        found: Any
        if name == "parameters":
            found = parameters_total(known_architecture(catalog(), record.id))
        else:
            found = facts[name].value if name in facts else getattr(record, name, None)
        bound = CONDITION.fullmatch(wanted) if isinstance(wanted, str) else None
        if isinstance(wanted, bool):
            holds = (found not in (None, "")) == wanted
        elif bound and isinstance(found, str):  # a year or month
            holds = COMPARE[bound[1]](found, bound[2])
        elif bound:
            holds = found is not None and COMPARE[bound[1]](found, in_base(float(bound[2]), bound[3]))
        else:
            holds = found == wanted
        if not holds:
            return False
    return True


def of_source(value: Entry) -> Value:
    """Return a number that a source gives."""
    unit = value.get("unit", "")
    number = in_base(value["quoted"], unit)
    source = catalog().source(value["source"])
    return Value(number, unit, line(text(f"{shown(number, unit)}, says ") + cited(source.id, source.checked)))


def of_number(value: Entry) -> Value:
    """Return a number that needs no source: a count of bytes in a format, a length that a claim names."""
    return Value(float(value["number"]), "", "")


def cited(source: str, checked: str) -> str:
    """Return a source as a link, with the day on which it was read."""
    return source_html(source) + (text(f", checked {checked}.") if checked else ".")


READ: dict[str, Callable[[Entry], Value]] = {
    "report": of_report,
    "accelerator": of_accelerator,
    "link": of_link,
    "machine": of_machine,
    "number_format": of_number_format,
    "run": of_run,
    "model": of_model,
    "count": of_count,
    "largest": of_extreme,
    "smallest": of_extreme,
    "quoted": of_source,
    "number": of_number,
}
