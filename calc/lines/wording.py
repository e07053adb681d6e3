"""The words by which a line says what kind of question it asks: patterns, and no names."""

import re

from calc.lines.device_names import NUMBERS
from calc.lines.names import TUNINGS

SIZES = r"(?:gi?bs?|gigs?|gigabytes)\b"
# What a line has to ask before what it leaves out is looked for: "run flux on a 4090" asks for no list of models.
FOR_MODELS = re.compile(
    r"(?<![-\w])(?:what|which|(?:every|any)thing|models?|llms?|biggest|largest|best|choose|recommend\w*"
    r"|max(?:imum)? (?:params?|parameters)"
    r"|modell?[eo]?s?|modeles?)\b|模型"
)
FOR_HARDWARE = re.compile(
    r"\b(?:what|which|hardware|gpus?|cards?|servers?|budget|requirements?|v?ram|memory|mem|needs?|needed"
    r"|how (?:much|big|large)|minimum|cheapest|buy|best|serv(?:e|ing)|host(?:ing|en)?|quote|cluster|sizing|spec|rent\w*"
    r"|serveurs?|servidor(?:es)?|grafikkarten?|carte|tarjeta|placas?|speicher|memoire|memoria|build)\b|显[卡存]|видеокарт"
    rf"|\bhow many {SIZES}|\b(?:costs?|price)\s+(?:per|an?)\s+(?:h(?:ou)?r|mo(?:nth)?)\b"
)
FOR_MEMORY = re.compile(
    r"\b(?:how much|what|minimum|cuanta) (?:gpu )?(?:v?ram|memory|mem|memoria)\b"
    rf"|\bhow many {SIZES}|\bhow (?:big|large)\b|\b(?:file |download )?size (?:on disk\b|(?=of\b))"
    r"|\b(?:v?ram|memory) (?:req(?:s|uirements?)?|needs?|needed|usage|size)\b|\bv?ram (?:for|to)\b|\bv?ram\s*\??$"
    r"|\bwie ?viel (?:v?ram|speicher)\b|\bcombien de (?:v?ram|memoire)\b|显存|内存|\bmemory (?:for|to)\b|\bsize\s*\??$"
)
BOUGHT = re.compile(r"\b(?:gpus?|cards?|hardware|buy|build|budget|rig|servers?|upgrade)\b|\$")  # beside a processor
CHEAPEST = re.compile(
    r"\bbudget (?:for|to)\b|\bcheap(?:est|ly)?\b|\b(?:least|lowest)[ -](?:cost|price|expensive|money)\b|\bsave money\b"
)
# What it is for, of which the guide does not know which model is good at it.
PURPOSE = re.compile(r"\b(?:agentic|assistants?|chatbots?|coding|programming|rag|roleplay)\b")
FOR_A_PURPOSE = re.compile(rf"(?:{PURPOSE.pattern}\s*)+")
# What models do that are made for one thing, as the catalogue calls it, and those that see.
TASKS = {
    "embeddings": re.compile(r"\bembedd?ings?\b|\bembedders?\b"),
    "documents": re.compile(r"\bocr\b"),
    "translation": re.compile(r"\btranslat(?:e|ing|ions?|ors?)\b"),
    "experts": re.compile(r"\bmoes?\b|\bmixture[- ]of[- ]experts\b"),
    "sees": re.compile(r"\b(?:vlms?|vision(?:[- ]language)?|multi-?modal)\b"),
}
PERSONS = re.compile(r"\b(?:users?|people|persons?|dev(?:eloper)?s|employees|students|customers|colleagues)\b")
BEST = re.compile(r"\b(?:best|fastest|beste[nrs]?|schnellste[nrs]?|mejor|meilleure?)\b")  # and not the cheapest
COUNTED = "|".join(
    word for word in NUMBERS if word not in ("pair", "another") and not re.search(r"\d|second|third|fourth", word)
)
NUMBER = rf"(\d{{1,3}}|{COUNTED})"
AT_MOST = r"(?:max(?:imum)?|at most|no more than|up to)"
# How many there may be of what is looked for.
MOST_OF = {
    "accelerators": re.compile(
        rf"(?:\b{AT_MOST} )?\b{NUMBER} (?:gpus?|cards?)\b(?: {AT_MOST}\b| only\b)?|\b(single)-(?:gpu|card)\b"
    ),
    "servers": re.compile(rf"\b{AT_MOST} {NUMBER} servers?\b|\b{NUMBER} servers? {AT_MOST}(?!\w)"),
}
FASTEST = re.compile(r"\b(?:fastest|schnellste[nrs]?|plus rapides?|mas rapid[ao]s?)\b|最快")
CARDS = re.compile(r"\b(?:gpus?|cards?|grafikkarten?|cartes? graphiques?|tarjetas?|placas?)\b|显卡")  # and no computer
LAST = re.compile(
    r"\b(?:how many|count)[\s?.!]*$"
    r"|\bhow many (?:of (?:them|these|those) )?(?:do|would|will|should) (?:i|we|you) (?:need|want)\b"
    r"|(?:多少|几)[张块台个]?(?:卡|显卡)?[\s?？。]*$"
)
CACHES = (
    re.compile(r"\b(?:kv[-_ ]?cache|kv|cache)(?:[\s_-]*(?:in|at|as|type|dtype|=|:))*\s*([a-z]+\d\w*)\b"),
    re.compile(r"(?:-ct[kv]|--cache-type-[kv])[ =]+([a-z]+\d\w*)\b"),  # as llama.cpp's commands have it
    re.compile(r"\b([a-z]+\d\w*)\s*(?:kv[-_ ]?cache|kv|cache)\b"),
)
EXTERNAL = re.compile(r"\be-?gpu\b|\bexternal\b|\b(?:thunderbolt|oculink)\b")  # a card beside a laptop
LAPTOP = re.compile(r"(?:\b(?:laptop|notebook)s?|(?<=\d )mobile|(?<= ti )mobile)\b")
APPLE = re.compile(r"\b(?:i?macs?(?: mini| studio| pro)?s?|macbooks?(?: pro| air)?s?|mb[ap])\b")
OF_APPLE = re.compile(rf"{APPLE.pattern}|(?<=m\d )(?:air|mini|studio)\b")
MACBOOK = re.compile(r"\b(?:macbooks?|mb[ap])\b")
GGUF = re.compile(r"\bggufs?\b")  # files of llama.cpp's number formats
OF_FILES = re.compile(r"(?:ud-)?[it]?q\d|[bf]p?(?:16|32)|gguf|mxfp4")
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
# Devices to others.
ADDED_TO = re.compile(r"\s*(?:and|und|[+&]|plus|with|alongside)\s+(?:an? |one |my |old )*\s*|\s*\+\s*")
POWER = re.compile(
    r"\bpower (?:draw|consumption|usage|supply|bills?)\b|\bhow much power\b|\bstrom(?:verbrauch|kosten)?\b"
    r"|\bwatts?\b|\bwattage\b|\bpsu\b|\belectric(?:ity)?\b"
    r"|\b(?:energy|joules?|kwh|wh)\b|\b(?:heat|hot|cooling|btu)\b"  # which all becomes heat
)
ANEW = re.compile(r"\bfrom (?:scratch|zero)\b|(?<!continued )\bpre-?train")  # no adapter stands in for that
CHINCHILLA = re.compile(r"\bchinchilla\b")  # a run as long as serves a model best
DRAWS = re.compile(
    rf"{POWER.pattern}|\b(?:draws?|pulls?|uses?|consumes?|verbraucht)\b"
)  # all of a line that asks for it
OF_PRICES = re.compile(
    r"\b(?:prices?|pricing|rent|rental|rented|(?:(?:per|an?|each) )?(?:hour|month)|(?:hourly|monthly)(?: rates?)?)\b"
)
NOTHING = re.compile(r"(?!)")
COSTS = re.compile(r"\$|\b(?:costs?|price|expenses?|dollars|how much|kosten|kostet|cuesta|coute)\b")
RENT_OR_BUY = re.compile(r"\brent\b.{1,12}\bbuy\b|\bbuy\b.{1,12}\brent\b")
PRICED = re.compile(
    r"^(?!.*\bbuy\b).*(?:\b(?:prices?|pricing|rent|rental|costs?|(?:hourly|monthly) rates?)\b"
    r"|\bhow much (?:is|are)\b(?! enough\b))"
    rf"|{RENT_OR_BUY.pattern}"
)
WANTED_CARD = re.compile(
    r"(?:\b(?:cheapest|best|fastest|which|what) |^)(?:(?:used|budget|nvidia|amd|consumer|\d+ ?gb(?: vram)?) )*"
    r"(?:gpus?|(?:graphics )?cards?)\b"
)  # of which only the memory is said
NODES = re.compile(r"\bnodes?\b")
NVLINK = re.compile(r"\bnv-?link(?:ed)?\b(?:\s+bridge\b)?")
TUNED = re.compile(rf"\b(?:{'|'.join(TUNINGS)})\b")  # of which a plain run is answered, and the word said
