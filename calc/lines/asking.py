"""What a line asks: the kind of its question by its words and by what it names, and what it lacks to be one."""

import re

from calc.lines.layout import DEGREES
from calc.lines.reader import Reader
from calc.lines.speeds import THROUGHPUT
from calc.lines.wording import (
    APPLE,
    CHEAPEST,
    CHINCHILLA,
    ELSEWHERE,
    FOR_A_PURPOSE,
    FOR_HARDWARE,
    FOR_MODELS,
    LAPTOP,
    LAST,
    OF_MACS,
    POWER,
    PRICED,
    SOMETHING,
    TUNED,
    WANTED_CARD,
)

TRAINED = ("training", "trained_on", "duration", "deadline", "longest", "trainable")
TIMES = ("tokens_per_s_each", "tpot_s", "ttft_s")  # needs that ask how fast it is, of a device that is named
LOADS = ("requests_per_s", *TIMES)  # that so many devices have to serve
OF_A_RUN = {
    "context_tokens": "sequence_tokens",
    "sequences": "micro_batch",
}  # what the most of something is where one trains
FOR_MODEL_NAMES = re.compile(r"\b(?:models?|llms?)\b")
BENCHES = re.compile(r"\bllama-bench\b")  # an engine's program that times it
MONEY = ("price", "price_per_month", "price_per_hour")


def trains(reader: Reader) -> bool:
    """Whether the line is about training."""
    fields = {amount.field for amount in reader.amounts}
    if "adapters" in fields:
        fields.discard("rank")  # of what is served
    framework = reader.value("framework") not in (None, "transformers")
    return (
        framework
        or any(reader.line.found(TUNED))
        or not fields.isdisjoint(("trains", "method", "sharding", "optimizer", "rank"))
    )


def asks(reader: Reader) -> str | None:
    """Return the kind of question, None where the line is none that is answered."""
    if reader.of_another:
        reader.give_back_device()
        reader.missing = [*(() if reader.value("model") else ("model",)), "accelerator"]
        return None
    asked = ["speed" if want.value == THROUGHPUT else str(want.value) for want in reader.wants]
    wants = asked + ["speed" for amount in reader.amounts if amount.field in (*TIMES, "prefix_hit_rate")]
    wants += ["speed"] if reader.value("engine") and BENCHES.search(reader.line.small) else []
    if trains(reader):
        return asks_to_train(reader, wants)
    model, device = reader.value("model"), reader.value("accelerator") or reader.alone
    if (kind := asks_of_devices(reader)) and not model:
        return kind
    if any(amount.field == "of" for amount in reader.amounts) and (model or not asks_for(reader, FOR_MODELS)):
        kind = needing(reader, "limit", device=True)
        reader.missing += ["accelerator"] if reader.alone and not reader.host_memory() else []
        return kind
    if "cache" in wants and model and not device:
        return "cache"
    for kind, words in (("cost", ("cost",)), ("speed", ("speed", "duration"))):
        needed = "speed" not in asked
        if kind == "speed" and needed and (not (model and device) or asks_count(reader)):
            continue  # a need, and no question
        wants_device = not device and (paid(reader) or asks_for(reader, FOR_HARDWARE))
        left_out = (not model and bool(FOR_MODELS.search(reader.line.meant))) or wants_device
        if not set(words).isdisjoint(wants) and not left_out:
            return needing(reader, kind, device=True)
    return asks_by_names(reader, model, device)


def asks_of_devices(reader: Reader) -> str | None:
    """Return the kind of question of a line that asks of devices alone: what they draw, or which have a memory."""
    if not reader.value("accelerator"):
        return None
    if not reader.of_memory:
        asked = (kind for kind, words in (("power", POWER), ("prices", PRICED)) if words.search(reader.line.small))
        return next(asked, None)
    wanted = WANTED_CARD.search(reader.line.small) and reader.value("accelerators") is None
    return "cards" if wanted and not FOR_MODEL_NAMES.search(reader.line.small) else None


def asks_to_train(reader: Reader, wants: list[str]) -> str:
    """Return the kind of question of a line about training."""
    timely = any(amount.field == "days" for amount in reader.amounts)
    cheap = "cost" in wants or (not reader.value("accelerator") and CHEAPEST.search(reader.line.small))
    bought = paid(reader) and not reader.value("accelerator")
    if reader.value("accelerators") is None and (timely or cheap or bought):
        return needing(reader, "deadline")
    if reader.value("model") and any(amount.field == "of" for amount in reader.amounts):
        return needing(reader, "longest", device=True)
    said = FOR_MODELS.search(reader.line.meant) and asks_for(reader, FOR_MODELS)  # else a model was forgotten
    if said and not reader.value("model") and reader.value("accelerator"):
        return "trainable"
    timed = not {"duration", "cost", "speed"}.isdisjoint(wants) or bool(CHINCHILLA.search(reader.line.small))
    timed = timed or any(amount.field == "training_tokens" for amount in reader.amounts)
    if timed:
        return needing(reader, "duration", device=True)
    divided = any(amount.field in DEGREES for amount in reader.amounts)  # over so many as these make
    counted = reader.value("accelerator") and asks_count(reader) and not divided
    return needing(reader, "trained_on" if counted else "training", device=bool(counted))


def asks_by_names(reader: Reader, model: object, device: object) -> str | None:
    """Return the kind of question of a line whose words ask for nothing else, by what it names."""
    if model and paid(reader) and reader.of_memory:
        reader.give_back_device()
        device = None
    if model and device:
        loads = [amount.field for amount in reader.amounts if amount.field in LOADS]
        if loads and asks_count(reader):
            return "hardware"
        if "requests_per_s" in loads and not reader.alone:  # how many keep up, or whether these do
            return "hardware" if reader.value("accelerators") is None else "speed"
        return "devices" if asks_count(reader) else "fits"
    if (reader.host_memory() if reader.alone else device) and asks_for(reader, FOR_MODELS):
        return "models"
    loaded = any(amount.field in (*LOADS, "sequences") for amount in reader.amounts)
    if model and (paid(reader) or loaded or asks_for(reader, FOR_HARDWARE)) and not elsewhere(reader):
        reader.read_macs()
        return "hardware"
    if asks_of_money(reader, model, device):
        return "hardware"
    laptop = LAPTOP.search(reader.line.small) and FOR_MODELS.search(reader.line.meant)
    if not model and (laptop or (reader.macs() and asks_for(reader, FOR_MODELS))):
        reader.missing = ["accelerator"]
        return None
    named = model or device or paid(reader) or loaded
    reader.missing = ["accelerator" if model else "model"] if named else ["model", "accelerator"]
    return None


def asks_count(reader: Reader) -> bool:
    """Whether a line asks how many of its device there have to be, and says no number of them itself."""
    early = any(want.value == "count" and want.start < reader.place("accelerator") for want in reader.wants)
    return (early or bool(LAST.search(reader.line.small))) and reader.value("accelerators") is None


def paid(reader: Reader) -> bool:
    """Whether a line says what may be paid for what is to be bought."""
    return any(amount.field in MONEY for amount in reader.amounts)


def asks_of_money(reader: Reader, model: object, device: object) -> bool:
    """Whether a line says what may be spent and nothing else: what runs for $1000, the best GPU under $2000."""
    if model or device or reader.alone or not paid(reader) or ELSEWHERE.search(reader.line.small):
        return False
    reader.read_macs(APPLE)
    purposes = all(FOR_A_PURPOSE.fullmatch(part.text.lower()) for part in reader.line.unread())
    return purposes and not SOMETHING.search(reader.line.small)  # $2000 for coding, and not $2000 on something


def elsewhere(reader: Reader) -> bool:
    """Whether a line names a kind of computer that is there and not looked for: a Mac without its chip, a phone."""
    mac = bool(reader.macs()) and not OF_MACS.search(reader.line.small)
    return mac or bool(ELSEWHERE.search(reader.line.small))


def asks_for(reader: Reader, words: re.Pattern[str]) -> bool:
    """Whether a line asks for what it leaves out: by its words, or because nothing else is in it."""
    if SOMETHING.search(reader.line.small):  # which the line does not name
        return False
    return bool(words.search(reader.line.meant)) or not reader.line.unread()


def needing(reader: Reader, kind: str, *, device: bool = False) -> str:
    """Return a kind of question, and note what the line leaves out that it needs."""
    reader.missing = [name for name in ("model", "accelerator") if reader.value(name) is None]
    if reader.alone and "accelerator" in reader.missing:
        reader.missing.remove("accelerator")
    if not device and reader.missing == ["accelerator"]:
        reader.missing = []
    return kind
