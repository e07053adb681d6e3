"""The model that drafts tokens for another one, as a line names it: with a 1b draft, draft model qwen3 0.6b."""

import re

from calc.lines.device_names import Name
from calc.lines.line import Line
from calc.lines.names import Names

DRAFT = r"draft(?:er|ing)?(?:\s+model)?\b"
PATTERNS = (
    re.compile(
        rf"(?:\b(?:with|and|plus|using|w/)|\+)\s+(?:an?\s+|the\s+)?(\S.{{0,38}}?)\s+(?:as\s+)?(?:an?\s+|the\s+)?{DRAFT}"
    ),
    re.compile(
        r"\bspeculat\w+(?:\s+decod\w+)?\s+(?:with|using|w/)\s+(?:an?\s+|the\s+)?([a-z]\S*(?:[\s-]+\d[\d.]*b?\b){0,2})"
    ),
    re.compile(rf"\b{DRAFT}(?:\s+is|\s*[:=])?\s+([a-z]\S*(?:[\s-]+\d[\d.]*b?\b){{0,2}})"),
)


def read_draft(line: Line, names: Names) -> Name | None:
    """Return the model that drafts, claimed with the words that say so; None where a line names none."""
    for match in (match for pattern in PATTERNS for match in pattern.finditer(line.small)):
        alone = Line(line.text)
        alone.claim(0, match.start(1))
        alone.claim(match.end(1), len(line.text))
        found = names.listed_model(alone) or names.model(alone)
        if found and line.free(*match.span(1)):
            start = match.start(1) if match.end(1) < match.end() else match.start()  # with the word that says so
            line.claim(start, match.end())
            return found._replace(start=start, end=match.end())
    return None
