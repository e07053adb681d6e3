"""What is pasted where a question is asked and is none: a model's config.json, or what a program printed."""

import re
from typing import NamedTuple

from calc.calculators.line_link import link_to
from calc.calculators.rendering import verdict_html

Answer = tuple[str, str]  # HTML, and the same in a sentence


class Paste(NamedTuple):
    """A kind of text that is no question: how it is known, what it is, and which calculator takes it where."""

    known_by: re.Pattern[str]
    name: str
    calculator: str
    opened: str  # on its page


PASTES = (
    Paste(
        re.compile(r'"(?:architectures|model_type|hidden_size|num_hidden_layers)"\s*:'),
        "a model's config.json",
        "will-it-fit",
        "Use your own model",
    ),
    Paste(
        re.compile(
            r"\d+w / +\d+w\b.*\d+mib / *\d+mib"  # nvidia-smi
            r"|\|\s*(?:pp|tg)\d+(?:\s*@ d\d+)?\s*\|"  # llama-bench
            r"|\bllama_(?:print_timings|perf_\w+)\b|\beval time ="
            r"|serving benchmark result|\b(?:mean|median|p99) (?:ttft|tpot|itl) \(ms\)"
            r"|\bmaximum concurrency for [\d,]+ tokens\b"  # vLLM's start
        ),
        "what a program printed",
        "your-measurement",
        "Paste what a program printed",
    ),
)


def pasted(typed: str) -> Answer | None:
    """Return where a text that is no question is taken, with a link to it; None for what may be one."""
    from calc.calculators.page import CALCULATORS

    for paste in PASTES:
        if paste.known_by.search(typed.lower()):
            calculator = CALCULATORS[paste.calculator]
            said = f"This is {paste.name}. “{calculator.title}” takes all of it, under “{paste.opened}”."
            return verdict_html(None, "No question:", said) + link_to(calculator, {}, calculator.title), said
    return None
