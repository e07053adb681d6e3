"""The cache against context, for several numbers of sequences, whatever the model stands on."""

from calc.calculators.sizes import size_gib
from calc.memory.budget import Demand
from calc.plots.memory_over_context import over_context, sampled
from calc.plots.placed import place
from calc.plots.plot import Plot
from calc.units import show_count


def draw(**scenario: object) -> Plot:
    """Return what is kept of conversations, for a scenario of inference at other contexts."""
    placed = place(scenario)

    def kept(demand: Demand) -> int:
        budget = placed.budget(demand)
        return budget.kv_cache + budget.recurrent_state

    plot = over_context(placed, sampled(placed, kept), None)
    name = placed.asked.model_name
    summary = (
        f"Cache of {name}: {size_gib(kept(placed.demand))} at {show_count(placed.demand.tokens)} tokens, weights not "
        "counted. "
        f"The longest context drawn is {plot.rows[-1][0]} tokens, with {', '.join(plot.rows[-1][1:])} for "
        f"{', '.join(plot.headings[1:])}."
    )
    return plot._replace(caption=f"Cache against context: {name}", summary=summary)
