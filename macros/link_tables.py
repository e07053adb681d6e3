"""Tables and numbers of links: what each carries, what is reached, who has it, and what models send over it."""

from typing import Any

from calc import estimate
from calc.calculators import CALCULATORS
from calc.calculators.html import element, table, text
from calc.calculators.interconnect_report import over_computing, sent_bytes, share_of_pass
from calc.calculators.parts import left_without
from calc.calculators.rendering import source_html
from calc.calculators.sizes import size_decimal, size_gib
from calc.catalog import catalog
from calc.catalog.records import Accelerator, Fact, Link
from calc.performance.collectives import ALL_REDUCE
from calc.performance.fabric import DEVICE, STAGED, joined, most_joined, own_link
from calc.performance.transfers import transfer
from calc.units import MB, show_gb_per_s, show_number, show_seconds
from macros.facts import fact_line
from macros.inline import device, opening, step, steps_inline
from macros.links import calculator_link
from macros.markdown import block

__all__ = [
    "exchange_table",
    "fact_ratio",
    "left_on_a_card",
    "link_fact",
    "link_name",
    "link_ratio",
    "link_share",
    "link_table",
    "linked_table",
    "pair_table",
    "peer_table",
    "sending",
]

Report = dict[str, Any]
RATES = ("One way", "Both ways", "Reached, one way", "Two alone")
WAYS = {DEVICE: "direct", "host": "direct", STAGED: "by the host", "network": "network"}


def link_line(link: Link, field: str) -> str:
    """Return a fact of a link with its basis, note, source and date."""
    found: Fact = getattr(link, field)
    note = f" {found.note or (link.note if field in ('one_way', 'both_ways') else '')}".rstrip()
    said = text(f"{link.name}: {field.replace('_', ' ')} {found.show()} ({found.basis}).{note} ")
    return element("span", f"{said}{source_html(found.source)}, checked {text(found.checked)}.", class_="calc-step")


def link_fact(link: str, field: str) -> str:
    """Return a fact of a link, inline; a reader who presses it sees its source and date."""
    record = catalog().link(link)
    found = getattr(record, field, None)
    if not isinstance(found, Fact):
        raise ValueError(f"{record.id} has no {field}")
    return opening(found.show(), link_line(record, field))


def link_name(link: str) -> str:
    """Return a link's name, as it is sold."""
    return catalog().link(link).name


def left_on_a_card(**scenario: object) -> str:
    """Return what is left on the fullest device for the model and its cache, inline, with what a runtime takes."""
    report: Report = estimate(scenario)
    memory = report["memory"]
    taken = [part for part in memory["parts"] if part["bytes"] and part["id"] not in ("weights", "kv_cache")]
    left = left_without(report, [part["id"] for part in taken])
    numbers = " − ".join((size_gib(memory["capacity_bytes"]), *(size_gib(part["bytes"]) for part in taken)))
    name = "Capacity less " + ", ".join(part["label"].lower() for part in taken)
    return opening(size_gib(left), step(name, r"M - \sum M_{\text{runtime}}", numbers, size_gib(left)))


def link_share(link: str, field: str = "reached") -> str:
    """Return what large messages reach of a link's one-way rate, in percent, inline."""
    record = catalog().link(link)
    share, found = record.share(field), getattr(record, field, None)
    if share is None or found is None:
        raise ValueError(f"{record.id} has no {field}")
    numbers = f"{found.show()} / {record.one_way.show()}"
    result = f"{100 * share:.0f} %"
    return opening(result, link_line(record, field) + step("Share of one way", r"\frac{B}{BW}", numbers, result))


def link_ratio(first: str, second: str, field: str = "both_ways") -> str:
    """Return how many times as much one link carries as another, inline."""
    facts = [catalog().link(name) for name in (first, second)]
    values = [getattr(record, field) for record in facts]
    shown = f"{values[0].times(values[1]):.1f} times"
    lines = "".join(link_line(record, field) for record in facts)
    numbers = f"{values[0].show()} / {values[1].show()}"
    return opening(shown, lines + step("Ratio", r"\frac{BW_1}{BW_2}", numbers, shown))


def fact_ratio(first: str, second: str, field: str) -> str:
    """Return how many times as much of a fact one accelerator has as another, inline."""
    records = [catalog().accelerator(name) for name in (first, second)]
    values = [record.facts.get(field) for record in records]
    if not values[0] or not values[1]:
        raise ValueError(f"{field} is not known of {first} or {second}")
    shown = f"{values[0].times(values[1]):.2f} times"
    numbers = " / ".join(record.facts[field].show() for record in records)
    lines = "".join(fact_line(record, field) for record in records)
    return opening(shown, lines + step("Ratio", r"\frac{a}{b}", numbers, shown))


def sending(what: str, **fields: object) -> str:
    """Return a number of the interconnect calculator, inline, with its working.

    `what`: "time" of all messages, "one" of them, its "size", "sent" by each device, "rate" reached on the link,
    "share" of a pass that is sending, or "beside": the time of sending over that of computing.
    """
    report = CALCULATORS["interconnect"].report({name: str(value) for name, value in fields.items()})
    part, way = report["sent"][0]
    beside = over_computing(report)
    shown = {
        "time": show_seconds(report["seconds"]),
        "one": show_seconds(way.seconds),
        "size": size_decimal(part.message_bytes),
        "sent": size_decimal(sent_bytes(report)),
        "rate": show_gb_per_s(way.bus_rate),
        "share": f"{100 * share_of_pass(report):.0f} %",
        "beside": f"{100 * beside:.0f} %" if beside else "–",
    }
    if what not in shown:
        raise ValueError(f"{what!r} is not a number of the calculator; there are {', '.join(shown)}")
    return opening(shown[what], element("span", steps_inline(report["steps"])))


def link_rates(link: Link) -> list[str]:
    """Return the cells of a link's rates: one way, both ways, what large messages reach, and what two alone have."""
    summed = f"; sums in the switch {link_fact(link.id, 'reached_in_switch')}" if link.reached_in_switch else ""
    return [
        link_fact(link.id, "one_way"),
        link_fact(link.id, "both_ways"),
        link_fact(link.id, "reached") + summed if link.reached else "–",
        link_fact(link.id, "pair") if link.pair else "–",
    ]


def link_table(*names: str, caption: str = "What links carry") -> str:
    """Return links with what they carry one way and both ways, and what large messages were measured to reach."""
    rows = []
    for name in names:
        link = catalog().link(name)
        rows.append(
            [
                text(link.name),
                *link_rates(link),
                text(link.note.partition(". ")[0].partition(" (http")[0].rstrip(".")) if link.kind == "device" else "–",
            ]
        )
    headings = ("Link", *RATES, "What it is")
    kept = [column for column in range(len(headings)) if column < 3 or any(row[column] != "–" for row in rows)]
    shown = [[row[column] for column in kept] for row in rows]
    words = [place for place, column in enumerate(kept) if column in (0, 5)]
    return block(table([headings[column] for column in kept], shown, caption=caption, words=words))


def pair_table(*pairs: tuple[str, str], megabytes: int = 64) -> str:
    """Return what is between two cards of a kind, with a link or "" for PCIe, and the time of an all-reduce."""
    rows = []
    for name, link_name in pairs:
        card = catalog().accelerator(name)
        group = joined(card, ranks=2, link=catalog().link(link_name) if link_name else None)
        way = transfer(ALL_REDUCE, joined=group, message_bytes=megabytes * MB)
        asked = {"traffic": ALL_REDUCE, "accelerator": card.id, "accelerators": 2, "message_mb": megabytes}
        if link_name:
            asked["link"] = link_name
        rows.append(
            [
                device(card),
                text(group.link.name),
                text(WAYS[group.kind]),
                show_gb_per_s(group.peak),
                show_gb_per_s(group.both_ways),
                show_gb_per_s(group.rate),
                calculator_link("interconnect", show_seconds(way.seconds), **asked),
            ]
        )
    headings = (
        "Two of",
        "Joined by",
        "Way",
        "One way",
        "Both ways",
        "Reached, one way",
        f"All-reduce of {megabytes} MB",
    )
    return block(table(headings, rows, caption="Two cards, and what is between them", words=3))


def linked_table() -> str:
    """Return who is linked with whom: each link between devices, who has it, how many it joins, and its rates."""
    rows = []
    for link in catalog().links():
        if link.accelerators:
            devices = [catalog().accelerator(name) for name in link.accelerators]
            joins = sorted({most_joined(record, link) for record in devices if record.quantity("link_domain")})
            names = ", ".join(text(record.name) for record in devices)
            shown = " or ".join(f"{count:,}" for count in joins) or "–"
            rows.append([text(link.name), names, shown, *link_rates(link)])
    headings = ("Link", "Devices that have it", "Joins", *RATES)
    return block(table(headings, rows, caption="Who is linked with whom", words=2))


def peer_table(*names: str) -> str:
    """Return what decides the way between two cards of a kind: a link of their own, PCIe, and peer access."""
    rows = []
    for name in names:
        card = catalog().accelerator(name)
        link = own_link(card)
        rows.append(
            [
                device(card),
                text(card.released),
                text(link.name if link else "none"),
                text(card.text("pcie")),
                text(peer_words(card)),
                show_gb_per_s(joined(card, ranks=2, link=link).peak),
            ]
        )
    headings = ("Card", "Released", "Link of its own", "PCIe", "May read another's memory", "One way, at best")
    return block(table(headings, rows, caption="What two cards of a kind have between them", words=5))


def peer_words(card: Accelerator) -> str:
    """Return whether a card may read another's memory, in words."""
    said = {"yes": "yes", "no": "no", "bridge only": "over the bridge only", "": "not stated"}
    return said[card.text("peer_to_peer")]


def exchange_table(*pairs: tuple[str, str], model: str = "llama-3.1-8b", tokens: int = 2048, devices: int = 2) -> str:
    """Return what each way of sharing a model sends, and how it compares to computing on cards with a link each."""
    cards = [(catalog().accelerator(name), link) for name, link in pairs]
    kinds = (
        ("Tensor parallel, a prompt", {"traffic": "tensor", "tokens": tokens}),
        ("Tensor parallel, one token", {"traffic": "tensor", "tokens": 1}),
        ("Pipeline, a prompt", {"traffic": "stages", "tokens": tokens}),
        ("Data parallel, a training step", {"traffic": "gradients", "tokens": tokens}),
        ("ZeRO-3 or FSDP, a training step", {"traffic": "sharded", "tokens": tokens}),
    )
    rows = []
    for words, asked in kinds:
        cells = [text(words)]
        for index, (card, link) in enumerate(cards):
            fields = {**asked, "model": model, "accelerator": card.id, "accelerators": devices}
            if link:
                fields["link"] = link
            report = CALCULATORS["interconnect"].report({name: str(value) for name, value in fields.items()})
            if index == 0:
                cells.append(size_decimal(sent_bytes(report)))
            share = over_computing(report)
            beside = f" ({100 * share:.0f} %)" if share else ""
            cells.append(calculator_link("interconnect", show_seconds(report["seconds"]), **fields) + beside)
        rows.append(cells)
    heads = [
        f"{devices} × {card.name}, {catalog().link(link).name if link else joined(card, ranks=devices).link.name}"
        for card, link in cards
    ]
    record = catalog().model(model)
    caption = f"{record.name}, {show_number(tokens, 1)} tokens: time of sending, and beside it the share of computing"
    return block(table(("Shared by", "Each card sends", *heads), rows, caption=caption))
