"""What a question tries, whatever its limits."""

from collections.abc import Iterator
from itertools import chain

from calc.catalog import Catalog
from calc.planner.candidate import Candidate
from calc.planner.candidates import places
from calc.planner.question import Question


def candidates(question: Question, facts: Catalog) -> Iterator[Candidate]:
    """Iterate over what a question tries, on devices within and beyond its limits."""
    return chain.from_iterable(place.candidates() for place in places(question, facts))
