"""The known answers under tests/data, and how to read them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from calc.catalog import catalog
from calc.networks import FAMILIES
from calc.scenario.model import known_architecture

DATA = Path(__file__).parent / "data"
Config = dict[str, Any]


def load(name: str) -> Any:
    """Return a file of known answers."""
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def parameter_rows() -> list[dict[str, Any]]:
    """Return the rows of parameters.json that have a model type: all but the UNet of SDXL, which is no transformer."""
    return [row for row in load("parameters.json")["models"] if "model_type" in row["config"]]


def configs() -> list[Config]:
    """Return the configs of all exact rows and of the catalogue."""
    rows = [row["config"] for row in parameter_rows() + load("family_parameters.json")["models"]]
    return rows + [dict(model.config) for model in catalog().models()]


@cache
def trained_models() -> list[str]:
    """Return the models whose training is answered: not of those with layers on grids of their own, or with none."""
    found = {name: known_architecture(catalog(), name) for name in catalog().ids("models")}
    return [name for name, each in found.items() if not each.convolves and any(kind.tensors for kind in each.kinds)]


def family_configs() -> dict[str, Config]:
    """Return a config of each family; some families only occur inside another one."""
    found: dict[str, Config] = {}
    known = configs()
    for config in known + [config["text_config"] for config in known if "text_config" in config]:
        found.setdefault(str(config.get("model_type")), config)
    return {name: found[name] for name in FAMILIES}
