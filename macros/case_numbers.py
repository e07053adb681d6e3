"""Numbers of case studies: models that share a device, speed-ups, times, cards and bits; each opens its working."""

from typing import Any

from calc import estimate
from calc.architecture.parameters import parameters_multiplied, parameters_total
from calc.calculators import CALCULATORS
from calc.calculators.html import element
from calc.calculators.rendering import part_bytes
from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.memory.effective_bits import bits_per_weight
from calc.performance.paces import passes_within
from calc.performance.token_pass import product_flops
from calc.planning.cost import newest_electricity
from calc.planning.ownership import energy_cost, site_kwh
from calc.planning.rules_of_thumb import devices_by_memory
from calc.scenario.model import known_architecture
from calc.units import GB, show_count, show_flop, show_number, show_seconds, show_tokens_per_s
from macros.inline import opening, step, steps_inline

__all__ = ["bits_in", "cards", "electricity", "gained", "operations", "passes", "shared", "timed"]

Report = dict[str, Any]
OF_ALL = ("left_bytes", "available_bytes")
OF_ONE = ("weights", "cache", "working", "context", "needed", "kept", "claimed")
COUNTS = ("cache_tokens", "longest_context", "most_sequences")


def shared(what: str, of: int = 1, **inputs: object) -> str:
    """Return a number of models that share a device, as the calculator *Several models on one card* has it, inline.

    `what`: "left_bytes" or "available_bytes" of the device, or of the model `of` (1 is the first) "weights", "cache",
    "working", "context", "needed", "kept", "claimed", "cache_tokens", "longest_context", "most_sequences", "fraction".
    """
    report = CALCULATORS["sharing"].report({name: str(value) for name, value in inputs.items()})
    if what in OF_ALL:
        return opening(size_gib(report[what]), working(report))
    tenant = report["tenants"][of - 1]
    if what in OF_ONE:
        shown = size_gib(tenant[what])
    elif what in COUNTS:
        shown = show_count(tenant[what])
    elif what == "fraction":
        shown = f"{tenant['fraction']:.2f}"
    else:
        raise ValueError(
            f"{what!r} is not a number of it; there are {', '.join((*OF_ALL, *OF_ONE, *COUNTS))}, fraction"
        )
    return opening(shown, working(report))


def gained(what: str, **inputs: object) -> str:
    """Return a number of a speed-up, as the calculator *What is a speed-up worth?* has it, inline.

    `what`: "factor", "reduction", "saved_hours", or "before" or "after" with "a_day", such as "after.a_day".
    """
    report = CALCULATORS["speed-up"].report({name: str(value) for name, value in inputs.items()})
    where, _, key = what.partition(".")
    value = report[where][key] if key else report[where]
    shown = f"{100 * value:.1f} %" if what == "reduction" else show_number(value)
    return opening(shown, working(report))


def working(report: Report) -> str:
    """Return the steps of a report for a number that opens."""
    return element("span", steps_inline(report["steps"]))


def timed(what: str, **scenario: object) -> str:
    """Return a speed or a time of a scenario's report, its typical value, inline; it opens the working of the speed.

    `what` is a name of the report's `speed`, such as "decode_tokens_per_s" or "time_to_first_token_s".
    """
    report: Report = estimate(scenario)
    value = report["speed"][what]["typical"]
    shown = show_seconds(value) if what.endswith("_s") and "_per_s" not in what else show_tokens_per_s(value)
    return opening(shown, working({"steps": [step for step in report["steps"] if step["unit"] in ("s", "tokens/s")]}))


def passes(seconds: float, **scenario: object) -> str:
    """Return how many passes of a scenario fit into some seconds, one after the other, inline."""
    report: Report = estimate(scenario)
    each = report["speed"]["time_to_first_token_s"]["typical"]
    count = passes_within(seconds, pass_s=each)
    return opening(
        show_count(count), step("Passes", r"\frac{t}{t_{\text{pass}}}", f"{seconds:g} / {each:.4g}", str(count))
    )


def operations(model: str, tokens: int = 1) -> str:
    """Return the operations of a pass over some tokens, two for each parameter that is multiplied with, inline."""
    used = parameters_multiplied(known_architecture(catalog(), catalog().model(model).id))
    shown = show_flop(product_flops(used, tokens=tokens))
    return opening(shown, step("Operations", r"2 N T", f"2 × {show_count(used)} × {show_count(tokens)}", shown))


def cards(accelerator: str, gb: float = 0, reserve: float = 0, **scenario: object) -> str:
    """Return how many devices hold some GB, or the weights of a scenario, by their memory alone, inline.

    `reserve` is the share of each device that is left to other things. No device is as useful as that: caches, working
    memory and an even division come on top.
    """
    record = catalog().accelerator(accelerator)
    size = gb * GB if gb else part_bytes(estimate(scenario), "weights")
    count = devices_by_memory(size, capacity_bytes=record.capacity_bytes, reserve=reserve)
    formula = (
        r"\lceil M / M_{\text{device}} \rceil" if not reserve else r"\lceil M / ((1 - r) M_{\text{device}}) \rceil"
    )
    room = (
        show_count(record.capacity_bytes)
        if not reserve
        else f"((1 − {reserve:g}) × {show_count(record.capacity_bytes)})"
    )
    return opening(
        show_count(count), step(f"{record.name} by memory alone", formula, f"{show_count(size)} / {room}", str(count))
    )


def bits_in(model: str, gb: float) -> str:
    """Return the bits that each parameter of a model may take, so that all of them are some GB, inline."""
    record = catalog().model(model)
    count = parameters_total(known_architecture(catalog(), record.id))
    shown = f"{bits_per_weight(size_bytes=gb * GB, parameters=count):.2f} bits"
    numbers = f"8 × {show_count(gb * GB)} / {show_count(count)}"
    return opening(shown, step(f"Bits for each parameter of {record.name}", r"\frac{8 M}{N}", numbers, shown))


def electricity(accelerator: str, hours: float) -> str:
    """Return the energy of some hours at a device's full power and what it costs at the newest price, inline."""
    record = catalog().accelerator(accelerator)
    watts = record.quantity("power")
    price = newest_electricity(catalog())
    if watts is None or price is None:
        raise ValueError(f"{record.id} has no power, or the catalogue no price of electricity")
    energy = site_kwh(watts=watts, hours=hours)
    cost = energy_cost(energy, each_kwh=price.each)
    shown = f"{show_number(energy)} kWh, {cost:,.2f} {price.currency}"
    numbers = f"{show_number(watts)} × {hours:g} / 1,000 × {price.each:g} ({price.region}, {price.checked})"
    return opening(shown, step("Electricity", r"P \cdot t \cdot c", numbers, shown))
