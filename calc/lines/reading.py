"""Reading a line: the scenario or the planner's question that it makes, and what is not understood."""

from calc.catalog import catalog
from calc.lines.fielding import take
from calc.lines.reader import TRAINED, Reader
from calc.lines.settling import ON_PROCESSORS
from calc.scenario.fields import USUAL
from calc.scenario.model import known_architecture
from calc.units import GIB

CONTEXT = 8192  # tokens that are taken where a line says nothing of lengths, as the forms do
SEQUENCE, DATA = 2048, 10_000_000  # tokens of a sequence and of a data set that are taken for a fine-tune
MANY = 1e9  # tokens of a data set: more than anybody fine-tunes on
SERVED = ("fits", "speed", "cost", "devices", "limit", "cache")
TIMED = ("speed", "cost")  # where lengths have defaults of their own
LENGTHS = ("context_tokens", "prompt_tokens", "output_tokens")
HOURS_A_MONTH = 730


def read_line(text: object) -> dict[str, object]:
    """Return what a typed line asks; the fields are documented on the page "A question in one line".

    Raises ScenarioError for what is no text, or too long a one.
    """
    reader = Reader(text, catalog())
    kind = reader.asks()
    take(reader, kind)
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
        "choices": {"accelerator": reader.macs()} if "accelerator" in reader.missing else {},
    }


def said(reader: Reader, fields: tuple[str, ...]) -> dict[str, object]:
    """Return the fields of these names that a line gives."""
    return {name: value for name in fields if (value := reader.value(name)) is not None}


def lengths(reader: Reader) -> dict[str, object]:
    """Return the lengths that a line gives; where it gives none, those of the forms, as far as the model goes."""
    found = said(reader, LENGTHS)
    if not found:
        model = reader.value("model")
        longest = known_architecture(reader.facts, str(model)).context_tokens if model else None
        reader.taken["context_tokens"] = found["context_tokens"] = min(CONTEXT, longest or CONTEXT)
    return found


def served(reader: Reader, kind: str) -> dict[str, object]:
    """Return the scenario of inference that a line makes."""
    names = ("model", "accelerator", "accelerators", "weights", "kv_cache", "engine", "sequences", "gpu_layers")
    scenario = said(reader, names) | host(reader)
    if kind == "cache":
        return said(reader, ("model", "kv_cache", "sequences")) | lengths(reader)
    if reader.alone:
        scenario.setdefault("engine", ON_PROCESSORS)
    if "engine" not in scenario:
        reader.taken["engine"] = scenario["engine"] = USUAL
    if kind in TIMED:
        return scenario | said(reader, LENGTHS)
    return scenario | lengths(reader)


def host(reader: Reader) -> dict[str, object]:
    """Return what a line says of the host."""
    found = said(reader, ("processor",))
    if (memory := reader.value("host_memory")) is not None:
        found["memory"] = int(str(memory)) * GIB
    return {"host": found} if found else {}


def trained(reader: Reader, kind: str) -> dict[str, object]:
    """Return the scenario of training that a line makes."""
    names = ("model", "accelerator", "accelerators", "framework", "method", "precision", "base_weights", "optimizer")
    scenario = {"workload": "training", **said(reader, names)}
    scenario |= said(reader, ("sharding", "checkpointing", "micro_batch", "sequence_tokens", "training_tokens"))
    several = int(str(scenario.get("accelerators", 1))) > 1
    from_start = any(amount.field == "pretrains" for amount in reader.amounts)
    long = kind == "duration" and (from_start or float(str(scenario.get("training_tokens", 0))) >= MANY)
    usual: dict[str, object] = {
        "method": "full" if long else "qlora",
        "checkpointing": "full",
        **({"sharding": "zero-3"} if several else {}),
    }
    if kind == "duration" and not long:
        usual["sequence_tokens"] = SEQUENCE
        usual["training_tokens"] = DATA
    for name, value in usual.items():
        if name not in scenario:
            reader.taken[name] = scenario[name] = value
    read_data(reader, scenario)
    if (rank := reader.value("rank")) is not None and scenario["method"] != "full":
        scenario["lora"] = {"rank": rank}
    return scenario


def read_data(reader: Reader, scenario: dict[str, object]) -> None:
    """Take a data set for its samples, each as long as a sequence, as often as it is read."""
    samples, epochs = reader.value("samples"), int(str(reader.value("epochs") or 1))
    if samples is not None:
        if "sequence_tokens" not in scenario:
            reader.taken["sequence_tokens"] = scenario["sequence_tokens"] = SEQUENCE
        length = scenario["sequence_tokens"]
        reader.taken["training_tokens"] = scenario["training_tokens"] = int(str(samples)) * int(str(length))
    if epochs > 1 and "training_tokens" in scenario:
        scenario["training_tokens"] = int(str(scenario["training_tokens"])) * epochs
        reader.taken["training_tokens"] = scenario["training_tokens"]


def planned(reader: Reader, kind: str) -> dict[str, object]:
    """Return the question of the planner that a line makes."""
    question: dict[str, object] = {"want": kind, **said(reader, ("model", "weights", "kv_cache", "engine"))}
    if kind == "models":
        question["have"] = said(reader, ("accelerator", "accelerators"))
    question.setdefault("weights", "any")
    fields = {"users": "sequences", "tokens_per_s_each": "tokens_per_s_each", "requests_per_s": "requests_per_s"}
    need = {name: reader.value(field) for name, field in fields.items()}
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
    if monthly is None:
        return {"rent": True} if reader.value("rents") else {}
    return {"price_per_month": monthly, "rent": True}


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
