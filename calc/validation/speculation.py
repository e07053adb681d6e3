"""Predicted against measured gain of speculation. Run it: python -m calc.validation.speculation.

A row is a machine that wrote tokens with drafts and without. What is compared is how much faster the first is; what
either is alone belongs to the other tables. Nothing was fitted on these rows. They are those of community_speed.csv
that state their speed without drafts, and those of speculation.csv.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from calc import ScenarioError, estimate
from calc.performance.halving import halved
from calc.validation import community_speed
from calc.validation.inference import accelerator_of, model_of, number, weights_of
from calc.validation.printing import print_scores
from calc.validation.scores import Row, Score, Scores, SkipError, by, line, read_rows

FILE = "speculation.csv"
CLOSE = 1e-12  # relative, of an acceptance


def acceptance_of(share: float, tokens: int) -> float:
    r"""Return the chance of each token that gives a share of accepted ones among those drafted.

    Engines log $\sum_{i=1}^{k} a^i / k$, since nothing behind a rejected token counts.

    >>> round(acceptance_of((0.5 + 0.25) / 2, 2), 6)
    0.5
    """
    counted = range(1, tokens + 1)
    return halved(lambda each: sum(each**n for n in counted) >= share * tokens, 1.0, close=CLOSE)[0]


def share_of(row: Row) -> float:
    """Return the share of drafted tokens that were accepted: one figure, the ends of a range, or one for each place."""
    given = row["acceptance"]
    try:
        parts = [float(part) for part in given.replace("/", "-").split("-")]
    except ValueError:
        raise SkipError("how many drafted tokens are accepted is not stated") from None
    return sum(parts) / len(parts)


def scenario_of(row: Row) -> dict[str, Any]:
    """Return the scenario of a row with its drafts; raises SkipError with the reason where there is none."""
    if not row["baseline_tok_s"]:
        raise SkipError("its speed without drafts is not stated")
    if not row["draft_n_max"]:
        raise SkipError("how many tokens are drafted is not stated")
    tokens = int(row["draft_n_max"])
    devices, tensor = number(row, "n_gpus") or 1, number(row, "tp") or 1
    drafting: dict[str, Any] = {"method": row.get("method") or "mtp", "tokens": tokens}
    drafting["acceptance"] = acceptance_of(share_of(row), tokens)
    if drafting["method"] == "draft":
        drafting["model"] = row["draft"]
    found: dict[str, Any] = {
        "model": model_of(row),
        "engine": community_speed.ENGINES[row["engine"]],
        "weights": weights_of(row),
        "accelerator": accelerator_of(row),
        "parallelism": {"tensor": tensor, "pipeline": max(devices // tensor, 1)},
        "sequences": number(row, "batch") or 1,
        "cached_tokens": number(row, "input_len"),
        "prompt_tokens": 1,
        "output_tokens": number(row, "output_len"),
        "speculation": drafting,
    }
    return found | ({"kv_cache": row["kv_dtype"]} if row["kv_dtype"] else {})


def score_of(row: Row) -> Score:
    """Return a row's score; the ranges of both speeds move together, so the gain has none."""
    try:
        report: Any = estimate(scenario_of(row), repairs=False)
    except ScenarioError as error:
        raise SkipError(f"refused: {error.field} {error.message[:60]}") from None
    if report["speed"] is None:
        raise SkipError("no rates of the device")
    gain = report["speed"]["speculation"]["gain"]
    return Score(row, "gain", float(row["value"]) / float(row["baseline_tok_s"]), gain, low=gain, high=gain)


def rows() -> list[dict[str, str]]:
    """Return all rows with drafts."""
    community = [row for row in read_rows(community_speed.FILE) if row["kind"] == community_speed.DRAFTED]
    return [*read_rows(FILE), *community]


def scores() -> Scores:
    """Return all scores, and the rows that were left out by reason."""
    found, skipped = [], Counter[str]()
    for row in rows():
        try:
            found.append(score_of(row))
        except SkipError as skip:
            skipped[str(skip)] += 1
    return found, skipped


class Gains(NamedTuple):
    """The gains of a source: how many, the least and the largest that were measured and predicted, and the error."""

    rows: int
    address: str  # of the first row, where the source has no name
    measured: tuple[float, float]
    predicted: tuple[float, float]
    middle: float


def gains(found: Iterable[Score]) -> dict[str, Gains]:
    """Return the gains by source, with the median size of their errors."""
    gained = {}
    for source, mine in by(found, "source").items():
        measured, predicted = [score.measured for score in mine], [score.predicted for score in mine]
        gained[source] = Gains(
            len(mine),
            mine[0].row["source"],
            measured=(min(measured), max(measured)),
            predicted=(min(predicted), max(predicted)),
            middle=line(source, mine).middle,
        )
    return gained


def written(score: Score) -> str:
    """Return a row as one line."""
    row = score.row
    return (
        f"{row['id']} {row['source_key'][:20]:<20} {row['arch_key'][:18]:<18} {row['quant'][:10]:<10} "
        f"{row['gpu'][:22]:<22} n={row['batch']} k={row['draft_n_max']} {row['acceptance']:<9} "
        f"{score.measured:6.3g} {score.predicted:6.3g} {score.error:+.0%}"
    )


def main() -> None:
    """Print the tables."""
    print_scores(scores, written)


if __name__ == "__main__":
    main()
