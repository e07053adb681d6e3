"""How far memory was off at first sight: pools that engines set aside for the cache, and totals of those that do not.

A pool is what is left of a device: what is missed beside it is missed of it, however large it is, so its errors are
shares of the device. Most of what is missed is what a family of models does that no row had shown: states, towers,
windows. So families that have such things and had no row have a range of their own; so have tensor ranks of versions
that are known to keep what others free. Errors of a total, or of a part of it, are shares of the total.
"""

from collections.abc import Mapping
from math import exp

from calc import ScenarioError, estimate
from calc.architecture.layers import Architecture
from calc.catalog import catalog
from calc.planning.measured import NEW_POOLS, POOLS, RANK_POOLS, is_plain
from calc.scenario.model import read_model
from calc.validation.inference_memory import ENGINES, FILE, measured_of, scenario_of
from calc.validation.inference_memory import POOLS as METRICS
from calc.validation.left_out import at_first_sight
from calc.validation.residuals import Residual
from calc.validation.scores import Row, SkipError, read_rows

KIND = "inference-memory"


def architectures() -> dict[str, Architecture]:
    """Return the architecture of each row of memory that a scenario can be made of."""
    found = {}
    for row in read_rows(FILE):
        try:
            scenario = scenario_of(row)
        except (SkipError, ScenarioError):
            continue
        found[row["id"]] = read_model(scenario["model"], catalog())[2]
    return found


def pool_errors() -> dict[str, list[Residual]]:
    """Return errors at first sight by range: of what had been shown or any engine serves alike, of the new, of ranks.

    Rows that were kept at first sight stand in their file in the order in which they were predicted; all others were
    there before.
    """
    first, of = at_first_sight(KIND), architectures()
    places = {name: place for place, name in enumerate(first)}
    begun = first_places({name: one.family for name, one in of.items()}, places)
    found: dict[str, list[Residual]] = {POOLS: [], NEW_POOLS: [], RANK_POOLS: []}
    for row in read_rows(FILE):
        name, source = row["id"], row["source_key"]
        if row["metric"] not in METRICS or name not in first or name not in of:
            continue
        family = of[name].family
        shown = any(place < places[name] for other, place in begun[family].items() if other != source)
        error = measured_share(row) * (exp(first[name]) - 1.0)
        known = POOLS if shown or is_plain(of[name]) else NEW_POOLS
        found[RANK_POOLS if has_unsure_ranks(row) else known].append(share_error(row, error))
    return found


def has_unsure_ranks(row: Row) -> bool:
    """Return whether a row is of tensor ranks under a version of which the catalogue says that they are unsure."""
    scenario = scenario_of(row)
    if scenario["parallelism"]["tensor"] == 1 or "engine_version" not in scenario:
        return False
    engine = catalog().engine(scenario["engine"]).of_version(scenario["engine_version"])
    return bool(engine.values.get("unsure_ranks"))


def share_error(row: Row, error: float) -> Residual:
    """Return a row's error as a share."""
    return Residual(row["id"], row["source_key"], row["engine"], phase="", bucket="", inside=error, outside=error)


def total_errors() -> list[Residual]:
    """Return errors at first sight of what sets nothing aside: of totals, and of parts, as shares of the total."""
    first, found = at_first_sight(KIND), []
    for row in read_rows(FILE):
        if row["id"] not in first or ENGINES.get(row["engine"]) != "llama.cpp":
            continue
        try:
            memory = estimate(scenario_of(row), repairs=False)["memory"]
        except SkipError:
            continue
        assert isinstance(memory, dict)
        devices = int(row["n_gpus"]) if row["per"] == "sum_all_gpus" else 1
        missed = measured_of(row) * (exp(first[row["id"]]) - 1.0)
        found.append(share_error(row, missed / devices / memory["device_bytes"]))
    return found


def first_places(of: Mapping[str, str], places: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return since when sources have rows, by family and source: the place of the first; -1 where always."""
    found: dict[str, dict[str, int]] = {}
    for row in read_rows(FILE):
        if row["id"] in of:
            begun, place = found.setdefault(of[row["id"]], {}), places.get(row["id"], -1)
            begun[row["source_key"]] = min(begun.get(row["source_key"], place), place)
    return found


def measured_share(row: Row) -> float:
    """Return the share of its device that a row's pool was; of one of tokens, by the bytes of a token as computed."""
    memory = estimate(scenario_of(row), repairs=False)["memory"]
    assert isinstance(memory, dict)
    return float(measured_of(row) * memory["kv_pool_bytes"] / memory[METRICS[row["metric"]]] / memory["capacity_bytes"])
