"""What a line says of the host: that its processor works alone, its memory, and its processor."""

import re
from collections.abc import Iterator
from math import inf

from calc.catalog import Catalog
from calc.lines.device_names import Name
from calc.lines.line import Line
from calc.lines.names import Names
from calc.lines.parts import NUMBER
from calc.lines.wording import APPLE, ELSEWHERE, LAPTOP

ALONE = re.compile(
    r"\b(?:cpu[- ]only|only (?:a |the |my )?cpu|(?:on|with) (?:a |the |my )?cpu"
    r"|(?:no|without(?: an?| any)?) (?:dedicated )?(?:gpus?|graphics cards?)"
    r"|cpu(?= (?:inference|latency|speed|throughput|performance)\b)"
    r"|(?:ohne|sans|sin) (?:gpu|grafikkarte|carte graphique|tarjeta grafica))\b"
)
BARE = re.compile(r"(?<!what )(?<!which )(?<!best )(?<!need )\bcpus?\b(?!\s*(?:offload|ram|memory|and|[/+]))")
OWN_MEMORY = re.compile(  # a laptop's, and no phone's or server's beside it
    rf"^(?!.*\bgaming\b).*(?:\b\d+\s?gb (?:ram )?{LAPTOP.pattern}"
    rf"|{LAPTOP.pattern}(?: with| has|,)?(?: an?| only)? \d+\s?gb\b)"
)
OF_CARDS = re.compile(
    r"\b(?:gpus?|vram|cards?|cuda)\b|显[存卡]"
    # A memory to which RAM is added.
    r"|\b\d+\s?gi?b?\s*(?:\+|and|plus|with)\s*\d+\s?gi?b\s+(?:of\s+)?(?:system\s+)?(?:ddr\d|ram)\b"
)
ONE_MEMORY = re.compile(
    rf"{APPLE.pattern}|{ELSEWHERE.pattern}|\b(?:gaming|unified)\b"
)  # no computer's with a processor alone
SIZE = rf"\b{NUMBER}\s?([gt])(?:i?b|o)?\b\s*(?:(?:of|de)\s+)?"
KIND = r"(?:(?:sys(?:tem)?|main|cpu|host|memoria)\s+)?"
RATE = r"(?!\d0[5-9]0\b)\d{4}"  # of a memory; 3090 is a card
MEMORY = re.compile(
    rf"{SIZE}{KIND}(?:ddr\d\w*(?:[- ]{RATE})?(?:\s+(?:ram|memory))?|ram|arbeitsspeicher|memoire vive)\b"
    rf"|{SIZE}(?:system|main|host)\s+memory\b"
    rf"|{SIZE}(?=(?:epyc|xeon|threadripper)\b)"
    rf"|\b(?:ram|ddr\d\w*(?:[- ]{RATE})?)\s*[:=]?\s*{SIZE}(?!vram\b)|{SIZE}内存",
    re.ASCII,
)
ANY_MEMORY = re.compile(rf"{SIZE}(?:memory\b)?")  # where there is no other
BESIDE = re.compile(r"\s*(?:,|\+|with|and|/)?\s*")  # a processor and its memory
MOST_WORDS = 4  # of a processor's name
ALL_EXPERTS = "all"
THERE = r"(?:on|in) (?:the )?(?:cpu|ram|host|system (?:ram|memory))"
NGL = r"(?<!\S)(?:-ngl|--n-gpu-layers|--gpu-layers)[ =]+(\d{1,4})\b"
PLACED = (
    ("experts_on_host", re.compile(r"(?<![\w-])-{0,2}n-cpu-moe[ =]+(?:(\d{1,3})|all)\b")),
    (
        "experts_on_host",
        re.compile(
            rf"(?<![\w-])-{{0,2}}cpu-moe\b|\b(?:all )?experts? (?:are |stay )?(?:{THERE}|offloaded)\b"
            r"|\boffload\w* (?:all |the )*experts\b"
        ),
    ),
    ("gpu_layers", re.compile(rf"{NGL}|\b(\d{{1,3}}) layers on (?:the |my )?gpu\b")),
)
FAMILY = re.compile(r"\b(?:epyc|xeon|threadripper)\b")
# The kind of a memory and its rate. The most bits a second of a pin by the standards (JESD79-3 and -4).
OF_MEMORY = re.compile(rf"\b(ddr[345])(?:[- ]({RATE}))?\b")
MOST_BITS_PER_S = {"ddr3": 2.133e9, "ddr4": 3.2e9}
EPYC = re.compile(r"\bepyc\s*([79])\d\d([2-5])[pfx]?\b")  # the last digit is the generation


def read_placed(line: Line) -> Iterator[tuple[int, int, str, object]]:
    """Iterate over what stays in the host's memory, with its place, claimed: --n-cpu-moe 20, 30 layers on gpu."""
    for field, pattern in PLACED:
        for match in line.found(pattern):
            said = next((int(group) for group in match.groups() if group), None)
            if field == "gpu_layers" and said is not None:  # llama.cpp's flag counts the output as one layer more
                said -= match[0].startswith("-")
            line.claim(*match.span())
            yield *match.span(), field, ALL_EXPERTS if said is None else said


def read_alone(line: Line) -> tuple[int, int] | None:
    """Return where a line says that there is no device beside the processor, claimed; None where it does not."""
    match = next(line.found(ALONE), None)
    if match is None:
        return None
    line.claim(*match.span())
    return match.span()


def read_bare(line: Line) -> tuple[int, int] | None:
    """Return where a line that speaks of no device says that a processor is to do the work, claimed; else None.

    A laptop of which the memory is said, and no card, has none; nor has a computer of which the RAM is said, which is
    not claimed: it is read as the host's.
    """
    if OF_CARDS.search(line.small):
        return None
    laptop = OWN_MEMORY.search(line.small)
    match = next(line.found(BARE), None) or (next(line.found(LAPTOP), None) if laptop else None)
    if match is None:
        memory = None if ONE_MEMORY.search(line.small) else next(line.found(MEMORY), None)
        return memory.span() if memory else None
    line.claim(*match.span())
    return match.span()


def read_processor(line: Line, names: Names) -> Name | None:
    """Return the host's processor, claimed, before its number is taken for one of tokens: i9-14900K.

    An EPYC that is not known itself is taken for the one of its series, which has the same channels of memory; a series
    alone for the newest usual one of it.
    """
    if found := next(names.listed(line, "processors", MOST_WORDS), None):
        return found
    for match in line.found(EPYC):
        if known := names.catalog.lookup("processors", f"EPYC {match[1]}00{match[2]}"):
            line.claim(*match.span())
            return Name(*match.span(), kind="processors", id=known)
    for match in line.found(FAMILY):
        family = [one for one in names.catalog.processors() if one.usual and match[0] in one.name.lower()]
        if family:
            line.claim(*match.span())
            return Name(*match.span(), "processors", max(family, key=lambda one: one.released).id)
    return None


def read_host(line: Line, processor: Name | None, *, alone: bool) -> Iterator[tuple[int, int, str, object]]:
    """Iterate over the host's memory in GiB, with its place, claimed; what is said right behind its processor is it."""
    behind = (
        match
        for match in line.found(ANY_MEMORY)
        if alone or (processor and BESIDE.fullmatch(line.small[processor.end : match.start()]))
    )
    match = next(line.found(MEMORY), None) or next(behind, None)
    if match is not None:
        line.claim(*match.span())
        size, unit = [group for group in match.groups() if group][:2]
        yield *match.span(), "host_memory", int(float(size.replace(",", "")) * (1024 if unit == "t" else 1))


def read_kind(line: Line, named: str, facts: Catalog) -> tuple[str, float | None] | None:
    """Return a processor whose memory is of the kind that a line says, claimed, and its bytes a second if they differ.

    It is the one that is named, or else the newest usual one of a desktop with such memory. A rate that is said counts,
    and of an older kind than the processor also takes the most that its standard has: a Core i7-12700K with DDR4. None
    where a line says no kind.
    """
    said = OF_MEMORY.search(line.text.lower())
    if said is None:
        return None
    most = MOST_BITS_PER_S.get(said[1])
    usual = [one for one in facts.processors() if one.usual and one.kind == "desktop"]
    newest = sorted(usual, key=lambda one: one.released, reverse=True)
    fitting = [one for one in newest if most is None or one.bits_per_s <= most]
    processor = facts.processor(named) if named else (fitting or newest)[0]
    line.claim(*said.span())
    rate = float(said[2]) * 1e6 if said[2] else min(processor.bits_per_s, most or inf)
    return processor.id, None if rate == processor.bits_per_s else processor.bandwidth * rate / processor.bits_per_s
