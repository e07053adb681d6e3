"""Reading a line: the scenario or the planner's question that it makes, and what is not understood."""

from typing import Any

from calc.catalog import catalog
from calc.catalog.choices import SEGMENTS
from calc.lines.asking import OF_A_RUN, TIMES, TRAINED, asks
from calc.lines.deployment import OF_CARDS, beside, host, placed, unlike
from calc.lines.fielding import take
from calc.lines.layout import layout
from calc.lines.makers import vendors
from calc.lines.model_sizes import take_fitting, take_longer
from calc.lines.reader import Reader
from calc.lines.settling import ON_HOST, ON_PROCESSORS
from calc.lines.speeds import THROUGHPUT
from calc.lines.training import finished, trainable, trained
from calc.lines.wording import BEST, CARDS, FASTEST, PURPOSE
from calc.planner.question import MOST_DEVICES
from calc.scenario.fields import USUAL
from calc.scenario.model import known_architecture

CONTEXT = 8192  # tokens that are taken where a line says nothing of lengths, as the forms do
READ = 512  # the same of what only reads: the places of BERT, of which most that make vectors are made
SERVED = ("fits", "speed", "cost", "devices", "limit", "cache")
OF_DEVICES = ("power", "prices", "cards")  # which facts answer, and no scenario
TIMED = ("speed", "cost")  # where lengths have defaults of their own
LENGTHS = ("context_tokens", "prompt_tokens", "output_tokens")
SHOWN = ("text_only", "videos")  # what a model that sees is shown
HOURS_A_MONTH = 730
READ_PER_S = 10  # tokens that a quick reader reads
PROGRAM = ("engine", "engine_version")
DEPLOYED = (
    "model",
    "accelerator",
    "accelerators",
    *OF_CARDS,
    "weights",
    "kv_cache",
    *PROGRAM,
    "sequences",
    *SHOWN,
    "price_per_hour",
)
WHOLE = ("soc",)  # of these are whole computers, and no cards
AT_HOME = ("consumer", "soc", "workstation")  # segments of devices that people put there
IN_A_MACHINE = {True: 2, False: 8}  # devices that are bought for one's own computer, and that are rented


def read_single(text: object) -> dict[str, Any]:
    """Return what a typed line asks of one case.

    Raises ScenarioError for what is no text, or too long a one.
    """
    reader = Reader(text, catalog())
    kind = asks(reader)
    if kind == "models":
        reader.read_family()
    take(reader, kind)
    take_longer(reader)
    take_fitting(reader)
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
    found = reader.said(LENGTHS)
    if not found:
        model = reader.value("model")
        known = (known_architecture(reader.facts, str(model)), reader.facts.model(str(model))) if model else ()
        longest = next((one.context_tokens for one in known if one.context_tokens), None)
        models = reader.value("models")
        reads = isinstance(models, list) and not any(known_architecture(reader.facts, name).writes for name in models)
        reader.taken["context_tokens"] = found["context_tokens"] = min(READ if reads else CONTEXT, longest or CONTEXT)
    return found


def served(reader: Reader, kind: str) -> dict[str, object]:
    """Return the scenario of inference that a line makes."""
    scenario = reader.said(DEPLOYED) | placed(reader) | host(reader) | layout(reader) | beside(reader) | unlike(reader)
    if kind == "cache":
        return reader.said(("model", "kv_cache", "sequences")) | lengths(reader)
    if isinstance(scenario.get("accelerator"), list):  # which llama.cpp alone divides, and of which each says its own
        scenario.setdefault("engine", ON_PROCESSORS)
        for name in OF_CARDS:
            scenario.pop(name, None)
    if reader.alone or ON_HOST & scenario.keys():
        scenario.setdefault("engine", ON_PROCESSORS)
    if "engine" not in scenario:
        reader.taken["engine"] = scenario["engine"] = USUAL
    if kind in TIMED:
        arrivals = reader.said(("requests_per_s",))
        if kind == "speed" and not arrivals and keeps_busy(reader):
            reader.taken["sequences"] = scenario["sequences"] = "max"
        return scenario | reader.said(LENGTHS) | ({"arrivals": arrivals} if arrivals else {})
    return scenario | lengths(reader)


def keeps_busy(reader: Reader) -> bool:
    """Return whether a line asks for the throughput of what writes, and says nothing of how much is asked of it."""
    asked = any(want.value == THROUGHPUT for want in reader.wants)
    return asked and reader.writes() and reader.value("sequences") is None and not reader.alone


def planned(reader: Reader, kind: str) -> dict[str, object]:
    """Return the question of the planner that a line makes."""
    question: dict[str, object] = {
        "want": kind,
        **reader.said(("model", "models", "weights", "kv_cache", *PROGRAM, *SHOWN)),
    }
    if kind == "models":
        question["have"] = reader.said(("accelerator", "accelerators")) | host(reader) | unlike(reader)
    question.setdefault("weights", "any")
    if "model" not in question:  # the answer says that models are not ranked by what they are for
        for match in reader.line.found(PURPOSE):
            reader.line.claim(*match.span())
    fields = {"users": "sequences"} | {name: name for name in (*TIMES, "requests_per_s", "hours_a_day")}
    need = {name: reader.value(field) for name, field in fields.items()}
    question["need"] = wanted = {name: value for name, value in need.items() if value is not None}
    if kind == "hardware":
        most = {"devices": reader.count("accelerators"), "servers": reader.count("servers")}
        kept = of_makers(reader, limits(reader)) | {name: number for name, number in most.items() if number}
        if device := reader.value("accelerator"):  # of which a load needs so many
            question["rank_by"], kept = "devices", {"accelerators": [device], "devices": MOST_DEVICES}
        elif "model" in question and (BEST if reader.value("price") else FASTEST).search(reader.line.small):
            question["rank_by"] = "speed"
        if "model" not in question:
            question["models"] = "any"
            kept["devices"] = reader.count("accelerators") or IN_A_MACHINE[bool(reader.value("price"))]
        people = "users" in wanted and reader.writes() and not device
        if ("model" not in question or people) and not set(TIMES) & set(wanted):
            reader.taken["tokens_per_s_each"] = wanted["tokens_per_s_each"] = READ_PER_S
        question["limits"] = kept
    return question | lengths(reader)


def of_makers(reader: Reader, kept: dict[str, object]) -> dict[str, object]:
    """Return limits with the makers whose devices are looked for; those of Apple nobody rents out."""
    makers = vendors(reader.fields())
    if makers == ["Apple"]:
        return {"buy": True, **kept, "accelerators": reader.macs()}
    return {**kept, "vendors": makers} if makers else kept


def limits(reader: Reader) -> dict[str, object]:
    """Return what the hardware may cost, and what stands at home."""
    segments = list(AT_HOME if reader.value("owns") else SEGMENTS)
    cards = reader.value("price") and CARDS.search(reader.line.small) and vendors(reader.fields()) != ["Apple"]
    home: dict[str, object] = {"buy": True} if reader.value("owns") or reader.value("buys") else {}
    if reader.value("one_box"):
        home = {"buy": True, "segments": list(WHOLE)}
    elif home or cards:
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
