"""From a scenario to a calculator's form: its fields as texts, and the address of the form with them."""

import math
from typing import Any

from calc.calculators.calculator import Calculator
from calc.calculators.html import element, escaped, text
from calc.calculators.inputs import Values
from calc.calculators.several import OF_CARDS
from calc.memory.budget import OUTPUT_TOKENS
from calc.scenario.fields import PUBLISHED
from calc.units import GIB

FOLDER = "calculators"  # of the site, from its first page
# Objects, whose fields forms ask one by one.
NESTED = frozenset(("host", "speculation", "start", "adapters_served", "arrivals"))
LISTED = frozenset(("id", "count", *OF_CARDS))  # of a device in a list, what forms ask
LENGTHS = frozenset(("context_tokens", "prompt_tokens", "output_tokens"))  # forms ask for some of the three
OTHERWISE = NESTED | LENGTHS | {"workload", "lora", "accelerator", "accelerators", "tensor_split"}  # as several fields
ALL_EXPERTS, EVERY_LAYER = "all", "1000"  # whose experts stay on the host: a form asks for more layers than there are


def form_values(calculator: Calculator, scenario: dict[str, Any]) -> Values:
    """Return what a scenario says in the fields of a form; a form asks for lengths in its own way."""
    known = {field.name for field in calculator.inputs}
    flat = {name: value for name, value in scenario.items() if name not in ("workload", "lora")}
    flat |= scenario.get("lora", {})
    if len(offload := flat.pop("offload", [])) == 1:
        flat["offload"] = offload[0]
    if isinstance(limit := flat.get("memory_limit"), int):  # bytes, as a report has it
        flat["memory_limit"] = f"{round(limit / GIB, 6)} GiB"
    flat |= nested_values(scenario)
    if isinstance(flat.get("accelerator"), list):
        flat |= listed_values(scenario)
    flat.setdefault("accelerators", 1)
    flat.setdefault("weights", PUBLISHED)
    if "data" in known:  # a form that asks how devices are divided
        degrees = scenario.get("parallelism", {})
        apart = math.prod(ways for name, ways in degrees.items() if name not in ("data", "expert"))
        flat |= {"data": flat["accelerators"] // apart, **degrees}
    if "context_tokens" in known:
        if "prompt_tokens" in flat:
            flat.setdefault("context_tokens", flat["prompt_tokens"] + flat.get("output_tokens", OUTPUT_TOKENS))
    elif "context_tokens" in flat and "prompt_tokens" not in flat:
        output = min(flat.get("output_tokens", OUTPUT_TOKENS), flat["context_tokens"] // 2)
        flat |= {"output_tokens": output, "prompt_tokens": flat["context_tokens"] - output}
    flat |= {name: "yes" if value else "no" for name, value in flat.items() if isinstance(value, bool)}
    return {name: str(value) for name, value in flat.items() if name in known and not isinstance(value, dict)}


def beyond(calculator: Calculator, scenario: dict[str, Any]) -> dict[str, Any]:
    """Return what a scenario says that no field of a form takes: a layout, bits of no format, what is offloaded."""
    known = {field.name for field in calculator.inputs}

    def takes(name: str, value: Any) -> bool:
        if name == "parallelism":
            return set(value) <= known
        if name == "offload":
            return name in known and len(value) == 1
        return name in known and not isinstance(value, dict)

    return {name: value for name, value in scenario.items() if name not in OTHERWISE and not takes(name, value)}


def nested_values(scenario: dict[str, Any]) -> Values:
    """Return what forms ask of the objects of a scenario, field by field: of the host, drafts, the start, arrivals."""
    host, found = scenario.get("host", {}), {}
    if "processor" in host:
        found["processor"] = host["processor"]
    if "cores" in host:
        found["host_cores"] = host["cores"]
    if "bandwidth" in host:
        found["host_bandwidth"] = str(host["bandwidth"]).removesuffix(" GB/s")
    if "memory" in host:
        found["host_memory"] = f"{host['memory'] / GIB:g}"
    for name, prefix in (("speculation", "speculation"), ("start", "start"), ("adapters_served", "adapters")):
        found |= {f"{prefix}_{field}": value for field, value in scenario.get(name, {}).items()}
    found |= scenario.get("arrivals", {})
    if scenario.get("experts_on_host") == ALL_EXPERTS:
        found["experts_on_host"] = EVERY_LAYER
    return {name: str(value) for name, value in found.items()}


def listed_values(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return what forms ask of two kinds of devices: of each how many there are, its slot and limit; their shares."""
    found: dict[str, Any] = {}
    for prefix, item in zip(("", "other_"), scenario["accelerator"], strict=False):
        found |= {f"{prefix}accelerator": item["id"], f"{prefix}accelerators": item.get("count", 1)}
        found |= {f"{prefix}{name}": item[name] for name in OF_CARDS if name in item}
    if split := scenario.get("tensor_split"):
        found["first_share"] = sum(split[: found["accelerators"]]) / sum(split)
    return found


def can_list(calculator: Calculator, devices: object) -> bool:
    """Return whether a form asks for these devices: none, one kind, or two with no more said than forms ask of them."""
    if devices is None or isinstance(devices, str):
        return True
    asked = any(field.name == "other_accelerator" for field in calculator.inputs)
    return asked and isinstance(devices, list) and len(devices) == 2 and all(item.keys() <= LISTED for item in devices)


def asks_all(calculator: Calculator, scenario: dict[str, Any]) -> bool:
    """Return whether a form asks for every field of a scenario, so that a link to it opens this very case."""
    known = {field.name for field in calculator.inputs}
    if not isinstance(scenario["model"], str) or not can_list(calculator, scenario.get("accelerator")):
        return False
    if not LENGTHS & scenario.keys():
        return False  # the form has lengths of its own, and they are other ones
    whole = scenario.keys() - NESTED - LENGTHS - {"tensor_split"}
    inner = nested_values({name: value for name, value in scenario.items() if name in NESTED})
    fields = sum(len(value) for name, value in scenario.items() if name in NESTED)
    return whole <= known and inner.keys() <= known and len(inner) == fields


def address_of(calculator: Calculator, values: Values) -> str:
    """Return the address of a calculator with these fields filled in, from the site's first page."""
    defaults = {field.name: field.default for field in calculator.inputs}
    pairs = [f"{name}={escaped(value)}" for name, value in values.items() if value != defaults[name]]
    return f"{FOLDER}/{calculator.id}/" + (f"?{'&'.join(pairs)}" if pairs else "")


def every_field(calculator: Calculator, other: str = "") -> str:
    """Return the words of a link to a calculator's form, of whose fields these are all, or all the other ones."""
    every = " Every" if calculator.title.endswith("?") else ": every"
    return f"{calculator.title}{every} {other}field"


def link_to(calculator: Calculator, values: Values, label: str) -> str:
    """Return a link to a calculator with these fields filled in."""
    link = element("a", text(f"{label} →"), href=address_of(calculator, values))
    return element("p", link, class_="ask-link")
