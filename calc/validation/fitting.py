"""Coefficients estimated from measured rows: what makes the errors of sources least, each source counting once.

Within a source each group of rows counts alike: those of one figure and kind of kernel. Coefficients are tried one
after the other, a step up and down, with ever smaller steps. One for a kernel or generation is a factor on the plain
one, and a plain one a factor on its start: such factors are drawn to one, and stay at one where rows do not speak for
more. What no row speaks for is as for any new device.

What a row's error is under other coefficients is read off straight lines through errors near those at hand, which are
laid anew from where a search along them led. A source is left out by searching again without its rows from where all
rows led: one source moves coefficients too little for the lines to bend.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

Values = dict[str, float]
MOST_ROWS = 20  # of a group that an estimate looks at
FEW = 4  # rows of a source that counts half of one with many
SMALLEST = 0.02  # an error below this pulls less the smaller it is
LARGEST = 0.5  # an error above this pulls less by the square of how much larger it is: something else was run
HOLD = 0.05  # how strongly a factor is drawn to one, a source being 1
NEAR = 0.05  # of a logarithm: the step by which lines are laid through errors
FAR = 0.7  # of a logarithm: how far a coefficient is moved along a line
LITTLE = 0.001  # of the errors: if no more is gained, lines are not laid anew
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


class Lines:
    """The errors of items near some coefficients: straight lines through those a step up and a step down of each."""

    def __init__(
        self,
        items: tuple[Item, ...],
        known: Mapping[str, float],
        start: Mapping[str, float],
        moved: Values,
        hold: float,
    ) -> None:
        self.items, self.known, self.start, self.moved = items, known, start, moved
        self.above = {name: above_of(name, start) for name in start}
        self.holds = {name: hold * (OF_A_KIND if "@" in name else 1.0) for name in start}
        self.weights = weights(items)
        self.errors = self.errors_at(moved)
        self.slopes = {name: (self.slopes_of(name, NEAR), self.slopes_of(name, -NEAR)) for name in start}

    @property
    def values(self) -> Values:
        """The coefficients that the lines are about."""
        return self.values_at(self.moved)

    @property
    def loss(self) -> float:
        """What the errors there count, and how far factors are from one."""
        errors = sum(weight * felt(abs(error)) for weight, error in zip(self.weights, self.errors, strict=True))
        return errors + sum(self.holds[name] * abs(moved) for name, moved in self.moved.items())

    def values_at(self, moved: Values) -> Values:
        """Return all coefficients, of logarithms of the factors; a share stays below one."""
        found = {**self.known}
        for name, size in self.start.items():
            factor, above = moved[name], self.above[name]
            while above is not None:
                factor, above = factor + moved[above], self.above[above]
            size *= math.exp(factor)
            found[name] = min(size, SHARE_LIMIT) if "share" in name else size
        return found

    def errors_at(self, moved: Values) -> list[float]:
        """Return the errors of all items as they are predicted."""
        values = self.values_at(moved)
        return [item.trial(values) for item in self.items]

    def slopes_of(self, name: str, step: float) -> dict[int, float]:
        """Return by how much the errors that it changes do so with a coefficient's logarithm, over a step."""
        errors = self.errors_at({**self.moved, name: self.moved[name] + step})
        changes = enumerate(zip(errors, self.errors, strict=True))
        return {place: (error - before) / step for place, (error, before) in changes if error != before}


class Search:
    """Coefficients that are moved one after the other along lines, while that makes the errors less."""

    def __init__(self, lines: Lines, sizes: Sequence[float], within: float = math.inf) -> None:
        self.lines, self.weights, self.within = lines, sizes, within
        self.moved, self.errors = dict(lines.moved), list(lines.errors)

    def run(self, steps: Sequence[float]) -> None:
        """Try all steps on all coefficients, until none makes the errors less."""
        for step in steps:
            for _ in range(SWEEPS):
                moved = [self.better(name, step) for name in self.lines.start]
                if not any(moved):
                    break

    def better(self, name: str, step: float) -> bool:
        """Move a coefficient up or down as long as that makes the errors less; return whether it moved.

        What stands on it moves along, or stays where it is.
        """
        below = [other for other, above in self.lines.above.items() if above == name]
        for way in (step, -step):
            for still in ([], below) if below else ([],):
                moved = False
                while self.moves({name: way, **dict.fromkeys(still, -way)}):
                    moved = True
                if moved:
                    return True
        return False

    def moves(self, ways: Mapping[str, float]) -> bool:
        """Move coefficients if that makes the errors less."""
        moved = {name: round(self.moved[name] + way, 6) for name, way in ways.items()}
        if any(abs(moved[name] - self.lines.moved[name]) > self.within for name in ways):
            return False
        errors = self.errors_after(moved)
        gained = sum(
            self.weights[place] * (felt(abs(error)) - felt(abs(self.errors[place]))) for place, error in errors.items()
        )
        drawn = sum(self.lines.holds[name] * (abs(new) - abs(self.moved[name])) for name, new in moved.items())
        if gained + drawn >= -1e-9:
            return False
        self.moved |= moved
        for place, error in errors.items():
            self.errors[place] = error
        return True

    def errors_after(self, moved: Values) -> dict[int, float]:
        """Return the errors, by their items' places, that change where some coefficients are moved."""
        errors = dict[int, float]()
        for name, new in moved.items():
            base = self.lines.moved[name]
            for shift, sign in ((new - base, 1.0), (self.moved[name] - base, -1.0)):
                for place, slope in self.lines.slopes[name][shift < 0.0].items():
                    errors[place] = errors.get(place, self.errors[place]) + sign * shift * slope
        return errors


def fit(items: Iterable[Item], values: Mapping[str, float], start: Mapping[str, float], *, hold: float = HOLD) -> Lines:
    """Return the errors of items near the coefficients named by `start` as they are estimated, all others as given.

    They are searched along lines, from where each search led lines are laid anew, until that is no better.
    """
    looked_at, known = chosen(items), dict(values)
    lines, within = Lines(looked_at, known, start, dict.fromkeys(start, 0.0), hold=hold), FAR
    while within > NEAR:
        search = Search(lines, lines.weights, within=within)
        search.run(STEPS)
        found = Lines(looked_at, known, start, search.moved, hold=hold)
        gained = lines.loss - found.loss
        if gained < 0.0:  # lines bend within so far
            within /= 2.0
            continue
        lines = found
        if gained < LITTLE * lines.loss:
            break
    return lines


def without_each(lines: Lines, sources: Iterable[str]) -> dict[str, Values]:
    """Return the coefficients as estimated without each of some sources, along the lines from where all rows led."""
    return {source: without(lines, source) for source in sources}


def without(lines: Lines, source: str) -> Values:
    """Return the coefficients as estimated from the rows of all other sources."""
    counted = [place for place, item in enumerate(lines.items) if item.source != source]
    sizes = [0.0] * len(lines.items)
    for place, size in zip(counted, weights([lines.items[place] for place in counted]), strict=True):
        sizes[place] = size
    search = Search(lines, sizes)
    search.run(STEPS[1:])
    return lines.values_at(search.moved)


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
