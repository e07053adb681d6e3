"""What built pages say in numbers: of which things, which quantity, under which conditions, how much."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from html.parser import HTMLParser
from typing import NamedTuple

from calc.catalog import catalog

VOID = {"br", "col", "hr", "img", "input", "link", "meta", "path", "source", "wbr"}
UNSEEN = re.compile(r"<(figure|form|math|output|script|style|svg)\b.*?</\1>", re.DOTALL)  # answers are of a form
BLOCKS = {"dd", "figcaption", "li", "p"}
CELLS = {"caption", "td", "th"}
SENTENCE = re.compile(r"(?<=[.!?;])\s+")
MARK = re.compile(r"⟦(\d+)⟧")
FORMAT = re.compile(
    r"\b(?:BF16|FP16|FP32|FP8|FP4|INT8|INT4|AWQ|GPTQ|NVFP4|MXFP4|NF4|I?Q\d\w*|bits?|published|quantised)\b",
    re.IGNORECASE,
)
CASE = re.compile(
    r"\b(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|million|billion|trillion|half|"
    r"third|quarter|whole|short|long|all|each|every|without|same|Q?LoRA|bridge)\b",
    re.IGNORECASE,
)
OF_ITSELF = {"parameters", "bandwidth", "link"}  # one for each thing, whatever it is asked to do
OF_A_FORMAT = {"weights", "model states"}
OF_MANY = {"tokens"}  # of a text, of a training, of a second: what is counted says less than what for
QUANTITY = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s*([A-Za-zµ%]+(?:/s)?)?")
BYTES = {f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTP", 1)}
COUNTS = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
EDGE = 1e-6  # of the narrower of two: what values that only touch have in common
BYTES |= {f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGTP", 1)}


class Statement(NamedTuple):
    """One number on a page."""

    page: str
    subjects: frozenset[str]  # ids of models, devices and machines
    quantity: str
    conditions: frozenset[str]  # formats, counts and what else sets one case apart from another
    value: str
    words: str

    @property
    def key(self) -> tuple[frozenset[str], str, frozenset[str]]:
        """What the number is of."""
        scale = frozenset(COUNTS.keys() & set(self.value.split())) if self.quantity in OF_MANY else frozenset()
        return self.subjects, self.quantity, self.conditions | scale


class Block(NamedTuple):
    """A paragraph or a cell: its words with marks for its numbers, and these with the names of their workings."""

    words: str
    numbers: list[tuple[str, str]]


class Table(NamedTuple):
    """A table of a page."""

    caption: list[str]
    head: list[str]
    rows: list[list[str]]


class Reader(HTMLParser):
    """Reads one page's article: its paragraphs and its tables."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self.tables: list[Table] = []
        self._open: list[tuple[str, str]] = []  # tags with what they are read as
        self._words: list[str] = []
        self._numbers: list[tuple[str, str]] = []
        self._steps: list[str] = []
        self._row: list[tuple[str, str]] = []
        self._hidden = 0  # workings that are open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the words that follow are."""
        if tag in VOID:
            return
        given = dict(attrs)
        classes = (given.get("class") or "").split()
        use = "words"
        if "calc-number" in classes:
            use = "value"
            self._numbers.append(("", ""))
            self._words.append(f"⟦{len(self._numbers) - 1}⟧")
        elif "calc-opened" in classes:
            use, self._steps = "working", []
        elif "calc-step-name" in classes:
            use = "name"
            self._steps.append("")
        elif tag == "table":
            self.tables.append(Table([], [], []))
        elif tag == "tr":
            self._row = []
        if tag in BLOCKS | CELLS:
            self._flush()
        self._open.append((tag, use))
        self._hidden += use == "working"

    def handle_endtag(self, tag: str) -> None:
        """Keep what ends here."""
        if tag in VOID or not self._open:
            return
        while self._open:
            name, use = self._open.pop()
            self._hidden -= use == "working"
            if name == tag:
                break
        if use == "working" and self._numbers and self._steps:
            self._numbers[-1] = (self._numbers[-1][0], self._steps[-1])
        if self._hidden:
            return
        if tag in CELLS and self.tables:
            block = self._flush()
            words = MARK.sub(lambda mark: block.numbers[int(mark[1])][0], block.words)
            self.tables[-1].caption.append(words) if tag == "caption" else self._row.append((tag, words))
        elif tag == "tr" and self.tables:
            words_of = [words for _, words in self._row]
            if all(kind == "th" for kind, _ in self._row):
                self.tables[-1].head[:] = words_of
            else:
                self.tables[-1].rows.append(words_of)
        elif tag in BLOCKS:
            self.blocks.append(self._flush())

    def handle_data(self, data: str) -> None:
        """Add to the words that are open."""
        use = self._open[-1][1] if self._open else "words"
        if use == "value":
            value, name = self._numbers[-1]
            self._numbers[-1] = (value + data, name)
        elif use == "name":
            self._steps[-1] += data
        elif not self._hidden:
            self._words.append(data)

    def _flush(self) -> Block:
        words = "".join(self._words).replace("\u2060", "").replace("\xa0", " ")
        block = Block(" ".join(words.split()), self._numbers)
        self._words, self._numbers = [], []
        return block


@cache
def names() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return what finds names of models, devices and machines, and whose they are."""
    facts = catalog()
    records = (*facts.accelerators(), *facts.machines(), *facts.models())
    found = {name.lower(): record.id for record in records for name in (*record.aliases, record.name)}
    listed = "|".join(re.escape(name) for name in sorted(found, key=len, reverse=True))
    return re.compile(rf"(?<![\w.-])(?:{listed})(?![\w-])", re.IGNORECASE), found


@cache
def subjects(words: str) -> frozenset[str]:
    """Return the ids of what words name."""
    pattern, found = names()
    return frozenset(found[name.lower()] for name in pattern.findall(words))


@cache
def conditions(of: str, words: str) -> frozenset[str]:
    """Return the words that set one case of a quantity apart from another: formats, and counts of anything."""
    rest = MARK.sub(" ", names()[0].sub(" ", words))
    patterns = () if of in OF_ITSELF else (FORMAT,) if of in OF_A_FORMAT else (FORMAT, CASE)
    return frozenset(word.lower() for pattern in patterns for word in pattern.findall(rest))


def quantity(name: str) -> str:
    """Return the name of a quantity without where it is: "Weights on the device" is "weights"."""
    return re.sub(r" (?:on|of) the (?:fullest )?device.*", "", name.lower()).strip()


def statements(page: str, html: str) -> Iterator[Statement]:
    """Iterate over the numbers of a page that name what they are of."""
    reader = Reader()
    article = html[html.index("<article") : html.index("</article>")]
    reader.feed(UNSEEN.sub("", article))
    for block in reader.blocks:
        for sentence in SENTENCE.split(block.words):
            for mark in MARK.findall(sentence):
                value, name = block.numbers[int(mark)]
                of = subjects(sentence) | subjects(name)
                if of and name:
                    yield Statement(page, of, quantity(name), conditions(quantity(name), sentence), value, sentence)
    for table in reader.tables:
        caption = " ".join(table.caption)
        for row in table.rows:
            for head, value in zip(table.head[1:], row[1:], strict=False):
                of = subjects(row[0])
                if of and re.search(r"\d", value):
                    of |= subjects(head) | subjects(caption)
                    words = f"{row[0]} | {head} | {caption}"
                    yield Statement(page, of, quantity(head), conditions(quantity(head), words), value, words)


def extents(value: str) -> list[tuple[float, float, str]]:
    """Return low and high end, by its last digit, and unit of each number in a value: sizes in bytes, counts in ones.

    >>> extents("1.5 GiB of 8")
    [(1556925644.8, 1664299827.2, 'B'), (7.5, 8.5, '')]
    """
    found = []
    for digits, unit in QUANTITY.findall(value):
        plain = unit.removesuffix("/s")
        size = COUNTS.get(unit, BYTES.get(plain, 1))
        number, half = float(digits.replace(",", "")), 0.5 / 10 ** len(digits.partition(".")[2])
        name = "" if unit in COUNTS else "B" + unit[len(plain) :] if plain in BYTES else unit
        found.append(((number - half) * size, (number + half) * size, name))
    return found


def agree(one: str, other: str) -> bool:
    """Return whether two values can be the same number, each rounded to its digits; of other units nothing is said.

    Neighbours in their last digit are two numbers: one that stands between them is rounded to one of the two.
    """
    pairs = list(zip(extents(one), extents(other), strict=False))
    return all(a[2] != b[2] or together(a, b) > EDGE * min(a[1] - a[0], b[1] - b[0]) for a, b in pairs)


def together(one: tuple[float, float, str], other: tuple[float, float, str]) -> float:
    """Return how much two ranges have in common; not above 0 where they only touch."""
    return min(one[1], other[1]) - max(one[0], other[0])


def across(found: Iterable[Statement]) -> dict[object, dict[str, list[Statement]]]:
    """Return the statements that are made on more than one page, by what they are of and page."""
    by_key: dict[object, dict[str, list[Statement]]] = defaultdict(lambda: defaultdict(list))
    for statement in found:
        by_key[statement.key][statement.page].append(statement)
    return {key: pages for key, pages in by_key.items() if len(pages) > 1}


def contradictions(found: Iterable[Statement]) -> Iterator[tuple[Statement, Statement]]:
    """Iterate over pairs of statements on two pages that give one quantity two values.

    A page that names several values for what reads alike compares cases: one of them has to be the other page's.
    """
    for pages in across(found).values():
        listed = sorted(pages)
        for place, page in enumerate(listed):
            for other in listed[place + 1 :]:
                pairs = [(a, b) for a in pages[page] for b in pages[other]]
                if not any(agree(a.value, b.value) for a, b in pairs):
                    yield pairs[0]
