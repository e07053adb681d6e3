"""Estimating coefficients: of rows made from known ones the known come back, and a source left out says nothing."""

import math
from collections.abc import Mapping

import pytest

from calc.validation.fitting import Item, above_of, chosen, felt, fit, without_each


def item(source: str, place: int, work: float, measured: float, name: str = "share") -> Item:
    """Return a row whose rate is a share of what its device could do, less a time that does not depend on it."""

    def predict(values: Mapping[str, float]) -> float:
        return 1 / (work / values.get(name, values["share"]) + values["step_s"])

    return Item(f"{source}-{place}", source, (source,), "decode", "", measured, predict)


def rows(source: str, share: float, step_s: float, name: str = "share") -> list[Item]:
    """Return rows as they would be measured under these coefficients."""
    works = (0.0001, 0.001, 0.01, 0.1, 1.0)
    return [item(source, place, work, 1 / (work / share + step_s), name) for place, work in enumerate(works)]


START = {"share": 0.5, "step_s": 0.001}


def test_known_coefficients_come_back() -> None:
    """Rows of a share of 0.7 and 5 ms give both to a hundredth, from a start that is far from them."""
    found = fit([*rows("a", 0.7, 0.005), *rows("b", 0.7, 0.005)], START, START).values
    assert found["share"] == pytest.approx(0.7, rel=0.01)
    assert found["step_s"] == pytest.approx(0.005, rel=0.01)


def test_a_source_left_out_says_nothing() -> None:
    """Two sources agree and the third does not: without it the two are predicted exactly, and it as they say."""
    items = [*rows("a", 0.7, 0.005), *rows("b", 0.7, 0.005), *rows("c", 0.35, 0.005)]
    left = without_each(fit(items, START, START), ["c"])["c"]
    assert left["share"] == pytest.approx(0.7, rel=0.02)
    slow = items[-1]
    assert slow.error(left) == pytest.approx(math.log(2), abs=0.03)


def test_a_kernel_without_rows_is_as_the_plain_one() -> None:
    """The share of a kernel that only the source left out has falls to the plain share."""
    start = {**START, "share_awq": 0.5}
    items = [*rows("a", 0.7, 0.005), *rows("b", 0.7, 0.005), *rows("c", 0.4, 0.005, "share_awq")]
    fitted = fit(items, start, start)
    assert fitted.values["share_awq"] == pytest.approx(0.4, rel=0.03)
    assert without_each(fitted, ["c"])["c"]["share_awq"] == pytest.approx(0.7, rel=0.05)


def test_a_run_that_ends_is_tried_by_what_stands_in_its_place() -> None:
    """Coefficients are those of what is tried, 0.7; the error is that of the run, which takes twice as long."""
    tried = [*rows("a", 0.7, 0.005), *rows("b", 0.7, 0.005)]
    runs = [
        one._replace(predict=lambda values, one=one: one.predict(values) / 2, in_place=one.predict) for one in tried
    ]
    found = fit(runs, START, START).values
    assert found["share"] == pytest.approx(0.7, rel=0.01)
    assert runs[0].trial(found) == pytest.approx(0.0, abs=0.01)
    assert runs[0].error(found) == pytest.approx(-math.log(2), abs=0.01)


def test_names_of_what_stands_above() -> None:
    """Of a kernel on a generation first the kernel, then the plain coefficient."""
    names = ("weights_share", "weights_share_native", "weights_share_native@CDNA 3")
    assert above_of("weights_share_native@CDNA 3", names) == "weights_share_native"
    assert above_of("weights_share_native", names) == "weights_share"
    assert above_of("weights_share", names) is None


def test_long_tables_are_sampled_alike_each_time() -> None:
    """At most twenty rows of a group are looked at, whatever their order."""
    many = [item("a", place, 0.1, 1.0) for place in range(200)]
    assert len(chosen(many)) == 20
    assert {row.id for row in chosen(many)} == {row.id for row in chosen(many[::-1])}


def test_an_error_that_is_far_off_pulls_hardly() -> None:
    """An error of twelve times counts little more than one of eleven: a tenth of what 1.2 counts more than 1.1."""
    near, far = (felt(math.log(more)) - felt(math.log(less)) for more, less in ((1.2, 1.1), (12, 11)))
    assert 0 < far < near / 10
    assert 0.9 * math.log(1.2 / 1.1) < near < 1.1 * math.log(1.2 / 1.1)


def test_sources_left_out_one_after_the_other_are_as_left_out_alone() -> None:
    """What was seen while one source was out does not change what is estimated without another."""
    items = [*rows("a", 0.7, 0.005), *rows("b", 0.6, 0.004), *rows("c", 0.35, 0.006)]
    fitted = fit(items, START, START)
    assert without_each(fitted, ["a", "b", "c"])["c"] == without_each(fitted, ["c"])["c"]
