"""Laws of kernels with a mistake do not load, and the laws of the catalogue reach every family."""

from pathlib import Path

import pytest

from calc.catalog import catalog
from calc.catalog.checking.kernel_tables import KERNEL_BOUNDS, KERNEL_VALUES
from calc.catalog.checking.loader import read_tables
from calc.errors import CatalogError

FAMILIES = """
[first]
name = "First"
covers = ["Ada/*"]
measured = ["good"]
reason = "Measured."
source = "ieee-754"
checked = 2026-11-22

[second]
name = "Second"
covers = ["Hopper/*"]
measured = []
like = "first"
matrix_factor = 1.5
reason = "Like the first."
source = "ieee-754"
checked = 2026-11-22
"""
LAWS = """
[first-pointwise]
name = "Pointwise"
family = "first"
kind = "pointwise"
kernels = ["bf16"]
rate = "bf16"
values = { start_s = 2e-06, memory_share = 0.8 }
rows = 5
error = 0.1
source = "ieee-754"
checked = 2026-11-22
"""


def problems(data: Path, families: str = FAMILIES, laws: str = LAWS) -> list[str]:
    """Return what is wrong with a small catalogue that has these families and laws."""
    (data / "kernel_families.toml").write_text(families)
    (data / "kernels.toml").write_text(laws)
    try:
        read_tables(data)
    except CatalogError as error:
        return error.problems
    return []


def test_the_small_laws_are_sound(data: Path) -> None:
    """What the other tests break loads as it is."""
    assert problems(data) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('measured = ["good"]', 'measured = ["goods"]', 'did you mean "good"'),
        ('like = "first"', 'like = "frist"', 'did you mean "first"'),
        ('like = "first"', 'like = "second"', "leads back to where it came from"),
        ("matrix_factor = 1.5", "matrix_factor = 15", "must be a number from 0.1 to 3"),
    ],
)
def test_a_mistake_in_a_family_is_named(data: Path, old: str, new: str, message: str) -> None:
    """A family is like one that is known, and not like itself by any way round."""
    assert any(message in problem for problem in problems(data, families=FAMILIES.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('family = "first"', 'family = "third"', "'third' is not known"),
        ('kind = "pointwise"', 'kind = "pontwise"', 'did you mean "pointwise"'),
        ('rate = "bf16"', 'rate = "fp17"', "'fp17' is not known"),
        ("memory_share = 0.8", "memory_share = 80", "must be from 0.05 to 5 (of the bandwidth), not 80"),
        ("start_s = 2e-06, ", "", "start_s: is missing (seconds)"),
        ("start_s = 2e-06", "start_s = true", "start_s: must be from 0 to 0.0005"),
        ("start_s = 2e-06", "start_s = 2e-06, turn_s = 1e-06", "turn_s: is no number of a law of kind 'pointwise'"),
        ("rows = 5\n", "", "reason: is missing"),
        ('rate = "bf16"', 'rate = "bf16"\nengines = ["vlm"]', "engines: 'vlm' is not known"),
    ],
)
def test_a_mistake_in_a_law_is_named(data: Path, old: str, new: str, message: str) -> None:
    """A law has the numbers of its kind, each within its bounds, and says why where nothing was measured."""
    assert any(message in problem for problem in problems(data, laws=LAWS.replace(old, new)))


def test_every_number_has_bounds() -> None:
    """What a law may hold has a dimension and a range, and each range is used."""
    used = {rule.removesuffix("?") for rules in KERNEL_VALUES.values() for rule in rules}
    assert used == set(KERNEL_BOUNDS)


def test_fitted_laws_are_of_measured_families() -> None:
    """A law with rows belongs to a family with measured devices, and says its error on shapes left out."""
    facts = catalog()
    fitted = [law for law in facts.kernel_laws() if law.rows]
    assert len(fitted) > 50
    for law in fitted:
        assert facts.kernel_family(law.family).measured
        assert 0 < law.error < 0.35, law.id


def test_a_family_covers_what_another_does_not() -> None:
    """No architecture and class leads to two families."""
    covers = [cover for family in catalog().kernel_families() for cover in family.covers]
    assert len(covers) == len(set(covers))
    vendors = {accelerator.vendor for accelerator in catalog().accelerators()}
    assert {f"{vendor}/*" for vendor in vendors} <= set(covers)
