"""Reading a line: the scenario or the planner's question that it makes, and what is not understood."""

from calc.catalog import catalog
from calc.lines.reader import TRAINED, Reader
from calc.scenario.fields import USUAL

CONTEXT = 8192  # tokens that are taken where a line says nothing of lengths, as the forms do
MANY = 1e9  # tokens of a data set: more than anybody fine-tunes on
SERVED = ("fits", "speed", "cost", "devices", "limit")
TIMED = ("speed", "cost")  # where lengths have defaults of their own
LENGTHS = ("context_tokens", "prompt_tokens", "output_tokens")
HOURS_A_MONTH = 730


def read_line(text: object) -> dict[str, object]:
    """Return what a typed line asks; the fields are documented on the page "A question in one line".

    Raises ScenarioError for what is no text, or too long a one.
    """
    reader = Reader(text, catalog())
    kind = reader.asks()
    reader.take(kind)
    scenario = question = None
    if kind and not reader.missing:
        if kind in SERVED:
            scenario = served(reader, kind)
        elif kind in TRAINED:
            scenario = trained(reader, kind)
        else:
            question = planned(reader, kind)
        if kind == "limit" and scenario:
            question = limited(reader, scenario)
            scenario = None
    return {
        "line": reader.line.text,
        "asks": kind,
        "scenario": scenario,
        "question": question,
        "chips": [
            {**chip._asdict(), "text": reader.line.text[chip.start : chip.end], "others": list(chip.others)}
            for chip in sorted(reader.chips, key=lambda chip: chip.start)
        ],
        "taken": reader.taken,
        "unread": [piece._asdict() for piece in reader.line.unread()],
        "missing": reader.missing,
    }


def said(reader: Reader, fields: tuple[str, ...]) -> dict[str, object]:
    """Return the fields of these names that a line gives."""
    return {name: value for name in fields if (value := reader.value(name)) is not None}


def lengths(reader: Reader) -> dict[str, object]:
    """Return the lengths that a line gives; where it gives none, those of the forms are taken."""
    found = said(reader, LENGTHS)
    if not found:
        reader.taken["context_tokens"] = found["context_tokens"] = CONTEXT
    return found


def served(reader: Reader, kind: str) -> dict[str, object]:
    """Return the scenario of inference that a line makes."""
    scenario = said(reader, ("model", "accelerator", "accelerators", "weights", "kv_cache", "engine", "sequences"))
    if "engine" not in scenario:
        reader.taken["engine"] = scenario["engine"] = USUAL
    if kind in TIMED:
        return scenario | said(reader, LENGTHS)
    return scenario | lengths(reader)


def trained(reader: Reader, kind: str) -> dict[str, object]:
    """Return the scenario of training that a line makes."""
    names = ("model", "accelerator", "accelerators", "framework", "method", "precision", "base_weights", "optimizer")
    scenario = {"workload": "training", **said(reader, names)}
    scenario |= said(reader, ("sharding", "checkpointing", "micro_batch", "sequence_tokens", "training_tokens"))
    several = int(str(scenario.get("accelerators", 1))) > 1
    long = kind == "duration" and float(str(scenario.get("training_tokens", 0))) >= MANY
    usual = {
        "method": "full" if long else "qlora",
        "checkpointing": "full",
        **({"sharding": "zero-3"} if several else {}),
    }
    for name, value in usual.items():
        if name not in scenario:
            reader.taken[name] = scenario[name] = value
    if (rank := reader.value("rank")) is not None and scenario["method"] != "full":
        scenario["lora"] = {"rank": rank}
    return scenario


def planned(reader: Reader, kind: str) -> dict[str, object]:
    """Return the question of the planner that a line makes."""
    question: dict[str, object] = {"want": kind, **said(reader, ("model", "weights", "kv_cache", "engine"))}
    if kind == "models":
        question["have"] = said(reader, ("accelerator", "accelerators"))
    question.setdefault("weights", "any")
    need = {name: reader.value(field) for name, field in (("users", "sequences"), ("tokens_per_s_each",) * 2)}
    question["need"] = {name: value for name, value in need.items() if value is not None}
    if kind == "hardware":
        question["limits"] = limits(reader)
    return question | lengths(reader)


def limits(reader: Reader) -> dict[str, object]:
    """Return what the hardware may cost."""
    if (price := reader.value("price")) is not None:
        return {"price": price, "buy": True}
    hourly = reader.value("price_per_hour")
    monthly = reader.value("price_per_month") if hourly is None else float(str(hourly)) * HOURS_A_MONTH
    return {} if monthly is None else {"price_per_month": monthly, "rent": True}


def limited(reader: Reader, scenario: dict[str, object]) -> dict[str, object]:
    """Return the question after the most of something."""
    of = next(str(amount.value) for amount in reader.amounts if amount.field == "of")
    have = {name: scenario.pop(name) for name in ("accelerator", "accelerators") if name in scenario}
    if of == "context_tokens":
        for name in LENGTHS:
            scenario.pop(name, None)
        reader.taken.pop("context_tokens", None)
    else:
        scenario.pop("sequences", None)
    return {"want": "limit", "of": of, "have": have, **scenario}
