"""Reading a line: the scenario or the planner's question that it makes, and what is not understood."""

import re
from typing import Any

from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.catalog.choices import SEGMENTS
from calc.lines.asking import OF_A_RUN, TIMES, TRAINED, asks
from calc.lines.deployment import OF_CARDS, beside, host, placed, said, unlike
from calc.lines.fielding import take
from calc.lines.layout import layout
from calc.lines.reader import Reader
from calc.lines.settling import ON_HOST, ON_PROCESSORS
from calc.lines.speeds import THROUGHPUT
from calc.lines.wording import BEST, CARDS, PURPOSE
from calc.planner.question import MOST_DEVICES
from calc.scenario.fields import USUAL, USUAL_FRAMEWORK
from calc.scenario.model import known_architecture

CONTEXT = 8192  # tokens that are taken where a line says nothing of lengths, as the forms do
SEQUENCE = 2048  # tokens of each that is tuned on
MANY = 1e9  # tokens of a data set: more than anybody fine-tunes on
SERVED = ("fits", "speed", "cost", "devices", "limit", "cache")
OF_DEVICES = ("power", "prices", "cards")  # which facts answer, and no scenario
TIMED = ("speed", "cost")  # where lengths have defaults of their own
LENGTHS = ("context_tokens", "prompt_tokens", "output_tokens")
SHOWN = ("text_only", "videos")  # what a model that sees is shown
HOURS_A_MONTH = 730
RUN = ("model", "framework", "method", "precision", "base_weights", "optimizer", "sequence_tokens", "training_tokens")
TUNES = re.compile(r"tun(?:e|ing)|\bsft\b")  # what is tuned is not trained anew
READ_PER_S = 10  # tokens that a quick reader reads
DEPLOYED = ("model", "accelerator", "accelerators", *OF_CARDS, "weights", "kv_cache", "engine", "sequences", *SHOWN)
WHOLE = ("soc",)  # of these are whole computers, and no cards
AT_HOME = ("consumer", "soc", "workstation")  # segments of devices that people put there
IN_A_MACHINE = {True: 2, False: 8}  # devices that are bought for one's own computer, and that are rented
TOKENS_EACH = 20  # of a parameter
TUNED_ON = 10_000_000  # tokens
FEWEST_OF_A_STAGE = 4  # micro-batches


def read_single(text: object) -> dict[str, Any]:
    """Return what a typed line asks of one case.

    Raises ScenarioError for what is no text, or too long a one.
    """
    reader = Reader(text, catalog())
    kind = asks(reader)
    if kind == "models":
        reader.read_family()
    take(reader, kind)
    reader.take_longer()
    scenario = question = None
    if kind and not reader.missing:
        if kind in SERVED:
            scenario = served(reader, kind)
        elif kind == "deadline":
            question = finished(reader)
        elif kind == "trainable":
            question = trainable(reader)
        elif kind in TRAINED:
            scenario = trained(reader, kind)
        elif kind in OF_DEVICES:
            reader.read_of_devices(kind)
        else:
            question = planned(reader, kind)
        if kind in ("limit", "longest") and scenario:
            question = limited(reader, scenario)
            scenario = None
    choices = {"model": reader.family(), "accelerator": reader.macs()}
    return {
        "line": reader.line.text,
        "asks": kind,
        "scenario": scenario,
        "question": question,
        "sides": [],
        "chips": [
            {**chip._asdict(), "text": reader.line.text[chip.start : chip.end], "others": list(chip.others)}
            for chip in sorted(reader.chips, key=lambda chip: chip.start)
        ],
        "taken": reader.taken,
        "unread": [piece._asdict() for piece in reader.line.unread()],
        "missing": reader.missing,
        "choices": {name: found for name, found in choices.items() if name in reader.missing and found},
    }


def lengths(reader: Reader) -> dict[str, object]:
    """Return the lengths that a line gives; where it gives none, those of the forms, as far as the model goes."""
    found = said(reader, LENGTHS)
    if not found:
        model = reader.value("model")
        known = (known_architecture(reader.facts, str(model)), reader.facts.model(str(model))) if model else ()
        longest = next((one.context_tokens for one in known if one.context_tokens), None)
        reader.taken["context_tokens"] = found["context_tokens"] = min(CONTEXT, longest or CONTEXT)
    return found


def served(reader: Reader, kind: str) -> dict[str, object]:
    """Return the scenario of inference that a line makes."""
    scenario = said(reader, DEPLOYED) | placed(reader) | host(reader) | layout(reader) | beside(reader) | unlike(reader)
    if kind == "cache":
        return said(reader, ("model", "kv_cache", "sequences")) | lengths(reader)
    if isinstance(scenario.get("accelerator"), list):  # which llama.cpp alone divides, and of which each says its own
        scenario.setdefault("engine", ON_PROCESSORS)
        for name in OF_CARDS:
            scenario.pop(name, None)
    if reader.alone or ON_HOST & scenario.keys():
        scenario.setdefault("engine", ON_PROCESSORS)
    if "engine" not in scenario:
        reader.taken["engine"] = scenario["engine"] = USUAL
    if kind in TIMED:
        arrivals = said(reader, ("requests_per_s",))
        if kind == "speed" and not arrivals and keeps_busy(reader):
            reader.taken["sequences"] = scenario["sequences"] = "max"
        return scenario | said(reader, LENGTHS) | ({"arrivals": arrivals} if arrivals else {})
    return scenario | lengths(reader)


def keeps_busy(reader: Reader) -> bool:
    """Return whether a line asks for the throughput of what writes, and says nothing of how much is asked of it."""
    asked = any(want.value == THROUGHPUT for want in reader.wants)
    return asked and reader.writes() and reader.value("sequences") is None and not reader.alone


def trained(reader: Reader, kind: str) -> dict[str, object]:
    """Return the scenario of training that a line makes."""
    names = ("model", "accelerator", "accelerators", "power_limit", "framework", "method", "precision", "base_weights")
    scenario = {"workload": "training", **said(reader, (*names, "optimizer")), **layout(reader)}
    scenario |= said(reader, ("sharding", "checkpointing", "micro_batch", "sequence_tokens", "training_tokens"))
    tokens = reader.number("training_tokens")
    anew = is_anew(reader) if tokens is None else tokens >= MANY
    several = ((reader.count("accelerators") or 1) > 1 or kind == "trained_on") and "parallelism" not in scenario
    usual: dict[str, object] = {
        # What only reads is small.
        "method": "full" if (kind == "duration" and anew) or not reader.writes() else "qlora",
        "checkpointing": "full",
        **({"sharding": "zero-3"} if several else {}),
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


def planned(reader: Reader, kind: str) -> dict[str, object]:
    """Return the question of the planner that a line makes."""
    question: dict[str, object] = {
        "want": kind,
        **said(reader, ("model", "models", "weights", "kv_cache", "engine", *SHOWN)),
    }
    if kind == "models":
        question["have"] = said(reader, ("accelerator", "accelerators")) | host(reader) | unlike(reader)
    question.setdefault("weights", "any")
    if "model" not in question:  # the answer says that models are not ranked by what they are for
        for match in reader.line.found(PURPOSE):
            reader.line.claim(*match.span())
    fields = {"users": "sequences"} | {name: name for name in (*TIMES, "requests_per_s", "hours_a_day")}
    need = {name: reader.value(field) for name, field in fields.items()}
    question["need"] = wanted = {name: value for name, value in need.items() if value is not None}
    if kind == "hardware":
        kept = limits(reader)
        if device := reader.value("accelerator"):  # of which a load needs so many
            question["rank_by"], kept = "devices", {"accelerators": [device], "devices": MOST_DEVICES}
        elif "model" in question and reader.value("price") and BEST.search(reader.line.small):
            question["rank_by"] = "speed"
        if not device and reader.value("vendor"):
            kept = {"buy": True, **kept, "accelerators": reader.macs()}  # nobody rents them out
        if "model" not in question:
            question["models"] = "any"
            kept["devices"] = reader.count("accelerators") or IN_A_MACHINE[bool(reader.value("price"))]
        people = "users" in wanted and reader.writes() and not device
        if ("model" not in question or people) and not set(TIMES) & set(wanted):
            reader.taken["tokens_per_s_each"] = wanted["tokens_per_s_each"] = READ_PER_S
        question["limits"] = kept
    return question | lengths(reader)


def finished(reader: Reader) -> dict[str, object]:
    """Return the question of the planner after devices that end a training run, in time or for the least money."""
    question = {"want": "hardware", "workload": "training", **said(reader, RUN), "need": said(reader, ("days",))}
    anew = is_anew(reader)
    if anew and "method" not in question:
        reader.taken["method"] = question["method"] = "full"
    read_data(reader, question, anew=anew)
    device = reader.value("accelerator")
    question["limits"] = {"devices": MOST_DEVICES, **({"accelerators": [device]} if device else {})}
    return {**question, "rank_by": "devices" if device else "cost"}


def trainable(reader: Reader) -> dict[str, object]:
    """Return the question of the planner after the largest model that devices train."""
    have = {"accelerators": 1, **said(reader, ("accelerator", "accelerators"))}
    asked = said(reader, ("method", "framework", "precision", "optimizer", "sharding", "sequence_tokens"))
    if "framework" not in asked:
        reader.taken["framework"] = asked["framework"] = USUAL_FRAMEWORK
    return {"want": "limit", "of": "model", "models": "any", "workload": "training", "have": have, **asked}


def limits(reader: Reader) -> dict[str, object]:
    """Return what the hardware may cost, and what stands at home."""
    segments = list(AT_HOME if reader.value("owns") else SEGMENTS)
    cards = reader.value("price") and CARDS.search(reader.line.small) and not reader.value("vendor")
    home: dict[str, object] = {"buy": True} if reader.value("owns") or reader.value("buys") else {}
    if home or cards:
        home["segments"] = [name for name in segments if not (cards and name in WHOLE)]
    if (price := reader.value("price")) is not None:
        return {"price": price, "buy": True, **home}
    hourly = reader.number("price_per_hour")
    monthly = reader.number("price_per_month") if hourly is None else hourly * HOURS_A_MONTH
    if monthly is None:
        return {"rent": True} if reader.value("rents") else home
    return {"price_per_month": monthly, "rent": True}


def limited(reader: Reader, scenario: dict[str, object]) -> dict[str, object]:
    """Return the question after the most of something."""
    of = next(str(amount.value) for amount in reader.amounts if amount.field == "of")
    if scenario.get("workload") == "training":
        of = OF_A_RUN[of]
    have: dict[str, object] = {
        name: scenario.pop(name) for name in ("accelerator", "accelerators", "pcie") if name in scenario
    }
    if reader.alone:
        have["host"] = scenario.pop("host")
        scenario.pop("gpu_layers")
    for name in LENGTHS if of == "context_tokens" else (of,):
        scenario.pop(name, None)
        reader.taken.pop(name, None)
    return {"want": "limit", "of": of, "have": have, **scenario}
