"""How long the tails of errors of memory are at first sight. Run it: python -m calc.validation.tails.

Each error is told in ranges of 80 %: of pools, of totals, and of training, in one. Student's distributions of few and
of many degrees of freedom, scaled so that a tenth of each lies beyond the range on either side, differ by what is
beyond. That of one degree is Cauchy's, by which `calc.planning.chance` says how likely something fits.
"""

from collections import Counter
from math import gamma, log, pi, sqrt

from calc.catalog import catalog
from calc.planning.chance import STRETCH
from calc.planning.measured import TOTALS, share_of
from calc.validation import training_memory
from calc.validation.left_out import at_first_sight
from calc.validation.pools import pool_errors, total_errors
from calc.validation.scores import SkipError, read_rows

TENTH = {1: 3.0777, 2: 1.8856, 4: 1.5332, 30: 1.3104}  # beyond which a tenth lies, by degrees of freedom
Width = tuple[str, float]  # a source, and an error in ranges


def widths() -> list[Width]:
    """Return the errors at first sight of all that memory is asked for, each over the end of its range.

    Above 0 are those of what took more than was predicted: a pool was smaller, or a total larger.
    """
    facts, found = catalog(), list[Width]()
    for name, rows in {**pool_errors(), TOTALS: total_errors()}.items():
        end = share_of(facts, name) * (-1 if name == TOTALS else 1)
        found += [(row.source, (row.outside or 0.0) / end) for row in rows]
    return found + training_widths()


def training_widths() -> list[Width]:
    """Return those of training: more was measured than predicted, or less, over that end of the range."""
    first, found = at_first_sight("training-memory"), list[Width]()
    for row in read_rows(training_memory.FILE):
        if row["id"] not in first:
            continue
        try:
            score = training_memory.score_of(row)
        except SkipError:
            continue
        missed = -first[row["id"]]
        end = score.high if missed > 0 else score.low
        found.append((row["source"], missed / abs(log(end / score.predicted))))
    return found


def likelihood(degrees: int, errors: list[Width]) -> float:
    """Return the mean logarithm of the density of errors, where a source weighs the root of its errors.

    >>> round(likelihood(1, [("a", 0.0), ("b", 1.0)]), 3)
    -1.195
    """
    times, counts = TENTH[degrees], Counter(source for source, _ in errors)
    factor: float = gamma((degrees + 1) / 2) / gamma(degrees / 2) / sqrt(degrees * pi) * times
    weighted: list[tuple[float, float]] = [
        (counts[source] ** -0.5, log(factor) - (degrees + 1) / 2 * log(1 + (times * width) ** 2 / degrees))
        for source, width in errors
    ]
    return sum(weight * one for weight, one in weighted) / sum(weight for weight, _ in weighted)


def share_below(end: float, errors: list[Width]) -> float:
    """Return the share of errors that need no more than so many ranges above what was predicted, weighted alike.

    >>> share_below(1.0, [("a", 0.5), ("b", -3.0), ("c", 2.0), ("d", 1.0)])
    0.75
    """
    counts = Counter(source for source, _ in errors)
    weighted = [(counts[source] ** -0.5, width <= end) for source, width in errors]
    return float(sum(weight for weight, below in weighted if below) / sum(weight for weight, _ in weighted))


def main() -> None:
    """Print how likely errors are under each distribution, and how many stay below what surely fits."""
    errors = widths()
    for degrees in TENTH:
        print(f"{degrees} degrees of freedom: {likelihood(degrees, errors):.3f}")
    print(f"below {STRETCH:.2f} ranges: {share_below(STRETCH, errors):.1%} of {len(errors)}")


if __name__ == "__main__":
    main()
