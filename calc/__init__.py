"""Hardware needs of AI models: memory, and later speed and cost, computed from facts that name their sources.

>>> from calc import estimate
>>> estimate({"model": "llama-3.1-8b", "weights": "bf16"})["model"]["parameters_total"]
8030261248
"""

from collections.abc import Mapping

from calc.errors import CatalogError, ScenarioError
from calc.estimate import estimate

__all__ = ["CatalogError", "ScenarioError", "estimate", "plan"]


def plan(question: Mapping[str, object]) -> dict[str, object]:
    """Return the best options for a question: what runs, on what, for how much.

    The fields of both are documented on the page "Plan". Raises ScenarioError for a question that is wrong or that is
    not answered.
    """
    from calc.planner.answer import answer  # an estimate needs it not

    return answer(question)
