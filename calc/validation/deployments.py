"""Deployments that others publish: whether the planner's first five hold the same devices, or the reason why not.

Each row of `deployments.csv` is a model on so many devices, in its publisher's words. The planner is asked for what
serves that model for least rent, of the same maker's devices of the same kind of market, to one reader with a text of
usual length.
"""

from typing import Any, NamedTuple

from calc import plan
from calc.catalog import catalog
from calc.validation.scores import Row, read_rows

FILE = "deployments.csv"
CONTEXT = 8192  # tokens, where a model is made for as many
FIRST = 5  # options, of as many kinds of devices
MACHINE = 8  # devices of a kind, where a deployment has no more
Devices = tuple[str, int, float | None]  # a kind of them, how many do, and their rent of a month in USD


class Choice(NamedTuple):
    """A deployment, what the planner found first, and what it found of the published devices."""

    row: Row
    first: list[Devices]  # cheapest first, of those that surely fit, and then of the others
    number: int | None  # of the published devices that do; None: not as many as were published
    rent: float | None  # of as many as were published, a month in USD
    lacks: str  # what the published ones lack; empty where they do

    @property
    def place(self) -> int:
        """Where the published kind of devices stands among the first, from 1 on; 0: not among them."""
        return next((place for place, kind in enumerate(self.first, 1) if kind[0] == self.row["accelerator"]), 0)

    @property
    def published(self) -> int:
        """How many devices were published."""
        return int(self.row["accelerators"])

    @property
    def same(self) -> bool:
        """Whether the first options hold the published devices, no more and no fewer of them."""
        return self.place > 0 and self.number == self.published

    @property
    def reason(self) -> str:
        """Why the first options do not hold the published devices; empty where they do."""
        if self.number is None:
            return f"does not do: {self.lacks}"
        found = [f"{self.number} of them do"] if self.number < self.published else []
        own = self.rent
        if not self.place and own is None:
            found.append("nobody says what they rent for")
        elif not self.place and own is not None:
            less = sum(rent is not None and rent <= own for *_, rent in self.first)
            surer = f", {more} fit more surely" if (more := len(self.first) - less) else ""
            found.append(f"{less} other kinds rent for less{surer}")
        return "; ".join(found)


def asked(row: Row) -> dict[str, object]:
    """Return what a deployment serves: its model in its format and engine, to one reader."""
    longest = catalog().model(row["model"]).context_tokens
    tokens = min(CONTEXT, longest) if longest else CONTEXT
    weights = row["weights"] or "published"
    return {"model": row["model"], "weights": weights, "engine": row["engine"], "context_tokens": tokens}


def choice(row: Row) -> Choice:
    """Return what the planner finds for a deployment, and of its devices."""
    question, published = {"want": "hardware", **asked(row)}, int(row["accelerators"])
    device, most = catalog().accelerator(row["accelerator"]), max(MACHINE, published)
    limits = {"vendors": [device.vendor], "segments": [device.segment], "devices": most}
    found: Any = plan({**question, "limits": limits, "count": FIRST})
    have = {"accelerator": device.id, "accelerators": published}
    own: Any = plan({"want": "models", **asked(row), "have": have})
    fewest: Any = plan({**question, "limits": {"accelerators": [device.id], "devices": published}, "count": 1})
    served = own["options"] and fewest["options"]
    return Choice(
        row=row,
        first=[devices_of(option) for option in found["options"]],
        number=fewest["options"][0]["scenario"]["accelerators"] if served else None,
        rent=own["options"][0]["cost"]["rent_per_month"] if served else None,
        lacks="" if served else next(iter(own["rejected"].values()))["nearest"]["lacks"],
    )


def devices_of(option: dict[str, Any]) -> Devices:
    """Return the devices of an option with their rent."""
    return option["scenario"]["accelerator"], option["scenario"]["accelerators"], option["cost"]["rent_per_month"]


def choices() -> list[Choice]:
    """Return what the planner finds for all deployments."""
    return [choice(row) for row in read_rows(FILE)]
