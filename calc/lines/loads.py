"""What of a line is a length, people or a batch, and which of them is to be the most.

Patterns in the order in which they are looked for, each with the field that it gives and what reads its match.
"""

from calc.lines.amounts import Rule, percent, plainly, said, spelt, tokens
from calc.lines.parts import (
    AT_ONCE,
    BATCH,
    CONTEXT,
    COUNT,
    GROUP,
    HOW_MANY,
    MOST,
    NAME_OF_CARD,
    NO_DOLLARS,
    NO_NAME,
    NO_PEOPLE,
    NUMBER,
    OF_ANSWERS,
    OF_CONTEXT,
    OF_PEOPLE,
    OF_PROMPTS,
    OF_REQUESTS,
    OF_SAMPLES,
    PEOPLE,
    THOUSANDS,
    TOGETHER,
    WINDOW,
)

LOADS: tuple[Rule, ...] = (
    # Lengths.
    (
        "prompt_tokens",
        rf"\b{COUNT}\s*(?:tokens?\s*)?(?:of\s+)?(?:system\s+)?{OF_PROMPTS}\b(?!\s+of\s+\d)(?:\s*tokens?)?",
        tokens,
    ),
    ("prompt_tokens", rf"\b{OF_PROMPTS}(?:\s*(?:length|tokens?|of|=|:))*\s*{COUNT}", tokens),
    (
        "output_tokens",
        rf"\b{COUNT}\s*(?:tokens?\s*)?(?:of\s+)?{OF_ANSWERS}\b(?:\s*tokens?)?",
        tokens,
    ),
    (
        "prompt_tokens",
        rf"\b{COUNT}\s*(?:tok(?:en)?s?\s*)?in\b(?=\W+\d[\d,.]*\s?k?\s*(?:tok(?:en)?s?\s*)?out\b)",
        tokens,
    ),
    ("output_tokens", rf"\b{COUNT}\s*(?:tok(?:en)?s?\s*)?out\b", tokens),
    ("output_tokens", rf"\b{OF_ANSWERS}(?:\s*(?:length|tokens?|of|=|:))*\s*{COUNT}", tokens),
    # As benchmarks of servers have them: 8k/1k, 2k/200, isl 1024 osl 512.
    ("prompt_tokens", rf"(?<![\w./]){NUMBER}\s?(k)(?=\s?/\s?\d+\s?k?\b(?!\s?/|\s*{CONTEXT}))", tokens),
    ("output_tokens", rf"(?<=k)\s?/\s?{NUMBER}\s?(k)?\b(?!\s?/|\s*{CONTEXT})(?:\s*tokens?\b)?", tokens),
    ("prompt_tokens", rf"\bisl(?:\s*[=:])?\s*{COUNT}", tokens),
    ("output_tokens", rf"\bosl(?:\s*[=:])?\s*{COUNT}", tokens),
    ("context_tokens", rf"\b{NUMBER}\s?(k|m|million)[-\s]*(?:tokens?[-\s]+)?(?:of\s+)?{CONTEXT}\b{WINDOW}", tokens),
    ("context_tokens", rf"(?:\bfull\s+|-)?{CONTEXT}{OF_CONTEXT}{COUNT}(?:\s*tokens?\b(?!\s*(?:/|per)))?", tokens),
    (
        "context_tokens",
        rf"\b(?!{NAME_OF_CARD}){COUNT}[-\s]*(?:tokens?[-\s]+)?(?:of\s+)?{CONTEXT}\b(?:\s*(?:window|length|size))?",
        tokens,
    ),
    # As llama.cpp's commands have them.
    ("context_tokens", rf"(?<!\S)-c\s+{COUNT}", tokens),
    ("slots", rf"(?<!\S)-np\s+{NUMBER}\b", plainly),
    ("prompt_tokens", rf"(?<!\S)-p\s+{COUNT}", tokens),
    ("output_tokens", rf"(?<!\S)-n\s+{COUNT}", tokens),
    ("context_tokens", rf"(?:序列长度|上下文(?:长度)?)\s*[:=：]?\s*{COUNT}", tokens),
    ("context_tokens", rf"\b{COUNT}\s*(?:的)?上下文(?:长度)?", tokens),
    (
        "context_tokens",
        rf"(?<!-)\b{NUMBER}\s?(k)\b(?!\s*(?:{NO_DOLLARS}|{OF_REQUESTS}\b|(?:{AT_ONCE}\s+)?{THOUSANDS}\b))"
        r"(?:\s*(?:tokens?|(?:sessions?|conversations?|chats?)(?!\s+\d))\b)?",
        tokens,
    ),
    ("context_tokens", rf"\b{NUMBER}\s?([km])?\s*tokens?\b", tokens),
    # People and batches.
    (
        "part_active",
        rf"\b{NUMBER}\s?%\s*(?:of (?:them|these|users|people)\s*)?(?:(?:are|is)\s*)?(?:{AT_ONCE}|online)\b"
        rf"(?:\s*{TOGETHER})?",
        percent,
    ),
    (
        "sequences",
        rf"\b(?:for\s+)?{NUMBER}(?:\s?(k)(?=\s*(?:{AT_ONCE}\s+)?{THOUSANDS}))?\s*{AT_ONCE}?\s*{PEOPLE}\b(?!\s*(?:/|per)\s)"
        rf"(?:\s*(?:at once|{AT_ONCE}))?",
        plainly,
    ),
    (
        "sequences",
        rf"\b(?:for|serv(?:e|ing)|support(?:ing)?)\s+{NUMBER}\s+(?!{NO_PEOPLE}|{OF_SAMPLES}|{OF_REQUESTS})[a-z]{{4,}}s\b"
        r"(?=\s*(?:[,.;?]|$|(?:with|on|using|at|in)\b))",
        plainly,
    ),
    ("sequences", rf"\b(?:for\s+)?{NUMBER}\s+(?!{NO_PEOPLE}|pages|images)[a-z]{{4,}}s\s+{TOGETHER}", plainly),
    ("sequences", rf"\b({'|'.join(OF_PEOPLE)})\s+{PEOPLE}\b", spelt),
    ("sequences", rf"\b{GROUP} of ({'|'.join(OF_PEOPLE)})\b", spelt),
    ("sequences", rf"\b{GROUP} of {NUMBER}\b", plainly),
    ("together", rf"\b{NUMBER}\s*(?:{OF_REQUESTS}\s*)?{AT_ONCE}\b(?!\s+{PEOPLE})", plainly),
    ("together", rf"\b{NUMBER}\s+(?:of (?:them|these)\s+)?{TOGETHER}", plainly),
    (
        "sequences",
        rf"\b(?:concurren(?:cy|t)|(?<!tensor.)(?<!pipeline.)(?<!data.)parallel)(?:\s*(?:of|=|:))?\s*(?!{NAME_OF_CARD}){NUMBER}\b",
        plainly,
    ),
    ("sequences", rf"\bollama_num_parallel\s*=\s*{NUMBER}\b", plainly),
    (
        "sequence_slots",
        rf"-{{0,2}}\b(?:max[-_ ]num[-_ ]seqs|max[-_]batch[-_]size|max[-_]running[-_]requests)\s*[=:]?\s*{NUMBER}\b",
        plainly,
    ),
    ("sequences", rf"\b{NUMBER}\s*(?:concurrency|at a time)\b", plainly),
    (
        "batch",
        rf"\b{BATCH}(?:\s*(?:of|=|:))?\s*{NUMBER}\b",
        plainly,
    ),
    ("sequences", rf"并发[数量]?\s*{NUMBER}", plainly),
    ("sequences", rf"\b{NUMBER}\s*(?:并发|个?用户)", plainly),
    (
        "of",
        rf"\b(?:{HOW_MANY}|max(?:imum)?(?: number of)?|most)\s*(?:{AT_ONCE}\s+)?{PEOPLE}\b(?![- ]len)(?:\s+{AT_ONCE})?",
        said("sequences"),
    ),
    ("of", rf"\b{HOW_MANY}(?=(?:\s+(?!{NO_NAME}\b|\d+\s)[\w.-]+){{1,4}}\s+{PEOPLE}\b)", said("sequences")),
    ("of", rf"\b{AT_ONCE}\s+{PEOPLE}(?=[\s?.!]*$|\s+(?:on\b|\d+\s?x))", said("sequences")),
    ("of", r"最[大多高](?:的)?并发(?:数|量)?|并发(?:数|量)?(?:上限|最大)", said("sequences")),
    ("of", r"并发(?:数|量)?[是有能可以到达]*(?:多少|几)|(?:多少|几)个?(?:并发|用户)", said("sequences")),
    ("of", rf"\b{HOW_MANY}\s+{AT_ONCE}\b|\b{MOST}\s+conc(?:urren(?:cy|t))?\b", said("sequences")),
    ("of", r"\bmax[-_ ]?num[-_ ]?seq(?:uence)?s\b(?!\s*[=:]?\s*\d)", said("sequences")),
    ("of", r"\bmax[-_ ]?model[-_ ]?len(?:gth)?\b(?!\s*[=:]?\s*\d)", said("context_tokens")),
    ("of", r"\bconcurrency(?=[\s?.!]*$)", said("sequences")),
    ("of", r"最[大长](?:的)?上下文(?:长度)?|上下文(?:长度)?(?:最[大长]|多[大长少])", said("context_tokens")),
    ("of", rf"\b{MOST}\s+batch(?:[- ]?size)?\b", said("sequences")),
    ("of", r"\bbatch[- ]?size\b(?!\s*(?:of|=|:)?\s*\d)", said("sequences")),  # without a number
    (
        "of",
        rf"\b{MOST}\s+(?:possible\s+)?{CONTEXT}\b{WINDOW}",
        said("context_tokens"),
    ),
    ("whole_context", rf"\b(?:full|whole|entire|native)\s+(?:context|ctx)\b{WINDOW}", said(True)),  # the model's
    ("of", r"\b(?:what|which)\s+(?:context|ctx)\b(?!\s+(?:window|length|size))", said("context_tokens")),
    ("of", r"\b(?:context|ctx)\s+(?:window|length|size)\b", said("context_tokens")),  # without a number
    ("of", r"\b(?:what|which)\s+seq(?:uence)?[- ]?len(?:gth)?\b", said("context_tokens")),
    # How many, where no number is said.
    (
        "at_once",
        rf"\b(?:concurrent|simultaneous)(?:ly)?\b(?!\s+(?:inference|serving)\b)(?:\s+{PEOPLE}\b)?",
        said("sequences"),
    ),
)
