"""No number with a unit is typed into a page: it would stay as it is when the catalogue changes."""

import re
from functools import lru_cache
from pathlib import Path

import pytest

from calc.catalog import catalog
from macros import formulas

DOCS = Path(__file__).parents[2] / "docs"
# What is not prose of ours: it is blanked out, its lines kept.
NOT_PROSE = re.compile(
    r"\A---\n.*?\n---\n"  # front matter
    r"|<!--.*?-->"
    r"|^(?P<mark>[ ]*```)(?s:.*?)^(?P=mark)"  # code
    r"|`[^`\n]+`"
    r"|\{\{.*?\}\}|\{%.*?%\}"  # macros
    rf"|{formulas.BLOCK}|{formulas.INLINE}"
    r"|\[[^]\n]*\]\([^)\s]*\.md[^)\s]*\)|\]\([^)\s]*\)"  # a page's name, and where a link leads
    r"|(?<!\w)[\"“](?=\S)[^\"“”]{1,200}(?<=\S)[\"”](?!\w)"  # quotations
    r"|(?<!\*)\*{1,2}(?![*\s])[^*]{1,600}\?\*{1,2}(?!\*)"  # a question, with what it supposes
    r"|^>.*?$"
    r"|^#{1,6} .*?$",  # a heading's name
    re.DOTALL | re.MULTILINE,
)
UNITS = (
    r"[kKMGTPE]i?B(?:/s)?|bytes?\b|[GT]b(?:it)?/s|bits? (?:a|per) weight"
    r"|[GTPE]FLOPS?|[GTP]?FLOPs?\b|TOPS|POPS|[kMG]?W\b|k?Wh\b|watts?\b|[MG]Hz"
    r"|tokens?/s|tokens (?:a|per) second|(?:milli|micro)?seconds?\b|[mµ]?s\b|minutes?\b|hours?\b|days?\b"
    r"|%|per ?cent\b|[x×](?!\s*[\d\N{WHITE SQUARE}(])(?!\w)|times\b|fold\b"
    r"|USD|EUR|dollars?\b|euros?\b|cents?\b|[€$]"
)
TYPED = re.compile(rf"(?<![\w.,/⁻^-])\d[\d,.]*(?:\s|&nbsp;|-)?(?:{UNITS})|[$€£]\s?\d[\d,.]*", re.MULTILINE)


@lru_cache(maxsize=1)
def names() -> re.Pattern[str]:
    """Return what things of the catalogue are called, longest first: a size in a name is no claim of ours."""
    listed = [
        name
        for records in (catalog().accelerators(), catalog().machines(), catalog().models())
        for record in records
        for name in (record.name, *record.aliases)
        if re.search(r"\d", name)
    ]
    return re.compile(r"\b(?:" + "|".join(re.escape(name) for name in sorted(listed, key=len, reverse=True)) + r")\b")


def typed_numbers(content: str) -> list[tuple[int, str]]:
    """Return line and words of every number with a unit that is typed into a page's prose."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", "\N{WHITE SQUARE}", match[0])

    prose = names().sub(blank, NOT_PROSE.sub(blank, content))
    return [(prose.count("\n", 0, found.start()) + 1, found[0]) for found in TYPED.finditer(prose)]


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.relative_to(DOCS).as_posix())
def test_no_number_with_a_unit_is_typed(path: Path) -> None:
    """It comes from a macro, or is a quotation, a date, code or a name."""
    found = typed_numbers(path.read_text(encoding="utf-8"))
    where = [f"{path.relative_to(DOCS)}:{line}: {words!r} is typed; ask for it with a macro" for line, words in found]
    assert not where, "\n".join(where)


@pytest.mark.parametrize(
    "words",
    [
        "It takes 150 GB.",
        "About 2.5 TB/s of it",
        "a 450 W card",
        "It is 7.5x as fast, or 8× or 3 times.",
        "some 30 % more",
        "for $5 an hour",
        "1,400 tokens/s",
        "after 12 ms",
        "165 TFLOPS",
        "a 24-GB card",
        "4.25 bits per weight",
    ],
)
def test_a_typed_number_is_found(words: str) -> None:
    """With its line."""
    assert next(line for line, _ in typed_numbers(f"# A\n\n{words}\n")) == 3


@pytest.mark.parametrize(
    "words",
    [
        '{{ number("weights",\n    model="llama-3.1-8b") }} of it',
        'They say "150 GB".',
        "`sequences=8` and `memory_fraction = 0.9 x`",
        "```toml\nmemory = 24 GB\n```",
        "$B = 2 B$ and $$x = 4 GB$$",
        "## Cards of 24 GB",
        "[a page](https://example.org/24GB)",
        "1. *A card of 24 GB and 12 s: what fits?*",
        "**What fits on 24 GB?** One.",
        "2 × {{ number() }} and 3 × (4 + 5)",
        "1. Which cards?",
        "blocks of 128 × 128 weights",
        "an A100 PCIe 40GB and Llama 3.1 8B in 4 bit",
        "GB is 10⁹ bytes, on 2026-11-21",
    ],
)
def test_what_is_not_typed_is_left_alone(words: str) -> None:
    """Macros, quotations, code, formulas, headings, addresses, names and dates."""
    assert typed_numbers(words) == []
