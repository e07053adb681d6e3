"""What a calculator is: inputs, presets, the scenario they make, and the answer's text."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from calc.calculators.inputs import Input, Report, Values, read
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.planner.steps import Steps


class Preset(NamedTuple):
    """A named example: the inputs that differ from the defaults."""

    name: str
    values: Values


class Calculator(NamedTuple):
    """One calculator. `scenario` turns read inputs into a scenario, `render` and `status` its report into text.

    `answer` is `estimate`, unless a calculator answers more than a scenario can ask. Where that takes long, `steps` is
    the same one step after the other. `timed` tells whether its text has anything on the speed of a scenario.
    """

    id: str
    title: str
    question: str
    inputs: tuple[Input, ...]
    presets: tuple[Preset, ...]
    scenario: Callable[[dict[str, object]], dict[str, object]]
    render: Callable[[Report], str]
    status: Callable[[Report], str]
    headings: tuple[str, ...]  # of the table of presets
    row: Callable[[Report], tuple[str, ...]]
    answer: Callable[[dict[str, object]], Report] = estimate
    pasted: Callable[[str, Mapping[str, str]], tuple[Values, str]] | None = None  # reads what a program printed
    steps: Callable[[dict[str, object]], Steps[Report]] | None = None
    timed: Callable[[Mapping[str, object]], bool] = bool  # of a scenario, which always asks something

    def values(self, changed: Values) -> Values:
        """Return every input's text: the default, or what was changed. Raises ScenarioError for an unknown input."""
        known = {field.name: field.default for field in self.inputs}
        for name in changed:
            if name not in known:
                raise ScenarioError(name, f"is not an input of {self.title}; inputs are {', '.join(known)}")
        return known | changed

    def asked(self, changed: Values) -> dict[str, object]:
        """Return the scenario for inputs that differ from the defaults. Raises ScenarioError for a wrong one."""
        values = self.values(changed)
        read_values = {field.name: read(field, values[field.name]) for field in self.inputs}
        return self.scenario({name: value for name, value in read_values.items() if value is not None})

    def report(self, changed: Values) -> Report:
        """Return the report for inputs that differ from the defaults, as far as the text has need of it.

        Raises ScenarioError for a wrong one.
        """
        asked = self.asked(changed)
        return self.answer(asked) if self.timed(asked) else estimate(asked, speed=False)
