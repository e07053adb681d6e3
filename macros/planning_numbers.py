"""Numbers of planning in prose: people, machines, power, heat, money; each opens to its working."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from calc import estimate
from calc.calculators import CALCULATORS
from calc.calculators.cost_answer import show_days
from calc.calculators.cost_report import hour_costs, life_hours, owned_costs, steps
from calc.calculators.html import element
from calc.calculators.rendering import source_html
from calc.catalog import catalog
from calc.performance.paces import last_token_s, tokens_per_s_each
from calc.planning.failures import days_between_failures, hours_between_checkpoints
from calc.planning.load import peak_of_all, replicas_needed, requests_per_s, sequences_at_once, useful_share
from calc.planning.ownership import break_even_busy_hours, break_even_share, site_kwh
from calc.planning.power import (
    air_m3_per_h,
    boards_watts,
    btu_per_h,
    circuit_watts,
    circuits_needed,
    machine_watts,
    machines_in_rack,
    supply_watts,
)
from calc.units import show_count, show_dollars, show_number, show_seconds, show_term, show_tokens_per_s
from macros.inline import Report, look_up, opening, step, steps_inline

__all__ = ["at_once", "copies", "flops_share", "host_memory", "owned", "planned", "served", "training_total"]

Given = float | str | tuple[float, str] | dict[str, Any]


class Plan(NamedTuple):
    """A formula of planning: its function, how it is written, the numbers put in, and the unit of the result."""

    of: Callable[..., float]
    name: str
    formula: str
    template: str
    unit: str


PLANS = {
    "requests": Plan(
        requests_per_s,
        "Requests a second",
        r"\frac{n \cdot r \cdot k}{3600}",
        "{users} × {requests_each_hour} × {peak_over_mean} / 3,600",
        unit="a second",
    ),
    "at_once": Plan(sequences_at_once, "Sequences at once", r"r \cdot W", "{requests_per_s} × {seconds_each}", unit=""),
    "replicas": Plan(
        replicas_needed,
        "Copies of the model",
        r"\lceil \frac{L}{f \cdot n} \rceil",
        "{sequences} / ({full_share} × {sequences_each}), rounded up",
        unit="",
    ),
    "machine_power": Plan(
        machine_watts,
        "Power from the socket",
        r"\frac{P_{\text{boards}} + P_{\text{rest}}}{e}",
        "({boards_w} + {rest_w}) / {supply_efficiency}",
        unit="W",
    ),
    "supply": Plan(
        supply_watts,
        "Rating of the supply",
        r"\frac{P_{\text{boards}} + P_{\text{rest}}}{s}",
        "({boards_w} + {rest_w}) / {loaded_share}",
        unit="W",
    ),
    "circuit": Plan(
        circuit_watts, "Power of a circuit", r"U \cdot I \cdot s", "{volts} × {amperes} × {continuous_share}", unit="W"
    ),
    "circuits": Plan(
        circuits_needed,
        "Circuits",
        r"\lceil \frac{P}{P_{\text{circuit}}} \rceil",
        "{watts} / {circuit_w}, rounded up",
        unit="",
    ),
    "heat": Plan(btu_per_h, "Heat", r"3.412 \cdot P", "3.412 × {watts}", unit="BTU/h"),
    "air": Plan(
        air_m3_per_h,
        "Air",
        r"\frac{P \cdot 3600}{1.204 \cdot 1006 \cdot d}",
        "{watts} × 3,600 / (1.204 × 1,006 × {warmer_k})",
        unit="m³/h",
    ),
    "energy": Plan(
        site_kwh, "Energy", r"\frac{PUE \cdot P \cdot t}{1000}", "{pue} × {watts} × {hours} / 1,000", unit="kWh"
    ),
    "failures": Plan(
        days_between_failures,
        "Days between failures",
        r"\frac{t \cdot n}{k \cdot n_{\text{own}}}",
        "{days} × {devices} / ({failures} × {own_devices})",
        unit="days",
    ),
    "checkpoints": Plan(
        hours_between_checkpoints,
        "Hours between checkpoints",
        r"\sqrt{2 \cdot w \cdot m}",
        "√(2 × {write_minutes} / 60 × {days_between_failures} × 24)",
        unit="hours",
    ),
    "in_rack": Plan(
        machines_in_rack,
        "Machines in a rack",
        r"\lfloor \frac{P_{\text{rack}}}{P_{\text{machine}}} \rfloor",
        "{rack_w} / {machine_w}, rounded down",
        unit="",
    ),
}


def settled(given: Given) -> float:
    """Return a number that a page gives, or the power of a machine or of so many accelerators, or another plan's."""
    if isinstance(given, dict):
        return PLANS[given["of"]].of(**{name: settled(value) for name, value in given.items() if name != "of"})
    if isinstance(given, str):
        power = catalog().machine(given).quantity("power")
    elif isinstance(given, tuple):
        each = catalog().accelerator(given[1]).quantity("power")
        power = boards_watts(given[0], each_w=each) if each else None
    else:
        return given
    if power is None:
        raise ValueError(f"no power of {given!r} is in the catalogue")
    return power


def planned(name: str, **given: Given) -> str:
    """Return a number of planning, inline; a reader who presses it sees the formula with the numbers put in.

    `name` is one of `PLANS`, `given` what its function takes. In place of watts may stand the name of a machine, or
    a number of accelerators and their name: `(2, "rtx-4090")`. A number may also be what another plan gives:
    `{"of": "circuit", "volts": 120, "amperes": 15}`.
    """
    if name not in PLANS:
        raise ValueError(f"{name!r} is not a number of planning; there are {', '.join(PLANS)}")
    plan = PLANS[name]
    defaults = {
        key: parameter.default
        for key, parameter in inspect.signature(plan.of).parameters.items()
        if parameter.default is not parameter.empty
    }
    values = {key: settled(value) for key, value in given.items()}
    value = plan.of(**values)
    shown = show_count(value) if float(value).is_integer() else show_number(value)
    result = f"{shown} {plan.unit}".strip()
    numbers = plan.template.format(**{key: show_term(number) for key, number in (defaults | values).items()})
    named = [catalog().accelerator(given[1]) for given in given.values() if isinstance(given, tuple)]
    found = step(plan.name, plan.formula, numbers, result)
    for record in named:
        found += element("span", source_html(record.facts["power"].source), class_="calc-step")
    return opening(result, found)


def served(what: str, **scenario: object) -> str:
    """Return a typical speed of a scenario, inline; a reader who presses it sees the working.

    `what`: "reads" or "writes" (tokens a second of all sequences), "each" (of one), "first" (seconds to the first
    token), "last" (to the last), "back" (to bring a prompt's cache back, with `cache_offload`).
    """
    report: Report = estimate(scenario)
    if report["speed"] is None:
        raise ValueError("no speed is known of this scenario: it needs an engine, and a device whose rates are known")
    speed = {name: value["typical"] for name, value in report["speed"].items() if isinstance(value, dict)}
    each = tokens_per_s_each(report["speed"]["time_per_output_token_s"])
    found = {
        "reads": (speed["prefill_tokens_per_s"], show_tokens_per_s),
        "writes": (speed["decode_tokens_per_s"], show_tokens_per_s),
        "each": (each["typical"], show_tokens_per_s),
        "first": (speed["time_to_first_token_s"], show_seconds),
        "last": (answers_s(report), show_seconds),
        "back": (speed.get("cache_restore_s", 0.0), show_seconds),
    }
    if what not in found:
        raise ValueError(f"{what!r} is not a speed; there are {', '.join(found)}")
    value, show = found[what]
    timed = [one for one in report["steps"] if one["unit"] in ("s", "tokens/s")]
    return opening(show(value), lines(timed))


def answers_s(report: Report) -> float:
    """Return the typical seconds to the last token of a report."""
    asked, rate = report["scenario"], report["speed"]["output_tokens_per_s"]["typical"]
    return last_token_s(sequences=asked["sequences"], output_tokens=asked["output_tokens"], tokens_per_s=rate)


def at_once(*, requests_per_s: Given, **scenario: object) -> str:
    """Return the sequences in progress when requests stay as long as a scenario's answers take, inline."""
    seconds = answers_s(estimate(scenario))
    rate = settled(requests_per_s)
    value = sequences_at_once(requests_per_s=rate, seconds_each=seconds)
    plan, numbers = PLANS["at_once"], f"{show_term(rate)} × {show_number(seconds)}"
    return opening(show_count(value), step(plan.name, plan.formula, numbers, show_number(value)))


def copies(*, requests_per_s: Given, full_share: float, **scenario: object) -> str:
    """Return the copies of a scenario, each with its sequences, that serve so many requests a second, inline."""
    report: Report = estimate(scenario)
    sequences = sequences_at_once(requests_per_s=settled(requests_per_s), seconds_each=answers_s(report))
    each = report["scenario"]["sequences"]
    value = replicas_needed(sequences=sequences, sequences_each=each, full_share=full_share)
    plan, numbers = PLANS["replicas"], f"{show_number(sequences)} / ({full_share:g} × {each}), rounded up"
    return opening(show_count(value), step(plan.name, plan.formula, numbers, show_count(value)))


def flops_share(**scenario: object) -> str:
    """Return the share of a device's 16-bit operations that writing needs in a scenario, inline."""
    report: Report = estimate(scenario)
    device = catalog().accelerator(report["scenario"]["accelerator"])
    rate = report["speed"]["decode_tokens_per_s"]["typical"]
    parameters, peak = report["model"]["parameters_active"], device.quantity("bf16")
    if peak is None:
        raise ValueError(f"no rate in BF16 of {device.name} is in the catalogue")
    whole = peak_of_all(peak, devices=report["scenario"]["accelerators"])
    value = useful_share(tokens_per_s=rate, active_parameters=parameters, peak_flops=whole)
    numbers = f"2 × {show_number(rate, 4)} × {show_count(parameters)} / {whole:.4g}"
    shown = f"{show_number(100 * value, 2)} %"
    return opening(shown, step("Operations that the model needs", r"\frac{2 \cdot r \cdot N}{P}", numbers, shown))


def training_total(what: str = "device_bytes", **scenario: object) -> str:
    """Return what a training run takes of the fullest device, or of the host ("host_bytes"), inline, with its parts."""
    report: Report = estimate({"workload": "training", **scenario})
    parts = [one for part in report["memory"]["parts"] for one in part["steps"]]
    return opening(f"{report['memory'][what] / 1e9:,.1f} GB", lines(parts))


def lines(found: list[Report]) -> str:
    """Return steps as they stand in what a number opens."""
    return element("span", steps_inline(found))


def host_memory(**scenario: object) -> str:
    """Return what llama.cpp keeps in the host's memory, inline, with the working of the device's part."""
    report: Report = estimate(scenario)
    if "host_bytes" not in report["memory"]:
        raise ValueError("only a scenario under llama.cpp keeps layers in the host's memory")
    _, found, _ = look_up("weights", report)
    return opening(f"{report['memory']['host_bytes'] / 1e9:,.1f} GB", lines(found))


def owned(what: str, **changed: object) -> str:
    """Return a number of *Cost and energy* with some of its inputs changed, inline, with its working.

    `what`: "rent", "running" or "owned" (an hour of work), "year", "life" or "million" (owned: all its hours
    of work, or those of a million tokens),
    "hours" or "days" (until buying is cheaper), "share" (of all hours, from which on it is), "kwh" (an hour of work's).
    """
    report: Any = CALCULATORS["cost"].report({name: str(value) for name, value in changed.items()})
    account, costs = report["account"], hour_costs(report)
    purse, use = account["purse"], account["use"]
    hours = break_even_busy_hours(purse=purse, use=use) if purse else None
    share = break_even_share(purse=purse, use=use, life_hours=life_hours(report)) if purse else None
    owned_hour, over = costs["owned"], owned_costs(report)
    found = {
        "rent": costs["rent"] and show_dollars(costs["rent"]),
        "running": costs["running"] and show_dollars(costs["running"]),
        "owned": owned_hour and show_dollars(owned_hour),
        "year": "year" in over and show_dollars(over["year"]),
        "life": "life" in over and show_dollars(over["life"]),
        "hours": hours and f"{show_count(hours)} hours",
        "million": "million" in over and show_dollars(over["million"]),
        "days": hours and show_days(use.calendar_hours(hours)),
        "share": share and f"{100 * share:.0f} %",
        "kwh": f"{show_number(use.kwh_a_busy_hour)} kWh",
    }
    if what not in found:
        raise ValueError(f"{what!r} is not a number of costs; there are {', '.join(found)}")
    if not found[what]:
        raise ValueError(f"{what!r} is not known here: a price is missing, or renting is always cheaper")
    return opening(str(found[what]), lines([one.as_dict() for one in steps(report)]))
