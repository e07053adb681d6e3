"""What an answer says of an engine: whether a model fits under it, its range, its cache, and what is assumed."""

import json

from calc.calculators import hosting, several
from calc.calculators.asked import device_words
from calc.calculators.certainty import it_fits, starting, unless_sure
from calc.calculators.html import element, table, text
from calc.calculators.inputs import Report
from calc.calculators.rendering import Verdict, measured_text, part_bytes
from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.catalog.records import Engine
from calc.planning.bare_report import bare
from calc.question import read_question
from calc.scenario.fields import SHARING_ENGINES
from calc.units import show_count

# What a scenario asks of any engine and of none.
WITHOUT_ENGINE = (
    "model",
    "weights",
    "kv_cache",
    "kv_cache_v",
    "sequences",
    "prompt_tokens",
    "output_tokens",
    "cached_tokens",
    "shared_prefix_tokens",
    "prefix_hit_rate",
    "speculation",
    "adapters_served",
    "prompt_logits",
    "accelerator",
    "text_only",
    "memory_limit",
    "display",
    "parallelism",
)


def engine_of(report: Report) -> Engine | None:
    """Return the engine of a report, None for none."""
    name = report["scenario"]["engine"]
    return None if name == "none" else catalog().engine(name)


def devices(count: int, name: str) -> str:
    """Return a number of devices in words."""
    return f"one {name}" if count == 1 else f"{show_count(count)} × {name}"


def division(report: Report) -> str:
    """Return how the model is divided, in words; empty for one device."""
    layout = report["scenario"]["parallelism"]
    kinds = ("tensor", "pipeline", "data", "context", "expert")
    return ", ".join(f"{layout[kind]}-way {kind} parallel" for kind in kinds if layout[kind] > 1)


def place(report: Report) -> str:
    """Return on which devices the model stands, and how it is divided over them."""
    if hosting.alone(report):
        return f"on a host with {hosting.processor_name(report)} alone"
    scenario = report["scenario"]
    if several.lists(report) or several.pooled(report):
        return f"on {device_words(scenario)}" + hosting.place(report)
    split = division(report)
    name = catalog().accelerator(scenario["accelerator"]).name
    return f"on {devices(scenario['accelerators'], name)}" + (f" ({split})" if split else "") + hosting.place(report)


def sets_aside(report: Report) -> bool:
    """Return whether the engine takes a share of the device and keeps what is left of it for the cache."""
    return report["scenario"]["engine"] in SHARING_ENGINES


def keeps_cache(report: Report) -> bool:
    """Return whether anything is kept of a sequence; encoders and classifiers keep nothing."""
    kept = ("kv_cache", "recurrent_state")
    return any(part["bytes"] for part in report["memory"]["parts"] if part["id"] in kept)


def bounded_by_memory(report: Report) -> bool:
    """Return whether memory bounds the sequences: not where nothing is kept of them and passes are of a fixed size."""
    return keeps_cache(report) or not sets_aside(report)


def show_range(low_bytes: float, high_bytes: float) -> str:
    """Return a range of sizes; one size where both ends are shown alike."""
    low, high = size_gib(low_bytes), size_gib(high_bytes)
    return low if low == high else f"{low} to {high}"


def bare_bytes(report: Report) -> int:
    """Return what the mathematics alone needs on the fullest device, without an engine.

    It is the one number of a second report, which would take as long as the first.
    """
    asked = {name: report["scenario"][name] for name in WITHOUT_ENGINE if name in report["scenario"]}
    question = read_question({**asked, "engine": "none"})
    return bare(question.demand, question.layout, question.accelerator, most=question.most).budget.total


def named(report: Report) -> str:
    """Return which model is asked about, and its format."""
    model = report["model"]
    return f"{model['name'] or 'The model'} ({model['weights']})"


def subject(report: Report) -> str:
    """Return what is asked about: the model, its format, and the tokens of a sequence, where all are alike."""
    scenario = report["scenario"]
    if "lengths" in scenario.get("arrivals", {}):
        return named(report)
    tokens = f"{show_count(scenario['context_tokens'])} tokens"
    sequences = scenario.get("concurrency", scenario.get("sequences", 1))
    return f"{named(report)} with {tokens if sequences == 1 else f'{show_count(sequences)} × {tokens}'}"


def standing(report: Report) -> str:
    """Return what is asked about and where it stands: the model, its format, the devices, and the engine."""
    engine = engine_of(report)
    return f"{subject(report)} {place(report)}" + (f" under {engine.name}" if engine else "")


def does_not_run(report: Report) -> tuple[bool, str, str] | None:
    """Return why something does not run at all, as a headline and a sentence; None where it runs or nobody knows."""
    if report.get("runs") is not False:
        return None
    said = "; ".join(item["message"] for item in report["runs_because"])
    return False, "It does not run:", f"{subject(report)}, {place(report)}: {said}.{first_repair(report)}"


def engine_verdict(report: Report, engine: Engine) -> Verdict:
    """Return whether it fits under an engine, and the answer in a headline and a sentence."""
    memory = report["memory"]
    if stopped := does_not_run(report):
        return stopped
    spare = size_gib(abs(memory["headroom_bytes"]))
    amounts = f"{size_gib(memory['device_bytes'])} of {size_gib(memory['capacity_bytes'])}"
    amounts += hosting.beside_system(report)
    full = "" if several.count(report) == 1 else " on the fullest device,"
    if memory["fits"]:
        unused = part_bytes(report, "kv_pool_free")
        free = f", {size_gib(unused)} of them cache that these sequences leave free" if unused else ""
        fits = it_fits(memory)
        headline = f"{fits}:" if free else f"{fits}, with {spare} to spare:"
        if limit := memory.get("sequence_limit"):
            headline = f"{fits}, started for {show_count(limit)} sequences at most:"
        if any(warning["code"] == "own-length-too-long" for warning in report["warnings"]):
            tokens = show_count(report["scenario"]["context_tokens"])
            headline = f"{fits}, started for texts of {tokens} tokens at most and not for the model's own length:"
        rest = f"{subject(report)} takes {amounts}{full} {place(report)} under {engine.name}{free}."
        return starting(report), headline, rest + unless_sure(report)
    if missing := hosting.short(report):
        return False, "It does not fit into the host's memory:", f"{subject(report)}, {place(report)}.{missing}"
    where = f"{amounts}{full} {place(report)} under {engine.name}"
    if part_bytes(report, "outside_share"):
        of = "each device" if full else "the device"
        where = f"more than the {size_gib(memory['limit_bytes'])} that {engine.name} takes of {of}, {place(report)}"
    rest = f"{subject(report)} needs {where}.{first_repair(report)}"
    return False, f"It does not fit, {spare} are missing:", rest


def first_repair(report: Report) -> str:
    """Return the first change that makes it fit, as a sentence; empty where none of those tried does."""
    if not report["repairs"]:
        return ""
    first = report["repairs"][0]
    tight = "" if first["sure"] else ", which is tight"
    return f" {first['message']}, and {size_gib(first['headroom_bytes'])} are left{tight}."


def repairs_html(report: Report) -> str:
    """Return the changes that make it surely fit, or run, least harm first, as a table; empty where none is needed."""
    rows = [
        [change_html(item), size_gib(item["headroom_bytes"]) + ("" if item["sure"] else ", tight"), text(item["cost"])]
        for item in report["repairs"]
    ]
    headings = ("Change", "Left on each device", "What it costs")
    caption = f"What would make it {'sure' if report['memory']['fits'] else 'fit'}, least harm first"
    return table(headings, rows, caption=caption, words=(0, 2)) if rows else ""


def change_html(repair: Report) -> str:
    """Return a change in words, with the fields of a form that it sets: a page lets its reader take it with a press."""
    fields = {name: value for name, value in repair["change"].items() if name != "parallelism"}
    known = all(isinstance(value, int | str) for value in fields.values())
    said = {name: str(value) for name, value in fields.items()}
    return element("span", text(repair["message"]), data_change=json.dumps(said) if known else None)


def engine_facts(report: Report) -> list[str]:
    """Return what is known of the memory under an engine beside its parts, as items of a list."""
    memory = report["memory"]
    low, high = memory["device_bytes_range"]
    items = []
    if low < high:
        where = "of the host" if hosting.alone(report) else "on the device"
        items.append(f"Used {where}, in four of five measurements: <strong>{show_range(low, high)}</strong>")
    pool = "Cache that the engine sets aside" if sets_aside(report) else "Room for the cache"
    items.append(f"{pool}: <strong>{show_range(*memory['kv_pool_bytes_range'])}</strong>")
    items += hosting.facts(report)
    return [*items, measured_text(report, "memory")]


def engine_assumptions(engine: Engine) -> list[str]:
    """Return what an answer takes for granted of an engine."""
    share = engine.values.get("memory_fraction")
    taken = f" It takes {100 * share:.0f} % of the device, in its own sense of it." if share else ""
    return [
        f"{text(engine.name)} with its own settings; what it takes is that of version {text(engine.versions)}.{taken}",
        "Nothing else runs on the device.",
    ]
