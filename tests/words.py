"""The words of an answer: spelled as the guide spells them, and explained where a reader looks them up."""

import re
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
WORD = re.compile(r"[A-Za-z]+")
CAPITALS = re.compile(r"[A-Z]{6}")  # more than any abbreviation has
CODE = re.compile(r"`([a-z0-9_-]+)`")
ENDINGS = ("ing", "ed", "d", "s")  # the guide may have a word without them
# Words, and parts of modules' names, that no page has.
MORE = {"cls", "distillation", "flattens", "neck", "normaliser", "predictor", "previous", "turned"}


@cache
def known_words() -> frozenset[str]:
    """Return the words of the guide and of the catalogue, as they are written there."""
    files = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("calc/catalog/data/**/*.toml")]
    return frozenset(WORD.findall(" ".join(file.read_text(encoding="utf-8") for file in files))) | MORE


@cache
def documented() -> frozenset[str]:
    """Return the fields, parts and codes that the page on scenarios and reports explains."""
    return frozenset(CODE.findall((ROOT / "docs/about/contract.md").read_text(encoding="utf-8")))


def misspelt(text: str) -> list[str]:
    """Return the words of a text that are spelled otherwise in the guide, or stand nowhere in it.

    >>> misspelt("Logits of a micro-batch"), misspelt("LOGITS of a micro-batchh")
    ([], ['LOGITS', 'batchh'])
    """
    return [word for word in WORD.findall(text) if not (forms(word) & known_words())]


def forms(word: str) -> set[str]:
    """Return a word, and that without a capital at its beginning, with and without an ending."""
    own = {word, word[0].lower() + word[1:]}
    return own | {form.removesuffix(ending) for form in own for ending in ENDINGS} | {f"{form}s" for form in own}


def is_label(text: str) -> bool:
    """Return whether a text begins as a label does, with a capital or a number, and is not written in capitals.

    >>> is_label("Weights in NVFP4"), is_label("weights"), is_label("WEIGHTS")
    (True, False, False)
    """
    if CAPITALS.search(text):
        return False
    return text.lstrip("… ")[:1].isdigit() or text[:1].isupper() or text.startswith("…")


def faults(report: dict[str, Any], steps: list[dict[str, Any]]) -> list[str]:
    """Return what is wrong with the words of a report."""
    found = []
    for text in {step["name"] for step in steps} | {part["label"] for part in report["memory"]["parts"]}:
        if misspelt(text) or not is_label(text):
            found.append(text)
    for formula in {step["formula"] for step in steps}:
        if misspelt(" ".join(re.findall(r"\\text\{([^}]*)\}", formula))):
            found.append(formula)
    for warning in report["warnings"]:
        named = {warning["code"], warning["field"].partition(".")[0], warning["severity"]}
        if misspelt(warning["message"]) or not named <= documented():
            found.append(str(warning))
    found += [part["id"] for part in report["memory"]["parts"] if part["id"] not in documented()]
    return found
