"""What is known of a device, each fact with its source and day: a small page for each, opened where its name stands."""

from pathlib import Path

from mkdocs.utils import get_relative_url

from calc.calculators.html import element, text
from calc.calculators.rendering import source_html
from calc.catalog import catalog
from calc.catalog.records import Accelerator
from macros.links import standing_on
from macros.security import CHARSET, secure

FOLDER = "assets/facts"


def fact_line(record: Accelerator, field: str) -> str:
    """Return a fact with its basis, note, source and date; and what a second source says, if one disagrees."""
    found = record.facts[field]
    basis = f" ({found.basis})" if found.basis else ""
    note = f" {found.note}" if found.note else ""
    said = text(f"{record.name}: {field.replace('_', ' ')} {found.show()}{basis}.{note} ")
    line = f"{said}{source_html(found.source)}, checked {text(found.checked)}."
    for other in record.also:
        if other.field == field:
            value = text(f"{other.value} {other.unit}".strip())
            line += f" {value}, says {source_html(other.source)}. {text(other.note)}"
    return element("span", line, class_="calc-step")


def device_link(record: Accelerator) -> str:
    """Return a device's name as a link to all its facts; where scripts run they open in place."""
    address = get_relative_url(f"{FOLDER}/{record.id}.html", standing_on())
    return element("a", text(record.name), href=address, data_facts=True)


def fact_page(record: Accelerator) -> str:
    """Return the page of a device's facts."""
    head = f'<!doctype html><html lang="en"><head>{CHARSET}<title>{text(record.name)}</title>'
    shown = '<meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"></head>'
    lines = "".join(fact_line(record, field) for field in record.facts)
    main = element("main", element("h1", text(record.name)) + element("div", lines))
    return secure(f"{head}{shown}<body>{main}</body></html>")


def write_facts(site: Path) -> None:
    """Write the facts of each device into the built site."""
    folder = site / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for record in catalog().accelerators():
        (folder / f"{record.id}.html").write_text(fact_page(record), encoding="utf-8")
