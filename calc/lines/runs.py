"""What of a line says how a model runs: what else is asked, how it is divided, served, trained and stored.

Patterns in the order in which they are looked for, each with the field that it gives and what reads its match.
"""

from calc.lines.amounts import Rule, amount, bits_each, named, percent, plainly, said, spelt, tokens
from calc.lines.parts import (
    ADAPTERS,
    DEGREE,
    DIVIDED,
    DRAFTED,
    EVERY,
    HOW_MANY,
    NO_NUMBER,
    NUMBER,
    OF_THESE,
    OFFLOADED,
    OPTIMIZER,
    SPECULATES,
    SPELT,
    SUPPLY,
)

RUNS: tuple[Rule, ...] = (
    # Several models on one card, which no question has a field for.
    ("several", r"\b(?:two|three|both|several|multiple)\b(?=(?: \S+){0,3} (?:models|llms)\b)", said(True)),
    ("aside", r"\bopen(?:[- ](?:source|weights?))?(?=(?: \w+)? (?:models?|llms?)\b)", said(True)),
    ("either", r"\brent or buy\b|\bbuy or rent\b", said(True)),
    # Of what a model is shown: no count of cards.
    (
        "image_size",
        r"(?<![\w.])(?:\d{4}\s?[x×]\s?\d{3,4}|\d{3}\s?[x×]\s?(?!\d0[5-9]0)\d{3,4})\b(?:\s*px\b)?",
        said(True),
    ),
    ("asks", r"\bhow many (?:gi?bs?|gigs?|gigabytes)\b|\bon disk\b", said("memory")),
    ("asks", rf"\b{HOW_MANY}(?!\s*(?:of\s+)?{NO_NUMBER}\b)|(?:多少|几)(?=[张块台卡])", said("count")),
    ("asks", r"\b(?:capacity (?:plan(?:ning)?|estimate)|sizing)\b", said("count")),
    ("asks", r"\b(?:energy|joules?|kwh|wh|watts?)\s*(?:per|/|an?)\s*(?:million\s+)?tok(?:en)?s?\b", said("cost")),
    ("asks", r"\bhow (?:big|large) is (?:the |a )?(?:kv )?cache\b", said("cache")),
    ("asks", r"\bkv[-_ ]?cache(?: size)?\b|\b(?:for|of) (?:the )?kv\b", said("cache")),
    ("rents", r"(?<!buy or )\brent(?:al|ed|ing|s)?\b(?! or buy)(?:\s+monthly\b)?", said(True)),
    (
        "asks",
        r"\b(?:how much (?:does|would|will|do) (?:it|this) )?(?:costs?|price|pricing|bills?|expenses?"
        r"|kostet|kosten|cuesta|coute|precio|prix)\b"
        r"(?:\s+(?:per|an?|of)\s+(?:mo(?:nth)?|h(?:ou)?r))?\b|\belectricity\b",
        said("cost"),
    ),
    (
        "pcie",
        r"\bpci-?e?\s*(?:gen\s*)?([3-6])(?:\.0)?\s*[x×]\s*(4|8|16)\b",
        lambda match: f"{match[1]}x{match[2]}",
    ),
    (
        "supply_w",
        rf"\b{NUMBER}\s?w(?:atts?)?\s+{SUPPLY}\b|\b{SUPPLY}\s+(?:of\s+)?{NUMBER}\s?w\b",
        plainly,
    ),
    (
        "power_limit",
        rf"\b(?:power[- ]?)?(?:limit|cap)(?:ped|ed)?(?:\s+(?:to|of|at))?\s*{NUMBER}\s?w(?:atts?)?\b",
        plainly,
    ),
    ("power_limit", rf"\b(?:at|of|to)\s+{NUMBER}\s?w(?:atts?)?\b(?:\s+(?:power[- ]?)?(?:limit|cap)\b)?", plainly),
    ("power_limit", rf"\b{NUMBER}\s?w(?:atts?)?\s+(?:power[- ]?)?(?:limit|cap)\b", plainly),
    ("power_limit", rf"(?<!\S)-pl\s+{NUMBER}\b", plainly),
    ("watts", rf"\b{NUMBER}\s?w(?:atts?)?\b(?!/)", plainly),  # of a card, if it draws as much
    # Of what else, an amount before has taken.
    (
        "rents",
        r"\b(?:per|an?|each)\s+(?:month|hour)\b|\b(?:monthly|hourly)\b|\b(?:in|on|from)\s+the\s+cloud\b",
        said(True),
    ),
    (
        "rents",
        r"(?<=cheapest )cloud\b|\bcloud(?=\s+(?:gpus?|servers?|instances?|machines?|budget|providers?)\b)",
        said(True),
    ),
    (
        "buys",
        r"\bon[- ]?prem(?:ises?)?\b(?: (?:box|server))?|\bown (?:hardware|servers?|gpus?|machines?)\b"
        r"|(?<!rent or )\b(?:buy|purchase|kaufen|comprar|acheter)\b(?! or rent)",
        said(True),
    ),
    ("one_box", r"\b(?:(?:what|which|best|cheapest|an?) )?mini[- ]?(?:pcs?|computers?)\b", said(True)),
    ("owns", r"\bat home\b|\bhome[- ]?(?:lab|server)\b|\blocally\b", said(True)),
    # How it is divided, as people and the flags of engines have it.
    *((field, rf"-{{0,2}}\b(?:{words}){DEGREE}", plainly) for field, words in DIVIDED),
    *((field, rf"-{{0,2}}\b(?:enable[-_])?{field}[-_ ]parallel(?:ism)?\b", said(EVERY)) for field, _ in DIVIDED),
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
    ("nodes", rf"-{{0,2}}\bnnodes[\s=]+{NUMBER}\b", plainly),
    ("nodes", rf"\b(?:an?|one|single)\s+node{OF_THESE}", said(1)),
    # 2x H200 nodes.
    (
        "nodes",
        rf"\b{NUMBER}\s*[x×*]?\s*(?=(?:nvidia |amd |dgx |hgx )?[a-z]{{1,3}}\d{{2,3}}[a-z]*\s+(?:nodes|servers)\b)",
        plainly,
    ),
    # 2x 8xH100; 2 H100*8 machines.
    ("nodes", rf"\b{NUMBER}\s*[x×*]\s*(?=\d{{1,2}}\s?[x×*]\s?[a-z])", plainly),
    ("nodes", rf"\b{NUMBER}\s+(?=[a-z]\w+\s?[x×*]\s?\d{{1,2}}\s+(?:machines|nodes|servers)\b)", plainly),
    # How it is trained.
    ("method", r"\bq-?lora(?:[- ]?ing)?\b", said("qlora")),
    ("method", r"\b(?:rs)?lora(?:[- ]?ing)?\b", said("lora")),
    (
        "method",
        r"\bfull(?:y|[- ](?:param\w*|weights?|model))?[- ](?:fine[- ]?tun\w*|finetun\w*|train\w*|ft)\b",
        said("full"),
    ),
    ("method", r"\bfull[- ]param\w*|\ball param\w*|全(?:量|参数?)(?=微调|训练)", said("full")),
    ("method", r"\b(?:pre|cpt|continued pre)-?train\w*|\b(?:train\w*\s+)?from (?:scratch|zero)\b", said("full")),
    ("whole", r"\bfull\b(?!\s+(?:context|precision|size|speed))", said("full")),
    ("sharding", r"\bfsdp2?\b", said("zero-3")),
    ("sharding", r"\bddp\b", said("none")),
    ("sharding", r"(?<![a-z])zero[-_ ]?(?:stage[-_ ]?)?([123])\b", lambda match: f"zero-{match[1]}"),
    ("optimizer", r"\bpaged[-_ ]adamw?[-_ ]8[-_ ]?bit\b", said("paged-adamw-8bit")),
    ("optimizer", r"\b(?:adamw?[-_ ]8[-_ ]?bit|8[-_ ]?bit[-_ ]adamw?)\b", said("adamw-8bit")),
    ("optimizer", r"\b(paged-adamw|adamw|adafactor|lion|muon|sgd)\b", named),
    ("checkpointing", r"\b(?:grad(?:ient)?|act(?:ivation)?)[-_ ](?:checkpoint(?:ing|s)?|ckpt)\b", said("full")),
    ("offload", rf"\b{OFFLOADED}\s+(?:the\s+)?{OPTIMIZER}|\b{OPTIMIZER}\s+{OFFLOADED}\b", said("optimizer")),
    ("offload", rf"\b{OFFLOADED}\b(?:\s+to\s+(?:the\s+)?(?:cpu|ram|host))?", said("all")),
    ("rank", rf"\b(?:(?:lora[-_]?)?rank\s*[=:]?|lora[-_]r\b\s*[=:]?|r\s*[=:])\s*{NUMBER}\b", plainly),
    ("rank", r"(?<![\w-])r(8|16|32|64|128|256)\b", plainly),
    (
        "trains",
        r"\b(?:fine[- ]?tun\w*|finetun\w*|train(?!ium)\w*|tun(?:e|ing)|sft)\b|微调|训练"
        r"|\b(?:entrenar|afinar|entrainer|affiner)\b"
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
    ("bits_per_weight", r"(?<![\w.,])(\d\.\d+)[-_ ]?bits?\b", bits_each),
    ("bits", r"(?<![\w.,])(\d{1,2})[-_ ]?bits?\b(?:\s*(?:precision|quanti[sz]\w*|quant))?", plainly),
    (
        "bits",
        r"\b(?:unquanti[sz]ed|(?:without|no|not|non)[- ](?:any )?quant(?:s|i[sz]\w*)|full precision|half precision)\b",
        said(16),
    ),
    # A round length that is of nothing else: 1024 H100 are cards.
    (
        "context_tokens",
        r"(?<![\w.,-])(?<!batch )(?<!tokens )(?<!-b )(?<!-ub )(1024|2048|4096|8192|16384|32768|65536|131072)"
        r"(?![\w.]|\s*(?:nvidia |amd )?(?:[a-pr-z]{1,3}\d|gpu|card|node|chip))",
        tokens,
    ),
)
