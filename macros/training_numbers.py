"""Numbers of a training run in prose and tables: each with the steps that lead to it."""

from collections.abc import Mapping
from typing import Any

from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.performance.step_traffic import step_traffic
from calc.scenario import known_architecture
from calc.training.reading import read_training
from calc.training.step import model_states, moments
from calc.units import show_count

Report = dict[str, Any]
Found = tuple[float, list[Report], str]
TRAINING_PARTS = (
    "weights",
    "master_weights",
    "adapters",
    "gradients",
    "optimizer_states",
    "activations",
    "logits",
    "communication_buffers",
    "optimizer_workspace",
    "allocator_reserve",
    "runtime_context",
)
PHASES = ("forward", "loss", "backward", "optimizer")
FIGURES = {"allocated": "allocated_bytes", "reserved": "reserved_bytes", "total": "device_bytes"}


def step(name: str, formula: str, numbers: str, value: float, unit: str = "B") -> Report:
    """Return a step of a working."""
    return {"name": name, "formula": formula, "substituted": numbers, "value": value, "unit": unit}


def states(report: Report) -> Found:
    """Return what the parameters cost: weights, masters, gradients and states, all of them there."""
    parts = {name: size for name, size in model_states(report["scenario"]).items() if size}
    formula = " + ".join(rf"M_{{\text{{{name.replace('_', ' ')}}}}}" for name in parts)
    numbers = " + ".join(show_count(size) for size in parts.values())
    return sum(parts.values()), [step("Model states", formula, numbers, sum(parts.values()))], "GiB"


def each(report: Report) -> Found:
    """Return the bytes that the model states cost for each parameter of the model."""
    size, steps, _ = states(report)
    count = report["model"]["parameters_total"]
    numbers = f"{show_count(size)} / {show_count(count)}"
    return size / count, [*steps, step("Bytes a parameter", r"\frac{M}{N}", numbers, size / count)], "each"


def kept(report: Report) -> Found:
    """Return the activations that wait for their backward pass, when most of them do."""
    widest = max(moments(report["scenario"]), key=lambda moment: moment.kept)
    return (
        widest.kept,
        [step(f"Kept when {widest.reason}", r"\sum B_{\text{kept}}", show_count(widest.kept), widest.kept)],
        "GiB",
    )


def layer(report: Report) -> Found:
    """Return what one layer keeps for its backward pass."""
    part = next(part for part in report["memory"]["parts"] if part["id"] == "activations")
    steps = [step for step in part["steps"] if step["name"].startswith("A layer keeps")]
    return steps[-1]["value"], steps, "size"


def trainable(report: Report) -> Found:
    """Return the parameters that are trained, of adapters matrix by matrix."""
    count, adapters = report["model"]["parameters_trainable"], report["scenario"].get("lora")
    if not adapters:
        return count, [step("Trained parameters: all", "N", show_count(count), count, "")], "words"
    rank, terms = adapters["rank"], []
    for kind, layers in known_architecture(catalog(), report["model"]["id"]).kind_counts():
        for tensor in kind.tensors:
            if len(tensor.shape) == 2 and tensor.name.split(".")[-2] in adapters["targets"]:
                rows, columns = tensor.shape
                terms.append(f"{layers * tensor.copies} × {rank} × ({show_count(rows)} + {show_count(columns)})")
    name = f"Adapters of rank {rank}"
    return count, [step(name, r"\sum L \cdot r \cdot (m + n)", " + ".join(terms), count, "")], "words"


def sent(report: Report) -> Found:
    """Return the bytes that one device sends in a step."""
    found = step_traffic(read_training(report["scenario"], catalog()).plan)
    steps = [step(item.what, item.formula, item.numbers, item.bytes) for item in found]
    return sum(item.bytes for item in found), steps, "size"


def host(report: Report) -> Found:
    """Return the host memory that offloading takes, of all devices together."""
    size = report["memory"]["host_bytes"]
    return size, [step("On the host, of all devices", r"\sum B_{\text{offloaded}}", show_count(size), size)], "GiB"


COUNTED = {
    "states": states,
    "each": each,
    "kept": kept,
    "layer": layer,
    "trainable": trainable,
    "sent": sent,
    "host": host,
}
NAMES = (*TRAINING_PARTS, *PHASES, *FIGURES, *COUNTED)


def look_up_training(what: str, report: Report) -> Found | None:
    """Return a number of a training report, the steps that lead to it and how it is shown; None for no such number."""
    memory = report["memory"]
    if what in TRAINING_PARTS:
        part = next(part for part in memory["parts"] if part["id"] == what)
        return part["bytes"], part["steps"], "GiB"
    if what in PHASES:
        widest = max((m for m in moments(report["scenario"]) if m.phase == what), key=lambda moment: moment.total)
        parts = {name: size for name, size in widest.parts.items() if size}
        formula = " + ".join(rf"M_{{\text{{{name.replace('_', ' ')}}}}}" for name in parts)
        numbers = " + ".join(show_count(size) for size in parts.values())
        name = f"Tensors when {widest.reason}"
        return widest.total, [step(name, formula, numbers, widest.total)], "GiB"
    if what in FIGURES:
        return memory[FIGURES[what]], report["steps"], "GiB"
    return COUNTED[what](report) if what in COUNTED else None


def full_parameters(model: str) -> int:
    """Return the parameters of a catalogue model."""
    return parameters_total(known_architecture(catalog(), catalog().model(model).id))


def training(scenario: Mapping[str, object]) -> dict[str, object]:
    """Return a scenario of a training run; None takes a field out."""
    return {"workload": "training", **{name: value for name, value in scenario.items() if value is not None}}
