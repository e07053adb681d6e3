"""The answer to a line that compares, a vs b: which of its cases fits or is faster, each one's answer, and a table."""

from typing import Any

from calc.calculators.asked import METHODS, format_words, in_format
from calc.calculators.html import ROOT, element, text
from calc.calculators.inputs import Report
from calc.calculators.line_chips import LABELS, shown
from calc.calculators.line_link import link_to
from calc.calculators.rendering import verdict_html
from calc.calculators.side_by_side import Pinned, side_by_side
from calc.lines.layout import DEGREES
from calc.units import show_number

ALIKE = 1.05  # times as fast: less is no difference that an estimate tells apart
COUNTED = ("accelerators", "accelerator")  # said as one: 2 × L4
SETTLED = ("weights", "accelerators")  # what a line leaves open and each side may have its own of

Answer = tuple[str, str]  # HTML, and the same in a sentence


def labels(reading: Any, found: list[dict[str, object]]) -> list[str]:
    """Return what each side of a line has of its own, said or settled, in words."""
    sides = [{chip["field"]: chip["value"] for chip in side["chips"]} for side in reading["sides"]]
    for side, settled in zip(sides, found, strict=True):
        side |= {name: settled[name] for name in SETTLED if settled.get(name)}
    own = [name for name in dict.fromkeys(name for side in sides for name in side) if len(values(sides, name)) > 1]
    return [label(side, own) for side in sides]


def values(sides: list[dict[str, Any]], name: str) -> set[str]:
    """Return the values that sides give a field."""
    return {str(side.get(name)) for side in sides}


def label(side: dict[str, Any], own: list[str]) -> str:
    """Return a side's own fields in words, a number of devices before what they are."""
    said = [in_words(name, side[name]) for name in own if name in side and name not in COUNTED]
    if not set(own).isdisjoint(COUNTED) and "accelerator" in side:
        count = side.get("accelerators", 1)
        name = shown("accelerator", side["accelerator"])
        said.insert(0, f"{count} × {name}" if count > 1 or "accelerators" in own else name)
    return ", ".join(said)


def in_words(field: str, value: object) -> str:
    """Return a value in words that say what it is of."""
    if field == "weights" and isinstance(value, str):
        return format_words(value)
    if field == "method":
        return METHODS[str(value)]
    if field in DEGREES:
        return f"{value}-way {field} parallel"
    words = shown(field, value)
    return f"{words} {LABELS[field].lower()}" if words.isdigit() else words


def beside(reading: Any, found: list[dict[str, object]], pinned: list[Pinned], said: list[str]) -> Answer:
    """Return the answers of forms side by side: which is better, each one's sentence with its form, and a table."""
    names = labels(reading, found)
    formats = {str(one.get("weights")) for one in found}
    within = f" {in_format(formats.pop())}" if len(formats) == 1 and "weights" in found[0] else ""
    cost = reading["sides"][0]["asks"] == "cost"
    headline = decided(names, [one.report for one in pinned], cost=cost, within=within)
    if reading["sides"][0]["asks"] != "devices" and all("accelerators" in one for one in found):
        headline = f"None holds it alone; compared are as many of each as do. {headline}"
    items = ""
    for name, one, sentence in zip(names, pinned, said, strict=True):
        link = link_to(one.calculator, one.values, "Every field")
        items += element("li", f"{element('strong', text(f'{name}:'))} {text(sentence)} {link}")
    shown_beside, _ = side_by_side(pinned, kept=True)
    table = shown_beside.replace(f'"{ROOT}', '"')  # from the first page
    return verdict_html(None, headline, "") + element("ul", items, class_="ask-sides") + table, headline


def one_by_one(reading: Any, answers: list[Answer]) -> Answer:
    """Return answers that no table has side by side, one after the other."""
    html, said = "", []
    for name, (shown_, sentence) in zip(labels(reading, [{}] * len(answers)), answers, strict=True):
        html += element("section", element("h3", text(name)) + shown_, class_="ask-side")
        said.append(f"{name}: {sentence}")
    return html, " ".join(said)


def decided(names: list[str], reports: list[Report], *, cost: bool, within: str) -> str:
    """Return which of several cases fits, and of those that do which is faster, or writes for less.

    `within` says which number format that is in, where the line names none and all have the same.
    """
    fitting = [place for place, report in enumerate(reports) if fits(report)]
    if not fitting:
        return f"None of them fits{within}: {', '.join(names)}."
    left = [name for place, name in enumerate(names) if place not in fitting]
    lead = f"Only {names[fitting[0]]} fits{within}." if len(fitting) == 1 else ""
    if len(fitting) > 1:
        alone = f"{' and '.join(left)} {'does' if len(left) == 1 else 'do'} not fit{within}." if left else ""
        lead = alone or f"{'Both' if len(names) == 2 else 'All'} fit{within}."
    rest = better([names[place] for place in fitting], [reports[place] for place in fitting], cost=cost)
    return f"{lead} {rest}".strip()


def fits(report: Report) -> bool:
    """Return whether a case fits and runs."""
    return report["memory"].get("fits") is not False and report.get("runs") is not False


def better(names: list[str], reports: list[Report], *, cost: bool) -> str:
    """Return which of some cases is the fastest, or writes for less, against the slowest; empty for one of them."""
    figures = list(map(price if cost else speed, reports))
    unknown = [name for name, figure in zip(names, figures, strict=True) if not figure]
    if cost and unknown:
        known = [place for place, figure in enumerate(figures) if figure]
        others = better([names[place] for place in known], [reports[place] for place in known], cost=cost)
        return f"The catalogue has no rent of {' and '.join(unknown)}. {others}".strip()
    if len(names) < 2 or unknown:
        return ""
    first, last = figures.index(max(figures)), figures.index(min(figures))
    times = figures[first] / figures[last]
    if times < ALIKE:
        return "They cost about the same." if cost else "They are about equally fast."
    if cost:
        return f"A token on {names[last]} costs {show_number(1 / times)} of one on {names[first]}."
    does = "trains on" if reports[first]["scenario"]["workload"] == "training" else "writes"
    return f"{names[first]} {does} {show_number(times)} times as many tokens a second as {names[last]}."


def speed(report: Report) -> float:
    """Return how many tokens a case writes in a second, or trains on; zero where it is not known."""
    figures, scenario = report.get("speed") or {}, report["scenario"]
    if written := figures.get("decode_tokens_per_s"):
        return float(written["typical"])
    trained = figures.get("tokens_per_s_per_device")
    return float(trained["typical"] * scenario["accelerators"]) if trained else 0.0


def price(report: Report) -> float:
    """Return what a million tokens cost that a case writes on rented devices, in dollars; zero where no one knows."""
    rent = (report.get("cost") or {}).get("rent")
    return float(rent["per_million_output_tokens"]["typical"]) if rent else 0.0
