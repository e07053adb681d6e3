"""A run of requests through a server that is asked one thing: whether enough of them are served in time."""

from collections.abc import Sequence
from math import ceil

from calc.performance.arrivals import Objective, Request
from calc.performance.queue import Queue
from calc.performance.server import Begun, Server
from calc.performance.step_times import StepTimes

ALIKE = 1e-12  # relative, of numbers that rounding alone tells apart


class Trial(Queue):
    """A run that is over as soon as it is clear whether enough requests keep an objective; the first few do not count.

    How many must keep it is a share of those that count.
    """

    __slots__ = ("counted_from", "kept", "may_miss", "missed", "must_keep", "objective")

    def __init__(
        self,
        asked: Sequence[Request],
        begun: Sequence[Begun],
        server: Server,
        times: StepTimes,
        *,
        objective: Objective,
        share: float,
        skipped: int,
    ) -> None:
        super().__init__(asked, begun, server, times)
        self.objective, self.counted_from = objective, self.first_place + skipped
        counted = len(asked) - skipped
        self.must_keep = ceil(share * counted * (1 - ALIKE))
        self.may_miss = counted - self.must_keep
        self.kept = self.missed = 0

    def finish(self, index: int, now: float) -> None:
        """End an answer, and count it."""
        super().finish(index, now)
        if index >= self.counted_from:
            if self.served(index).keeps(self.objective):
                self.kept += 1
            else:
                self.missed += 1
            self.over = self.kept >= self.must_keep or self.missed > self.may_miss

    def passes(self) -> bool:
        """Return whether enough requests keep the objective."""
        self.work()
        return self.kept >= self.must_keep
