"""What entries alone do not show is compared with what others counted and measured, in each build."""

import copy
from pathlib import Path
from typing import Any

import pytest

from calc.catalog import Catalog, catalog
from calc.errors import CatalogError, ScenarioError
from calc.performance.kernels import Kernels
from calc.validation import soundness
from calc.validation.soundness import check_whole, published_counts, wrong_counts, wrong_files, wrong_laws


def tables() -> Any:
    """Return the tables of the catalogue, to be changed."""
    facts = catalog()
    return {kind: dict(facts.entries(kind)) for kind in facts.kinds()}


def test_the_catalogue_agrees_with_what_others_counted() -> None:
    """The check of each build finds nothing."""
    check_whole(catalog())


@pytest.mark.parametrize(
    ("model", "key", "value"),
    [("t5-11b", "d_ff", 117965), ("qwen3-32b", "vocab_size", 151935), ("llama-3.1-8b", "num_key_value_heads", 4)],
)
def test_a_config_with_another_count_is_named(model: str, key: str, value: int) -> None:
    """A size that is possible, but not this model's, gives other parameters than were counted."""
    changed = tables()
    changed["models"][model] = copy.deepcopy(changed["models"][model])
    changed["models"][model]["config"][key] = value
    (said,) = wrong_counts(Catalog(changed))
    assert said.startswith(f"models: [{model}].config: gives ") and f"{published_counts()[model]:,}" in said


def test_a_count_of_no_model_is_named() -> None:
    """A model that is gone leaves no count behind."""
    changed = tables()
    del changed["models"]["t5-11b"]
    assert list(wrong_counts(Catalog(changed))) == ["measurements/parameters.json: [t5-11b] is not in the catalogue"]


@pytest.mark.parametrize("name", ["RANGES", "MEASURED"])
def test_a_written_file_is_what_its_rows_give(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A digit that was changed by hand in a file that a command writes is found."""
    path = getattr(soundness, name)
    changed = tmp_path / path.name
    changed.write_text(path.read_text(encoding="utf-8").replace("2", "3", 1), encoding="utf-8")
    monkeypatch.setattr(soundness, name, changed)
    assert list(wrong_files()) == [f"{path.name}: is not what its rows give: run python -m calc.validation.ranges"]


@pytest.mark.parametrize("error", [ValueError("these are other rows"), ScenarioError("model", "is not known")])
def test_rows_that_give_nothing_are_named_where_models_are_right(
    error: ValueError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that were changed, or of a model that there is not; what comes of a wrong model is not said beside it."""

    def written() -> str:
        raise error

    monkeypatch.setattr(soundness, "written_ranges", written)
    for wrong, said in (([], str(error)), (["models: it is wrong"], "models: it is wrong")):
        with pytest.raises(CatalogError) as caught:
            check_whole(catalog(), wrong)
        assert caught.value.problems == [said]


@pytest.mark.parametrize("factor", [1.8, 1 / 1.8])
def test_a_law_that_misses_its_sample_is_named(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of the peak that is off by 1.8 is more than the fit's error allows."""
    seconds = Kernels.seconds
    monkeypatch.setattr(Kernels, "seconds", lambda self, operation: factor * seconds(self, operation))
    assert len(list(wrong_laws(catalog()))) > 50


def test_all_is_said_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A wrong count and a wrong file are one list."""
    changed = tables()
    del changed["models"]["t5-11b"]
    empty = tmp_path / "ranges.toml"
    empty.write_text("")
    monkeypatch.setattr(soundness, "RANGES", empty)
    with pytest.raises(CatalogError) as caught:
        check_whole(Catalog(changed))
    assert len(caught.value.problems) == 2
