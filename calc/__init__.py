"""Hardware needs of AI models: memory, and later speed and cost, computed from facts that name their sources.

>>> from calc import estimate
>>> estimate({"model": "llama-3.1-8b", "weights": "bf16"})["model"]["parameters_total"]
8030261248
"""

from collections.abc import Mapping

from calc.errors import CatalogError, ScenarioError
from calc.estimate import estimate

__all__ = ["CatalogError", "ScenarioError", "estimate", "launch", "plan", "read_line"]


def plan(question: Mapping[str, object]) -> dict[str, object]:
    """Return the best options for a question: what runs, on what, for how much.

    The fields of both are documented on the page "Plan". Raises ScenarioError for a question that is wrong or that is
    not answered.
    """
    from calc.planner.answer import answer  # an estimate needs it not

    return answer(question)


def launch(scenario: Mapping[str, object], *, replicas: int = 1) -> dict[str, object]:
    """Return how what a scenario is about is started: commands, files and manifests, each flag with its reason.

    The fields are documented on the page "Launch". Raises ScenarioError for a scenario that is wrong, or that asks for
    no engine.
    """
    from calc.launching.starting import starting  # an estimate needs it not

    return starting(scenario, replicas)


def read_line(text: object) -> dict[str, object]:
    """Return what a question in one line asks: a scenario for `estimate`, or a question for `plan`.

    The fields are documented on the page "A question in one line". Raises ScenarioError for what is no line.

    >>> read_line("llama 3.3 70b q4 on 2x3090")["scenario"]["weights"]
    'q4_k_m'
    """
    from calc.lines.comparing import read_line as read  # most never type one

    return read(text)
