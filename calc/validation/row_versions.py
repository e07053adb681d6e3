"""Of which version of an engine, and of which family of models, measurements of inference are."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from calc import ScenarioError
from calc.catalog import catalog
from calc.scenario.model import read_model
from calc.validation import community_speed, inference_memory, inference_speed, serving_runs
from calc.validation.scores import Row, SkipError, read_rows


class OfEngine(NamedTuple):
    """The version of an engine that a row states, empty where it states none, and the model's family."""

    version: str
    family: str


@lru_cache(maxsize=1)
def rows_by_engine() -> dict[str, OfEngine]:
    """Return the versions and families of the rows that a scenario can be made of, by id."""
    found: dict[str, OfEngine] = {}
    read: tuple[tuple[Iterable[Row], Callable[[Row], dict[str, Any]]], ...] = (
        *(
            (read_rows(module.FILE), module.scenario_of)
            for module in (inference_memory, inference_speed, community_speed)
        ),
        (serving_runs.sampled(read_rows(serving_runs.FILE)), serving_runs.scenario_of),
    )
    for rows, scenario_of in read:
        for row in rows:
            try:
                scenario = scenario_of(row)
            except (SkipError, ScenarioError):
                continue
            found[row["id"]] = OfEngine(stated_version(row, scenario), family_of(scenario["model"]))
    return found


def stated_version(row: Row, scenario: dict[str, Any]) -> str:
    """Return the version that a row states; of a program around the engine, that of the engine which it carries.

    One that was only current on a row's day may be any of an era, and does not count.
    """
    version = scenario.get("engine_version", "")
    stated = version and version in row["engine_version"]
    return catalog().engine(scenario["engine"]).of_version(version).version if stated else ""


@lru_cache(maxsize=1024)
def family_of(model: str) -> str:
    """Return the family of a model."""
    return read_model(model, catalog())[2].family
