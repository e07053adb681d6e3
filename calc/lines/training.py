"""What a line asks of training: the scenario of a run, or the planner's question after one."""

import re

from calc.architecture.parameters import parameters_total
from calc.catalog.support import METHODS
from calc.lines.layout import layout
from calc.lines.makers import vendors
from calc.lines.reader import Reader
from calc.memory.training.states import MATRICES, OPTIMIZERS
from calc.planner.question import MOST_DEVICES
from calc.planning.training_support import has_method
from calc.scenario.fields import USUAL_FRAMEWORK
from calc.scenario.model import known_architecture

SEQUENCE = 2048  # tokens of each that is tuned on
MANY = 1e9  # tokens of a data set: more than anybody fine-tunes on
TRAINER = ("framework", "engine_version")
RUN = ("model", *TRAINER, "method", "precision", "base_weights", "optimizer", "sequence_tokens", "training_tokens")
TUNES = re.compile(r"tun(?:e|ing)|\bsft\b")  # what is tuned is not trained anew
TOKENS_EACH = 20  # of a parameter
TUNED_ON = 10_000_000  # tokens
FEWEST_OF_A_STAGE = 4  # micro-batches


def trained(reader: Reader, kind: str) -> dict[str, object]:
    """Return the scenario of training that a line makes."""
    names = ("model", "accelerator", "accelerators", "power_limit", "pcie", *TRAINER, "method", "precision")
    scenario = {"workload": "training", **reader.said((*names, "base_weights", "optimizer")), **layout(reader)}
    scenario |= reader.said(("sharding", "checkpointing", "micro_batch", "sequence_tokens", "training_tokens"))
    tokens = reader.number("training_tokens")
    anew = is_anew(reader) if tokens is None else tokens >= MANY
    several = ((reader.count("accelerators") or 1) > 1 or kind == "trained_on") and "parallelism" not in scenario
    usual: dict[str, object] = {
        "method": "full" if is_whole(reader, kind, anew=anew) else smallest_method(reader),
        "checkpointing": "full",
        **({"sharding": "zero-1" if keeps_matrices(reader) else "zero-3"} if several else {}),
        **({"sequence_tokens": of_each(reader)} if kind != "duration" or reader.value("samples") or not anew else {}),
    }
    if (stages := reader.count("pipeline") or 1) > 1:  # of which fewer would leave stages idle (GPipe, section 2.3)
        usual["gradient_accumulation"] = FEWEST_OF_A_STAGE * stages
    for name, value in usual.items():
        if name not in scenario:
            reader.taken[name] = scenario[name] = value
    if kind == "duration" or reader.value("samples"):
        read_data(reader, scenario, anew=anew)
    if offload := reader.value("offload"):
        shared = offload == "all" and scenario.get("sharding") == "zero-3"  # without it no parameters can be
        scenario["offload"] = ["optimizer", "parameters"] if shared else ["optimizer"]
    if (rank := reader.value("rank")) is not None and scenario["method"] != "full":
        scenario["lora"] = {"rank": rank}
    return scenario


def keeps_matrices(reader: Reader) -> bool:
    """Return whether a line's optimizer needs whole matrices, of which more sharding leaves each rank a piece."""
    optimizer = OPTIMIZERS.get(str(reader.value("optimizer")))
    return optimizer is not None and optimizer.kind == MATRICES


def is_whole(reader: Reader, kind: str, *, anew: bool) -> bool:
    """Return whether all of a model is trained where a line names no method: what only reads is small.

    So it is where a line divides what training keeps, of which a LoRA and its frozen base have little.
    """
    divided = reader.value("sharding") in ("zero-2", "zero-3")
    return (kind == "duration" and anew) or not reader.writes() or divided


def smallest_method(reader: Reader) -> str:
    """Return the method that takes least of those which nothing says a line's framework lacks."""
    framework = reader.value("framework")
    named = framework if isinstance(framework, str) else None
    return next(name for name in reversed(METHODS) if has_method(name, facts=reader.facts, framework=named))


def of_each(reader: Reader) -> int:
    """Return the tokens of each sequence that is tuned on: as many as usual, as far as the model goes."""
    longest = reader.facts.model(str(reader.value("model"))).context_tokens
    return min(SEQUENCE, longest or SEQUENCE)


def is_anew(reader: Reader) -> bool:
    """Return whether a model is trained from the start, as far as a line says."""
    return not (TUNES.search(reader.line.small) or reader.value("method") in ("lora", "qlora"))


def read_data(reader: Reader, scenario: dict[str, object], *, anew: bool) -> None:
    """Take the tokens of a run: those that are said, or samples as long as a sequence, as often as they are read.

    Where a line says nothing of them, a model that is trained anew has as many as serve it best for what they cost
    (Hoffmann et al. 2022, table 3), and one that is tuned has those of the form.
    """
    samples, stated, epochs = (reader.count(name) for name in ("samples", "training_tokens", "epochs"))
    if samples is not None:
        each = reader.count("sequence_tokens") or of_each(reader)
        scenario.setdefault("sequence_tokens", each)
        tokens = samples * each
    elif stated is not None:
        tokens = stated
        if not epochs or epochs == 1:
            return
    else:
        size = parameters_total(known_architecture(reader.facts, str(reader.value("model"))))
        tokens = TOKENS_EACH * size if anew else TUNED_ON
    reader.taken["training_tokens"] = scenario["training_tokens"] = tokens * (epochs or 1)


def finished(reader: Reader) -> dict[str, object]:
    """Return the question of the planner after devices that end a training run, in time or for the least money."""
    question = {"want": "hardware", "workload": "training", **reader.said(RUN), "need": reader.said(("days",))}
    anew = is_anew(reader)
    if anew and "method" not in question:
        reader.taken["method"] = question["method"] = "full"
    read_data(reader, question, anew=anew)
    device = reader.value("accelerator")
    price = reader.value("price")
    bought = {"price": price, "buy": True} if price else {}
    named = (
        {"accelerators": [device]} if device else {"vendors": makers} if (makers := vendors(reader.fields())) else {}
    )
    question["limits"] = {"devices": MOST_DEVICES, **named, **bought}
    return {**question, "rank_by": "devices" if device and question["need"] else "cost"}


def trainable(reader: Reader) -> dict[str, object]:
    """Return the question of the planner after the largest model that devices train."""
    have = {"accelerators": 1, **reader.said(("accelerator", "accelerators"))}
    asked = reader.said(("method", *TRAINER, "precision", "optimizer", "sharding", "sequence_tokens"))
    if "framework" not in asked:
        reader.taken["framework"] = asked["framework"] = USUAL_FRAMEWORK
    return {"want": "limit", "of": "model", "models": "any", "workload": "training", "have": have, **asked}
