"""Sizes in a text: an element with the bytes and the other unit, so that a page can say what its reader chose.

As HTML it stays what it is, wherever `calc.calculators.html.text` takes the words around it; `in_words` says the text
without elements, for what is spoken, copied or put into an attribute.
"""

from collections.abc import Sequence

from calc.calculators.html import element
from calc.units import show_binary, show_decimal, show_gb, show_gib


def size(size_bytes: float, shown: str, other: str) -> str:
    """Return a size as an element; the plain words of a few bytes, which no binary unit is smaller than."""
    few = not shown.endswith("iB") and not other.endswith("iB")
    return shown if few else element("data", shown, value=f"{size_bytes:.0f}", data_or=other)


def size_gib(size_bytes: float) -> str:
    """Return a size in GiB to two decimals, which can be read in GB.

    >>> size_gib(16060522496)
    '<data value="16060522496" data-or="16.06 GB">14.96 GiB</data>'
    """
    return size(size_bytes, show_gib(size_bytes), show_gb(size_bytes))


def size_gb(size_bytes: float) -> str:
    """Return a size in GB to two decimals, which can be read in GiB."""
    return size(size_bytes, show_gb(size_bytes), show_gib(size_bytes))


def size_binary(size_bytes: float) -> str:
    """Return a size in the largest binary unit, which can be read in the largest decimal one."""
    return size(size_bytes, show_binary(size_bytes), show_decimal(size_bytes))


def size_decimal(size_bytes: float) -> str:
    """Return a size in the largest decimal unit, which can be read in the largest binary one."""
    return size(size_bytes, show_decimal(size_bytes), show_binary(size_bytes))


def with_sizes(said: str, sizes_bytes: Sequence[int]) -> str:
    """Return a text with its sizes in GiB, in their order, as elements that are read in either unit."""
    found = ""
    for size_bytes in sizes_bytes:
        before, shown, said = said.partition(show_gib(size_bytes))
        found += before + (size_gib(size_bytes) if shown else "")
    return found + said
