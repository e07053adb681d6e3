"""The accuracy page's tables of sources that were left out, and its summary, which leads with them."""

from collections.abc import Mapping

from calc.calculators.html import element, table, text
from calc.catalog import catalog
from calc.planning.measured import NEW_POOLS, POOLS
from calc.units import show_count
from calc.validation.left_out import KINDS, OPEN, RANGED, UNNAMED, decoding_on_host, kept, source_errors
from calc.validation.ranges import COUNTS, between_of, by_source, first_sight, left_out, middles, ranges_of
from calc.validation.recorded import SCORED, scored
from calc.validation.scores import Score, by, overall
from macros.accuracy.page import covered_cell, percent, source_names, title, whole_percent
from macros.filtered import boxed, filtered
from macros.markdown import block, unsearched

__all__ = [
    "accuracy_at_first_sight",
    "accuracy_on_host",
    "accuracy_pools",
    "accuracy_ranges",
    "accuracy_sources_left_out",
    "accuracy_summary",
    "accuracy_without_frameworks",
    "left_out_error",
]

PHASES = {"decode": "Decoding", "prefill": "Prefill", "dense": "Dense models", "mixtures": "Mixtures"}
NEVER = "–"  # of rows that set nothing
MARKETS = {
    "inference-speed": {
        "data-center": "in data centres",
        "consumer": "on cards for players",
        "workstation": "on cards for workstations",
        "soc": "on Macs and others that share memory with a processor",
        "host": "where a part of the model stays in host memory",
    }
}


def accuracy_at_first_sight() -> str:
    """Return how far sources were off when nobody here had seen them: half of them, four of five, and their mean."""
    rows = []
    for kind in ("inference-memory", "inference-speed", "training-memory", "training-speed"):
        for market, words in {"": "", **MARKETS.get(kind, {})}.items():
            seen = first_sight(kind, market)
            named = text(f"… {words}") if words else element("a", text(title(kind)), href=f"#{kind}")
            rows.append([named, *map(percent, (seen.middle, seen.most, seen.mean)), show_count(seen.sources)])
    headings = ("Figure", "Half of sources are off by less than", "Four of five by less than", "Their mean", "Sources")
    return block(table(headings, rows, caption="Errors at first sight, of the median row of each source"))


def accuracy_summary() -> str:
    """Return the errors of all kinds of figures: of sources that nobody had seen first; each source counts once."""
    rows = []
    for kind in SCORED:
        found = scored(kind).scores
        groups = by(found, "source")
        once = overall(groups)
        shown = element("a", text(title(kind)), href=f"#{kind}")
        errors, held = unseen(kind) if kind in KINDS else ([NEVER] * 2, [NEVER] * 2)
        rows.append([shown, *errors, percent(once.middle), *held, covered_cell(once), *counts(found, groups)])
    headings = ("Median error, at first sight", "left out", "as computed")
    ranges = ("In the range, at first sight", "left out", "as computed")
    caption = "Predicted against measured, each source once"
    return block(table(("Figure", *headings, *ranges, "Rows", "Sources"), rows, caption=caption))


def unseen(kind: str) -> tuple[list[str], list[str]]:
    """Return median errors and shares in the range, each at first sight and with sources left out."""
    outside, seen = left_out(kind), first_sight(kind)
    first = whole_percent(outside.first.sources) if outside.first else NEVER
    return [percent(seen.mean), percent(outside.middle)], [first, whole_percent(outside.covered.sources)]


def counts(found: list[Score], groups: Mapping[str, list[Score]]) -> list[str]:
    """Return how many rows and sources there are."""
    return [show_count(len(found)), show_count(len(groups))]


def accuracy_sources_left_out(kind: str) -> str:
    """Return the median errors of sources under what was estimated without them, and what ranges then cover."""
    names, errors = source_names(), source_errors(kept(kind).residuals)
    several = len({one.engine for one in errors}) > 1
    rows = []
    for one in errors:
        outside = NEVER if one.outside is None else percent(one.outside)
        of = [text(catalog().engine(one.engine).name)] if several else []
        rows.append([names[one.source], *of, show_count(one.rows), outside, percent(one.inside)])
    headings = ("Source", *(["Engine"] if several else []), "Rows", "Left out", "Estimated with it")
    caption = (
        f"{title(kind)}: median error of each source under what others say, and with it, estimated on {kept(kind).made}"
    )
    whole = table(headings, rows, caption=caption, words=2 if several else 1)
    return unsearched(filtered(whole, things="sources"))


def accuracy_on_host() -> str:
    """Return by how much decoding with the host's processor is off where its source was left out, in words."""
    found = decoding_on_host(kept("inference-speed").residuals)
    return f"{percent(found.middle)}, the median of {found.sources} sources"


def accuracy_ranges() -> str:
    """Return the factors either way that ranges of speed have, and the sources that they come from."""
    rows = []
    for kind in RANGED:
        for (engine, phase), found in ranges_of(kept(kind).residuals, between_of(kind)).items():
            known = catalog().lookup("engines", engine)
            name = catalog().engine(known).name if known else "Training" if kind == "training-speed" else "All engines"
            if kind == "training-speed" and not engine:
                continue
            ends = [f"{found.factor(count):.2f}" for count in COUNTS]
            rows.append([text(name), PHASES[phase], *ends, show_count(found.rows), show_count(found.sources)])
    behind = [f"{count or 'No'} source{'s' * (count > 1)}" for count in COUNTS]
    headings = ("Engine", "Figure", *behind, "All rows", "All sources")
    caption = (
        "The factor either way in which four of five rows of an unseen source lie, by the sources behind an answer"
    )
    return block(table(headings, rows, caption=caption, words=2))


def accuracy_pools(which: str) -> str:
    """Return the share of a device within which pools for the cache were at first sight: "shown" before, or "new"."""
    found = catalog().entries("ranges")[{"shown": POOLS, "new": NEW_POOLS}[which]]
    inside, rows = found["inside"], found["rows"]
    assert isinstance(inside, float) and isinstance(rows, int)
    return f"{percent(inside)} ({show_count(rows)} rows of {found['sources']} sources)"


def left_out_error(kind: str) -> str:
    """Return the mean over sources of the median error of a kind's rows, as predicted from other sources."""
    return percent(left_out(kind).middle)


def accuracy_without_frameworks() -> str:
    """Return errors of training memory left out by how much a scenario says of its framework, and what ranges cover."""
    kinds, names = ("training-memory", *OPEN), source_names()
    errors = [middles(kept(kind).residuals) for kind in kinds]
    first = kept(kinds[0]).residuals
    rows = [
        [names[source], show_count(len(mine)), *(percent(middle[source]) for middle in errors)]
        for source, mine in by_source(first).items()
    ]
    found = [left_out(kind) for kind in kinds]
    rows.append(
        [
            "All sources, each once",
            show_count(len(first)),
            *(f"{percent(one.middle)}, in the range {whole_percent(one.covered.sources)}" for one in found),
        ]
    )
    headings = ("Source", "Rows", "Framework named", "Not named", "Nothing said of its ways", "… as if by Transformers")
    caption = f"Training memory by what a scenario says, sources left out: median errors of {kept(UNNAMED).made}"
    return block(boxed(table(headings, rows, caption=caption)))
