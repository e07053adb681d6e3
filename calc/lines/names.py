"""The names in a line: number formats, engines, frameworks, models and devices, as the catalogue knows them."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import cast

from calc.catalog import Catalog
from calc.catalog.entries import DROPPED_WORDS
from calc.catalog.model_names import SAID_LESS, SIZE, Reading, words_of
from calc.errors import ScenarioError
from calc.lines.device_names import MEMORY_WORD, MOST_WORDS, DeviceNames, Name, joined, words
from calc.lines.line import SILENT, Line, Piece
from calc.lines.spelling import a_letter_off
from calc.scenario.fields import PUBLISHED

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
        "param",
        "params",
        "parameter",
        "parameters",
    )
)  # words in a model's name that say nothing
TUNINGS = ("dpo", "grpo", "ppo", "rlhf", "orpo", "kto")
# Ways to train, and what else is said before a size, that are no part of a model's name.
NO_NAMES = frozenset(
    (
        *(*TUNINGS, "offload", "offloading", "offloaded", "nvlink", "laptop", "overnight", "caching", "parallel"),
        *("completion", "coding", "rag", "chatbot", "assistant", "agent", "agents"),  # what it is for
        # Programs that are no engine of the catalogue.
        *("exllama", "exllamav2", "exllamav3", "exl2", "exl3", "tabbyapi", "lmdeploy", "tgi", "ktransformers"),
        *("aphrodite", "mlc", "powerinfer", "airllm", "petals", "exo", "localai", "gpt4all", "jan"),
    )
)
# Looking one up takes longer than all else: tokens/s and requests/minute are none.
REPOSITORY = re.compile(
    r"[a-z0-9][\w.-]+/(?!(?:sec|min|hour|month|tok|user|req|gpu)\w*\b)(?:[a-z0-9][\w.-]{2,}|\d+\b)(?::[\w.-]+)?"
)
MISSPELT = re.compile(r"([a-z]{4,})((?:\d[\d.]*)?)")  # quen3
BEHIND = re.compile(r"\s*([a-z]*)")
NAMED = re.compile(r"[a-z0-9](?:[\w./-]*\w)?")
# A number at the end of a name is a version: where the catalogue's name ends before it, it is of another model.
LATER = re.compile(
    r"(?:[-_]v?\d{1,2}(?![\w.]|-?bit)|\s+v?\d{1,2}(?=\s*(?:$|[?,;](?!\d)|(?:on|with|under|in|at|for|using|vs|or|runs?|fits?)\b)))"
)
DATED = re.compile(r"2[3-9](?:0[1-9]|1[0-2])")  # a version by its year and month: Qwen3 4B 2507
WORDS_TOO, OF_TYPE = ("half", "float"), re.compile(r"(?:type|precision)[\s=:]+$")  # formats only behind these
BEFORE_SIZE = re.compile(r"q\d-\d+(?:\.\d+)?b")
LADDER = (
    "{}_k_m",
    "{}_k",
    "i{}_m",
    "{}_0",
    "{}_m",
    "{}_xs",
)  # what llama.cpp's users mean by q4: the mixture of that many bits that there is


class Names(DeviceNames):
    """Finds what a catalogue has in lines."""

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
        A tag behind it that names no format is left over.
        """
        for match in line.found(NAMED):
            if own := self.published.get(match[0].rpartition("/")[2]):
                line.claim(*match.span())
                return Name(*match.span(), kind="models", id=own), PUBLISHED
        for match in line.found(REPOSITORY):
            whole = line.text[match.start() : match.end()]
            for name in dict.fromkeys((whole, whole.partition(":")[0])):
                try:
                    model = self.catalog.model(name)
                except ScenarioError:
                    continue
                said = self.catalog.named_format(name) if name == whole else None
                end = match.start() + len(name)
                line.claim(match.start(), end)
                meant = self.catalog.variant(name) or model.id
                return Name(match.start(), end, kind="models", id=meant), said.weights if said else None
        return None

    def formats(self, line: Line) -> Iterator[Name]:
        """Iterate over number formats by their names, the ends of repositories' names, and short ones such as q4."""
        before = None  # of a size: a Q3-235B in NVFP4 is a Qwen3
        for window in joined(line, words(line), 3):
            start, end = window[0].start, window[-1].end
            if line.small[start:end] in WORDS_TOO and not OF_TYPE.search(line.small, 0, start):
                continue
            if any(DROPPED_WORDS.fullmatch(piece.text) for piece in (window[0], window[-1])):  # gpu 8bit
                continue
            if line.free(start, end) and (found := self.format(line.small[start:end])):
                if BEFORE_SIZE.match(line.small, start):
                    before = before or Name(start, end, "weights", found)
                    continue
                line.claim(start, end)
                yield Name(start, end, "weights", found)
        if before:
            line.claim(before.start, before.end)
            yield before

    def format(self, name: str) -> str | None:
        """Return the id of the number format of that name, None where there is none."""
        if re.fullmatch(r"\d+[\s_-]*bits?", name):  # of any format
            return None
        name = re.sub(r"[\s-]+", "_", name)
        if re.fullmatch(r"i?q\d", name):
            return next(
                (end.format(name) for end in LADDER if end.format(name) in self.catalog.entries("mixtures")), None
            )
        known = self.catalog.lookup("mixtures", name) or self.catalog.lookup("number_formats", name)
        return known or self.catalog.format_names.get(name.replace("_", "-"))

    def of_caches(self, name: str) -> bool:
        """Return whether caches are kept in a number format."""
        return bool(self.catalog.lookup("number_formats", name)) and self.catalog.number_format(name).cache

    def listed_model(self, line: Line) -> Name | None:
        """Return a model by a name that the catalogue lists, claimed; a size behind it must be the model's too."""
        pieces = words(line)
        for window in joined(line, pieces, MOST_WORDS):
            start, end = window[0].start, window[-1].end
            found = self.catalog.lookup("models", line.small[start:end])
            if found is None or LATER.match(line.small, end):
                continue
            behind = next((piece for piece in pieces if piece.start >= end), None)
            if behind and any(map(SIZE.fullmatch, words_of(behind.text))) and line.free(end, behind.end):
                return self.words_of_model(line, [*window, behind])
            if behind and DATED.fullmatch(behind.text) and (dated := self.words_of_model(line, [*window, behind])):
                return dated
            if behind and len(window) == 1 and self.names_more(line.small[end : behind.start], behind.text):
                if longer := self.words_of_model(line, [*window, behind]):
                    return longer
                continue
            before = next((piece for piece in reversed(pieces) if piece.end <= start), None)
            sized = before and SIZE.fullmatch(before.text) and not line.small[before.end : start].strip()
            if before and sized and (whole := self.words_of_model(line, [before, *window])):
                return whole
            line.claim(start, end)
            if sizes := self.catalog.model_names.of_other_sizes(found, line.small[start:end]):
                return Name(start, end, "models", found, others=sizes)
            current = self.catalog.model_names.current(found, line.small[start:end])
            if current == found:
                return Name(start, end, "models", self.catalog.variant(line.small[start:end]) or found)
            return Name(start, end, "models", current, others=(found,))
        return None

    def family(self, line: Line) -> list[str]:
        """Return the models that a word of no model may mean, those with the word behind it, if any: mistral small."""
        for part in line.unread():
            if found := self.catalog.model_names.of_family(part.text):
                said = BEHIND.search(line.small, part.end)  # which says nothing alone
                behind = words_of(said[1]) if said else frozenset()
                return [name for name in found if behind & words_of(self.catalog.model(name).name)] or found
        return []

    def names_more(self, between: str, word: str) -> bool:
        """Return whether a word right behind a model's name is of models' names too: Jamba mini."""
        known = word in self.catalog.model_names.vocabulary and word.isalpha()
        return known and not between.strip(" -") and word not in SILENT | NO_NAMES

    def model(self, line: Line) -> Name | None:
        """Return the model that has the words of a part of a line, claimed; without a size, if there is but one.

        Where no name has them as they are written, the word that is a letter off a family's is read as that.
        """
        pieces = words(line)
        if found := self.of_words(line, pieces):
            return found
        if self.catalog.complete():
            return self.listed_model(line) or self.model(line)
        spelled = [piece._replace(text=self.family_meant(piece.text)) for piece in pieces]
        return self.of_words(line, spelled) if spelled != pieces else None

    def of_words(self, line: Line, pieces: list[Piece]) -> Name | None:
        """Return the model that has neighbouring words in its name, or is called by them, claimed."""
        for window in joined(line, pieces, MOST_WORDS):
            if any(piece.text in WITHIN for piece in (window[0], window[-1])) or window[0].text in NO_NAMES:
                continue
            if any(one.text in WITHIN and other.text.isdigit() for one, other in pairwise(window)):
                continue  # 8b for 8 threads
            sizes = frozenset[str]().union(*(words_of(piece.text) for piece in window))
            if all(map(SAID_LESS.fullmatch, sizes)) and self.belongs(line, pieces, window[0]):
                continue
            if found := self.words_of_model(line, window):
                return found
        return None

    def family_meant(self, word: str) -> str:
        """Return a word that means nothing itself as what is a letter off it, or has two words in it.

        That is a family, or else a word of models' names: llama for lama, deepseek r1 for deepseekr1.
        """
        names = self.catalog.model_names
        if glued := next((one for one in names.families if re.fullmatch(rf"{one}[a-z]?\d[\w.]*", word)), ""):
            return f"{glued} {word.removeprefix(glued)}"  # deepseekr1
        parts = MISSPELT.fullmatch(word)
        if not parts or parts[1] in SILENT | NO_NAMES | names.vocabulary or self.known(word):
            return word
        for listed, shortest in ((names.families, 0), (names.first_words, 4), (names.vocabulary, 5)):
            near = [known for known in listed if len(known) >= shortest and a_letter_off(parts[1], known)]
            if near:
                return f"{near[0]}{parts[2]}" if len(near) == 1 else word
        return word

    def words_of_model(self, line: Line, window: list[Piece]) -> Name | None:
        """Return the model that has these words in its name, claimed."""
        asked = frozenset[str]().union(*(words_of(piece.text) for piece in window if piece.text not in WITHIN))
        found = self.catalog.model_names.having(asked)
        called = " ".join(piece.text for piece in window)
        if found is None and called != line.small[window[0].start : window[-1].end]:
            listed = self.catalog.lookup("models", called)  # spelled otherwise
            found = Reading(listed, ()) if listed else None
        if found is None or LATER.match(line.small, window[-1].end) or self.format(window[0].text):
            return None
        line.claim(window[0].start, window[-1].end)
        return Name(window[0].start, window[-1].end, "models", id=found.variant or found.id, others=found.others)

    def belongs(self, line: Line, pieces: list[Piece], size: Piece) -> bool:
        """Return whether a size or a version stands behind a word that nobody knows, whose model is another one."""
        before = [piece for piece in pieces if piece.end <= size.start]
        if (
            not before
            or before[-1].text in NO_NAMES
            or MEMORY_WORD.fullmatch(before[-1].text)
            or self.catalog.lookup("frameworks", before[-1].text)  # which is read behind models: Mistral Nemo
            or not re.fullmatch(r"[\s\-_:/]*", line.small[before[-1].end : size.start])
        ):
            return False
        return any(part.start <= before[-1].start and before[-1].end <= part.end for part in line.unread())


def names_of(catalog: Catalog) -> Names:
    """Return the finder of names of a catalogue, made once."""
    return catalog.once("names in lines", lambda: Names(catalog))
