"""Seconds of any step of a server, from a table of a few: a run under load takes thousands of steps."""

from bisect import bisect_right
from collections.abc import Callable
from math import ceil, sqrt

from calc.performance.passes import Passes
from calc.performance.speed import step_of

RATIO = 1.5  # between the sequences, and tokens, of neighbours in the table
NO_GROWTH = 1e-9  # of a step, over the time until something comes, that rounding would make nothing of
FEWEST_TOKENS = 16  # of prompts in a step that the table begins with


class StepTimes:
    """Steps of decoding sequences and of prompts, on one data-parallel rank.

    A step's time is nearly linear in the tokens that are looked back at, and between neighbouring sizes of its
    products. Cells of the table are worked out when a step first needs them.
    """

    def __init__(
        self,
        passes: Passes,
        *,
        prompt_tokens: int,
        output_tokens: int,
        most_tokens: int,
        mixes: bool,
        held_up_s: Callable[[int], float] | None = None,
        gap: Callable[[int], int] | None = None,
        reading: Callable[[int, int], int] | None = None,
    ) -> None:
        self.passes, self.mixes = passes, mixes
        self.reading = reading  # replicas that a pass's tokens are of: beside so many sequences, so many of prompts
        self.held_up_s = held_up_s  # of a step that decodes so many, by prompts on ranks that step together with it
        self.gap = gap  # steps of so many from one that may carry prompts to the next, where they wait for other ranks'
        self.context = float(prompt_tokens + output_tokens // 2)  # about which steps are linear in their context
        self.before = float(max(prompt_tokens, FEWEST_TOKENS))
        self.stages = passes.layout.pipeline
        most = max(most_tokens, 2 * FEWEST_TOKENS)
        self.sizes = sorted({*geometric(FEWEST_TOKENS, most), min(prompt_tokens, most)})
        self.cells: dict[tuple[int, int], float] = {}
        self.rows: dict[int, tuple[float, float]] = {}
        self.between: dict[int, tuple[float, float]] = {}
        self.steps: dict[int, float] = {}
        self.lines: dict[tuple[int, int], tuple[float, float]] = {}
        self.slopes: dict[int, float] = {}
        self.counts = geometric(1, 1)

    def decode(self, sequences: int) -> tuple[float, float]:
        """Return the seconds of a step of so many sequences without context, and those for each token of their mean."""
        found = self.between.get(sequences)
        if found is None:
            low, high, share = self.around(sequences)
            (fixed, slope), (more, steeper) = self.row(low), self.row(high)
            found = self.between[sequences] = fixed + share * (more - fixed), slope + share * (steeper - slope)
        return found

    def prompts(self, sequences: int, tokens: int, before: float) -> float:
        """Return the seconds that a step takes longer for `tokens` of prompts, each of which looks back at `before`.

        Where prompts have steps of their own these are the seconds of one. Stages of a pipeline work on several.
        """
        key = sequences if self.mixes else 0, tokens
        fixed, slope = self.lines.get(key) or self.line(*key)
        return max(fixed + slope * before, 0.0) / self.stages

    def line(self, beside: int, tokens: int) -> tuple[float, float]:
        """Return the seconds of prompts beside so many sequences: without a look back, and for each token of it."""
        place = min(max(bisect_right(self.sizes, tokens), 1), len(self.sizes) - 1)
        small, large = self.sizes[place - 1], self.sizes[place]
        share = max((tokens - small) / (large - small), 0.0)
        low, high, part = self.around(beside)
        seconds = slope = 0.0
        for size, weight in ((small, 1.0 - share), (large, share)):
            if weight:
                alike, steep = self.cell(low, size), self.slope(size)
                if part:
                    alike += part * (self.cell(high, size) - alike)
                seconds += weight * (alike - steep * size / 2.0)
                slope += weight * steep
        self.lines[beside, tokens] = seconds, slope
        return seconds, slope

    def around(self, sequences: int) -> tuple[int, int, float]:
        """Return the neighbours of a number of sequences in the table, and its place between them."""
        while self.counts[-1] < sequences:
            self.counts.append(max(round(self.counts[-1] * RATIO), self.counts[-1] + 1))
        if not sequences:
            return 0, 0, 0.0
        place = bisect_right(self.counts, sequences) - 1
        low = self.counts[place]
        if low == sequences:
            return low, low, 0.0
        high = self.counts[place + 1]
        return low, high, (sequences - low) / (high - low)

    def row(self, sequences: int) -> tuple[float, float]:
        """Return a row of the table: seconds without context, and for each token of it."""
        if sequences not in self.rows:
            half, more = round(self.context / 2), round(self.context * 1.5) + 1
            parts = min(self.stages, sequences) if self.passes.schedule.values["overlaps_decode"] else 1
            first, second = (self.round_s(sequences / parts, length, parts) for length in (half, more))
            slope = max(second - first, 0.0) / (more - half)
            held_up = self.held_up_s(sequences) if self.held_up_s else 0.0
            self.rows[sequences] = first - slope * half + held_up, slope
        return self.rows[sequences]

    def round_s(self, sequences: float, context: int, parts: int) -> float:
        """Return the seconds until parts of so many sequences, which follow each other, have a token more."""
        time = self.passes.time(self.passes.step(sequences=sequences, context=context))
        stage_s = self.passes.busiest_s(time) if parts > 1 else time.total
        return step_of(pass_s=time.total, stage_s=stage_s, parts=parts) / self.passes.expected

    def step_s(self, sequences: float, context: int) -> float:
        """Return the seconds of a step without prompts."""
        return self.passes.time(self.passes.step(sequences=sequences, context=context)).total

    def passes_beside(self, sequences: int, tokens: int) -> Passes:
        """Return the passes over so many tokens of a prompt beside decoding sequences."""
        return self.passes.with_reading(self.reading(sequences, tokens)) if self.reading else self.passes

    def cell(self, sequences: int, tokens: int) -> float:
        """Return the seconds that a prompt takes beside decoding sequences."""
        key = sequences, tokens
        if key not in self.cells:
            piece, context = self.passes.prompt(sequences=1, tokens=tokens, before=0), round(self.context)
            if sequences:
                step = self.passes.step(sequences=sequences, context=context)
                if sequences not in self.steps:
                    self.steps[sequences] = self.step_s(sequences, context)
                extra = self.passes_beside(sequences, tokens).time(step, piece).total - self.steps[sequences]
            else:
                extra = self.passes_beside(0, tokens).time(piece).total
            self.cells[key] = max(extra, 0.0)
        return self.cells[key]

    def slope(self, tokens: int) -> float:
        """Return the seconds that a prompt takes longer for each token that all its tokens look back at."""
        if tokens not in self.slopes:
            piece = self.passes.prompt(sequences=1, tokens=tokens, before=round(self.before))
            far = self.passes_beside(0, tokens).time(piece).total
            self.slopes[tokens] = max(far - self.cell(0, tokens), 0.0) / round(self.before)
        return self.slopes[tokens]


def steps_until(gap_s: float, first_s: float, growth_s: float) -> int:
    """Return the steps of decoding after which a time has come, one at least; each is longer than the last."""
    if growth_s * gap_s < NO_GROWTH * first_s:
        return max(ceil(gap_s / first_s), 1)
    linear = first_s - growth_s / 2.0
    return max(ceil((sqrt(linear**2 + 2.0 * growth_s * gap_s) - linear) / growth_s), 1)


def geometric(first: int, last: int) -> list[int]:
    """Return numbers from `first` to `last` whose neighbours are about `RATIO` apart.

    >>> geometric(1, 10)
    [1, 2, 3, 4, 6, 9, 10]
    """
    found = [min(first, last)]
    while found[-1] < last:
        found.append(min(max(round(found[-1] * RATIO), found[-1] + 1), last))
    return found
