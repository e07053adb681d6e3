"""What of the catalogue has grown old: prices, devices that were announced, and facts nobody has checked since."""

import datetime
from collections.abc import Mapping
from typing import NamedTuple

from calc.catalog.choices import PRICE_STALE_DAYS

ANNOUNCED_DAYS = 90  # after which an announced device may be sold
FACT_DAYS = 365
ONCE = ("launch",)  # kinds of prices that no other follows
# Kinds of entries whose facts change: a data sheet does not, a list of what an engine runs does.
CHANGING = {"support": PRICE_STALE_DAYS, "engines": FACT_DAYS, "machines": FACT_DAYS, "protocols": FACT_DAYS}


class Old(NamedTuple):
    """An entry that is due: of which kind, which, since when, and why."""

    kind: str
    entry: str
    checked: str
    why: str


def days(checked: object, today: datetime.date) -> int:
    """Return how many days ago something was looked at."""
    return (today - datetime.date.fromisoformat(str(checked))).days


def due(tables: Mapping[str, Mapping[str, Mapping[str, object]]], today: datetime.date) -> list[Old]:
    """Return what is due, oldest first. A price counts only if no newer one of its item and kind is there."""
    found: list[Old] = []
    newest: dict[tuple[object, ...], tuple[str, str]] = {}
    for name, entry in tables.get("prices", {}).items():
        if entry["kind"] in ONCE:
            continue
        of = (entry["of"], entry.get("item", ""), entry["kind"])
        newest[of] = max(newest.get(of, ("", "")), (str(entry["checked"]), name))
    for checked, name in newest.values():
        if days(checked, today) > PRICE_STALE_DAYS:
            found.append(Old("prices", name, checked, f"no price of its kind within {PRICE_STALE_DAYS} days"))
    for name, entry in tables.get("accelerators", {}).items():
        if entry["availability"] == "announced" and days(entry["checked"], today) > ANNOUNCED_DAYS:
            found.append(Old("accelerators", name, str(entry["checked"]), "announced: is it sold, and as announced?"))
    for kind, limit in CHANGING.items():
        for name, entry in tables.get(kind, {}).items():
            checked = str(entry.get("checked", today))
            if days(checked, today) > limit:
                found.append(Old(kind, name, checked, f"not looked at within {limit} days"))
    return sorted(found, key=lambda old: (old.checked, old.kind, old.entry))


def listed(found: list[Old]) -> str:
    """Return a list for an issue, by kind; empty where nothing is due."""
    lines = []
    for kind in sorted({old.kind for old in found}):
        of_kind = [old for old in found if old.kind == kind]
        lines += [
            f"## {kind}: {len(of_kind)}",
            "",
            *(f"- `{old.entry}`, {old.checked}: {old.why}" for old in of_kind),
            "",
        ]
    return "\n".join(lines)
