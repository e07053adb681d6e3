"""How many times faster matrix units multiply than the vector units beside them, by device and number format."""

from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.errors import ScenarioError
from calc.plots.plot import (
    FAINT,
    WHOLE,
    Plot,
    Row,
    Spec,
    across,
    beside,
    label,
    layer,
    logarithmic,
    series,
    specification,
    tooltip,
)
from calc.units import show_number

FORMATS = {"16 bit": ("bf16", "fp16"), "8 bit": ("fp8", "int8"), "4 bit": ("fp4",)}
LINE, EDGES = 34, 90  # of the height: a device, and the axis with the legend


def draw(*, devices: tuple[str, ...]) -> Plot:
    """Return the rates of some devices over their FP32 rate, the oldest device on top."""
    found = sorted((catalog().accelerator(name) for name in devices), key=lambda record: record.released)
    ratios = {record.id: ratios_of(record) for record in found}
    data: dict[str, list[Row]] = {
        "ratios": [
            {
                "device": record.name,
                "series": name,
                "ratio": ratio,
                "shown": f"{show_number(ratio)} times FP32",
                "released": record.released,
            }
            for record in found
            for name, ratio in ratios[record.id].items()
        ],
        "names": [
            {"device": record.name, **beside(0, -12), "dx": 0, "label": words(record, ratios[record.id])}
            for record in found
        ],
    }
    summary = f"Dense peak rates over the FP32 rate. {'; '.join(words(record, ratios[record.id]) for record in found)}."
    rows = [
        [record.name, record.released, *(cell(ratios[record.id].get(name)) for name in FORMATS)] for record in found
    ]
    caption = "Dense peak rate over the FP32 rate of the same device; 8 bit is FP8, or INT8 where there is no FP8"
    return Plot(
        caption, summary, drawing(EDGES + LINE * len(found)), data, headings=("Device", "Released", *FORMATS), rows=rows
    )


def ratios_of(record: Accelerator) -> dict[str, float]:
    """Return the rate of each format that a device computes in over its FP32 rate."""
    plain = record.quantity("fp32")
    if not plain:
        raise ScenarioError("devices", f"{record.name} has no FP32 rate in the catalogue to compare with")
    rates = {name: next(filter(None, map(record.quantity, fields)), None) for name, fields in FORMATS.items()}
    return {name: rate / plain for name, rate in rates.items() if rate}


def cell(ratio: float | None) -> str:
    """Return a ratio as a cell of the table."""
    return show_number(ratio) if ratio else "–"


def words(record: Accelerator, ratios: dict[str, float]) -> str:
    """Return a device and its ratios in a line."""
    return f"{record.name}: {', '.join(show_number(ratio, 2) for ratio in ratios.values())}"


def drawing(height: int) -> Spec:
    """Return the specification: a line of dots for each device, told apart by shape and colour."""
    y = {
        "field": "device",
        "type": "nominal",
        "sort": None,
        "axis": None,
        "scale": {"paddingInner": 0.7, "paddingOuter": 0.6},
    }
    x = across("ratio", "Times the FP32 rate", scale=logarithmic(2, domainMin=1), axis=WHOLE)
    told = series(shapes=True, names=list(FORMATS), legend={"columns": 3})
    words = tooltip(device="Device", released="Released", series="Format", shown="Rate")
    return specification(
        layer(
            "ratios",
            "line",
            {"y": y, "x": x, "detail": {"field": "device", "type": "nominal"}},
            color=FAINT,
            strokeWidth=1,
        ),
        layer(
            "ratios",
            "point",
            {"y": y, "x": x, **told, **words},
            filled=True,
            size=90,
            opacity=1,
        ),
        label("names", {"y": y, "x": {"value": 0}}, baseline="middle"),
        height=height,
    )
