"""What a speed-up is worth: how many times as fast, how much less time, and the hours and money that it saves."""

from typing import NamedTuple

from calc.derivation import Step
from calc.units import HOUR_S, show_count, show_number

SOURCE = "amdahl"


class SpeedUp(NamedTuple):
    """The seconds that one item takes before and after, and how many items a day brings."""

    before_s: float
    after_s: float
    items: int

    @property
    def factor(self) -> float:
        """How many times as fast: $t_1 / t_2$."""
        return self.before_s / self.after_s

    @property
    def reduction(self) -> float:
        """The share of the time that is saved: $1 - t_2 / t_1$; negative where it became slower."""
        return 1 - self.after_s / self.before_s

    def hours(self, seconds: float) -> float:
        """Return the hours of a day's items, at so many seconds each."""
        return self.items * seconds / HOUR_S

    @property
    def saved_hours(self) -> float:
        """Hours a day that are saved."""
        return self.hours(self.before_s) - self.hours(self.after_s)

    def saved_cost(self, before_per_hour: float, after_per_hour: float) -> float:
        """Return what a day costs less, where an hour of the two machines has these prices."""
        return self.hours(self.before_s) * before_per_hour - self.hours(self.after_s) * after_per_hour


def payback_days(*, price: float, saved_per_day: float) -> float | None:
    """Return the days after which a purchase has paid for itself; None where nothing is saved.

    >>> payback_days(price=2000, saved_per_day=8)
    250.0
    """
    return price / saved_per_day if saved_per_day > 0 else None


def speed_up_steps(found: SpeedUp) -> list[Step]:
    """Return the working."""
    before, after = show_number(found.before_s), show_number(found.after_s)
    items = show_count(found.items)
    return [
        Step("Times as fast", r"\frac{t_1}{t_2}", f"{before} / {after}", found.factor, unit="", source=SOURCE),
        Step("Less time", r"1 - \frac{t_2}{t_1}", f"1 − {after} / {before}", found.reduction, unit="", source=SOURCE),
        Step(
            "Hours saved a day",
            r"\frac{n (t_1 - t_2)}{3600}",
            f"{items} × ({before} − {after}) / 3,600",
            found.saved_hours,
            unit="h",
            source=SOURCE,
        ),
    ]
