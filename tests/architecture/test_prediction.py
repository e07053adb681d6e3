"""Layers of multi-token prediction are counted apart; with them a model is what its files hold."""

from typing import Any

import pytest

from calc import estimate
from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.parameters import parameters_total
from calc.architecture.prediction import parameters_prediction
from calc.catalog import catalog
from tests.known import load

ROWS = load("prediction_layers.json")["rows"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["model"])
def test_a_model_and_its_prediction_layers_are_what_its_files_hold(row: dict[str, Any]) -> None:
    """Model, predictors, the copies of tables that some store with them, and biases of routers are all of a file."""
    architecture = read_config(Config(catalog().model(row["model"]).config))
    tables = row["copies"] * 2 * architecture.vocab_size * architecture.hidden_size
    apart = parameters_prediction(architecture) + tables + row["routing_biases"]
    assert parameters_total(architecture) + apart == row["file"]


def test_the_report_names_them_apart() -> None:
    """DeepSeek-V3 has 671 billion parameters and a predictor of 11.6 billion, which is in no other count."""
    model = estimate({"model": "deepseek-v3", "weights": "bf16"})["model"]
    assert model["prediction_layers"] == 1
    assert model["parameters_prediction"] == 11_610_067_968
    assert sum(model["blocks"].values()) == model["parameters_total"] == 671_026_404_352


def test_most_models_have_none() -> None:
    """Llama 3.1 drafts with nothing of its own."""
    model = estimate({"model": "llama-3.1-8b"})["model"]
    assert model["prediction_layers"] == model["parameters_prediction"] == 0
