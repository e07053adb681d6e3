"""What of a line is a quantity, a method, or a word that says what is asked: patterns of English, and no names.

Each pattern has a name in `FOUND`, in the order in which they are looked for: what is claimed first is not read twice.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from calc.lines.amounts import (
    amount,
    bits_each,
    each_second,
    in_days,
    named,
    percent,
    plainly,
    said,
    seconds,
    spelt,
    tokens,
    written,
)
from calc.lines.line import Line
from calc.lines.parts import (
    A_SECOND,
    ADAPTERS,
    AT_ONCE,
    BATCH,
    CONTEXT,
    COUNT,
    DEGREE,
    DIVIDED,
    DOLLARS,
    DRAFTED,
    HOW_MANY,
    MOST,
    NAME_OF_CARD,
    NO_DOLLARS,
    NO_NAME,
    NO_NUMBER,
    NUMBER,
    OF_CONTEXT,
    OF_PEOPLE,
    OF_REQUESTS,
    OF_SAMPLES,
    OF_THESE,
    OFFLOADED,
    OPTIMIZER,
    PEOPLE,
    PER_SECOND,
    PER_TOKEN,
    SECONDS,
    SPECULATES,
    SPELT,
    THOUSANDS,
    UNDER,
    WAIT,
    WINDOW,
)


class Quantity(NamedTuple):
    """A part of a line that a pattern has read."""

    start: int
    end: int
    field: str
    value: object


Rule = tuple[str, str, Callable[[re.Match[str]], object]]  # a field, a pattern, and what reads its match
RULES: tuple[Rule, ...] = (
    # What a million tokens cost, before their numbers are taken for something else.
    ("asks", r"\$\s*/\s*1?\s*m(?:illion)?\b(?:\s*tok\w*)?", said("cost")),
    (
        "asks",
        r"(?:price|costs?|dollars?|\$)\s*(?:per|/|of|for)\s*(?:an?\s+|1\s?)?(?:million|mil|m)\s*(?:(?:in|out)put\s+)?tok\w*",
        said("cost"),
    ),
    ("asks", r"\b(?:1|an?|one)\s?(?:m|mil|million)\s*tok(?:en)?s?\b(?=.*\bcosts?\b)", said("cost")),
    # A number without a sign may be a device's name: h100 per hour, 4090 monthly.
    ("price_per_hour", rf"{DOLLARS}\s*(?:/|per|an?)\s*h(?:ou)?rs?\b", amount),
    ("price_per_hour", r"(?<![\w.,])(\d{1,3}(?:\.\d+)?)\s*(?:/|per|an?)\s*h(?:ou)?rs?\b", amount),
    ("price_per_month", rf"{DOLLARS}\s*(?:(?:/|per|an?)\s*mo(?:nth)?|monthly(?:\s+budget)?)\b", amount),
    ("price_per_month", rf"(?<![\w.,]){NUMBER}\s?(k)?\s+monthly\s+budget\b", amount),
    ("price_per_month", rf"(?<![\w.,]){NUMBER}\s?(k)\s+monthly\b", amount),
    ("price", DOLLARS, amount),
    # A length is what stays under 8k elsewhere.
    (
        "price",
        rf"\b(?:gpus?|cards?|rig|build|setup|workstation|server|pc|machine)\s+(?:for\s+)?{UNDER}\s*{NUMBER}\s?(k)\b",
        amount,
    ),
    ("price", rf"\bfor\s+{UNDER}\s*{NUMBER}\s?(k)\b(?!\s*(?:tok|{CONTEXT}))", amount),
    ("price", rf"(?<![\w.,]){NUMBER}\s?(k)?\s+budget\b|(?<![\w.,]){NUMBER}\s+(grand)\b", amount),
    (
        "price",
        rf"\bbudget(?:\s+(?:of|is|around|about|under|up to|von|de|um|bis))*\s*{NUMBER}\s?(k)?\b"
        rf"(?![\d,.]*\s*{NO_DOLLARS})",
        amount,
    ),
    # Speeds and waits: a number is a need, the unit alone a question.
    ("tpot_s", rf"\b(?:tpot|itl|inter[- ]token latency)\s*{WAIT}{NUMBER}\s*{SECONDS}(?:\s*{PER_TOKEN})?", seconds),
    ("tpot_s", rf"(?:\blatency\s*)?{WAIT}\b{NUMBER}\s*{SECONDS}\s*{PER_TOKEN}(?:\s*latency\b)?", seconds),
    ("ttft_s", rf"\b(?:ttft|(?:time to )?first token)\s*{WAIT}{NUMBER}\s*{SECONDS}", seconds),
    ("ttft_s", rf"{WAIT}\b{NUMBER}\s*{SECONDS}\s*(?:ttft|(?:time )?to (?:the )?first token)\b", seconds),
    (
        "requests_per_s",
        rf"\b(?!{NAME_OF_CARD}){NUMBER}\s?(k|m|thousand|million)?\s*{OF_REQUESTS}\s*(?:/|per|an?|each)\s*(s|m|h|d)(?:\b|ec|in|r\b|our|ay)\w*",
        each_second,
    ),
    ("requests_per_s", rf"\b{NUMBER}\s*(?:r|q)ps\b", amount),
    ("requests_per_s", rf"\b{NUMBER}\s?(k)?\s*(?:r|q)p(m)\b", each_second),
    # Four digits are a device's name: "ollama 3090 tokens per second".
    (
        "tokens_per_s_each",
        rf"(?<![\w.,])(\d{{1,3}}(?:\.\d+)?)\s*\+?\s*(?:{PER_SECOND})(?:\s*(?:each|per user|a user))?",
        amount,
    ),
    ("asks", rf"\b{HOW_MANY}\s+(?:{PER_SECOND})|\b(?:{PER_SECOND})", said("speed")),
    # As llama-bench has them: prompt processing, text generation.
    ("asks", r"\b(?:pp|tg)\s*/\s*(?:pp|tg)\b|\b(?:pp|tg)\s?(?:speed|\d{3,5})\b", said("speed")),
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
    ("asks", r"\bslow(?:er|ly)?\b|\bfast(?:er)?\b(?!-whisper)|\bprompt processing\b|\bprefill\b", said("speed")),
    ("asks", r"\b(?:wie schnell|geschwindigkeit|que tan rapido|velocidad|vitesse)\b|多快|速度|吞吐量?", said("speed")),
    (
        "asks",
        r"\bgeneration rate\b|\btokens? rate\b|\bspeed-?ups?\b|\bfps\b|\bframes per second\b|\brtfx?\b",
        said("speed"),
    ),
    ("asks", rf"\b{A_SECOND}", said("speed")),
    ("hours_a_day", r"\b24\s*(?:/|x)\s*7\b|\b(?:a)?round the clock\b", said(24)),
    ("hours_a_day", rf"\b{NUMBER}\s*h(?:ours?|rs?)?\s*(?:/|per|an?|each|every)\s*(?:work(?:ing)?\s*)?day\b", amount),
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
        rf"\b{HOW_MANY}\s+(?:gpus?[- ])?(?:days|hours|weeks|months|tage|stunden|dias|horas|jours|heures)\b"
        r"|\b(?:training time|how much time|wie lange|cuanto (?:tiempo|tarda)|combien de temps)\b|多久",
        said("duration"),
    ),
    (
        "samples",
        rf"\b{NUMBER}\s?(k|m|thousand|million)?\s*(?:training\s+)?{OF_SAMPLES}\b",
        plainly,
    ),
    ("epochs", rf"\b{NUMBER}\s*epochs?\b", plainly),
    ("asks", r"\btime(?=[\s?.!]*$)|\bduration\b", said("duration")),
    # Lengths.
    (
        "prompt_tokens",
        rf"\b{COUNT}\s*(?:tokens?\s*)?(?:of\s+)?(?:prompts?|inputs?)\b(?!\s+of\s+\d)(?:\s*tokens?)?",
        tokens,
    ),
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
    # As benchmarks of servers have them: 8k/1k, isl 1024 osl 512.
    ("prompt_tokens", rf"(?<![\w./]){NUMBER}\s?(k)(?=\s?/\s?\d+\s?k\b(?!\s?/|\s*{CONTEXT}))", tokens),
    ("output_tokens", rf"(?<=k)\s?/\s?{NUMBER}\s?(k)\b(?!\s?/|\s*{CONTEXT})", tokens),
    ("prompt_tokens", rf"\bisl(?:\s*[=:])?\s*{COUNT}", tokens),
    ("output_tokens", rf"\bosl(?:\s*[=:])?\s*{COUNT}", tokens),
    ("context_tokens", rf"\b{NUMBER}\s?(k|m|million)[-\s]*(?:tokens?[-\s]+)?(?:of\s+)?{CONTEXT}\b{WINDOW}", tokens),
    ("context_tokens", rf"(?:\bfull\s+|-)?{CONTEXT}{OF_CONTEXT}{COUNT}(?:\s*tokens?\b(?!\s*(?:/|per)))?", tokens),
    (
        "context_tokens",
        rf"\b{COUNT}[-\s]*(?:tokens?[-\s]+)?(?:of\s+)?{CONTEXT}\b(?:\s*(?:window|length|size))?",
        tokens,
    ),
    ("context_tokens", rf"(?<!\S)-c\s+{COUNT}", tokens),  # as llama.cpp's commands have it
    ("context_tokens", rf"(?:序列长度|上下文(?:长度)?)\s*[:=：]?\s*{COUNT}", tokens),
    ("context_tokens", rf"\b{COUNT}\s*(?:的)?上下文(?:长度)?", tokens),
    (
        "context_tokens",
        rf"(?<!-)\b{NUMBER}\s?(k)\b(?!\s*(?:{NO_DOLLARS}|{OF_REQUESTS}\b|{THOUSANDS}\b))(?:\s*tokens?\b)?",
        tokens,
    ),
    ("context_tokens", rf"\b{NUMBER}\s?([km])?\s*tokens?\b", tokens),
    # People and batches.
    (
        "sequences",
        rf"\b(?:for\s+)?{NUMBER}(?:\s?(k)(?=\s*{THOUSANDS}))?\s*{AT_ONCE}?\s*{PEOPLE}\b(?!\s*(?:/|per)\s)(?:\s*(?:at once|{AT_ONCE}))?",
        plainly,
    ),
    ("sequences", rf"\b({'|'.join(OF_PEOPLE)})\s+{PEOPLE}\b", spelt),
    ("sequences", rf"\b(?:team|group) of ({'|'.join(OF_PEOPLE)})\b", spelt),
    ("sequences", rf"\b(?:team|group) of {NUMBER}\b", plainly),
    ("sequences", rf"\b{NUMBER}\s*{AT_ONCE}\b(?!\s+{PEOPLE})", plainly),
    ("sequences", rf"\b(?:concurrency|parallel)(?:\s*(?:of|=|:))?\s*{NUMBER}\b", plainly),
    ("sequences", rf"\b{NUMBER}\s*concurrency\b", plainly),
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
    ("of", rf"\b{HOW_MANY}(?=(?:\s+(?!{NO_NAME}\b|\d+\s)[\w.-]+){{1,4}}\s+{PEOPLE}\b)", said("sequences")),
    ("of", rf"\b{AT_ONCE}\s+{PEOPLE}(?=[\s?.!]*$)", said("sequences")),
    ("of", r"并发(?:数|量)?(?:是|有|能|可以)*(?:多少|几)|(?:多少|几)个?(?:并发|用户)", said("sequences")),
    ("of", rf"\b{HOW_MANY}\s+{AT_ONCE}\b|\b{MOST}\s+concurren(?:cy|t)\b", said("sequences")),
    ("of", r"\bmax[-_ ]?num[-_ ]?seq(?:uence)?s\b(?!\s*[=:]?\s*\d)", said("sequences")),
    ("of", r"\bmax[-_ ]?model[-_ ]?len(?:gth)?\b(?!\s*[=:]?\s*\d)", said("context_tokens")),
    ("of", r"\bconcurrency(?=[\s?.!]*$)", said("sequences")),
    ("of", r"最[大长](?:的)?上下文(?:长度)?|上下文(?:长度)?(?:最[大长]|多[大长少])", said("context_tokens")),
    ("of", rf"\b{MOST}\s+batch(?:[- ]?size)?\b", said("sequences")),
    (
        "of",
        rf"\b{MOST}\s+(?:possible\s+)?{CONTEXT}\b{WINDOW}",
        said("context_tokens"),
    ),
    ("of", r"\b(?:what|which)\s+(?:context|ctx)\b(?!\s+(?:window|length|size))", said("context_tokens")),
    ("of", r"(?<!full )\b(?:context|ctx)\s+(?:window|length|size)\b", said("context_tokens")),  # without a number
    ("asks", rf"\b{HOW_MANY}(?!\s*(?:of\s+)?{NO_NUMBER}\b)|(?:多少|几)(?=[张块台卡])", said("count")),
    ("asks", r"\bkv[-_ ]?cache(?: size)?\b", said("cache")),
    ("rents", r"(?<!buy or )\brent(?:al|ed|ing|s)?\b(?! or buy)(?:\s+monthly\b)?", said(True)),
    (
        "asks",
        r"\b(?:how much (?:does|would|will|do) (?:it|this) )?(?:costs?|price|pricing|bills?|expenses?)\b"
        r"(?:\s+(?:per|an?|of)\s+(?:mo(?:nth)?|h(?:ou)?r))?\b|\belectricity\b",
        said("cost"),
    ),
    (
        "pcie",
        r"\bpci-?e?\s*(?:gen\s*)?([3-6])(?:\.0)?\s*[x×]\s*(4|8|16)\b",
        lambda match: f"{match[1]}x{match[2]}",
    ),
    ("rents", r"\b(?:per|an?|each)\s+month\b|\bmonthly\b", said(True)),  # of what else, an amount before has taken
    # How it is divided, as people and the flags of engines have it.
    *((field, rf"-{{0,2}}\b(?:{words}){DEGREE}", plainly) for field, words in DIVIDED),
    # What is served beside the model, and what drafts its tokens.
    ("adapters", rf"\b(?:multi[- ]?lora\W+)?{NUMBER}\s*(?:(?:custom|different)\s+)?{ADAPTERS}\b", plainly),
    ("serves", r"\bmulti[- ]?loras?\b", said(True)),
    *(("speculation", rf"\b(?:with\s+)?(?:{words})\b{SPECULATES}", said(method)) for method, words in DRAFTED),
    ("speculates", r"\bspeculat(?:ive|ion)\b(?:[- ]decod\w+)?", said(True)),
    (
        "memory_fraction",
        r"-{0,2}\b(?:gpu[-_ ]memory[-_ ]utilization|mem[-_ ]fraction[-_ ]static)\s*[=:]?\s*([01]?\.\d+)\b",
        amount,
    ),
    ("prefix_hit_rate", rf"\b{NUMBER}\s?%\s*(?:(?:prefix|cache)\s+)*hits?\b(?:\s*rate\b)?", percent),
    ("nodes", rf"\b({'|'.join(SPELT)})\s+(?:nodes?|servers){OF_THESE}", spelt),
    ("nodes", rf"\b{NUMBER}\s*(?:nodes?|servers){OF_THESE}", plainly),
    ("nodes", rf"\b(?:an?|one|single)\s+node{OF_THESE}", said(1)),
    # How it is trained.
    ("method", r"\bq-?lora\b", said("qlora")),
    ("method", r"\b(?:rs)?lora\b", said("lora")),
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
    ("checkpointing", r"\b(?:grad(?:ient)?|act(?:ivation)?)[-_ ](?:checkpoint(?:ing|s)?|ckpt)\b", said("full")),
    ("offload", rf"\b{OFFLOADED}\s+(?:the\s+)?{OPTIMIZER}|\b{OPTIMIZER}\s+{OFFLOADED}\b", said("optimizer")),
    ("offload", rf"\b{OFFLOADED}\b(?:\s+to\s+(?:the\s+)?(?:cpu|ram|host))?", said("all")),
    ("rank", rf"\b(?:rank\s*[=:]?|r\s*[=:])\s*{NUMBER}\b", plainly),
    (
        "trains",
        r"\b(?:fine[- ]?tun\w*|finetun\w*|train(?!ium)\w*|tun(?:e|ing)|sft|entrenar|entrainer)\b|微调|训练"
        r"|\bchinchilla(?:[- ]optimal)?\b",
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
    ("bits_per_weight", r"(?<![\w.,])(\d{1,2}(?:\.\d+)?)\s?(?:bpw|bits?\s*(?:per|/|a)\s*weight)\b", bits_each),
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
