"""What was understood of a line: its parts with the fields that they give, and what else follows from them."""

from typing import NamedTuple

from calc.catalog import Catalog
from calc.lines.device_names import Count, Name
from calc.lines.line import Line
from calc.lines.quantities import Quantity
from calc.scenario.model import known_architecture
from calc.units import GIB


class Chip(NamedTuple):
    """A part of a line that was understood: the field that it gives, its value, and what else it may mean."""

    start: int
    end: int
    field: str
    value: object
    others: tuple[str, ...] = ()


class Chips:
    """The parts of a line that were understood, what was taken without being said, and what is missing."""

    def __init__(self, line: Line, facts: Catalog) -> None:
        self.line, self.facts = line, facts
        self.chips: list[Chip] = []
        self.missing: list[str] = []
        self.taken: dict[str, object] = {}

    def add(self, part: Name | Quantity | Count, field: str, value: object, others: tuple[str, ...] = ()) -> None:
        """Note that a part gives a field its value."""
        self.chips.append(Chip(part.start, part.end, field, value, others=others))

    def give_back(self, chip: Chip) -> None:
        """Note that a part is not understood after all."""
        if chip in self.chips:
            self.chips.remove(chip)
        self.line.release(chip.start, chip.end)

    def value(self, field: str) -> object:
        """Return what the line gives a field, None for nothing."""
        return next((chip.value for chip in self.chips if chip.field == field), None)

    def values(self, field: str) -> list[object]:
        """Return all that the line gives a field, in the order in which it was understood."""
        return [chip.value for chip in self.chips if chip.field == field]

    def fields(self) -> list[tuple[str, object]]:
        """Return every field that the line gives, with its value."""
        return [(chip.field, chip.value) for chip in self.chips]

    def said(self, fields: tuple[str, ...]) -> dict[str, object]:
        """Return the fields of these names that the line gives."""
        return {name: value for name in fields if (value := self.value(name)) is not None}

    def number(self, field: str) -> float | None:
        """Return the number that the line gives a field, None for nothing."""
        value = self.value(field)
        assert value is None or isinstance(value, int | float)
        return value

    def count(self, field: str) -> int | None:
        """Return the whole number that the line gives a field, None for nothing."""
        value = self.value(field)
        assert value is None or isinstance(value, int)
        return value

    def place(self, field: str) -> int:
        """Return where a field is said."""
        return next((chip.start for chip in self.chips if chip.field == field), -1)

    def host_memory(self) -> int | None:
        """Return the GiB of the host's memory: those said, or the most that its processor is sold with, soldered."""
        said, processor = self.count("host_memory"), self.value("processor")
        most = self.facts.processor(str(processor)).memory_most if said is None and processor else None
        return most // GIB if most else said

    def writes(self) -> bool:
        """Return whether the line names a model that writes text."""
        model = self.value("model")
        return model is not None and known_architecture(self.facts, str(model)).writes
