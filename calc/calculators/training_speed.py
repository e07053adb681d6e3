"""What an answer says of a training run's speed: figures with ranges, where a step goes, time and cost."""

from calc.calculators.html import element, table, text
from calc.calculators.inputs import Amount, Number, Report
from calc.calculators.prices import price_text
from calc.calculators.rendering import facts_html, measured_text
from calc.calculators.speed_answer import per_second
from calc.scenario.reader import MOST_PRICE
from calc.units import HOUR_S, show_count, show_large_count, show_number, show_seconds, show_tokens_per_s

ENDS = ("low", "typical", "high")
SHARES = {
    "compute": "Arithmetic: matrices and attention",
    "memory": "Moving bytes between them",
    "links": "Waiting for links",
    "launch": "Waiting for the host, and gaps",
    "pipeline": "Waiting for other stages",
    "optimizer": "Optimizer",
}
BOUNDS = {
    "compute": "arithmetic: a higher rate, FP8 or less recomputation makes it faster",
    "memory": "moving bytes between matrix products: fused kernels or more bandwidth make it faster",
    "links": "what the devices send each other: larger micro-batches, more of them in a step, or faster links help",
    "launch": "the host, which launches kernels: larger micro-batches or compilation make it faster",
    "pipeline": "stages that wait: more micro-batches in a step or fewer stages make it faster",
    "optimizer": "the optimizer: more tokens in a step, or states on the device, make it faster",
}
TOKENS = Number("training_tokens", "Tokens of the run", "All tokens that it sees.", "10,000,000", least=1, most=10**15)
NETWORK = Amount(
    "network_gbit_per_s",
    "Network, Gb/s of a GPU",
    "Between machines, one way. Empty: as in the machines that it is sold in.",
    "",
    least=0.01,
    most=100_000,
)
PRICE = Amount(
    "price_per_hour",
    "Price of a GPU for an hour",
    "In US dollars. Empty: the catalogue's rent, with its day.",
    "",
    least=0,
    most=MOST_PRICE,
)
ELECTRICITY = Amount(
    "electricity_per_kwh",
    "Price of a kWh",
    "In US dollars. Empty: the newest in the catalogue, with its day.",
    "",
    least=0,
    most=MOST_PRICE,
)


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{show_number(100 * share)} %"


def plain(value: float) -> str:
    """Return an amount."""
    return show_number(value)


def figures_html(report: Report) -> str:
    """Return the table of speeds and times: low, typical and high."""
    speed = report["speed"]
    devices = report["scenario"]["accelerators"]
    together = {end: devices * value for end, value in speed["tokens_per_s_per_device"].items()}
    duration = speed["duration_s"]
    rows = [
        ("Tokens, each GPU", per_second, speed["tokens_per_s_per_device"]),
        *([("Tokens, all GPUs", per_second, together)] if devices > 1 else []),
        ("A step", show_seconds, speed["step_s"]),
        ("Model FLOPs utilization", percent, speed["model_flops_utilization"]),
        ("Model TFLOPS, each GPU", plain, speed["tflops_per_device"]),
        ("… with what is computed twice", plain, speed["hardware_tflops_per_device"]),
    ]
    if duration:
        rows.append(("The run", show_seconds, duration))
        hours = {end: devices * value / HOUR_S for end, value in duration.items()}
        rows.append(("GPU-hours", plain, hours))
    body = [[text(name), *(show(values[end]) for end in ENDS)] for name, show, values in rows]
    return table(("Speed or time", "Low", "Typical", "High"), body, caption="Speed and time", class_="calc-parts")


def shares_html(report: Report) -> str:
    """Return a bar for each thing that a step goes to, the largest marked in words."""
    speed = report["speed"]
    seconds, rows = speed["step_s"]["typical"], ""
    largest = max(speed["step_shares"].values())
    for name, share in speed["step_shares"].items():
        if share < 0.0005:
            continue
        most = name == speed["bound_by"]
        width = f"{100 * share / largest:.2f}%"
        kind = "part-peak" if most else "part-phase"
        bar = element("rect", x="0", y="0", width=width, height="16", class_=kind)
        label = text(f"{SHARES[name]} {show_number(100 * share)} %, {show_seconds(share * seconds)}")
        label = element("strong", f"{label}, the most") if most else label
        rows += element("li", label + element("svg", bar, width="100%", height=16, aria_hidden="true"))
    title = element("p", text(f"A step takes {show_seconds(seconds)}. It goes to:"))
    return element("div", title + element("ul", rows, class_="calc-phase-list"), class_="calc-bars calc-phases")


def run_facts(report: Report) -> list[str]:
    """Return what else is said of a run, as items of a list."""
    speed, scenario = report["speed"], report["scenario"]
    items = [f"Bound by {BOUNDS[speed['bound_by']]}."]
    items.append(f"Tokens of a step, all GPUs: <strong>{show_count(speed['step_tokens'])}</strong>")
    if scenario.get("training_tokens"):
        steps = -(-scenario["training_tokens"] // speed["step_tokens"])
        items.append(f"Steps of the run: <strong>{show_count(steps)}</strong>")
    return items


def cost_html(report: Report) -> str:
    """Return the table of what the run costs, or a million tokens of it, with the prices that it rests on."""
    cost, tokens = report["cost"], report["scenario"].get("training_tokens")
    if not cost:
        return ""
    of = "per_run" if tokens else "per_million_tokens"
    whole = "The run" if tokens else "A million tokens"
    rows, notes = [], []
    for name, title in (("rent", "Rent"), ("energy_kwh", "Energy"), ("electricity", "Electricity")):
        part = cost[name]
        if part:
            unit = part["price"]["currency"] if "price" in part else "kWh"
            rows.append([f"{title}, {unit}", *(show_number(part[of][end]) for end in ENDS)])
    if cost["rent"]:
        price = cost["rent"]["price"]
        hourly = f"{show_number(price['each'])} {price['currency']}"
        notes.append(f"Rent of a GPU for an hour: <strong>{hourly}</strong> ({price_text(price)})")
        all_of = f"{show_number(cost['rent']['per_hour'])} {price['currency']}"
        notes.append(f"All GPUs for an hour: <strong>{all_of}</strong>")
    else:
        notes.append("The catalogue has no rent of this device for an hour: put in your own.")
    if not cost["energy_kwh"]:
        notes.append("The maker states no power of this device: its energy is not known.")
    if cost["electricity"]:
        price = cost["electricity"]["price"]
        each = f"{show_number(price['each'])} {price['currency']}"
        notes.append(f"A kWh: <strong>{each}</strong> ({price_text(price)})")
    caption = f"Cost of {whole[0].lower()}{whole[1:]}"
    shown = table((whole, "Low", "Typical", "High"), rows, caption=caption, class_="calc-parts") if rows else ""
    return shown + facts_html(notes)


def speed_html(report: Report) -> str:
    """Return speed, time and cost as a part that follows a memory answer."""
    unless = "" if report["memory"]["fits"] else "If it did fit: "
    heading = element("p", element("strong", text(unless + sentence(report))))
    if not report["speed"]:
        return heading
    facts = facts_html([*run_facts(report), measured_text(report, "speed")])
    return heading + figures_html(report) + facts + cost_html(report)


def sentence(report: Report) -> str:
    """Return how fast the run is in a sentence, and how long it takes."""
    speed, tokens = report["speed"], report["scenario"].get("training_tokens")
    if not speed:
        return "No source has the rate at which this device computes, and no speed follows."
    rate = show_tokens_per_s(speed["tokens_per_s_per_device"]["typical"])
    share = percent(speed["model_flops_utilization"]["typical"])
    if not tokens:
        return f"{rate} on each GPU, {share} of its rate."
    duration = show_seconds(speed["duration_s"]["typical"])
    return f"{show_large_count(tokens)} tokens take {duration}: {rate} on each GPU, {share} of its rate."


def speed_assumptions() -> list[str]:
    """Return what the time and cost of a run take for granted."""
    return [
        "Low and high: four of five measured runs lie between them.",
        "Steps follow each other without pauses: no checkpoints, no evaluation, no failures.",
        "Utilization counts the pairs of positions that attention's mask leaves, as Megatron-LM does; PaLM counts all.",
        "The devices draw what their boards may draw at most; rent and electricity are two ways to pay, for the GPUs "
        "alone.",
    ]
