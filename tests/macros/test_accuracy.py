"""The accuracy page: its figures are those of the scores, every row has its place, and a wrong call is refused."""

import json
import re
from html import unescape
from importlib import import_module

import pytest

from calc.validation import recorded
from calc.validation.inference_speed import LEFT_OUT
from calc.validation.recorded import SCORED, scored
from calc.validation.scores import Score, by, line, overall, read_rows
from macros.accuracy import left_out_memory, page
from tests.macros.test_model_tables import number, rows

KINDS = tuple(SCORED)


@pytest.mark.parametrize("kind", KINDS)
def test_kept_scores_are_those_computed(kind: str) -> None:
    """What a build reads back is what the scoring says, to the last digit; every 20th row, as all take minutes."""
    module = import_module(f"calc.validation.{kind.replace('-', '_')}")
    for kept in scored(kind).scores[::20]:
        assert kept == module.score_of(kept.row)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_scored_or_left_out_with_a_reason(kind: str) -> None:
    """Sources add up to all rows, and the rows without a prediction to the rest of the file."""
    *sources, whole, once = rows(page.accuracy_table(kind))
    assert sum(number(row[1]) for row in sources) == number(whole[1]) == number(once[1])
    left_out = sum(number(row[1]) for row in rows(page.accuracy_left_out(kind)))
    assert number(whole[1]) + left_out == len(read_rows(f"{kind.replace('-', '_')}.csv"))
    assert sum(number(row[1]) for row in rows(page.accuracy_figures(kind))) == number(whole[1])


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_and_tables_agree(kind: str) -> None:
    """A figure in a sentence is the one in the table's last lines."""
    *_, whole, once = rows(page.accuracy_table(kind))
    assert [unescape(page.accuracy(kind, what)) for what in ("rows", "median", "p80", "bias", "covered")] == once[1:]
    summary = next(row for row in rows(page.accuracy_summary()) if row[0] == page.title(kind))
    assert summary[1:] == [once[1], unescape(page.accuracy(kind, "sources")), once[2], whole[2], once[5], whole[5]]


@pytest.mark.parametrize("kind", KINDS)
def test_the_worst_rows_come_first_and_are_explained(kind: str) -> None:
    """Errors fall from row to row, and each has its reason."""
    worst = rows(page.accuracy_worst(kind))
    assert len(worst) == 6
    assert worst[0][0].startswith(max(scored(kind).scores, key=lambda score: abs(score.error)).row["id"])
    errors = [abs(float(row[3].replace("−", "-").removesuffix("\N{NO-BREAK SPACE}%"))) for row in worst]
    assert errors == sorted(errors, reverse=True)
    assert all(row[4] and row[4] != "Not known" for row in worst)


@pytest.mark.parametrize("kind", KINDS)
def test_reasons_count_the_rows_that_are_off(kind: str) -> None:
    """Every row that is off by more than a tenth is counted under one reason."""
    large = [score for score in scored(kind).scores if abs(score.error) > page.LARGE]
    assert sum(number(row[1]) for row in rows(page.accuracy_reasons(kind))) == len(large)


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        ("inference-memory", "GiB"),
        ("inference-speed", "tokens/s"),
        ("inference-speed", "seconds"),
        ("community-speed", "tokens/s"),
        ("training-memory", "GiB"),
        ("training-speed", "tokens/s"),
    ],
)
def test_a_figure_says_in_words_what_it_draws(kind: str, unit: str) -> None:
    """The drawing's text says how many rows are near, and the rows of its table's groups add up to all rows."""
    html = page.accuracy_figure(kind, unit)
    (said,) = re.findall(r'role="img" aria-label="[^"]+, ([\d,]+) rows, [^"]+ within 25', html)
    assert sum(number(row[1]) for row in rows(html)) == number(said)
    assert "style=" not in html


def test_errors_of_a_group() -> None:
    """Median, four of five, bias and coverage of four rows by hand; sources with few rows count as much as others."""

    def score(source: str, predicted: float, low: float, high: float) -> Score:
        return Score({"source_key": source}, "device_bytes", 100.0, predicted, low, high)

    scores = [score("a", 110, 90, 120), score("a", 90, 80, 95), score("a", 130, 130, 130), score("b", 160, 90, 170)]
    first = line("a", scores[:3])
    assert (first.rows, first.middle, first.bias, first.covered) == (3, pytest.approx(0.1), pytest.approx(0.1), 0.5)
    assert first.p80 == pytest.approx(0.22)
    whole = overall(by(scores, "source"))
    assert (whole.rows, whole.middle, whole.covered) == (4, pytest.approx(0.35), 0.75)


def test_every_source_has_a_name_and_an_address() -> None:
    """Rows lead to where they were published."""
    found = {
        row.get("source_key") or row["source"]
        for name in (*(kind.replace("-", "_") for kind in KINDS), "serving_runs")
        for row in read_rows(f"{name}.csv")
    }
    assert found == {row["source"] for row in read_rows("sources.csv")}
    assert all(row["url"].startswith("https://") for row in read_rows("sources.csv"))


def test_sources_left_out_are_of_these_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kept table is of nearly all rows that are scored, and rows that changed since stop the build."""
    table = rows(page.left_out_sources())
    assert len(table) == len(json.loads(LEFT_OUT.read_text(encoding="utf-8"))["lines"])
    assert sum(number(row[2]) for row in table) == pytest.approx(len(scored("inference-speed").scores), rel=0.05)
    monkeypatch.setattr(page, "rows_digest", lambda _: "other")
    with pytest.raises(ValueError, match="is of other rows"):
        page.left_out_sources()


def test_sources_of_training_left_out_are_of_these_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for inference: every scored row is counted, and other rows stop the build."""
    table = rows(page.left_out_training())
    assert sum(number(row[1]) for row in table) == len(scored("training-speed").scores)
    monkeypatch.setattr(page, "rows_digest", lambda _: "other")
    with pytest.raises(ValueError, match="is of other rows"):
        page.left_out_training()


def test_training_memory_with_sources_left_out_is_of_these_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kept table has every source that is scored and their mean, and rows that changed since stop the build."""
    table = rows(left_out_memory.left_out_memory_sources())
    scores = scored("training-memory").scores
    assert len(table) == len(by(scores, "source")) + 1
    assert number(table[-1][1]) == len(scores)
    assert len(rows(left_out_memory.unknown_frameworks_table())) == len(table)
    monkeypatch.setattr(left_out_memory, "rows_digest", lambda _: "other")
    with pytest.raises(ValueError, match="is of other rows"):
        left_out_memory.left_out_memory_sources()


def test_wrong_calls_are_refused() -> None:
    """The build stops with what there is."""
    with pytest.raises(ValueError, match="training-memory, training-speed"):
        page.accuracy_table("training-energy")
    with pytest.raises(ValueError, match="is not a figure of accuracy"):
        page.accuracy("training-memory", "mean")
    with pytest.raises(ValueError, match="no row of training-memory is in seconds"):
        page.accuracy_figure("training-memory", "seconds")


def test_scoring_that_fails_stops_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the process said is in the message."""
    monkeypatch.setattr(recorded.sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="not compared with measurements"):
        recorded.computed()
