"""What a line says as fields of its question: an amount means another field where a model is trained."""

from calc.lines.asking import MONEY, TIMES, TRAINED
from calc.lines.chips import Chip
from calc.lines.device_names import NUMBERS
from calc.lines.layout import DEGREES, take_layout, take_link
from calc.lines.makers import take_makers
from calc.lines.quantities import Quantity
from calc.lines.reader import Reader
from calc.lines.wording import MOST_OF
from calc.planning.usual_engine import format_within
from calc.scenario.fields import HOST_ENGINE
from calc.scenario.model import known_architecture
from calc.units import read_count

PRECISIONS = {"bf16": "bf16-mixed", "fp16": "fp16-mixed", "fp8": "fp8-mixed", "fp32": "fp32"}
INFERENCE = ("context_tokens", "prompt_tokens", "output_tokens", "sequences", "batch", "bits")
TRAINING = ("context_tokens", "batch", "method", "sharding", "optimizer", "checkpointing", "rank", "samples", "epochs")
RUN = ("fits", "speed", "cost")  # questions of one scenario of inference
DAY_HOURS = 24
LONGEST_CONTEXT = 10 * 2**20  # tokens, of any model: more are of a job
LIMIT = "power_limit"
# The questions that have a field for what only some have one for: what a plan is asked to keep, or how a model runs.
TAKEN_BY = (
    dict.fromkeys((*MONEY, *TIMES), ("models", "hardware"))
    | {
        "price_per_hour": ("models", "hardware", "cost"),
        "price": ("models", "hardware", "cards", "deadline"),
        "rents": ("hardware",),
        "hours_a_day": ("hardware", "power"),
    }
    | {"requests_per_s": ("hardware", "speed")}
    | {"days": ("deadline",), "buys": ("hardware",), "supply_w": ("power",)}
    | dict.fromkeys(("several", "part_active", "image_size"), ())
    | dict.fromkeys(("adapters", "speculation", "bits_per_weight", "memory_fraction", "sequence_slots"), RUN)
    | {
        "offload": ("training", "trained_on", "duration", "longest"),
        "prefix_hit_rate": ("speed", "cost"),
        "pcie": (*RUN, "limit", "duration"),
        LIMIT: (*RUN, "power", "duration"),
    }
)
# Words that say nothing where the line names what they are about.
BESIDE = {"serves": ("adapters",), "speculates": ("speculation", "draft")}
OTHERS = ("other_accelerator", "other_accelerators")
ALSO = (*OTHERS, "host_memory", "processor", "draft", "gpu_layers", "experts_on_host")
SHOWN = ("fits", "devices", "speed", "cost", "hardware", "limit")


def take(reader: Reader, kind: str | None) -> None:
    """Give the amounts of a line to the fields of its question; what it has no field for is not understood."""
    training = kind in TRAINED
    share_context(reader)
    take_whole_context(reader)
    take_layout(reader, kind)
    take_link(reader, kind)
    take_makers(reader, kind)
    take_most(reader, kind)
    for amount in reader.amounts:
        field, value = fielded(reader, amount, kind)
        if value == "qlora" and amount.field == "bits":  # a LoRA of four bits
            reader.chips = [chip for chip in reader.chips if chip.field != "method"]
        if field == "" or (field and reader.value(field) not in (None, value)):  # one of two is not said to be answered
            reader.line.refuse(amount.start, amount.end)
        elif field and reader.value(field) is None:
            reader.add(amount, field, value)
    for chip in list(reader.chips):
        if is_of_other_work(reader, chip, training=training):
            retake(reader, chip)
        elif chip.field == "weights" and kind == "cache":
            reader.give_back(chip)
            if reader.names.of_caches(str(chip.value)):
                reader.line.claim(chip.start, chip.end)
                reader.chips.append(chip._replace(field="kv_cache"))
        elif chip.field in ALSO and not in_run(reader, chip, kind):
            reader.give_back(chip)


def share_context(reader: Reader) -> None:
    """Divide the context of a command of llama.cpp's server by its slots, each of which holds as much of it.

    What `-c` says is of all slots together where `-np` says how many there are (llama.cpp, server README).
    """
    slots = next((amount for amount in reader.amounts if amount.field == "slots"), None)
    if slots is None:
        return
    assert isinstance(slots.value, int)
    for place, amount in enumerate(reader.amounts):
        whole = amount.value
        if amount.field == "context_tokens" and isinstance(whole, int) and slots.value:
            reader.amounts[place] = amount._replace(value=whole // slots.value)
        elif amount is slots:
            reader.amounts[place] = amount._replace(field="sequences")


def take_most(reader: Reader, kind: str | None) -> None:
    """Take how many cards there may be, or servers, where a line looks for them: one card, 4 servers max."""
    if kind != "hardware" or reader.value("accelerator"):
        return
    for field, words in MOST_OF.items():
        if (match := next(reader.line.found(words), None)) and reader.value(field) is None:
            number = next(group for group in match.groups() if group)
            reader.line.claim(*match.span())
            value = int(number) if number.isdigit() else NUMBERS[number]
            reader.chips.append(Chip(*match.span(), field=field, value=value))


def take_whole_context(reader: Reader) -> None:
    """Take the longest context that a model is made for where a line asks for all of it: full context."""
    model = reader.value("model")
    longest = reader.facts.model(str(model)).context_tokens if model else None
    for place, amount in enumerate(reader.amounts):
        if amount.field == "whole_context" and longest:
            reader.amounts[place] = amount._replace(field="context_tokens", value=longest)


def in_run(reader: Reader, chip: Chip, kind: str | None) -> bool:
    """Return whether a question has a field for a part of the host, what stays there, or the model that drafts."""
    if not kind and reader.processor and chip.field not in OTHERS:
        return True  # a host alone, which is said where it is asked what else
    if chip.field == "draft":
        return kind in RUN and reader.value("speculation") is None
    if chip.field in OTHERS:
        return kind in (*RUN, "models", "limit") and reader.value("engine") in (None, HOST_ENGINE)
    if chip.field in ("gpu_layers", "experts_on_host"):
        return chip.value == 0 or (kind in RUN and reader.value("engine") in (None, HOST_ENGINE))
    kinds = (*RUN, "models", *(("limit",) if reader.alone else ()))
    return kind in kinds and reader.value("engine") in (None, HOST_ENGINE)


def is_of_other_work(reader: Reader, chip: Chip, *, training: bool) -> bool:
    """Return whether a chip says of serving what a run of training has not, or the other way round."""
    if chip.field == "engine_version":
        return reader.value("framework" if training else "engine") is None
    return chip.field in (("weights", "kv_cache", "engine") if training else ("framework",))


def retake(reader: Reader, chip: Chip) -> None:
    """Give a training run what serving calls a format or an engine, or say that it is not understood."""
    reader.chips.remove(chip)
    if chip.field == "framework" and reader.facts.lookup("engines", str(chip.value)):
        reader.chips.append(chip._replace(field="engine"))
    elif chip.field == "engine" and reader.facts.lookup("frameworks", str(chip.value)):
        reader.chips.append(chip._replace(field="framework"))
    elif chip.field == "weights" and chip.value in PRECISIONS:
        reader.chips.append(chip._replace(field="precision", value=PRECISIONS[str(chip.value)]))
    elif chip.field == "weights" and str(chip.value).startswith("nf4"):
        reader.chips.append(chip._replace(field="base_weights"))
    else:
        reader.give_back(chip)


def fielded(reader: Reader, amount: Quantity, kind: str | None) -> tuple[str | None, object]:
    """Return the field and the value of an amount: None for a word that only asks, empty for what has no field."""
    field, value = amount.field, amount.value
    if field in ("asks", "trains", "nodes", "at_once", "aside", *DEGREES):
        return None, None
    if field == "either":  # which is better, to rent or to buy
        return (None if kind == "hardware" else ""), None
    if field == "of":
        return (None if kind in ("limit", "longest") else ""), None
    if field in ("owns", "buys", "one_box"):  # which changes what is looked for, and nothing of what is there
        return (field if kind == "hardware" and reader.value("accelerator") is None else None), value
    if field == "hours_a_day" and value == DAY_HOURS and kind in RUN:
        return None, value  # what runs is timed, and paid, all day
    if field in TAKEN_BY:
        unclear = (kind == "speed" and apart(reader, field)) or (kind == "cost" and of_several(reader, field))
        return (field if kind in TAKEN_BY[field] and not unclear else ""), value
    if field == "watts":
        return (LIMIT if draws(reader, value) and kind in TAKEN_BY[LIMIT] else ""), value
    if field in BESIDE:
        return (None if any(reader.value(name) for name in BESIDE[field]) else ""), None
    if field in ("text_only", "videos"):
        return shown(reader, field, value, kind)
    return trained(reader, field, value) if kind in TRAINED else served(reader, field, value)


def draws(reader: Reader, watts: object) -> bool:
    """Return whether a card draws so many watts, which then limit it: more are those of a supply."""
    device = reader.value("accelerator")
    most = reader.facts.accelerator(str(device)).quantity("power") if device else None
    assert isinstance(watts, int)
    return most is not None and watts <= most


def apart(reader: Reader, field: str) -> bool:
    """Return whether requests that come on their own are not timed: of what writes no text, or beside a batch."""
    beside = any(amount.field in ("sequences", "batch") for amount in reader.amounts)
    return field == "requests_per_s" and (not reader.writes() or beside)


def of_several(reader: Reader, field: str) -> bool:
    """Return whether a price of an hour may be that of each device, or of all of them."""
    return field == "price_per_hour" and (reader.count("accelerators") or 1) > 1


def trained(reader: Reader, field: str, value: object) -> tuple[str | None, object]:
    """Return the field and the value of an amount in a question of training."""
    if field == "whole":
        return "method", value
    if field == "training_tokens":
        return field, read_count(str(value), binary=False)
    if field == "bits" and value == 4 and reader.value("method") in (None, "lora", "qlora"):
        return "method", "qlora"
    renamed = {"context_tokens": "sequence_tokens", "batch": "micro_batch"}
    return (renamed.get(field, field), value) if field in TRAINING else ("", None)


def shown(reader: Reader, field: str, value: object, kind: str | None) -> tuple[str | None, object]:
    """Return the field of what a model is shown: none of what never sees, nor of an engine that measures no video."""
    model, engine = reader.value("model"), reader.value("engine")
    if kind not in SHOWN or model is None:
        return "", None
    architecture = known_architecture(reader.facts, str(model))
    if field == "text_only":
        return (None if architecture.alone is architecture else field), value
    budget = reader.facts.engine(engine).towers.get(architecture.family) if isinstance(engine, str) else None
    return (field if budget and budget.video_tokens else ""), value


def served(reader: Reader, field: str, value: object) -> tuple[str | None, object]:
    """Return the field and the value of an amount in a question of inference."""
    if field == "whole":
        return None, value
    if field == "training_tokens":
        tokens = read_count(str(value), binary=True) or 0
        return ("context_tokens", tokens) if tokens <= LONGEST_CONTEXT else ("", None)
    if field == "rank":
        return (field if reader.value("adapters") else ""), value
    if field == "bits":
        weights = weights_of(reader, value)
        return ("weights" if weights else ""), weights
    return ("sequences" if field == "batch" else field, value) if field in INFERENCE else ("", None)


def weights_of(reader: Reader, bits: object) -> object:
    """Return the number format of so many bits that the engine's users take; of several engines each one's.

    None for fewer than any of these has, but for one that bears the name of the engine: mlx-2bit.
    """
    assert isinstance(bits, int)
    device = reader.value("accelerator")
    named = reader.value("engine")
    if isinstance(named, str):
        own = reader.facts.lookup("number_formats", f"{named}-{bits}bit")
        return own or format_within(reader.facts.engine(named), bits, reader.facts)
    segment = reader.facts.accelerator(str(device)).segment if device else None
    engines = [engine for engine in reader.facts.engines() if segment is None or segment in engine.usual_on]
    within = (format_within(engine, bits, reader.facts) for engine in engines if engine.usual_on)
    found = list(dict.fromkeys(name for name in within if name))
    return found if len(found) > 1 else next(iter(found), None)
