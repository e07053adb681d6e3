"""Running the checks of claims: what is computed, how it compares, and whether that bears the verdict out."""

import re
from functools import cache
from typing import NamedTuple

from calc.calculators.html import element, text
from calc.catalog import Catalog, catalog
from calc.catalog.claims import Claim, ClaimCheck
from calc.validation.claim_formulas import evaluate
from macros.claims.values import Value, shown, value_of


class Result(NamedTuple):
    """What one check of a claim came to."""

    check: ClaimCheck
    values: dict[str, Value]
    number: float  # in base units
    holds: bool  # what the claim says is so

    @property
    def unit(self) -> str:
        """The unit in which the claim speaks."""
        return self.check.unit

    @property
    def line(self) -> str:
        """How the number came about, as HTML."""
        lines = "".join(value.line for value in self.values.values())
        if self.check.formula in self.values:
            return lines
        numbers = re.sub(r"[A-Za-z_]\w*", self._substituted, self.check.formula)
        sum_ = f"{text(self.check.formula)} = {text(numbers)} = {element('strong', text(self.said))}"
        return lines + element("span", sum_.replace("*", "×"), class_="calc-step")

    @property
    def said(self) -> str:
        """The number that was computed, as readers see it."""
        return shown(self.number, self.unit)

    @property
    def claimed(self) -> str:
        """The number that the claim gives, as readers see it."""
        unit = "" if self.unit == "times" else self.unit
        return f"{self.check.claimed:,} {unit}".strip()

    def _substituted(self, match: re.Match[str]) -> str:
        value = self.values.get(match[0])
        return shown(value.number, value.unit) if value else match[0]


@cache
def results(facts: Catalog, name: str) -> list[Result]:
    """Return what the checks of a claim came to. Raises ValueError where they contradict its verdict."""
    claim = facts.claim(name)
    try:
        found = [run(check) for check in claim.checks]
    except ValueError as error:
        raise ValueError(f"claim {claim.id}: {error}") from error
    bear_out(claim, found)
    return found


def checked(name: str) -> tuple[Claim, list[Result]]:
    """Return a claim and what its checks came to."""
    return catalog().claim(name), results(catalog(), name)


def bear_out(claim: Claim, found: list[Result]) -> None:
    """Raise ValueError where the checks of a claim say something else than its verdict."""
    if not found or claim.verdict == "not verifiable":
        return
    computed = "; ".join(f"{result.check.what}: {result.said}, claimed {result.claimed}" for result in found)
    if claim.refuted and all(result.holds for result in found):
        raise ValueError(f"claim {claim.id} is called {claim.verdict}, and its checks bear it out ({computed})")
    if not claim.refuted and not all(result.holds for result in found):
        raise ValueError(f"claim {claim.id} is called {claim.verdict}, and a check contradicts it ({computed})")


def run(check: ClaimCheck) -> Result:
    """Compute one check, and compare."""
    values = {name: value_of(value) for name, value in check.values.items()}
    number = evaluate(check.formula, {name: value.number for name, value in values.items()})
    return Result(check, values, number, check.holds(number))
