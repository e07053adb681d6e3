"""What can be wrong: a scenario that a reader wrote, or a catalogue that a maintainer wrote."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
Scenario = Mapping[str, object]
Problem = tuple[str, str]  # a field, and what is wrong with it
MOST_READS = 64  # of a scenario in all ways to mend it; from then on one way does
NEAR = 0.5  # of the likeness of two names
MOST_NAMED = 10  # of the names that would do
MOST_WAYS = 8  # of mending a field; one with more is left out instead


class ScenarioError(ValueError):
    """A scenario that cannot be answered: `field` is its dotted path, `message` says what is allowed.

    `problems` has everything that is wrong, by field; the first is `field` with `message`. `instead` are the values
    that the field may have, where they can be counted.
    """

    def __init__(self, field: str, message: str, instead: tuple[object, ...] = ()) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message
        self.instead = instead
        self.problems: list[Problem] = [(field, message)]


class WrongValueError(ScenarioError):
    """A value that its field has in no scenario, whatever else that says: no word, no name or no number for it."""


def read_whole(read: Callable[[Scenario], T], scenario: Scenario, stand_ins: Mapping[str, tuple[object, ...]]) -> T:
    """Return what `read` makes of a scenario; the ScenarioError that it raises names all problems.

    `stand_ins` are values of fields that no scenario goes without.
    """
    try:
        return read(scenario)
    except ScenarioError as error:
        error.problems = Diagnosis(read, stand_ins).after(error, scenario)
        raise


class Diagnosis:
    """Finds all that is wrong with a scenario: mends what was found in every way there is, and reads it again.

    A further problem counts if it is there however the first one is mended: a field that only another value of the
    first would allow is not wrong for itself.
    """

    def __init__(self, read: Callable[[Scenario], object], stand_ins: Mapping[str, tuple[object, ...]]) -> None:
        self.read, self.stand_ins, self.left = read, stand_ins, MOST_READS

    def problems(self, scenario: Scenario, seen: tuple[str, ...]) -> list[Problem]:
        """Return the problems of a scenario in which the fields `seen` have been mended."""
        self.left -= 1
        try:
            self.read(scenario)
        except ScenarioError as error:
            return self.after(error, scenario, seen)
        return []

    def after(self, error: ScenarioError, scenario: Scenario, seen: tuple[str, ...] = ()) -> list[Problem]:
        """Return the problem that an error tells of, if it is a new one, and those beside it."""
        again = any(f"{field}.".startswith(f"{error.field}.") for field in seen)  # it, or what is left around it
        mended = self.mended(scenario, error, again)[: None if self.left > 0 else 1]
        later = [self.problems(other, (*seen, error.field)) for other in mended]
        common = [problem for problem in later[0] if all(problem in other for other in later)] if later else []
        return common if again else [(error.field, error.message), *common]

    def mended(self, scenario: Scenario, error: ScenarioError, again: bool) -> list[Scenario]:
        """Return the scenario without what is wrong: with another value, without the field, or without its parent."""
        names = error.field.split(".")
        while names and not is_given(scenario, names):
            names.pop()
        if again and len(names) > 1:
            names.pop()
        if not names:
            return []
        if names[0] in self.stand_ins and len(names) == 1:
            values = self.stand_ins[names[0]]
            return [] if scenario[names[0]] in values else [replaced(scenario, names, value) for value in values]
        if len(error.instead) in range(1, MOST_WAYS) and not again:
            return [replaced(scenario, names, value) for value in error.instead]
        return [replaced(scenario, names, None)]


def is_given(scenario: object, names: list[str]) -> bool:
    """Whether a scenario gives the field of that path a value."""
    for name in names:
        scenario = scenario.get(name) if isinstance(scenario, Mapping) else None
    return scenario is not None


def replaced(scenario: object, names: list[str], value: object) -> dict[str, object]:
    """Return a copy of a scenario with another value of the field of that path, None to leave it out."""
    copy = dict(scenario) if isinstance(scenario, Mapping) else {}
    name, *inner = names
    if inner:
        copy[name] = replaced(copy[name], inner, value)
    elif value is None:
        del copy[name]
    else:
        copy[name] = value
    return copy


class CatalogError(ValueError):
    """A catalogue that does not load: `problems` holds one line for each mistake, with file, entry and field."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("the catalogue does not load:\n  " + "\n  ".join(problems))
        self.problems = problems


def nearest(name: str, known: Iterable[str], count: int = 3, leads_to: Mapping[str, str] | None = None) -> str:
    """Return a hint naming the known names nearest to `name`, ready to end a sentence; empty if none is near.

    Where `leads_to` says what each name stands for, one name of each thing is enough.

    >>> nearest("bf61", ["bf16", "fp16", "nf4"], 1)
    '; did you mean "bf16"?'
    """
    by_folded, wanted = {text.casefold(): text for text in known}, name.casefold()
    ranked = sorted(((likeness(text, wanted), text) for text in by_folded), reverse=True)[: 3 * count]
    close = [by_folded[text] for share, text in ranked if share >= NEAR]
    meant = {text: leads_to[text] if leads_to else text for text in close}
    first = {thing: text for text, thing in reversed(meant.items())}
    named = [text for text in close if first[meant[text]] == text][:count]
    return "; did you mean " + " or ".join(f'"{text}"' for text in named) + "?" if named else ""


def likeness(first: str, second: str) -> float:
    """Return twice the characters in common over all of both; 0 where too few letters are the same for `NEAR`.

    Ratcliff and Obershelp's measure. The library's `difflib` has it too; a page would load all of that for it.

    >>> likeness("bf61", "bf16"), likeness("nf4", "bf16")
    (0.75, 0.0)
    """
    size = len(first) + len(second)
    letters = sum(min(first.count(letter), second.count(letter)) for letter in set(second))
    return 2 * common(first, second) / size if size and 2 * letters >= NEAR * size else 0.0


def common(first: str, second: str) -> int:
    """Return the characters of the longest text that stands in both, and of those before and after it."""
    for size in range(min(len(first), len(second)), 0, -1):
        for start in range(len(first) - size + 1):
            at = second.find(first[start : start + size])
            if at >= 0:
                end = start + size
                return size + common(first[:start], second[:at]) + common(first[end:], second[at + size :])
    return 0


def check_names(given: Iterable[object], allowed: Sequence[str], within: str = "", of: str = "") -> None:
    """Raise ScenarioError for the first field that is none of those allowed, by its path `within` a scenario.

    `of` says whose fields these are, where that is not clear.
    """
    for name in given:
        if name not in allowed:
            hint = nearest(str(name), allowed)
            raise WrongValueError(f"{within}{name}", f"is not a field{of}{hint}; fields are {', '.join(allowed)}")


def listed(names: Iterable[str]) -> str:
    """Return names as a list in words, cut where there are many.

    >>> listed(str(number) for number in range(12))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more'
    """
    known = list(names)
    rest = len(known) - MOST_NAMED
    return ", ".join(known[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
