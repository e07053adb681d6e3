"""The command lines of the accuracy tables: scores by source, what was left out, the worst rows."""

import argparse
from collections.abc import Callable, Mapping

from calc.validation.scores import Score, Scores, line, lines_by_source, skipped_lines, table

WIDEST = 44  # letters of a group's name


def print_scores(
    scores: Callable[[], Scores],
    written: Callable[[Score], str],
    *,
    groups: Callable[[list[Score]], tuple[str, Mapping[str, list[Score]]]] | None = None,
) -> None:
    """Print the tables that the command line asks for; `written` is the line of one of the worst rows.

    `groups` gives a second table its title and its scores by name.
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
    if groups:
        title, named = groups(found)
        print()
        print(table(title, [line(name[-WIDEST:], group) for name, group in named.items()]))
    print(f"\nLeft out:\n{skipped_lines(skipped)}\n\nWorst rows:")
    for score in sorted(found, key=lambda score: -abs(score.error))[: options.worst]:
        print(written(score))
