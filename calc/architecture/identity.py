"""Keeping what follows from a part of a model, by which part it is or how it is written: to compare it takes longer."""

from typing import Generic, TypeVar

T = TypeVar("T")


class Same(Generic[T]):
    """A value that equals itself alone.

    >>> Same((one := [1])) == Same(one), Same([1]) == Same([1])
    (True, False)
    """

    def __init__(self, value: T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


class Alike(Generic[T]):
    """A value that equals those that are written alike.

    >>> Alike({"layers": 1}) == Alike({"layers": 1}), Alike({"layers": 1}) == Alike({"layers": 1.0})
    (True, False)
    """

    def __init__(self, value: T) -> None:
        self.value, self.written = value, repr(value)

    def __hash__(self) -> int:
        return hash(self.written)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike) and self.written == other.written
