"""Links by what they carry in one direction, from a lane of PCIe to a switch of NVLink."""

from calc.catalog import catalog
from calc.plots.plot import (
    TEXT,
    Plot,
    Row,
    Spec,
    across,
    beside,
    label,
    layer,
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
                "reached": link.reached.show() if link.reached else "–",
                **beside(0, -12),
                "dx": 0,
                "label": f"{link.name}: {link.one_way.show()}",
            }
            for link in found
        ],
        "reached": [
            {"name": link.name, "rate": float(link.reached.value) / GB, "told": f"{link.reached.show()} reached"}
            for link in found
            if link.reached
        ],
    }
    fastest, slowest = found[0], found[-1]
    times = show_number(fastest.bytes_per_s_one_way / slowest.bytes_per_s_one_way, 2)
    listed = "; ".join(f"{row['name']} {row['one']}, reached {row['reached']}" for row in data["links"])
    summary = f"{listed}. The first carries {times} times what the last does."
    rows = [[str(row[key]) for key in ("name", "series", "one", "both", "reached")] for row in data["links"]]
    kinds = [kind for key, kind in KINDS.items() if any(link.kind == key for link in found)]
    caption = (
        "What links carry in one direction, all ports of a device together. The tick is what large messages were "
        "measured to reach, without sums in a switch, where somebody published it."
    )
    headings = ("Link", "Joins", "One way", "Both ways", "Reached")
    return Plot(caption, summary, drawing(kinds, EDGES + LINE * len(found)), data, headings=headings, rows=rows)


def drawing(kinds: list[str], height: int) -> Spec:
    """Return the specification: bars from the left edge, told apart by what they join, with their words above them."""
    y = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "axis": None,
        "scale": {"paddingInner": 0.7, "paddingOuter": 0.6},
    }
    x = across("rate", "GB/s, one way", scale={"domainMin": 0})
    told = series(shapes=True, names=kinds, legend={"columns": 2})
    words = tooltip(name="Link", series="Joins", one="One way", both="Both ways", reached="Reached")
    measured = tooltip(name="Link", told="All-reduces")
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
        layer(
            "reached",
            "tick",
            {"y": y, "x": x, **measured},
            color=TEXT,
            thickness=2,
            size=14,
        ),
        label("links", {"y": y, "x": {"value": 0}}, baseline="middle"),
        height=height,
    )
