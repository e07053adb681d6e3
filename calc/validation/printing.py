"""The command lines of the accuracy tables: scores by source, what was left out, the worst rows."""

import argparse
from collections.abc import Callable, Sequence

from calc.validation.scores import Score, Scores, by, line, lines_by_source, skipped_lines, table

WIDEST = 44  # letters of a group's name


def print_scores(
    scores: Callable[[], Scores],
    written: Callable[[Score], str],
    *,
    keys: Sequence[str] = (),
) -> None:
    """Print the tables that the command line asks for; `written` is the line of one of the worst rows.

    A second table has the scores by what is named in `keys`.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--worst", type=int, default=15)
    parser.add_argument("--source")
    options = parser.parse_args()
    found, skipped = scores()
    if options.source:
        found = [score for score in found if score.source == options.source]
    if not found:
        print(f"Left out:\n{skipped_lines(skipped)}")
        return
    print(table("source", lines_by_source(found)))
    if keys:
        print()
        print(table(", ".join(keys), [line(name[-WIDEST:], group) for name, group in by(found, *keys).items()]))
    print(f"\nLeft out:\n{skipped_lines(skipped)}\n\nWorst rows:")
    for score in sorted(found, key=lambda score: -abs(score.error))[: options.worst]:
        print(written(score))
