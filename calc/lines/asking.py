"""What a line asks: the kind of its question by its words and by what it names, and what it lacks to be one."""

import re

from calc.lines.reader import Reader
from calc.lines.wording import CHEAPEST, FOR_HARDWARE, FOR_MODELS, LAST, SOMETHING, TUNED

TRAINED = ("training", "duration", "deadline", "longest")
TIMES = ("tokens_per_s_each", "tpot_s", "ttft_s")  # needs that ask how fast it is, of a device that is named
LOADS = ("requests_per_s", *TIMES)  # that so many devices have to serve
LONGEST = ("of", "context_tokens")  # of a training run: of each sequence
MONEY = ("price", "price_per_month", "price_per_hour")


def trains(reader: Reader) -> bool:
    """Whether the line is about training."""
    fields = {amount.field for amount in reader.amounts}
    if "adapters" in fields:
        fields.discard("rank")  # of what is served
    framework = reader.value("framework") not in (None, "transformers")
    return (
        framework
        or bool(TUNED.search(reader.line.small))
        or not fields.isdisjoint(("trains", "method", "sharding", "optimizer", "rank"))
    )


def asks(reader: Reader) -> str | None:
    """Return the kind of question, None where the line is none that is answered."""
    if reader.of_another:
        reader.give_back_device()
        reader.missing = [*(() if reader.value("model") else ("model",)), "accelerator"]
        return None
    wants = [str(want.value) for want in reader.wants]
    wants += ["speed" for amount in reader.amounts if amount.field in (*TIMES, "prefix_hit_rate")]
    if trains(reader):
        timely = any(amount.field == "days" for amount in reader.amounts)
        cheap = not reader.value("accelerator") and ("cost" in wants or CHEAPEST.search(reader.line.small))
        if reader.value("accelerators") is None and (timely or cheap):
            return needing(reader, "deadline")
        if reader.value("model") and any((amount.field, amount.value) == LONGEST for amount in reader.amounts):
            return needing(reader, "longest", device=True)
        timed = "duration" in wants or "cost" in wants or any(a.field == "training_tokens" for a in reader.amounts)
        return needing(reader, "duration", device=True) if timed else needing(reader, "training")
    model, device = reader.value("model"), reader.value("accelerator") or reader.alone
    if any(amount.field == "of" for amount in reader.amounts) and (model or not asks_for(reader, FOR_MODELS)):
        return needing(reader, "limit", device=True)
    if "cache" in wants and model and not device:
        return "cache"
    for kind, words in (("cost", ("cost",)), ("speed", ("speed", "duration"))):
        if kind == "speed" and not (model and device) and "speed" not in [want.value for want in reader.wants]:
            continue  # a need, and no question
        left_out = (not model and asks_for(reader, FOR_MODELS)) or (not device and asks_for(reader, FOR_HARDWARE))
        if not set(words).isdisjoint(wants) and not left_out:
            return needing(reader, kind, device=True)
    return asks_by_names(reader, model, device)


def asks_by_names(reader: Reader, model: object, device: object) -> str | None:
    """Return the kind of question of a line whose words ask for nothing else, by what it names."""
    paid = any(amount.field in MONEY for amount in reader.amounts)  # for what is to be bought
    if model and paid and reader.of_memory:
        reader.give_back_device()
        device = None
    if model and device:
        early = any(want.value == "count" and want.start < reader.place("accelerator") for want in reader.wants)
        many = early or LAST.search(reader.line.small)
        if not many or reader.value("accelerators") is not None:
            return "fits"
        return "hardware" if any(amount.field in LOADS for amount in reader.amounts) else "devices"
    if device and not reader.alone and asks_for(reader, FOR_MODELS):
        return "models"
    if model and (paid or asks_for(reader, FOR_HARDWARE)) and not reader.macs():
        return "hardware"
    if not model and reader.macs() and asks_for(reader, FOR_MODELS):
        reader.missing = ["accelerator"]
        return None
    reader.missing = ["accelerator" if model else "model"] if model or device or paid else ["model", "accelerator"]
    return None


def asks_for(reader: Reader, words: re.Pattern[str]) -> bool:
    """Whether a line asks for what it leaves out: by its words, or because nothing else is in it."""
    if SOMETHING.search(reader.line.small):  # which the line does not name
        return False
    return bool(words.search(reader.line.small)) or not reader.line.unread()


def needing(reader: Reader, kind: str, *, device: bool = False) -> str:
    """Return a kind of question, and note what the line leaves out that it needs."""
    reader.missing = [name for name in ("model", "accelerator") if reader.value(name) is None]
    if reader.alone and "accelerator" in reader.missing:
        reader.missing.remove("accelerator")
    if not device and reader.missing == ["accelerator"]:
        reader.missing = []
    return kind
