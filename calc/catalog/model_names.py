"""Finding a model by words, as people say it: a family and a size, without owner, version or hyphens.

Names that the catalogue lists are found without this. Of several that have all the words, one is taken and the others
are named: what is not made from another model before what is, of a size alone what many have measured, the maker with
more that write text, and the newest.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from calc.catalog.carried import READ_LATE
from calc.catalog.entries import lookup_names, maker_of, said_otherwise

WORD = re.compile(
    r"\d+x\d+(?:\.\d+)?[bm]?|(?:(?<![a-z])|(?<=\db))a\d+(?:\.\d+)?[bm]|e?\d+(?:\.\d+)?[bmt](?![b-z]|a(?!\d))|[a-z]+|\d+(?:\.\d+)?"
)
# How files store a model is no part of its name: NVFP4 says nothing of a fourth generation.
STORED = re.compile(
    r"(?<![a-z\d])(?:(?:nv|mx)?fp|u?int|bf|iq|q|w)\d+(?:a\d+)?(?:_\w+)?|(?<![a-z\d.])\d+[-_]?bits?(?![a-z])"
)
SIZE = re.compile(r"(?:\d+x|e)?\d+(?:\.\d+)?[bmt]")
SIZES = re.compile(rf"{SIZE.pattern}|a\d+(?:\.\d+)?[bm]")  # of those at work for a token too
VERSION = re.compile(r"v|\d+(?:\.\d+)?")
SAID_LESS = re.compile(rf"{SIZES.pattern}|{VERSION.pattern}")  # what people leave out of a name
EXPERTS = re.compile(r"\d+x\d+(?:\.\d+)?")  # a size without its letter: 8x22
OLD_YEARS = 3
LONG_WORD = 5  # letters, of which a wrong one leaves no other word
WRITES = "ForCausalLM"  # the end of the classes' names, as configs have them
# What is made of another model, or for one use: not meant unless it is said.
MADE_OF = frozenset(
    ("distill", "coder", "code", "math", "vision", "vl", "audio", "omni", "embedding", "reranker", "reward", "guard")
)
COUNT = re.compile(r"[\d.,]*[kx]?[^\w\s]?")
IGNORED = frozenset(["instruct", "chat", "it", "base", "the", "model", "hf", "latest", "gguf"])


class Reading(NamedTuple):
    """The entry that a name is read as, and those that have the same words."""

    id: str
    others: tuple[str, ...]
    variant: str = ""  # the repository whose words they are, where that is a variant of the entry


@lru_cache(maxsize=8192)  # names of the catalogue are taken apart again for each name that is looked up
def words_of(name: str) -> frozenset[str]:
    """Return the words of a name that tell models apart.

    >>> sorted(words_of("deepseek-r1:70b")), sorted(words_of("Mixtral 8x7B Instruct"))
    (['1', '70b', 'deepseek', 'r'], ['8x7b', 'mixtral'])
    """
    bare = re.sub(r"(?<=\d)_(?=\d)", ".", STORED.sub(" ", name.casefold().rpartition("/")[2]))
    return frozenset(f"{word}b" if EXPERTS.fullmatch(word) else word for word in WORD.findall(bare)) - IGNORED


class ModelNames:
    """The models of a catalogue by the words of their names."""

    def __init__(
        self, entries: Mapping[str, Mapping[str, object]], measured: Mapping[str, Mapping[str, object]]
    ) -> None:
        self.entries, self.measured = entries, measured
        self.own = word_sets({entry_id: own_names(entry_id, entry) for entry_id, entry in entries.items()})

    @cached_property
    def every(self) -> dict[str, list[frozenset[str]]]:
        """The words of all names, of repositories that hold the same shape too."""
        return word_sets({entry_id: lookup_names(entry_id, entry) for entry_id, entry in self.entries.items()})

    @cached_property
    def makers(self) -> Counter[str]:
        """How many models that write text each maker has: one with many that see or read is not meant by a size."""
        configs = {entry_id: entry.get("config") or entry[READ_LATE] for entry_id, entry in self.entries.items()}
        return Counter(maker_of(entry) for entry_id, entry in self.entries.items() if WRITES in str(configs[entry_id]))

    def read(self, name: str) -> Reading | None:
        """Return the model that has all the words of a name; None where none has, or several do without a size.

        A repository's name says the version, as what people say does not: minicpm 2b may be any of them,
        openbmb/MiniCPM-2B is none that came later.
        """
        return self.having(words_of(name), whole="/" in name)

    def current(self, entry_id: str, name: str) -> str:
        """Return the newest model whose name is an old one's with a number of its version: Qwen3 14B for "qwen 14b".

        An id, and a name that says a version itself or no size, mean the entry of exactly that name; so does the name
        of a model that came out within OLD_YEARS of the newest.
        """
        asked = words_of(name)
        newest = max(map(released, self.entries.values()))
        if name == entry_id or int(newest[:4]) - int(released(self.entries[entry_id])[:4]) < OLD_YEARS:
            return entry_id
        if not any(map(SIZE.fullmatch, asked)) or any(word[0].isdigit() and not SIZE.fullmatch(word) for word in asked):
            return entry_id
        later = [
            other
            for other, known in self.own.items()
            if any(asked < words and all(map(VERSION.fullmatch, words - asked)) for words in known)
        ]
        return max([entry_id, *later], key=lambda other: released(self.entries[other]))

    def having(self, asked: frozenset[str], *, whole: bool = False) -> Reading | None:
        """Return the model with a name of all these words, one of which is a size; None where none has.

        `whole`: nothing but sizes may stand in that name besides. Without a size, the one model that has the words and
        nothing but a size besides: Llama 3.3 is its 70B. Where there is none, the newest of those that have a version
        besides, if that has one size: Mistral Small is the last.
        """
        if not any(map(SIZE.fullmatch, asked)):
            return self.of_one_size(asked, whole=whole) if len(asked) > 1 else None
        every = (entry_id for entry_id in matching(asked, self.every, whole) if not self.later(entry_id, asked))
        found = matching(asked, self.own, whole) or list(every)
        if not found:
            return None

        wide = self.widely_measured(found) if all(map(SIZES.fullmatch, asked)) else frozenset[str]()

        def order(entry_id: str) -> tuple[int, bool, int, int, str]:
            entry = self.entries[entry_id]
            made_of = len((words_of(str(entry.get("name", entry_id))) & MADE_OF) - asked)
            besides = (words - asked for words in self.own[entry_id] if asked <= words)
            other = min((sum(not SAID_LESS.fullmatch(word) for word in words) for words in besides), default=0)
            return -made_of, entry_id in wide, -other, self.makers[maker_of(entry)], released(entry)

        ranked = sorted(found, key=order, reverse=True)
        return Reading(ranked[0], tuple(ranked[1:]), self.variant(ranked[0], asked, whole))

    def widely_measured(self, entry_ids: Iterable[str]) -> frozenset[str]:
        """Return those of some models of which more than half as many sources published measurements as of any.

        A size alone means one that many run, which its maker's number of models does not say.
        """
        counts = {entry_id: self.sources(entry_id) for entry_id in entry_ids}
        most = max(counts.values(), default=0)
        return frozenset(entry_id for entry_id, count in counts.items() if 2 * count > most)

    def sources(self, entry_id: str) -> int:
        """Return how many sources published measurements of a model."""
        count = self.measured.get(entry_id, {}).get("sources", 0)
        assert isinstance(count, int)
        return count

    def called(self, entry_id: str, name: str) -> str:
        """Return the variant of an entry that one of its aliases means, empty where it means the entry itself."""
        return self.variant(entry_id, words_of(name), whole=False)

    def variant(self, entry_id: str, asked: frozenset[str], whole: bool) -> str:
        """Return the variant of an entry whose name has all the words, where the entry itself is not called so.

        What is named after a variant has its words, and so may an alias, where all variants with them are alike: Qwen3
        30B A3B 2507.
        """
        entry = self.entries[entry_id]
        variants, aliases = entry.get("variants") or {}, entry.get("aliases") or ()
        assert isinstance(variants, Mapping) and isinstance(aliases, Collection)
        names = {name: [words_of(name)] for name in lookup_names(entry_id, entry)}
        having = matching(asked, names, whole)
        found = [name for name in having if name in variants]
        others = [words_of(name) for name in having if name not in variants and name not in aliases]
        after = all(any(words_of(one) < words for one in found) for words in others)
        alike = all(said_otherwise(variants[one]) == said_otherwise(variants[found[0]]) for one in found)
        called = any(name in aliases for name in having)
        return found[0] if found and after and (alike or not called) else ""

    def later(self, entry_id: str, asked: frozenset[str]) -> bool:
        """Return whether a name says of a model what it is called itself, but for the version: Qwen4 is no Qwen3."""
        left = asked.difference(*self.own[entry_id])
        return asked not in self.every[entry_id] and bool(left) and all(map(VERSION.fullmatch, left))

    @cached_property
    def families(self) -> frozenset[str]:
        """The words that the names of several models begin with, short ones left out."""
        return frozenset(word for word in self.first_words if len(word) >= LONG_WORD)

    @cached_property
    def first_words(self) -> frozenset[str]:
        """The words that the names of several models begin with."""
        first = (re.match("[a-z]+", str(entry["name"]).casefold()) for entry in self.entries.values())
        return frozenset(word for word, models in Counter(found[0] for found in first if found).items() if models > 1)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The words of the names that entries have for themselves."""
        return frozenset[str]().union(*(words for known in self.own.values() for words in known))

    def of_one_size(self, asked: frozenset[str], *, whole: bool) -> Reading | None:
        """Return the model of these words and a size, or the newest of one size with a version; None for several.

        `whole`: no version may stand besides, as in `having`: openbmb/MiniCPM-V is none that came later.
        """
        for besides in (SIZE.fullmatch, SAID_LESS.fullmatch)[: 1 if whole else 2]:
            found = {
                entry_id: frozenset(filter(SIZE.fullmatch, words - asked))
                for entry_id, known in self.own.items()
                for words in known
                if asked < words and all(map(besides, words - asked)) and any(map(SIZE.fullmatch, words - asked))
            }
            if len(set(found.values())) == 1:
                newest = self.newest_first(found)
                return Reading(newest[0], tuple(newest[1:]))
            if found and any(re.search(r"\d", word) for word in asked):
                return None
        return None if whole else self.of_last_version(self.newest_first(found), asked)

    def of_last_version(self, newest: list[str], asked: frozenset[str]) -> Reading | None:
        """Return the newest of models where words say neither size nor version, and its version has one size.

        Mistral Small is the last of them, of whatever size the ones before it were; Ministral is of three.
        """

        names = {entry_id: words_of(str(self.entries[entry_id].get("name"))) for entry_id in newest}
        versions = {
            entry_id: {word for word in words - asked if not SIZES.fullmatch(word)}
            for entry_id, words in names.items()
            if asked <= words
        }
        if not versions or list(versions.values()).count(next(iter(versions.values()))) > 1:
            return None
        first, *others = versions
        return Reading(first, tuple(others))

    def of_other_sizes(self, entry_id: str, name: str) -> tuple[str, ...]:
        """Return what else a name without a size may mean of a model that has one in its own, by sizes alone.

        Qwen3 Coder is that of 480 billion parameters, or of 30; DeepSeek R1 is no other than itself.
        """
        asked = words_of(name)
        of_own = words_of(str(self.entries[entry_id].get("name"))) - asked
        if any(map(SIZES.fullmatch, asked)) or not any(map(SIZE.fullmatch, of_own)):
            return ()
        sized = [
            other
            for other, known in self.own.items()
            if any(asked < words and all(map(SIZES.fullmatch, words - asked)) for words in known)
        ]
        return tuple(other for other in sized if other != entry_id) if entry_id in sized else ()

    def newest_first(self, entry_ids: Iterable[str]) -> list[str]:
        """Return entries in the order of their days."""
        return sorted(entry_ids, key=lambda entry_id: released(self.entries[entry_id]), reverse=True)

    def of_family(self, name: str) -> list[str]:
        """Return the models with the words of a name, which may say no size, newest first: those of a family.

        What is made of another model, or for one use, is left out unless it is said. Where none has all words, the
        first one that names a family counts: moe mistral. A count or a sum is no name: 2x, 3k€.
        """
        asked = frozenset() if COUNT.fullmatch(name) else words_of(name)
        names = {entry_id: words_of(str(entry.get("name"))) for entry_id, entry in self.entries.items()}
        plain = [entry_id for entry_id, words in names.items() if asked <= words and not words & MADE_OF - asked]
        if plain and asked:
            return self.newest_first(plain)
        rest = name.casefold().split()
        family = next((word for word in rest if word in self.families), "") if len(rest) > 1 else ""
        return self.of_family(family) if family else []

    def begun(self, name: str) -> list[str]:
        """Return the models of a family, newest first, whose names begin with the first word: qwen3, gemma."""
        first = re.match("[a-z]+", name.casefold())
        if not first or first[0] not in self.first_words:
            return []
        named = {entry_id: str(entry.get("name")).casefold() for entry_id, entry in self.entries.items()}
        return [entry_id for entry_id in self.of_family(name) if named[entry_id].startswith(first[0])]


def released(entry: Mapping[str, object]) -> str:
    """Return when a model came out: a year, or a month of one."""
    return str(entry.get("released"))


def own_names(entry_id: str, entry: Mapping[str, object]) -> list[str]:
    """Return the names that an entry has for itself, without the repositories that hold the same shape."""
    return lookup_names(entry_id, {name: value for name, value in entry.items() if name in ("name", "aliases")})


def word_sets(names: Mapping[str, list[str]]) -> dict[str, list[frozenset[str]]]:
    """Return the words of each name of each entry."""
    return {entry_id: [words_of(name) for name in known] for entry_id, known in names.items()}


def matching(asked: frozenset[str], names: Mapping[str, list[frozenset[str]]], whole: bool) -> list[str]:
    """Return the entries of which a name has all the words; where `whole` is asked, none but sizes besides."""

    def has(words: frozenset[str]) -> bool:
        return asked <= words and (not whole or all(map(SIZES.fullmatch, words - asked)))

    return [entry_id for entry_id, known in names.items() if any(map(has, known))]
