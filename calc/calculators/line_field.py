"""The field for a question in one line, with examples that are answered when the site is built."""

from collections.abc import Sequence

from calc.calculators.html import element, escaped, text
from calc.calculators.line import answer_line
from calc.calculators.rendering import unbroken
from calc.lines.line import LONGEST

PLACEHOLDER = "llama 3.3 70b q4 on 2x3090, 32k, 5 users"
ASKED = "What do you have, and what do you want?"
IDLE = "Press Enter: the answer is computed in your browser."
WITHOUT_SCRIPTS = "Without scripts this page answers the examples; the calculators show their worked ones."


def render_line(examples: Sequence[str]) -> str:
    """Return the field for a question in one line, with examples and their finished answers in a sentence each."""
    field = element(
        "input",
        id="ask-line",
        name="ask",
        type="text",
        autocomplete="off",
        autocapitalize="off",
        spellcheck="false",
        enterkeyhint="go",
        maxlength=LONGEST,
        placeholder=PLACEHOLDER,
    )
    asked = element("div", field + element("button", "Ask", type="submit"), class_="ask-field")
    form = element("form", element("label", ASKED, for_="ask-line") + asked, method="get")
    live = element("p", IDLE, class_="calc-runtime") + element("p", "", class_="calc-status", role="status")
    live += element("noscript", element("p", WITHOUT_SCRIPTS))
    result = element("div", "", class_="ask-result", hidden=True)
    listed = element("ul", "".join(map(example, examples)), class_="ask-examples", aria_label="Examples")
    return element("div", element("gpu-question", form + live + result + listed), class_="ask calc")


def example(line: str) -> str:
    """Return an example as a link that asks it, with the first sentence of its answer: asking it shows the rest."""
    link = element("a", text(line), href=f"?ask={escaped(line)}")
    first = answer_line(line)["status"].partition(". ")[0].removesuffix(".")
    return element("li", f"{link} {element('span', unbroken(f'{first}.'))}")
