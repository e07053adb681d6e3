"""Tables and numbers of scaling laws and of published training runs."""

from collections.abc import Callable
from typing import Any

from calc.calculators.html import element, table, text
from calc.calculators.rendering import source_html
from calc.catalog import catalog
from calc.catalog.runs import Run
from calc.performance.scaling_laws import optimum, training_flops
from calc.planning.scaling import run_utilization, scaling_report
from calc.units import show_count, show_days, show_large_count, show_number, show_power
from macros.inline import opening, step, steps_inline
from macros.links import calculator_link
from macros.markdown import block

__all__ = ["budget", "law_growth_table", "law_table", "run_fact", "run_flops", "run_table", "run_utilized"]

FORMS: dict[str, Callable[[float], str]] = {
    "flops": lambda value: f"{show_power(value)} FLOP",
    "parameters": show_large_count,
    "tokens": show_large_count,
    "ratio": lambda value: f"{show_number(value)} tokens",
    "loss": lambda value: f"{value:.3f}",
    "hours": lambda value: f"{show_count(value)} hours",
    "days": show_days,
    "kwh": lambda value: f"{show_count(value)} kWh",
    "rent": lambda value: f"{show_count(value)} USD",
    "share": lambda value: f"{100 * value:.0f} %",
}
OF_LAW = {"parameters": "parameters", "tokens": "tokens", "ratio": "tokens_per_parameter", "loss": "loss"}
OF_OWN = {"tokens": "tokens", "ratio": "tokens_per_parameter", "loss": "loss", "share": "wasted_share"}
OF_RUN = {"hours": "device_hours", "days": "days", "kwh": "energy_kwh", "rent": "rent"}


def budget(what: str, *, own: bool = False, **scenario: object) -> str:
    """Return a number of what a training budget trains, inline; a reader who presses it sees the working.

    `what`: "flops"; of the law named by `law` "parameters", "tokens", "ratio" (tokens per parameter) or "loss"; of the
    run "hours", "days", "kwh" or "rent". With `own` it is of `parameters`, the size of one's own: "tokens", "ratio",
    "loss" or "share" (of the operations that the best size would save).
    """
    report: Any = scaling_report(scenario)
    law = next(answer for answer in report["laws"] if answer["id"] == report["scenario"]["law"])
    if what == "flops":
        value = report["flops"]
    elif own:
        value = law["own"][OF_OWN[what]]
    elif what in OF_LAW:
        value = law[OF_LAW[what]]
    else:
        value = report["run"][OF_RUN[what]]
    if value is None:
        raise ValueError(f"{what!r} is not known for {scenario}")
    shown = FORMS[what](value)
    steps = steps_inline(report["steps"])
    if own:
        steps += own_step(what, report, law, shown)
    return opening(shown, element("span", steps))


def own_step(what: str, report: Any, law: Any, shown: str) -> str:
    """Return the step from a budget to what a size of one's own does with it."""
    mine = law["own"]
    if what in ("tokens", "ratio"):
        return step(
            "Tokens of that size", r"\frac{C}{6 N}", f"{report['flops']:.4g} / (6 × {mine['parameters']:.4g})", shown
        )
    if what == "loss":
        return step("Loss of that size", "L(N, D)", f"N = {mine['parameters']:.4g}, D = {mine['tokens']:.4g}", shown)
    numbers = f"1 − C of the best size with a loss of {mine['loss']:.4f} / {report['flops']:.4g}"
    return step("Operations that the best size would save", r"1 - \frac{C_{\text{best}}}{C}", numbers, shown)


def law_table(**scenario: object) -> str:
    """Return the best size for a budget by each law, and its constants' source."""
    report: Any = scaling_report(scenario)
    rows = []
    for answer, law in zip(report["laws"], catalog().laws(), strict=True):
        rows.append(
            [
                calculator_link("scaling-laws", law.name, **scenario, law=law.id),
                show_large_count(answer["parameters"]),
                show_large_count(answer["tokens"]),
                show_number(answer["tokens_per_parameter"]),
                "–" if answer["loss"] is None else f"{answer['loss']:.3f}",
                text(law.counted),
            ]
        )
    headings = ("Law", "Parameters", "Tokens", "Tokens per parameter", "Loss", "N counts")
    caption = f"What {show_power(report['flops'])} FLOP train best"
    return block(table(headings, rows, caption=caption, words=(0, 5)))


def law_growth_table(*budgets: float) -> str:
    """Return the best size and its tokens per parameter by each law, for budgets in 10^21 operations."""
    laws = catalog().laws()
    rows = []
    for zettaflop in budgets:
        flops = zettaflop * 1e21
        cells = [calculator_link("scaling-laws", show_power(flops), given="zettaflop", amount=f"{zettaflop:g}")]
        for law in laws:
            best = optimum(law=law, flops=flops)
            cells.append(f"{show_large_count(best.parameters)} ({show_number(best.tokens_per_parameter, 2)})")
        rows.append(cells)
    headings = ("FLOP", *(text(law.name) for law in laws))
    return block(table(headings, rows, caption="Best number of parameters (tokens for each of them)"))


def run_named(name: str) -> Run:
    """Return a published run. Raises ValueError for an unknown one."""
    known = {run.id: run for run in catalog().runs()}
    if name not in known:
        raise ValueError(f"{name!r} is not a run of the catalogue; there are {', '.join(known)}")
    return known[name]


def run_fact(name: str, field: str) -> str:
    """Return a published figure of a run, inline, with its source: "parameters", "tokens", "devices", "days", …"""
    run = run_named(name)
    value = getattr(run, field)
    if value is None or value == "":
        raise ValueError(f"{run.name}: {field} is not published")
    form = FORMS.get(
        "hours" if field == "device_hours" else field, show_count if field == "devices" else show_large_count
    )
    shown = form(value) if isinstance(value, int | float) else str(value)
    line = f"{text(run.name)}: {text(field.replace('_', ' '))} {text(shown)}. {text(run.note)} "
    return opening(
        shown, element("span", f"{line}{source_html(run.source)}, checked {run.checked}.", class_="calc-step")
    )


def run_flops(name: str) -> str:
    """Return the operations of a published run by 6ND, inline."""
    run = run_named(name)
    if run.tokens is None:
        raise ValueError(f"{run.name}: the tokens are not published")
    shown = FORMS["flops"](training_flops(parameters=run.active_parameters, tokens=run.tokens))
    return opening(shown, step(run.name, "6 N D", f"6 × {run.active_parameters:.4g} × {run.tokens:.4g}", shown))


def utilization(run: Run) -> float | None:
    """Return the share of its devices' dense 16-bit rate that a run reached, None where a figure is missing."""
    if run.tokens is None or run.hours is None or not run.accelerator:
        return None
    return run_utilization(run.active_parameters, run.tokens, run.hours, catalog().accelerator(run.accelerator))


def run_utilized(name: str) -> str:
    """Return the share of the devices' dense 16-bit rate that a published run reached, inline."""
    run = run_named(name)
    reached = utilization(run)
    if reached is None or run.tokens is None or run.hours is None:
        raise ValueError(f"{run.name}: tokens, hours or devices are not published")
    device = catalog().accelerator(run.accelerator)
    assert device.sixteen_bit is not None  # or there were no share
    peak = float(device.sixteen_bit.value)
    shown = FORMS["share"](reached)
    numbers = f"6 × {run.active_parameters:.4g} × {run.tokens:.4g} / ({run.hours:,.0f} × 3,600 × {peak:.4g})"
    return opening(shown, step(f"{run.name} on {device.name}", r"\frac{6 N D}{h \cdot 3600 \cdot P}", numbers, shown))


def run_table(*names: str) -> str:
    """Return published runs: size, tokens, operations computed and published, devices, hours and what they reached."""
    rows = []
    for run in [run_named(name) for name in names] or catalog().runs():
        flops = None if run.tokens is None else training_flops(parameters=run.active_parameters, tokens=run.tokens)
        reached = utilization(run)
        active = run.active_parameters
        size = show_large_count(run.parameters)
        device = catalog().accelerator(run.accelerator).name if run.accelerator else ""
        address = catalog().source(run.source).url
        rows.append(
            [
                element("a", text(f"{run.name}, {run.year}"), href=address, rel="noopener"),
                size if active == run.parameters else f"{show_large_count(active)} of {size}",
                "–" if run.tokens is None else show_large_count(run.tokens),
                "–" if flops is None else show_power(flops),
                "–" if reached is None else FORMS["share"](reached),
                "–" if run.hours is None else show_count(run.hours),
                "–" if run.devices is None else show_count(run.devices),
                text(device) or "–",
                "–" if run.flops is None else show_power(run.flops),
            ]
        )
    headings = (
        "Run",
        "Parameters, published",
        "Tokens",
        "FLOP, 6ND",
        "Of the 16-bit rate",
        "Device-hours",
        "Devices",
        "Device",
        "FLOP, published",
    )
    return block(table(headings, rows, caption="Published training runs, and what their figures come to", words=(0, 7)))
