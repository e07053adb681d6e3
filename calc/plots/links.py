"""Links by what they carry in one direction, from a lane of PCIe to a switch of NVLink."""

from calc.catalog import catalog
from calc.plots.plot import (
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
)
from calc.units import GB, show_number

KINDS = {"device": "Between devices", "host": "To the host", "network": "Between machines"}
LINE, EDGES = 34, 90  # of the height: a link, and the axis with the legend


def draw(*, links: tuple[str, ...] = ()) -> Plot:
    """Return a dot for each link named, or for all of the catalogue, the fastest on top."""
    found = [catalog().link(name) for name in links] or list(catalog().links())
    found.sort(key=lambda link: -link.bytes_per_s_one_way)
    data: dict[str, list[Row]] = {
        "links": [
            {
                "name": link.name,
                "series": KINDS[link.kind],
                "rate": link.bytes_per_s_one_way / GB,
                "one": link.one_way.show(),
                "both": link.both_ways.show(),
                **beside(0, -12),
                "dx": 0,
                "label": f"{link.name}: {link.one_way.show()}",
            }
            for link in found
        ]
    }
    fastest, slowest = found[0], found[-1]
    times = show_number(fastest.bytes_per_s_one_way / slowest.bytes_per_s_one_way, 2)
    listed = "; ".join(f"{link.name} {link.one_way.show()}" for link in found)
    summary = f"{listed}. The first carries {times} times what the last does."
    rows = [[link.name, KINDS[link.kind], link.one_way.show(), link.both_ways.show()] for link in found]
    kinds = [kind for key, kind in KINDS.items() if any(link.kind == key for link in found)]
    caption = "What links carry in one direction, all lanes or ports of a device together"
    headings = ("Link", "Joins", "One way", "Both ways")
    return Plot(caption, summary, drawing(kinds, EDGES + LINE * len(found)), data, headings, rows)


def drawing(kinds: list[str], height: int) -> Spec:
    """Return the specification: bars from the left edge, told apart by what they join, with their words above them."""
    y = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "axis": None,
        "scale": {"paddingInner": 0.7, "paddingOuter": 0.6},
    }
    x = across("rate", "GB/s, one way", scale=logarithmic(domainMin=1), axis=powers())
    told = series(shapes=True, names=kinds, legend={"columns": 2})
    words = tooltip(name="Link", series="Joins", one="One way", both="Both ways")
    return specification(
        layer("links", "rule", {"y": y, "x": x, "x2": {"value": 0}, "color": told["color"]}, strokeWidth=2),
        layer(
            "links",
            "point",
            {"y": y, "x": x, **told, **words},
            filled=True,
            size=90,
            opacity=1,
        ),
        label("links", {"y": y, "x": {"value": 0}}, baseline="middle"),
        height=height,
    )
