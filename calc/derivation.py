"""The working of an answer: each step with its formula, the numbers put in, the result and the source."""

from typing import NamedTuple


class Step(NamedTuple):
    """One line of working. A reader with a pencil who follows `substituted` gets `value`."""

    name: str
    formula: str  # LaTeX, in the subset that calc.calculators.mathml renders
    substituted: str
    value: float
    unit: str
    source: str

    def as_dict(self) -> dict[str, object]:
        """Return the step as the contract writes it."""
        return {
            "name": self.name,
            "formula": self.formula,
            "substituted": self.substituted,
            "value": self.value,
            "unit": self.unit,
            "source": self.source,
        }


INFO, CAUTION, WRONG = "info", "caution", "wrong"


class Warn(NamedTuple):
    """Something that a reader should know, tied to the scenario field that causes it.

    Its severity is "info" for what was taken or is otherwise than one may think, "caution" for what costs speed, room
    or certainty, and "wrong" for what cannot be as it is asked. `sizes_bytes` are those in the message, in order.
    """

    code: str
    message: str
    field: str
    severity: str = CAUTION
    sizes_bytes: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return the warning as the contract writes it."""
        return {**self._asdict(), "sizes_bytes": list(self.sizes_bytes)}


class Part(NamedTuple):
    """One use of device memory: its bytes on the fullest device and the working that gave them."""

    id: str
    label: str
    bytes: int
    steps: tuple[Step, ...]
