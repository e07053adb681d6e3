"""The same model in other number formats against the device: which of them fit, from the most bits to the fewest."""

from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.plots.placed import Placed, place
from calc.plots.plot import LIMIT, Plot, Row, Spec, across, beside, label, layer, specification, tooltip
from calc.units import GIB

GGUF = ("f16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq4_xs", "q3_k_m", "q2_k")
SERVED = ("bf16", "fp8", "awq", "nvfp4")  # what engines of data centres load
LADDERS = {"llama.cpp": GGUF, None: ("bf16", "fp8", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m", "q2_k")}
LINE, EDGES = 44, 96  # of the height: a bar with its words above it, and the axis
COLOURS = {True: "var(--calc-good)", False: LIMIT}


def draw(**scenario: object) -> Plot:
    """Return a bar for each number format that the scenario's engine has, and for its own, with the device's limit."""
    own = place(scenario)
    steps = sorted(rungs(own, scenario), key=lambda step: -step[1])
    limit = own.need(own.demand).limit_bytes
    words = [f"{name}: {size_gib(used)}{verdict(used, limit)}" for name, used in steps]
    data: dict[str, list[Row]] = {
        "bars": [
            {"bar": name, "from": 0, "to": used / GIB, "colour": colour(used, limit), "shown": said}
            for (name, used), said in zip(steps, words, strict=True)
        ],
        "names": [{"bar": name, **beside(0, -20), "label": said} for (name, _), said in zip(steps, words, strict=True)],
        "limit": limit_mark(limit, max(used for _, used in steps)) if limit else [],
    }
    where = f"{own.asked.model_name}{own.where()}"
    return Plot(
        caption=f"Which number format fits: {where}",
        summary=f"Memory of {where} by number format. {'; '.join(words)}.",
        specification=drawing(EDGES + LINE * (len(GGUF) + 1)),
        data=data,
        headings=("Number format", "Fullest device"),
        rows=[[name, f"{size_gib(used)}{verdict(used, limit)}"] for name, used in steps],
    )


def rungs(own: Placed, scenario: dict[str, object]) -> list[tuple[str, int]]:
    """Return the formats by name with the bytes that each needs of the fullest device; the scenario's own is first."""
    engine = own.asked.engine.id if own.asked.engine else None
    found = {f"{own.demand.weights.name} (yours)": own.need(own.demand).used_bytes}
    for weights in ladder(engine):
        record = catalog().weights_format(weights)
        if record.id == own.demand.weights.id:
            continue
        try:
            other = place({**scenario, "weights": weights})
        except ScenarioError:  # a model that this format does not know
            continue
        found[record.name] = other._replace(layout=own.layout).need(other.demand).used_bytes
    return list(found.items())


def ladder(engine: str | None) -> tuple[str, ...]:
    """Return the formats that are tried under an engine, from the most bits to the fewest."""
    return LADDERS.get(engine, SERVED)


def verdict(used: int, limit: int | None) -> str:
    """Return whether so much fits, in words."""
    if limit is None:
        return ""
    return f", fits with {size_gib(limit - used)} to spare" if used <= limit else ", does not fit"


def limit_mark(limit: int, most: int) -> list[Row]:
    """Return where the limit lies, with its words above it, on the side that has room."""
    words = f"limit: {size_gib(limit)}"
    return [{"gib": limit / GIB, **beside(limit / max(limit, most), -9), "label": words}]


def colour(used: int, limit: int | None) -> str:
    """Return the colour that says the same."""
    return COLOURS[limit is None or used <= limit]


def drawing(height: int) -> Spec:
    """Return the specification: bars from the most bits to the fewest, their words above them, and the limit."""
    y: Spec = {"field": "bar", "type": "nominal", "sort": None, "axis": None, "scale": {"paddingInner": 0.6}}
    x = across("from", "GiB of the fullest device", scale={"nice": False, "domainMin": 0})
    bars: Spec = {"x": x, "x2": {"field": "to"}, "y": y, "color": {"field": "colour", "type": "nominal", "scale": None}}
    return specification(
        layer("bars", "bar", {**bars, **tooltip(shown="Needs")}),
        layer("limit", "rule", {"x": {**x, "field": "gib"}}, color=LIMIT, strokeDash=[6, 3]),
        label("limit", {"x": {**x, "field": "gib"}, "y": {"value": 0}}, baseline="bottom", fill=LIMIT),
        label("names", {"y": y, "x": {"value": 0}}, baseline="middle"),
        height=height,
    )
