"""Numbers of a training run in prose and tables: each with the steps that lead to it."""

from collections.abc import Mapping
from typing import Any

from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.memory.training.moments import BACKWARD, FORWARD, LOSS, PARTS, STEP
from calc.memory.training.run import Adapters
from calc.performance.step_traffic import sent_bytes, step_traffic
from calc.performance.token_flops import token_flops
from calc.performance.training_working import flops_steps
from calc.planning.runs import days, device_hours
from calc.scenario.model import known_architecture
from calc.training.adapters import adapted_matrices
from calc.training.reading import read_training
from calc.training.step import bytes_a_parameter, model_states, moments, saved_states, together
from calc.units import show_count, show_number

Report = dict[str, Any]
Found = tuple[float, list[Report], str]
TRAINING_PARTS = (*PARTS, "allocator_reserve", "runtime_context")
SUM = "Memory of the fullest device"  # the last of a report's steps on memory
FIRST_OF_SPEED = "Operations of the model for one token"  # the first of a report's steps on speed
TIMES = {  # a number, its field among a report's speeds, the step that ends with it, and how it is shown
    "tokens_per_s": ("tokens_per_s_per_device", "Tokens a second and device", "tokens/s"),
    "step_s": ("step_s", "Seconds of a step", "seconds"),
    "utilization": ("model_flops_utilization", "Model FLOPs utilization", "share"),
}
RUN_COSTS = {  # a number of a whole run, its field among a report's costs, the step that ends with it, how it is shown
    "rent": ("rent", "Rent of the run", "USD"),
    "kwh": ("energy_kwh", "Energy of the run", "kWh"),
    "electricity": ("electricity", "Electricity of the run", "USD"),
}
LAYER, TENSOR = "A layer keeps", "A layer keeps: "  # steps of a report: of a layer, and of one of its tensors
PHASES = (FORWARD, LOSS, BACKWARD, STEP)
FIGURES = {"allocated": "allocated_bytes", "reserved": "reserved_bytes", "total": "device_bytes"}


def step(name: str, formula: str, numbers: str, value: float, unit: str = "B") -> Report:
    """Return a step of a working."""
    return {"name": name, "formula": formula, "substituted": numbers, "value": value, "unit": unit}


def states(report: Report) -> Found:
    """Return what the parameters cost: weights, masters, gradients and states, all of them there."""
    parts = {name: size for name, size in model_states(report["scenario"]).items() if size}
    formula = " + ".join(rf"M_{{\text{{{name.replace('_', ' ')}}}}}" for name in parts)
    numbers = " + ".join(show_count(size) for size in parts.values())
    return together(parts), [step("Model states", formula, numbers, together(parts))], "GiB"


def each(report: Report) -> Found:
    """Return the bytes that the model states cost for each parameter of the model."""
    size, steps, _ = states(report)
    count = report["model"]["parameters_total"]
    numbers = f"{show_count(size)} / {show_count(count)}"
    value = bytes_a_parameter(size, parameters=count)
    return value, [*steps, step("Bytes a parameter", r"\frac{M}{N}", numbers, value)], "each"


def kept(report: Report) -> Found:
    """Return the activations that wait for their backward pass, when most of them do."""
    widest = max(moments(report["scenario"]), key=lambda moment: moment.kept)
    part = next(part for part in report["memory"]["parts"] if part["id"] == "activations")
    steps = [item for item in part["steps"] if item["name"].startswith(LAYER) and not item["name"].startswith(TENSOR)]
    formula, numbers = r"\sum B_{\text{kept}}", show_count(widest.kept)
    if len({item["name"] for item in steps}) == len(steps):  # layers of one kind
        each = steps[-1]["value"]
        layers, shared = divmod(widest.kept, each)
        formula = r"n \cdot B_{\text{layer}} + B_{\text{shared}}"
        numbers = f"{layers} × {show_count(each)} + {show_count(shared)}"
    return widest.kept, [*steps, step(f"Kept when {widest.reason}", formula, numbers, widest.kept)], "GiB"


def layer(report: Report) -> Found:
    """Return what one layer keeps for its backward pass."""
    part = next(part for part in report["memory"]["parts"] if part["id"] == "activations")
    steps = [step for step in part["steps"] if step["name"].startswith(LAYER)]
    return steps[-1]["value"], steps, "size"


def trainable(report: Report) -> Found:
    """Return the parameters that are trained, of adapters matrix by matrix."""
    count, adapters = report["model"]["parameters_trainable"], report["scenario"].get("lora")
    if not adapters:
        return count, [step("Trained parameters: all", "N", show_count(count), count, unit="")], "words"
    rank = adapters["rank"]
    each = Adapters(rank, tuple(adapters["targets"]), experts=adapters["experts"])
    listed = adapted_matrices(known_architecture(catalog(), report["model"]["id"]), each)
    terms = [f"{alike} × {rank} × ({show_count(rows)} + {show_count(columns)})" for alike, rows, columns in listed]
    name = f"Adapters of rank {rank}"
    return count, [step(name, r"\sum L \cdot r \cdot (m + n)", " + ".join(terms), count, unit="")], "words"


def sent(report: Report) -> Found:
    """Return the bytes that one device sends in a step."""
    found = step_traffic(read_training(report["scenario"], catalog()).plan)
    steps = [step(item.what, item.formula, item.numbers, item.bytes) for item in found]
    size = sent_bytes(found)
    if len(steps) > 1:
        numbers = " + ".join(show_count(item.bytes) for item in found)
        steps.append(step("One device sends", r"\sum B", numbers, size))
    return size, steps, "decimal"


def host(report: Report) -> Found:
    """Return the host memory that offloading takes, of all devices together."""
    size = report["memory"]["host_bytes"]
    return size, [step("On the host, of all devices", r"\sum B_{\text{offloaded}}", show_count(size), size)], "GiB"


def memory_steps(report: Report) -> list[Report]:
    """Return the steps of a report that lead to the memory of the fullest device; those on speed follow them."""
    last = next(index for index, item in enumerate(report["steps"]) if item["name"].startswith(SUM))
    return list(report["steps"][: last + 1])


def operations(report: Report) -> Found:
    """Return the operations of the model for one token of training."""
    flops = token_flops(read_training(report["scenario"], catalog()).plan)
    return flops.model, [one.as_dict() for one in flops_steps(flops)], "words"


def hardware_operations(report: Report) -> Found:
    """Return the operations for one token of training with what checkpointing computes twice."""
    flops = token_flops(read_training(report["scenario"], catalog()).plan)
    numbers = f"{show_count(flops.model)} + {show_count(flops.repeated)}"
    twice = step("With what is computed twice", r"F + F_{\text{twice}}", numbers, flops.hardware, unit="operations")
    return flops.hardware, [*operations(report)[1], twice], "words"


def saved(report: Report) -> Found:
    """Return the bytes of a checkpoint from which a run goes on, of all devices."""
    parts = saved_states(report["scenario"])
    formula = " + ".join(rf"M_{{\text{{{name.replace('_', ' ')}}}}}" for name in parts)
    numbers = " + ".join(show_count(size) for size in parts.values())
    return together(parts), [step("Checkpoint", formula, numbers, together(parts))], "decimal"


def run_time(key: str, report: Report) -> Found:
    """Return the days of a run, or the hours of all its devices. Raises ValueError where they are not known."""
    if report["speed"] is None or report["speed"]["duration_s"] is None:
        raise ValueError(f"{key!r} is not in this report: it needs training_tokens and an accelerator")
    seconds, devices = report["speed"]["duration_s"]["typical"], report["scenario"]["accelerators"]
    names = [item["name"] for item in report["steps"]]
    steps = report["steps"][names.index(FIRST_OF_SPEED) : names.index("Seconds of the run") + 1]
    shown = show_number(seconds, 4)
    if key == "days":
        last = step("Days", r"\frac{t}{86400}", f"{shown} / 86,400", days(seconds), unit="days")
    else:
        numbers = f"{shown} × {show_count(devices)} / 3,600"
        last = step("GPU-hours", r"\frac{t \cdot n}{3600}", numbers, device_hours(seconds, devices=devices), unit="h")
    return last["value"], [*steps, last], RUN_TIMES[key]


def run_cost(key: str, report: Report) -> Found:
    """Return what a run costs. Raises ValueError where it is not known."""
    field, last, form = RUN_COSTS[key]
    found = report["cost"] and report["cost"][field]
    run = found and found["per_run"]
    if not run:
        raise ValueError(f"{key!r} is not in this report: it needs training_tokens and an accelerator with a price")
    one = next(item for item in report["steps"] if item["name"] == last)
    return run["typical"], [*run_time("gpu_hours", report)[1], one], form


def timed(key: str, report: Report) -> Found:
    """Return a speed of the run, with the steps that lead to it. Raises ValueError where it is not known."""
    field, last, form = TIMES[key]
    if report["speed"] is None:
        raise ValueError(f"{key!r} is not in this report: it needs an accelerator whose speed is modelled")
    names = [item["name"] for item in report["steps"]]
    steps = report["steps"][names.index(FIRST_OF_SPEED) : names.index(last) + 1]
    return report["speed"][field]["typical"], steps, form


COUNTED = {
    "states": states,
    "each": each,
    "kept": kept,
    "layer": layer,
    "trainable": trainable,
    "sent": sent,
    "host": host,
    "flops": operations,
    "hardware_flops": hardware_operations,
    "checkpoint": saved,
}
RUN_TIMES = {"days": "days", "gpu_hours": "hours"}
NAMES = (*TRAINING_PARTS, *PHASES, *FIGURES, *COUNTED, *TIMES, *RUN_TIMES, *RUN_COSTS, "headroom")


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
        return memory[FIGURES[what]], memory_steps(report), "GiB"
    if what == "headroom" and "headroom_bytes" in memory:
        numbers = f"{show_count(memory['capacity_bytes'])} − {show_count(memory['device_bytes'])}"
        left = step("Left", r"M_{\text{device}} - M", numbers, memory["headroom_bytes"])
        return memory["headroom_bytes"], [*memory_steps(report), left], "GiB"
    if what in TIMES:
        return timed(what, report)
    if what in RUN_TIMES:
        return run_time(what, report)
    if what in RUN_COSTS:
        return run_cost(what, report)
    return COUNTED[what](report) if what in COUNTED else None


def full_parameters(model: str) -> int:
    """Return the parameters of a catalogue model."""
    return parameters_total(known_architecture(catalog(), catalog().model(model).id))


def training(scenario: Mapping[str, object]) -> dict[str, object]:
    """Return a scenario of a training run; None takes a field out."""
    return {"workload": "training", **{name: value for name, value in scenario.items() if value is not None}}
