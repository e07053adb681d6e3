"""What the catalogue says that counts, rows and samples measured elsewhere do not bear out: each build asks for it."""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import exp, log
from statistics import median

from calc.architecture.parameters import parameters_total
from calc.catalog import Catalog
from calc.catalog.checking.configs import COUNTS
from calc.catalog.entries import file_of
from calc.errors import CatalogError, ScenarioError
from calc.memory.published_formats import published_format
from calc.performance.kernels import Kernels
from calc.scenario.model import known_architecture
from calc.validation.bases import basis_of
from calc.validation.kernel_samples import sample
from calc.validation.measured_buckets import MEASURED, written_measured
from calc.validation.ranges import RANGES, written_ranges

LEAST_ROWS = 6  # of a law in the sample, for its errors to say something
SLACK, MORE = 2.0, 0.1  # times the error of the fit, and beside it, that a sample of few rows may be off


@lru_cache(maxsize=1)
def published_counts() -> dict[str, int]:
    """Return the parameters of models by id, as others count them."""
    return {name: found["total"] for name, found in json.loads(COUNTS.read_text(encoding="utf-8")).items()}


def check_whole(facts: Catalog, models: Sequence[str] | None = None) -> None:
    """Check what takes more than the entries themselves; `models` is what is wrong with models, where that is known.

    Raises CatalogError with all that does not agree.
    """
    wrong = wrong_models(facts) if models is None else models
    try:
        files = list(wrong_files())
    except ValueError as error:  # of rows that have changed, or whose model is wrong, which is said already
        files = [] if wrong else [str(error)]
    if problems := [*wrong, *files, *wrong_laws(facts)]:
        raise CatalogError(problems)


def wrong_models(facts: Catalog) -> list[str]:
    """Return what is wrong with models: the configs, or else the parameters that they give."""
    return list(wrong_configs(facts)) or list(wrong_counts(facts))


def wrong_configs(facts: Catalog) -> Iterator[str]:
    """Yield what is wrong with configs that describe no known architecture, by file, entry and field."""
    for model_id in facts.ids("models"):
        try:
            architecture = known_architecture(facts, model_id)
            model = facts.model(model_id)
            for config in (model.config, *({**model.config, **other} for other in model.published.values())):
                published_format(config, architecture, facts.number_format)
            for name in model.variants:
                known_architecture(facts, model_id, name)
        except ScenarioError as error:
            field = error.field.removeprefix("model.")
            yield f"{file_of('models', model_id)}: [{model_id}].{field}: {error.message}"


def wrong_counts(facts: Catalog) -> Iterator[str]:
    """Yield the models whose config gives other parameters than were counted by others."""
    for model, total in published_counts().items():
        if model in facts.entries("models"):
            computed = parameters_total(known_architecture(facts, model))
            if computed != total:
                yield f"models: [{model}].config: gives {computed:,} parameters, and others count {total:,}"
        else:
            yield f"measurements/{COUNTS.name}: [{model}] is not in the catalogue"


def wrong_files() -> Iterator[str]:
    """Yield the files that are written from rows, and are not what the rows give; raises ValueError for wrong rows."""
    for path, written in ((RANGES, written_ranges), (MEASURED, written_measured)):
        if path.read_text(encoding="utf-8") != written():
            yield f"{path.name}: is not what its rows give: run python -m calc.validation.ranges"


def wrong_laws(facts: Catalog) -> Iterator[str]:
    """Yield the laws of kernels that miss the sample of measured kernels by more than their fit does."""
    known: dict[tuple[str, str], Kernels] = {}
    errors: dict[str, list[float]] = {}
    for row in sample():
        device = known.setdefault((row.device, row.engine), Kernels(facts.accelerator(row.device), row.engine))
        basis = basis_of(device, row.operations[-1])
        if basis is not None and basis.law.error:
            computed = sum(device.seconds(operation) for operation in row.operations)
            errors.setdefault(basis.law.id, []).append(log(computed / row.seconds))
    laws = {law.id: law for law in facts.kernel_laws()}
    for name, found in errors.items():
        off, fitted = median(map(abs, found)), laws[name].error or 0.0
        if len(found) >= LEAST_ROWS and off > SLACK * fitted + MORE:
            yield f"kernels.toml: [{name}] is off by {exp(off) - 1:.0%} on its sample, and by {fitted:.0%} by its fit"
