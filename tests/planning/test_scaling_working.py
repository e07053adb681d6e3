"""Training budgets by hand: each way of giving one with its working, laws with round constants, and what is refused."""

from typing import Any

import pytest

from calc import ScenarioError
from calc.catalog import catalog
from calc.catalog.runs import Law
from calc.derivation import Warn
from calc.performance.scaling_laws import budget, loss, optimal_parameters, optimal_power, optimum, wasted_share
from calc.planning.cost import Paid
from calc.planning.runs import run_of, utilization_of
from calc.planning.scaling import budget_step, doubts, law_answer, optimum_steps, read_budget, scaling_report
from calc.planning.speed_up import SpeedUp, speed_up_steps

ROUND = {"e": 1.0, "a": 8.0, "b": 8.0, "alpha": 0.5, "beta": 0.5}
SUM = Law("sum", "Sum", (), "sum", "all", "C4", ROUND, "", "paper", "2026-01-01")  # the best has as many tokens as N
POWER = SUM._replace(
    id="power",
    name="Power",
    form="frontier",
    constants={"optimal_n": 1e9, "optimal_at": 6e20, "optimal_power": 0.5},
)
JOINT = POWER._replace(
    form="joint", constants={**POWER.constants, "n_c": 16e9, "d_c": 5e9, "alpha_n": 0.5, "alpha_d": 0.5}
)
SOURCE = "paper"
READ = read_budget({"amount": 1.0})
ASKED = READ._replace(law=SUM, rate=READ.rate._replace(value=5e14), utilization=1.0)


@pytest.mark.parametrize(
    ("given", "amount", "flops", "formula", "numbers"),
    [
        ("zettaflop", 2.0, 2e21, r"C \cdot 10^{21}", "2 × 10^21"),
        ("pf-days", 2.0, 1.728e20, r"d \cdot 8.64 \cdot 10^{19}", "2 × 8.64 × 10^19"),
        ("device-hours", 1000.0, 1.8e21, r"h \cdot 3600 \cdot P \cdot u", "1,000 × 3,600 × 5e+14"),
        ("money", 4000.0, 1.8e21, r"\frac{m}{p} \cdot 3600 \cdot P \cdot u", "4,000 / 4 × 3,600 × 5e+14"),
        ("parameters", 1.0, 6e18, r"N_{\text{best}}(C) = N", "the best size by Sum is 1 × 10^9, for C"),
        ("run", 10.0, 1.2e20, "6 N D", "6 × 2 × 10^9 × 10 × 10^9"),
    ],
)
def test_budgets(given: str, amount: float, flops: float, formula: str, numbers: str) -> None:
    """At 5e14 operations a second and 4 dollars an hour; 1e9 parameters and tokens are 6e18, by a law of equals."""
    price = Paid(4.0, "USD", "own")
    step = budget_step(ASKED._replace(given=given, amount=amount, price=price, own_size=2.0))
    assert step.value == pytest.approx(flops)
    assert step == ("Operations of the budget", formula, numbers, step.value, "FLOP", SOURCE)


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ("money", "price_per_hour", "no rent of this device is known: say what an hour of one costs"),
        ("run", "parameters", "is needed for a run: how many billion parameters the model has"),
    ],
)
def test_budgets_that_lack_something(given: str, field: str, message: str) -> None:
    """Money needs a price, a run the size of its model."""
    with pytest.raises(ScenarioError) as refused:
        budget_step(ASKED._replace(given=given, price=None, own_size=None))
    assert (refused.value.field, refused.value.message) == (field, message)


def test_laws_with_round_constants() -> None:
    """A sum of equals trains 1e9 parameters on 1e9 tokens with 6e18; a power of a half doubles the size by four."""
    assert optimal_parameters(law=SUM, flops=6e18) == pytest.approx(1e9)
    assert optimal_parameters(law=POWER, flops=2.4e21) == pytest.approx(2e9)
    assert budget(law=POWER, parameters=2e9) == pytest.approx(2.4e21)
    assert (optimal_power(SUM), optimal_power(POWER)) == (0.5, 0.5)
    assert loss(law=SUM, parameters=64.0, tokens=16.0) == pytest.approx(1 + 1 + 2)
    assert loss(law=JOINT, parameters=4e9, tokens=1e9) == pytest.approx(3.0)  # the root of 4 + 5
    assert loss(law=POWER, parameters=1.0, tokens=1.0) is None
    assert wasted_share(law=POWER, parameters=1.0, tokens=1.0) is None
    uneven = SUM._replace(constants={**ROUND, "a": 16.0, "beta": 0.25})
    # N = (0.5 × 16 / (0.25 × 8))^(1 / 0.75) × (6e6 / 6)^(0.25 / 0.75)
    assert optimal_parameters(law=uneven, flops=6e6) == pytest.approx(4 ** (4 / 3) * 100)


def test_what_a_wrong_size_wastes() -> None:
    """4 N parameters on N tokens cost 4 N²; equals of the same loss, 2 / √M = 1.5 / √N, cost M² = (16/9)² N²."""
    assert wasted_share(law=SUM, parameters=4e9, tokens=1e9) == pytest.approx(1 - (16 / 9) ** 2 / 4, rel=1e-6)


def test_an_answer_of_a_law() -> None:
    """The best size of 6e18 operations, and of 4 billion parameters the quarter of the tokens that is left for them."""
    answer: Any = law_answer(SUM, 6e18, 4.0)
    own = answer.pop("own")
    assert answer == {
        "id": "sum",
        "name": "Sum",
        "counted": "all",
        "corpus": "C4",
        "parameters": pytest.approx(1e9),
        "tokens": pytest.approx(1e9),
        "tokens_per_parameter": pytest.approx(1.0),
        "loss": pytest.approx(1 + 16 / 1e9**0.5),
    }
    assert own == {
        "parameters": 4e9,
        "tokens": pytest.approx(2.5e8),
        "tokens_per_parameter": pytest.approx(1 / 16),
        "loss": pytest.approx(1 + 8 / 4e9**0.5 + 8 / 2.5e8**0.5),
        "wasted_share": wasted_share(law=SUM, parameters=4e9, tokens=2.5e8),
    }
    assert law_answer(SUM, 6e18, None)["own"] is None


def test_the_working_of_a_sum() -> None:
    """The best size, its tokens and its loss, each with the law's numbers."""
    size, tokens, reached = optimum_steps(SUM, 6e18)
    scale = r"\left( \frac{\alpha A}{\beta B} \right)^{\frac{1}{\alpha+\beta}}"
    assert size[:3] + size[4:] == (
        "Best size by Sum",
        scale + r" \left( \frac{C}{6} \right)^{\frac{\beta}{\alpha+\beta}}",
        "(0.5 × 8 / (0.5 × 8))^(1 / 1) × (6e+18 / 6)^(0.5 / 1)",
        "parameters",
        SOURCE,
    )
    assert tokens[:3] + tokens[4:] == ("Tokens", r"\frac{C}{6 N}", "6e+18 / (6 × 1e+09)", "tokens", SOURCE)
    assert reached[:3] + reached[4:] == (
        "Loss, in nats per token",
        r"E + \frac{A}{N^{\alpha}} + \frac{B}{D^{\beta}}",
        "1 + 8 / 1e+09^0.5 + 8 / 1e+09^0.5",
        "",
        SOURCE,
    )
    best = optimum(law=SUM, flops=6e18)
    assert (size.value, tokens.value, reached.value) == (best.parameters, best.tokens, best.loss)


@pytest.mark.parametrize("law", [POWER, JOINT])
def test_the_working_of_a_power(law: Law) -> None:
    """The best size was fitted apart from any loss, so no loss is worked out."""
    size, tokens = optimum_steps(law, 2.4e21)
    assert size.formula == r"N_0 \left( \frac{C}{C_0} \right)^{p}"
    assert size.substituted == "1e+09 × (2.4e+21 / 6e+20)^0.5"
    assert (size.value, tokens.value) == (pytest.approx(2e9), pytest.approx(2e11))


def test_doubts() -> None:
    """Beyond a thousand times 3e21 operations a law is far from its data; one token a parameter is the least."""
    answers: list[Any] = [law_answer(SUM, 6e18, 4.0), law_answer(POWER, 6e18, 4.0)]
    assert doubts(3e24, None, answers, SUM) == []
    (far,) = doubts(3.01e24, None, answers, SUM)
    assert far == Warn(
        "law-extrapolated",
        "the budget is more than a thousand times the largest that the laws were fitted on",
        "amount",
        "caution",
    )
    (small,) = doubts(6e18, 4.0, answers, SUM)
    assert small == Warn(
        "budget-too-small",
        "a model of 4 billion parameters would see less than one token for each of them",
        "parameters",
        "caution",
    )
    assert doubts(6e18, 1.0, [law_answer(SUM, 6e18, 1.0)], SUM) == []  # one token each is no less than one


def test_a_report_of_a_budget() -> None:
    """1e23 operations on 100 H100 at a half of 989.4 TFLOPS, power usage of 1.5 and 2 dollars an hour."""
    asked = {"amount": 100, "accelerators": 100, "utilization": 0.5, "usage": 1.5, "price_per_hour": 2.0}
    report: Any = scaling_report(asked)
    device = catalog().accelerator("h100-sxm-80gb")
    rate = device.sixteen_bit
    assert rate is not None
    hours = 1e23 / (float(rate.value) * 0.5 * 3600)
    assert report["scenario"] == {
        **asked,
        "given": "zettaflop",
        "law": "besiroglu-2024",
        "accelerator": "h100-sxm-80gb",
    }
    assert (report["model"], report["speed"], report["warnings"]) == ({"id": None}, None, [])
    assert report["flops"] == 1e23
    assert [answer["id"] for answer in report["laws"]] == [law.id for law in catalog().laws()]
    run = report["run"]
    assert run["device_hours"] == pytest.approx(hours)
    assert run["days"] == pytest.approx(hours / 2400)
    assert run["energy_kwh"] == pytest.approx(hours * 0.7 * 1.5)
    assert run["rent"] == pytest.approx(2 * hours)
    assert report["price"]["kind"] == "own"
    assert [step["name"] for step in report["steps"]] == [
        "Operations of the budget",
        "Best size by Besiroglu et al. 2024",
        "Tokens",
        "Loss, in nats per token",
        "Device-hours",
    ]
    last = report["steps"][-1]
    assert last == {
        "name": "Device-hours",
        "formula": r"\frac{C}{P \cdot u \cdot 3600}",
        "substituted": f"1e+23 / ({float(rate.value):.4g} × 0.5 × 3,600)",
        "value": pytest.approx(hours),
        "unit": "h",
        "source": rate.source,
    }


def test_what_a_budget_takes_where_nothing_is_said() -> None:
    """1,024 H100, the usual utilization, and no energy around the devices."""
    report: Any = scaling_report({"amount": 1})
    scenario = report["scenario"]
    assert (scenario["accelerators"], scenario["accelerator"]) == (1024, "h100-sxm-80gb")
    assert scenario["utilization"] == catalog().coefficient("training-utilization").value
    run = report["run"]
    assert run["energy_kwh"] == pytest.approx(run["device_hours"] * 0.7)


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ({}, "is needed: how much of what is given"),
        ({"amount": True}, "must be a number above 0, not True"),
        ({"amount": -1}, "must be a number above 0, not -1"),
        ({"amount": 1, "utilization": 1.5}, "must be a number above 0 and at most 1, not 1.5"),
        ({"amount": 1, "usage": 0.5}, "must be a number at least 1, not 0.5"),
        ({"amount": 1, "accelerators": 0}, "must be a whole number from 1 to 1,000,000, not 0"),
        ({"amount": 1, "accelerators": 1_000_001}, "must be a whole number from 1 to 1,000,000, not 1000001"),
        ({"amount": 1, "accelerators": True}, "must be a whole number from 1 to 1,000,000, not True"),
        ({"amount": 1e-7}, "is 1.00 × 10¹⁴ operations; budgets from 1.00 × 10¹⁵ to 1.00 × 10³⁰ are answered"),
        ({"amount": 1e10}, "is 1.00 × 10³¹ operations; budgets from 1.00 × 10¹⁵ to 1.00 × 10³⁰ are answered"),
    ],
)
def test_messages_of_wrong_budgets(scenario: dict[str, object], message: str) -> None:
    """What is allowed is said, and what was given."""
    with pytest.raises(ScenarioError) as refused:
        scaling_report(scenario)
    assert refused.value.message == message


@pytest.mark.parametrize("amount", [1e-6, 1e9])
def test_the_least_and_the_most_that_is_answered(amount: float) -> None:
    """1e15 and 1e30 operations are; a number of devices may be 1 or a million."""
    for devices in (1, 1_000_000):
        assert scaling_report({"amount": amount, "accelerators": devices, "utilization": 1.0, "usage": 1.0})["laws"]


def test_a_run_without_power_or_price() -> None:
    """1e18 operations at 1e15 and a quarter are 4,000 s of a device, of five 800 s."""
    run = run_of(
        flops=1e18, peak_flops_per_s=1e15, utilization=0.25, devices=5, power_w=None, usage=1.0, price_per_hour=None
    )
    assert run == (1e18, 4000.0, 800.0, None, None)
    assert (run.device_hours, run.days) == (pytest.approx(4000 / 3600), pytest.approx(800 / 86400))
    assert utilization_of(flops=7.2e18, device_hours=2.0, peak_flops_per_s=1e15) == 1.0


def test_the_working_of_a_speed_up() -> None:
    """30 s to 4 for 3,600 items a day: 7.5 times, 86.7 % less, 26 hours; at 2 and 3 an hour 48 saved."""
    found = SpeedUp(30, 4, 3600)
    assert found.hours(2.0) == 2.0
    assert found.saved_hours == 26
    assert found.saved_cost(2.0, 3.0) == 30 * 2 - 4 * 3
    assert speed_up_steps(found) == [
        ("Times as fast", r"\frac{t_1}{t_2}", "30.0 / 4.00", 7.5, "", "amdahl"),
        ("Less time", r"1 - \frac{t_2}{t_1}", "1 − 4.00 / 30.0", found.reduction, "", "amdahl"),
        ("Hours saved a day", r"\frac{n (t_1 - t_2)}{3600}", "3,600 × (30.0 − 4.00) / 3,600", 26.0, "h", "amdahl"),
    ]
