"""What changes the speed most: each input of the scenario one step down and one up, of what fits."""

from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.plots.one_step_away import Report
from calc.plots.plot import Plot
from calc.plots.sensitivity import Quantity, sensitivity
from calc.units import show_tokens_per_s


def rate(report: Report) -> float | None:
    """Return the tokens a second that are written for each reader, that are read, or that are trained on together."""
    speed = report["speed"]
    if not speed:
        return None
    if report["scenario"]["workload"] == "training":
        return float(speed["tokens_per_s_per_device"]["typical"] * report["scenario"]["accelerators"])
    if step := speed.get("time_per_output_token_s"):
        return float(1 / step["typical"])
    return float(speed["prefill_tokens_per_s"]["typical"])


QUANTITY = Quantity("Tokens a second", rate, show_tokens_per_s, fits=True)


def draw(**scenario: object) -> Plot:
    """Return the inputs of a scenario whose steps change its speed most. Raises ScenarioError where it is not known."""
    report: Report = estimate(scenario, repairs=False)
    if rate(report) is None:
        raise ScenarioError("accelerator", "has no known speed for this, and nothing changes it")
    what = "Speed of training" if report["scenario"]["workload"] == "training" else "Speed of each answer"
    return sensitivity(scenario, report, QUANTITY, what=what)
