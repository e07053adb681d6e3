"""How many rows and sources measured each bucket and model, and the oldest version of an engine among them."""

from calc.catalog import catalog
from calc.catalog.entries import DATA
from calc.catalog.records.engines import version_numbers
from calc.planning.measured import engine_family, engine_pools, family_bucket
from calc.validation.left_out import KINDS, OPEN, kept
from calc.validation.pools import KIND as POOLED
from calc.validation.pools import pool_errors
from calc.validation.residuals import Residual, sources
from calc.validation.row_versions import rows_by_engine
from calc.validation.scores import read_rows

MEASURED, MODELS = DATA / "measured.toml", DATA / "measured_models.toml"
OF_MODELS = {
    **dict.fromkeys(("community_speed", "inference_memory", "inference_speed"), ("arch_key", "source_key")),
    "serving_runs": ("model", "source_key"),
    **dict.fromkeys(("training_memory", "training_speed"), ("model", "source")),
}  # files of rows, and the columns of their models and sources
FIGURES = {"inference-speed": "speed", "inference-memory": "memory"}  # of a kind, in the catalogue; others as they are


def written_measured() -> str:
    """Return the catalogue's file of rows and sources by bucket, and of the oldest version of an engine with a row."""
    buckets: dict[str, dict[str, list[Residual]]] = {}
    versions: dict[str, set[str]] = {}
    of = rows_by_engine()
    for kind in (kind for kind in KINDS if kind not in OPEN):
        for row in kept(kind).residuals:
            engine, _, rest = row.bucket.partition("_")
            names = {row.bucket}
            if "memory" in kind:  # what memory takes is asked without a device, too
                names.add(f"{engine}_any_{rest.partition('_')[2]}")
            for name in names:
                buckets.setdefault(name, {}).setdefault(FIGURES.get(kind, kind), []).append(row)
            if row.id in of and (version := of[row.id].version):
                for name in (*names, engine_family(engine, of[row.id].family)):
                    versions.setdefault(name, set()).add(version)
    for row in (row for rows in pool_errors().values() for row in rows):
        buckets.setdefault(engine_pools(row.engine), {}).setdefault(FIGURES[POOLED], []).append(row)
    for row in kept(POOLED).residuals:
        buckets.setdefault(family_bucket(of[row.id].family), {}).setdefault(FIGURES[POOLED], []).append(row)
    lines = [
        "# Written by `python -m calc.validation.ranges`: rows and sources of measurements, by engine, class of",
        "# device, class of number format and kind of model, and the version of the oldest; the same by family;",
        "# and by engine the pools for the cache that were predicted at first sight.",
        "",
    ]
    for name in sorted(buckets.keys() | versions.keys()):
        counts = [f"{figure} = [{len(rows)}, {sources(rows)}]" for figure, rows in buckets.get(name, {}).items()]
        oldest = [f'since = "{min(versions[name], key=version_numbers)}"'] if name in versions else []
        lines.append(f'"{name}" = {{ {", ".join([*counts, *oldest])} }}')
    return "\n".join(lines) + "\n"


def written_models() -> str:
    """Return the catalogue's file of how many sources measured each model, by the names that it lists."""
    found: dict[str, set[str]] = {}
    for name, (model, source) in OF_MODELS.items():
        for row in read_rows(f"{name}.csv"):
            if known := catalog().lookup("models", row[model]):
                found.setdefault(known, set()).add(row[source])
    lines = ["# Written by `python -m calc.validation.ranges`: how many sources have measurements of a model.", ""]
    lines += [f'"{name}" = {{ sources = {len(sources)} }}' for name, sources in sorted(found.items())]
    return "\n".join(lines) + "\n"
