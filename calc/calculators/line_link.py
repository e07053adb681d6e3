"""From a scenario to a calculator's form: its fields as texts, and the address of the form with them."""

from typing import Any

from calc.calculators.calculator import Calculator
from calc.calculators.html import element, escaped, text
from calc.calculators.inputs import Values
from calc.scenario import OUTPUT_TOKENS

FOLDER = "calculators"  # of the site, from its first page


def form_values(calculator: Calculator, scenario: dict[str, Any]) -> Values:
    """Return what a scenario says in the fields of a form; a form asks for lengths in its own way."""
    known = {field.name for field in calculator.inputs}
    flat = {name: value for name, value in scenario.items() if name not in ("workload", "lora")}
    flat |= scenario.get("lora", {})
    flat.setdefault("accelerators", 1)
    if "data" in known:  # a form that asks how devices are divided
        flat["data"] = flat["accelerators"]
    if "context_tokens" in known:
        if "prompt_tokens" in flat:
            flat.setdefault("context_tokens", flat["prompt_tokens"] + flat.get("output_tokens", OUTPUT_TOKENS))
    elif "context_tokens" in flat and "prompt_tokens" not in flat:
        output = min(flat.get("output_tokens", OUTPUT_TOKENS), flat["context_tokens"] // 2)
        flat |= {"output_tokens": output, "prompt_tokens": flat["context_tokens"] - output}
    return {name: str(value) for name, value in flat.items() if name in known}


def address_of(calculator: Calculator, values: Values) -> str:
    """Return the address of a calculator with these fields filled in, from the site's first page."""
    defaults = {field.name: field.default for field in calculator.inputs}
    pairs = [f"{name}={escaped(value)}" for name, value in values.items() if value != defaults[name]]
    return f"{FOLDER}/{calculator.id}/" + (f"?{'&'.join(pairs)}" if pairs else "")


def link_to(calculator: Calculator, values: Values, label: str) -> str:
    """Return a link to a calculator with these fields filled in."""
    link = element("a", text(f"{label} →"), href=address_of(calculator, values))
    return element("p", link, class_="ask-link")
