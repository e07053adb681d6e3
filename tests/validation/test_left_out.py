"""What is predicted of sources that were left out: how well, how ranges hold, and that what is kept is current."""

import math
from collections import Counter, defaultdict
from itertools import combinations
from statistics import mean, median

import pytest

from calc.catalog import catalog
from calc.catalog.entries import DATA
from calc.validation import measured_buckets, ranges
from calc.validation.left_out import ASSUMED, KINDS, RANGED, UNKNOWN, decoding_on_host, kept, source_errors
from calc.validation.residuals import Residual
from calc.validation.scores import read_rows

# The median error of sources left out, each once, may not pass these, a little more than what is reached. The goals are
# 4 % and 6 % of memory, 12 % of training speed and 15 % of inference speed. Those of speed were met on the sources of
# before. The others, written down before anything was predicted of them, are harder: servers as people start them,
# small models in loops that somebody wrote, figures that a README rounds. The 470 sources of inference speed and the
# 130 of training speed that were there before 28 November 2026 keep 0.143 and 0.131; of 85 and 20 that came since, nine
# are off by a factor of two: models on their first day, a host of Colab's, libraries that nobody else measured. Of
# training memory the sources of before keep 0.075, and twelve came that are a fifth off. Of inference memory those of
# before keep 0.03, and ten of one to four rows are half off and more: pools of servers with little left beside the
# weights, and what a profiling run shows models that see.
MEDIANS = {
    "inference-memory": 0.16,
    "inference-speed": 0.16,
    "training-memory": 0.12,
    "training-memory-unnamed": 0.125,
    "training-memory-unknown": 0.16,
    "training-memory-assumed": 0.21,
    "training-speed": 0.165,  # 0.12 of the 130 sources of before
}


@pytest.mark.parametrize("kind", tuple(KINDS))
def test_sources_left_out_are_predicted_as_well_as_they_were(kind: str) -> None:
    """The mean over sources of the median error of what others say."""
    assert ranges.left_out(kind).middle <= MEDIANS[kind]


@pytest.mark.parametrize("kind", tuple(kind for kind in KINDS if kind not in (UNKNOWN, ASSUMED)))
def test_ranges_hold_sources_that_they_were_not_made_of(kind: str) -> None:
    """Of rows 75 to 85 %, and of sources with each counting once at least 70 %.

    Rows of training memory are up to 91 %: more of the sources that have most, as small ones set the width. Ranges of
    speed are made for what nobody has looked at, and hold nine of ten of the others. Weights have no range, and
    vLLM's log has 10 to 150 MB more of them, tables of positions among them, which are not counted.
    """
    found = ranges.left_out(kind).covered
    most = {"inference-speed": 0.94, "training-speed": 0.94}.get(kind, 0.91 if kind.startswith("training") else 0.85)
    assert (0.73 if kind == "inference-memory" else 0.75) <= found.rows <= most
    assert found.sources >= 0.7


@pytest.mark.parametrize("kind", RANGED)
def test_ranges_hold_what_was_predicted_at_first_sight(kind: str) -> None:
    """Seven of ten rows that were written down before they were predicted, and of sources; four of five are meant."""
    found = ranges.left_out(kind).first
    assert found is not None
    assert 0.7 <= found.rows <= 0.9 and 0.7 <= found.sources <= 0.9


def test_errors_at_first_sight_count_each_source_once() -> None:
    """The mean and the middle of the sources' median errors are those of the file, and larger than of sources left out.

    What is in the formulas was learnt from these rows, too.
    """
    kind = "training-speed"
    source_of = {row.id: row.source for row in kept(kind).residuals}
    errors: dict[str, list[float]] = {}
    for row in read_rows("first_sight.csv"):
        if row["kind"] == kind and row["id"] in source_of:
            errors.setdefault(source_of[row["id"]], []).append(abs(math.expm1(float(row["error"]))))
    found, medians = ranges.first_sight(kind), [median(one) for one in errors.values()]
    assert (found.rows, found.sources) == (sum(map(len, errors.values())), len(errors))
    assert found.mean == pytest.approx(mean(medians)) and found.middle == pytest.approx(median(medians))
    assert found.mean > ranges.left_out(kind).middle
    with pytest.raises(ValueError, match="no row of training-memory-unknown was kept"):
        ranges.first_sight(UNKNOWN)


def test_ranges_hold_less_where_nothing_is_said_of_the_framework() -> None:
    """Two sources of nine do what no other does; three of five rows lie in ranges that others make."""
    assert ranges.left_out(UNKNOWN).covered.sources >= 0.6


def test_no_preset_is_better_than_none() -> None:
    """Where nothing is said of the framework the commonest one is not taken for it: that is further off."""
    assert ranges.left_out(UNKNOWN).middle < ranges.left_out(ASSUMED).middle


def test_the_catalogue_has_the_ranges_and_counts_of_these_rows() -> None:
    """The files are what the command writes today."""
    assert ranges.RANGES.read_text(encoding="utf-8") == ranges.written_ranges()
    assert measured_buckets.MEASURED.read_text(encoding="utf-8") == measured_buckets.written_measured()
    assert measured_buckets.MODELS.read_text(encoding="utf-8") == measured_buckets.written_models()
    assert (DATA / "measured.toml").stat().st_size < 56_000  # packed, a tenth


def test_buckets_add_up_to_all_rows() -> None:
    """Each row of speed stands in one bucket of the catalogue."""
    counted = sum(entry["speed"][0] for entry in catalog().entries("measured").values() if "speed" in entry)
    assert counted == len(kept("inference-speed").residuals)


def residual(source: str, error: float, *, others: int = 0, engine: str = "vllm") -> Residual:
    """Return the error of a row in decoding."""
    return Residual("S1", source, engine, "decode", "vllm_hopper-data-center_bf16_dense", 0.0, error, others=others)


def test_a_width_by_hand() -> None:
    """Ten errors of 0.01 to 0.10: four of five stay below 0.08. A source of four rows weighs twice one of one row."""
    assert ranges.width([residual("a", error / 100) for error in range(1, 11)], 0.0) == 0.08
    assert ranges.width([*(residual("a", 0.1) for _ in range(4)), residual("b", 0.5)], 0.0) == 0.5
    assert ranges.width([*(residual("a", 0.1) for _ in range(25)), residual("b", 0.5)], 0.0) == 0.1


def test_an_engine_of_few_sources_is_drawn_to_all() -> None:
    """One source of 0.1 and three of 0.4 together: an engine's width is (0.1 + 3 × 0.4) / 4."""
    rows = [residual("a", 0.1), *(residual(name, 0.4, engine="sglang") for name in "bcd")]
    found = ranges.ranges_of(rows, 0.0)
    assert found["vllm", "decode"].inside == pytest.approx(0.325, abs=0.0011)
    assert found["", "decode"].inside == pytest.approx(0.4, abs=0.0011)


def test_sources_behind_an_answer_narrow_its_range() -> None:
    """Errors of 0.6 where no source stands behind, and 0.3 where 15 do: at 5 parts between to one inside 0.245 both.

    What buckets have in common leaves √(1 + 5 / (n + 1)) of the width of n sources: 2.449 and 1.146 times.
    """
    alone, among = residual("a", 0.6), residual("b", 0.3, others=15)
    assert ranges.width([alone], 5.0) == pytest.approx(0.6 / math.sqrt(6))
    assert ranges.width([among], 5.0) == pytest.approx(0.3 / math.sqrt(1 + 5 / 16))
    found = ranges.ranges_of([alone, residual("c", 0.6)], 5.0)
    assert found["", "decode"].factor(0) == pytest.approx(math.exp(0.6), rel=0.005)
    assert ranges.end_of(found, among) == pytest.approx(0.6 * math.sqrt((1 + 5 / 16) / 6), rel=0.01)


def test_interval_scores_by_hand() -> None:
    """A range of 0.1 either way that one row of ten misses by 0.4: 0.2, and ten times 0.4 for that row."""
    rows = [*(residual("a", 0.1) for _ in range(9)), residual("a", 0.5)]
    assert ranges.interval_score(rows, 0.0) == pytest.approx(0.2 + 10 * 0.4 / 10)


def test_what_buckets_have_in_common_is_found() -> None:
    """Errors that fall with the sources behind them as four parts between buckets to one inside are sharpest so."""
    rows = [
        residual(f"{others} {place}", place / 20 * math.sqrt(1 + 4 / (others + 1)), others=others)
        for others in (0, 1, 3, 9)
        for place in range(1, 21)
    ]
    assert min(ranges.BETWEEN, key=lambda between: ranges.interval_score(rows, between)) == 4.0


def test_ranges_are_as_wide_as_errors_at_first_sight() -> None:
    """Three sources off by 0.1 that were off by 0.2 at first sight: twice as far, drawn half-way to once."""
    rows = [residual(name, 0.1)._replace(first=-0.2) for name in "abc"]
    assert ranges.ranges_of(rows, 0.0)["", "decode"].inside == pytest.approx(0.15, abs=0.0011)
    better = [row._replace(first=0.05) for row in rows]
    assert ranges.ranges_of(better, 0.0) == ranges.ranges_of([residual(name, 0.1) for name in "abc"], 0.0)


def test_errors_of_sources_by_hand() -> None:
    """The middle of three rows, by source and engine; a source that no other stands beside has none without it."""
    alone = residual("b", 0.0, engine="sglang")._replace(outside=None, inside=math.log(1.5))
    found = source_errors([alone, *(residual("a", math.log(1 + error)) for error in (0.1, 0.4, 0.2))])
    assert [(one.source, one.engine, one.rows) for one in found] == [("a", "vllm", 3), ("b", "sglang", 1)]
    assert found[0].outside == pytest.approx(0.2) and found[0].inside == 0
    assert found[1].outside is None and found[1].inside == pytest.approx(0.5)
    assert ranges.middles([residual("a", math.log(1.1)), residual("b", math.log(0.5))]) == pytest.approx(
        {"a": 0.1, "b": 0.5}
    )


def test_decoding_on_a_host_counts_each_source_once() -> None:
    """Rows of a device alone, of prefill, and of what no other source measured are left out."""
    bucket = "llama.cpp_host_q4_dense"
    rows = [residual(source, math.log(1 + error)) for source, error in (("a", 0.1), ("a", 0.3), ("b", 0.6), ("c", 0.4))]
    hosted = [row._replace(bucket=bucket) for row in rows]
    others = [residual("d", 9.0), hosted[0]._replace(phase="prefill"), hosted[0]._replace(source="e", outside=None)]
    found = decoding_on_host([*hosted, *others])
    assert (found.middle, found.sources) == (pytest.approx(0.4), 3)


def test_no_figure_stands_under_two_sources() -> None:
    """What one copied from another is no second measurement, and would flatter both when either is left out."""
    sources: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for table in ("inference_speed", "community_speed", "inference_memory", "training_speed", "training_memory"):
        for row in read_rows(f"{table}.csv"):
            figure, lengths = figure_of(row)
            if len(figure.replace(".", "").strip("0")) < 3 or row.get("metric") == "weights_on_gpu":
                continue  # round figures and weights are alike because the world is
            model = (row.get("arch_key") or row["model"]).lower().rpartition("/")[2]
            what = (model, row["n_gpus"], row.get("metric"), figure, *lengths)
            sources[what].add(row.get("source_key") or row["source"])
    shared = Counter(pair for named in sources.values() for pair in combinations(sorted(named), 2))
    assert [pair for pair, figures in shared.items() if figures > 1] == []


def figure_of(row: dict[str, str]) -> tuple[str, tuple[str | None, ...]]:
    """Return what a row measured, as it is written, and the lengths that it is of."""
    figure = row.get("value") or row.get("measured_value") or row.get("measured_GiB_per_gpu") or ""
    return figure, (row.get("input_len"), row.get("output_len"), row.get("seq_len"))
