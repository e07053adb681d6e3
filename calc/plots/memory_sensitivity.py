"""What changes the memory of the fullest device most: each input of the scenario one step down and one up."""

from calc.calculators.sizes import size_gib
from calc.estimate import estimate
from calc.memory.runtime import NOT_USED
from calc.plots.one_step_away import Report
from calc.plots.plot import Plot
from calc.plots.sensitivity import Quantity, sensitivity
from calc.units import GIB


def used(report: Report) -> float:
    """Return the GiB that a report's case needs: cache that an engine sets aside beyond it is not needed."""
    return float(sum(part["bytes"] for part in report["memory"]["parts"] if part["id"] not in NOT_USED) / GIB)


QUANTITY = Quantity("GiB of the fullest device", used, lambda gib: size_gib(gib * GIB))


def draw(**scenario: object) -> Plot:
    """Return the inputs of a scenario whose steps change its memory most, with the limit where it is near."""
    report: Report = estimate(scenario, repairs=False)
    limit = report["memory"].get("limit_bytes")
    return sensitivity(scenario, report, QUANTITY, what="Memory", limit=limit and limit / GIB)
