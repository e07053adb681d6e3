"""The page of formulas has what the workings of answers have, and nothing that is typed."""

import pytest

from calc import estimate
from calc.calculators.page import CALCULATORS, report_of
from calc.catalog import catalog
from macros import formula_tables
from macros.formula_tables import formulas
from macros.links import stand_on
from macros.worked import SUM_OF_PARTS, general


@pytest.mark.parametrize("name", CALCULATORS)
def test_every_formula_of_a_working_is_listed(name: str) -> None:
    """Of every calculator's first example."""
    listed = {found.formula for found in formulas(catalog())}
    for step in report_of(name, CALCULATORS[name].presets[0].values)["steps"]:
        assert step["formula"] in listed or general(step["name"]) == SUM_OF_PARTS, step["name"]


def test_a_formula_is_listed_once_and_has_a_source() -> None:
    """By name and formula; each source is one of the catalogue's or an address."""
    found = formulas(catalog())
    assert len({(one.name, one.formula) for one in found}) == len(found)
    assert [one.name for one in found if not one.source] == []
    assert all(catalog().source(one.source).url for one in found)


def test_names_are_those_of_no_single_case() -> None:
    """Layers, sizes and formats of one example are left out of a name."""
    assert general("All 20 layers of the stage keep") == "All layers of the stage keep"
    assert general("41,943,040 trained elements: adapters of rank 16") == "Trained elements"
    assert general("Memory of the fullest device when layer 20 runs backward") == "Memory of the fullest device"


def test_the_table_shows_the_working() -> None:
    """The example is the report's own."""
    stand_on("reference/formulas/")
    step = estimate({"model": "llama-3.1-8b"})["steps"][0]  # type: ignore[index]
    assert step["formula"] in {found.formula for found in formulas(catalog())}
    assert formula_tables.formula_table().count("<math") >= len(formulas(catalog()))
