"""The names in a line: number formats, engines, frameworks, models and devices, as the catalogue knows them."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import inf
from typing import NamedTuple, cast

from calc.catalog import Catalog
from calc.catalog.market_names import FORM, SAID_BESIDE
from calc.catalog.model_names import SIZE, words_of
from calc.errors import ScenarioError
from calc.lines.line import Line, Piece
from calc.lines.quantities import SPELT
from calc.planning.cost import newest_purchase
from calc.scenario.fields import PUBLISHED
from calc.units import GIB

MOST_WORDS = 9  # of a name
FEW_WORDS = 3  # of a name that is not known whole
WITHIN = frozenset(
    (
        "a",
        "and",
        "at",
        "for",
        "in",
        "llm",
        "llms",
        "of",
        "on",
        "the",
        "version",
        "with",
        "params",
        "parameter",
        "parameters",
    )
)  # words in a model's name that say nothing
TUNINGS = ("dpo", "grpo", "ppo", "rlhf", "orpo", "kto")  # a way to train, and no part of a model's name
NUMBERS = {
    **SPELT, "a single": 1, "one": 1, "single": 1, "dual": 2, "pair": 2, "twin": 2, "triple": 3, "quad": 4,
    "sixteen": 16,
}  # fmt: skip
BETWEEN = frozenset(
    ("gpu", "gpus", "cards", "card", "nvidia", "amd", "intel", "apple", "dgx", "hgx", "of", "x", "×", "*", "used", "(")
)
MEMORY_WORD = re.compile(r"\d{1,4}(?:\.\d+)?g(?:i?b)?")
UNIT = re.compile(r"gi?b?")
COMPUTERS = frozenset(("mac", "macbook", "imac", "mba", "mbp", "studio", "mini", "air", "pro"))
SLICE = re.compile(r"-(\d{1,4})(?![\w.])")
REPOSITORY = re.compile(r"[a-z0-9][\w.-]*/[a-z0-9][\w.-]*(?::[\w.-]+)?")
NAMED = re.compile(r"[a-z0-9](?:[\w./-]*\w)?")
MOST_DEVICES = 2048  # that a line counts
NEAR = 0.03  # sizes of cards that agree
CURRENT = ("sold", "rented")
LADDER = ("_k_m", "_k", "_0")  # what llama.cpp's users mean by q4: the mixture of that many bits that there is


class Name(NamedTuple):
    """A name in a line: what it stands for, and what else it could be."""

    start: int
    end: int
    kind: str  # of the catalogue
    id: str
    others: tuple[str, ...] = ()


class Count(NamedTuple):
    """How many devices a line says, and where."""

    start: int
    end: int
    value: int


def joined(line: Line, pieces: list[Piece], longest: int) -> Iterator[list[Piece]]:
    """Iterate over neighbouring words with nothing that was understood between them, the longest first."""
    for length in range(min(longest, len(pieces)), 0, -1):
        for first in range(len(pieces) - length + 1):
            window = pieces[first : first + length]
            if line.free(window[0].start, window[-1].end):
                yield window


class Names:
    """Finds what a catalogue has in lines."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        apart = [named for names in catalog.market_names.named.values() for named in names]
        self.device_words = frozenset[str]().union(*(named.words | named.forms for named in apart))

    def singular(self, word: str) -> str:
        """Return a word without the s of several devices, unless a device is named with it."""
        several = re.search(r"\d[a-z]*s$", word) or (word.endswith("s") and word[:-1] in self.device_words)
        return word[:-1] if several and word not in self.device_words else word

    def listed(self, line: Line, kind: str, longest: int) -> Iterator[Name]:
        """Iterate over names that the catalogue lists, and claim them."""
        for window in joined(line, words(line), longest):
            start, end = window[0].start, window[-1].end
            found = self.catalog.lookup(kind, line.small[start:end])
            if found and line.free(start, end):
                line.claim(start, end)
                yield Name(start, end, kind, found)

    @cached_property
    def published(self) -> Mapping[str, str]:
        """The repositories whose own format the catalogue has, by their names without an owner."""
        entries = self.catalog.entries("models").values()
        names = [name for entry in entries for name in cast(Mapping[str, object], entry.get("published", {}))]
        return {name.rpartition("/")[2].lower(): name for name in names}

    def repository(self, line: Line) -> tuple[Name, object] | None:
        """Return a model that is written as its repository, claimed, and the number format that the name says.

        A repository that the catalogue has files of, with or without its owner, is that model as it is published there.
        """
        for match in line.found(NAMED):
            if own := self.published.get(match[0].rpartition("/")[2]):
                line.claim(*match.span())
                return Name(*match.span(), kind="models", id=own), PUBLISHED
        for match in line.found(REPOSITORY):
            name = line.text[match.start() : match.end()]
            try:
                model = self.catalog.model(name)
            except ScenarioError:
                continue
            said = self.catalog.named_format(name)
            line.claim(*match.span())
            return Name(*match.span(), kind="models", id=model.id), said.weights if said else None
        return None

    def formats(self, line: Line) -> Iterator[Name]:
        """Iterate over number formats by their names, the ends of repositories' names, and short ones such as q4."""
        for window in joined(line, words(line), 3):
            start, end = window[0].start, window[-1].end
            if line.free(start, end) and (found := self.format(line.small[start:end])):
                line.claim(start, end)
                yield Name(start, end, "weights", found)

    def format(self, name: str) -> str | None:
        """Return the id of the number format of that name, None where there is none."""
        if re.fullmatch(r"\d+[\s_-]*bits?", name):  # of any format
            return None
        name = re.sub(r"[\s-]+", "_", name)
        if re.fullmatch(r"q\d", name):
            return next((name + end for end in LADDER if name + end in self.catalog.entries("mixtures")), None)
        known = self.catalog.lookup("mixtures", name) or self.catalog.lookup("number_formats", name)
        return known or self.catalog.format_names.get(name.replace("_", "-"))

    def of_caches(self, name: str) -> bool:
        """Return whether caches are kept in a number format."""
        return bool(self.catalog.lookup("number_formats", name)) and self.catalog.number_format(name).cache

    def device(self, line: Line) -> tuple[Name, Count | None] | None:
        """Return the first device of a line and how many of them, claimed; None where there is none."""
        pieces = line.pieces()
        for window in self.windows_of_devices(line, pieces):
            read = self.catalog.reading(
                " ".join(self.spelled(piece.text) for piece in window if piece.text[0].isalnum())
            )
            if read is not None:
                line.claim(window[0].start, window[-1].end)
                count = self.slice_of(line, read.id, window[-1].end) or self.count_beside(line, pieces, window)
                return Name(window[0].start, window[-1].end, "accelerators", id=read.id, others=read.others), count
        return None

    def slice_of(self, line: Line, device_id: str, end: int) -> Count | None:
        """Return how many chips a slice has that is named by its cores, claimed: v5e-8, v5p-8."""
        device, cores = self.catalog.accelerator(device_id), SLICE.match(line.small, end)
        if device.segment != "cloud" or not cores or not line.free(*cores.span()):
            return None
        line.claim(*cores.span())
        return Count(*cores.span(), value=max(int(cores[1]) // int(device.quantity("compute_units") or 1), 1))

    def windows_of_devices(self, line: Line, pieces: list[Piece]) -> Iterator[list[Piece]]:
        """Iterate over neighbouring words that may name a device, from the first on, the longest first."""
        for first in range(len(pieces)):
            length = next(
                (n for n, piece in enumerate(pieces[first : first + MOST_WORDS]) if not self.in_device(piece.text)),
                min(MOST_WORDS, len(pieces) - first),
            )
            for end in range(first + length, first, -1):
                window = pieces[first:end]
                if self.names_device(window) and line.free(window[0].start, window[-1].end):
                    yield window

    def spelled(self, word: str) -> str:
        """Return a word as the catalogue spells it: RTX 3090 for rtx3090s."""
        one = self.singular(word)
        found = None if one in self.device_words else self.catalog.lookup("accelerators", one)
        return self.catalog.accelerator(found).name if found else one

    def known(self, word: str) -> bool:
        """Return whether a word is of a device's name, or all of it."""
        one = self.singular(word)
        return one in self.device_words or self.catalog.lookup("accelerators", one) is not None

    def part_of_device(self, pieces: list[Piece], place: int) -> bool:
        """Return whether one of the words before a place is of a device's name, of which the rest is not known."""
        before = [piece.text for piece in pieces if piece.end <= place][-FEW_WORDS:]
        named = [word for word in before if len(word) > 1 and word.isalpha() and word not in BETWEEN | COMPUTERS]
        return any(map(self.known, named))

    def in_device(self, word: str) -> bool:
        """Return whether a word may stand in the name of a device."""
        return (
            word in "()-/"
            or word in COMPUTERS
            or self.known(word)
            or bool(MEMORY_WORD.fullmatch(word) or SAID_BESIDE.fullmatch(word) or FORM.fullmatch(word))
            or bool(UNIT.fullmatch(word) or re.fullmatch(r"\d{1,3}", word))
        )

    def names_device(self, window: list[Piece]) -> bool:
        """Return whether words begin and end as a name does, and are not a size alone."""
        first, last = window[0].text, window[-1].text
        ends = first[0].isalnum() and not SAID_BESIDE.fullmatch(first) and not re.fullmatch(r"\d{1,2}", first)
        return ends and last not in "(-/" and any(self.known(piece.text) for piece in window)

    def count_beside(self, line: Line, pieces: list[Piece], window: list[Piece]) -> Count | None:
        """Return how many devices stand before or after a name, claimed: 2x, x2, four, 8 *."""
        before = [piece for piece in pieces if piece.end <= window[0].start]
        after = [piece for piece in pieces if piece.start >= window[-1].end]
        skipped: list[Piece] = []
        for piece in reversed(before[-4:]):
            if not line.free(piece.start, window[0].start):
                break
            number = re.fullmatch(r"(\d{1,4})[x×]?", piece.text)
            if number and int(number[1]) > MOST_DEVICES:
                break
            if number or piece.text in NUMBERS:
                line.claim(piece.start, window[0].start)
                return Count(piece.start, window[0].start, int(number[1]) if number else NUMBERS[piece.text])
            if piece.text not in BETWEEN or len(skipped) == 2:
                break
            skipped.append(piece)
        signs = " ".join(piece.text for piece in after[:3])
        behind = re.match(r"(?:['(] |s )*[x×*:] ?(\d{1,4})(?![\w.])", signs)
        last = next((piece for piece in after if behind and piece.text.endswith(behind[1])), None)
        if behind and last and line.free(window[-1].end, last.end):
            line.claim(window[-1].end, last.end)
            return Count(window[-1].end, last.end, int(behind[1]))
        return None

    def of_memory(self, size_gib: float, *, apple: bool) -> Name | None:
        """Return a device with so much memory that one gets today: a consumer's first, the cheapest, the slowest."""
        segments = ("soc",) if apple else ("consumer", "workstation", "data-center")
        found = [
            device
            for device in self.catalog.accelerators()
            if device.segment in segments
            and (not apple or device.vendor == "Apple")
            and device.text("form") != "laptop"
            and abs((device.quantity("memory") or 0) / GIB / size_gib - 1) < NEAR
        ]
        ranked = sorted(
            found,
            key=lambda device: (
                device.vendor != "NVIDIA",
                device.availability not in CURRENT,
                segments.index(device.segment),
                price.each if (price := newest_purchase(self.catalog, device)) else inf,
                device.quantity("bandwidth") or 0,
            ),
        )
        return (
            Name(0, 0, "accelerators", id=ranked[0].id, others=tuple(device.id for device in ranked[1:]))
            if ranked
            else None
        )

    def listed_model(self, line: Line) -> Name | None:
        """Return a model by a name that the catalogue lists, claimed; a size behind it must be the model's too."""
        pieces = words(line)
        for window in joined(line, pieces, MOST_WORDS):
            start, end = window[0].start, window[-1].end
            found = self.catalog.lookup("models", line.small[start:end])
            if found is None:
                continue
            behind = next((piece for piece in pieces if piece.start >= end), None)
            if behind and any(map(SIZE.fullmatch, words_of(behind.text))) and line.free(end, behind.end):
                return self.words_of_model(line, [*window, behind])
            line.claim(start, end)
            current = self.catalog.model_names.current(found, line.small[start:end])
            return Name(start, end, "models", current, others=(found,) if current != found else ())
        return None

    def model(self, line: Line) -> Name | None:
        """Return the model that has the words of a part of a line, claimed; without a size, if there is but one."""
        pieces = words(line)
        for window in joined(line, pieces, MOST_WORDS):
            if any(piece.text in WITHIN for piece in (window[0], window[-1])) or window[0].text in TUNINGS:
                continue
            size_alone = all(SIZE.fullmatch(piece.text) for piece in window)
            if size_alone and self.belongs(line, pieces, window[0]):
                continue
            if found := self.words_of_model(line, window):
                return found
        return self.listed_model(line) or self.model(line) if self.catalog.complete() else None

    def words_of_model(self, line: Line, window: list[Piece]) -> Name | None:
        """Return the model that has these words in its name, claimed."""
        asked = frozenset[str]().union(*(words_of(piece.text) for piece in window if piece.text not in WITHIN))
        found = self.catalog.model_names.having(asked)
        if found is None:
            return None
        line.claim(window[0].start, window[-1].end)
        return Name(window[0].start, window[-1].end, "models", id=found.id, others=found.others)

    def belongs(self, line: Line, pieces: list[Piece], size: Piece) -> bool:
        """Return whether a size stands behind a word that nobody knows, whose model is another one."""
        before = [piece for piece in pieces if piece.end <= size.start]
        if not before or not re.fullmatch(r"[\s\-_:/]*", line.small[before[-1].end : size.start]):
            return False
        return any(before[-1].end == part.end for part in line.unread())


def words(line: Line) -> list[Piece]:
    """Return the words of a line that are free, without signs."""
    return [piece for piece in line.pieces() if piece.text[0].isalnum()]


def names_of(catalog: Catalog) -> Names:
    """Return the finder of names of a catalogue, made once."""
    found = catalog.derived.get("names in lines")
    if not isinstance(found, Names):
        found = catalog.derived["names in lines"] = Names(catalog)
    return found
