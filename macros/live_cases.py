"""Live cases on a page: what people asked, what came of it, and what is answered when the site is built."""

from calc.calculators.html import element, text
from calc.calculators.html import table as html_table
from calc.calculators.line_link import address_of, asks_all, form_values
from calc.calculators.page import CALCULATORS
from calc.units import show_count, show_number
from calc.validation.questions import OUTCOME, TOLERANCES, TOPICS, Figure, Question, questions
from macros.claims.values import in_a_line
from macros.filtered import filtered
from macros.links import calculator_address
from macros.markdown import unsearched

__all__ = ["question_tolerance", "questions_count", "questions_table"]

HEADINGS = ("Question", "Published", "Answered here", "Why another")
SAID = {
    "speed.decode_tokens_per_s": "decoding",
    "speed.prefill_tokens_per_s": "reading",
    "speed.output_tokens_per_s": "in all",
    "speed.time_to_first_token_s": "to the first token",
    "speed.time_per_output_token_s": "between tokens",
    "cold_start.seconds": "until it answers",
    "memory.kv_pool_tokens": "of cache",
    "memory.device_bytes": "on the device",
    "memory.parts.weights.bytes": "of weights",
    "memory.parts.kv_cache.bytes": "of cache",
}
UNKNOWN = "Not looked into yet."
SIGNS = {True: "✓", False: "✗"}


def questions_table(topic: str) -> str:
    """Return the live cases of a topic as a table that filters; topics are those of calc.validation.questions."""
    if topic not in TOPICS:
        raise ValueError(f"{topic!r} is no topic of live cases; there are {', '.join(TOPICS)}")
    rows = [row(question) for question in questions() if question.topic == topic]
    found = html_table(HEADINGS, rows, caption=TOPICS[topic], class_="calc-worded claims", words=len(HEADINGS))
    return unsearched(filtered(found, things="questions"))


def questions_count(what: str = "all") -> str:
    """Return how many live cases there are: "all", answered "right" or "otherwise", or the "trackers" they are from."""
    found = questions()
    counts = {
        "all": len(found),
        "right": len([question for question in found if question.right]),
        "otherwise": len([question for question in found if not question.right]),
        "trackers": len({question.tracker for question in found}),
    }
    return show_count(counts[what])


def question_tolerance(unit: str) -> str:
    """Return by how many percent an answer in a unit may differ from what was published and be called right."""
    return f"{TOLERANCES[unit] * 100:g} %"


def row(question: Question) -> list[str]:
    """Return the cells of a live case."""
    source = element("a", text(f"{question.tracker}, {question.dated}"), href=question.url)
    asked = text(question.asks) + element("div", element("small", f"{source}: {case(question)}"))
    published = "".join(element("div", text(figure_text(figure, figure.published))) for figure in question.figures)
    answers = "".join(
        element("div", text(f"{SIGNS[figure.right]} {figure_text(figure, figure.answer)}"))
        for figure in question.figures
    )
    return [asked, published, answers, text("" if question.right else question.reason or UNKNOWN)]


def figure_text(figure: Figure, value: str | float | None) -> str:
    """Return a figure of a live case in words."""
    if figure.value == OUTCOME:
        return str(value)
    if not isinstance(value, int | float):
        return "no answer"
    shown = show_count(round(value)) if figure.unit == "tokens" else show_number(value)
    return f"{shown} {figure.unit} {SAID[figure.value]}"


def case(question: Question) -> str:
    """Return a case in words, as a link that opens it in a calculator where its form asks for all of it."""
    fast = any(figure.value.startswith(("speed", "cold")) for figure in question.figures)
    calculator, said = CALCULATORS["speed" if fast else "will-it-fit"], text(in_a_line(question.scenario))
    if not asks_all(calculator, question.scenario):
        return said
    query = address_of(calculator, form_values(calculator, question.scenario)).partition("?")[2]
    return element("a", said, href=f"{calculator_address(calculator.id)}?{query}")
