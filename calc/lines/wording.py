"""The words by which a line says what kind of question it asks: patterns, and no names."""

import re

from calc.lines.names import TUNINGS

# What a line has to ask before what it leaves out is looked for: "run flux on a 4090" asks for no list of models.
FOR_MODELS = re.compile(
    r"(?<![-\w])(?:what|which|(?:every|any)thing|models?|llms?|biggest|largest|best|choose|recommend\w*"
    r"|max(?:imum)? (?:params?|parameters)"
    r"|modell?[eo]?s?|modeles?)\b|模型"
)
FOR_HARDWARE = re.compile(
    r"\b(?:what|which|hardware|gpus?|cards?|servers?|budget|requirements?|v?ram|memory|mem|how much|needs?|needed"
    r"|minimum|cheapest|buy|best|serv(?:e|ing)|host(?:ing|en)?|quote|cluster|sizing|spec|rent\w*|serveurs?|servidor(?:es)?"
    r"|grafikkarten?|carte|tarjeta|placas?|speicher|memoire|memoria)\b|显[卡存]"
    r"|\b(?:costs?|price)\s+(?:per|an?)\s+(?:h(?:ou)?r|mo(?:nth)?)\b"
)
FOR_MEMORY = re.compile(
    r"\b(?:how much|what|minimum) (?:gpu )?(?:v?ram|memory|mem)\b"
    r"|\b(?:v?ram|memory) (?:requirements?|needs?|needed|usage|size)\b|\bv?ram (?:for|to)\b|\bv?ram\s*\??$"
    r"|\bwie ?viel (?:v?ram|speicher)\b|\bcombien de (?:v?ram|memoire)\b|显存|内存|\bmemory (?:for|to)\b|\bsize\s*\??$"
)
BOUGHT = re.compile(r"\b(?:gpus?|cards?|hardware|buy|build|budget|rig|servers?|upgrade)\b|\$")  # beside a processor
CHEAPEST = re.compile(
    r"\bbudget (?:for|to)\b|\bcheap(?:est|ly)?\b|\b(?:least|lowest)[ -](?:cost|price|expensive)\b|\bsave money\b"
)
# What it is for, of which the guide does not know which model is good at it.
PURPOSE = re.compile(r"\b(?:agentic|assistants?|chatbots?|coding|programming|rag|roleplay)\b")
FOR_A_PURPOSE = re.compile(rf"(?:{PURPOSE.pattern}\s*)+")
BEST = re.compile(r"\b(?:best|fastest|beste[nrs]?|schnellste[nrs]?|mejor|meilleure?)\b")  # and not the cheapest
CARDS = re.compile(r"\b(?:gpus?|cards?|grafikkarten?|cartes? graphiques?|tarjetas?|placas?)\b|显卡")  # and no computer
LAST = re.compile(r"\b(?:how many|count)[\s?.!]*$")
CACHES = (
    re.compile(r"\b(?:kv[-_ ]?cache|kv|cache)(?:[\s_-]*(?:in|at|as|type|dtype|=|:))*\s*([a-z]+\d\w*)\b"),
    re.compile(r"(?:-ct[kv]|--cache-type-[kv])[ =]+([a-z]+\d\w*)\b"),  # as llama.cpp's commands have it
    re.compile(r"\b([a-z]+\d\w*)\s*(?:kv[-_ ]?cache|kv|cache)\b"),
)
EXTERNAL = re.compile(r"\be-?gpu\b|\bexternal\b|\b(?:thunderbolt|oculink)\b")  # a card beside a laptop
LAPTOP = re.compile(r"\b(?:laptop|notebook)s?\b")
APPLE = re.compile(r"\b(?:i?macs?(?: mini| studio| pro)?s?|macbooks?(?: pro| air)?s?|mb[ap])\b")
MACBOOK = re.compile(r"\b(?:macbooks?|mb[ap])\b")
LM_STUDIO, MLX = re.compile(r"lm[ -]?studio"), re.compile(r"\bmlx\b")
OF_MACS = re.compile(
    rf"\b(?:what|which|quel|welche[nr]?|que|best|cheapest|right|minimum) (?:apple (?:silicon )?)?{APPLE.pattern}"
)
# A kind of computer of which the catalogue has none.
ELSEWHERE = re.compile(
    r"\b(?:(?:smart|i)?phones?|i?pads?|android|tablets?|steam ?deck|ps[345]|xbox|chromebooks?|synology|nas"
    r"|snapdragon)\b"
)
SOMETHING = re.compile(
    r"\b(?:this|that|your) (?:model|project|repo\w*|code)\b"
    r"|^(?!.*\b(?:what|which) (?:\w+ )?(?:models?|llms?)\b).*(?<!what )\b(?:does|will|can|could|is) it\b(?! possible)"
)
POWER = re.compile(
    r"\bpower (?:draw|consumption|usage|supply|bills?)\b|\bwatts?\b|\bwattage\b|\bpsu\b|\belectric(?:ity)?\b"
)
DRAWS = re.compile(rf"{POWER.pattern}|\b(?:draws?|pulls?)\b")  # all of a line that asks for it
OF_PRICES = re.compile(r"\b(?:prices?|pricing|rent|rental|rented|hour(?:ly)?|month(?:ly)?)\b")
NOTHING = re.compile(r"(?!)")
PRICED = re.compile(
    r"^(?!.*\bbuy\b).*(?:\b(?:prices?|pricing|rent|rental|costs?)\b|\bhow much (?:is|are)\b(?! enough\b))"
)  # and no choice between renting and buying
WANTED_CARD = re.compile(
    r"(?:\b(?:cheapest|best|fastest|which|what) |^)(?:(?:used|budget|nvidia|amd|consumer|\d+ ?gb(?: vram)?) )*"
    r"(?:gpus?|(?:graphics )?cards?)\b"
)  # of which only the memory is said
NVLINK = re.compile(r"\bnv-?link(?:ed)?\b(?:\s+bridge\b)?")
TUNED = re.compile(rf"\b(?:{'|'.join(TUNINGS)})\b")  # of which a plain run is answered, and the word said
