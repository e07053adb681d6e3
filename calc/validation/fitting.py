"""Coefficients estimated from measured rows: least absolute logarithms of predicted over measured.

Each source counts once, and within it each group of rows: those of one figure and kind of kernel. The estimate goes by
Gauss's method on a matrix of sensitivities, weighted so that the sum of absolute errors falls. A coefficient for one
kernel or generation is drawn towards the plain one, and a plain one towards its start, a twentieth as strongly as a
source can draw: what no row speaks for is as for any new device.

A source is left out by solving again without its rows, a few times over, from where all rows led. That needs no new
sensitivities: the rows of one source move coefficients little.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

Values = dict[str, float]
MOST_ROWS = 60  # of a group that an estimate looks at
STEP = 0.02  # of a logarithm, for sensitivities
SMALLEST = 0.02  # an error below this pulls no harder than one of this size
LARGEST = 1.0  # an error above this pulls no harder: something else was run
HOLD = 0.05  # how strongly a coefficient is drawn to the one above it, a source being 1
NEAREST = 0.1  # of a logarithm: nearer than this it is drawn no harder
ROUNDS, AGAIN, WEIGHINGS = 8, 3, 15
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

    def error(self, values: Mapping[str, float]) -> float:
        """Return the logarithm of predicted over measured."""
        return math.log(self.predict(values) / self.measured)


class Ties(NamedTuple):
    """What coefficients are drawn to: each row of the matrix is one of them less the one above it."""

    matrix: "Array"
    targets: "Array"  # logarithms: of the start over that of the one above it, or of the start where none is above
    hold: float  # how strongly, a source being 1

    def away(self, values: Mapping[str, float], names: Sequence[str]) -> "Array":
        """Return how far each coefficient is from what it is drawn to, as a logarithm."""
        import numpy as np

        found: Array = self.matrix @ np.array([math.log(values[name]) for name in names]) - self.targets
        return found


class Fit(NamedTuple):
    """Coefficients, and what solving again without some rows needs."""

    values: Values
    names: tuple[str, ...]  # those estimated
    ties: "Ties"
    items: tuple[Item, ...]  # those that the estimate looked at
    sensitivities: "Array"
    errors: "Array"  # of the items under the values


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
    import numpy as np  # what a build computes needs none of it

    looked_at, names, ties = chosen(items), tuple(start), ties_of(start, hold)
    found = {**values, **start}
    matrix, errors = np.empty((0, 0)), np.empty(0)
    for _ in range(ROUNDS):
        errors = np.array([item.error(found) for item in looked_at])
        matrix = sensitivities(looked_at, found, names, errors)
        moved = moves(matrix, errors, looked_at, found, names, ties)
        found = better(looked_at, found, names, moved, ties)
        if float(np.abs(moved).max(initial=0)) < STEP / 2:
            break
    errors = np.array([item.error(found) for item in looked_at])
    return Fit(found, names, ties, looked_at, matrix, errors)


def without(fitted: Fit, source: str) -> Values:
    """Return the coefficients as estimated from the rows of all other sources."""
    import numpy as np

    kept = [place for place, item in enumerate(fitted.items) if item.source != source]
    others = tuple(fitted.items[place] for place in kept)
    matrix, errors, found = fitted.sensitivities[kept], fitted.errors[kept], fitted.values
    for _ in range(AGAIN):
        moved = moves(matrix, errors, others, found, fitted.names, fitted.ties)
        reached = better(others, found, fitted.names, moved, fitted.ties)
        if reached is found:
            break
        found, errors = reached, np.array([item.error(reached) for item in others])
    return found


def weights(items: Sequence[Item]) -> list[float]:
    """Return what each item counts: 1 for a source, in equal parts for its groups, and for the items of a group."""
    sizes = Counter(item.group for item in items)
    groups = Counter(source for source, _ in {(item.source, item.group) for item in items})
    return [1 / (groups[item.source] * sizes[item.group]) for item in items]


def sensitivities(items: Sequence[Item], values: Values, names: Sequence[str], errors: "Array") -> "Array":
    """Return how the logarithm of each prediction grows with the logarithm of each coefficient."""
    import numpy as np

    columns = []
    for name in names:
        step = -STEP if "share" in name and values[name] * (1 + STEP) >= SHARE_LIMIT else STEP
        tried = {**values, name: values[name] * math.exp(step)}
        columns.append((np.array([item.error(tried) for item in items]) - errors) / step)
    return np.array(columns).T.reshape(len(items), len(names))


def ties_of(start: Mapping[str, float], hold: float = HOLD) -> Ties:
    """Return what coefficients are drawn to, by their names.

    >>> ties_of({"share": 0.5, "share_awq": 0.5, "share_awq@Hopper": 0.5}).matrix.tolist()
    [[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]
    """
    import numpy as np

    names = list(start)
    matrix, targets = np.eye(len(names)), np.array([math.log(value) for value in start.values()])
    for place, name in enumerate(names):
        if above := above_of(name, names):
            matrix[place, names.index(above)] = -1
            targets[place] = math.log(start[name] / start[above])
    return Ties(matrix, targets, hold)


def above_of(name: str, names: Iterable[str]) -> str | None:
    """Return the coefficient that stands where there is none for a kernel or a generation; None for a plain one.

    >>> above_of("share_awq@Hopper", ("share", "share_awq@Hopper")), above_of("share", ("share",))
    ('share', None)
    """
    begins = [known for known in names if known != name and name.startswith((f"{known}_", f"{known}@"))]
    return max(begins, key=len, default=None)


def moves(
    matrix: "Array", errors: "Array", items: Sequence[Item], values: Values, names: Sequence[str], ties: Ties
) -> "Array":
    """Return the change of each coefficient's logarithm that makes the sum of absolute errors least."""
    import numpy as np

    weight = np.array(weights(items))
    away, moved = ties.away(values, names), np.zeros(len(names))
    for _ in range(WEIGHINGS):
        left = np.abs(errors + matrix @ moved)
        pull = weight / np.clip(left, SMALLEST, None) * np.where(left > LARGEST, LARGEST / np.maximum(left, 1e-9), 1)
        hold = ties.hold / np.clip(np.abs(away + ties.matrix @ moved), NEAREST, None)
        normal = matrix.T @ (pull[:, None] * matrix) + ties.matrix.T @ (hold[:, None] * ties.matrix)
        moved = np.linalg.solve(normal, -(matrix.T @ (pull * errors)) - ties.matrix.T @ (hold * away))
    return moved


def better(items: Sequence[Item], values: Values, names: Sequence[str], moved: "Array", ties: Ties) -> Values:
    """Return coefficients moved as far as the loss falls: the whole way, half of it, a quarter, or not at all."""
    least = loss(items, values, names, ties)
    for share in (1.0, 0.5, 0.25):
        tried = changed(values, names, moved * share)
        if loss(items, tried, names, ties) < least:
            return tried
    return values


def changed(values: Values, names: Sequence[str], moved: "Array") -> Values:
    """Return coefficients after a change of their logarithms; a share stays below one."""
    found = dict(values)
    for name, move in zip(names, moved, strict=True):
        size = values[name] * math.exp(min(max(float(move), -1.5), 1.5))
        found[name] = min(size, SHARE_LIMIT) if "share" in name else size
    return found


def loss(items: Sequence[Item], values: Mapping[str, float], names: Sequence[str], ties: Ties) -> float:
    """Return the sum over sources of the mean absolute error, and of how far coefficients are from what draws them."""
    errors = sum(
        weight * min(abs(item.error(values)), LARGEST) for weight, item in zip(weights(items), items, strict=True)
    )
    return errors + ties.hold * float(abs(ties.away(values, names)).sum())
