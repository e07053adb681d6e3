"""The text of what an interconnect carries: the time of the messages, what of the link they reach, and other links."""

from calc.calculators.html import element, table, text
from calc.calculators.inputs import Report
from calc.calculators.interconnect_report import over_computing, share_of_pass
from calc.calculators.rendering import answer_html, facts_html, spoken
from calc.calculators.sizes import size_decimal
from calc.catalog import catalog
from calc.performance.fabric import STAGED, Joined, ports_text
from calc.performance.messages import SHARDED, SHARINGS, TRAINED
from calc.units import show_count, show_gb_per_s, show_seconds

ALGORITHMS = {
    "ring": "around a ring: each device sends to the next one, piece by piece",
    "tree": "up and down a tree of machines",
    "switch": "in the switch, which adds up what it is sent and hands out the sum",
}


def way_text(group: Joined) -> str:
    """Return what joins the devices, in words."""
    over = f"over {group.link.name}"
    if group.kind == STAGED:
        over += " by way of the host's memory"
    if group.network is not None:
        between = f"{group.network.name}, {ports_text(group)}"
        return f"over {between}" if group.inside == 1 else f"{over}, and between machines over {between}"
    return over


def headline(report: Report) -> tuple[str, str]:
    """Return the answer in a headline and a sentence."""
    group, name = report["sent"][0][1].joined, catalog().accelerator(report["scenario"]["accelerator"]).name
    traffic = report["scenario"]["traffic"]
    what = (
        {True: "a training step", False: "a forward pass"}[traffic in TRAINED] if traffic in SHARINGS else "a message"
    )
    rest = f"of sending in {what}, between {show_count(group.ranks)} × {name} {way_text(group)}."
    share = share_text(report)
    return f"{show_seconds(report['seconds'])}", rest + (f" {share}" if share else "")


def share_text(report: Report) -> str:
    """Return how sending compares to computing; empty where nothing is computed or its rate is not known."""
    compute, traffic, beside = report["compute_seconds"], report["scenario"]["traffic"], over_computing(report)
    if beside is None:
        return ""
    if traffic in TRAINED:
        share = f"{100 * beside:.0f} % of the time of computing"
        hidden = "it can hide behind it" if report["seconds"] < compute else "no overlap can hide all of it"
        return f"That is {share}: {hidden}."
    return f"Computing takes {show_seconds(compute)}, so sending is {100 * share_of_pass(report):.0f} % of the pass."


def messages_html(report: Report) -> str:
    """Return the table of messages."""
    rows = [
        [
            text(part.operation),
            show_count(part.repeats),
            size_decimal(part.message_bytes),
            size_decimal(part.repeats * way.sent),
            show_seconds(way.seconds),
            show_seconds(part.repeats * way.seconds),
        ]
        for part, way in report["sent"]
    ]
    heads = ("Operation", "How many", "Size of one", "Each GPU sends", "Time of one", "Time of all")
    return table(heads, rows, caption="What is sent")


def reached_html(report: Report) -> str:
    """Return what of the link is reached, as a list of facts."""
    items = []
    for part, way in report["sent"]:
        reached, peak = way.bus_rate, way.joined.ring_peak
        items.append(
            f"{text(part.operation.capitalize())} reaches <strong>{show_gb_per_s(reached)}</strong> of the"
            f" {show_gb_per_s(peak)} that the link carries one way ({100 * reached / peak:.0f} %);"
            f" it takes at least {show_seconds(way.least_seconds)}."
        )
        items.append(f"It goes {ALGORITHMS[way.protocol.algorithm]} ({text(way.protocol.name)}).")
        share = way.waiting / way.seconds if way.seconds else 0.0
        items.append(f"Of its time <strong>{100 * share:.0f} %</strong> are waiting, whatever the link carries.")
    return facts_html(dict.fromkeys(items))


def others_html(report: Report) -> str:
    """Return the same messages over other links."""
    rows = [
        [text(name), show_gb_per_s(rate), show_seconds(seconds), f"{seconds / report['seconds']:.2g} ×"]
        for name, rate, seconds in report["others"]
    ]
    caption = "The same over other links, if the GPUs had them"
    shown = table(("Link", "One way", "Time of all", "Against yours"), rows, caption=caption)
    return element("div", shown, class_="calc-compared")


def assumptions(report: Report) -> list[str]:
    """Return what the answer takes for granted."""
    traffic = report["scenario"]["traffic"]
    found = [
        "Rates are one way. Large messages reach the share that was measured on this link, or on others of its kind.",
        "What a message waits for is what NCCL expects of its own protocols; the quickest is taken.",
        "Messages go one after the other, and nothing else is on the link.",
    ]
    if traffic in SHARINGS:
        found.append("Computing takes as long as the products of matrices do one after the other, without attention.")
    if traffic == SHARDED:
        found.append("Parameters are gathered twice, for the forward and for the backward pass, a layer at a time.")
    return found


def render(report: Report) -> str:
    """Return the answer's HTML."""
    line = (None, *headline(report))
    facts = messages_html(report) + reached_html(report) + others_html(report)
    return answer_html(line, report, facts=facts, assumptions=assumptions(report))


def row(report: Report) -> tuple[str, ...]:
    """Return the cells of the table of presets."""
    way, share = report["sent"][0][1], over_computing(report)
    beside = "–" if share is None else f"{100 * share:.0f} %"
    return show_seconds(report["seconds"]), show_gb_per_s(way.bus_rate), beside


status = spoken(headline)
