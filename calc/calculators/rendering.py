"""An answer as HTML: verdict, memory bars, table of parts, working, assumptions, warnings and sources.

The same functions write the answer at build time and in the reader's browser.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from calc.calculators import hosting
from calc.calculators.asked import asked_words
from calc.calculators.certainty import Fits, as_old
from calc.calculators.html import ROOT, element, escaped, table, text
from calc.calculators.inputs import Report
from calc.calculators.mathml import mathml
from calc.calculators.sizes import with_sizes
from calc.catalog import catalog
from calc.derivation import CAUTION, INFO, WRONG
from calc.planning.fit import in_whole_machines
from calc.units import show_count, show_gb, show_gib, show_number, show_power, with_powers

Verdict = tuple[Fits, str, str]  # with a headline, and the sentence that follows it
STATES: dict[Fits, tuple[str, str]] = {  # as the styles know them, and their signs
    True: ("yes", "✓ "),
    "tight": ("tight", "≈ "),
    False: ("no", "✗ "),
    None: ("unknown", ""),
}

# Fields of a scenario that the form of a measurement has too, under the same names.
COMPARED = (
    *("model", "weights", "engine", "accelerator", "accelerators", "prompt_tokens", "output_tokens", "cached_tokens"),
    *("sequences", "concurrency", "kv_cache", "kv_cache_v", "memory_fraction", "sequence_slots", "gpu_layers"),
)
COMPARED_OF_TRAINING = (
    *("model", "method", "framework", "precision", "optimizer", "checkpointing", "cross_entropy", "micro_batch"),
    *("gradient_accumulation", "sequence_tokens", "accelerator", "accelerators", "sharding"),
)
Leads = tuple[tuple[str, str], ...]  # words, and the calculator that they lead to
WHOLE = re.compile(r"\d[\d,]* × [\w,]*\w|\(?\d+-way")
SEVERITIES = {WRONG: "Wrong", CAUTION: "Caution", INFO: "Note"}  # the gravest first


def answer_html(
    verdict: Verdict, report: Report, *, bars: str = "", facts: str = "", assumptions: list[str], leads: Leads = ()
) -> str:
    """Return a whole answer around a calculator's own verdict and facts; it leads on to others with the same case."""
    return "".join(
        (
            verdict_html(*verdict, asked=asked_words(report)),
            corrected_html(report) if "correction" in report["scenario"] else "",
            warnings_html(report["warnings"]),
            bars,
            facts,
            onward_html(report, leads),
            working_html(report["steps"]),
            listing("Assumptions", "assumptions", assumptions),
            listing("Sources", "sources", [source_html(source) for source in sources_of(report)]),
        )
    )


def corrected_html(report: Report) -> str:
    """Return the mark of an answer that is corrected by what the reader has measured."""
    from calc.calculators import corrected  # most answers are not

    return corrected.corrected_html(report)


def onward_html(report: Report, leads: Leads) -> str:
    """Return links with this case: to calculators that answer more of it, and to where own figures are compared.

    Empty where nothing runs, or otherwise divided.
    """
    scenario = report["scenario"]
    trains = scenario.get("workload") == "training"
    named = all(isinstance(scenario.get(name), str) for name in ("accelerator", "model"))
    divided = trains and any(ways > 1 for way, ways in scenario["parallelism"].items() if way != "data")
    if not named or divided or not (trains or isinstance(scenario.get("weights"), str)):
        return ""
    if not trains and scenario.get("engine", "none") == "none":
        return ""
    names, page = (COMPARED_OF_TRAINING, "your-training") if trains else (COMPARED, "your-measurement")
    said = [(name, scenario[name]) for name in names if isinstance(scenario.get(name), str | int | float)]
    query = "&".join(f"{name}={escaped(str(value))}" for name, value in said)
    links = [
        element("a", words, href=f"{ROOT}calculators/{place}/?{query}")
        for words, place in (*leads, ("Your measurement differs?", page))
    ]
    return element("p", " ".join(links), class_="calc-differs")


def spoken(headline: Callable[[Report], Verdict | tuple[str, str]]) -> Callable[[Report], str]:
    """Return what says a calculator's headline and the sentence after it to a screen reader."""

    def status(report: Report) -> str:
        *_, first, rest = headline(report)
        return f"{first} {rest}"

    return status


def part_bytes(report: Report, part_id: str) -> int:
    """Return the bytes of one part of a report; 0 where it has none."""
    return sum(int(part["bytes"]) for part in report["memory"]["parts"] if part["id"] == part_id)


def parts_html(report: Report) -> str:
    """Return the table of parts, in both units, with their sum."""
    memory = report["memory"]
    total = memory["device_bytes"]
    rows = [
        [
            text(part["label"]),
            show_gib(part["bytes"]),
            show_gb(part["bytes"]),
            f"{100 * part['bytes'] / total:.1f} %",
        ]
        for part in memory["parts"]
        if part["bytes"]
    ]
    rows.append(["Total", show_gib(total), show_gb(total), "100.0 %"])
    return table(
        ("Part", "GiB", "GB", "Share"),
        rows,
        caption=f"Memory of the {'host' if hosting.alone(report) else 'fullest device'}, by part",
        class_="calc-parts",
    )


def step_html(step: Report) -> str:
    """Return one step: its name, the formula, the numbers put in, and the result."""
    return step_line(**{part: step[part] for part in ("name", "formula", "substituted", "value", "unit")})


@lru_cache(maxsize=512, typed=True)
def step_line(*, name: str, formula: str, substituted: str, value: float, unit: str) -> str:
    """Return the same of a step's parts: most steps of an answer are those of the one before it."""
    numbers = f"{text(with_powers(substituted))} = {element('strong', step_result(value, unit))}"
    title = element("span", text(name), class_="calc-step-name")
    return element("li", f"{title} {mathml(formula)} {element('span', numbers)}", class_="calc-step")


def step_result(value: float, unit: str) -> str:
    """Return what a step comes to, with its unit."""
    if abs(value) >= 1e16:  # more digits than a float has
        shown = show_power(value)
    else:
        shown = show_count(value) if unit == "B" or float(value).is_integer() else show_number(value, 4)
    return f"{shown} {unit}".rstrip()


def working_html(steps: list[Report]) -> str:
    """Return the working, closed until a reader opens it; nothing where there is none."""
    if not steps:
        return ""
    body = element("ol", "".join(step_html(step) for step in steps))
    return details("The working", "working", body)


def measured_text(report: Report, figure: str) -> str:
    """Return how many measurements stand behind the "speed" or the "memory" of an answer, or that none do."""
    found = report["measured"][figure]
    if not found["rows"]:
        said = as_old(report) if "since" in report["measured"] else ""
        said += ", and the range is the wider one" if figure == "speed" else ""
        return f"The {figure} of such a case is <strong>not measured</strong>: nothing published is like it{said}."
    rows = "one measurement" if found["rows"] == 1 else f"{show_count(found['rows'])} measurements"
    sources = "one source" if found["sources"] == 1 else f"{show_count(found['sources'])} sources"
    return f"The {figure} of such cases is <strong>measured</strong>: {rows} of {sources}"


def facts_html(items: Iterable[str]) -> str:
    """Return facts, which are HTML already, as a list; nothing where there are none."""
    listed = "".join(element("li", item) for item in items)
    return element("ul", listed, class_="calc-facts") if listed else ""


def listing(title: str, key: str, items: list[str]) -> str:
    """Return a closed list of HTML items; nothing for an empty one."""
    if not items:
        return ""
    return details(title, key, element("ul", "".join(element("li", item) for item in items)))


def details(title: str, key: str, body: str) -> str:
    """Return a part that opens; `key` lets the page keep it open when the answer changes."""
    return element("details", element("summary", text(title)) + body, class_=f"calc-{key}", data_key=key)


def by_severity(warnings: list[Report]) -> list[Report]:
    """Return warnings with the gravest first."""
    order = list(SEVERITIES)
    return sorted(warnings, key=lambda warning: order.index(warning["severity"]))


def warnings_html(warnings: list[Report]) -> str:
    """Return the warnings, open, the gravest first, each with its severity as a word and its sizes in either unit."""
    items = ""
    for warning in by_severity(warnings):
        if warning["code"] == "corrected":  # which has a mark of its own
            continue
        severity = element("strong", SEVERITIES[warning["severity"]] + ":")
        message = text(with_sizes(warning["message"], warning["sizes_bytes"]))
        kind = {"data_code": warning["code"], "data_severity": warning["severity"]}
        items += element("li", f"{severity} {message}.", **kind)
    return element("ul", items, class_="calc-warnings") if items else ""


def sources_of(report: Report) -> list[str]:
    """Return the sources that an answer rests on, each once: of its formulas, its device and its model."""
    found = dict.fromkeys(step["source"] for step in report["steps"])
    scenario = report["scenario"]
    listed = scenario.get("accelerator") or []
    for item in listed if isinstance(listed, list) else [{"id": listed}]:
        device = catalog().accelerator(item["id"])
        found[device.memory_fact.source] = None
        rates = ("bandwidth", "bf16") if report["speed"] else ()
        found |= dict.fromkeys(device.facts[name].source for name in rates if name in device.facts)
    if report["model"]["id"]:
        found[catalog().model(report["model"]["id"]).source] = None
    return list(found)


def source_html(source_id: str) -> str:
    """Return a source as a link with its publisher."""
    source = catalog().source(source_id)
    link = element("a", text(source.title), href=source.url, rel="noopener")
    return f"{text(source.publisher)}: {link}" if source.publisher else link


def unbroken(said: str) -> str:
    """Return a sentence as escaped text in which no line ends within a count of something, or before its "-way"."""
    return WHOLE.sub(lambda found: element("span", found[0], class_="calc-whole"), text(said))


def verdict_html(fits: Fits, headline: str, rest: str, *, asked: str = "") -> str:
    """Return the answer in a sentence; the sign, the word and the colour say the same. Below it is what was asked."""
    state, sign = STATES[fits]
    inner = element("strong", unbroken(sign + headline)) + " " + unbroken(rest)
    question = element("small", text(asked), class_="calc-question") if asked else ""
    return element("p", inner + question, class_="calc-verdict", data_fits=state)


def whole_machines(report: Report) -> str:
    """Return how many the fewest devices are in whole machines, behind their number; empty where they are as many."""
    count = report["memory"]["devices_needed"]
    whole = in_whole_machines(count, report["scenario"]["accelerator"], catalog())
    return f", {show_count(whole)} in whole machines" if whole > count else ""
