"""What of a line is money: what a million tokens cost, and what may be paid.

Patterns in the order in which they are looked for, each with the field that it gives and what reads its match.
"""

import re

from calc.catalog import Catalog
from calc.catalog.records import Price
from calc.lines.amounts import Rule, amount, said
from calc.lines.parts import CONTEXT, CURRENCIES, MONEY, NAME_OF_CARD, NO_DOLLARS, NUMBER, UNDER

AT_MOST = rf"\b(?:budget(?:\s+(?:of|is|around|about))*|{UNDER}|up to|max(?:imum)?(?:\s+of)?)"
EACH_MONTH = r"\s*(?:(?:/|per|an?)\s*mo(?:nth)?|monthly)\b"
PRICES: tuple[Rule, ...] = (
    # What a million tokens cost, before their numbers are taken for something else.
    ("asks", r"\$\s*/\s*(?:1?\s*m(?:illion)?\b(?:\s*tok\w*)?|tok(?:en)?s?\b)", said("cost")),
    ("asks", r"\b(?:price|costs?|cheap(?:er|est)?)\s*(?:per|/)\s*tok(?:en)?s?\b", said("cost")),
    (
        "asks",
        r"(?:price|costs?|dollars?|\$|kosten|kostet|preis|cuestan?|prix)\s*(?:per|/|of|for|pro|von|fur|por|par|de)?\s*"
        r"(?:an?\s+|eine?\s+|un\s+|1\s?)?(?:million(?:en)?|mil|m)\s*(?:(?:in|out)put\s+)?tok\w*",
        said("cost"),
    ),
    ("asks", r"\bcheaper than\b(?! \$)", said("cost")),
    ("asks", r"\bcheap(?:er|est)?\b(?=.*\bper\s+(?:million\s+)?tok(?:en)?s?\b)", said("cost")),
    ("asks", r"\b(?:1|an?|one)\s?(?:m|mil|million)\s*tok(?:en)?s?\b(?=.*\bcosts?\b)", said("cost")),
    # A number without a sign may be a device's name: h100 per hour, 4090 monthly.
    ("price_per_hour", rf"{MONEY}\s*(?:/|per|an?)\s*h(?:ou)?rs?\b", amount),
    ("price_per_hour", r"(?<![\w.,])(\d{1,3}(?:\.\d+)?)\s*(?:/|per|an?)\s*h(?:ou)?rs?\b", amount),
    ("price_per_hour", rf"\bhourly\s+budget\s+(?:of\s+)?{MONEY}", amount),
    ("price_per_month", rf"\bmonthly\s+budget\s+(?:of\s+)?{MONEY}", amount),
    ("price_per_month", rf"{MONEY}{EACH_MONTH}(?:\s+budget\b)?", amount),
    ("price_per_month", rf"{AT_MOST}\s+(?!{NAME_OF_CARD}){NUMBER}\s?(k)?{EACH_MONTH}", amount),
    (
        "price_per_month",
        rf"(?<![\w.,])(?!{NAME_OF_CARD}){NUMBER}\s?(k)?{EACH_MONTH}\s+(?:max(?:imum)?|budget|limit)\b",
        amount,
    ),
    ("price_per_month", rf"(?<![\w.,]){NUMBER}\s?(k){EACH_MONTH}", amount),
    ("price", MONEY, amount),
    # A length is what stays under 8k elsewhere.
    (
        "price",
        rf"\b(?:gpus?|cards?|rig|build|setup|workstation|server|pc|machine)\s+(?:for\s+)?{UNDER}\s*{NUMBER}\s?(k)\b"
        rf"(?!\s*(?:tok|{CONTEXT}))",
        amount,
    ),
    # Without any unit after a thing that is bought: a card under 500.
    (
        "price",
        rf"\b(?:gpus?|cards?|rig|build|setup|workstation|pc|machine)\s+(?:for\s+)?{UNDER}\s*(?!{NAME_OF_CARD})"
        r"(\d{3,5}|\d{1,2},\d{3})(?=\s*(?:$|[,;?!.](?!\d)|(?:for|to|that|which|total)\b))",
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
)


def exchanged(words: str, facts: Catalog) -> Price | None:
    """Return the newest rate, in dollars, of the currency that words name; None of dollars."""
    named = (code for code, signs in CURRENCIES.items() if re.search(signs, words.lower()))
    return next((rate for code in named for rate in facts.prices("currencies", code)), None)
