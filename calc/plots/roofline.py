"""The roofline of a device, with the passes of a scenario under it: prefill, and decoding at several batches."""

from typing import NamedTuple

from calc.performance.pass_times import PassTime
from calc.performance.totals import state_bytes, total_flops, weights_read
from calc.plots.placed import in_words, place
from calc.plots.plot import (
    TEXT,
    Plot,
    Row,
    Spec,
    across,
    beside,
    label,
    layer,
    logarithmic,
    powers,
    series,
    specification,
    tooltip,
    upward,
)
from calc.plots.served import timed
from calc.units import show_number

BATCHES = (1, 4, 16, 64, 256)  # sequences of a decoding step, beside the scenario's own
DECODE, PREFILL = "Decoding", "Prefill"
TERA = 1e12
CLOSE = 1.5  # times the operations for a byte


class Dot(NamedTuple):
    """A pass under the roof: its operations for a byte and its TFLOPS, and both as they are shown."""

    series: str
    counted: str
    intensity: float
    tflops: float
    per_byte: str
    shown: str
    own: bool  # of the scenario itself


def draw(**scenario: object) -> Plot:
    """Return the passes of a scenario of inference by operations for a byte and operations a second, under the roof."""
    placed = place(scenario)
    found, own = timed(placed), placed.demand.sequences
    speeds = {count: found.speed(count) for count in sorted({*BATCHES, own})}
    device = speeds[own].passes.kernels
    assert device is not None  # a placed scenario that is timed has a device
    bandwidth, rate = device.bandwidth, device.rate(placed.demand.weights.native or "bf16")
    ridge = rate / bandwidth
    passes = [passed(DECODE, in_words(count), count == own, speed.decode.time) for count, speed in speeds.items()]
    first = speeds[own].prefill
    passes.append(passed(PREFILL, f"{in_words(own)}, a pass of the prompt", True, first.time))
    places = [dot.intensity for dot in passes]
    slowest = min(dot.tflops for dot in passes) * TERA
    start, end = (
        min(0.5, *(0.7 * place for place in places), 0.6 * slowest / bandwidth),
        max(4 * ridge, *(1.5 * place for place in places)),
    )
    roof: list[Row] = [
        {"intensity": place, "tflops": min(place * bandwidth, rate) / TERA} for place in (start, ridge, end)
    ]
    data: dict[str, list[Row]] = {
        "roof": roof,
        "ridge": [
            {
                "intensity": ridge,
                "tflops": rate / TERA,
                **beside(1, -6),
                "label": f"{show_number(ridge)} operations for a byte",
            }
        ],
        "passes": [dot._asdict() for dot in passes],
        "labels": labelled(passes),
    }
    name = f"{placed.asked.model_name}{placed.where()}"
    bound = next(dot for dot in passes if dot.own)
    summary = (
        f"Roofline of {name}: reading memory bounds what does fewer than {show_number(ridge)} operations for a byte. "
        f"Decoding {in_words(own)} does {bound.per_byte} and reaches {bound.shown} of {show_number(rate / TERA)} "
        "TFLOPS."
    )
    caption = f"Roofline: what the device can do (line), and what passes of {name} reach (dots)"
    headings = ("Pass", "Sequences", "Operations for a byte", "Reached", "Of the roof")
    rows = [[dot.series, dot.counted, dot.per_byte, dot.shown, reached(dot, bandwidth, rate)] for dot in passes]
    return Plot(caption, summary, drawing(), data, headings=headings, rows=rows)


def passed(name: str, counted: str, own: bool, time: PassTime) -> Dot:
    """Return a pass as a dot: its operations over its bytes, and its operations over its time."""
    operations = total_flops(time.operations)
    intensity = operations / (weights_read(time.operations) + state_bytes(time.operations))
    tflops = operations / time.total / TERA
    return Dot(
        name,
        counted,
        intensity,
        tflops,
        per_byte=show_number(intensity),
        shown=f"{show_number(tflops)} TFLOPS",
        own=own,
    )


def labelled(passes: list[Dot]) -> list[Row]:
    """Return the passes with words, as far as there is room: of those that lie close together the last has them."""
    *steps, prompt = passes
    kept = [{**prompt._asdict(), **beside(1, 3), "label": PREFILL.lower()}]
    after = float("inf")
    for dot in reversed(steps):
        if CLOSE * dot.intensity < after:
            kept.append({**dot._asdict(), **beside(0, 3), "label": dot.counted.split(" ")[0]})
            after = dot.intensity
    return kept


def reached(dot: Dot, bandwidth: float, rate: float) -> str:
    """Return which share of the roof above it a pass reaches, in percent."""
    roof = min(dot.intensity * bandwidth, rate) / TERA
    return f"{100 * dot.tflops / roof:.0f} %"


def drawing() -> Spec:
    """Return the specification: the roof, its ridge, and the passes, the scenario's own ones ringed."""
    x = across("intensity", "Operations for each byte read", scale=logarithmic(), axis=powers())
    y = upward("tflops", "TFLOPS", scale=logarithmic(), axis=powers())
    told = tooltip(series="Pass", counted="With", per_byte="Operations for a byte", shown="Reached")
    own: Spec = {"condition": {"test": "datum.own", "value": TEXT}, "value": None}
    dots = {"x": x, "y": y, **series(shapes=True), "stroke": own}
    return specification(
        layer("roof", "line", {"x": x, "y": y}, color=TEXT),
        layer("ridge", "rule", {"x": x}, strokeDash=[2, 3], color=TEXT),
        label("ridge", {"x": x, "y": y}, baseline="bottom"),
        layer("passes", "point", {**dots, **told}, filled=True, size=90, opacity=1, strokeWidth=2),
        label("labels", {"x": x, "y": y}, baseline="top"),
    )
