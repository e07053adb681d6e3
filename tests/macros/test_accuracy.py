"""The accuracy page: its figures are those of the scores, every row has its place, and a wrong call is refused."""

import math
import re
from importlib import import_module
from pathlib import Path

import pytest

from calc.catalog import catalog
from calc.planning.measured import NEW_POOLS, POOLS, widening
from calc.validation import left_out as validation
from calc.validation import recorded, serving_runs
from calc.validation.left_out import KINDS as KEPT
from calc.validation.left_out import RANGED, kept
from calc.validation.power_limits import FILE
from calc.validation.recorded import SCORED, scored
from calc.validation.scores import Score, by, line, overall, read_rows
from macros.accuracy import left_out, page
from macros.markdown import unmarked
from tests.macros.test_model_tables import number, rows

ROOT = Path(__file__).parents[2]
KINDS = tuple(SCORED)


@pytest.mark.parametrize("kind", KINDS)
def test_kept_scores_are_those_computed(kind: str) -> None:
    """What a build reads back is what the scoring says, to the last digit; every 20th row, as all take minutes."""
    module = import_module(f"calc.validation.{kind.replace('-', '_')}")
    scores_of = getattr(module, "scores_of", lambda row: [module.score_of(row)])
    for score in scored(kind).scores[::20]:
        assert score in scores_of(score.row)


def test_every_server_of_a_sample_is_scored_or_left_out_with_a_reason() -> None:
    """A row gives two figures, of which some have a reason to be left out."""
    found = scored("serving-runs")
    known = {score.row["id"] for score in found.scores}
    assert len(found.scores) <= 2 * len(known)
    rest = {row["id"] for row in serving_runs.sampled(read_rows(serving_runs.FILE))} - known
    assert len(rest) <= sum(found.left_out.values())


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "serving-runs"])
def test_every_row_is_scored_or_left_out_with_a_reason(kind: str) -> None:
    """Sources add up to all rows, and the rows without a prediction to the rest of the file."""
    whole, once, *sources = rows(page.accuracy_table(kind))
    assert sum(number(row[1]) for row in sources) == number(whole[1]) == number(once[1])
    left_out = sum(number(row[1]) for row in rows(page.accuracy_left_out(kind)))
    assert number(whole[1]) + left_out == len(read_rows(f"{kind.replace('-', '_')}.csv"))
    assert sum(number(row[1]) for row in rows(page.accuracy_figures(kind))) == number(whole[1])


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_and_tables_agree(kind: str) -> None:
    """A figure in a sentence is the one in the table's second line."""
    once = rows(page.accuracy_table(kind))[1]
    assert [unmarked(page.accuracy(kind, what)) for what in ("rows", "median", "p80", "bias", "covered")] == once[1:]


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
        ("serving-runs", "seconds"),
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
    """Rows lead to where they were published, those of limits of power among them."""
    found = {
        row.get("source_key") or row["source"]
        for name in (*(kind.replace("-", "_") for kind in KINDS), FILE.removesuffix(".csv"))
        for row in read_rows(f"{name}.csv")
    }
    assert found == {row["source"] for row in read_rows("sources.csv")}
    assert all(row["url"].startswith("https://") for row in read_rows("sources.csv"))


@pytest.mark.parametrize("kind", tuple(KEPT))
def test_sources_left_out_are_of_these_rows(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row that was left out is in the table, and rows that changed since stop the build."""
    table = rows(left_out.accuracy_sources_left_out(kind))
    assert sum(number(row[-3]) for row in table) == len(kept(kind).residuals)
    kept.cache_clear()
    monkeypatch.setattr(validation, "rows_digest", lambda _: "other")
    with pytest.raises(ValueError, match="is of other rows"):
        left_out.accuracy_sources_left_out(kind)


def test_the_summary_leads_with_what_nobody_had_seen() -> None:
    """The first figures of a line are at first sight and of sources left out, as in a sentence; others as computed."""
    summary = rows(left_out.accuracy_summary())
    assert [row[0] for row in summary] == [page.title(kind) for kind in KINDS]
    for kind, row in zip(KINDS, summary, strict=True):
        computed = [unmarked(page.accuracy(kind, what)) for what in ("median", "covered", "rows", "sources")]
        assert [row[3], *row[6:]] == computed
        unseen = [unmarked(page.accuracy(kind, what)) if kind in KEPT else "–" for what in ("first", "left-out")]
        assert row[1:3] == unseen
        assert (row[4] != "–") == (kind in RANGED)


def test_what_to_expect_is_said_by_kind_and_by_market() -> None:
    """A kind's line has the figures of its sentences; four of five sources lie further out than half of them."""
    table = rows(left_out.accuracy_at_first_sight())
    kinds = [row for row in table if not row[0].startswith("…")]
    assert [row[0] for row in kinds] == [page.title(kind) for kind in sorted(KEPT) if kind in KINDS]
    for row in kinds:
        kind = row[0].lower().replace(" ", "-")
        assert [row[1], row[3], row[4]] == [
            unmarked(page.accuracy(kind, what)) for what in ("first-middle", "first", "first-sources")
        ]
    assert len(table) - len(kinds) == len(left_out.MARKETS["inference-speed"])
    share = [[float(cell.removesuffix("\N{NO-BREAK SPACE}%")) for cell in row[1:3]] for row in table]
    assert all(half < most for half, most in share)


def test_what_is_long_opens_on_a_press() -> None:
    """Of all tables of rows and sources the page shows none until it is asked to: what leads is how far to trust."""
    content = (ROOT / "docs/about/accuracy.md").read_text(encoding="utf-8")
    closed = re.sub(r'<details class="folded" markdown>.*?</details>', "", content, flags=re.DOTALL)
    for name in ("table", "figures", "worst", "left_out", "sources_left_out", "ranges", "without_frameworks"):
        assert f"accuracy_{name}(" in content and f"accuracy_{name}(" not in closed


def test_ranges_shown_are_the_catalogue_s() -> None:
    """Each factor of the table, with no source behind an answer and with sixteen, is of the catalogue's file."""
    known = {
        (*(f"{math.exp(entry['inside'] * widening(entry['between'], count)):.2f}" for count in (0, 16)), entry["rows"])
        for entry in catalog().entries("ranges").values()
    }
    assert {(row[2], row[5], number(row[6])) for row in rows(left_out.accuracy_ranges())} <= known


def test_shares_of_pools_are_the_catalogue_s() -> None:
    """What the page says of pools is what their ranges are made of."""
    for which, name in (("shown", POOLS), ("new", NEW_POOLS)):
        entry = catalog().entries("ranges")[name]
        said = unmarked(left_out.accuracy_pools(which)).replace("\N{NO-BREAK SPACE}", " ")
        assert said == f"{100 * entry['inside']:.1f} % ({entry['rows']} rows of {entry['sources']} sources)"


def test_frameworks_that_are_not_named_have_every_source() -> None:
    """The table has the sources of training memory and their mean; the less is said the larger is the error."""
    table = rows(left_out.accuracy_without_frameworks())
    assert len(table) == len(by(scored("training-memory").scores, "source")) + 1
    errors = [float(cell.partition("\N{NO-BREAK SPACE}")[0].partition(" ")[0]) for cell in table[-1][2:]]
    assert errors == sorted(errors)


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
