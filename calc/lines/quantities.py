"""What of a line is a quantity, a method, or a word that says what is asked: patterns of English, and no names.

Each pattern has a name in `FOUND`, in the order in which they are looked for: what is claimed first is not read twice.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from calc.lines.line import Line
from calc.lines.parts import (
    A_SECOND,
    AT_ONCE,
    BATCH,
    CONTEXT,
    COUNT,
    DOLLARS,
    HOW_MANY,
    LARGE,
    MOST,
    NO_DOLLARS,
    NO_NUMBER,
    NUMBER,
    OF_CONTEXT,
    OF_PEOPLE,
    OF_SAMPLES,
    PEOPLE,
    PER_SECOND,
    WINDOW,
)
from calc.units import read_count


class Quantity(NamedTuple):
    """A part of a line that a pattern has read."""

    start: int
    end: int
    field: str
    value: object


def tokens(match: re.Match[str]) -> object:
    """Return a count of tokens of a context, of which a k is 1,024."""
    return counted(match, binary=True)


def plainly(match: re.Match[str]) -> object:
    """Return a count of people or money, of which a k is a thousand."""
    return counted(match, binary=False)


def counted(match: re.Match[str], *, binary: bool) -> object:
    """Return the count that a match's first groups are, None for none."""
    number, *rest = [group for group in match.groups() if group]
    unit = rest[0] if rest else ""
    return read_count(number + LARGE.get(unit, unit)[:1], binary=binary)


def amount(match: re.Match[str]) -> object:
    """Return a number, maybe of thousands."""
    number, *rest = [group for group in match.groups() if group]
    return float(number.replace(",", "")) * (1000 if rest and rest[0] == "k" else 1)


def each_second(match: re.Match[str]) -> object:
    """Return how many come in a second, of a number of them in a second, a minute, an hour or a day."""
    several = {"k": 1000, "m": 1e6}.get(match[2], 1)
    return float(match[1].replace(",", "")) * several / {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[3]]


def in_days(match: re.Match[str]) -> object:
    """Return the days of a time in which something has to be done: in 30 days, within a week."""
    number = float(match[1].replace(",", "")) if match[1] else OF_PEOPLE.get(match[2], 1)
    return number * {"hour": 1 / 24, "day": 1, "week": 7, "month": 30}[match[3]]


def spelt(match: re.Match[str]) -> object:
    """Return a count that is written as a word."""
    return OF_PEOPLE[match[1]]


def written(match: re.Match[str]) -> object:
    """Return a count as it is written, which is of a context or of a data set: 1m, 15t."""
    return match[1] + LARGE.get(match[2], match[2])[0]


def said(value: object) -> Callable[[re.Match[str]], object]:
    """Return a reader for which a pattern always means one value."""
    return lambda _: value


def named(match: re.Match[str]) -> object:
    """Return what a match's last group says."""
    return next(group for group in reversed(match.groups()) if group)


Rule = tuple[str, str, Callable[[re.Match[str]], object]]  # a field, a pattern, and what reads its match
RULES: tuple[Rule, ...] = (
    # What a million tokens cost, before their numbers are taken for something else.
    ("asks", r"\$\s*/\s*1?\s*m(?:illion)?\b(?:\s*tok\w*)?", said("cost")),
    (
        "asks",
        r"(?:price|costs?|dollars?|\$)\s*(?:per|/|of|for)\s*(?:an?\s+|1\s?)?(?:million|mil|m)\s*(?:(?:in|out)put\s+)?tok\w*",
        said("cost"),
    ),
    # A number without a sign may be a device's name: h100 per hour, 4090 monthly.
    ("price_per_hour", rf"{DOLLARS}\s*(?:/|per|an?)\s*h(?:ou)?rs?\b", amount),
    ("price_per_hour", r"(?<![\w.,])(\d{1,3}(?:\.\d+)?)\s*(?:/|per|an?)\s*h(?:ou)?rs?\b", amount),
    ("price_per_month", rf"{DOLLARS}\s*(?:(?:/|per|an?)\s*mo(?:nth)?|monthly(?:\s+budget)?)\b", amount),
    ("price_per_month", rf"(?<![\w.,]){NUMBER}\s?(k)?\s+monthly\s+budget\b", amount),
    ("price_per_month", rf"(?<![\w.,]){NUMBER}\s?(k)\s+monthly\b", amount),
    ("price", DOLLARS, amount),
    (
        "price",
        rf"\bbudget(?:\s+(?:of|is|around|about|under|up to|von|de|um|bis))*\s*{NUMBER}\s?(k)?\b"
        rf"(?![\d,.]*\s*{NO_DOLLARS})",
        amount,
    ),
    # Speeds: a number is a need, the unit alone a question.
    (
        "requests_per_s",
        rf"\b{NUMBER}\s?([km])?\s*(?:req(?:uest)?s?|queries|calls)\s*(?:/|per|an?|each)\s*(s|m|h|d)(?:\b|ec|in|r\b|our|ay)\w*",
        each_second,
    ),
    ("requests_per_s", rf"\b{NUMBER}\s*(?:rps|qps)\b", amount),
    # Four digits are a device's name: "ollama 3090 tokens per second".
    (
        "tokens_per_s_each",
        rf"(?<![\w.,])(\d{{1,3}}(?:\.\d+)?)\s*\+?\s*(?:{PER_SECOND})(?:\s*(?:each|per user|a user))?",
        amount,
    ),
    ("asks", rf"\b{HOW_MANY}\s+(?:{PER_SECOND})|\b(?:{PER_SECOND})", said("speed")),
    (
        "asks",
        r"\bhow (?:fast|slow|quick(?:ly)?)\b|\b(?:inference )?speed\b(?!-?up)|\bthroughput\b|\blatency\b",
        said("speed"),
    ),
    (
        "asks",
        r"\bresponse times?\b|\bperf(?:ormance)?\b|\btime to first token\b|\bttft\b|\btpot\b|\bbenchmarks?\b",
        said("speed"),
    ),
    ("asks", r"\bslow(?:er|ly)?\b|\bfast(?:er)?\b|\bprompt processing\b|\bprefill\b", said("speed")),
    ("asks", r"\b(?:wie schnell|geschwindigkeit|que tan rapido|velocidad|vitesse)\b|多快|速度|吞吐量?", said("speed")),
    ("asks", r"\bgeneration rate\b|\btokens? rate\b", said("speed")),
    ("asks", rf"\b{A_SECOND}", said("speed")),
    # How long a run takes, and how many tokens it reads.
    (
        "training_tokens",
        rf"\b{NUMBER}\s?(million|mil|billion|bn|trillion|[mbt])\s*(?:training\s+)?tok(?:en)?s\b",
        written,
    ),
    (
        "asks",
        r"\bhow long\b(?!\s+(?:a\s+)?(?:context|ctx|prompt))|\btime to (?=(?:pre|fine)?[- ]?(?:train|tun))",
        said("duration"),
    ),
    (
        "days",
        rf"\b(?:in|within|under|for)\s+(?:{NUMBER}|(an?|one|{'|'.join(OF_PEOPLE)}))[\s-]*(hour|day|week|month)s?\b",
        in_days,
    ),
    (
        "asks",
        rf"\b{HOW_MANY}\s+(?:gpu[- ])?(?:days|hours|weeks|months|tage|stunden|dias|horas|jours|heures)\b"
        r"|\b(?:training time|how much time|wie lange|cuanto (?:tiempo|tarda)|combien de temps)\b|多久",
        said("duration"),
    ),
    (
        "samples",
        rf"\b{NUMBER}\s?(k|m|thousand|million)?\s*(?:training\s+)?{OF_SAMPLES}\b",
        plainly,
    ),
    ("epochs", rf"\b{NUMBER}\s*epochs?\b", plainly),
    # Lengths.
    ("prompt_tokens", rf"\b{COUNT}\s*(?:tokens?\s*)?(?:of\s+)?(?:prompts?|inputs?)\b(?:\s*tokens?)?", tokens),
    ("prompt_tokens", rf"\b(?:prompts?|inputs?)(?:\s*(?:length|tokens?|of|=|:))*\s*{COUNT}", tokens),
    (
        "output_tokens",
        rf"\b{COUNT}\s*(?:tokens?\s*)?(?:of\s+)?(?:outputs?|answers?|responses?|completions?)\b(?:\s*tokens?)?",
        tokens,
    ),
    (
        "prompt_tokens",
        rf"\b{COUNT}\s*(?:tok(?:en)?s?\s*)?in\b(?=\W+\d[\d,.]*\s?k?\s*(?:tok(?:en)?s?\s*)?out\b)",
        tokens,
    ),
    ("output_tokens", rf"\b{COUNT}\s*(?:tok(?:en)?s?\s*)?out\b", tokens),
    ("output_tokens", rf"\b(?:outputs?|answers?|responses?)(?:\s*(?:length|tokens?|of|=|:))*\s*{COUNT}", tokens),
    ("context_tokens", rf"\b{NUMBER}\s?(k)[-\s]*(?:tokens?[-\s]+)?(?:of\s+)?{CONTEXT}\b{WINDOW}", tokens),
    ("context_tokens", rf"(?:\bfull\s+|-)?{CONTEXT}{OF_CONTEXT}{COUNT}(?:\s*tokens?\b(?!\s*(?:/|per)))?", tokens),
    (
        "context_tokens",
        rf"\b{COUNT}[-\s]*(?:tokens?[-\s]+)?(?:of\s+)?{CONTEXT}\b(?:\s*(?:window|length|size))?",
        tokens,
    ),
    ("context_tokens", rf"(?<!\S)-c\s+{COUNT}", tokens),  # as llama.cpp's commands have it
    ("context_tokens", rf"(?:序列长度|上下文(?:长度)?)\s*[:=：]?\s*{COUNT}", tokens),
    ("context_tokens", rf"\b{COUNT}\s*(?:的)?上下文(?:长度)?", tokens),
    ("context_tokens", rf"(?<!-)\b{NUMBER}\s?(k)\b(?!\s*{NO_DOLLARS})(?:\s*tokens?\b)?", tokens),
    ("context_tokens", rf"\b{NUMBER}\s?([km])?\s*tokens?\b", tokens),
    # People and batches.
    (
        "sequences",
        rf"\b(?:for\s+)?{NUMBER}\s*{AT_ONCE}?\s*{PEOPLE}\b(?!\s*(?:/|per)\s)(?:\s*(?:at once|{AT_ONCE}))?",
        plainly,
    ),
    ("sequences", rf"\b({'|'.join(OF_PEOPLE)})\s+{PEOPLE}\b", spelt),
    ("sequences", rf"\b(?:team|group) of ({'|'.join(OF_PEOPLE)})\b", spelt),
    ("sequences", rf"\b(?:team|group) of {NUMBER}\b", plainly),
    ("sequences", rf"\b{NUMBER}\s*{AT_ONCE}\b(?!\s+{PEOPLE})", plainly),
    ("sequences", rf"\b(?:concurrency|parallel)(?:\s*(?:of|=|:))?\s*{NUMBER}\b", plainly),
    (
        "batch",
        rf"\b{BATCH}(?:\s*(?:of|=|:))?\s*{NUMBER}\b",
        plainly,
    ),
    ("sequences", rf"并发[数量]?\s*{NUMBER}", plainly),
    ("sequences", rf"\b{NUMBER}\s*(?:并发|个?用户)", plainly),
    (
        "of",
        rf"\b(?:{HOW_MANY}|max(?:imum)?(?: number of)?|most)\s*(?:{AT_ONCE}\s+)?{PEOPLE}\b(?:\s+{AT_ONCE})?",
        said("sequences"),
    ),
    ("of", rf"\b{HOW_MANY}\s+{AT_ONCE}\b|\b{MOST}\s+concurrency\b", said("sequences")),
    ("of", rf"\b{MOST}\s+batch(?:[- ]?size)?\b", said("sequences")),
    (
        "of",
        rf"\b{MOST}\s+(?:possible\s+)?{CONTEXT}\b{WINDOW}",
        said("context_tokens"),
    ),
    ("of", r"(?<!full )\b(?:context|ctx)\s+(?:window|length|size)\b", said("context_tokens")),  # without a number
    ("asks", rf"\b{HOW_MANY}(?!\s*(?:of\s+)?{NO_NUMBER}\b)|(?:多少|几)(?=[张块台卡])", said("count")),
    ("asks", r"\bkv[-_ ]?cache(?: size)?\b", said("cache")),
    ("rents", r"(?<!buy or )\brent(?:al|ed|ing|s)?\b(?! or buy)(?:\s+monthly\b)?", said(True)),
    (
        "asks",
        r"\b(?:how much (?:does|would|will|do) (?:it|this) )?(?:costs?|price)\b"
        r"(?:\s+(?:per|an?|of)\s+(?:mo(?:nth)?|h(?:ou)?r))?\b|\belectricity\b",
        said("cost"),
    ),
    ("accelerators", rf"-{{0,2}}\b(?:tensor[-_ ]parallel(?:ism)?(?:[-_ ]size)?|tp)\s*[=:]?\s*{NUMBER}\b", plainly),
    ("nodes", rf"\b{NUMBER}\s*(?:nodes?|servers)\b(?:\s*(?:of|with|x|×|\*))?", plainly),
    # How it is trained.
    ("method", r"\bq-?lora\b", said("qlora")),
    ("method", r"\b(?:d|rs)?lora\b", said("lora")),
    (
        "method",
        r"\bfull(?:[- ](?:param\w*|weights?|model))?[- ](?:fine[- ]?tun\w*|finetun\w*|train\w*|ft)\b",
        said("full"),
    ),
    ("method", r"\bfull[- ]param\w*|\ball param\w*|全(?:量|参数?)(?=微调|训练)", said("full")),
    ("method", r"\b(?:pre|cpt|continued pre)-?train\w*|\b(?:train\w*\s+)?from (?:scratch|zero)\b", said("full")),
    ("whole", r"\bfull\b(?!\s+(?:context|precision|size|speed))", said("full")),
    ("sharding", r"\bfsdp2?\b", said("zero-3")),
    ("sharding", r"\bzero[-_ ]?(?:stage[-_ ]?)?([123])\b", lambda match: f"zero-{match[1]}"),
    ("optimizer", r"\bpaged[-_ ]adamw?[-_ ]8[-_ ]?bit\b", said("paged-adamw-8bit")),
    ("optimizer", r"\b(?:adamw?[-_ ]8[-_ ]?bit|8[-_ ]?bit[-_ ]adamw?)\b", said("adamw-8bit")),
    ("optimizer", r"\b(paged-adamw|adamw|adafactor|lion|muon|sgd)\b", named),
    ("checkpointing", r"\b(?:gradient|activation)[-_ ]checkpointing\b", said("full")),
    ("rank", rf"\b(?:rank\s*[=:]?|r\s*[=:])\s*{NUMBER}\b", plainly),
    (
        "trains",
        r"\b(?:fine[- ]?tun\w*|finetun\w*|train(?!ium)\w*|tun(?:e|ing)|sft|entrenar|entrainer)\b|微调|训练",
        said(True),
    ),
    # What a model that sees is shown.
    (
        "text_only",
        r"\btext[- ]only\b|-{0,2}\blanguage[-_ ]model[-_ ]only\b"
        r"|\b(?:no|without(?: the)?) (?:images?|pictures?|vision)\b(?: (?:encoder|tower|inputs?|support))?",
        said(True),
    ),
    ("videos", r"\b(?:no|without) videos?\b", said(False)),
    # Number formats by their bits; names of formats are the catalogue's.
    ("bits", r"(?<![\w.,])(\d{1,2})[-_ ]?bits?\b(?:\s*(?:precision|quanti[sz]\w*|quant))?", plainly),
    ("bits", r"\b(?:unquanti[sz]ed|full precision|half precision)\b", said(16)),
)
# In ASCII a word ends where Chinese begins.
FOUND = tuple((field, re.compile(pattern, re.ASCII), read) for field, pattern, read in RULES)
# Of a card that is not named; a computer's own memory is no card's.
MEMORY = re.compile(
    rf"(?<!\bram )(?<!\bram: )\b{NUMBER}\s?g(?:i?b)?\b(?!\s*(?:of\s+)?(?:system |main |cpu |ddr\d )?ram\b)"
    r"(?:\s*(?:of\s+)?(?:vram|unified memory|memory|gpus?|cards?)\b)*",
    re.ASCII,
)
OF_ALL = re.compile(rf"\b{NUMBER}\s?g(?:i?b)?\b(?:\s*(?:of\s+)?(?:unified |system )?(?:memory|ram)\b)?")  # of a Mac


def quantities(line: Line) -> Iterator[Quantity]:
    """Iterate over what a line says without names, and claim it."""
    for field, pattern, read in FOUND:
        for match in line.found(pattern):
            value = read(match)
            if value is not None:
                line.claim(*match.span())
                yield Quantity(*match.span(), field=field, value=value)
