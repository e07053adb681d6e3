"""Compare accelerators: how many of each a model takes, how fast it is then, and what it costs, best first."""

import datetime
from itertools import pairwise
from typing import Any

from calc.calculators.calculator import Calculator, Preset
from calc.calculators.engines import devices
from calc.calculators.html import element, table, text
from calc.calculators.inputs import Choice, Number, whole
from calc.calculators.rendering import Report, answer_html, facts_html
from calc.calculators.serving_inputs import cache_formats
from calc.calculators.speed import UNITS_SHOWN, per_second
from calc.catalog import catalog
from calc.catalog.records import Accelerator, Price
from calc.catalog.schema import PRICE_STALE_DAYS, VENDORS
from calc.estimate import estimate, read_asked
from calc.planning.comparison import Comparison, Offer, Wanted
from calc.scenario import Reader
from calc.units import GIB, show_count, show_gib, show_number, show_tokens_per_s

SIZES_GIB = (0, 12, 16, 24, 48, 96, 192)  # of one device: above the one and up to the next
SEGMENTS = (
    ("data-center", "Data centre"),
    ("workstation", "Workstation"),
    ("consumer", "Consumer"),
    ("soc", "With memory shared by a whole computer"),
    ("cloud", "In a cloud alone"),
)
# What to rank by: its words, in a sentence too, and whether more is better.
RANKS = {
    "decode": ("Tokens written a second", "writes fastest", True),
    "prefill": ("Tokens read a second", "reads fastest", True),
    "rent": ("Rent of a million tokens", "costs least rent for a million tokens", False),
    "energy": ("Energy of a million tokens", "takes least energy for a million tokens", False),
    "power": ("Power", "draws least", False),
    "price": ("Price to buy", "is cheapest to buy", False),
    "memory": ("Memory bought", "has the least memory in all", False),
}
BEST = "25"
FILTERS = ("most_devices", "segment", "vendor", "size", "rank", "rows")


def size_options() -> tuple[tuple[str, str], ...]:
    """Return the bins of memory as options, each known by its upper end."""
    named = [
        (str(most), f"over {least} to {most} GiB" if least else f"up to {most} GiB")
        for least, most in pairwise(SIZES_GIB)
    ]
    return (*named, ("more", f"over {SIZES_GIB[-1]} GiB"))


INPUTS = (
    Choice("model", "Model", "The parameters follow from its config.json.", "llama-3.3-70b", kind="models"),
    Choice(
        "weights",
        "Number format of the weights",
        "Fewer bits fit on less and are read sooner.",
        "q4_k_m",
        kind="weights",
    ),
    Choice("engine", "Engine", "The program that runs the model.", "llama.cpp", kind="engines"),
    Number(
        "prompt_tokens",
        "Prompt",
        "Tokens that are read before the first is written.",
        "2048",
        least=1,
        most=100_000_000,
        topic="Lengths",
    ),
    Number(
        "output_tokens",
        "Output",
        "Tokens that are written in answer to each prompt.",
        "256",
        least=1,
        most=100_000_000,
        topic="Lengths",
    ),
    Number("sequences", "Sequences at once", "Readers who wait for an answer together.", "1", least=1, most=1_000_000),
    *cache_formats("Cache"),
    Number(
        "most_devices",
        "Most GPUs",
        "Kinds of which it would take more are left out.",
        "8",
        least=1,
        most=64,
        topic="Which GPUs",
    ),
    Choice(
        "segment",
        "Made for",
        "Where makers mean them to stand.",
        "",
        options=SEGMENTS,
        empty="Anything",
        topic="Which GPUs",
    ),
    Choice(
        "vendor",
        "Maker",
        "Those alone on whose devices the engine runs.",
        "",
        options=tuple((vendor, vendor) for vendor in VENDORS),
        empty="Any",
        topic="Which GPUs",
    ),
    Choice("size", "Memory of one", "As advertised.", "", options=size_options(), empty="Any size", topic="Which GPUs"),
    Choice(
        "rank",
        "Best first by",
        "What is not known comes last.",
        "decode",
        options=tuple((name, words) for name, (words, _, _) in RANKS.items()),
    ),
    Choice(
        "rows",
        "Show",
        "Of those that serve it.",
        BEST,
        options=((BEST, f"The best {BEST}"), ("all", "All")),
        topic="Which GPUs",
    ),
)

PRESETS = (
    Preset("Llama 3.3 70B in 4 bit, one reader: fastest", {}),
    Preset("… on consumer cards, at most two", {"segment": "consumer", "most_devices": "2"}),
    Preset("… with the least memory bought", {"rank": "memory", "segment": "consumer"}),
    Preset(
        "Llama 3.3 70B in FP8 for 32 readers: least rent for a million tokens",
        {"weights": "fp8", "engine": "vllm", "sequences": "32", "rank": "rent"},
    ),
    Preset(
        "Llama 3.1 8B for 64 readers: least energy for a million tokens",
        {"model": "llama-3.1-8b", "weights": "bf16", "engine": "vllm", "sequences": "64", "rank": "energy"},
    ),
    Preset(
        "DeepSeek V3 as it is published, on 16 at most",
        {"model": "deepseek-v3", "weights": "fp8-block", "engine": "sglang", "most_devices": "16", "sequences": "16"},
    ),
    Preset(
        "gpt-oss 120B where the memory is a computer's own",
        {"model": "gpt-oss-120b", "weights": "mxfp4", "segment": "soc"},
    ),
)


def is_wanted(record: Accelerator, asked: Report) -> bool:
    """Return whether an accelerator is among those that a reader chose."""
    size = next((str(most) for most in SIZES_GIB[1:] if (record.quantity("memory") or 0) <= most * GIB), "more")
    return (
        asked.get("segment") in (None, record.segment)
        and asked.get("vendor") in (None, record.vendor)
        and asked.get("size") in (None, size)
    )


def value_of(offer: Offer, rank: str) -> float | None:
    """Return what an offer is ranked by; None where it is not known."""
    speed = offer.speed or {}
    return {
        "decode": speed.get("decode_tokens_per_s"),
        "prefill": speed.get("prefill_tokens_per_s"),
        "rent": offer.rent_per_million,
        "energy": offer.kwh_per_million,
        "power": offer.power_w,
        "price": offer.purchase_price,
        "memory": offer.devices * offer.accelerator.capacity_bytes,
    }[rank]


def ranked(offers: list[Offer], rank: str) -> list[Offer]:
    """Return offers best first; those whose figure is not known last, and of equals those of fewer devices first."""
    sign = -1 if RANKS[rank][2] else 1

    def order(offer: Offer) -> tuple[bool, float, int, int]:
        value = value_of(offer, rank)
        return value is None, sign * (value or 0), offer.devices, offer.accelerator.capacity_bytes

    return sorted(offers, key=order)


def scenario_of(read: dict[str, object]) -> dict[str, object]:
    """Return what is asked of every accelerator."""
    return {name: value for name, value in read.items() if name not in FILTERS}


def compare(read: dict[str, object]) -> Report:
    """Return the report on the demand without a device, with the offers for it, and the report on the best of them."""
    facts, asked = catalog(), scenario_of(read)
    report: Any = estimate(asked)
    found = read_asked(Reader(asked))
    wanted = Wanted(found.demand._replace(sequences=report["scenario"]["sequences"]), found.engine, found.output_tokens)
    compared = Comparison(facts=facts, wanted=wanted, most_devices=whole(read, "most_devices"))
    chosen = compared.able(record for record in facts.accelerators() if is_wanted(record, read))
    offers = ranked(compared.offers(chosen), str(read["rank"]))
    first = None
    if offers:
        best = {"accelerator": offers[0].accelerator.id, "accelerators": offers[0].devices}
        first = estimate({**asked, **best})
    return {**report, "asked": read, "chosen": len(chosen), "offers": offers, "first": first}


def counted(offer: Offer) -> str:
    """Return how many of which."""
    return devices(offer.devices, offer.accelerator.name)


def headline(report: Report) -> tuple[bool | None, str, str]:
    """Return how many serve it, and the best of them."""
    asked, offers, chosen = report["asked"], report["offers"], report["chosen"]
    most = f"{asked['most_devices']} GPUs" if asked["most_devices"] > 1 else "one GPU"
    if not chosen:
        return None, "Nothing to compare:", "the engine runs on no accelerator that is all of what you chose."
    if not offers:
        advice = "More of them, fewer bits or shorter texts would make a difference."
        return False, f"None of {chosen} kinds serves it with {most} or fewer.", advice
    count = f"{len(offers)} of {chosen} kinds serve it with {most} or fewer:"
    best, words = offers[0], RANKS[asked["rank"]][1]
    if value_of(best, asked["rank"]) is None:
        return True, count, f"of none of them is known which {words}."
    rate = f", {show_tokens_per_s(best.speed['decode_tokens_per_s'])}" if best.speed else ""
    return True, count, f"what {words} is {counted(best)}{rate}."


def address(page: str, report: Report, offer: Offer, *tokens: str) -> str | None:
    """Return the address of a calculator filled in with an offer; None for a model that is in no list."""
    scenario = report["scenario"]
    if not isinstance(scenario["model"], str):
        return None
    values = {name: scenario[name] for name in ("model", "weights", "engine", "sequences", *tokens)}
    values |= {"accelerator": offer.accelerator.id, "accelerators": offer.devices}
    query = "&".join(f"{name}={value}" for name, value in values.items())
    return f"../../calculators/{page}/?{query}"  # every page with a calculator stands two deep


def linked(shown: str, href: str | None) -> str:
    """Return a cell that leads to its working."""
    return element("a", text(shown), href=href) if href else text(shown)


def priced(amount: float, price: Price) -> str:
    """Return an amount of money with the day of its price, which leads to the price's source."""
    day = element("a", text(price.checked), href=catalog().source(price.source).url, rel="noopener")
    return f"{show_number(amount)} {text(price.currency)} {element('small', f'{text(price.kind)}, {day}')}"


def row_of(report: Report, offer: Offer) -> list[str]:
    """Return the cells of an offer, each a link to the calculator that shows its working."""
    fit = address("will-it-fit", report, offer, "context_tokens")
    fast = address("speed", report, offer, "prompt_tokens", "output_tokens")
    cost = address("cost", report, offer, "prompt_tokens", "output_tokens")
    speed, energy, rent = offer.speed, offer.kwh_per_million, offer.rent_per_million
    cells = [
        linked(counted(offer), fit),
        linked(show_gib(offer.headroom_bytes), fit),
        linked(per_second(speed["decode_tokens_per_s"]), fast) if speed else "–",
        linked(per_second(speed["prefill_tokens_per_s"]), fast) if speed else "–",
        f"{show_count(offer.power_w)} W" if offer.power_w else "–",
        linked(show_number(energy), cost) if energy else "–",
        priced(offer.rent_per_hour, offer.rent) if offer.rent_per_hour and offer.rent else "–",
        linked(f"{show_number(rent)} {offer.rent.currency}", cost) if rent and offer.rent else "–",
        priced(offer.purchase_price, offer.purchase) if offer.purchase_price and offer.purchase else "–",
    ]
    if report["scenario"]["sequences"] > 1:
        cells.insert(3, linked(per_second(1 / speed["time_per_output_token_s"]), fast) if speed else "–")
    return cells


def shown_offers(report: Report) -> list[Offer]:
    """Return the offers that the table has."""
    offers: list[Offer] = report["offers"]
    return offers if report["asked"]["rows"] == "all" else offers[: int(BEST)]


def offers_table(report: Report) -> str:
    """Return the table of offers, best first."""
    headings = ["GPUs", "Memory left, each", "Writes", "Reads", "Power", "kWh, million tokens", "Rent, an hour"]
    headings += ["Rent, million tokens", "To buy"]
    if report["scenario"]["sequences"] > 1:
        headings.insert(3, "Writes, each")
    shown = shown_offers(report)
    many = f"The best {len(shown)} of {len(report['offers'])}" if len(shown) < len(report["offers"]) else "All"
    caption = f"{many}, by: {RANKS[report['asked']['rank']][0].lower()}"
    return table(headings, [row_of(report, offer) for offer in shown], caption=caption, class_="calc-parts calc-offers")


def notes(report: Report) -> str:
    """Return what is to be known of the prices in the table, and of what is left out of it."""
    items = []
    shown = shown_offers(report)
    prices = [price for offer in shown for price in (offer.rent, offer.purchase) if price]
    today = datetime.date.today().isoformat()
    stale = sum(price.is_stale(today) for price in prices)
    if stale:
        old = f"{stale} of {len(prices)} prices shown are <strong>older than {PRICE_STALE_DAYS} days</strong>"
        items.append(f"{old}: put today's into {element('a', 'Cost and energy', href='../../calculators/cost/')}")
    left = report["chosen"] - len(report["offers"])
    if left:
        items.append(f"Kinds of which it would take more than {report['asked']['most_devices']}: {left}")
    slow = sum(offer.speed is None for offer in report["offers"])
    if slow:
        items.append(f"Kinds whose rate of computing is in no source, and which have no speed here: {slow}")
    return facts_html(items)


ASSUMPTIONS = [
    "Of each kind as few as it fits on; more of them would be faster.",
    "Speeds are typical ones; each leads to its range. The devices are busy all the time that they cost.",
    "Power is what the boards may draw at most, without the machine around them.",
    "Where a device is sold within a machine only, the price is the machine's.",
    "A device whose memory is a computer's own is taken once: several are several computers.",
    "Such a memory counts in full, though its system keeps a part of it: what only just fits may not.",
    "An engine that runs on a maker's devices may not run on the oldest of them.",
]


def render(report: Report) -> str:
    """Return the answer's HTML; its working is that of the first row."""
    line = headline(report)
    first = report["first"]
    steps = [step for step in first["steps"] if step["unit"] in UNITS_SHOWN] if first else []
    facts = offers_table(report) + notes(report) if report["offers"] else ""
    shown = {**(first or report), "steps": steps, "warnings": report["warnings"]}
    return answer_html(line, shown, facts=facts, assumptions=ASSUMPTIONS)


def status(report: Report) -> str:
    """Return the answer as one sentence for a screen reader."""
    _, first, rest = headline(report)
    return f"{first} {rest}"


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    offers = report["offers"]
    best = text(counted(offers[0])) if offers else "none"
    return f"{len(offers)} of {report['chosen']}", best


CALCULATOR = Calculator(
    id="compare",
    title="Compare accelerators",
    question="Which accelerators serve this model, how many of each, how fast, and for how much?",
    inputs=INPUTS,
    presets=PRESETS,
    scenario=dict,
    render=render,
    status=status,
    headings=("Kinds that serve it", "The first of them"),
    row=row,
    answer=compare,
)
