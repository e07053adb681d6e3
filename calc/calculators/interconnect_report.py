"""What an interconnect carries: the report of a calculator, from its fields to messages, times and warnings."""

from typing import Any

from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_total
from calc.calculators.inputs import Report
from calc.catalog import catalog
from calc.catalog.records import Accelerator, Link
from calc.derivation import INFO, WRONG, Step, Warn
from calc.errors import ScenarioError
from calc.performance.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, SEND
from calc.performance.fabric import (
    HOST,
    NETWORK,
    STAGED,
    Joined,
    is_bridge,
    joined,
    most_joined,
    ports_text,
    usual_link,
)
from calc.performance.messages import EXPERTS, SHARINGS, STAGES, Messages, arithmetic, messages
from calc.performance.transfers import Transfer, between_s, transfer
from calc.scenario.model import read_model
from calc.units import GB, MB, show_count, show_number

# What the same messages are timed over for comparison.
COMPARED = (
    "pcie-3-x16",
    "pcie-4-x16",
    "pcie-5-x16",
    "nvlink-3-bridge",
    "nvlink-3",
    "nvlink-4",
    "nvlink-5",
    "ethernet-100",
)
FORMULAS = {
    ALL_REDUCE: r"\frac{2 (n - 1)}{n} \cdot M",
    ALL_GATHER: r"\frac{n - 1}{n} \cdot M",
    REDUCE_SCATTER: r"\frac{n - 1}{n} \cdot M",
    ALL_TO_ALL: r"\frac{n - 1}{n} \cdot M",
    SEND: "M",
}


def answer(fields: dict[str, Any]) -> Report:
    """Return what is sent and how long it takes, with the working. Raises ScenarioError for a field."""
    accelerator, devices, link, network = devices_of(fields)
    model = read_model(fields["model"], catalog())
    architecture = model.architecture
    sharing, tokens = str(fields["traffic"]), int(fields["tokens"])
    if sharing == EXPERTS and not architecture.experts:
        raise ScenarioError("traffic", f"{model.name} has no experts to divide")
    if sharing == STAGES and devices > architecture.layer_count:
        raise ScenarioError("accelerators", f"must not be more than the {architecture.layer_count} layers as stages")
    listed = listed_messages(fields, architecture, devices)
    sent = sends(listed, accelerator, devices, link, network=network)
    work = None
    if sharing in SHARINGS:
        work = arithmetic(sharing, architecture=architecture, accelerator=accelerator, devices=devices, tokens=tokens)
    seconds = sum(part.repeats * way.seconds for part, way in sent)
    steps = [step for part, way in sent for step in message_steps(part, way)]
    if len(sent) > 1:
        numbers = " + ".join(f"{part.repeats:,} × {show_number(way.seconds, 4)}" for part, way in sent)
        steps.append(Step("All messages", r"\sum c \cdot t", numbers, seconds, unit="s", source="nccl-tuning"))
    if work:
        steps.append(Step("Computing", r"\sum n \cdot t", work.numbers, work.seconds, unit="s", source="roofline"))
    return {
        "scenario": {**fields, "accelerator": accelerator.id, "accelerators": devices},
        "model": {"id": model.id or None, "name": model.name, "parameters_total": parameters_total(architecture)},
        "speed": None,
        "sent": sent,
        "seconds": seconds,
        "compute_seconds": work.seconds if work else None,
        "others": others(listed, accelerator, devices, sent[0][1].joined),
        "steps": [step.as_dict() for step in steps],
        "warnings": [warning.as_dict() for warning in warnings(accelerator, link, sent[0][1].joined)],
    }


def devices_of(fields: dict[str, Any]) -> tuple[Accelerator, int, Link | None, Link | None]:
    """Return the device, how many, and the links that were chosen, None for the usual ones."""
    facts = catalog()
    if fields.get("machine"):
        box = facts.machine(str(fields["machine"]))
        if box.devices < 2:
            raise ScenarioError("machine", f"{box.name} has no two devices that could send each other anything")
        network = facts.link(box.network) if box.network else None
        return facts.accelerator(box.accelerator), box.devices, facts.link(box.link) if box.link else None, network
    accelerator = facts.accelerator(str(fields["accelerator"]))
    link, network = (facts.link(str(fields[name]), name) if fields.get(name) else None for name in ("link", "network"))
    if network is not None and network.kind != "network":
        raise ScenarioError("network", f"{network.name} does not join machines")
    return accelerator, int(fields["accelerators"]), link, network


def listed_messages(fields: dict[str, Any], architecture: Architecture, devices: int) -> list[Messages]:
    """Return the messages of the model, or the one that the reader asked for."""
    traffic = str(fields["traffic"])
    if traffic in SHARINGS:
        return messages(
            traffic,
            architecture=architecture,
            devices=devices,
            tokens=int(fields["tokens"]),
            element_bytes=float(fields["element_bytes"]),
        )
    size = fields.get("message_mb")
    if size is None:
        raise ScenarioError("message_mb", "is missing: how large is the message?")
    return [
        Messages(traffic, 1, float(size) * MB, "M", substituted=f"{float(size):g} × 1,000,000", source="nccl-tests")
    ]


def sends(
    listed: list[Messages], accelerator: Accelerator, devices: int, link: Link | None, network: Link | None
) -> list[tuple[Messages, Transfer]]:
    """Return each of the messages with the way it takes."""
    group = joined(accelerator, ranks=devices, link=link, network=network)
    return [(part, transfer(part.operation, joined=group, message_bytes=part.message_bytes)) for part in listed]


def others(
    listed: list[Messages], accelerator: Accelerator, devices: int, group: Joined
) -> list[tuple[str, float, float]]:
    """Return other links with their rate one way and the seconds of the same messages."""
    found = []
    for name in COMPARED:
        link = catalog().link(name)
        if link == group.link or (is_bridge(link) and devices > most_joined(accelerator, link)):
            continue
        sent = sends(listed, accelerator, devices, link, network=None)
        found.append((link.name, link.bytes_per_s_one_way, sum(part.repeats * way.seconds for part, way in sent)))
    return found


def sent_bytes(report: Report) -> float:
    """Return what each device sends in all messages together."""
    return float(sum(part.repeats * way.sent for part, way in report["sent"]))


def over_computing(report: Report) -> float | None:
    """Return the time of sending over that of computing; None where nothing is computed or its rate is not known."""
    compute = report["compute_seconds"]
    return float(report["seconds"] / compute) if compute else None


def share_of_pass(report: Report) -> float:
    """Return the share of a pass that is sending, where it waits for that: all of it where nothing is computed."""
    return float(report["seconds"] / (report["seconds"] + (report["compute_seconds"] or 0.0)))


def message_steps(part: Messages, way: Transfer) -> list[Step]:
    """Return the steps from a message's size to the seconds of all of its kind."""
    ranks, name, source = way.joined.ranks, part.operation, way.protocol.source
    named = f"{'an' if name[0] == 'a' else 'a'} {name}"
    size = show_count(part.message_bytes)
    factor = {"M": size, FORMULAS[ALL_REDUCE]: f"2 × {ranks - 1} / {ranks} × {size}"}
    sent = factor.get(FORMULAS[name], f"{ranks - 1} / {ranks} × {size}")
    peak, reached = way.joined.ring_peak / GB, rate_source(way)
    seconds = f"{way.waiting:.4g} + {show_count(way.sent)} / {way.rate:.4g}"
    formula = r"t_{\text{wait}} + \frac{B}{\text{rate}}"
    steps = [
        Step(f"Message of {named}", part.formula, part.substituted, part.message_bytes, unit="B", source=part.source),
        Step("Bytes that each device sends", FORMULAS[name], sent, way.sent, unit="B", source="nccl-tests"),
        Step(
            "Rate with large messages",
            r"e \cdot BW",
            f"{way.rate / GB / peak:.3f} × {peak:g}",
            way.rate / GB,
            unit="GB/s",
            source=reached,
        ),
        waiting_step(way),
        Step(f"Seconds of {named}", formula, seconds, way.seconds, unit="s", source=source),
    ]
    if part.repeats != 1:
        numbers = f"{part.repeats:,} × {show_number(way.seconds, 4)}"
        steps.append(
            Step("Seconds of all of them", r"c \cdot t", numbers, part.repeats * way.seconds, unit="s", source=source)
        )
    return steps


def waiting_step(way: Transfer) -> Step:
    """Return the step of what a message waits for, in microseconds."""
    waits = way.protocol.waits
    numbers = f"{waits['base'] * 1e6:g}"
    inside, between = waits.get(way.joined.kind, 0.0), between_s(way.joined, way.protocol)
    for count, seconds in ((way.steps, inside), (way.steps_between, between)):
        if count:
            numbers += f" + {count} × {seconds * 1e6:g}"
    name, formula = f"Waiting ({way.protocol.name})", r"t_0 + s \cdot t_{\text{step}}"
    return Step(name, formula, numbers, way.waiting * 1e6, unit="µs", source=way.protocol.source)


def rate_source(way: Transfer) -> str:
    """Return where the share is from that large messages reach."""
    group = way.joined
    link, kind = (group.link, group.kind) if group.network is None else (group.network, NETWORK)
    field = "reached_by_host" if kind == STAGED else "reached"
    if way.protocol.algorithm == "switch":
        field = "reached_in_switch"
    fact = getattr(link, field)
    found: str = catalog().coefficient(f"link-share-{kind}").source if fact is None else fact.source
    return found


def warnings(accelerator: Accelerator, link: Link | None, group: Joined) -> list[Warn]:
    """Return what makes the way slow, or is not possible with these devices."""
    found = []
    if link is not None and is_bridge(link) and group.link != link:
        message = f"a bridge joins {most_joined(accelerator, link)} cards: {group.ranks} of them send over PCIe"
        found.append(Warn("bridge-joins-two", message, "link"))
    if group.link.kind == "device" and accelerator.id not in group.link.accelerators:
        message = f"{accelerator.name} has no {group.link.name}: this is what it would be if it had"
        found.append(Warn("link-not-on-device", message, "link", WRONG))
    if group.kind == STAGED:
        message = (
            f"the driver lets no {accelerator.name} read another's memory over PCIe: messages go through the host's,"
            " and reach less of the link"
        )
        found.append(Warn("no-peer-to-peer", message, "accelerator"))
    if group.network is not None and group.inside > 1:
        message = (
            f"{group.ranks} do not stand in one machine: {group.inside} are joined by {group.link.name},"
            f" and {group.machines} machines by {group.network.name}, {ports_text(group)}"
        )
        found.append(Warn("over-network", message, "accelerators", INFO))
    if group.kind in (HOST, STAGED) and link is None and is_bridge_sold(accelerator):
        message = f"{accelerator.name} takes an NVLink bridge, which is bought apart: choose it as the link to see it"
        found.append(Warn("link-needs-bridge", message, "link", INFO))
    return found


def is_bridge_sold(accelerator: Accelerator) -> bool:
    """Return whether there is a bridge for a card."""
    return "bridge" in accelerator.text("link") and usual_link(accelerator).kind == "host"
