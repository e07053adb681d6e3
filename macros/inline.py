"""Numbers in prose: each is computed where it stands and opens to its working or its source."""

from collections.abc import Callable
from typing import Any

from calc import estimate
from calc.calculators.html import element, text
from calc.calculators.mathml import mathml
from calc.calculators.parts import token_bytes
from calc.calculators.rendering import source_html, step_html
from calc.calculators.sizes import size_binary, size_decimal, size_gb, size_gib
from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.units import show_count, show_days, show_large_count, show_seconds, show_tokens_per_s
from macros.facts import device_link, fact_line
from macros.markdown import inline
from macros.training_numbers import NAMES, look_up_training

__all__ = ["fact", "given", "number", "source", "stated"]

Report = dict[str, Any]


def show_each(size_bytes: float) -> str:
    """Return the bytes of one parameter."""
    return f"{size_bytes:.3g} bytes"


SHOW: dict[str, Callable[[Any], str]] = {
    "GiB": size_gib,
    "GB": size_gb,
    "size": size_binary,
    "bytes": lambda value: f"{show_count(value)} bytes",
    "count": show_count,
    "words": show_large_count,
    "decimal": size_decimal,
    "each": show_each,
    "tokens/s": show_tokens_per_s,
    "seconds": show_seconds,
    "share": lambda value: f"{100 * value:.0f} %",
    "days": show_days,
    "hours": lambda value: f"{show_count(value)} hours",
    "USD": lambda value: f"{show_count(value)} USD",
    "kWh": lambda value: f"{show_count(value)} kWh",
}
PARTS = ("weights", "kv_cache", "recurrent_state", "draft_weights", "draft_cache", "adapters", "activations", "logits")
_opened: list[int] = [0]


def number(what: str, show: str = "", **scenario: object) -> str:
    """Return a number of a scenario's report, inline; a reader who presses it sees the working.

    `what`: a part ("weights", "kv_cache", "recurrent_state", "draft_weights", "draft_cache", "adapters", "activations",
    "logits"),
    "total", "capacity", "headroom", "devices", "sequences", "parameters" or "token" (a token's cache). `show`: "GiB",
    "GB", "size" (the largest binary unit), "decimal" (the largest decimal one), "bytes", "count" or "words".

    Of a training run, `workload="training"`, also any part at its peak; "forward", "loss", "backward" and "optimizer",
    the tensors of a phase; "allocated" and "reserved"; "states", what parameters cost, and "each", that for one
    parameter; "kept" and "layer", activations that wait, of all layers and of one; "trainable", "sent" and "host";
    "tokens_per_s" of a device, "step_s" and "utilization"; "flops" and "hardware_flops", of one token; "checkpoint",
    what is saved. Of a run of `training_tokens`: "days", "gpu_hours", "rent", "kwh" and "electricity".
    """
    if show and show not in SHOW:
        raise ValueError(f"show must be one of {', '.join(SHOW)}, not {show!r}")
    report: Any = estimate(scenario, repairs=False)
    if what == "capacity" and scenario.get("accelerator"):
        record = catalog().accelerator(str(scenario["accelerator"]))
        field = "memory_reported" if "memory_reported" in record.facts else "memory"
        return opening(SHOW[show or "GiB"](record.capacity_bytes), fact_line(record, field))
    value, steps, usual = look_up(what, report)
    if what == "devices":  # the working is that of the devices needed, not of the one asked about
        report = estimate(scenario | {"parallelism": report["memory"]["devices_needed_parallelism"]}, repairs=False)
        steps = report["steps"]
    elif what == "sequences":
        report = estimate(scenario | {"sequences": "max"})
        steps = report["steps"]
    return opening(SHOW[show or usual](value), element("span", steps_inline(steps)))


def steps_inline(steps: list[Report]) -> str:
    """Return the steps of a report for what a number opens, where no list can stand."""
    return "".join(step_html(found).replace("<li", "<span").replace("</li", "</span") for found in steps)


def look_up(what: str, report: Report) -> tuple[float, list[Report], str]:
    """Return a number, the steps that lead to it, and how it is usually shown."""
    memory, model = report["memory"], report["model"]
    if report["scenario"].get("workload") == "training" and (found_in_step := look_up_training(what, report)):
        return found_in_step
    if what in PARTS:
        part = next(part for part in memory["parts"] if part["id"] == what)
        return part["bytes"], part["steps"], "GiB"
    if what == "token":
        steps = [step for step in report["steps"] if step["name"].startswith("Cache of a")]
        return token_bytes(report), steps, "size"
    if what == "parameters":
        return model["parameters_total"], [parameter_step(model)], "words"
    if what == "active":
        return model["parameters_active"], [parameter_step(model)], "words"
    found = {
        "total": ("device_bytes", "GiB"),
        "headroom": ("headroom_bytes", "GiB"),
        "devices": ("devices_needed", "count"),
        "sequences": ("max_sequences", "count"),
    }
    if what not in found:
        known = dict.fromkeys((*PARTS, "token", "parameters", "active", "capacity", *found, *NAMES))
        raise ValueError(f"{what!r} is not a number of a report; there are {', '.join(known)}")
    key, form = found[what]
    if memory.get(key) is None:
        raise ValueError(f"{what!r} is not in this report: it needs an accelerator on which the model can fit")
    return memory[key], report["steps"], form


def parameter_step(model: Report) -> Report:
    """Return the sum of a model's blocks as a step."""
    return {
        "name": "Parameters",
        "formula": r"\sum_{\text{blocks}} N",
        "substituted": " + ".join(show_count(count) for count in model["blocks"].values()),
        "value": model["parameters_total"],
        "unit": "",
    }


def fact(accelerator: str, field: str) -> str:
    """Return a fact of an accelerator, inline; a reader who presses it sees its source and date."""
    record = catalog().accelerator(accelerator)
    if field not in record.facts:
        raise ValueError(f"{record.id} has no {field}; it has {', '.join(record.facts)}")
    return opening(record.facts[field].show(), fact_line(record, field))


def device(record: Accelerator) -> str:
    """Return an accelerator's name, inline; a reader who presses it sees every fact with its source and date."""
    return inline(device_link(record))


def step(name: str, formula: str, numbers: str, result: str) -> str:
    """Return a step of a working whose result is written already, such as a share or a number with decimals."""
    line = f"{text(numbers)} = {element('strong', text(result))}"
    title = element("span", text(name), class_="calc-step-name")
    return element("span", f"{title} {mathml(formula)} {element('span', line)}", class_="calc-step")


def stated(said: str, source_id: str) -> str:
    """Return a number that a source states and nothing here computes, inline; it opens to the source and its day."""
    found = catalog().source(source_id)
    day = text(f", checked {found.checked}." if found.checked else ".")
    return opening(said, element("span", text("Stated by ") + source_html(source_id) + day, class_="calc-step"))


def given(said: str) -> str:
    """Return a number that an example or a table supposes, as it is written: nobody's fact, so nothing opens."""
    return inline(text(said))


def source(source_id: str, shown: str) -> str:
    """Return a link to a source of the catalogue, with the words `shown`."""
    found = catalog().source(source_id)
    title = f"{found.publisher}: {found.title}"
    return inline(element("a", text(shown), href=found.url, title=title, rel="noopener"))


def opening(shown: str, content: str) -> str:
    """Return a number as a button that opens its working in place; it needs no script.

    A comma or full stop that follows stays on the line.
    """
    _opened[0] += 1
    identity = f"working-{_opened[0]}"
    button = element("button", text(shown), type="button", class_="calc-number", popovertarget=identity)
    opened = element("span", content, class_="calc-opened", popover=True, id=identity)
    return inline(button + opened) + "&NoBreak;"


def restart() -> None:
    """Begin to count opened numbers anew, as for each page, whose ids are its own."""
    _opened[0] = 0
