"""How near published measurements of training memory the predictions are, and that every larger error is explained."""

import pytest

from calc.catalog import catalog
from calc.planning.chance import SURE, chance_of_fitting
from calc.validation.recorded import scored
from calc.validation.scores import Score, by, line, overall, reason_of, reasons
from calc.validation.training_left_out import fitted, prepared, ranges, sources
from calc.validation.training_sources import IMPOSSIBLE

# Median error by source, rounded up. In torchao's runs hardly a block is unused; what others leave is expected of them.
MEDIANS = {
    "axolotl": 0.14,
    "crusoe": 0.03,
    "fms": 0.07,
    "guide_h200": 0.01,
    "fsdp_qlora": 0.05,
    "internevo": 0.05,
    "litgpt": 0.06,
    "memopro": 0.01,
    "qwen_readme": 0.06,
    "swift": 0.10,
    "swift_deepspeed": 0.08,
    "swift_megatron": 0.07,
    "torchao": 0.05,
    "torchtitan": 0.06,
    "torchtune": 0.05,
}


@pytest.fixture(scope="module")
def scores() -> list[Score]:
    """The scores of the files as they are, computed once for all tests and builds."""
    return scored("training-memory").scores


def test_most_rows_can_be_predicted(scores: list[Score]) -> None:
    """Nearly every row that ran and says what it ran becomes a scenario."""
    assert len(scores) >= 440


@pytest.mark.parametrize(("source", "most"), MEDIANS.items())
def test_median_error_by_source(scores: list[Score], source: str, most: float) -> None:
    """Half of a source's rows are nearer than its median error."""
    assert line(source, by(scores, "source")[source]).middle <= most


def test_ranges_hold_what_they_promise(scores: list[Score]) -> None:
    """Ranges are made to hold four of five rows of sources left out; of rows that they are made of they hold more."""
    for covered in (line("all rows", scores).covered, overall(by(scores, "source")).covered):
        assert covered is not None and 0.8 <= covered <= 0.93
    few = [name for name, group in by(scores, "source").items() if (line(name, group).covered or 0) < 0.7]
    # Half of Axolotl's rows are mixtures in 4 bits and figures of other releases; of DLRover's adapters
    # the residuals tell; of AMD's blogs and TRL's notebooks batches differ in length; the others are two to five rows.
    told = ["axolotl", "dlrover", "llamafactory_wiki_unsloth", "torchao_pretraining"]
    of_other_texts = ["rocm_blogs", "trl_long_context", "trl_notebooks"]
    assert few == sorted([*told, *of_other_texts, "colossalai_4719", "megatron_deepspeed", "sumanthrh"])


def test_sources_count_alike(scores: list[Score]) -> None:
    """The mean over sources of the median error: 8 % of thirty, to which twelve came of which nothing was known."""
    assert overall(by(scores, "source")).middle <= 0.115


def test_every_larger_error_has_its_reason(scores: list[Score]) -> None:
    """Each row that is off by more than a tenth, or left out, has a reason, its own or that of its source."""
    why = reasons("training_memory")
    assert [score.row["id"] for score in scores if abs(score.error) > 0.1 and not reason_of(score, why)] == []
    assert set(IMPOSSIBLE) <= set(why)


def test_the_kept_coefficients_predict_as_the_table_does(scores: list[Score]) -> None:
    """The table's own prediction is calc's: with the catalogue's coefficients both give the same bytes."""
    facts = catalog()
    chosen = {
        "rest": facts.coefficient("training-allocator-rest").value / 2**30,
        "rounding": facts.coefficient("training-allocator-rounding").value,
        "slack": facts.coefficient("training-allocator-slack").value,
        "few": facts.coefficient("training-allocator-slack-few").value,
        "varied": facts.coefficient("training-allocator-varied").value,
    }
    predicted = [item.predicted(chosen) for item in prepared()]
    assert predicted == pytest.approx([score.predicted for score in scores], rel=1e-6)


def test_what_surely_fits_does_so_of_sources_left_out() -> None:
    """On devices just large enough that a plan says *fits*, 95 of 100 runs fit or more, of sources that set nothing.

    Each source counts once. What a device needs for that is where the chance of fitting reaches that of *fits*. At
    first sight errors are larger, and it is 95 of 100: `test_tails`.
    """
    rows, stays = prepared(), catalog().coefficient("training-stays")
    shares = []
    for source, mine in sources(rows).items():
        others = [row for row in rows if row.source != source]
        chosen = fitted(others)
        found = ranges(others, chosen)
        sure = 0
        for row in mine:
            needed = row.predicted(chosen)
            certain = min(row.stays, needed)
            upper = certain * stays.high + (needed - certain) * found[row.figure][1] - needed
            spare = row.measured - needed  # on a device that holds what was measured and no byte more
            sure += chance_of_fitting(room_bytes=row.measured, spare_bytes=spare, upper_bytes=upper) <= SURE
        shares.append(sure / len(mine))
    assert SURE <= sum(shares) / len(shares) < 1
