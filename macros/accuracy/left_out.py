"""The accuracy page's tables of sources that were left out, and its summary, which leads with them."""

from collections.abc import Mapping
from statistics import median

from calc.calculators.html import element, table, text
from calc.catalog import catalog
from calc.planning.measured import HOST
from calc.units import show_count
from calc.validation.left_out import KINDS, OPEN, UNNAMED, kept
from calc.validation.ranges import RANGED, by_source, factors, left_out
from calc.validation.recorded import SCORED, scored
from calc.validation.residuals import Residual
from calc.validation.scores import Score, by, median_size, overall
from macros.accuracy.page import covered_cell, percent, source_names, title, whole_percent
from macros.markdown import block

__all__ = [
    "accuracy_on_host",
    "accuracy_ranges",
    "accuracy_sources_left_out",
    "accuracy_summary",
    "accuracy_without_frameworks",
    "left_out_error",
]

PHASES = {"decode": "Decoding", "prefill": "Prefill", "dense": "Dense models", "mixtures": "Mixtures"}
NEVER = "–"  # of rows that set nothing


def accuracy_summary() -> str:
    """Return the errors of all kinds of figures: of sources left out first; each source counts once."""
    rows = []
    for kind in SCORED:
        found = scored(kind).scores
        groups = by(found, "source")
        once = overall(groups)
        shown = element("a", text(title(kind)), href=f"#{kind}")
        outside = left_out(kind) if kind in KINDS else None
        first = [percent(outside.middle), whole_percent(outside.covered.sources)] if outside else [NEVER, NEVER]
        rows.append([shown, first[0], percent(once.middle), first[1], covered_cell(once), *counts(found, groups)])
    headings = ("Figure", "Median error, left out", "as computed", "In the range, left out", "as computed")
    return block(table((*headings, "Rows", "Sources"), rows, caption="Predicted against measured, each source once"))


def counts(found: list[Score], groups: Mapping[str, list[Score]]) -> list[str]:
    """Return how many rows and sources there are."""
    return [show_count(len(found)), show_count(len(groups))]


def accuracy_sources_left_out(kind: str) -> str:
    """Return the median errors of sources under what was estimated without them, and what ranges then cover."""
    found, names = kept(kind), source_names()
    groups: dict[tuple[str, str], list[Residual]] = {}
    for residual in found.residuals:
        groups.setdefault((residual.source, residual.engine), []).append(residual)
    several = len({engine for _, engine in groups}) > 1
    rows = []
    for (source, engine), mine in sorted(groups.items()):
        outside = [residual.outside for residual in mine if residual.outside is not None]
        shown = [percent(median_size(outside)) if outside else "–", percent(median_size(r.inside for r in mine))]
        of = [text(catalog().engine(engine).name)] if several else []
        rows.append([names[source], *of, show_count(len(mine)), *shown])
    headings = ("Source", *(["Engine"] if several else []), "Rows", "Left out", "Estimated with it")
    caption = (
        f"{title(kind)}: median error of each source under what others say, and with it, estimated on {found.made}"
    )
    return block(table(headings, rows, caption=caption, words=2 if several else 1))


def accuracy_on_host() -> str:
    """Return by how much decoding with the host's processor is off where its source was left out, in words."""
    groups: dict[str, list[float]] = {}
    for residual in kept("inference-speed").residuals:
        if f"_{HOST}_" in residual.bucket and residual.phase == "decode" and residual.outside is not None:
            groups.setdefault(residual.source, []).append(residual.outside)
    middle = median(median_size(errors) for errors in groups.values())
    return f"{percent(middle)}, the median of {len(groups)} sources"


def accuracy_ranges() -> str:
    """Return the factors either way that ranges of speed have, and the sources that they come from."""
    rows = []
    for kind in RANGED:
        for (engine, phase), found in factors(kept(kind).residuals).items():
            known = catalog().lookup("engines", engine)
            name = catalog().engine(known).name if known else "Training" if kind == "training-speed" else "All engines"
            if kind == "training-speed" and not engine:
                continue
            ends = [f"{factor:.2f}" for factor in (found.measured, found.not_measured)]
            rows.append([text(name), PHASES[phase], *ends, show_count(found.rows), show_count(found.sources)])
    headings = ("Engine", "Figure", "Measured", "Not measured", "Rows", "Sources")
    caption = "The factor either way in which four of five rows of an unseen source lie"
    return block(table(headings, rows, caption=caption, words=2))


def left_out_error(kind: str) -> str:
    """Return the mean over sources of the median error of a kind's rows, as predicted from other sources."""
    return percent(left_out(kind).middle)


def accuracy_without_frameworks() -> str:
    """Return errors of training memory left out by how much a scenario says of its framework, and what ranges cover."""
    kinds, names = ("training-memory", *OPEN), source_names()
    groups = [by_source(kept(kind).residuals) for kind in kinds]
    rows = []
    for source, mine in groups[0].items():
        middles = (percent(median_size(row.outside or 0 for row in group[source])) for group in groups)
        rows.append([names[source], show_count(len(mine)), *middles])
    found = [left_out(kind) for kind in kinds]
    rows.append(
        [
            "All sources, each once",
            show_count(sum(len(mine) for mine in groups[0].values())),
            *(f"{percent(one.middle)}, in the range {whole_percent(one.covered.sources)}" for one in found),
        ]
    )
    headings = ("Source", "Rows", "Framework named", "Not named", "Nothing said of its ways", "… as if by Transformers")
    caption = f"Training memory by what a scenario says, sources left out: median errors of {kept(UNNAMED).made}"
    return block(table(headings, rows, caption=caption))
