"""What a line was understood as: a list for each part, which puts other words in its place, and what is left over."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from calc.calculators.asked import format_words
from calc.calculators.html import element, text
from calc.catalog import catalog
from calc.lines.line import MONEY
from calc.lines.parts import OTHER_MONEY
from calc.lines.prices import exchanged
from calc.units import DAY_S, show_count, show_large_count, show_seconds

Option = tuple[str, str]  # words to put into the line, and what they are called
MOST_OTHERS = 12
FOREIGN = re.compile(rf"[{MONEY}]|\b(?!us)[a-z]+\$|{OTHER_MONEY}", re.IGNORECASE)  # money that is no dollars
WHICH = "which?"
LABELS = {
    "model": "Model",
    "models": "Models",
    "accelerator": "GPU",
    "accelerators": "How many",
    "servers": "Most servers",
    "other_accelerator": "And",
    "other_accelerators": "How many of these",
    "vendor": "Maker",
    "not_vendor": "Not of",
    "weights": "Format",
    "kv_cache": "Cache",
    "context_tokens": "Context",
    "prompt_tokens": "Prompt",
    "output_tokens": "Output",
    "sequences": "At once",
    "concurrency": "Kept in it",
    "engine": "Engine",
    "engine_version": "Version",
    "method": "Method",
    "framework": "Framework",
    "precision": "Precision",
    "base_weights": "Base",
    "sharding": "Divided",
    "optimizer": "Optimizer",
    "checkpointing": "Checkpoints",
    "micro_batch": "Batch",
    "gradient_accumulation": "Accumulated",
    "sequence_tokens": "Sequence",
    "rank": "Rank",
    "training_tokens": "Data",
    "samples": "Samples",
    "epochs": "Epochs",
    "days": "Within",
    "price": "Price",
    "price_per_hour": "Rent an hour",
    "price_per_month": "Rent a month",
    "tokens_per_s_each": "Each writes",
    "requests_per_s": "Requests a second",
    "tpot_s": "Each token within",
    "ttft_s": "First token within",
    "hours_a_day": "Hours a day",
    "tensor": "Tensor parallel",
    "pipeline": "Pipeline stages",
    "data": "Data parallel",
    "expert": "Expert parallel",
    "bits_per_weight": "Bits per weight",
    "adapters": "Adapters",
    "speculation": "Drafted by",
    "draft": "Draft model",
    "offload": "In the host's memory",
    "pcie": "PCIe",
    "power_limit": "Power limit",
    "memory_fraction": "Share of the GPU",
    "sequence_slots": "Sequence slots",
    "prefix_hit_rate": "Found in the cache",
    "rents": "Rented",
    "owns": "At home",
    "one_box": "A computer as a whole",
    "buys": "Bought",
    "supply_w": "Power supply",
    "host_memory": "Host memory",
    "host_bandwidth": "Host bandwidth",
    "card_memory": "Memory",
    "processor": "Processor",
    "experts_on_host": "Experts on the host",
    "gpu_layers": "Layers on the GPU",
    "text_only": "Shown",
    "videos": "Videos",
}
CHOICES: dict[str, tuple[str, ...]] = {
    "accelerators": ("1x", "2x", "3x", "4x", "8x", "16x"),
    "context_tokens": ("4k context", "8k context", "16k context", "32k context", "64k context", "128k context"),
    "sequence_tokens": ("seq 1024", "seq 2048", "seq 4096", "seq 8192", "seq 16384"),
    "sequences": ("1 user", "2 users", "5 users", "10 users", "50 users", "100 users"),
    "method": ("qlora", "lora", "full fine-tune"),
    "sharding": ("zero1", "zero2", "zero3"),
    "micro_batch": ("batch 1", "batch 2", "batch 4", "batch 8"),
    "rank": ("rank 8", "rank 16", "rank 64", "rank 128"),
}
NAMED = {
    "engine": "engines",
    "framework": "frameworks",
    "processor": "processors",
}
IN_WORDS: dict[str, Callable[[Any], str]] = {
    "models": lambda value: f"{len(value)} of the catalogue",
    "days": lambda value: show_seconds(value * DAY_S),
    **dict.fromkeys(("host_memory", "card_memory"), lambda value: f"{value} GiB"),
    "offload": lambda value: "optimizer" if value == "optimizer" else "what can be",
    **dict.fromkeys(("rents", "owns", "buys", "one_box"), lambda _: "yes"),
    "supply_w": lambda value: f"{show_count(value)} W",
    "power_limit": lambda value: f"{value:g} W",
    "tokens_per_s_each": lambda value: f"{value:g} tokens/s",
    "tpot_s": show_seconds,
    "ttft_s": show_seconds,
    "text_only": lambda _: "text only",
    "videos": lambda _: "none",
}
IN_FRONT = ("accelerators",)  # of the name that they count


class Chip(NamedTuple):
    """A field, its value in words, where the line says it, and what may be put there instead."""

    field: str
    shown: str
    start: int
    end: int
    options: tuple[Option, ...]
    said: bool


def render(reading: Any, found: dict[str, object]) -> str:
    """Return the chips of a reading, those that were taken or found after those that were said, and the words left."""
    listed = [*said_chips(reading), *taken_chips(reading, found), *missing_chips(reading)]
    chips = "".join(chip_html(chip, number) for number, chip in enumerate(listed))
    html = element("ul", chips, class_="ask-chips", aria_label="What was understood") if chips else ""
    offered = list(named_families(reading))
    if left_out := [part for part in reading["unread"] if part not in offered]:
        words = " ".join(element("q", text(part["text"])) for part in left_out)
        more = " Prices are in dollars here." if FOREIGN.search(words) else ""
        html += element("p", f"Not understood, and left out: {words}{more}", class_="ask-unread")
    return html + "".join(element("p", text(said), class_="ask-note") for said in exchanges(reading))


def exchanges(reading: Any) -> Iterator[str]:
    """Iterate over what money of another currency was taken for, at which rate of which day."""
    for chip in reading["chips"]:
        rate = exchanged(chip["text"], catalog()) if chip["field"].startswith("price") else None
        if rate is not None:
            yield (
                f"{chip['text']} are taken as {show_count(round(chip['value']))} USD: 1 {rate.item} was {rate.price:g} "
                f"USD on {rate.checked} ({rate.seller}). Prices here are in USD, before tax."
            )


def said_chips(reading: Any) -> Iterator[Chip]:
    """Iterate over the parts of a line that were understood."""
    for chip in reading["chips"]:
        field, text_ = chip["field"], chip["text"]
        kept = ((text_, shown(field, chip["value"])),)
        others = tuple(option for option in options(field, chip["others"]) if option[1] != kept[0][1])
        yield Chip(
            field, kept[0][1], chip["start"], chip["end"], options=kept + others + (("", "leave it out"),), said=True
        )


def taken_chips(reading: Any, found: dict[str, object]) -> Iterator[Chip]:
    """Iterate over what a line does not say: what was taken for it, and what was found."""
    end = len(reading["line"])
    place = next((chip["start"] for chip in reading["chips"] if chip["field"] == "accelerator"), end)
    taken = reading["taken"] | {name: value for name, value in found.items() if value is not None}
    said = {chip["field"] for chip in reading["chips"]}
    if reading["scenario"] and "accelerator" in said and not said & {"accelerators"} and "accelerators" not in taken:
        taken = taken | {"accelerators": 1}
    for field, value in taken.items():
        if field not in LABELS:
            continue
        where = place if field in IN_FRONT else end
        first = (("", shown(field, value)),)
        yield Chip(field, first[0][1], where, where, options=first + options(field, []), said=False)


def missing_chips(reading: Any) -> Iterator[Chip]:
    """Iterate over what a line lacks and may be chosen: the chip of a Mac, or which of the models of a name."""
    end = len(reading["line"])
    for field, names in reading["choices"].items():
        chosen = tuple((shown(field, name), shown(field, name)) for name in names)
        said = named_families(reading) if field == "model" else iter(())
        start, last = next(((part["start"], part["end"]) for part in said), (end, end))
        yield Chip(field, WHICH, start, last, options=(("", WHICH), *chosen), said=False)


def named_families(reading: Any) -> Iterator[Any]:
    """Iterate over the words of a line that name a family of models, of which one is to be chosen."""
    if "model" in reading["choices"]:
        yield from (part for part in reading["unread"] if catalog().model_names.of_family(part["text"]))


def options(field: str, others: list[str]) -> tuple[Option, ...]:
    """Return what may be put in the place of a field, as words that a line is read with, and what they are called."""
    if field == "model":
        return tuple((other, catalog().model(other).name) for other in others[:MOST_OTHERS])
    if field in ("accelerator", "other_accelerator"):
        return tuple((name, name) for name in (catalog().accelerator(other).name for other in others[:MOST_OTHERS]))
    if field == "weights":
        names = dict.fromkeys(name for engine in catalog().engines() if engine.usual_on for name in engine.formats)
        return tuple((name, catalog().weights_format(name).name) for name in ("bf16", *names))
    if field == "engine":
        return tuple((engine.id, engine.name) for engine in catalog().engines())
    return tuple((words, words) for words in CHOICES.get(field, ()))


def shown(field: str, value: object) -> str:
    """Return a value in words."""
    if field == "engine" and value == "usual":
        return "the usual one"
    if field in ("accelerator", "other_accelerator"):
        return catalog().accelerator(str(value)).name
    if field == "model":
        return catalog().model(str(value)).name
    if field in NAMED:
        return str(catalog().entries(NAMED[field])[str(value)]["name"])
    if field == "weights":
        return " or ".join(map(format_words, value)) if isinstance(value, list) else format_words(value)
    if field == "training_tokens" and isinstance(value, int):
        return f"{show_large_count(value)} tokens"
    if field.endswith("_tokens") and isinstance(value, int):
        return f"{show_count(value)} tokens"
    if field in IN_WORDS:
        return IN_WORDS[field](value)
    if not isinstance(value, int | float):
        return str(value)
    return f"at most ${show_count(value)}" if field.startswith("price") else show_count(value)


def chip_html(chip: Chip, number: int) -> str:
    """Return a chip: the field's name, and a list of what may stand there, or the value where there is no choice."""
    label = element("span", text(LABELS.get(chip.field, chip.field)))
    identity = f"ask-{number}"
    if len(chip.options) < 2 + chip.said:
        return element("li", f"{label} {element('strong', text(chip.shown))}", class_="ask-chip", data_said=chip.said)
    first, *rest = chip.options
    listed = element("option", text(first[1]), value=first[0], selected=True)
    listed += "".join(element("option", text(name), value=words) for words, name in rest)
    place = {"data_start": chip.start, "data_end": chip.end}
    control = element("select", listed, id=identity, autocomplete="off", **place)
    return element("li", element("label", label + control, for_=identity), class_="ask-chip", data_said=chip.said)
