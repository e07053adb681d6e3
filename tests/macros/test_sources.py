"""Every fact has a source, every source a use, and the page says both."""

import re

import pytest

from calc import estimate
from calc.calculators import CALCULATORS
from calc.catalog import catalog
from macros import sources
from macros.links import stand_on
from macros.sources import kinds, named_in, uses
from macros.worked import step_sources

# The last three are written from rows that name their sources.
UNSOURCED = ("claims", "glossary", "measured", "measured_models", "ranges")


@pytest.mark.parametrize("kind", [kind for kind in kinds(catalog()) if kind not in UNSOURCED])
def test_every_entry_has_a_source(kind: str) -> None:
    """And each of its quantities takes the entry's or has its own."""
    for entry_id, entry in catalog().entries(kind).items():
        assert list(named_in(entry)), f"{kind}: [{entry_id}]"
    for record in getattr(catalog(), kind)() if kind in ("accelerators", "machines") else ():
        assert all(fact.source and fact.checked for fact in record.facts.values())


def test_every_source_has_a_use() -> None:
    """A document that nothing rests on is not listed."""
    used = uses(catalog())
    assert [name for name in catalog().ids("sources") if not used.get(name)] == []


def test_a_use_is_what_was_computed() -> None:
    """A word of the program that happens to be a source's id is none: "zero" in a plot, "deepseek-v3" in an example."""
    used = uses(catalog())
    titles = {found.title for found in CALCULATORS.values()}
    assert "Interconnect" not in used["deepseek-v3"].get("workings", [])
    assert all(set(found.get("workings", [])) <= titles for found in used.values())
    report = estimate({"model": "mamba-2.8b"})
    assert "mamba" in step_sources(report)
    assert "Fine-tune memory" in used["lora"]["workings"]
    assert used["muon"] == {"optimizers": ["muon"]}


def test_a_page_s_use_is_the_argument_that_names_a_source() -> None:
    """A model that pages show in tables is no source, though its report has the same id."""
    pages = uses(catalog())["deepseek-v3"]["pages"]
    assert "models/experts" in pages  # it cites the report
    assert "start/five-minutes" not in pages  # it shows the model


def test_every_source_that_is_named_exists() -> None:
    """An id that no entry has would be found by the loader; one in a page or in code is found here."""
    known = set(catalog().ids("sources"))
    assert [name for name in uses(catalog()) if name not in known and not name.startswith("https://")] == []


def test_the_page_lists_every_source_once() -> None:
    """With publisher, address, and the day on which it was read."""
    stand_on("reference/sources/")
    shown = sources.source_table()
    assert shown.count("<tr>") == len(catalog().ids("sources")) + 1
    for found in catalog().sources():
        assert found.url.replace("&", "&amp;") in shown
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.checked)
