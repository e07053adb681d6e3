"""What of a line is a speed, a wait or a time: a number is a need, the unit alone a question.

Patterns in the order in which they are looked for, each with the field that it gives and what reads its match.
"""

from calc.lines.amounts import Rule, amount, each_second, in_days, plainly, said, seconds, written
from calc.lines.parts import (
    A_SECOND,
    HOW_MANY,
    NAME_OF_CARD,
    NUMBER,
    OF_PEOPLE,
    OF_REQUESTS,
    OF_SAMPLES,
    PER_SECOND,
    PER_TOKEN,
    SECONDS,
    WAIT,
)

REQUESTS_A_SECOND = r"(?:req(?:uest)?s?|queries)\s*(?:/|per|a)\s*(?:s(?:ec(?:onds?)?)?|min(?:utes?)?)\b|[rq]p[sm]\b"
THROUGHPUT = "throughput"  # the speed of a device that is kept busy, where nothing is said of a load

SPEEDS: tuple[Rule, ...] = (
    # Speeds and waits: a number is a need, the unit alone a question.
    ("tpot_s", rf"\b(?:tpot|itl|inter[- ]token latency)\s*{WAIT}{NUMBER}\s*{SECONDS}(?:\s*{PER_TOKEN})?", seconds),
    ("tpot_s", rf"(?:\blatency\s*)?{WAIT}\b{NUMBER}\s*{SECONDS}\s*{PER_TOKEN}(?:\s*latency\b)?", seconds),
    ("ttft_s", rf"\b(?:ttft|(?:time to )?first token)\s*{WAIT}{NUMBER}\s*{SECONDS}", seconds),
    ("ttft_s", rf"{WAIT}\b{NUMBER}\s*{SECONDS}\s*(?:ttft|(?:time )?to (?:the )?first token)\b", seconds),
    (
        "requests_per_s",
        rf"\b(?!{NAME_OF_CARD}){NUMBER}\s?(k|m|thousand|million)?\s*{OF_REQUESTS}\s*(?:/|per|an?|am|al|each|pro|par|por)\s*"
        r"(st(?=unde)|s|m|h|d|t(?=ag)|j(?=our)|g(?=iorno))(?:\b|ec|eg|ek|in|r\b|our|ay|eure|ora|unde|ag|ia|iorno)\w*",
        each_second,
    ),
    ("requests_per_s", rf"\b{NUMBER}\s*(?:r|q)ps\b", amount),
    ("requests_per_s", rf"\b{NUMBER}\s?(k)?\s*(?:r|q)p(m)\b", each_second),
    # Four digits are a device's name: "ollama 3090 tokens per second".
    (
        "tokens_per_s_each",
        rf"(?<![\w.,])(?<!concurrency )(?<!batch )(\d{{1,3}}(?:\.\d+)?)\s*\+?\s*(?:{PER_SECOND})"
        r"(?:\s*(?:each|per user|a user))?",
        amount,
    ),
    ("asks", rf"(?:\b{HOW_MANY}\s+)?\b(?:{REQUESTS_A_SECOND})", said(THROUGHPUT)),
    ("asks", rf"\b{HOW_MANY}\s+(?:{PER_SECOND})|\b(?:{PER_SECOND})", said("speed")),
    # As llama-bench has them: prompt processing, text generation.
    ("asks", r"\b(?:pp|tg)\s*/\s*(?:pp|tg)\b|\b(?:pp|tg)\s?(?:speed|\d{3,5})\b|\btg\b", said("speed")),
    (
        "asks",
        r"\bhow (?:fast|slow|quick(?:ly)?)\b|\b(?:inference )?speed\b(?!-?up)|\blatency\b",
        said("speed"),
    ),
    ("asks", r"\b(?:max(?:imum)?\s+)?throughput\b|吞吐量?", said(THROUGHPUT)),
    (
        "asks",
        r"\bresponse times?\b|\bhurts?\b|\bbottleneck(?:ed|s)?\b|\bperf(?:ormance)?\b|\btime to first token\b"
        r"|\bttft\b|\btpot\b|(?<!-)\bbench(?:marks?)?\b|\bnumbers (?:for|on|with)\b",
        said("speed"),
    ),
    ("asks", r"\bslow(?:er|ly)?\b|\bfast(?:er)?\b(?!-whisper)|\bprompt processing\b|\bprefill\b", said("speed")),
    (
        "asks",
        r"\b(?:wie schnell|schnell genug|geschwindigkeit|que tan rapido|velocidad|vitesse)\b|多快|速度",
        said("speed"),
    ),
    (
        "asks",
        r"\bgeneration rate\b|\btokens? rate\b|\bspeed-?ups?\b|\bfps\b|\bframes per second\b|\brtfx?\b"
        r"|\breal[- ]?time factor\b",
        said("speed"),
    ),
    ("asks", rf"\b{A_SECOND}|\btok(?:en)?s?(?=\s*(?:/|per|an?)\s*(?:min(?:ute)?|hour|day)\b)", said("speed")),
    ("hours_a_day", r"\b24\s*(?:/|x)\s*7\b|\b(?:a)?round the clock\b", said(24)),
    ("hours_a_day", rf"\b{NUMBER}\s*h(?:ours?|rs?)?\s*(?:/|per|an?|each|every)\s*(?:work(?:ing)?\s*)?day\b", amount),
    # How long a run takes, and how many tokens it reads.
    (
        "training_tokens",
        rf"\b{NUMBER}\s?(million|mil|billion|bn|trillion|[mbt])\s*(?:training\s+)?tok(?:en)?s?\b",
        written,
    ),
    ("training_tokens", rf"(?<=on ){NUMBER}\s?(trillion|t)\b", written),
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
        r"|(?<!\d )\bgpu[- ](?:days|hours)\b"
        r"|\b(?:(?<=training )time|how much time|wie lange|cuanto (?:tiempo|tarda)|combien de temps)\b|多久",
        said("duration"),
    ),
    (
        "samples",
        rf"\b{NUMBER}\s?(k|m|thousand|million)?\s*(?:training\s+)?{OF_SAMPLES}\b",
        plainly,
    ),
    ("epochs", rf"\b{NUMBER}\s*epochs?\b", plainly),
    (
        "asks",
        r"(?<!\ba )(?<!\bany )(?<!\bsame )\btime(?=[\s?.!]*$)|\bduration\b|\beta\b"
        r"|(?<![\d.]\s)(?<!\bper\s)\b(?:hours|days|weeks)(?=[\s?.!]*$|\s+(?:for|to)\b)",
        said("duration"),
    ),
)
