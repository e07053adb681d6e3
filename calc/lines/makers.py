"""The makers of devices that a line wants, or wants nothing of: amd only, not apple, anything but nvidia."""

import re
from collections.abc import Iterable, Iterator

from calc.catalog.choices import VENDORS
from calc.lines.chips import Chip, Chips
from calc.lines.line import Line
from calc.lines.wording import APPLE

WANTED, UNWANTED = "vendor", "not_vendor"
MAKERS = {
    "AMD": r"\b(?:amd|radeon)s?\b",
    "Apple": rf"\bapple(?: silicon)?\b|{APPLE.pattern}",
    "Intel": r"\bintel\b",
    "NVIDIA": r"\b(?:nvidia|geforce)\b",
}
ANY = "|".join(MAKERS.values())
OF_A_PROCESSOR = r"(?!\s*(?:ryzen|epyc|threadripper|xeon|core\b|i[3579]\b|cpus?\b|ultra\b|n\d{2,3}\b))"
NO = (
    r"\b(?:(?:(?:any|every)thing|all) but|but (?:not|no)|not|no|non|without|except(?: for)?|excluding|other than"
    r"|keine?[nrs]?|nichts von|ohne|pas d[e'u]?|sans|sin|sem|nada de)[\s-]+(?:an?\s+|from\s+|any\s+)?"
)
NONE_OF = re.compile(rf"{NO}(?:{ANY})(?:(?:\s*[,/]\s*|\s+(?:or|and|nor|und|oder|et|ou|y|o|e)\s+)(?:{ANY}))*")
NAMES = {maker: re.compile(words + OF_A_PROCESSOR) for maker, words in MAKERS.items()}


def read_unwanted(line: Line) -> Iterator[Chip]:
    """Iterate over the makers that a line wants nothing of, claimed before they are taken for names of devices."""
    for match in NONE_OF.finditer(line.small):
        line.claim(*match.span())
        for maker, words in MAKERS.items():
            if re.search(words, match[0]):
                yield Chip(*match.span(), field=UNWANTED, value=maker)


def take_makers(reader: Chips, kind: str | None) -> None:
    """Take the makers that a line names where devices are looked for; elsewhere what says "not" is not understood."""
    looked_for = kind in ("hardware", "deadline") and reader.value("accelerator") is None
    if not looked_for and kind != "cards":
        for chip in [chip for chip in reader.chips if chip.field == UNWANTED]:
            reader.give_back(chip)
        return
    for maker, words in NAMES.items():
        match = next(reader.line.found(words), None)
        if match and maker not in reader.values(WANTED):
            reader.line.claim(*match.span())
            reader.chips.append(Chip(*match.span(), field=WANTED, value=maker))


def vendors(said: Iterable[tuple[str, object]]) -> list[str]:
    """Return the makers that are wanted, or all others where some are not; none where nothing is said of them.

    What is said are the fields of a line's chips with their values.
    """
    named = [(field, value) for field, value in said if field in (WANTED, UNWANTED)]
    wanted = [value for field, value in named if field == WANTED] or list(VENDORS)
    return [maker for maker in VENDORS if maker in wanted and (UNWANTED, maker) not in named] if named else []
