"""An option and a miss: a scenario that serves with its report, and why one does not."""

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

from calc.errors import ScenarioError
from calc.planner.candidate import Candidate
from calc.planner.need import Need
from calc.planning.chance import SURE
from calc.planning.cost import MILLION
from calc.planning.support import Runs
from calc.units import GIB, KWH_J, show_gib, show_number

HUNDREDTH = GIB // 100  # what sizes are shown to
MOST_DIGITS = 12  # of two times that differ
# Fields of a scenario that are looked for, or that each candidate has its own of.
OPEN = ("accelerators", "parallelism", "weights", "kv_cache", "kv_cache_v", "engine")


class Option(NamedTuple):
    """A scenario that serves, with its report."""

    candidate: Candidate
    report: dict[str, Any]
    spare_bytes: int
    chance: float
    surer: dict[str, int] | None = None  # the most that surely fits of what is asked for, where it is not this much

    @property
    def typical(self) -> dict[str, float]:
        """The typical figures of its speed."""
        speed = self.report["speed"] or {}
        return {name: ends["typical"] for name, ends in speed.items() if isinstance(ends, dict) and "typical" in ends}

    @property
    def is_sure(self) -> bool:
        """Whether it is nearly certain to fit; else it is tight."""
        return self.chance >= SURE


class Miss(NamedTuple):
    """Why a scenario does not serve: a reason, what it lacks, and how far off that is, as a ratio from 1 on."""

    reason: str
    lacks: str
    ratio: float
    sizes: tuple[int, ...] = ()  # in bytes, that stand in `lacks`, in their order


class Rejected:
    """How many scenarios do not serve for one reason, and the nearest of each group."""

    def __init__(self) -> None:
        self.count = 0
        self.nearest = dict[str, tuple[float, dict[str, object], Miss]]()  # with its ratio, by group

    def as_dict(self, offered: set[str]) -> dict[str, object]:
        """Return the count and the nearest of them; of what is offered nobody asks why not, if there is another."""
        others = [kept for group, kept in self.nearest.items() if group not in offered]
        _, scenario, miss = min(others or self.nearest.values(), key=lambda kept: kept[0])
        nearest = {"scenario": scenario, "lacks": miss.lacks, "sizes_bytes": list(miss.sizes)}
        return {"count": self.count, "nearest": nearest}


def does_not_run(engine: str, works: Runs) -> Miss:
    """Return why an engine does not run it."""
    return Miss("runs", f"{engine}: {'; '.join(message for message, _ in works.because)}", inf)


def no_engine() -> Miss:
    """Return that no engine is known to run it."""
    return Miss("engine", "no engine is known to run it", inf)


def cannot_be(error: ScenarioError) -> Miss:
    """Return that a scenario cannot be asked of this model, device or engine."""
    if error.field == "concurrency":
        return no_engine()
    reason = "layout" if error.field.split(".")[0] in OPEN else "field"
    return Miss(reason, f"{error.field}: {error.message}", inf)


def short(lacking: int, capacity: int, where: str = "on the fullest device") -> Miss:
    """Return how much more memory the fullest device, or the host, would have to have."""
    if 2 * lacking < HUNDREDTH:
        return Miss("memory", f"it lacks less than 0.01 GiB {where}", 1 + lacking / max(capacity, 1))
    lacks = f"it lacks {show_gib(lacking)} {where}"
    return Miss("memory", lacks, 1 + lacking / max(capacity, 1), (lacking,))


def tight(chance: float, change: str = "") -> Miss:
    """Return that it is likely to fit, and not certain, with the change that would make it sure where it is known."""
    sure = f": {change} make it sure" if change else ""
    return Miss("tight", f"it fits with a chance of {int(100 * chance)} %{sure}", 1 / chance)


def too_heavy(held: int, room: int, what: str = "the weights") -> Miss:
    """Return that something by itself is more than all devices hold, or the fullest of them."""
    needed, there, ratio = show_gib(held), show_gib(room), held / max(room, 1)
    if needed == there:
        return Miss("memory", f"{what} alone need a little more than {there}", ratio, (room,))
    return Miss("memory", f"{what} alone need {needed} of {there}", ratio, (held, room))


def slow(value: float, most: float) -> str:
    """Return that a time is too long."""
    shown = ((show_number(value * 1000, digits), show_number(most * 1000, digits)) for digits in range(3, MOST_DIGITS))
    first, second = next((pair for pair in shown if pair[0] != pair[1]), ("a little more", show_number(most * 1000)))
    return f"{first} ms is more than {second} ms"


def energy_of(option: Option) -> float | None:
    """Return the kWh of a million tokens that are written; of a model that writes none, that are read."""
    cost, read = option.report["cost"] or {}, option.typical.get("prefill_tokens_per_s")
    found, watts = cost.get("energy_kwh_per_million_output_tokens"), option.candidate.devices.power_w
    if found or writes(option.typical) or not read or not watts:
        return found["typical"] if found else None
    return watts / read * MILLION / KWH_J


def writes(speed: Mapping[str, float]) -> bool:
    """Return whether a speed is that of a model that writes tokens."""
    return "decode_tokens_per_s" in speed


def tokens_a_second(option: Option) -> float | None:
    """Return the tokens that all devices train on in a second."""
    speed: Any = option.report["speed"]
    return speed["tokens_per_s_per_device"]["typical"] * option.candidate.devices.number if speed else None


def rate_of(need: Need, candidate: Candidate, speed: Mapping[str, float]) -> float | None:
    """Return what ranks a way by speed: tokens a second of all who are counted, or of each answer where requests come.

    Of a model that writes no text, texts a second, or passes where requests come; None where it is not known.
    """
    share, texts = candidate.share, candidate.scenario.get("sequences", 1)
    if "decode_tokens_per_s" in speed:
        if need.mean_rate is not None:
            return 1 / speed["time_per_output_token_s"]
        rate = speed["decode_tokens_per_s"]
    elif "time_to_first_token_s" in speed and isinstance(texts, int):
        if need.mean_rate is not None:
            return 1 / speed["time_to_first_token_s"]
        rate = texts / speed["time_to_first_token_s"]
    else:
        return None
    return rate if share is None else rate * (need.waiting or 1) / share.requests


def time_of(speed: Mapping[str, float]) -> float | None:
    """Return what ranks a way by latency: the time for each token, or of a pass where no text is written."""
    return speed.get("time_per_output_token_s", speed.get("time_to_first_token_s"))
