"""The devices in a line: cards, chips, machines and slices of them, by their names, and how many."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from calc.catalog import Catalog
from calc.catalog.market_names import FORM, SAID_BESIDE, Reading
from calc.lines.line import Line, Piece
from calc.lines.parts import SPELT

MOST_WORDS = 9  # of a name
FEW_WORDS = 3  # of a name that is not known whole
MACHINE_WORDS = 4  # of a machine's name: a4x-maxgpu-4g-metal
NUMBERS = {
    **SPELT, "a single": 1, "one": 1, "single": 1, "dual": 2, "pair": 2, "twin": 2, "triple": 3, "quad": 4, "octa": 8,
    "octo": 8, "sixteen": 16, "second": 2, "2nd": 2, "another": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4,
    "einzelne": 1, "zwei": 2, "drei": 3, "vier": 4, "acht": 8, "dos": 2, "tres": 3, "cuatro": 4, "deux": 2, "trois": 3,
    "quatre": 4, "一": 1, "单": 1, "两": 2, "双": 2, "三": 3, "四": 4, "八": 8,
}  # fmt: skip
BETWEEN = frozenset(
    (
        "gpu", "gpus", "cards", "card", "nvidia", "amd", "intel", "apple", "dgx", "hgx", "of", "the", "my", "x", "×",
        "*", "used", "old", "refurbished", "tesla", "geforce", "radeon", "instinct", "quadro",
        "(", "卡", "张", "块", "台", "片", "昇", "腾", "路",
    )
)  # fmt: skip
FORM_BEHIND = re.compile(r"(\d{3,4})([a-z]+)")  # 5060ti, where two cards of that name have other memories
MEMORY_WORD = re.compile(r"\d{1,4}(?:\.\d+)?g(?:i?b)?")
OF_MEMORY = ("memory", "ram", "vram")
UNIT = re.compile(r"gi?b?")
COMPUTERS = frozenset(
    ("mac", "macs", "macbook", "macbooks", "imac", "mba", "mbp", "studio", "studios", "mini", "minis", "air", "pro")
)
MACHINES = ("server", "workstation")  # which are forms of some cards, too
OF_LAPTOPS, ITS_FORM = "max_q", "maxq"  # as a line has it, and as names of devices do
SHORT, LONGER = re.compile(r"[a-z]\d"), re.compile(r"-(?!gpus?\b|cards?\b)[a-z]{3}")  # a2-highgpu-8g has no A2
TIMES = re.compile(r"x\d{1,2}")  # a count behind a name
BARE_VERSION = re.compile(r"v\d")
SLICE = re.compile(r"-(\d{1,4})(?![\w.])")
MOST_DEVICES, MOST_TRAINED_ON = 2048, 200_000  # that a line counts; more are tokens, where nothing is trained


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
    """Iterate over neighbouring words with nothing that was understood between them, the longest first.

    A sign of Chinese is no end of a name.
    """
    for length in range(min(longest, len(pieces)), 0, -1):
        for first in range(len(pieces) - length + 1):
            window = pieces[first : first + length]
            ends = window[0].text + window[-1].text
            if ends.isascii() and line.free(window[0].start, window[-1].end):
                yield window


def sizes_in(window: list[Piece]) -> int:
    """Return how many sizes of a memory stand in words: the second one is the host's, or another card's."""
    texts = [piece.text for piece in window]
    apart = sum(before.isdigit() and bool(UNIT.fullmatch(word)) for before, word in pairwise(texts))
    return apart + sum(bool(MEMORY_WORD.fullmatch(word)) for word in texts)


def size_behind(pieces: list[Piece]) -> list[Piece]:
    """Return the words of the size of a memory that pieces end with; none where they end with something else."""
    *_, before, last = [Piece(0, 0, ""), *pieces]
    if MEMORY_WORD.fullmatch(last.text):
        return [last]
    return [before, last] if before.text.isdigit() and UNIT.fullmatch(last.text) else []


def words(line: Line) -> list[Piece]:
    """Return the words of a line that are free, without signs."""
    return [piece for piece in line.pieces() if piece.text[0].isalnum()]


class DeviceNames:
    """Finds the devices that a catalogue has in lines."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        apart = [named for names in catalog.market_names.named.values() for named in names]
        self.device_words = frozenset[str]().union(*(named.words | named.forms for named in apart))

    def singular(self, word: str) -> str:
        """Return a word without the s of several devices, unless a device is named with it."""
        several = re.search(r"\d[a-z]*s$", word) or (word.endswith("s") and word[:-1] in self.device_words)
        return word[:-1] if several and word not in self.device_words else word

    def device(self, line: Line) -> tuple[Name, Count | None] | None:
        """Return the first device of a line and how many of them, claimed; None where there is none."""
        pieces = line.pieces()
        if found := self.machine(line, pieces):
            return found
        for window in self.windows_of_devices(line, pieces):
            name = " ".join(self.spelled(piece.text) for piece in window if piece.text[0].isalnum())
            read = self.catalog.reading(name) or self.in_laptops(name)
            if read is not None and not self.is_machine(window[-1].text, read.id):
                line.claim(window[0].start, window[-1].end)
                self.leave_form(line, read.id, window)
                count = self.slice_of(line, read.id, window[-1].end) or self.count_beside(line, pieces, window)
                return Name(window[0].start, window[-1].end, "accelerators", id=read.id, others=read.others), count
        return None

    def is_machine(self, word: str, device_id: str) -> bool:
        """Return whether the last word of a name is what the device stands in, and no form of it: 8xH100 server."""
        return word in MACHINES and word not in self.catalog.market_names.forms(device_id)

    def in_laptops(self, name: str) -> Reading | None:
        """Return the laptop's chip of a name that no card has, or none with that memory: RTX 4050."""
        read = self.catalog.reading(f"{name} laptop")
        return read if read and self.catalog.accelerator(read.id).text("form") == "laptop" else None

    def leave_form(self, line: Line, device_id: str, window: list[Piece]) -> None:
        """Give back the word of a slower form of a chip where the device is not in it: RTX 2080 Max-Q."""
        for piece in window:
            if piece.text == OF_LAPTOPS and ITS_FORM not in self.catalog.market_names.forms(device_id):
                line.release(piece.start, piece.end)

    def machine(self, line: Line, pieces: list[Piece]) -> tuple[Name, Count] | None:
        """Return the devices of a machine that is named, claimed: GB200 NVL72, DGX H100; a number before counts them.

        A smaller number counts machines: 2 x DGX H100 have sixteen; so does any of a cloud's.
        """
        for window in joined(line, words(line), MACHINE_WORDS):
            start, end = window[0].start, window[-1].end
            names = (f"{maker}{line.small[start:end]}" for maker in ("", "standard_", "aws "))  # often left out
            found = next(filter(None, (self.catalog.lookup("machines", name) for name in names)), None)
            one_word = " " not in line.small[start:end]  # g2-standard-48; a number apart is another's: RTX 3090 8
            if found is None or not (window[0].text[0].isalpha() and (one_word or re.search("[a-z]", window[-1].text))):
                continue
            named = self.catalog.machine(found)
            if named.devices < 2 and named.kind != "cloud":  # a desktop is said by its chip and its memory
                continue
            line.claim(start, end)
            said = self.count_beside(line, pieces, window)
            each = named.devices
            machines = said is not None and (named.kind == "cloud" or said.value % each)
            count = said.value * (each if machines else 1) if said else each
            place = said or Count(start, end, value=0)
            return Name(start, end, "accelerators", id=named.accelerator), place._replace(value=count)
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
                if SHORT.fullmatch(window[-1].text) and LONGER.match(line.small, window[-1].end):
                    continue
                if sizes_in(window) < 2 and self.names_device(window) and line.free(window[0].start, window[-1].end):
                    yield window

    def spelled(self, word: str) -> str:
        """Return a word as the catalogue spells it: RTX 3090 for rtx3090s."""
        one = ITS_FORM if word == OF_LAPTOPS else self.singular(word)
        found = None if one in self.device_words else self.catalog.lookup("accelerators", one)
        return self.catalog.accelerator(found).name if found else " ".join(self.apart(one) or (one,))

    def apart(self, word: str) -> tuple[str, ...]:
        """Return the two words of a device's name that are written as one; empty where they are none."""
        parts = FORM_BEHIND.fullmatch(word)
        return parts.groups() if parts and self.device_words.issuperset(parts.groups()) else ()

    def known(self, word: str) -> bool:
        """Return whether a word is of a device's name, or all of it."""
        one = self.singular(word)
        return bool(one in self.device_words or self.apart(one) or self.catalog.lookup("accelerators", one))

    def part_of_device(self, pieces: list[Piece], place: int) -> bool:
        """Return whether one of the words before a place is of a device's name, of which the rest is not known."""
        before = [piece.text for piece in pieces if piece.end <= place][-FEW_WORDS:]
        named = [word for word in before if len(word) > 1 and word.isalpha() and word not in BETWEEN | COMPUTERS]
        if re.search(r"(?<!\d)\s*max\b", " ".join(before)):  # max params, and not M7 Max
            named = [word for word in named if word != "max"]
        return any(map(self.known, named))

    def in_device(self, word: str) -> bool:
        """Return whether a word may stand in the name of a device."""
        return (
            word in "()-/"
            or word in COMPUTERS
            or word == OF_LAPTOPS
            or self.known(word)
            or bool(MEMORY_WORD.fullmatch(word) or SAID_BESIDE.fullmatch(word) or FORM.fullmatch(word))
            or bool(UNIT.fullmatch(word) or re.fullmatch(r"\d{1,3}", word))
        )

    def names_device(self, window: list[Piece]) -> bool:
        """Return whether words begin and end as a name does, and are not a size alone."""
        first, last = window[0].text, window[-1].text
        texts = [piece.text for piece in window]
        times = next((words for words in (1, 2) if TIMES.fullmatch("".join(texts[-words:]))), 0)
        if times and self.catalog.reading(" ".join(texts[:-times])):
            return False  # 3090 24gb x2, DGX Spark x 2, and not EVO-X2
        if BARE_VERSION.fullmatch(" ".join(piece.text for piece in window)):
            return False  # a Xeon's v4, and no TPU's
        if last in OF_MEMORY and not sizes_in(window):  # A100 memory
            return False
        ends = first[0].isalnum() and not SAID_BESIDE.fullmatch(first) and not re.fullmatch(r"\d{1,2}", first)
        return ends and last not in "(-/" and any(self.known(piece.text) for piece in window)

    def count_beside(self, line: Line, pieces: list[Piece], window: list[Piece]) -> Count | None:
        """Return how many devices stand before or after a name, claimed: 2x, x2, four, 8 *."""
        before = [piece for piece in pieces if piece.end <= window[0].start]
        after = [piece for piece in pieces if piece.start >= window[-1].end]
        if after and after[0].text in ("hours", "hrs"):  # 24 H100 hours
            return None
        end, skipped = window[0].start, 0
        while before and line.free(before[-1].start, window[0].start):
            if size := size_behind(before):  # 2 x 24 GB 3090
                end = size[0].start
                del before[-len(size) :]
                continue
            piece = before.pop()
            number = re.fullmatch(r"(\d{1,6})[x×]?", piece.text.replace(",", ""))
            if number and int(number[1]) > (MOST_TRAINED_ON if "train" in line.small else MOST_DEVICES):
                break
            if (number and int(number[1])) or piece.text in NUMBERS:
                line.claim(piece.start, end)
                return Count(piece.start, end, int(number[1]) if number else NUMBERS[piece.text])
            if piece.text not in BETWEEN | COMPUTERS or skipped == FEW_WORDS:
                break
            skipped += 1
        if after and after[0].text == "pair" and line.free(window[-1].end, after[0].end):  # h200 nvl pair
            line.claim(after[0].start, after[0].end)
            return Count(after[0].start, after[0].end, NUMBERS["pair"])
        signs = " ".join(piece.text for piece in after[:3])
        behind = re.match(r"(?:['(] |s )*[x×*:] ?(\d{1,4})(?![\w.])", signs)
        if not behind and not any(self.known(piece.text) for piece in after[1:FEW_WORDS]):  # 3090 2x 3060 has two 3060
            behind = re.match(r"(\d{1,2})[x×](?! (?:as|better|faster|less|more|slower|than|the)\b)", signs)
        last = next((piece for piece in after if behind and piece.text.rstrip("x×").endswith(behind[1])), None)
        if behind and last and line.free(window[-1].end, last.end):
            line.claim(window[-1].end, last.end)
            return Count(window[-1].end, last.end, int(behind[1]))
        return None
