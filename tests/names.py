"""Says of how many names of each list there is an answer, and what the others are: `python -m tests.names`.

The lists lie in `tests/data/`: `most_downloaded.json`, by public counts, and `drawn_names.json`, drawn by chance.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from calc import estimate
from calc.errors import ScenarioError
from tests.known import load

Row = dict[str, Any]


class Asked(NamedTuple):
    """A name and what is answered: the model's id and parameters, or why there is none."""

    row: Row
    model: str | None
    parameters: int = 0
    reason: str = ""

    @property
    def right(self) -> bool:
        """Whether the model is the one that it is, with its count where one is published, and not a little off."""
        counted = self.row.get("parameters", self.parameters)
        return (
            self.model is not None and self.model == self.row["model"] and counted == self.parameters and not self.off
        )

    @property
    def off(self) -> str:
        """In what the answer is known to differ, which it says itself."""
        return str(self.row.get("off", ""))


def ask(row: Row) -> Asked:
    """Ask for the model of a name."""
    try:
        model = estimate({"model": row["name"]})["model"]
    except ScenarioError as error:
        return Asked(row, None, reason=error.message)
    return Asked(row, model["id"], model["parameters_total"])


def lists() -> Iterator[tuple[str, list[Row]]]:
    """Yield each list's title and rows, those by downloads first."""
    for kind, found in (
        ("most downloaded", load("most_downloaded.json")["lists"]),
        ("draw", load("drawn_names.json")["draws"]),
    ):
        for index, each in enumerate(found, 1):
            yield f"{kind} {index}", each["rows"]


def main() -> None:
    """Print a line for each list, and one for each name of the lists by downloads that is not answered rightly."""
    for title, rows in lists():
        asked = [ask(row) for row in rows]
        print(f"{title}: {sum(each.right for each in asked)} of {len(rows)}")
        if title.startswith("most"):
            for each in asked:
                if not each.right:
                    print(f"    {each.row['name']}: {each.reason or each.off or each.model}")


if __name__ == "__main__":
    main()
