"""Claims are checked when the site is built, and those that are wrong stand where readers would meet them."""

import re
from pathlib import Path

import pytest

from calc.catalog import catalog
from calc.catalog.claims import Claim, make_check
from macros.claims import page
from macros.claims.checking import bear_out, results, run
from macros.claims.values import meets, value_of
from macros.links import stand_on

DOCS = Path(__file__).parents[2] / "docs"
PLACED = re.compile(r"\{\{ claims?\(([^)]*)\) \}\}")


def on_pages() -> set[str]:
    """Return the ids of the claims that pages show."""
    calls = (call for path in DOCS.rglob("*.md") for call in PLACED.findall(path.read_text(encoding="utf-8")))
    return {name.casefold() for call in calls for name in re.findall(r'"(\w+)"', call)}


def a_claim(verdict: str, claimed: float, **changed: object) -> Claim:
    """Return a claim on the weights of Llama 2 70B in BF16, which are 137.95 GB."""
    weights = {"report": "memory.parts.weights.bytes", "scenario": {"model": "llama-2-70b", "weights": "bf16"}}
    check = make_check({"what": "Weights", "values": {"weights": weights}, "claimed": claimed, "unit": "GB", **changed})
    return Claim("a", "Hardware", "So much.", verdict, "No.", (), "2026-11-21", (check,), "", {})


def test_every_verdict_is_borne_out() -> None:
    """What is computed contradicts every wrong claim that has a check, and no correct one."""
    assert all(isinstance(results(catalog(), name), list) for name in catalog().ids("claims"))


@pytest.mark.parametrize(
    ("verdict", "claimed", "message"),
    [
        ("wrong", 138, "called wrong, and its checks bear it out"),
        ("outdated", 138, "called outdated, and its checks bear it out"),
        ("correct", 150, "a check contradicts it"),
        ("correct with conditions", 150, "a check contradicts it"),
    ],
)
def test_a_verdict_that_its_check_contradicts_is_refused(verdict: str, claimed: float, message: str) -> None:
    """A wrong verdict stops the build with the claim's id and both numbers."""
    claim = a_claim(verdict, claimed)
    with pytest.raises(ValueError, match=message):
        bear_out(claim, [run(check) for check in claim.checks])


@pytest.mark.parametrize(
    ("relation", "claimed", "holds"),
    [
        ("is", 137, True),
        ("is", 130, False),
        ("at least", 130, True),
        ("at least", 140, False),
        ("at most", 140, True),
        ("at most", 130, False),
        ("more than", 130, True),
        ("less than", 130, False),
    ],
)
def test_relations(relation: str, claimed: float, holds: bool) -> None:
    """A claim may give a number, a floor or a ceiling."""
    assert run(a_claim("correct", claimed, relation=relation).checks[0]).holds is holds


def test_a_formula_is_computed_and_shown() -> None:
    """The working shows the formula with the numbers put in."""
    result = run(a_claim("wrong", 1, formula="ceil(weights / 1000000000) * 2", unit="").checks[0])
    assert result.number == 276
    assert "137.95 GB" in result.line


def test_conditions() -> None:
    """A condition is a text, the presence of a fact, or a bound with a unit."""
    card = catalog().accelerator("rtx-4090")
    assert meets(card, {"architecture": "Ada Lovelace", "link_bandwidth": False, "memory": ">= 24 GiB"})
    assert meets(card, {"released": "> 2022-09"})
    assert not meets(card, {"memory": "> 24 GiB"})
    assert not meets(card, {"released": "< 2022-10"})
    assert meets(catalog().model("llama-3.1-405b"), {"parameters": "> 400 billion"})


def test_a_place_that_a_report_does_not_have_is_named() -> None:
    """A slip in a path says where the report ends."""
    with pytest.raises(ValueError, match=r"has no 'memory\.wheights' \(at 'wheights'\)"):
        value_of({"report": "memory.wheights", "scenario": {"model": "llama-2-7b"}})


def test_a_claim_shows_its_three_parts() -> None:
    """Claim, check with a number that opens, and verdict by word; sources have a day."""
    stand_on("memory/inference/")
    shown = page.claim("D014")
    assert all(f"{part}:</strong>" in shown for part in ("Claim", "Check", "Verdict"))
    assert "137.95 GB</button>" in shown
    assert "✗ Wrong." in shown
    assert "2026-11-21" in page.claim("D017")


def test_the_list_has_every_claim_once() -> None:
    """No claim is lost between the two tables of the page."""
    stand_on("reference/claims/")
    listed = re.findall(r'data-claim="(\w+)"', page.claims_table())
    assert sorted(listed) == sorted(catalog().ids("claims"))
    written = (DOCS / "reference/claims.md").read_text(encoding="utf-8")
    assert all(f'"{verdict}"' in written for verdict in {claim.verdict for claim in catalog().claims()})


def test_a_wrong_claim_stands_where_a_reader_meets_it() -> None:
    """On a page besides the list."""
    placed = on_pages()
    assert [claim.id for claim in catalog().claims() if claim.refuted and claim.id not in placed] == []
    assert on_pages() <= set(catalog().ids("claims"))
