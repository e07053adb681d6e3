"""Coefficients estimated from measured rows: what makes the errors of sources least, each source counting once.

Within a source each group of rows counts alike: those of one figure and kind of kernel. Coefficients are tried one
after the other, a step up and down, with ever smaller steps. One for a kernel or generation is a factor on the plain
one, and a plain one a factor on its start: such factors are drawn to one, and stay at one where rows do not speak for
more. What no row speaks for is as for any new device.

A source is left out by trying again without its rows, from where all rows led, along straight lines through the errors
there: one source moves coefficients too little for the lines to bend. What a row's error is under coefficients is
worked out once: it depends on those coefficients that move it, and on no other.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import NamedTuple

Values = dict[str, float]
MOST_ROWS = 20  # of a group that an estimate looks at
FEW = 4  # rows of a source that counts half of one with many
SMALLEST = 0.02  # an error below this pulls less the smaller it is
LARGEST = 0.5  # an error above this pulls less by the square of how much larger it is: something else was run
HOLD = 0.05  # how strongly a factor is drawn to one, a source being 1
NEAR = 0.05  # of a logarithm: the step by which lines are laid through errors
STEPS = (0.4, 0.15, 0.05, 0.02)  # of a logarithm
SWEEPS = 3  # over all coefficients, with one step
OF_A_KIND = 0.15  # of it, for a factor of one generation or era: these do differ, and few rows speak of each
SHARE_LIMIT = 0.999  # of what the hardware could do


class Item(NamedTuple):
    """A measured figure and what predicts it from coefficients."""

    id: str
    source: str
    group: tuple[str, ...]  # rows that count together as one
    phase: str  # "prefill", "decode", or nothing
    bucket: str  # engine, device class, format and kind of model
    measured: float
    predict: Callable[[Mapping[str, float]], float]
    # Of a run that ends, what an estimate tries: to go through all its events each time would take too long.
    in_place: Callable[[Mapping[str, float]], float] | None = None

    def error(self, values: Mapping[str, float]) -> float:
        """Return the logarithm of predicted over measured."""
        return math.log(self.predict(values) / self.measured)

    def trial(self, values: Mapping[str, float]) -> float:
        """Return the error by which coefficients are tried."""
        return math.log((self.in_place or self.predict)(values) / self.measured)


class Fit(NamedTuple):
    """Coefficients, and what trying again without some rows needs."""

    values: Values
    known: Values  # of coefficients that are not estimated, too
    start: Mapping[str, float]
    moved: Values  # logarithms of the factors
    hold: float
    items: tuple[Item, ...]  # those that the estimate looked at


def chosen(items: Iterable[Item]) -> tuple[Item, ...]:
    """Return at most `MOST_ROWS` items of each group, the same ones each time: by their ids' digests."""
    groups: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item)
    return tuple(
        item
        for _, group in sorted(groups.items())
        for item in sorted(group, key=lambda item: hashlib.sha256(item.id.encode()).digest())[:MOST_ROWS]
    )


def fit(items: Iterable[Item], values: Mapping[str, float], start: Mapping[str, float], *, hold: float = HOLD) -> Fit:
    """Return the coefficients named by `start` estimated from items, all others as in `values`."""
    search = Search(chosen(items), values, start, dict.fromkeys(start, 0.0), hold=hold)
    search.run(STEPS)
    return Fit(search.values(), dict(values), start, search.moved, hold=hold, items=search.items)


def without_each(fitted: Fit, sources: Iterable[str]) -> dict[str, Values]:
    """Return the coefficients as estimated without each of some sources, from where all rows led.

    Errors are taken from `Lines` there: to leave each source of an engine out takes seconds so, where it takes an hour
    to predict all rows anew for whatever is tried, and medians of sources differ by a hundredth.
    """
    lines = Lines(fitted)
    return {source: lines.without(source) for source in sources}


class Search:
    """Coefficients that are moved one after the other while that makes the errors less."""

    def __init__(
        self,
        items: tuple[Item, ...],
        known: Mapping[str, float],
        start: Mapping[str, float],
        moved: Values,
        hold: float,
    ) -> None:
        self.items, self.known, self.start, self.moved, self.hold = items, known, start, moved, hold
        self.above = {name: above_of(name, start) for name in start}
        self.holds = {name: hold * (OF_A_KIND if "@" in name else 1.0) for name in start}
        self.weights = weights(items)
        values = self.values()
        self.errors = [item.trial(values) for item in items]
        self.touched: dict[str, list[int]] = {}
        self.movers: list[tuple[str, ...]] = []  # of each item, the coefficients that change its error
        self.seen: list[dict[int, float]] = []  # of each item, its errors under those tried

    def values(self) -> Values:
        """Return all coefficients; a share stays below one."""
        found = {**self.known}
        for name, size in self.start.items():
            factor, above = self.moved[name], self.above[name]
            while above is not None:
                factor, above = factor + self.moved[above], self.above[above]
            size *= math.exp(factor)
            found[name] = min(size, SHARE_LIMIT) if "share" in name else size
        return found

    def sift(self, step: float) -> None:
        """Find the items whose errors each coefficient changes, a step up."""
        for name in self.start:
            self.moved[name] += step
            values = self.values()
            self.moved[name] -= step
            errors = (item.trial(values) for item in self.items)
            self.touched[name] = [place for place, error in enumerate(errors) if error != self.errors[place]]
        names: list[list[str]] = [[] for _ in self.items]
        for name, places in self.touched.items():
            for place in places:
                names[place].append(name)
        self.movers = [tuple(mine) for mine in names]
        self.seen = [{} for _ in self.items]

    def errors_after(self, ways: Mapping[str, float], places: Iterable[int]) -> list[float]:  # noqa: ARG002
        """Return the errors of the items at some places once coefficients have moved by `ways`."""
        values, found = self.values(), []
        for place in places:
            key, seen = hash(tuple(values[name] for name in self.movers[place])), self.seen[place]
            error = seen.get(key)
            if error is None:
                error = seen[key] = self.items[place].trial(values)
            found.append(error)
        return found

    def run(self, steps: Sequence[float]) -> None:
        """Try all steps on all coefficients, until none makes the errors less."""
        if not self.touched:
            self.sift(steps[0])
        for step in steps:
            for _ in range(SWEEPS):
                moved = [self.better(name, step, self.touched[name]) for name in self.start]
                if not any(moved):
                    break

    def better(self, name: str, step: float, touched: Sequence[int]) -> bool:
        """Move a coefficient up or down as long as that makes the errors less; return whether it moved.

        What stands on it moves along, or stays where it is.
        """
        below = [other for other, above in self.above.items() if above == name]
        for way in (step, -step):
            for still in ([], below) if below else ([],):
                moved = False
                while self.moves({name: way, **dict.fromkeys(still, -way)}, touched):
                    moved = True
                if moved:
                    return True
        return False

    def moves(self, ways: Mapping[str, float], touched: Sequence[int]) -> bool:
        """Move coefficients if that makes the errors less."""
        before = dict(self.moved)
        for name, way in ways.items():
            self.moved[name] = round(self.moved[name] + way, 6)
        errors = self.errors_after(ways, touched) if touched else []
        gained = sum(
            self.weights[place] * (felt(abs(error)) - felt(abs(self.errors[place])))
            for place, error in zip(touched, errors, strict=True)
        )
        drawn = sum(self.holds[name] * (abs(self.moved[name]) - abs(before[name])) for name in ways)
        if gained + drawn >= -1e-9:
            self.moved = before
            return False
        for place, error in zip(touched, errors, strict=True):
            self.errors[place] = error
        return True


class Lines(Search):
    """A search near where all rows led: errors are on straight lines through those a step up and a step down."""

    def __init__(self, fitted: Fit) -> None:
        super().__init__(fitted.items, fitted.known, fitted.start, dict(fitted.moved), hold=fitted.hold)
        self.base = fitted.moved
        self.lines = {name: (self.slopes(name, NEAR), self.slopes(name, -NEAR)) for name in self.start}
        self.touched = {
            name: [place for place, ways in enumerate(zip(*self.lines[name], strict=True)) if any(ways)]
            for name in self.start
        }

    def slopes(self, name: str, step: float) -> list[float]:
        """Return by how much the error of each item changes with a coefficient's logarithm over a step."""
        self.moved[name] = self.base[name] + step
        values = self.values()
        self.moved[name] = self.base[name]
        return [(item.trial(values) - error) / step for item, error in zip(self.items, self.errors, strict=True)]

    def errors_after(self, ways: Mapping[str, float], places: Iterable[int]) -> list[float]:
        """Return the errors of the items at some places once coefficients have moved, along the lines."""
        changes = [0.0] * len(self.items)
        for name, way in ways.items():
            new = self.moved[name] - self.base[name]
            for shift, sign in ((new, 1.0), (new - way, -1.0)):
                slopes = self.lines[name][shift < 0.0]
                for place in self.touched[name]:
                    changes[place] += sign * shift * slopes[place]
        return [self.errors[place] + changes[place] for place in places]

    def without(self, source: str) -> Values:
        """Return the coefficients as estimated from the rows of all other sources."""
        other = copy(self)
        other.moved, other.errors = dict(self.moved), list(self.errors)
        counted = [place for place, item in enumerate(self.items) if item.source != source]
        sizes = weights([self.items[place] for place in counted])
        other.weights = [0.0] * len(self.items)
        for place, size in zip(counted, sizes, strict=True):
            other.weights[place] = size
        other.touched = {
            name: [place for place in places if other.weights[place]] for name, places in self.touched.items()
        }
        other.run(STEPS[1:])
        return other.values()


def weights(items: Sequence[Item]) -> list[float]:
    """Return what each item counts: 1 for a source, in equal parts for its groups, and for the items of a group.

    A source of few rows counts less, for each of them may be about something else: `FEW` rows count half.
    """
    sizes = Counter(item.group for item in items)
    rows = Counter(item.source for item in items)
    groups = Counter(source for source, _ in {(item.source, item.group) for item in items})
    whole = {source: count / (count + FEW) for source, count in rows.items()}
    return [whole[item.source] / (groups[item.source] * sizes[item.group]) for item in items]


def above_of(name: str, names: Iterable[str]) -> str | None:
    """Return the coefficient that stands where there is none for a kernel or a generation; None for a plain one.

    >>> above_of("share_awq@Hopper", ("share", "share_awq@Hopper")), above_of("share", ("share",))
    ('share', None)
    """
    begins = [known for known in names if known != name and name.startswith((f"{known}_", f"{known}@"))]
    return max(begins, key=len, default=None)


def felt(size: float) -> float:
    """Return what an error counts: its size, less of a small one, and of a large one ever less that is added to it.

    >>> felt(0.01), round(felt(0.5), 3), round(felt(1.0), 3), round(felt(10.0), 3)
    (0.0025, 0.49, 0.74, 0.965)
    """
    if size < SMALLEST:
        return size * size / (2.0 * SMALLEST)
    return (size if size <= LARGEST else LARGEST * (2.0 - LARGEST / size)) - SMALLEST / 2.0
