"""A typed line: its text in small letters, and which of its characters are understood already."""

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from calc.errors import ScenarioError
from calc.lines.spelling import PLAIN, a_letter_off, plainly_spelled

LONGEST = 400  # characters of a question in one line
BILLIONS = re.compile(r"(?<=\d)\s?(?:(billion|milliard|million)(?:en|s)?|b)\b")  # of parameters
LETTERS = {"billion": "b", "milliard": "b", "million": "m"}  # that a model's name has for them
# A count stands close to a name: 2x3090, 8*A100, 4xMI300X; but 8x7B and 8x22 are models, and 7900xtx a card.
GLUED = re.compile(r"(?<![\w.])(\d{1,4})[x×*](?!tx?\b)(?=[a-z0-9])(?!\d{1,2}\b|\d+(?:\.\d+)?[bm]\b)")
MONEY = "€£¥₹"  # signs that are no letters
ATOM = re.compile(
    rf"\d+(?:\.\d+)?{BILLIONS.pattern}"
    r"|\d{1,3}(?:,\d{3})+(?![\w,.])"
    r"|(?!mi\d)[a-z]{0,3}\d{2,4}[a-z]{0,2}(?=x\d{1,2}(?![\w.]))"  # a count close behind a name: h100x8
    r"|[a-z0-9]+(?:[._][a-z0-9]+)*(?:\+(?![a-z0-9]))?|[^\sa-z0-9]"
)
# Words that ask, join or address, and say nothing of a model, a device or a quantity.
WORDS = """
a able about below across actually add adding advice advisor after against ai all also am amd an and any any1 anybody
anyone anything apple approximately are around as ask asked at attempted average avg be been best better between big
bigger biggest both bought box budget build but buy buying by calculator can can't card cards case cheap cheaper
cheapest chip choose choosing company compare compared comparing comparison computer computers considering continue
continued could cpu cuda current currently decent decide deploy deployed deploying desktop dgx difference different do
doable docker does doing don't during each enough error errors estimate every everyone everything exact exactly example
expect expected extremely fastest feasible fine fit fits fitting folks for from full gaming geforce generate get gets
getting give given gives go goes gonna good got gpu gpus graphics guys had handle happen hardware has have having hello
help here hey hf hgx hi hn hold home host hosted hosting how huawei i i'd i'm if im in inch incredibly inference
instance instruct intel into is issue issues it it's its json just kind kinds know language largest launch launch_server
least less let like ll llm llms load loading local locally lol long looking lying machine machine's machines mainly make
many max maximum may maybe me mem memory meta might min mine minimum ml modded model models more most mostly much my
necessary need needed needs new nice normal number nvidia of office offline ok old on one one's only oom or other our
out overall overkill own param parameter parameters params path pc people per perhaps plan planning please pls plz
podman possible prefer pro psa purchase py python python3 quant quantisation quantization quantized quants question
quick radeon ram rather re really reason recommend recommended reduce reducing req reqs require required requirement
requirements requires resource resources result results rig rigs roughly run running runs ryzen same say see self serve
served server serving set setup share should show shown single size small smallest smoothly so some someone something
spare spec specs spend still streams suffice sufficient suggest suggestion suggestions supervised support supported
supports sure system take takes tell tesla than thanks that the their them then there these they think thinking this
those through thx tia til time times tldr to today together token tokens too torchrun total tried try trying two under
up us usable usage use used useful user using value ve version very via vram wait wanna want wanted was way we weights
well were what what's whats when where whether which while who will with wondering work working works workstation worth
would write writing yes you your
"""
# The same in German, Spanish, French and Portuguese, and the signs of Chinese.
FOREIGN_WORDS = """
auf aus bei beste bester bestes betreiben brauche braucht brauchen das dem den der die ein eine einem einen einer eines
funktioniert für geht gibt grafikkarte grafikkarten gut ich ist kann karte laufen lassen läuft man mein meine meinem
meinen meiner mir mit nicht oder passen passt reichen reicht schaffe schafft schnell speicher und viel viele vom von
was welche welcher welches welchen wie wieviel wird wo zu zum zur kontext dauert parametern lohnt sich als mehr genug
mindestens mind wenigstens etwa ungefähr circa gebraucht gebrauchte gebrauchten gebrauchter lieber lokal lokale lokalen
möchte büro unter
um al bonjour hallo hola comprar con correr corre corren cuál cual cuales cuanta cuánta cuantas cuanto cuánto cuantos de
del ejecutar el ella
en entrenar es esta este gráfica grafica hace hay la las lo los memoria mejor mi mis modelo modelos necesita necesito
para puede puedo que qué rápido se si sirve tarjeta tengo un una usar va y contexto parametros soporta servidor
presupuesto compro orçamento
au aux avec besoin carte cartes ce combien des du est et faire faut graphique graphiques je le les mon modèle modèles
pour peut peux quel quelle quelles quels servir sur tourne tourner une contexte paramètres requiert serveur suffisent
config configuration
suffit qu mémoire moins
consigo da em meu minha placa placas posso preciso qual quanta quanto rodar rodando roda uma você
"""
SIGNS = (
    "一上下不个问么了什以件何使值做几分到卡只台可吃吗呢和器在块型多大够少张得微怎想我换支放显存有服本"
    "昇腾华为英伟达路上下文最长机来样模次款求河法测源片用电的硬私能脑至行装要请调跑载运这选部署配需最务地合适推荐训练理吧哪里起"
)
SILENT = frozenset([*f"{WORDS} {FOREIGN_WORDS}".translate(PLAIN).split(), *SIGNS])
LONG_WORD = 6  # letters, of which a wrong one leaves no other word
LONG_WORDS = [word for word in WORDS.split() if len(word) >= LONG_WORD]


@lru_cache(maxsize=4096)
def word_meant(word: str) -> str:
    """Return the word that says nothing of which one is a letter off, itself where there is none.

    >>> word_meant("minimun"), word_meant("mistal")
    ('minimum', 'mistal')
    """
    if word in SILENT or len(word) < LONG_WORD or not word.isalpha():
        return word
    return next((known for known in LONG_WORDS if a_letter_off(word, known)), word)


def letter(billions: re.Match[str]) -> str:
    """Return the letter that stands in a model's name for so many parameters."""
    return LETTERS.get(billions[1], "b")


class Piece(NamedTuple):
    """A word or sign of a line, by its place."""

    start: int
    end: int
    text: str


class Line:
    """A line that is read piece by piece: who understands a part claims it."""

    def __init__(self, text: object) -> None:
        if not isinstance(text, str):
            raise ScenarioError("line", f"must be a text, not {text!r:.60}")
        if len(text) > LONGEST:
            raise ScenarioError("line", f"has {len(text):,} characters; at most {LONGEST} are read")
        self.text = text
        self.small = plainly_spelled(text)
        self.taken = [False] * len(text)
        self.refused: set[int] = set()  # places of what says something that no field takes

    @cached_property
    def meant(self) -> str:
        """The line with the words that say nothing as they are spelled; places are other ones."""
        return re.sub("[a-z]+", lambda word: word_meant(word[0]), self.small)

    def free(self, start: int, end: int) -> bool:
        """Return whether nobody has claimed anything between two places."""
        return not any(self.taken[start:end])

    def claim(self, start: int, end: int) -> None:
        """Mark a part as understood."""
        self.taken[start:end] = [True] * (end - start)

    def release(self, start: int, end: int) -> None:
        """Mark a part as not understood after all."""
        self.taken[start:end] = [False] * (end - start)

    def refuse(self, start: int, end: int) -> None:
        """Mark a part as not understood after all, and its words as no silent ones."""
        self.release(start, end)
        self.refused.update(range(start, end))

    def found(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Iterate over what a pattern finds in parts that nobody has claimed, for the caller to claim."""
        for match in pattern.finditer(self.small):
            if match.end() > match.start() and self.free(*match.span()):
                yield match

    def pieces(self) -> list[Piece]:
        """Return the words and signs, or what of them nobody has claimed; counts stand apart from their names."""
        spaced = GLUED.sub(lambda match: f"{match[1]}\0", self.small)
        rest = "".join("\0" if taken else sign for sign, taken in zip(spaced, self.taken, strict=True))
        found = (Piece(*match.span(), text=BILLIONS.sub(letter, match[0])) for match in ATOM.finditer(rest))
        return [piece for piece in found if piece.text != "\0"]

    def unread(self) -> list[Piece]:
        """Return the words that nobody has claimed and that may mean something, neighbours together."""
        parts: list[Piece] = []
        for piece in self.pieces():
            word = piece.text
            known = word_meant(word) in SILENT or (len(word) == 1 and word.isalpha() and word.isascii())
            known = known and piece.start not in self.refused
            if known or not (word[0].isalnum() or word in MONEY):
                continue
            last = parts[-1] if parts else None
            if last and re.fullmatch(r"[\s\-_./:]*", self.small[last.end : piece.start]):
                parts[-1] = Piece(last.start, piece.end, self.text[last.start : piece.end])
            else:
                parts.append(Piece(piece.start, piece.end, self.text[piece.start : piece.end]))
        return parts
