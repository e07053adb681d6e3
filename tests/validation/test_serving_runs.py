"""How servers of published runs were laid out."""

import pytest

from calc.validation.scores import read_rows
from calc.validation.serving_runs import FILE, corrected, layout_of, scenario_of


@pytest.mark.parametrize(
    ("asked", "layout"),
    [
        (("fp4", "8", "8192", "256"), {"tensor": 1, "pipeline": 1, "data": 8, "expert": 8}),
        (("fp4", "4", "1024", "64"), {"tensor": 4, "pipeline": 1, "data": 1, "expert": 4}),
        (("fp8", "8", "8192", "64"), {"tensor": 1, "pipeline": 1, "data": 8, "expert": 8}),
        (("fp8", "8", "8192", "32"), {"tensor": 8, "pipeline": 1, "data": 1, "expert": 8}),
    ],
)
def test_rows_that_do_not_say_what_their_scripts_did(asked: tuple[str, ...], layout: dict[str, int]) -> None:
    """Attention was data parallel from as many requests as scripts of November 2025 have, and experts were whole."""
    columns = "precision", "tp", "input_len", "concurrency"
    rows = [
        row
        for row in read_rows(FILE)
        if row["measured_on"] == "2025-11-02" and tuple(row[column] for column in columns) == asked
    ]
    assert rows and all(layout_of(corrected(row)) == layout for row in rows)


def test_runs_of_models_younger_than_their_engine_s_era_have_versions_that_know_them() -> None:
    """SGLang's rows of GLM-5 say days of March 2026, in an era that begins before it."""
    rows = [row for row in read_rows(FILE) if row["model"].endswith("GLM-5") and row["mode"] == "agg"]
    assert rows and {scenario_of(row)["engine_version"] for row in rows} == {"0.5.9"}
