"""Reading the market name of an accelerator as people write it: how many, which form and size, remarks in brackets.

Names that the catalogue lists are found without this. Here a name is taken apart into words, and compared with the
words of the entries' names: a word that is none of form, size or remark names the device and must agree.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from calc.catalog.entries import DROPPED_WORDS, lookup_names, sold_with
from calc.derivation import INFO, Warn

if TYPE_CHECKING:
    from calc.catalog import Catalog

COUNT = re.compile(r"^\s*(\d{1,5})\s*[x×](?!tx?\b)\s*(?=[a-z]|\d{3})|\s[x×]\s?(\d{1,5})\s*$")
REMARK = re.compile(r"[(\[]([^)\]]*)[)\]]")
CORES = re.compile(r"(\d+)[^a-z0-9]?cores?\b(?!\s*cpu)")
SIZE = re.compile(  # 80GB, 79.18 GiB, 94-96GB; an id's rx-580-8gb has one
    r"(?<![\w.])(?:(?<!-)(\d{1,3})\s*[-–]\s*)?(\d+(?:\.\d+)?)\s?(gib|gb|g)\b"
)
WORD = re.compile(r"[a-z0-9.+]+")
FORM = re.compile(r"(sxm)\d?|pcie|nvl|oam|mezzanine|workstation|server|maxq")  # the same chip, fed and cooled otherwise
SAID_BESIDE = re.compile(
    r"hbm\d?e?|g?ddr\d?x?|lpddr\d?x?|unified|memory|vram|ram|\d+w|gpus?|per|card|edition|generation|graphics|dgx|hgx|cpu|lhr"
)
COMPUTER = re.compile(
    r"\bmac\s?book\s+(pro|air)\b|\bmb[ap]\b|\bmac\s+(studio|mini|pro)\b|\bi?mac\b"
)  # what holds a chip
FAMILIES = ("rtx", "gtx", "rx")  # often left out before a number
MOST_REMEMBERED = 256  # names that a scenario gives, which are asked of again with each change of another field
NEAR = 0.03  # sizes that agree: 79.18 GiB of a card of 80


class Named(NamedTuple):
    """A name, taken apart."""

    words: frozenset[str]  # what names the device
    forms: frozenset[str]
    sizes: frozenset[float]  # GB or GiB as written
    devices: int | None
    cores: int | None


class Reading(NamedTuple):
    """The entry that a name is read as, and what else it could be."""

    id: str
    others: tuple[str, ...]  # ids of devices that the name fits as well


def take_apart(text: str) -> Named:
    """Return the parts of a name without its remarks."""
    text = of_device(text)
    count, cores = numbers_in(text)
    text = CORES.sub(" ", COUNT.sub(" ", text))
    sizes = {float(size) for found in SIZE.finditer(text) for size in found.groups()[:2] if size}
    read = [(word, *form_of(word)) for word in WORD.findall(SIZE.sub(" ", text))]
    forms = {form for _, form, beside in read if form and not beside}
    rest = [word for word, form, beside in read if not form and not beside]
    return Named(frozenset(rest), frozenset(forms), frozenset(sizes), count, cores=cores)


def of_device(text: str) -> str:
    """Return a name in small letters without the words of no device: of sellers, and of the computer that holds it."""
    return COMPUTER.sub(" ", DROPPED_WORDS.sub(" ", text.casefold().replace("max-q", "maxq")))


def numbers_in(text: str) -> tuple[int | None, int | None]:
    """Return the devices and the cores that such a name gives, None where it gives none."""
    counted, cores = COUNT.search(text), CORES.search(text)
    count = next((int(number) for number in counted.groups() if number), None) if counted else None
    return count, int(cores[1]) if cores else None


@cache  # the same few hundred words stand in all names
def form_of(word: str) -> tuple[str, bool]:
    """Return the form that a word is, empty for none, and whether it is only said beside a name."""
    found = FORM.fullmatch(word)
    return (found.group(1) or word) if found else "", bool(SAID_BESIDE.fullmatch(word))


@lru_cache(maxsize=MOST_REMEMBERED)
def count_in(name: str) -> int | None:
    """Return the number of devices that a name begins or ends with, None where it has none.

    >>> count_in("2x RTX 3090"), count_in("T4 x4"), count_in("RTX 3090")
    (2, 4, None)
    """
    return numbers_in(of_device(REMARK.sub(" ", name)))[0] or None


@lru_cache(maxsize=MOST_REMEMBERED)
def cores_in(name: str) -> int | None:
    """Return the GPU cores that a name gives, None where it gives none.

    >>> cores_in("Apple M2 Ultra (76-core GPU)")
    76
    """
    return numbers_in(of_device(REMARK.sub(r" \1 ", name)))[1]


def without_remarks(name: str) -> str:
    """Return a name without its count and what stands in brackets.

    >>> without_remarks("2x A100 (DGX-A100)").strip()
    'a100'
    """
    return COUNT.sub(" ", REMARK.sub(" ", name.casefold()))


class MarketNames:
    """The accelerators of a catalogue by the words of their names."""

    def __init__(self, entries: Mapping[str, Mapping[str, object]]) -> None:
        self.named: dict[str, list[Named]] = {}
        self.sizes: dict[str, frozenset[float]] = {}
        self.variants: dict[str, tuple[str, float]] = {}  # entries as they are sold with other memory, in GiB
        self.by_word: dict[
            str, list[str]
        ] = {}  # the entries that have a word in any name, families left out as they may be in what is asked
        for entry_id, entry in entries.items():
            names = [take_apart(REMARK.sub(" ", name)) for name in lookup_names(entry_id, entry)]
            self.named[entry_id] = names
            size = float(entry["memory"]["value"])  # type: ignore[index]
            self.sizes[entry_id] = frozenset({size / 1e9, size / 2**30}.union(*(named.sizes for named in names)))
            self.variants |= {other: (entry_id, gib) for other, gib in sold_with(entry_id, entry).items()}
            for word in frozenset[str]().union(*(named.words.difference(FAMILIES) or named.words for named in names)):
                self.by_word.setdefault(word, []).append(entry_id)
        self.order = {entry_id: place for place, entry_id in enumerate(self.named)}

    def read(self, name: str, usual: str | None) -> Reading | None:
        """Return what a name is read as, None where no device, or none of that size, has it.

        `usual` is the entry that is meant where several fit: the one that the catalogue lists the bare name under.
        """
        asked = take_apart(REMARK.sub(" ", name))
        alike = dict(self.alike(asked)) or dict(self.alike(asked := self.with_size(asked)))
        sized = nearest_size(asked.sizes, alike, self.sizes)
        if not sized:
            others = ((found, *variant) for found, variant in self.variants.items())
            known = [found for found, entry_id, size in others if entry_id in alike and size in asked.sizes]
            return Reading(known[0], tuple(known[1:])) if known else None
        # Remarks decide where the name does not: "A100 (DGX-A100 40GB)".
        remark = take_apart(" ".join(REMARK.findall(name)))
        kept = (nearest_size(remark.sizes, sized, self.sizes) if not asked.sizes else {}) or sized
        formed = [entry_id for entry_id in kept if remark.forms & self.forms(entry_id)]
        found = formed or list(kept)
        first = max(found, key=lambda entry_id: (entry_id == usual, asked.forms == kept[entry_id].forms))
        return Reading(first, tuple(entry_id for entry_id in found if entry_id != first))

    def with_size(self, asked: Named) -> Named:
        """Return a name whose bare number is its size, where chips are sold with as much beside their own: M4 16."""
        sold = {size for _, size in self.variants.values()}
        bare = {word for word in asked.words if word.isdigit() and float(word) in sold}
        if asked.sizes or len(bare) != 1:
            return asked
        return asked._replace(words=asked.words - bare, sizes=frozenset(map(float, bare)))

    def alike(self, asked: Named) -> Iterator[tuple[str, Named]]:
        """Return the entries that have the words of a name, each with the name of its own that agrees best."""
        sharing = {entry_id for word in asked.words for entry_id in self.by_word.get(word, ())}
        for entry_id in sorted(sharing, key=self.order.__getitem__):
            own = [named for named in self.named[entry_id] if same_device(asked, named, self.sizes[entry_id])]
            agreeing = [named for named in own if asked.forms <= self.forms(entry_id) or not self.forms(entry_id)]
            if agreeing:
                yield entry_id, min(agreeing, key=lambda named: len(named.forms ^ asked.forms))

    def forms(self, entry_id: str) -> frozenset[str]:
        """Return the forms that an entry is named in."""
        return frozenset[str]().union(*(named.forms for named in self.named[entry_id]))

    def in_other_sizes(self, name: str) -> list[str]:
        """Return the ids of the devices that a name fits but for its size."""
        return [entry_id for entry_id, _ in self.alike(take_apart(REMARK.sub(" ", name)))]


def same_device(asked: Named, named: Named, sizes: frozenset[float]) -> bool:
    """Return whether two names have the same words; a bare number may be a size, a family before one left out."""
    missing, beside = named.words - asked.words, asked.words - named.words
    if not missing and beside:
        return all(word.isdigit() and float(word) in sizes for word in beside)
    shared = asked.words & named.words
    unsaid = all(word in FAMILIES for word in missing) and any(sign.isdigit() for word in shared for sign in word)
    return bool(shared) and not beside and (unsaid or not missing)


def nearest_size(
    asked: frozenset[float], found: Mapping[str, Named], sizes: Mapping[str, frozenset[float]]
) -> dict[str, Named]:
    """Return the entries whose memory is nearest to one of the sizes asked for; none where all are too far."""
    if not asked:
        return dict(found)
    off = {entry_id: min(abs(one - own) / own for one in asked for own in sizes[entry_id]) for entry_id in found}
    least = min(off.values(), default=1)
    return {entry_id: found[entry_id] for entry_id in found if off[entry_id] == least and least <= NEAR}


def doubts(name: str, devices: int, facts: "Catalog") -> list[Warn]:
    """Return what a market name that was understood leaves open, and what was taken."""
    found = []
    read, field = facts.reading(name), "accelerator"
    chosen = facts.accelerator(name)
    if read is not None and read.others:
        others = ", ".join(facts.accelerator(other).name for other in read.others)
        message = f"{name:.80} may be any of {chosen.name}, {others}: {chosen.name} is taken"
        found.append(Warn("accelerator-ambiguous", message, field, INFO))
    cores, known = cores_in(name), chosen.quantity("compute_units")
    if cores is not None and known is not None and cores != known:
        message = f"{name:.80} has {cores} GPU cores; {chosen.name} is computed with {known:.0f}"
        found.append(Warn("accelerator-cores", message, field, INFO))
    count = count_in(name)
    if count is not None and count != devices:
        message = f"{name:.80} names {count}, and the other fields make {devices}: {devices} are taken"
        found.append(Warn("accelerator-count", message, field, INFO))
    return found
