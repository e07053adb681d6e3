"""Keeping what follows from a part of a model by which part it is: comparing all of its tensors would take longer."""

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
