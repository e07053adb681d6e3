"""Files that readers take from the built site: the `calc` wheel, and the catalogue's tables as CSV and JSON."""

import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mkdocs.utils import get_relative_url

from calc.architecture.parameters import parameters_active, parameters_total
from calc.calculators.html import element, table, text
from calc.catalog import catalog
from calc.catalog.checking.device_rules import ACCELERATOR_FACTS
from calc.catalog.records import Accelerator, Mixture, Model, WeightsFormat
from calc.scenario.model import known_architecture
from macros.kept import digest
from macros.links import standing_on
from macros.markdown import block, inline

__all__ = ["data_files", "data_sheet", "wheel_link", "wheel_name"]

FOLDER = "downloads"
ROOT = Path(__file__).parent.parent
BUILD_WHEEL = "import sys, flit_core.buildapi as backend; backend.build_wheel(sys.argv[1])"
Cell = str | int | float | None


class Column(NamedTuple):
    """A column of a data file: its name, what stands in it, and where it is from."""

    name: str
    said: str
    of: Callable[[Any], Cell]


class Sheet(NamedTuple):
    """A data file: what it lists, its columns, and its rows."""

    said: str
    columns: tuple[Column, ...]
    records: Callable[[], Iterator[Any]]


def fact_column(name: str) -> Column:
    """Return the column of a fact of accelerators, whose name says the base unit."""
    dimension, bases, *_ = ACCELERATOR_FACTS[name]
    unit = {"text": "", "count": "", "operations": ""}.get(dimension, f"_{dimension}")
    said = bases[0]

    def of(device: Accelerator) -> Cell:
        return device.facts[name].value if name in device.facts else None

    return Column(f"{name}{unit}", f"the fact {name}" + (f" ({said})" if said else ""), of)


def model_parameters(model: Model, count: Callable[[Any], int]) -> int:
    """Return a number of parameters of a model."""
    return count(known_architecture(catalog(), model.id))


def element_bits(found: WeightsFormat) -> float:
    """Return the bits of a number format's elements; of a mixture, of the format that most tensors have."""
    return catalog().number_format(found.base).bits if isinstance(found, Mixture) else found.bits


SHEETS = {
    "accelerators": Sheet(
        "Accelerators: an entry is what software sees as one device.",
        (
            Column("id", "the name in scenarios", lambda device: device.id),
            Column("name", "what it is sold as", lambda device: device.name),
            Column("vendor", "who makes it", lambda device: device.vendor),
            Column("segment", "data-center, workstation, consumer, soc or cloud", lambda device: device.segment),
            Column("architecture", "of the chip", lambda device: device.architecture),
            Column("released", "year and month", lambda device: device.released),
            Column("availability", "announced, sold, rented, used or modified", lambda device: device.availability),
            *map(fact_column, ACCELERATOR_FACTS),
            Column("source", "of its memory", lambda device: device.memory_fact.source),
            Column("checked", "the day on which that was read", lambda device: device.memory_fact.checked),
        ),
        lambda: catalog().accelerators(),
    ),
    "models": Sheet(
        "Models: their shape is in the JSON file, under config.",
        (
            Column("id", "the name in scenarios", lambda model: model.id),
            Column("name", "what it is called", lambda model: model.name),
            Column("organization", "who made it", lambda model: model.organization),
            Column("licence", "as its maker names it", lambda model: model.licence),
            Column("released", "year and month", lambda model: model.released),
            Column("context_tokens", "what it is made for", lambda model: model.context_tokens),
            Column("parameters_total", "all of them", lambda model: model_parameters(model, parameters_total)),
            Column("parameters_active", "that a token uses", lambda model: model_parameters(model, parameters_active)),
            Column("repositories", "that hold it, apart by spaces", lambda model: " ".join(model.repositories)),
            Column("source", "of its config", lambda model: model.source),
            Column("checked", "the day on which it was read", lambda model: model.checked),
        ),
        lambda: catalog().models(),
    ),
    "number-formats": Sheet(
        "Number formats of weights and caches, and llama.cpp's mixtures of them.",
        (
            Column("id", "the name in scenarios", lambda found: found.id),
            Column("name", "what it is called", lambda found: found.name),
            Column("bits", "of an element; of a mixture, of its base", lambda found: element_bits(found)),
            Column("summary", "how it is made", lambda found: found.summary),
            Column("source", "where that is said", lambda found: found.source),
            Column("checked", "the day on which it was read", lambda found: found.checked),
        ),
        lambda: catalog().weights_formats(),
    ),
}
# The tables as JSON, entry by entry as the catalogue has them.
TABLES = {"accelerators": ("accelerators",), "models": ("models",), "number-formats": ("number_formats", "mixtures")}


def write_downloads(site: Path) -> None:
    """Write the wheel and the data files into the built site."""
    folder = site / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    made = wheel()
    shutil.copyfile(made, folder / made.name)
    for name in SHEETS:
        (folder / f"{name}.csv").write_text(as_csv(name), "utf-8")
        (folder / f"{name}.json").write_text(as_json(name), "utf-8")


def wheel() -> Path:
    """Return the wheel of `calc`, built again when what is in it has changed."""
    folder = ROOT / ".cache/wheel" / digest(("calc/**/*.py", "calc/**/*.toml", "calc/**/*.csv", "pyproject.toml"))
    if not list(folder.glob("*.whl")):
        for older in folder.parent.glob("*"):
            if not older.name.startswith(folder.name):
                shutil.rmtree(older, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=folder.name) as part:  # two processes may make it
            subprocess.run([sys.executable, "-c", BUILD_WHEEL, part], cwd=ROOT, check=True, capture_output=True)
            (made,) = Path(part).glob("*.whl")
            made.replace(folder / made.name)
    (found,) = folder.glob("*.whl")
    return found


def as_csv(name: str) -> str:
    """Return a data file as CSV: a row for each entry, empty where nothing is known."""
    sheet, written = SHEETS[name], io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(column.name for column in sheet.columns)
    rows.writerows([column.of(record) for column in sheet.columns] for record in sheet.records())
    return written.getvalue()


def as_json(name: str) -> str:
    """Return a data file as JSON: the catalogue's checked entries, quantities in base units, with every source."""
    tables = {table_name: dict(catalog().entries(table_name)) for table_name in TABLES[name]}
    return json.dumps({"checked": catalog().version, **tables}, indent=1, ensure_ascii=False)


def download(name: str) -> str:
    """Return the address of a downloaded file from the page that is being rendered."""
    return get_relative_url(f"{FOLDER}/{name}", standing_on())


def wheel_name() -> str:
    """Return the name of the wheel's file."""
    return wheel().name


def wheel_link() -> str:
    """Return a link to the wheel."""
    return inline(element("a", text(wheel_name()), href=download(wheel_name())))


def data_files() -> str:
    """Return the data files, each with links to both forms, what they list, and how many entries they have."""
    rows = []
    for name, sheet in SHEETS.items():
        forms = [element("a", form, href=download(f"{name}.{form.lower()}")) for form in ("CSV", "JSON")]
        file = f"{text(name)}<br>{' · '.join(forms)}"
        rows.append([file, text(sheet.said), str(sum(1 for _ in sheet.records()))])
    return block(table(("File", "What it lists", "Entries"), rows, caption="Data files", words=2))


def data_sheet(name: str) -> str:
    """Return the columns of a data file, with what stands in them."""
    rows = [[element("code", text(column.name)), text(column.said)] for column in SHEETS[name].columns]
    caption = f"Columns of {name}.csv"
    return block(table(("Column", "What stands in it"), rows, caption=caption, words=2))
