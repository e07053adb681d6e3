"""Puts the benchmark's figures into the tables that a page shows and the goals that they are held against."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tests.benchmark import question
from tests.benchmark.boot import OURS, SETUPS, USUAL

KEYSTROKE_LIMIT_MS = 16
PAINTED_LIMIT_MS = 33  # two frames
NEXT_PAGE_LIMIT_MS = 5  # beyond what the theme takes for a page without a calculator
SENT_LIMIT_BYTES = 4_200_000
RATIO_LIMITS = {"cold_ms": 0.45, "warm_ms": 0.30, "slow_ms": 0.50}
COLUMNS = {
    "cold_ms": "Cold",
    "warm_ms": "Warm (third visit)",
    "slow_ms": "Cold at 20 Mbit/s, 40 ms",
}


def spread(values: Sequence[float]) -> str:
    """Return median and range, in whole milliseconds."""
    return f"{statistics.median(values):,.0f} ms [{min(values):,.0f}–{max(values):,.0f}]"


def percentile_95(values: Sequence[float]) -> float:
    """Return the value that 19 of 20 do not exceed."""
    return statistics.quantiles(values, n=20, method="inclusive")[18]


def ratio(figures: Mapping[str, Any], column: str) -> float:
    """Return this site's median over the usual recipe's."""
    ours, usual = (statistics.median(figures["boot"][setup.id][column]) for setup in (OURS, USUAL))
    return ours / usual


def boot_table(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of waits by set-up."""
    rows = []
    for setup in SETUPS:
        entry = figures["boot"][setup.id]
        sent = f"{statistics.median(entry['sent_bytes']) / 1e6:.2f} MB"
        rows.append([setup.label, sent, *(spread(entry[column]) for column in COLUMNS)])
    rounds = len(figures["boot"][OURS.id]["cold_ms"])
    caption = f"From the first reach for a calculator to its answer on screen: median [range] of {rounds} rounds"
    return {"caption": caption, "headings": ["Set-up", "Sent", *COLUMNS.values()], "rows": rows}


def goal_table(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of goals: what was asked, what was measured, and whether it is met."""
    sent = statistics.median(figures["boot"][OURS.id]["sent_bytes"])
    answered, painted = (
        percentile_95([key[name] for key in figures["keystrokes"]]) for name in ("answered", "painted")
    )
    asked = statistics.median(figures["question_ms"])
    live, theme = (statistics.median(visit[name] for visit in figures["next_page_ms"]) for name in ("live", "theme"))
    goals: list[tuple[str, str, str, bool | None]] = [
        (f"{name}, share of the usual recipe's wait", f"{limit:.2f}", f"{share:.2f}", share <= limit)
        for column, name in COLUMNS.items()
        for limit, share in [(RATIO_LIMITS[column], ratio(figures, column))]
    ]
    goals += [
        (
            f"“{question.ASKED}” asked on the first page by who was never here, painted, median",
            f"{question.LIMIT_MS:,} ms",
            f"{asked:,.0f} ms",
            asked <= question.LIMIT_MS,
        ),
        ("Sent, with brotli", f"{SENT_LIMIT_BYTES / 1e6:.1f} MB", f"{sent / 1e6:.2f} MB", sent <= SENT_LIMIT_BYTES),
        (
            "Click to a live calculator on the next page, painted, median, beyond the theme's own part",
            f"{NEXT_PAGE_LIMIT_MS} ms",
            f"{live - theme:.0f} ms",
            live - theme <= NEXT_PAGE_LIMIT_MS,
        ),
        (
            "Keystroke to the new answer in the page, 95th percentile",
            f"{KEYSTROKE_LIMIT_MS} ms",
            f"{answered:.1f} ms",
            answered <= KEYSTROKE_LIMIT_MS,
        ),
        (
            "Keystroke to the new answer painted, 95th percentile",
            f"{PAINTED_LIMIT_MS} ms",
            f"{painted:.1f} ms",
            painted <= PAINTED_LIMIT_MS,
        ),
    ]
    goals.insert(6, ("The theme's own part: the page without the calculator's script", "", f"{theme:.0f} ms", None))
    said = {True: "yes", False: "no", None: ""}
    rows = [[name, limit, measured, said[met]] for name, limit, measured, met in goals]
    return {"caption": "Goals", "headings": ["What", "At most", "Measured", "Met"], "rows": rows}


def machine_table(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of where and when the figures were taken."""
    rows = [[name, str(value)] for name, value in figures["machine"].items()]
    return {"caption": "Where and when", "headings": ["What", "Which"], "rows": rows}
