"""Tables of training runs, one row a run, its cells asked of `calc`; and of what a parameter costs."""

from collections.abc import Mapping
from typing import Any

from calc import estimate
from calc.calculators.html import element, table, text
from calc.calculators.parts import bytes_of, saved_bytes
from calc.calculators.sizes import size_gb, size_gib
from calc.catalog import catalog
from calc.planning.rules_of_thumb import added_multiples, devices_by_memory, rule_bytes
from calc.training.step import states_bytes
from calc.units import show_count
from macros.inline import SHOW, look_up
from macros.links import calculator_link
from macros.markdown import block
from macros.training_numbers import TIMES, Report, full_parameters, training

__all__ = ["copied_state_table", "multiplier_table", "rule_count_table", "training_table"]

Run = Mapping[str, object]
COLUMNS = {
    "states": "Model states",
    "each": "Bytes a parameter",
    "weights": "Weights",
    "adapters": "Adapters",
    "gradients": "Gradients",
    "optimizer_states": "Optimizer states",
    "kept": "Activations that wait",
    "layer": "A layer keeps",
    "activations": "Activations",
    "logits": "Logits",
    "communication_buffers": "Gathered and exchanged",
    "forward": "Forward",
    "loss": "Loss",
    "backward": "Backward",
    "optimizer": "Optimizer",
    "allocated": "Allocated",
    "total": "On each GPU",
    "saved": "Saved",
    "phase": "Peak",
    "fits": "Fits",
    "trainable": "Trained",
    "sent": "Each GPU sends in a step",
    "tokens_per_s": "Tokens a second, each GPU",
    "step_s": "A step takes",
    "bound": "Most of it is",
    "host": "Host memory",
    "devices": "Fewest GPUs",
}
WORDS = ("phase", "fits", "bound")
FINE_TUNE = ("model", "framework", "method", "precision", "optimizer", "checkpointing", "cross_entropy", "sharding")
COUNTS = ("micro_batch", "gradient_accumulation", "sequence_tokens", "accelerators")
UNASKED = (  # fields that no calculator asks for
    "selective",
    "attention",
    "optimizer_in_backward",
    "keep_logits",
    "compile",
    "expandable_segments",
    "frozen_gradients",
    "gradient_reduction",
    "tables_apart",
    "adapters_apart",
    "varied_lengths",
    "packed_tokens",
    "padding_mask",
    "gradient_dtype",
    "adapter_dtype",
    "gather_dtype",
    "tensor_overlap",
    "context_exchange",
    "gathered_inputs_kept",
    "narrow_gradients_kept",
    "shard_ranks",
)
BOUND = {  # what most of a step's time goes to, in words
    "compute": "computing",
    "memory": "reading memory",
    "links": "links",
    "launch": "launching work",
    "pipeline": "idle stages",
    "optimizer": "updating",
}
SHARED = {  # what a caption says of a run where all rows have it: without it, two tables would contradict each other
    ("checkpointing", "full"): "every layer checkpointed",
    ("checkpointing", "selective"): "checkpointed selectively",
    ("cross_entropy", "fused"): "loss fused",
    ("cross_entropy", "chunked"): "loss in chunks",
}
NO_CHANGE_BYTES = 10_000_000  # less than the two decimals that a table shows


def training_table(
    base: Run, *rows: tuple[Any, ...], columns: tuple[str, ...], words: tuple[str, ...] = (), caption: str
) -> str:
    """Return a table of training runs. A row is its words, what it changes of `base`, and cells for `words`.

    `columns` are numbers as in `number`, "saved" against the first row, "phase", "fits" or "bound". The words of a row
    lead to the calculator where its fields can say what the run is. The caption ends with what all rows share.
    """
    changed = {name for _, changes, *_ in rows for name in changes}
    caption = ", ".join(
        (
            caption,
            *(words for (name, value), words in SHARED.items() if name not in changed and base.get(name) == value),
        )
    )
    first: Report = estimate(training({**base, **rows[0][1]}), repairs=False)
    cells = []
    for shown, changes, *said in rows:
        report: Report = estimate(training({**base, **changes}), repairs=False)
        figures = [cell(column, report, first) for column in columns]
        cells.append([training_link(shown, report), *figures, *map(text, said)])
    headings = ("Run", *(COLUMNS[name] for name in columns), *words)
    worded = [position for position, name in enumerate(columns, 1) if name in WORDS]
    worded += range(1 + len(columns), 1 + len(columns) + len(words))
    return block(table(headings, cells, caption=caption, words=(0, *worded)))


def cell(column: str, report: Report, first: Report) -> str:
    """Return one cell of a run, of which `first` is the report that it is compared with."""
    memory = report["memory"]
    if column == "saved":
        saved = saved_bytes(first, report)
        return "–" if abs(saved) < NO_CHANGE_BYTES else f"{'−' if saved < 0 else ''}{size_gib(abs(saved))}"
    if column == "bound":
        return BOUND[report["speed"]["bound_by"]] if report["speed"] else "–"
    if column == "phase":
        return text(memory["phase"])
    if column == "fits":
        return "yes" if memory["fits"] else "no"
    if column == "devices" and not memory["devices_needed"]:
        return "–"
    if column in TIMES and report["speed"] is None:
        return "–"
    value, _, form = look_up(column, report)
    return SHOW[form](value) if value else "–"


def training_link(shown: str, report: Report) -> str:
    """Return words that lead to the fine-tune or the pre-training calculator, plain where neither can say the run."""
    scenario = report["scenario"]
    if "lora" in scenario and (scenario["lora"]["targets"] != default_targets(report) or scenario["lora"]["dora"]):
        return text(shown)
    if len(scenario["offload"]) > 1 or any(name in scenario and name not in report["defaults"] for name in UNASKED):
        return text(shown)
    asked = {name: scenario[name] for name in (*FINE_TUNE, *COUNTS) if name in scenario}
    asked["model"] = report["model"]["id"]
    if scenario.get("accelerator"):
        asked["accelerator"] = scenario["accelerator"]
    degrees = scenario["parallelism"]
    if degrees["data"] == scenario["accelerators"] and degrees["expert"] == 1:
        if "lora" in scenario:
            asked |= {"rank": scenario["lora"]["rank"], "base_weights": scenario["base_weights"]}
        if scenario["offload"]:
            asked["offload"] = scenario["offload"][0]
        return calculator_link("fine-tune", shown, **asked)
    if scenario["method"] != "full" or scenario["offload"]:
        return text(shown)
    asked = {name: value for name, value in asked.items() if name not in ("method", "accelerators")} | degrees
    if scenario["sequence_parallel"]:
        asked["sequence_parallel"] = "yes"
    return calculator_link("pre-training", shown, **asked)


def default_targets(report: Report) -> list[str]:
    """Return the matrices that have adapters where nothing else is asked."""
    plain: Report = estimate(training({"model": report["model"]["id"], "method": "lora"}))
    return list(plain["scenario"]["lora"]["targets"])


def cited(source_id: str) -> str:
    """Return a link to a source of the catalogue that is as short as a cell: who published it."""
    found = catalog().source(source_id)
    return element("a", text(found.publisher), href=found.url, title=found.title, rel="noopener")


def copied_state_table(*rows: tuple[str, str, str, str, str], sequence_tokens: int = 4096) -> str:
    """Return the widely copied table of training memory beside what is computed.

    A row is its name, a model, and the three figures that the table gives: parameters, gradients and states, the sum.
    """
    cells = []
    for name, model, *said in rows:
        asked = {"model": model, "sequence_tokens": sequence_tokens, "checkpointing": "full"}
        sizes = [states_bytes(training({**asked, **kept})) for kept in ({"gradient_dtype": "bf16"}, {})]
        report: Report = estimate(training(asked))
        total = training_link(size_gb(report["memory"]["device_bytes"]), report)
        cells.append([text(f"{name}: {report['model']['name']}"), *map(text, said), *map(size_gb, sizes), total])
    headings = (
        "Size and model",
        "It says: parameters",
        "Gradients, optimizer",
        "“Total”",
        "States",
        "With FP32 gradients",
        "With a sequence",
    )
    caption = (
        "A widely copied table, and what is computed: model states in mixed precision, and a device that trains with "
        f"one sequence of {show_count(sequence_tokens)} tokens and checkpointing"
    )
    return block(table(headings, cells, caption=caption, words=(0, 1, 2, 3)))


def rule_count_table(models: tuple[str, ...], devices: tuple[str, ...], *, factor: int = 6, width: int = 2) -> str:
    """Return the devices that the rule of `factor` times the weights gives, beside the fewest on which FSDP fits."""
    rows = []
    for name in models:
        model, count = catalog().model(name), full_parameters(name)
        ruled = rule_bytes(parameters=count, multiple=factor, width=width)
        cells = [text(model.name), size_gb(ruled)]
        for device in devices:
            record = catalog().accelerator(device)
            capacity = record.quantity("memory") or record.capacity_bytes
            run = training({"model": name, "accelerator": device, "sharding": "zero-3", "checkpointing": "full"})
            report: Report = estimate({**run, "sequence_tokens": min(4096, model.context_tokens)}, repairs=False)
            needed = report["memory"]["devices_needed"]
            shown = show_count(needed) if needed else "–"
            if needed:
                run |= {"accelerators": needed, "sequence_tokens": report["scenario"]["sequence_tokens"]}
                shown = training_link(shown, estimate(run))
            cells += [show_count(devices_by_memory(ruled, capacity_bytes=capacity)), shown]
        rows.append(cells)
    names = [catalog().accelerator(device).name for device in devices]
    headings = ("Model", f"{factor} × weights", *(f"{name}: {what}" for name in names for what in ("rule", "FSDP")))
    caption = f"GPUs by the rule of {factor} times the 16-bit weights, and the fewest on which a run fits"
    return block(table(headings, rows, caption=caption))


def multiplier_table(model: str, *rows: tuple[str, str, tuple[str, ...]], width: int = 2) -> str:
    """Return the copied list of multipliers beside what is computed for two micro-batches.

    A row is an item, the multiple that the list gives (empty for none), and the parts that it stands for.
    """
    count = full_parameters(model)
    reports: list[Report] = [estimate(training({"model": model, "micro_batch": size})) for size in (1, 8)]
    cells = []
    for item, multiple, parts in rows:
        said = rule_bytes(parameters=count, multiple=float(multiple or 0), width=width)
        computed = [bytes_of(report, parts) for report in reports]
        shown = f"{multiple}×" if multiple else "not in the list"
        cells.append([text(item), shown, size_gb(said) if said else "–", *(size_gb(size) for size in computed)])
    added = added_multiples(multiple for _, multiple, _ in rows)
    every = [part for *_, parts in rows for part in parts]
    sums = [rule_bytes(parameters=count, multiple=added, width=width), *(bytes_of(one, every) for one in reports)]
    cells.append(["Together", f"{added:g}×", *map(size_gb, sums)])
    headings = ("Item", "The list", "That would be", "Computed, 1 sequence", "Computed, 8 sequences")
    named = catalog().model(model).name
    tokens = show_count(reports[0]["scenario"]["sequence_tokens"])
    caption = (
        f"The list of multipliers of 16-bit weights, and {named} at the peak of a step, with sequences of {tokens} "
        "tokens, without checkpointing"
    )
    return block(table(headings, cells, caption=caption, words=(0, 1)))
