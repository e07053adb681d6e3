"""A typed line spelled plainly: small letters without marks, numbers and units as English has them; places stay."""

import re
from itertools import takewhile

from calc.lines.parts import OF_SAMPLES, PEOPLE

PLAIN = str.maketrans(
    "äöüáéíóúàèìòùâêîôûëïçñß", "aouaeiouaeiouaeioueicns"
)  # letters with marks, as they are typed without
MONEY = r"(?:€|£|\$|eur|usd|dollar|bucks)"
COUNTED = rf"\s?(?:tok|kontext|context|ctx|{OF_SAMPLES}|{PEOPLE}|{MONEY})"  # in thousands
RULES = (
    (re.compile(r"\.(?=gguf|i?q\d)"), " "),  # a file, and its format, of what stands before them
    (re.compile(r"\bml\.(?=\w+\.\d*x?(?:large|metal)\b)"), "ml "),  # a cloud's machine, as a service of it calls it
    (re.compile(r"\bsentence[- ](?=transformers\b)"), "sentence_"),  # a program that is not the one of that name
    (re.compile(r"\b(placas?) de video\b"), r"\1         "),  # a card, and no model of that name
    (re.compile(r"\b(sglang|mlx_lm|vllm)\.(?=[a-z])"), r"\1 "),  # an engine, and a part of it that is started
    (re.compile(r"(?<=\d)(\s?)mio(?:\.|(?= ))"), r"\1mil "),  # German: millions
    (re.compile(r"\bmax-q\b"), "max_q"),  # of a device's name, whose words are of others too
    (re.compile(r"\b((?:lp)?ddr\dx?)-\d{4}\b"), r"\1     "),  # a memory's rate, which may be a card's number
    (re.compile(r"(?<=\d)-(?=(?:gpu|card)s?\b)"), " "),  # an 8-GPU server
    (re.compile(r"(?<=\d)(\s?)gigs\b"), r"\1gb  "),
    (re.compile(r"(?<=\d)(\s?)gig\b"), r"\1gb "),
    (re.compile(r"\b(mbp|mba|macbook(?: pro| air)?) 1[3-6](?!\s?gi?b?\b|\d)"), r"\1   "),  # inches of a screen
    (re.compile(r"\b1[3-6](?=[- ]?inch\b)"), "  "),
    (re.compile(r"(?<=\d)(\s?)go\b"), r"\1gb"),  # French: gigaoctets
    (re.compile(rf"(?<![\d.,])(\d{{1,3}})\.(?=\d{{3}}{COUNTED})"), r"\1,"),  # German: 32.768 Token
    # French: 2 000 €, 10 000 tokens; of other things, a number before 500 may be a version.
    (re.compile(rf"(?<![\w.,])(\d{{1,3}})[ \u00a0\u202f](?=\d00\s?{MONEY}|000{COUNTED})"), r"\1,"),
    (re.compile(r"(?<![\d.,])(\d{1,3}),(?=\d\s?(?:[bmt]\b|mil\b|bits?\b|[gt]b\b))"), r"\1."),  # both: 1,5b
)


def a_letter_off(word: str, other: str) -> bool:
    """Return whether one letter is left out, put in, another, or two stand the other way round.

    >>> [a_letter_off(word, "llama") for word in ("lama", "llamma", "llama", "lalma", "alma")]
    [True, True, False, True, False]
    """
    same = len(list(takewhile(lambda letters: letters[0] == letters[1], zip(word, other, strict=False))))
    mine, own = word[same:], other[same:]
    turned = mine[:2] == own[1::-1] and mine[2:] == own[2:]
    return mine != own and (turned or mine[1:] == own or mine == own[1:] or mine[1:] == own[1:])


def plainly_spelled(text: str) -> str:
    """Return a line in small letters, with the numbers and units of German and French as English writes them.

    Every character stays in its place.

    >>> plainly_spelled("Qwen2.5 1,5B auf 12 Go, 32.768 Token, 2 000 €")
    'qwen2.5 1.5b auf 12 gb, 32,768 token, 2,000 €'
    """
    small = "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text).translate(PLAIN)
    for pattern, written in RULES:
        small = pattern.sub(written, small)
    return small
