"""Tails of errors at first sight: in ranges by hand, and which distribution they are likely under."""

from math import exp, log
from types import SimpleNamespace

import pytest

from calc.planning.chance import END, STRETCH, SURE
from calc.validation import tails
from calc.validation.scores import SkipError
from calc.validation.tails import TENTH, likelihood, share_below, training_widths, widths


def test_errors_at_first_sight_have_the_tails_that_chances_are_made_of() -> None:
    """One degree of freedom, Cauchy's distribution, is likelier than more; the more, the less likely."""
    errors = widths()
    found = [likelihood(degrees, errors) for degrees in TENTH]
    assert len(errors) > 150 and found == sorted(found, reverse=True)
    assert TENTH[1] == pytest.approx(END, rel=1e-4)


def test_what_surely_fits_does_so_at_first_sight() -> None:
    """Of errors at first sight, each source weighing the root of them, 95 of 100 stay below where a device is sure."""
    assert share_below(STRETCH, widths()) == pytest.approx(SURE, abs=0.02)


def test_errors_are_told_in_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of what lies above and twice what lies below; what has no scenario is left out."""
    rows = [{"id": name, "source": name} for name in ("more", "less", "none", "looked at")]
    score = SimpleNamespace(predicted=100.0, high=400.0, low=50.0)

    def score_of(row: dict[str, str]) -> SimpleNamespace:
        if row["id"] == "none":
            raise SkipError("no scenario")
        return score

    monkeypatch.setattr(tails, "read_rows", lambda _: rows)
    monkeypatch.setattr(tails.training_memory, "score_of", score_of)
    monkeypatch.setattr(tails, "at_first_sight", lambda _: {"more": -log(2), "less": log(4), "none": 0.0})
    assert training_widths() == [("more", pytest.approx(0.5)), ("less", pytest.approx(-2.0))]


def test_a_source_weighs_the_root_of_its_errors() -> None:
    """Four errors of one source count twice as much as one of another."""
    one, other = (likelihood(2, [("a", width)]) for width in (0.0, 3.0))
    assert likelihood(2, [("a", 0.0)] * 4 + [("b", 3.0)]) == pytest.approx((2 * one + other) / 3)
    assert exp(one) > exp(other)
