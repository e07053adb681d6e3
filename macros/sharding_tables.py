"""Tables of runs over many devices: what sharding leaves on each, and what crosses the links between them."""

from calc import estimate
from calc.calculators.html import element, table, text
from calc.calculators.rendering import source_html
from calc.calculators.sizes import size_decimal
from calc.catalog import catalog
from calc.performance.step_traffic import step_traffic
from calc.training.reading import read_training
from calc.units import show_count, show_seconds
from macros.inline import look_up, opening
from macros.inline import step as written
from macros.links import calculator_link
from macros.markdown import block
from macros.training_numbers import Report, training
from macros.training_tables import Run, training_link

__all__ = ["stage_table", "traffic_table"]


def traffic_table(*rows: tuple[str, Run], links: tuple[str, ...]) -> str:
    """Return what one device sends in a step, by kind of parallelism, and how long links take for it at their peak."""
    records = [catalog().link(name) for name in links]
    cells = []
    for shown, run in rows:
        asked = training(run)
        plan = read_training(asked, catalog()).plan
        shown_link = training_link(shown, estimate(asked))
        for sent in step_traffic(plan):
            size = size_decimal(sent.bytes)
            working = written(sent.what, sent.formula, sent.numbers, size)
            working += element("span", source_html(sent.source), class_="calc-step")
            times = [show_seconds(record.seconds_one_way(sent.bytes)) for record in records]
            cells.append([shown_link, text(sent.what), opening(size, working), *times])
    headings = ("Run", "What crosses", "Each GPU sends", *(text(record.name) for record in records))
    runs = ", ".join(shown for shown, _ in rows)
    caption = f"What one GPU sends in one step, and the time that a link takes for it at its peak, one way: {runs}"
    return block(table(headings, cells, caption=caption, words=2))


def stage_table(model: str, counts: tuple[int, ...], **run: object) -> str:
    """Return the model states on each device by ZeRO stage and number of devices; a cell leads to the calculator."""
    rows = []
    for count in counts:
        cells = [show_count(count)]
        for stage in ("none", "zero-1", "zero-2", "zero-3"):
            asked = training({"model": model, **run, "accelerators": count, "sharding": stage})
            report: Report = estimate(asked, repairs=False)
            size, _, _ = look_up("states", report)
            values = {"model": report["model"]["id"], "data": count, "sharding": stage, **run}
            cells.append(calculator_link("pre-training", size_decimal(size), **values))
        rows.append(cells)
    headings = ("GPUs", "Nothing divided", "ZeRO-1", "ZeRO-2", "ZeRO-3, FSDP")
    caption = f"Model states of {catalog().model(model).name} on each GPU"
    return block(table(headings, rows, caption=caption))
