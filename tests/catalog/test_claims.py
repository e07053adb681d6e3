"""A claim with a mistake in its entry does not load, and the mistake is named."""

from pathlib import Path

import pytest

from calc.catalog.checking.loader import read_tables
from calc.errors import CatalogError

CLAIM = """
[x001]
topic = "Hardware"
claim = "It is so."
verdict = "wrong"
right = "It is {one:GB}."
sources = ["https://example.org/paper"]
checked = 2026-11-21

[[x001.checks]]
what = "One"
values.one = { number = 1 }
values.two = { quoted = 2, unit = "GB", source = "https://example.org/paper" }
formula = "one / two"
claimed = 3
unit = "GB"
"""


def load(folder: Path, text: str) -> dict[str, object]:
    """Load a catalogue that has only this claim."""
    (folder / "claims").mkdir(exist_ok=True)
    (folder / "claims/a.toml").write_text(text)
    return dict(read_tables(folder)["claims"])


def test_the_claim_that_the_others_break_is_sound(tmp_path: Path) -> None:
    """What the other tests break loads as it is."""
    assert list(load(tmp_path, CLAIM)) == ["x001"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"wrong"', '"false"', "verdict: 'false' is not known"),
        ('"Hardware"', '"Hardwear"', 'did you mean "Hardware"'),
        ("{one:GB}", "{three:GB}", "right: 'three' is not known"),
        ("{one:GB}", "{one:Gb}", "right: 'Gb' is not known"),
        ('"one / two"', '"one"', "formula: uses one, and there are one, two"),
        ('"one / two"', '"one / two +"', "is not a formula"),
        ('"one / two"', '"open(one, two)"', "calls something else"),
        ('"one / two"', '"one // two"', "an operator other than"),
        ('"one / two"', '"one if two else 1"', "something else than numbers"),
        ("{ number = 1 }", '{ nummer = "1" }', "must say where it is from"),
        ("{ number = 1 }", '{ accelerator = "rtx-1", fact = "memory" }', "'rtx-1' is not known"),
        ('source = "https://example.org/paper"', 'source = "a-paper"', "neither an entry under sources/"),
        ('sources = ["https://example.org/paper"]', 'sources = ["a-paper"]', "neither an entry under sources/"),
        ('unit = "GB"\n', 'unit = "gigs"\n', "unit: 'gigs' is not known"),
        ("claimed = 3\n", "", "claimed: is missing"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Each kind of mistake is refused with its place."""
    assert old in CLAIM
    with pytest.raises(CatalogError) as caught:
        load(tmp_path, CLAIM.replace(old, new))
    assert message in str(caught.value)
    assert "claims/a.toml: [x001]" in str(caught.value)


def test_a_claim_without_check_and_source_is_not_verifiable(tmp_path: Path) -> None:
    """Nothing is called wrong without a reason."""
    bare = CLAIM.split("[[")[0].replace('["https://example.org/paper"]', "[]").replace("{one:GB}", "one")
    with pytest.raises(CatalogError, match="without either, the claim is not verifiable"):
        load(tmp_path, bare)
    assert load(tmp_path, bare.replace('"wrong"', '"not verifiable"'))
