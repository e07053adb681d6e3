"""Parts of which the patterns of quantities are made: numbers, units, and words for people, lengths and money."""

NUMBER = r"((?<![\d.])\d+(?:,\d+)*(?:\.\d+)?)"  # a whole one: flux.1 has none
COUNT = rf"{NUMBER}\s?([km])?\b"
PER_SECOND = (
    r"(?:tok(?:en)?s?|tks?|jetons?|t)\s*(?:/|per|a|al|pro|par|por)\s*s(?:ec(?:ond[eo]?)?s?|ek(?:unde)?|egundo)?\b|tps\b"
    r"|tokens?\s+per\s+sec\w*"
)
PEOPLE = (
    r"(?:users?|people|persons?|requests?|sessions?|clients?|sequences?|streams?|developers?|devs?|employees|students"
    r"|callers?|customers?|members|colleagues|coworkers|engineers|programmers|researchers|agents|players|staff|ppl|seats|doctors|nurses|lawyers|teachers|kids|pupils|analysts|leuten?"
    r"|conversations?|chats|seqs|(?:be)?nutzern?|mitarbeitern?|mitarbeiter\*?innen|personen|leuten?|anfragen"
    r"|utilisateurs?|personnes|employes|requetes|usuarios?|personas|empleados|peticiones)"
)
SPELT = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8}
OF_PEOPLE = {**SPELT, "ten": 10, "twenty": 20, "fifty": 50}
THOUSANDS = r"(?:users?|people|persons|employees|customers|students|ppl)"  # not 4k sessions, which are so long
# What is counted and are no people: for 30 lawyers, for 30 days.
NO_PEOPLE = (
    r"(?:tok\w*|hours|days|weeks|months|years|minutes|seconds|dollars|bucks|euros?|cards|gpus|devices|nodes|servers"
    r"|rupees|pounds|rubles|pesos|yuan|reais|models|layers|steps|epochs|loras|adapters|words|characters|languages"
    r"|threads|cores|channels|experts|heads|files"
    r"|slots|lanes|instances|replicas|runs|times|turns|rounds|tasks|books|songs|videos|frames|prompts|questions)"
)
HOW_MANY = r"(?:(?:how many|number of|wie ?viele|cuant[oa]s|quant[ie]|combien de)\b|combien d')"
NO_NUMBER = r"(?:tokens?|v?ram|memory|speicher|memoria|memoire|gi?bs?|gigs?)"  # of which there is much, and not many
# What stands in no name that people are counted of: how many whisper streams.
NO_NAME = r"(?:for|to|with|on|in|per|can|do|does|did|will|would|should|are|is|i|we|gpus?|cards?|and|or)"
NAME_OF_CARD = r"\d0[5-9]0\b"  # 3090 pages a second are of a card
AT_ONCE = (
    r"(?:conc(?:urr?[ea]nt(?:ly)?)?|simultaneous|simultane[eo]?s|gleichzeitig(?:e[nr]?)?|parallele[nr]?|parallel"
    r"|active)"
)
TOGETHER = r"(?:at once|at (?:the same|a|any) time|simultaneously|concurrently|in parallel)\b"
GROUP = r"(?:team|group|class|staff|company|firm|office|department|lab|family|household|startup)"  # of so many people
OF_THESE = r"\b(?:\s*(?:of|with|x|×|\*))?"
OF_SAMPLES = (
    r"(?:samples|examples|rows|pairs|sentences|instructions|convos|dialogs|dialogues|beispielen?|datensatzen?"
    r"|exemples|ejemplos)"
)
OF_PROMPTS = r"(?:prompts?|inputs?|eingaben?)"
OF_ANSWERS = r"(?:outputs?|answers?|responses?|completions?|antwort(?:en)?|ausgaben?)"
BATCH = r"(?:(?:micro[-_ ]?|per_device_(?:train_)?)?batch(?:[-_ ]?size)?(?:\s+per\s+(?:gpu|device))?|m?bs)"
A_SECOND = r"(?:[a-z]{3,}s|req)\s*(?:/|per)\s*(?:s(?:ec(?:onds?)?)?|min(?:utes?)?)\b"  # texts, images or requests
OF_REQUESTS = (
    r"(?:req(?:uest)?s?|anfragen|requetes|peticiones|richieste|queries|calls|docs?|documents?|texts?|images?|pages?"
    r"|sentences?|embeddings?|chunks?|passages?)"
)
WAIT = r"(?:(?:in|within|under|below|of|at most|less than|max(?:imum)?|up to|<=?|=|:)\s*)*"  # no longer than so long
SECONDS = r"(ms|milliseconds?|s|sec(?:onds?)?)\b"
CONTEXT = (
    r"(?:context|ctx|n_ctx|num_ctx|(?:max[-_ ]?)?model[-_ ]?len(?:gth)?|max[-_ ]?(?:seq[-_ ]?)?len(?:gth)?"
    r"|cutoff(?:[-_ ]?len(?:gth)?)?|len(?:gth)?|seq(?:uence)?(?:[-_ ]?len(?:gth)?)?)"
)
WINDOW = r"(?:\s*(?:window|length|size))?"
UNDER = r"(?:under|below|less than)"
MOST = r"(?:max(?:imum)?|longest|largest|most|biggest|how (?:much|long|large|big)(?:(?: of)? an?)?)"
OF_CONTEXT = r"(?:\s*(?:window|length|size|len))?(?:\s*(?:of|=|:|is|at|up to|supports?))*\s*"
DOLLARS = (
    rf"(?:(?<![a-z])(?:us\s?)?(?:\$|\busd)\s?{NUMBER}\s?(k)?\b"
    rf"|(?<![\w.,]){NUMBER}\s?(k)?\s*(?:\$|usd\b|dollars?\b|dolares\b|bucks\b))"
)
CURRENCIES = {
    "EUR": r"(?:€|(?<![a-z])eur(?:os?)?\b)",
    "GBP": r"(?:£|(?<![a-z])(?:gbp|pounds?|quid)\b)",
    "BRL": r"(?<![a-z])(?:r\$|(?:brl|reais)\b)",
    "INR": r"(?:₹|(?<![a-z])(?:inr|rupees?)\b)",
    "CAD": r"(?<![a-z])(?:ca?\$|cad\b)",
    "AUD": r"(?<![a-z])(?:au?\$|aud\b)",
    "CHF": r"(?<![a-z])chf\b",
}  # as people write them
OTHER_MONEY = f"(?:{'|'.join(CURRENCIES.values())})"
MONEY = rf"(?:{DOLLARS}|{OTHER_MONEY}\s?{NUMBER}\s?(k)?\b|(?<![\w.,]){NUMBER}\s?(k)?\s*{OTHER_MONEY})"
NO_DOLLARS = r"(?:[€£¥₹]|eur|gbp|chf|pounds?\b|quid\b|[a-z]\$|rupees\b|reais\b)"
LARGE = {"thousand": "k", "million": "m", "mil": "m", "billion": "b", "bn": "b", "trillion": "t"}
PER_TOKEN = r"(?:/|per|an?|each)\s*tok(?:en)?\b"
DIVIDED = (
    ("tensor", r"(?:tensor[-_ ]parallel(?:ism)?|tp)(?:[-_ ]size)?"),
    ("pipeline", r"(?:pipeline[-_ ]parallel(?:ism)?|pp)(?:[-_ ]size)?"),
    ("data", r"(?:data[-_ ]parallel(?:ism)?|dp)(?:[-_ ]size)?"),
    ("expert", r"(?:expert[-_ ]parallel(?:ism)?|ep)(?:[-_ ]size)?"),
)  # by the field of a layout
EVERY = 0  # a degree of as many as there are devices
DEGREE = rf"\s*(?:[=:]|of)?\s*{NUMBER}\b"
LAUNCHED = r"(?:nproc[-_]per[-_]node|num[-_]processes|num[-_]gpus|n[-_]gpus(?:[-_]per[-_]node)?)"  # a launcher's flags
SUPPLY = r"(?:psu|power supply|netzteil)"
ADAPTERS = r"(?:q?lora\s+adapters?|adapters|loras)"
DRAFTED = (("mtp", r"mtp|multi[- ]token[- ]prediction"), ("eagle", r"eagle(?:[- ]?3)?"), ("ngram", r"n-?gram"))
SPECULATES = r"(?:\s+speculat\w+)?(?:\s+decod\w+)?"
OFFLOADED = r"(?:cpu[- ])?offload(?:ing|ed)?"
OPTIMIZER = r"optimi[sz]er(?:\s+states?)?\b"
OF_DEVICE = r"(?:gpu[-_ ]memory[-_ ]utilization|mem[-_ ]fraction[-_ ]static)"  # the share that an engine takes
