"""Words that fields of the catalogue may have, as far as answers ask for them."""

VENDORS = ("AMD", "Apple", "AWS", "Google", "Huawei", "Intel", "NVIDIA")
SEGMENTS = ("data-center", "workstation", "consumer", "soc", "cloud")
# Whether one gets the device today: not yet, new in shops, from clouds alone, or left over and second hand.
AVAILABILITY = ("announced", "sold", "rented", "used", "modified")
# Who rents devices out: clouds that do little else, those that sell everything, places where others offer theirs. A
# rent is that of the first which has the device.
MARKETS = ("specialist", "large cloud", "marketplace")
# Of rents, the one that a reader would ask for first; the last is where offers start, what the cheapest host asks for
# one device, who may have no second.
RENTS = ("on-demand", "reserved", "median", "interruptible", "lowest")
# What models are made for that write no answers to questions: to hear or speak, to translate, shorten, read pages, tell
# what is in a picture, find texts, foresee series, write proteins, or prompts for pictures, judge what is safe, test
# programs, draft for larger ones.
MADE_FOR = (
    "speech",
    "translation",
    "summaries",
    "documents",
    "captions",
    "embeddings",
    "forecasts",
    "proteins",
    "prompts",
    "safety",
    "tests",
    "drafts",
)
PRICE_STALE_DAYS = 120
# Keys of configs that say how many tokens a model has places for, the usual ones first.
POSITIONS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "max_target_positions",
)
