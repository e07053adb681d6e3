"""The answer to a question in one line: what was understood, and below it a calculator's or the planner's answer."""

from typing import Any

from calc.calculators import arriving, line_chips, several
from calc.calculators.engines import does_not_run
from calc.calculators.html import ROOT, element, text
from calc.calculators.line_cases import Worked, answered, cases_of, names_no_device, worked
from calc.calculators.line_link import every_field, form_values, link_to
from calc.calculators.line_pasted import pasted
from calc.calculators.line_refusals import problem, refused
from calc.calculators.memory_bar import bars_html
from calc.calculators.options import devices
from calc.calculators.rendering import parts_html, verdict_html
from calc.calculators.side_by_side import Pinned
from calc.calculators.sizes import size_gib
from calc.calculators.speed_answer import writes
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.lines.comparing import read_line
from calc.lines.reading import OF_DEVICES
from calc.lines.settling import ON_HOST
from calc.lines.wording import COSTS, NVLINK, POWER, TUNED
from calc.performance.fabric import own_link, usual_link
from calc.performance.paces import tokens_per_s_each
from calc.planner.steps import Steps, finished
from calc.units import show_count, show_dollars, show_number

Answer = tuple[str, str]  # HTML, and the same in a sentence
Settled = tuple[str, str, dict[str, object]]  # and what was settled
PLAIN_RUN = "That is a plain run: what {} takes beside it, a second model or answers that it writes, is not in it."


def answer_line(typed: str) -> dict[str, Any]:
    """Return the page's answer to a typed line: `{"ok", "html", "status"}`; a line that is no question is answered too.

    Raises ScenarioError for what is no line.
    """
    return finished(answering_line(typed))


def answering_line(typed: str) -> Steps[dict[str, Any]]:
    """Look for the same, a way that the planner tries a step."""
    if taken := pasted(str(typed)):
        return {"ok": True, "html": element("div", taken[0], class_="ask-answer"), "status": taken[1]}
    reading: Any = read_line(typed)
    found: dict[str, object] = {}
    try:
        if reading["missing"] or reading["asks"] is None:
            html, status = refused(reading)
        elif reading["sides"]:
            html, status, found = yield from comparing(reading)
        else:
            html, status, found = yield from answering_one(reading)
    except ScenarioError as error:
        html, status = problem(error)
    chips = line_chips.render(reading, found)
    answered = element("div", html, class_="ask-answer")
    return {"ok": True, "html": chips + answered, "status": " ".join((status, *line_chips.exchanges(reading)))}


def answering_one(reading: Any) -> Steps[Settled]:
    """Look for the answer to a line of one case."""
    if reading["question"]:
        from calc.calculators import line_options  # most ask of one scenario

        return (yield from line_options.answering(reading))
    if reading["asks"] in OF_DEVICES:
        from calc.calculators import line_facts  # most ask of a model

        return *getattr(line_facts, reading["asks"])(reading), {}
    if names_no_device(reading):
        return *memory_alone(report_of(reading)), {}
    return calculated(reading)


def comparing(reading: Any) -> Steps[Settled]:
    """Look for the answers to a line's sides: those of forms stand side by side, others one after the other."""
    from calc.calculators import line_sides  # most ask of one case

    sides, cases = reading["sides"], cases_of(reading)
    if not cases:
        answers = []
        for side in sides:
            html, status, _ = yield from answering_one(side)
            answers.append((html, status))
        return *line_sides.one_by_one(reading, answers), {}
    said = [
        " ".join(filter(None, (sentence(case, sides[0]), words_of(case), *beside(reading, case)))) for case in cases
    ]
    pinned = [Pinned(case.calculator, case.values, case.report) for case in cases]
    found = [case.found for case in cases]
    alike = {name: value for name, value in found[0].items() if all(one.get(name) == value for one in found)}
    return *line_sides.beside(reading, found, pinned, said), alike


def calculated(reading: Any) -> Settled:
    """Return a calculator's answer to a line's scenario, with a link to its form, and what was settled."""
    case = worked(reading)
    calculator, values, found, report, _ = case
    words = words_of(case)
    link = link_to(calculator, values, every_field(calculator, "other " if case.more else ""))
    status = sentence(case, reading)
    html = calculator.render(report).replace(f'"{ROOT}', '"')  # from the first page
    if "accelerators" in found:  # which is what the line asks
        return verdict_html(None, words, "") + link + html, f"{words} {status}", found
    if reading["asks"] == "cost":
        html = verdict_html(None, status, "") + html
    if case.report["scenario"].get("workload") == "training" and (tuning := TUNED.search(reading["line"].lower())):
        words = f"{words} {PLAIN_RUN.format(tuning[0].upper())}".strip()
    written, *others = beside(reading, case)
    link += speed_link(case) if written else ""
    more = list(filter(None, (written, *others, paid_for(reading, case.report))))
    verdict, end, rest = html.partition("</p>")
    said = " ".join(filter(None, (words, without_format(case), *more)))
    note = element("p", text(said), class_="ask-note") if said else ""
    return verdict + end + note + link + rest, " ".join(filter(None, (status, words, *more))), found


def beside(reading: Any, case: Worked) -> tuple[str, str, str]:
    """Return what the calculator does not say beside its answer: how fast it writes, the link, what devices draw."""
    return written_by(case), joined_by(reading, case), drawn_by(reading, case)


def written_by(case: Worked) -> str:
    """Return how fast what fits writes, in a sentence: who asks whether a model runs also asks whether it is usable."""
    report = case.report
    served = case.calculator.id == "will-it-fit" and not does_not_run(report) and report["memory"]["fits"]
    if not served or not report["speed"] or not writes(report) or arriving.arrives(report) or several.pooled(report):
        return ""
    each = tokens_per_s_each(report["speed"]["time_per_output_token_s"])
    low, typical, high = (show_number(each[name]) for name in ("low", "typical", "high"))
    doubt = "" if report["measured"]["speed"]["rows"] else ", not measured"
    who = "Each answer is" if report["memory"]["sequences"] > 1 else "Its answer is"
    return f"{who} written at {typical} tokens/s ({low} to {high}{doubt})."


def speed_link(case: Worked) -> str:
    """Return a link to the form of speeds with a case filled in."""
    from calc.calculators.page import CALCULATORS  # whose calculators this one is among

    calculator = CALCULATORS["speed"]
    values = form_values(calculator, {**case.calculator.asked(case.values), **case.more})
    return link_to(calculator, values, calculator.title)


def drawn_by(reading: Any, case: Worked) -> str:
    """Return what a case's devices draw and what a month of it costs, where a line asks for it; else nothing."""
    scenario = case.report["scenario"]
    if not POWER.search(reading["line"].lower()) or not isinstance(scenario.get("accelerator"), str):
        return ""
    from calc.calculators import line_facts  # few ask for it

    limit = scenario.get("power_limit")
    drawn = line_facts.drawn(scenario["accelerator"], scenario.get("accelerators", 1), hours=24, limit_w=limit)
    return " ".join(drawn).strip()


def joined_by(reading: Any, case: Worked) -> str:
    """Return which link is counted between devices, in a sentence, where a line speaks of one; else nothing."""
    scenario = case.report["scenario"]
    if not NVLINK.search(reading["line"].lower()) or scenario.get("accelerators", 1) == 1 or several.lists(case.report):
        return ""
    device = catalog().accelerator(scenario["accelerator"])
    own, counted_ = own_link(device), usual_link(device)
    if own is None:
        return f"{device.name} has no link of its own: {counted_.name} is counted."
    if own != counted_:
        return f"{own.name} is bought apart and is not counted: {counted_.name} is."
    return f"{own.name} joins them, and is counted."


def sentence(case: Worked, reading: Any) -> str:
    """Return a case's answer in a sentence; who asks what electricity costs is not told a rent."""
    if reading["asks"] != "cost":
        return case.calculator.status(case.report)
    current = (case.report["cost"] or {}).get("electricity") if POWER.search(reading["line"].lower()) else None
    return electricity_of(case.report, current) if current else cost_of(case.report)


def electricity_of(report: Any, current: Any) -> str:
    """Return what the electricity of a million output tokens costs, in a sentence."""
    each, price = current["per_million_output_tokens"], current["price"]
    ends = f"{show_dollars(each['low'])} to {show_dollars(each['high'])}"
    at = f"{price['each']:.3g} {price['currency']} a kWh, {price['region'] or price['seller']}, {price['date']}"
    energy = show_number(report["cost"]["energy_kwh_per_million_output_tokens"]["typical"])
    paid = f"{show_dollars(each['typical'])} of electricity a million output tokens ({ends})"
    return f"{paid}, {energy} kWh, {kept(report)}: {at}."


def kept(report: Any) -> str:
    """Return how many requests at once keep devices busy, in words."""
    count = report["scenario"]["sequences"]
    return "kept busy by one request at a time" if count == 1 else f"kept busy by {show_count(count)} requests at once"


def words_of(case: Worked) -> str:
    """Return what was settled for a case, in words."""
    memory, scenario = case.report["memory"], case.report["scenario"]
    if "accelerators" in case.found:
        return counted(case.found, scenario)
    return plain(case.found, fits=memory.get("fits", True) and scenario.get("gpu_layers") != 0)


def counted(found: dict[str, Any], scenario: Any) -> str:
    """Return how many devices hold a case at least, and how many do in a format of fewer bits, in a sentence."""
    words = f"It takes {devices(scenario)}" if found["accelerators"] else "No number of them that was tried holds it"
    if "narrower" not in found:
        return f"{words}."
    weights, fewer = found["narrower"]
    return f"{words} as published, {fewer} in {weights}."


def paid_for(reading: Any, report: Any) -> str:
    """Return what the devices of a run cost to rent, in a sentence, where a line asks it beside how long it takes."""
    rent = (report["cost"] or {}).get("rent") if reading["asks"] == "duration" else None
    if not rent or not rent["per_run"] or not COSTS.search(reading["line"].lower()):
        return ""
    low, whole, high = (show_dollars(rent["per_run"][name]) for name in ("low", "typical", "high"))
    return f"Rented, it costs {whole} ({low} to {high}): {seller(rent['price'])}."


def seller(price: Any) -> str:
    """Return who asks a price, for what kind of use and on which day."""
    return f"{price['seller'] or price['region'] or 'several sellers'}, {price['kind']}, {price['date']}"


def cost_of(report: Any) -> str:
    """Return what a million output tokens cost, and with how many requests at once, in a sentence."""
    rent = (report["cost"] or {}).get("rent")
    if not rent:
        return "The catalogue has no rent of this device: put in your own, under Every field."
    each = rent["per_million_output_tokens"]
    ends = f"{show_dollars(each['low'])} to {show_dollars(each['high'])}"
    said = seller(rent["price"])
    return f"{show_dollars(each['typical'])} a million output tokens ({ends}), {kept(report)}, rented: {said}."


def without_format(case: Worked) -> str:
    """Return what is missing in the published format, in a sentence, where another was settled and it does not fit."""
    if case.found.get("weights") in (None, "published"):
        return ""
    report = answered(case.calculator, {**case.values, "weights": "published"}, case.more)
    if report["memory"].get("fits", True):
        return ""
    return f"As published, {size_gib(-report['memory']['headroom_bytes'])} are missing."


def plain(found: dict[str, Any], *, fits: bool) -> str:
    """Return what was settled, in words."""
    said = []
    if (weights := found.get("weights")) not in (None, "published"):
        whole = fits and found.keys().isdisjoint(ON_HOST)
        which = "is the first that fits" if whole else "is the smallest that many take"
        if "fetched" in found:
            which = f"is what {found['fetched']} fetches then"
        said.append(f"You name no number format: {catalog().weights_format(str(weights)).name} {which}.")
    if "experts_on_host" in found:
        said.append(f"The experts of {found['experts_on_host']} layers stay in the host's memory.")
    if "gpu_layers" in found:
        said.append(f"All but {found['gpu_layers']} layers stay in the host's memory.")
    return " ".join(said)


def report_of(reading: Any) -> Any:
    """Return the report that answers a line of one scenario."""
    return estimate(reading["scenario"]) if names_no_device(reading) else worked(reading).report


def memory_alone(report: Any) -> Answer:
    """Return what a training run takes where no device is said."""
    memory = report["memory"]
    low, high = memory["device_bytes_range"]
    size = size_gib(memory["device_bytes"])
    rest = f"{report['model']['name']}; four of five such runs lie from {size_gib(low)} to {size_gib(high)}."
    verdict = verdict_html(None, f"It takes {size}:", rest)
    return verdict + bars_html(report) + parts_html(report), f"It takes {size}: {rest}"
