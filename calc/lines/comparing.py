"""A line that asks for this or that, a vs b: the lines that it means one by one, and their readings side by side."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from calc.catalog.model_names import SIZE
from calc.lines.layout import DEGREES
from calc.lines.line import GLUED
from calc.lines.parts import DIVIDED
from calc.lines.reading import read_single

MOST = 4  # lines that stand side by side
MOST_LOOKED_AT = 4  # words between two things, the last ones of a line
Span = tuple[int, int]
BETWEEN = (
    re.compile(
        r"\b(vs?\b\.?|versus\b|or\b|compare[sd]? (?:to|with)\b|instead of\b|rather than\b|beats?\b|outperforms?\b"
        r"|over(?= (?:an? |the |my )?(?:rtx |gtx |rx )?[a-z]{0,2}\d{3,4}))"
    ),
    re.compile(r"(\b(?:oder(?: lieber)?|ou|o)\b|还是)"),
    re.compile(r"\b(?:better|faster|slower|cheaper|bigger)\b(?:\s+\S+){0,4}?\s+(than)\b"),
    re.compile(r"\b(?:between|compar\w+|difference)\b.*?\b(and)\b"),
    re.compile(r"\b(?:upgrad\w*|switch\w*|scal\w*)\b.*?\b(to)\b"),
    re.compile(r"\b(?:upgrad\w*|switch\w*)\s+to\b.*?\b(from)\b"),
)
COMMA = re.compile(r",(?!\d)")  # between the first of three things
SIZES = r"tiny|base|small|medium|large|pcie|sxm\d?|nvl"  # of models without a number, and forms of a card
MEMORY = r"\s?gi?b"  # behind the number: an M4 with 16 or 24 GB
BEFORE = re.compile(
    rf"(?<![\w.])(?:[\d.]+(?:[bkm]|{MEMORY})?|{SIZES})\s*$"
)  # a number or a size, whose words stand only once: 2 vs 4 H100
BEHIND = re.compile(rf"\s*([\d.]+(?:[bkm]|{MEMORY})?|{SIZES})(?![\w.])")
ONE_WAY = rf"-{{0,2}}\b(?:{'|'.join(words for _, words in DIVIDED)})(?:\s*(?:[=:]|of)?\s*\d+)?\b"  # to divide a model
WAYS = rf"(?:{ONE_WAY}[\s,+x]*)+"
WAY_BEFORE, WAY_BEHIND = re.compile(rf"{WAYS}$"), re.compile(rf"\s*({WAYS})")
SIZED = re.compile(rf"\s*(?:{SIZE.pattern}|\d+{MEMORY}|{SIZES})(?![\w.])")
IN_SERVING = {
    "precision": "weights",
    "base_weights": "weights",
    "framework": "engine",
    "sequence_tokens": "context_tokens",
    "micro_batch": "sequences",
}  # what a part is of training alone where the word for it stands on its side
COUNTED = "accelerators"
OF_ONE_SIDE = {COUNTED, "other_accelerator", "other_accelerators", *DEGREES}  # which may be said of one side alone
Reading = dict[str, Any]


class Pair(NamedTuple):
    """The lines of two things of which a line asks for either, each with blanks in the place of the other."""

    first: str
    second: str


def read_line(text: object) -> Reading:
    """Return what a typed line asks, of one case or of several that it compares.

    The fields are documented on the page "A question in one line". Raises ScenarioError for what is no text, or too
    long a one.
    """
    whole = read_single(text)
    readings = distinct(map(read_single, sides(str(text))))
    return beside(str(text), readings) if 1 < len(readings) <= MOST else whole


def distinct(readings: Iterable[Reading]) -> list[Reading]:
    """Return readings without those that give the same fields as one before: of a name a word may be left out."""
    found: dict[str, Reading] = {}
    for reading in readings:
        found.setdefault(str([(chip["field"], chip["value"]) for chip in reading["chips"]]), reading)
    return list(found.values())


def beside(text: str, readings: list[Reading]) -> Reading:
    """Return the reading of a line of which each side has one; what one of them lacks is missing."""
    missing = list(dict.fromkeys(name for reading in readings for name in reading["missing"]))
    asked = not missing and all(reading["asks"] for reading in readings)
    taken = readings[0]["taken"].items()
    return {
        "line": text,
        "asks": "comparison" if asked else None,
        "scenario": None,
        "question": None,
        "sides": readings if asked else [],
        "chips": [chip | {"text": text[chip["start"] : chip["end"]]} for chip in all_of(readings, "chips")],
        "taken": {name: value for name, value in taken if all(one["taken"].get(name) == value for one in readings)},
        "unread": all_of(readings, "unread"),
        "missing": missing,
        "choices": readings[0]["choices"] if missing else {},
    }


def all_of(readings: list[Reading], name: str) -> list[Reading]:
    """Return the parts that any of the readings has, each once, by their places."""
    found = {(part["start"], part["end"], part.get("field")): part for one in readings for part in one[name]}
    return [found[place] for place in sorted(found, key=lambda place: place[:2])]


def sides(text: str) -> list[str]:
    """Return the lines that a line means, each with blanks in the place of what is not its own; itself where it is one.

    Places in them are places in the line.
    """
    words = sorted(match.span(1) for pattern in BETWEEN for match in pattern.finditer(text.lower()))[-MOST_LOOKED_AT:]
    commas = [match.span() for match in COMMA.finditer(text)][:MOST_LOOKED_AT] if words else []
    for word in [*reversed(words), *commas]:
        for pair in pairs(text, word):
            if differ(*pair):
                return sorted({*sides(pair.first), *sides(pair.second)}, reverse=True)  # blanks come last
    return [text]


def blanked(text: str, start: int, end: int) -> str:
    """Return a text with blanks between two places."""
    return text[:start] + " " * (end - start) + text[end:]


def pairs(text: str, word: Span) -> Iterator[Pair]:
    """Iterate over what may stand for each other on both sides of a word: names of the same kinds, or numbers."""
    start, end = word
    before, behind = read_single(text[:start]), read_single(text[end:])
    if ways := written_at(text, word, WAY_BEFORE, WAY_BEHIND):  # tp2 vs pp2
        yield ways
    numbers = written_at(text, word, BEFORE, BEHIND)
    if numbers and SIZED.match(text.lower(), end):  # llama 3.1 8b vs 70b
        yield numbers
    for last in range(1, len(before["chips"]) + 1):
        for first in range(1, len(behind["chips"]) + 1):
            left, right = before["chips"][-last:], behind["chips"][:first]
            counted = last < len(before["chips"]) and before["chips"][-last - 1]["field"] == COUNTED  # 2x of the 3090
            if is_counted(behind["chips"], first):  # h100 x2
                continue
            if not counted and kinds(left) == kinds(right) != set() and beside_each_other(left, right, before, behind):
                yield either(text, word, left, right)
    if numbers:
        yield numbers
    yield from apart(text, word, before, behind)


def is_counted(chips: list[Reading], first: int) -> bool:
    """Return whether the number of the device that so many parts end with stands behind them."""
    *_, last = chips[:first]
    behind = chips[first : first + 1]
    fields = {chip["field"] for chip in chips[:first]}
    return last["field"] == "accelerator" and COUNTED not in fields and [chip["field"] for chip in behind] == [COUNTED]


def either(text: str, word: Span, left: list[Reading], right: list[Reading]) -> Pair:
    """Return the line of the parts before a word, and that of the parts behind it, whose places begin there."""
    other = blanked(text, *word)
    for chip in left:
        other = blanked(other, chip["start"], chip["end"])
    return Pair(blanked(text, word[0], max(chip["end"] for chip in right) + word[1]), other)


def apart(text: str, word: Span, before: Reading, behind: Reading) -> Iterator[Pair]:
    """Iterate over the lines of a thing right behind a word and of what it stands for, which is farther before it.

    A 3090 for 70b, or a 4090.
    """
    for first in range(len(behind["chips"]), 0, -1):
        right = behind["chips"][:first]
        named = kinds(right)
        count = {COUNTED} if "accelerator" in named else set()  # of the device that the other takes the place of
        left = [chip for chip in before["chips"] if chip["field"] in named | count]
        if kinds(left) == named != set() and beside_each_other(left, right, before, behind):
            yield either(text, word, left, right)


def written_at(text: str, word: Span, first: re.Pattern[str], second: re.Pattern[str]) -> Pair | None:
    """Return what is written directly before and behind a word, as patterns have it; None where either is missing."""
    small = GLUED.sub(lambda count: f"{count[1]} ", text.lower())
    before, behind = first.search(small[: word[0]]), second.match(small, word[1])
    if not before or not behind:
        return None
    return Pair(blanked(text, word[0], behind.end(1)), blanked(text, before.start(), behind.start(1)))


def kinds(chips: list[Reading]) -> set[str]:
    """Return the fields that parts give, but for how many devices there are: of training, those that serving has."""
    fields = {str(chip["field"]) for chip in chips}
    return {IN_SERVING.get(field, field) for field in fields} - OF_ONE_SIDE


def beside_each_other(left: list[Reading], right: list[Reading], before: Reading, behind: Reading) -> bool:
    """Return whether nothing that is not understood stands between two parts."""
    after = any(part["start"] >= left[-1]["end"] for part in before["unread"])
    return not after and all(part["start"] >= right[0]["start"] for part in behind["unread"])


def differ(first: str, second: str) -> bool:
    """Return whether two lines ask for the same, but for the value of a field or of some."""
    values = [{chip["field"]: chip["value"] for chip in read_single(line)["chips"]} for line in (first, second)]
    return values[0] != values[1] and values[0].keys() - OF_ONE_SIDE == values[1].keys() - OF_ONE_SIDE
