"""Claims on pages: one where a reader meets it, and all of them in a list."""

import re
from collections import Counter

from calc.calculators.html import element, table, text
from calc.catalog import catalog
from calc.catalog.claims import PLACEHOLDER, REFUTED, TOPICS, VERDICTS, Claim
from calc.units import show_count
from macros.claims.checking import Result, checked, results
from macros.claims.values import cited, shown, value_of
from macros.filtered import filtered
from macros.inline import opening
from macros.markdown import block, inline

__all__ = ["claim", "claims", "claims_count", "claims_table"]

SIGNS = {"wrong": "✗", "outdated": "✗", "correct with conditions": "✓", "correct": "✓", "not verifiable": "?"}
COMPARED = {
    "is": "the claim says {}",
    "at least": "the claim needs at least {}",
    "at most": "the claim needs at most {}",
    "more than": "the claim needs more than {}",
    "less than": "the claim needs less than {}",
}


def claim(name: str) -> str:
    """Return a claim, its check that has just been run, and the verdict; `name` is its id."""
    return block(claim_html(name))


def claims(*names: str) -> str:
    """Return several claims that a page deals with in its own words, closed until a reader opens them."""
    title = f"{show_count(len(names))} claims, checked"
    body = element("summary", title) + "".join(claim_html(name) for name in names)
    return block(element("details", body, class_="note claims-here"))


def claim_html(name: str) -> str:
    """Return a claim by its id."""
    found, run = checked(name)
    said = element("p", label("Claim") + element("q", text(found.claim)), class_="claim-said")
    check = element("p", label("Check") + checks_html(found, run))
    verdict = element("p", label("Verdict") + verdict_html(found) + " " + right_html(found, run))
    inner = said + check + verdict
    return element("div", inner, class_="claim", data_verdict=found.verdict, data_claim=found.id)


def label(word: str) -> str:
    """Return the word that a part of a claim begins with."""
    return element("strong", word + ":", class_="claim-label") + " "


def verdict_html(found: Claim) -> str:
    """Return a verdict by sign and word."""
    word = f"{SIGNS[found.verdict]} {found.verdict[0].upper()}{found.verdict[1:]}."
    return element("strong", text(word), class_="claim-verdict")


def checks_html(found: Claim, run: list[Result]) -> str:
    """Return what was computed beside what the claim says, or else that the check is a source; then the sources."""
    parts = []
    for result in run:
        compared = COMPARED[result.check.relation].format(result.claimed)
        parts.append(f"{text(result.check.what)}: {opening(result.said, result.line)}; {text(compared)}.")
    if not run:
        parts.append("Nobody gives a source." if not found.sources else "By source; nothing here can be computed.")
    listed = [cited(source, catalog().source(source).checked or found.checked) for source in found.sources]
    if listed:
        parts.append(element("span", " ".join(listed), class_="claim-sources"))
    return " ".join(parts)


def right_html(found: Claim, run: list[Result]) -> str:
    """Return what is right, with the numbers of its checks put in, and a note where there is one."""
    values = {name: (value.number, value.unit, value.line) for result in run for name, value in result.values.items()}
    besides = {name: value_of(value) for name, value in found.values.items()}
    values |= {name: (value.number, value.unit, value.line) for name, value in besides.items()}
    if run:
        values["result"] = (run[0].number, run[0].unit, run[0].line)

    def put_in(match: re.Match[str]) -> str:
        number, unit, line = values[match[1]]
        return opening(shown(number, unit if match[2] is None else match[2]), line)

    words = PLACEHOLDER.sub(put_in, text(found.right))
    return inline(words) + (" " + text(found.note) if found.note else "")


def claims_table(*verdicts: str) -> str:
    """Return all claims with one of these verdicts, by topic, as a table that filters; none named means all."""
    wanted = verdicts or VERDICTS
    rows = []
    for found in sorted(catalog().claims(), key=lambda claim: (TOPICS.index(claim.topic), claim.id)):
        if found.verdict in wanted:
            run = results(catalog(), found.id)
            name = element("q", text(found.claim)) if found.claim else ""
            verdict = element("span", verdict_html(found), data_claim=found.id)
            rows.append([name, text(found.topic), verdict, checks_html(found, run), right_html(found, run)])
    headings = ("Claim", "Topic", "Verdict", "Check", "What is right")
    listed = " or ".join(wanted) if verdicts else "all"
    caption = f"Claims that are {listed}, each with its check"
    return filtered(
        table(headings, rows, caption=caption, class_="calc-worded claims", words=len(headings)), things="claims"
    )


def claims_count(what: str = "all") -> str:
    """Return how many claims there are: of a verdict, "all", "refuted" ones, or "computed": refuted by a calculation.

    "topics" counts the topics, and "by source" the refuted ones whose check is a source alone.
    """
    listed = list(catalog().claims())
    counts = Counter(found.verdict for found in listed)
    refuted = [found for found in listed if found.verdict in REFUTED]
    numbers: dict[str, int] = {
        **{verdict: counts[verdict] for verdict in VERDICTS},
        "all": len(listed),
        "refuted": len(refuted),
        "computed": len([found for found in refuted if found.checks]),
        "by source": len([found for found in refuted if not found.checks]),
        "checked": len([found for found in listed if found.checks]),
        "topics": len({found.topic for found in listed}),
    }
    if what not in numbers:
        raise ValueError(f"{what!r} is not counted; there are {', '.join(numbers)}")
    return show_count(numbers[what])
