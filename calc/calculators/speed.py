"""How fast: a model under an engine on a number of devices, from the first token to the last."""

import datetime
from collections.abc import Callable

from calc.calculators import arriving, hosting, several
from calc.calculators.calculator import Calculator, Preset
from calc.calculators.engines import bounded_by_memory, does_not_run, engine_assumptions, engine_of, place
from calc.calculators.html import table, text
from calc.calculators.inputs import Amount, Choice, Number
from calc.calculators.rendering import Report, answer_html, device_words, facts_html, measured_text, spoken
from calc.calculators.serving_inputs import (
    adapters,
    cache_formats,
    hit_rate,
    scenario,
    shared_prefix,
    speculation,
    start,
)
from calc.calculators.sizes import size_gib
from calc.calculators.starting import start_html
from calc.catalog.choices import PRICE_STALE_DAYS
from calc.scenario.reader import MOST_PRICE
from calc.units import show_count, show_number, show_seconds, show_tokens_per_s

INPUTS = (
    Choice("model", "Model", "The parameters follow from its config.json.", "llama-3.1-8b", kind="models"),
    Choice("weights", "Number format of the weights", "Fewer bits are read sooner.", "q4_k_m", kind="weights"),
    Choice("engine", "Engine", "The program that runs the model.", "usual", kind="usual-engines"),
    Choice(
        "accelerator",
        "GPU",
        "Its bandwidth and its rate of computing are what counts.",
        "rtx-4090",
        kind="accelerators",
    ),
    Number("accelerators", "Number of GPUs", "The model is divided over them.", "1", least=1, most=4096),
    Number(
        "prompt_tokens",
        "Prompt",
        "Tokens that are read before the first is written.",
        "2048",
        least=1,
        most=100_000_000,
        topic="Lengths",
    ),
    Number(
        "output_tokens",
        "Output",
        "Tokens that are written in answer to each prompt.",
        "256",
        least=1,
        most=100_000_000,
        topic="Lengths",
    ),
    *cache_formats("Cache"),
    shared_prefix("Lengths"),
    hit_rate("Lengths"),
    Number("sequences", "Sequences at once", "Readers who wait for an answer together.", "1", least=1, most=1_000_000),
    *speculation("Drafts"),
    *adapters("Adapters"),
    *start("Start"),
    *several.UNLIKE_INPUTS,
    *hosting.INPUTS,
    *arriving.INPUTS,
    *several.POOL_INPUTS,
    Amount(
        "price_per_hour",
        "Price of a GPU for an hour",
        "In US dollars. Empty: the catalogue's rent, with its day.",
        "",
        least=0,
        most=MOST_PRICE,
        topic="Prices",
    ),
    Amount(
        "electricity_per_kwh",
        "Price of a kWh",
        "In US dollars. Empty: the newest in the catalogue, with its day.",
        "",
        least=0,
        most=MOST_PRICE,
        topic="Prices",
    ),
)

PRESETS = (
    Preset("Llama 3.1 8B on an RTX 4090, llama.cpp", {}),
    Preset(
        "Llama 3.3 70B for 32 readers on four H100, vLLM",
        {
            "model": "llama-3.3-70b",
            "weights": "bf16",
            "engine": "vllm",
            "accelerator": "h100-sxm-80gb",
            "accelerators": "4",
            "sequences": "32",
        },
    ),
    Preset(
        "gpt-oss 120B for 8 readers on one H100, SGLang",
        {
            "model": "gpt-oss-120b",
            "weights": "mxfp4",
            "engine": "sglang",
            "accelerator": "h100-sxm-80gb",
            "sequences": "8",
        },
    ),
    Preset(
        "Qwen3 30B A3B on a Mac with M4 Max, llama.cpp",
        {"model": "qwen3-30b-a3b", "accelerator": "m4-max-64gb"},
    ),
    Preset(
        "Qwen2.5 32B for 8 readers on two RTX 3090, vLLM",
        {
            "model": "qwen2.5-32b",
            "weights": "awq",
            "engine": "vllm",
            "accelerator": "rtx-3090",
            "accelerators": "2",
            "sequences": "8",
        },
    ),
    Preset(
        "Four requests a second, Llama 3.1 8B on one H100, vLLM",
        {
            "weights": "bf16",
            "engine": "vllm",
            "accelerator": "h100-sxm-80gb",
            "requests_per_s": "4",
            "longest_share": "3",
            "ttft_s": "0.5",
            "tpot_s": "0.03",
        },
    ),
    Preset(
        "Qwen3.8 27B that drafts with its own layers, on an RTX 5090",
        {
            "model": "qwen3.8-27b",
            "accelerator": "rtx-5090",
            "speculation_method": "mtp",
            "speculation_tokens": "2",
            "speculation_acceptance": "0.8",
        },
    ),
    Preset(
        "A long text of 30 thousand tokens, Llama 3.1 8B on an RTX 3090",
        {"accelerator": "rtx-3090", "prompt_tokens": "30000", "output_tokens": "1000"},
    ),
)

BOUNDS = {
    "memory": "reading memory: more bandwidth, or weights and caches of fewer bits, make it faster",
    "compute": "arithmetic: a higher rate of computing makes it faster, more bandwidth does not",
    "launch": "launching work: the host and the engine take longer than the device",
    "links": "what the devices send each other: faster links, or fewer devices, make it faster",
    "host": "the host, which works on what stays in its memory: more layers or experts on the GPU make it faster",
}
UNITS_SHOWN = ("s", "tokens/s", "kWh", "USD", "EUR")  # of the steps that are not the memory's


def per_second(count: float) -> str:
    """Return what is done in a second, in a table whose rows say of what; short, for narrow screens."""
    return f"{show_number(count)} /s"


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{show_number(100 * share)} %"


SHOWN: dict[str, Callable[[float], str]] = {"s": show_seconds, "rate": per_second, "share": percent}


def writes(report: Report) -> bool:
    """Return whether the model writes text; another passes over its input once, and that is its speed."""
    return "decode_tokens_per_s" in report["speed"]


def headline(report: Report) -> tuple[bool | None, str, str]:
    """Return whether it runs at all, and the answer in a headline and a sentence."""
    memory, speed = report["memory"], report["speed"]
    count = memory["sequences"]
    if stopped := does_not_run(report):
        return stopped
    if speed is None:
        name, engine = device_words(report["scenario"]), engine_of(report)
        under = f" under {engine.name}" if engine else ""
        return None, "Not known:", f"no source has the rate at which {name} computes{under}, and no speed follows."
    if arriving.arrives(report) and memory["fits"]:
        return arriving.headline(report)
    if several.pooled(report) and (memory["fits"] or not memory["prefill_pool"]["fits"]):
        return several.steady(report, place(report))
    if arriving.serves(report) and memory["fits"] and writes(report):
        return arriving.steady(report)
    first = show_seconds(speed["time_to_first_token_s"]["typical"])
    if not writes(report):
        rate = f"{show_tokens_per_s(speed['prefill_tokens_per_s']['typical'])} read"
        written = f"one pass over {'its text' if count == 1 else f'{show_count(count)} texts'} takes {first}"
    else:
        rate = show_tokens_per_s(speed["decode_tokens_per_s"]["typical"])
        written = f"and the first token after {first}"
    if writes(report) and count > 1:
        each = show_tokens_per_s(1 / speed["time_per_output_token_s"]["typical"])
        written = f"for {show_count(count)} sequences together, {each} for each, and their first tokens after {first}"
    if memory["fits"]:
        return True, f"{rate},", f"{written}, {place(report)}."
    if missing := hosting.short(report):
        return False, "It does not fit into the host's memory.", f"{missing.strip()} If it did: {rate}, {written}."
    most = memory["max_sequences"]
    room = f"Only {show_count(most)} of these sequences fit at once" if most else "Not even one sequence fits"
    missing = size_gib(-memory["headroom_bytes"])
    return False, f"It does not fit, {missing} are missing.", f"{room} {place(report)}. If they did: {rate}, {written}."


def figures(report: Report) -> str:
    """Return the table of speeds: low, typical and high."""
    if not writes(report):
        rows = [("Tokens read", per_second, report["speed"]["prefill_tokens_per_s"])]
        return speed_table([*rows, ("Time of the pass", show_seconds, report["speed"]["time_to_first_token_s"])])
    if arriving.arrives(report) or arriving.serves(report):
        return speed_table([(name, SHOWN[kind], values) for name, kind, values in arriving.figures(report)])
    speed, scenario = report["speed"], report["scenario"]
    step, asked = speed["time_per_output_token_s"], report["memory"]["sequences"] * scenario["output_tokens"]
    each = {"low": 1 / step["high"], "typical": 1 / step["typical"], "high": 1 / step["low"]}
    whole = speed["output_tokens_per_s"]
    last = {"low": asked / whole["high"], "typical": asked / whole["typical"], "high": asked / whole["low"]}
    return speed_table(
        [
            ("Tokens read (prefill)", per_second, speed["prefill_tokens_per_s"]),
            ("Tokens written (decode), all sequences", per_second, speed["decode_tokens_per_s"]),
            ("Tokens written, each sequence", per_second, each),
            ("Time to the first token", show_seconds, speed["time_to_first_token_s"]),
            ("Time per output token", show_seconds, step),
            ("Time to the last token", show_seconds, last),
            ("Tokens written over the whole time", per_second, whole),
        ]
    )


def speed_table(rows: list[tuple[str, Callable[[float], str], Report]]) -> str:
    """Return rows of a name, how its numbers are shown, and their range as a table."""
    body = [[text(name), *(show(values[key]) for key in ("low", "typical", "high"))] for name, show, values in rows]
    return table(("Speed or time", "Low", "Typical", "High"), body, caption="Speed and times", class_="calc-parts")


def bounds(report: Report) -> str:
    """Return what bounds the speed and what else the devices would hold, as a list of facts."""
    speed, memory = report["speed"], report["memory"]
    items = [f"Writing is bound by {BOUNDS[speed['bound_by']]}."] if writes(report) else []
    items += arriving.facts(report) if "running_sequences" in speed else []
    items += drafts_facts(report) + several.facts(report)
    items.append(f"Reading is bound by {BOUNDS[speed['prefill_bound_by']]}.")
    if speed["balanced_batch"]:
        turn = show_count(speed["balanced_batch"])
        items.append(
            f"A step computes for longer than it reads weights from this many sequences on: <strong>{turn}</strong>"
        )
    if memory["max_sequences"] is not None and bounded_by_memory(report):
        items.append(f"Most sequences of this length at once: <strong>{show_count(memory['max_sequences'])}</strong>")
    used = f"{size_gib(memory['device_bytes'])} of {size_gib(memory['capacity_bytes'])}"
    of = "Memory of the host" if hosting.alone(report) else "Memory of the fullest device"
    items.append(f"{of}: <strong>{used}</strong>")
    items += [] if hosting.alone(report) else hosting.facts(report)
    return facts_html([*items, measured_text(report, "speed")])


def price_text(price: Report) -> str:
    """Return whose price it is, and of which day; one that is older than prices stay true says so."""
    if price["kind"] == "own":
        return "your price"
    said = f"{price['seller'] or price['region'] or 'several sellers'}, {price['kind']}, {price['date']}"
    age = datetime.date.today() - datetime.date.fromisoformat(price["date"])
    stale = age.days > PRICE_STALE_DAYS
    old = f"; <strong>older than {PRICE_STALE_DAYS} days</strong>" if stale else ""
    others = [
        f"{MARKET_WORDS[one['market']]} {show_number(one['each'])}" for one in price["elsewhere"] if one["market"]
    ]
    return text(said) + old + text(f"; {', '.join(others)}" if others else "")


MARKET_WORDS = {"specialist": "GPU clouds", "large cloud": "large clouds", "marketplace": "market places"}


def costs(report: Report) -> str:
    """Return the table of what a million output tokens cost, with the prices that it rests on."""
    cost = report["cost"]
    if not cost:
        return ""
    rent, energy, electricity = cost["rent"], cost["energy_kwh_per_million_output_tokens"], cost["electricity"]
    rows, notes = [], []
    if rent:
        rows.append((f"Rent, {rent['price']['currency']}", rent["per_million_output_tokens"]))
        hourly = f"{show_number(rent['price']['each'])} {rent['price']['currency']}"
        notes.append(f"Rent of a GPU for an hour: <strong>{hourly}</strong> ({price_text(rent['price'])})")
    else:
        notes.append("The catalogue has no rent of this device for an hour: put in your own.")
    if energy:
        rows.append(("Energy, kWh", energy))
    else:
        notes.append("The maker states no power of this device: its energy is not known.")
    if electricity:
        rows.append((f"Electricity, {electricity['price']['currency']}", electricity["per_million_output_tokens"]))
        each = f"{show_number(electricity['price']['each'])} {electricity['price']['currency']}"
        notes.append(f"A kWh: <strong>{each}</strong> ({price_text(electricity['price'])})")
    body = [[name, *(show_number(values[key]) for key in ("low", "typical", "high"))] for name, values in rows]
    heads = ("A million output tokens", "Low", "Typical", "High")
    shown = table(heads, body, caption="Cost of a million output tokens, their prompts included", class_="calc-parts")
    return (shown if rows else "") + facts_html(notes)


def assumptions(report: Report) -> list[str]:
    """Return what the answer takes for granted."""
    scenario, engine = report["scenario"], engine_of(report)
    held = scenario.get("sequences", 1)
    together = "All prompts arrive at the same moment, and the first token is counted when the last of them has it."
    return [
        *(engine_assumptions(engine) if engine else []),
        "Low and high: four of five measurements lie between them.",
        *(arriving.ARRIVING if arriving.arrives(report) else []),
        *(arriving.STEADY if arriving.serves(report) else []),
        *([together] if held > 1 else []),
        f"The prompt is read in pieces of {show_count(scenario['batched_tokens'])} tokens at most.",
        "The time per token is that of the token half-way through the output.",
        found_text(scenario),
        drafts_text(report),
        "The devices are busy all the time that they cost, and draw what their boards may draw at most.",
        "Rent and electricity are two ways to pay, for the GPUs alone; the machine around them is in neither.",
        "The device keeps its clock: no limit of power or heat below its data sheet.",
    ]


def drafts_text(report: Report) -> str:
    """Return what is taken of drafts."""
    drafts = report["scenario"].get("speculation")
    if not drafts:
        return "No draft guesses ahead."
    return (
        f"Of {drafts['tokens']} drafted tokens each is accepted with a chance of {show_number(drafts['acceptance'])} "
        "where all before it were. It depends on the text: engines log it."
    )


def drafts_facts(report: Report) -> list[str]:
    """Return what drafts gain, as items of a list; none without them."""
    found = report["speed"].get("speculation")
    if not found:
        return []
    most = found["helps_up_to_sequences"]
    items = [
        f"With drafts a step writes, of each sequence: <strong>{show_number(found['tokens_per_step'])} tokens</strong>",
        f"Tokens come faster than without: <strong>{show_number(found['gain'])} times</strong>",
    ]
    if most is not None:
        items.append(f"Drafts gain up to this many sequences at once: <strong>{show_count(most)}</strong>")
    return items


def start_table(report: Report) -> str:
    """Return the seconds of an engine's start by part; nothing where a reader does not ask."""
    found = report.get("cold_start")
    if not found:
        return ""
    seconds = found["seconds"]
    whole = (
        "Until it is ready" if found["measured"] else "Until the weights are read: no start of this engine was measured"
    )
    rows = [[text(part["label"]), show_seconds(part["seconds"])] for part in found["parts"]]
    spread = f", {show_seconds(seconds['low'])} to {show_seconds(seconds['high'])}" if found["measured"] else ""
    rows.append([text(whole), show_seconds(seconds["typical"]) + spread])
    return table(("Start", "Time"), rows, caption="Start of the engine", class_="calc-parts")


def found_text(scenario: Report) -> str:
    """Return what is taken to be in the cache of a prompt."""
    if not scenario.get("prefix_hit_rate"):
        return "Nothing of a prompt is in the cache already."
    share = percent(scenario["prefix_hit_rate"])
    return f"{share} of each prompt is in the cache already and is not read again; what is read is counted alone."


def render(report: Report) -> str:
    """Return the answer's HTML."""
    line = headline(report)
    timed = [step for step in report["steps"] if step["unit"] in UNITS_SHOWN]
    facts = figures(report) + bounds(report) + start_table(report) + costs(report) if report["speed"] else ""
    facts += start_html(report)
    return answer_html(line, {**report, "steps": timed}, facts=facts, assumptions=assumptions(report))


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    speed = report["speed"]
    if not writes(report):
        return "–", "–", show_seconds(speed["time_to_first_token_s"]["typical"])
    return (
        show_tokens_per_s(1 / speed["time_per_output_token_s"]["typical"]),
        show_tokens_per_s(speed["decode_tokens_per_s"]["typical"]),
        show_seconds(speed["time_to_first_token_s"]["typical"]),
    )


CALCULATOR = Calculator(
    id="speed",
    title="How fast?",
    question="How fast does this model read and write on these GPUs, and what holds it back?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=lambda values: several.scenario(arriving.scenario(hosting.scenario(scenario(values)))),
    render=render,
    status=spoken(headline),
    headings=("Each sequence writes", "All together", "First token after"),
    row=row,
)
