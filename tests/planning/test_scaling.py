"""A training budget: what each way of giving it comes to, what a run takes, and what is refused."""

from typing import Any

import pytest

from calc import ScenarioError
from calc.catalog import catalog
from calc.planning.runs import run_of, utilization_of
from calc.planning.scaling import run_utilization, scaling_report


def report(**scenario: object) -> Any:
    """Return the report on a budget."""
    return scaling_report(scenario)


def test_every_way_of_giving_a_budget_means_the_same() -> None:
    """Operations, PF-days, hours, money and a size lead to one another."""
    hours = report(given="zettaflop", amount=100, price_per_hour=2.0)["run"]["device_hours"]
    for given, amount in (("pf-days", 1e23 / 8.64e19), ("device-hours", hours), ("money", 2.0 * hours)):
        assert report(given=given, amount=amount, price_per_hour=2.0)["flops"] == pytest.approx(1e23)
    best = report(given="zettaflop", amount=100)["laws"][-1]["parameters"]
    assert report(given="parameters", amount=best / 1e9)["flops"] == pytest.approx(1e23)
    assert report(given="run", amount=100 / 6 * 10, parameters=100)["flops"] == pytest.approx(1e23, rel=1e-9)


def test_gpt_3_by_its_paper() -> None:
    """175 billion parameters and 300 billion tokens are 3640 PF-days (Brown et al. 2020, table D.1)."""
    flops = report(given="run", amount=300, parameters=174.6)["flops"]
    assert flops / 8.64e19 == pytest.approx(3640, rel=0.002)


def test_a_run_on_devices() -> None:
    """A hand-computed run: 1e21 FLOP at 1e15 FLOP/s and a half are 555.6 hours; ten devices take 2.3 days."""
    run = run_of(
        flops=1e21, peak_flops_per_s=1e15, utilization=0.5, devices=10, power_w=500, usage=1.2, price_per_hour=3.0
    )
    assert run.device_hours == pytest.approx(555.56, abs=0.01)
    assert run.days == pytest.approx(2.315, abs=0.001)
    assert run.energy_kwh == pytest.approx(555.56 * 0.5 * 1.2, rel=1e-4)
    assert run.rent == pytest.approx(1666.67, abs=0.01)
    back = utilization_of(flops=1e21, device_hours=run.device_hours, peak_flops_per_s=1e15)
    assert back == pytest.approx(0.5)


@pytest.mark.parametrize(("name", "least", "most"), [("llama-3-1-405b", 0.3, 0.43), ("deepseek-v3", 0.3, 0.45)])
def test_utilization_of_published_runs(name: str, least: float, most: float) -> None:
    """Over all hours Llama 3 405B stays below the 38 to 43 % of its steps (Dubey et al. 2024, table 4)."""
    run = next(run for run in catalog().runs() if run.id == name)
    assert run.tokens and run.hours
    reached = run_utilization(run.active_parameters, run.tokens, run.hours, catalog().accelerator(run.accelerator))
    assert reached is not None and least < reached < most


def test_published_operations_are_6nd() -> None:
    """Where a paper gives the operations of a run, 6ND agrees within 3 %."""
    known = [run for run in catalog().runs() if run.flops and run.tokens]
    assert len(known) >= 3
    for run in known:
        assert 6 * run.active_parameters * (run.tokens or 0) == pytest.approx(run.flops, rel=0.03)


@pytest.mark.parametrize(
    ("field", "scenario"),
    [
        ("amount", {}),
        ("amount", {"amount": 0}),
        ("amount", {"amount": float("inf")}),
        ("amount", {"amount": 1e20}),
        ("given", {"amount": 1, "given": "zetaflop"}),
        ("law", {"amount": 1, "law": "chinchila"}),
        ("accelerator", {"amount": 1, "accelerator": "h1000"}),
        ("accelerators", {"amount": 1, "accelerators": 0}),
        ("utilization", {"amount": 1, "utilization": 1.5}),
        ("usage", {"amount": 1, "usage": 0.5}),
        ("parameters", {"amount": 1, "given": "run"}),
        ("price_per_hour", {"amount": 1, "given": "money", "accelerator": "v100-sxm-32gb"}),
        ("accelerator", {"amount": 1, "accelerator": "m4-32gb"}),
        ("budgt", {"amount": 1, "budgt": 2}),
    ],
)
def test_wrong_budgets_are_refused_by_field(field: str, scenario: dict[str, object]) -> None:
    """Each wrong field is named, and a near name is offered."""
    with pytest.raises(ScenarioError) as refused:
        scaling_report(scenario)
    assert refused.value.field == field


def test_what_a_reader_should_doubt_is_said() -> None:
    """A budget far beyond the fits, and a model with fewer tokens than parameters."""
    codes = {warning["code"] for warning in report(amount=1e6, parameters=1e6)["warnings"]}
    assert codes == {"law-extrapolated", "budget-too-small"}
