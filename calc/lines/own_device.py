"""A device by what a line says of it elsewhere: that it is a laptop's, its memory, and how many there are."""

import re
from math import inf

from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.lines.device_names import NUMBERS, Count, DeviceNames, Name
from calc.lines.line import Line
from calc.lines.parts import LAUNCHED
from calc.lines.quantities import MEMORY, OF_ALL
from calc.lines.wording import ADDED_TO, APPLE, EXTERNAL, LAPTOP, MACBOOK
from calc.planner.offered import in_each_size
from calc.planning.cost import newest_purchase
from calc.units import GIB

NEAR = 0.03  # sizes of cards that agree
LEFT = 0.9  # of a card's memory, which programs see: T4 15GB
CURRENT = ("sold", "rented")
ULTRA = "Ultra"  # two chips joined, which stand in a Mac Studio or Mac Pro, and in no laptop
CARRIED = ("macbook", "mbp", "mba")
BESIDE = re.compile(r"[\s(,-]*(?:(?:super|ti|xt|plus|[a-z])\b)?[\s(-]*")  # a name and its memory
BEHIND = re.compile(r"[\s(-]*")  # the same, and surely no host's
OF_HOSTS = frozenset((4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024))  # GB that a host may have
OF_CARDS = {"consumer", "workstation", "data-center"}  # segments
NO_CARD = 128  # GB, of which computers have as much and cards of one's own have less
SIZE = re.compile(r"\b(\d+(?:\.\d+)?)\s?g(?:i?b)?\b")
ADDS, TO_WHICH = re.compile(r"\badd(?:ing)?\b"), re.compile(rf"{ADDED_TO.pattern}|\s*(?:next )?to (?:my|an?|the|one) ")
COUNT = re.compile(
    rf"\b(\d{{1,4}}|{'|'.join(NUMBERS)})\s*(?:(?:gpus|cards|each)\b|卡)"
    r"|(?<!\S)(?<!pcie )(?<!\.0 )(?<!gen\d )[x×](\d{1,2})(?=\s*(?:$|[,.?!])|\s+(?!lanes?\b|slots?\b)[a-z])"
    rf"|(?<!\S)-{{0,2}}{LAUNCHED}[\s=]+(\d{{1,3}})\b"
)

ORDINALS = {"second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
ADDING = r"(?:add|gett?|buy)(?:ing)?"
ADDED = re.compile(
    rf"\b(?:{ADDING} )?(?:an? )?({'|'.join(ORDINALS)}) (?:one|card|gpu)\b"
    rf"|\b{ADDING} (another)(?: (?:one|card|gpu)\b|(?=\s*(?:$|[,.?!]|(?:for|to|let|help|make|would|will)\b)))"
)


def in_laptop(device: Name, line: Line, facts: Catalog) -> Name:
    """Return a laptop's chip where a line says elsewhere that it is one: a laptop with a 4080."""
    said = next(line.found(LAPTOP), None)
    if said and facts.accelerator(device.id).text("form") == "laptop":
        line.claim(*said.span())
        return device
    read = facts.reading(f"{facts.accelerator(device.id).name} laptop") if said else None
    if not said or not read or facts.accelerator(read.id).text("form") != "laptop":
        return device
    line.claim(*said.span())
    return device._replace(id=read.id, others=(device.id, *read.others))


def of_size(device: Name, line: Line, facts: Catalog) -> Name:
    """Return a chip that is processor and device in one with the memory that a line says elsewhere: M4, 24GB of RAM."""
    if not facts.accelerator(device.id).shares_host_memory or OF_ALL.search(line.small[device.start : device.end]):
        return device
    for match in line.found(OF_ALL):
        read = facts.reading(f"{line.small[device.start : device.end]} {match[1]}gb")
        memory = facts.accelerator(read.id).quantity("memory") if read else None
        if read and memory and abs(float(match[1].replace(",", "")) * GIB / memory - 1) < NEAR:
            line.claim(*match.span())
            return device._replace(id=read.id, others=read.others)
    return device


def is_another(device: Name, line: Line, facts: Catalog) -> bool:
    """Return whether a line has words by which a device is one that the catalogue lacks.

    A chip with its memory is another one with more of it, a card with less of it, or with more than any host has, and a
    laptop's another one than the card of that name, but for one with its memory, which holds as much: no answer is
    better than one for that.
    """
    own = facts.accelerator(device.id)
    if own.shares_host_memory:
        return not OF_ALL.search(line.small[device.start : device.end]) and any(line.found(OF_ALL))
    memory = (own.quantity("memory") or 0) / GIB
    for match in (match for match in line.found(MEMORY) if match.start() >= device.end):
        between, size = line.small[device.end : match.start()], float(match[1].replace(",", ""))
        less = BEHIND.fullmatch(between) and size < memory * LEFT
        if less or (BESIDE.fullmatch(between) and size not in OF_HOSTS and size > memory * (1 + NEAR)):
            return True
    alike = any(has_memory(own, float(match[1])) for match in SIZE.finditer(line.small, device.start))
    return any(line.found(LAPTOP)) and not alike and not EXTERNAL.search(line.small)


def of_memory(size_gib: float, facts: Catalog, *, apple: str, laptop: bool) -> Name | None:
    """Return a device with so much memory that one gets today: a consumer's first, the cheapest, the slowest.

    `apple` are the words for a Mac, empty for a card: chips first that a Mac Studio or a Mac mini has.
    """
    inside = {
        machine.accelerator
        for machine in facts.machines()
        if " " in apple and machine.name.lower().startswith(apple.removesuffix("s"))
    }
    segments = ("soc",) if apple else ("consumer", "workstation", "data-center")
    listed = list(facts.accelerators())
    if apple and not any(device.vendor == "Apple" and has_memory(device, size_gib) for device in listed):
        listed = [facts.accelerator(other) for other in facts.market_names.variants]
    found = [
        device
        for device in listed
        if device.segment in segments
        and (not apple or device.vendor == "Apple")
        and not (apple.startswith(CARRIED) and ULTRA in device.name)
        and (device.text("form") == "laptop") == laptop
        and has_memory(device, size_gib)
    ]
    ranked = sorted(
        found,
        key=lambda device: (
            device.id not in inside,
            device.vendor != "NVIDIA",
            device.availability not in CURRENT,
            segments.index(device.segment),
            price.each if (price := newest_purchase(facts, device)) else inf,
            device.quantity("bandwidth") or 0,
        ),
    )
    if not ranked:
        return None
    return Name(0, 0, "accelerators", id=ranked[0].id, others=tuple(device.id for device in ranked[1:]))


def has_memory(device: Accelerator, size_gib: float) -> bool:
    """Return whether a device has so much memory."""
    return abs((device.quantity("memory") or 0) / GIB - size_gib) < NEAR * size_gib


def other_kind(line: Line, names: DeviceNames, device_id: str, end: int) -> tuple[Name, Count | None] | None:
    """Return the devices of another kind, claimed, that are said behind a place to stand beside some: 3090 and 3060.

    Servers have devices alike, and what is no card stands beside none.
    """
    before = line.taken.copy()
    found = names.device(line)
    if found is None:
        return None
    start = min(part.start for part in found if part)
    signs = zip(line.small[end:start], before[end:start], strict=True)
    between = "".join(sign for sign, taken in signs if not taken)
    segments = {names.catalog.accelerator(device).segment for device in (found[0].id, device_id)}
    words = ADDED_TO if not ADDS.search(line.small[:end]) else TO_WHICH
    together = found[0].id != device_id and segments <= OF_CARDS and segments != {"data-center"}
    if not together or not words.fullmatch(between):
        line.taken = before
        return None
    line.claim(end, start)
    return found


def count_apart(line: Line, known: Count | None) -> Count | None:
    """Return how many devices there are, claimed where a line says it without their name: v100 70b x4, --num_gpus 8.

    It may say a number that is known a second time, and no other one.
    """
    for match in line.found(COUNT):
        number = next(group for group in match.groups() if group)
        said = Count(*match.span(), value=int(number) if number.isdigit() else NUMBERS[number])
        if said.value and (known is None or said.value == known.value):
            line.claim(*match.span())
            known = known or said
    return known


def added(line: Line, count: Count | None) -> Count | None:
    """Return how many devices there are with one that is added, claimed; None where none is: adding a second one."""
    match = next(line.found(ADDED), None)
    if match is None:
        return None
    line.claim(*match.span())
    return Count(*match.span(), value=ORDINALS[match[1]] if match[1] else (count.value if count else 1) + 1)


def macs(line: Line, facts: Catalog) -> list[str]:
    """Return the chips of Macs where a line names a Mac, of a MacBook those of laptops; those on sale first."""
    if not APPLE.search(line.small):
        return []
    carried = MACBOOK.search(line.small)
    every = [device for device in in_each_size(facts) if device.vendor == "Apple"]
    chips = [device for device in every if not (carried and ULTRA in device.name)]
    return [device.id for device in sorted(chips, key=lambda device: device.availability not in CURRENT)]
