"""The answer of *How fast?*: what is read and written in a second, what bounds it, and what it costs."""

from collections.abc import Callable

from calc.calculators import arriving, hosting, several
from calc.calculators.asked import device_words
from calc.calculators.certainty import starting, unless_sure
from calc.calculators.engines import bounded_by_memory, does_not_run, engine_assumptions, engine_of, standing
from calc.calculators.html import table, text
from calc.calculators.inputs import Report
from calc.calculators.prices import costs
from calc.calculators.rendering import Verdict, answer_html, facts_html, measured_text
from calc.calculators.sizes import size_gib
from calc.calculators.starting import start_html
from calc.catalog import catalog
from calc.performance.paces import tokens_per_s_each
from calc.planning.support import place_of
from calc.planning.usual_engine import is_served
from calc.units import show_count, show_number, show_seconds, show_tokens_per_s

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


def headline(report: Report) -> Verdict:
    """Return whether it runs at all, and the answer in a headline and a sentence."""
    memory, speed = report["memory"], report["speed"]
    count = memory["sequences"]
    if stopped := does_not_run(report):
        return stopped
    if speed is None:
        return None, "Not known:", why_unknown(report)
    if arriving.arrives(report) and memory["fits"]:
        return arriving.headline(report)
    if several.pooled(report) and (memory["fits"] or not memory["prefill_pool"]["fits"]):
        return several.steady(report, standing(report))
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
        each = show_tokens_per_s(tokens_per_s_each(speed["time_per_output_token_s"])["typical"])
        written = f"for {show_count(count)} sequences together, {each} for each, and their first tokens after {first}"
    if memory["fits"]:
        served = arriving.through_server(report) if writes(report) else ""
        return starting(report), f"{rate},", f"{written}: {standing(report)}.{served}{unless_sure(report)}"
    if missing := hosting.short(report):
        rest = f"{standing(report)}.{missing} If it did: {rate}, {written}."
        return False, "It does not fit into the host's memory:", rest
    most = memory["max_sequences"]
    room = f"Only {show_count(most)} of these sequences fit at once" if most else "Not even one sequence fits"
    missing = size_gib(-memory["headroom_bytes"])
    rest = f"{standing(report)}. {room}. If they did: {rate}, {written}."
    return False, f"It does not fit, {missing} are missing:", rest


def why_unknown(report: Report) -> str:
    """Return why no speed follows, in a sentence: a speed is that of an engine, on a device whose rates are known."""
    name, engine = device_words(report["scenario"]), engine_of(report)
    if engine is not None:
        return f"no source has the rate at which {name} computes under {engine.name}, and no speed follows."
    device = report["scenario"].get("accelerator")
    if isinstance(device, str) and not is_served(facts=catalog(), place=place_of(catalog().accelerator(device))):
        return f"a speed is that of an engine, and of none is it known how it serves on {name}."
    return "a speed is that of an engine, and none is chosen."


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
        "The device keeps its clock: no heat slows it, nor a limit of power that nobody stated.",
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
        show_tokens_per_s(tokens_per_s_each(speed["time_per_output_token_s"])["typical"]),
        show_tokens_per_s(speed["decode_tokens_per_s"]["typical"]),
        show_seconds(speed["time_to_first_token_s"]["typical"]),
    )
