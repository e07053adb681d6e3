"""Data files that readers take: every entry is in them, and every column is explained."""

import csv
import io
import json
from pathlib import Path

import pytest

from calc.catalog import catalog
from macros.downloads import SHEETS, TABLES, as_csv, as_json, data_files, data_sheet, write_downloads


@pytest.mark.parametrize("name", list(SHEETS))
def test_a_file_has_every_entry(name: str) -> None:
    """The CSV has a row for each entry of the catalogue, the JSON the entry itself."""
    rows = list(csv.DictReader(io.StringIO(as_csv(name))))
    found = json.loads(as_json(name))
    entries = {entry_id for table in TABLES[name] for entry_id in catalog().ids(table)}
    assert {row["id"] for row in rows} <= entries == {key for table in TABLES[name] for key in found[table]}
    assert len(rows) == len({row["id"] for row in rows}) and all(row["source"] and row["checked"] for row in rows)


def test_quantities_are_in_base_units() -> None:
    """A column's name says its unit: an RTX 4090 has 24 GiB and 1,008 GB/s."""
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(as_csv("accelerators")))}
    card = rows["rtx-4090"]
    assert int(card["memory_bytes"]) == 24 * 2**30 and float(card["bandwidth_bytes_per_s"]) == 1008e9
    models = {row["id"]: row for row in csv.DictReader(io.StringIO(as_csv("models")))}
    assert int(models["llama-3.1-8b"]["parameters_total"]) == 8030261248


@pytest.mark.parametrize("name", list(SHEETS))
def test_the_sheet_explains_every_column(name: str) -> None:
    """The page lists the columns of each file, in their order."""
    header = as_csv(name).splitlines()[0].split(",")
    sheet = data_sheet(name)
    assert [column.name for column in SHEETS[name].columns] == header
    assert all(f"<code>{column}</code>" in sheet for column in header)
    assert f"downloads/{name}.csv" in data_files()


def test_the_site_has_the_files(tmp_path: Path) -> None:
    """A build writes the wheel and both forms of each file."""
    write_downloads(tmp_path)
    written = sorted(file.suffix for file in (tmp_path / "downloads").iterdir())
    assert written == sorted([".whl", *[".csv", ".json"] * len(SHEETS)])
