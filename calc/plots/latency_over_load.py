"""Seconds that requests take against how many come, up to the most that a server answers: the middle, the slow."""

from calc.errors import ScenarioError
from calc.performance.arrivals import alike
from calc.planning.fit import MOST_SEQUENCES
from calc.planning.served import serve
from calc.planning.serving_arrivals import LOADS, at_load, knee
from calc.planning.serving_run import Found, Site, site_of
from calc.plots.placed import Placed, place
from calc.plots.plot import (
    LIMIT,
    TEXT,
    Plot,
    Row,
    Spec,
    across,
    beside,
    chosen,
    faded,
    label,
    layer,
    logarithmic,
    powers,
    series,
    specification,
    tooltip,
    upward,
)
from calc.plots.served import unknown
from calc.units import show_number, show_seconds

LINES = {
    "First token, half": ("first", "p50"),
    "First token, 95 %": ("first", "p95"),
    "Last token, half": ("whole", "p50"),
    "Last token, 95 %": ("whole", "p95"),
}


def draw(**scenario: object) -> Plot:
    """Return the times of a scenario's requests for other loads; its arrivals, or such as come one by one (Poisson)."""
    placed = place(scenario)
    if placed.asked.engine is None:
        raise ScenarioError("engine", "is missing: requests are served by an engine")
    if placed.accelerator is None:
        raise ScenarioError("accelerator", "is missing: requests are served on a device")
    if not placed.demand.architecture.writes:
        raise ScenarioError("model", "writes no text, and has no tokens that come one by one")
    traffic = placed.asked.traffic or alike(placed.demand.prompt_tokens, placed.asked.output_tokens)
    site = site_on(placed)
    found = [(share * site.most_per_s, at_load(site, traffic, share)) for share in LOADS]
    turn = knee(site, traffic)
    points = [point(name, rate, times(run, name)) for name in LINES for rate, run in found]
    own = traffic.arrivals.requests_per_s if placed.asked.traffic else 0.0
    marks: dict[str, list[Row]] = {
        "points": points,
        "knee": [{"rate": turn, **beside(turn / site.most_per_s, 14), "label": f"knee: {show_number(turn)} /s"}],
        "own": [{"rate": own, **beside(own / site.most_per_s, 32), "label": f"yours: {show_number(own)} /s"}]
        if 0 < own <= site.most_per_s
        else [],
    }
    rows = [
        [show_number(rate), *(show_seconds(times(run, name)) for name in LINES), show_number(run.running)]
        for rate, run in found
    ]
    name = f"{placed.asked.model_name}{placed.where()}"
    first, last = found[0][1], found[-1][1]
    summary = (
        f"Seconds of requests to {name}, from {show_number(found[0][0])} to {show_number(site.most_per_s)} a second: "
        + "; ".join(f"{line} {show_seconds(times(first, line))} to {show_seconds(times(last, line))}" for line in LINES)
        + f". The knee lies at {show_number(turn)} a second."
    )
    caption = f"Time against requests a second, up to the most that are answered: {name}"
    headings = ("Requests a second", *LINES, "Being written")
    return Plot(caption, summary, drawing(), marks, headings=headings, rows=rows)


def site_on(placed: Placed) -> Site:
    """Return the server of a scenario."""
    asked = placed.asked
    traffic = asked.traffic or alike(placed.demand.prompt_tokens, asked.output_tokens)
    serving = placed.serving(concurrency=MOST_SEQUENCES, traffic=traffic)
    assert serving is not None
    served = serve(serving, placed.demand, placed.layout, most=False)
    site = site_of(served, traffic, asked.output_tokens, asked.cached_tokens)
    if site is None:
        raise unknown(placed)
    return site


def times(run: Found, name: str) -> float:
    """Return the seconds of a line in a run."""
    figure, percentile = LINES[name]
    return (run.first if figure == "first" else run.whole)[percentile]


def point(name: str, rate: float, seconds: float) -> Row:
    """Return a point of a line, with its words."""
    shown = show_seconds(seconds)
    return {"series": name, "rate": rate, "seconds": seconds, "coming": f"{show_number(rate)} /s", "shown": shown}


def drawing() -> Spec:
    """Return the specification: a line for each time, with the knee and the scenario's own load."""
    x = across("rate", "Requests a second", scale={"zero": True, "nice": False})
    y = upward("seconds", "Seconds", scale=logarithmic(), axis=powers())
    told = tooltip(series="Time to", coming="Coming", shown="Takes")
    names = list(LINES)
    lines = series(dashes=True, names=names, legend={"columns": 2})
    dots = series(shapes=True, names=names, legend={"columns": 2})
    top: Spec = {"y": {"value": 0}}
    return specification(
        layer("knee", "rule", {"x": x}, color=LIMIT, strokeDash=[6, 3]),
        label("knee", {"x": x, **top}, baseline="top", fill=LIMIT),
        layer("own", "rule", {"x": x}, color=TEXT),
        label("own", {"x": x, **top}, baseline="top"),
        layer("points", "line", {"x": x, "y": y, **lines, **faded()}, params=[chosen()]),
        layer("points", "point", {"x": x, "y": y, **dots, **told, **faded()}, filled=True, size=50),
        height=340,
    )
