"""The answer of both training calculators: verdict, phases, parts, and the repairs or the room."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import cast

from calc.calculators.asked import batch_words, run_words
from calc.calculators.certainty import fit_word, fitting, it_fits, starting, unless_sure
from calc.calculators.engines import devices, division, first_repair
from calc.calculators.html import element, table, text
from calc.calculators.inputs import Input, Report, Values
from calc.calculators.memory_bar import bars_html
from calc.calculators.rendering import Verdict, answer_html, facts_html, measured_text, parts_html, whole_machines
from calc.calculators.sizes import size_gib
from calc.calculators.starting import start_html
from calc.calculators.training_speed import speed_assumptions, speed_html
from calc.catalog import catalog
from calc.training.changes import PRICES, QUALITY, Change
from calc.training.reading import read_training
from calc.training.repairs import Repair, repairs, room, together
from calc.units import show_count

PHASES = {"forward": "Forward", "loss": "Loss", "backward": "Backward", "optimizer": "Optimizer"}


def asked_for(report: Report) -> dict[str, object]:
    """Return the scenario as it was asked, without the defaults that were filled in."""
    defaults = set(report["defaults"])
    return {name: value for name, value in report["scenario"].items() if name not in defaults}


def verdict(report: Report) -> Verdict:
    """Return whether it runs and fits, and the answer in a headline and a sentence."""
    memory, scenario = report["memory"], report["scenario"]
    name, count = catalog().accelerator(scenario["accelerator"]).name, scenario["accelerators"]
    split = division(report)
    where = f"on {devices(count, name)}" + (f" ({split})" if split else "")
    if stopped := does_not_start(report, where):
        return stopped
    takes = "takes" if memory["fits"] else "needs"
    amounts = f"{size_gib(memory['device_bytes'])} of {size_gib(memory['capacity_bytes'])}"
    run = f"{run_words(report)} with {batch_words(scenario)} {takes} {amounts}"
    each = f"{run} {where}" if count == 1 else f"{run} on the fullest device, {where}"
    spare = size_gib(abs(memory["headroom_bytes"]))
    if memory["fits"]:
        return starting(report), f"{it_fits(memory)}, with {spare} to spare:", f"{each}.{unless_sure(report)}"
    close = " Some such runs would fit." if memory["device_bytes_range"][0] <= memory["capacity_bytes"] else ""
    return False, f"It does not fit, {spare} are missing:", f"{each}.{close}{first_repair(report)}"


def does_not_start(report: Report, where: str) -> tuple[bool, str, str] | None:
    """Return why a run does not start on devices, as a headline and a sentence; None where nobody says that."""
    if report["runs"] is not False:
        return None
    said = "; ".join(item["message"] for item in report["runs_because"])
    return False, "It does not run:", f"{run_words(report)} {where}: {said}."


def figures_html(report: Report) -> str:
    """Return the three figures that people read, each with its range."""
    memory = report["memory"]
    shown = (
        ("allocated", "Allocated: tensors (torch.cuda.max_memory_allocated)"),
        ("reserved", "Reserved: with the allocator's unused blocks (max_memory_reserved)"),
        ("device", "Device: with its context (nvidia-smi)"),
    )
    rows = [
        [text(label), size_gib(memory[f"{key}_bytes"]), *(size_gib(end) for end in memory[f"{key}_bytes_range"])]
        for key, label in shown
    ]
    headings = ("Figure", "Expected", "Low", "High")
    return table(headings, rows, caption="What tools show: four of five runs lie in the range", class_="calc-parts")


def phases_html(report: Report) -> str:
    """Return a bar for each phase: the tensors at its widest moment against what the device leaves for tensors."""
    memory = report["memory"]
    peak = max(memory["phases"].values())
    room_bytes = max(memory["capacity_bytes"] - (memory["device_bytes"] - peak), 0)
    scale = max(peak, room_bytes)
    rows = ""
    for phase, size in memory["phases"].items():
        widest = phase == memory["phase"]
        kind = "part-peak" if widest else "part-phase"
        drawn = element("rect", x="0", y="0", width=f"{100 * size / scale:.2f}%", height="16", class_=kind)
        drawn += element(
            "rect", x=f"{min(100 * room_bytes / scale, 99.5):.2f}%", y="0", width="2", height="16", class_="part-limit"
        )
        label = text(f"{PHASES[phase]} {size_gib(size)}")
        label = element("strong", f"{label}, the peak") if widest else label
        rows += element("li", label + element("svg", drawn, width="100%", height=16, aria_hidden="true"))
    reason = f"The peak: {memory['peak_reason']}. The line is what the device leaves for tensors: "
    title = element("p", text(reason + f"{size_gib(room_bytes)}."))
    return element("div", title + element("ul", rows, class_="calc-phase-list"), class_="calc-bars calc-phases")


def repairs_html(report: Report, known: Collection[str], fine_tuning: bool) -> str:
    """Return what would make it surely fit, cheapest first, or what else would; `known` are the fields of the form."""
    scenario = asked_for(report)
    if fitting(report["memory"]) is True:
        return room_html(scenario, report)
    tight = report["memory"]["fits"]
    single, fit = repairs(scenario, fine_tuning=fine_tuning), "sure" if tight else "fit"
    html = ""
    if single:
        html += repair_list(f"Each of these alone makes it {fit}, cheapest first:", single, known)
    if not any(repair.change.level < QUALITY for repair in single):
        several = together(scenario, fine_tuning=fine_tuning)
        if several and (not single or all(repair.change.level < QUALITY for repair in several)):
            tightly = "" if several[-1].sure else ", tightly"
            html += repair_list(f"These together make it {fit}{tightly}:", several, known, at_once=True)
    if not html:
        html = element("p", f"No change that this calculator knows makes it {fit} on these devices.")
    return html + (room_html(scenario, report) if tight else needs_html(report))


def repair_list(title: str, found: list[Repair], known: Collection[str], *, at_once: bool = False) -> str:
    """Return repairs as a ranked list: what to change, what it saves and leaves, and its price in words.

    A page lets its reader take each with a press, or all of them `at_once`.
    """
    items = ""
    taken = [taken_by(repair.change, known) for repair in found]
    every = reduce(or_, (one for one in taken if one)) if at_once and all(taken) else None
    for repair, one in zip(found, taken, strict=True):
        change = repair.change
        host = f" Takes {size_gib(repair.host_bytes)} of host memory." if repair.host_bytes else ""
        tight = "" if repair.sure or at_once else ", which is tight"
        effect = f"saves {size_gib(repair.saved_bytes)}, then {size_gib(repair.device_bytes)} are needed{tight}."
        price = element("em", f"Costs {PRICES[change.level]}.") + f" {text(change.price + host)}"
        items += element("li", f"{said(change.what, None if at_once else one)}: {effect} {price}")
    return element("div", element("p", said(title, every)) + element("ol", items), class_="calc-repairs")


def said(words: str, fields: Values | None) -> str:
    """Return words that stand out, with the fields of the form that a press on them sets."""
    return element("strong", text(words), data_change=json.dumps(fields) if fields else None)


def taken_by(change: Change, known: Collection[str]) -> Values | None:
    """Return what a change sets in a form with these fields, None where the form has no field for a part of it."""
    fields = dict(change.fields)
    degrees = cast("Mapping[str, int]", fields.pop("parallelism", {}))
    count = fields.pop("accelerators", None)
    if "data" in known:
        fields |= degrees
    elif degrees:
        if math.prod(degrees.values()) != degrees["data"]:
            return None
        fields["accelerators"] = count
    if isinstance(offload := fields.get("offload"), list):
        if len(offload) > 1:
            return None
        (fields["offload"],) = offload
    if any(value is not None and name not in known for name, value in fields.items()):
        return None
    return {name: "" if value is None else str(value) for name, value in fields.items() if name in known}


def room_html(scenario: dict[str, object], report: Report) -> str:
    """Return the largest micro-batch and the longest sequence that fit."""
    found = room(scenario)
    tokens = f"{show_count(found.sequence_tokens)} tokens"
    if found.whole_context:
        tokens += ", the model's whole context"
    return needs_html(
        report,
        f"Largest micro-batch at this length: <strong>{show_count(found.micro_batch)}</strong>",
        f"Longest sequence at this micro-batch: <strong>{tokens}</strong>",
    )


def needs_html(report: Report, *first: str) -> str:
    """Return what else the run takes, as a list of facts."""
    memory, model = report["memory"], report["model"]
    items = [*first]
    trained, total = model["parameters_trainable"], model["parameters_total"]
    items.append(f"Trained parameters: <strong>{show_count(trained)}</strong> beside {show_count(total)} of the model")
    if trained == total:
        items[-1] = f"Trained parameters: <strong>{show_count(trained)}</strong>, all of the model"
    if memory["devices_needed"]:
        fewest = {"scenario": {"parallelism": memory["devices_needed_parallelism"]}}
        split = division(fewest) or "undivided"
        items.append(
            f"Fewest devices of this kind: <strong>{show_count(memory['devices_needed'])}</strong> ({text(split)})"
            + whole_machines(report)
        )
    if memory["host_bytes"]:
        items.append(f"Host memory: <strong>{size_gib(memory['host_bytes'])}</strong>")
    items.append(f"All devices together: <strong>{size_gib(memory['sum_over_devices_bytes'])}</strong>")
    return facts_html([*items, measured_text(report, "memory")])


def assumptions(report: Report) -> list[str]:
    """Return what the answer takes for granted."""
    scenario = report["scenario"]
    memory = catalog().accelerator(scenario["accelerator"]).memory_fact
    basis = "as its driver reports" if memory.basis == "driver" else memory.basis
    gradients = {"bf16": "BF16", "fp16": "FP16", "fp32": "FP32"}[scenario["gradient_dtype"]]
    attention = "in tiles, and keeps no score matrix" if scenario["attention"] == "flash" else "with stored scores"
    compiled = read_training(scenario, catalog()).plan.choices.compiled
    fused = "fused and computed twice" if compiled else "as PyTorch runs them, one by one"
    adapters = [] if scenario["method"] == "full" else ["Adapters on every matrix of the layers, none on the head."]
    return [
        *adapters,
        f"Gradients that wait for the optimizer are {gradients}.",
        f"Attention is computed {attention}; pointwise operations {fused}.",
        "Every sequence has the full length, and batches carry no padding mask.",
        "The training loop holds the logits until the loss has run backward.",
        "Nothing else is on the device: no evaluation, no desktop, no other job.",
        *speed_assumptions(),
        f"The device has {text(memory.show())} ({basis}).",
    ]


def render(report: Report, inputs: Sequence[Input], fine_tuning: bool) -> str:
    """Return the answer's HTML to a form with these inputs."""
    bars = bars_html(report) + phases_html(report)
    known = {field.name for field in inputs}
    facts = repairs_html(report, known, fine_tuning) + figures_html(report) + parts_html(report) + speed_html(report)
    facts += start_html(report) if fine_tuning else ""  # what starts it tunes models that are there
    line = verdict(report)
    return answer_html(line, report, bars=bars, facts=facts, assumptions=assumptions(report))


def status(report: Report) -> str:
    """Return the answer as one sentence for a screen reader."""
    _, headline, rest = verdict(report)
    return f"{headline} {rest} The {report['memory']['phase']} phase makes the peak."


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    memory = report["memory"]
    needed, has = size_gib(memory["device_bytes"]), size_gib(memory["capacity_bytes"])
    return needed, has, memory["phase"], fit_word(memory)


HEADINGS = ("Needed on each GPU", "It has", "Peak", "Answer")
