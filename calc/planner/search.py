"""The search: what can at best be reached is tried first, so that nothing better is left when enough was found.

Whatever is shown went through `estimate` itself. What is not shown was tried too, or could not have come before.
"""

from collections.abc import Iterable
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any, NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_total
from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.estimate import estimate, read_question
from calc.planner.candidates import Bound, Candidate, bound_of
from calc.planner.question import Question
from calc.planning.bounds import chance_of_fitting
from calc.scenario import known_architecture
from calc.units import KWH_J, show_gib, show_number

LEAST_CHANCE, SURE = 0.5, 0.95
MILLION = 1e6
OPEN = (
    "accelerators",
    "parallelism",
    "weights",
    "kv_cache",
    "kv_cache_v",
    "engine",
)  # what some cannot have


@lru_cache(maxsize=1024)  # each question asks for those of every model
def parameters(architecture: Architecture) -> int:
    """Return the number of parameters of a model."""
    return parameters_total(architecture)


class Option(NamedTuple):
    """A scenario that serves, with its report."""

    candidate: Candidate
    report: dict[str, Any]
    spare_bytes: int
    chance: float


class Miss(NamedTuple):
    """Why a scenario does not serve: a reason, what it lacks, and how far off that is, as a ratio from 1 on."""

    reason: str
    lacks: str
    ratio: float


class Search:
    """A question, asked of one candidate after the other."""

    def __init__(self, question: Question, facts: Catalog) -> None:
        self.question, self.facts = question, facts
        self.rejected: dict[str, dict[str, Any]] = {}
        self.estimated = 0

    def best(self, tried: Iterable[Candidate]) -> list[Option]:
        """Return the best options, each of a group of its own, best first."""
        line: list[tuple[tuple[bool, float], int, int, Candidate, Option | None]] = []
        for candidate in tried:
            if candidate.scenarios:
                line.append((self.at_best(candidate), candidate.order, 0, candidate, None))
        heapify(line)
        found: dict[str, Option] = {}
        while line and len(found) < self.question.shown:
            _, order, _, candidate, option = heappop(line)
            if candidate.group in found:
                continue
            if option is not None:
                found[candidate.group] = option
                continue
            answer = self.ask(candidate)
            if isinstance(answer, Option):
                heappush(line, (self.value(answer), order, 1, candidate, answer))
                continue
            self.reject(candidate, answer)
            if rest := candidate.after():
                heappush(line, (self.at_best(rest), order, 0, rest, None))
        return list(found.values())

    def at_best(self, candidate: Candidate) -> tuple[bool, float]:
        """Return what ranks a candidate, no worse than that of any of its scenarios; less is better."""
        rank, devices = self.question.rank_by, candidate.devices
        if rank == "devices":
            return False, devices.number
        if rank == "cost":
            price = self.price(candidate)
            return price is None, devices.number if price is None else price
        model = candidate.scenario["model"]
        if rank == "size" and isinstance(model, str) and model in self.facts.entries("models"):
            return False, -parameters(known_architecture(self.facts, model))
        bounds = [bound_of(candidate, scenario) for scenario in candidate.scenarios]
        return min(self.bounded(rank, candidate, bound) for bound in bounds)

    def bounded(self, rank: str, candidate: Candidate, bound: Bound) -> tuple[bool, float]:
        """Return what ranks a scenario if it needs no more than its bound."""
        devices, step_s = candidate.devices, bound.step_s
        if bound.asked is None:
            return False, -inf
        if rank == "size":
            return False, -parameters(bound.asked.demand.architecture)
        if rank == "margin":
            return False, bound.least.held / devices.number - devices.accelerator.capacity_bytes
        if rank == "latency":
            return False, step_s
        if rank == "speed":
            return False, -bound.sequences / step_s if step_s else -inf
        return False, (devices.power_w or 0) * step_s / bound.sequences

    def value(self, option: Option) -> tuple[bool, float]:
        """Return what ranks an option; less is better, and what is not known comes last."""
        rank, candidate, speed = self.question.rank_by, option.candidate, option.report["speed"]
        if rank in ("cost", "devices"):
            return self.at_best(candidate)
        if rank == "size":
            return False, -option.report["model"]["parameters_total"]
        if rank == "margin":
            return False, -option.spare_bytes
        if rank == "energy":
            energy = energy_of(option)
            return energy is None, 0.0 if energy is None else energy * KWH_J / MILLION
        name = "decode_tokens_per_s" if rank == "speed" else "time_per_output_token_s"
        if not speed or name not in speed:
            return True, 0.0
        return False, speed[name]["typical"] * (-1 if rank == "speed" else 1)

    def price(self, candidate: Candidate) -> float | None:
        """Return what devices cost: their price where the reader buys, else their rent of a month."""
        if self.question.limits.buys:
            return candidate.devices.purchase
        return candidate.devices.rent_per_month(self.question.need.hours_a_day)

    def ask(self, candidate: Candidate) -> Option | Miss:
        """Return the option that a candidate's first scenario is, or why it is none; what is cheap is asked first."""
        miss = self.beyond_limits(candidate) or self.below_bounds(candidate, bound_of(candidate, candidate.scenario))
        if miss:
            return miss
        try:
            if miss := self.too_large(candidate):
                return miss
            self.estimated += 1
            report: dict[str, Any] = estimate(candidate.scenario)
        except ScenarioError as error:
            if error.field.split(".")[0] not in OPEN:
                raise
            return Miss("layout", f"{error.field}: {error.message}", inf)
        return does_not_run(report) if report.get("runs") is False else self.judge(candidate, report)

    def beyond_limits(self, candidate: Candidate) -> Miss | None:
        """Return which limit the devices are beyond."""
        limits, devices = self.question.limits, candidate.devices
        rent = devices.rent_per_month(self.question.need.hours_a_day)
        for reason, most, value, asked in (
            ("price", limits.price, devices.purchase, limits.buy),
            ("rent", limits.price_per_month, rent, limits.rent),
            ("power", limits.power_w, devices.power_w, False),
        ):
            if (most is not None or asked) and value is None:
                return Miss(reason, f"no {reason} of it is known", inf)
            if most is not None and value is not None and value > most:
                return Miss(reason, f"{show_number(value, 4)} is more than {show_number(most, 4)}", value / most)
        return None

    def below_bounds(self, candidate: Candidate, bound: Bound) -> Miss | None:
        """Return what no layout and no engine gives: room for the weights, or the time to read them."""
        room = candidate.devices.number * candidate.devices.accelerator.capacity_bytes
        if bound.least.held > room:
            lacks = f"the weights alone need {show_gib(bound.least.held)} of {show_gib(room)}"
            return Miss("memory", lacks, bound.least.held / max(room, 1))
        step = self.question.need.step_s
        if step is not None and bound.step_s > step:
            return Miss("speed", slow(bound.step_s, step), bound.step_s / step)
        asked = bound.asked
        if asked is not None and asked.context_limit and asked.demand.tokens > asked.context_limit:
            lacks = f"it is made for {asked.context_limit:,} tokens"
            return Miss("context", lacks, asked.demand.tokens / asked.context_limit)
        return None

    def too_large(self, candidate: Candidate) -> Miss | None:
        """Return what the fullest device lacks, by what `estimate` itself asks: no repairs are looked for."""
        if self.question.of == "sequence_tokens":
            return None
        read = read_question(candidate.scenario)
        serving = read.asked.serving(read.accelerator)
        if serving is None:
            return Miss("engine", "no engine is known to run it", inf)
        if read.most or serving.concurrency is not None:
            return None
        runtime = serving.fullest(read.demand, read.layout)[1]
        if runtime.fits or runtime.capacity is None:
            return None
        return short(runtime.device - runtime.capacity, runtime.capacity)

    def judge(self, candidate: Candidate, report: dict[str, Any]) -> Option | Miss:
        """Return the option that a report is of, or what it lacks."""
        memory, need = report["memory"], self.question.need
        spare, upper = room_of(memory)
        chance = chance_of_fitting(spare_bytes=spare, upper_bytes=upper)
        if memory["fits"] is not True or chance < LEAST_CHANCE:
            return short(max(-spare, 0), memory["capacity_bytes"])
        for name, most in (("time_per_output_token_s", need.step_s), ("time_to_first_token_s", need.ttft_s)):
            if most is None:
                continue
            if not report["speed"] or name not in report["speed"]:
                return Miss("speed", "its speed is not known", inf)
            if (value := report["speed"][name]["typical"]) > most:
                return Miss("speed", slow(value, most), value / most)
        return Option(candidate, report, spare, chance)

    def reject(self, candidate: Candidate, miss: Miss) -> None:
        """Count a scenario that does not serve, and keep the nearest one of its reason."""
        entry = self.rejected.setdefault(miss.reason, {"count": 0, "nearest": None, "ratio": inf})
        entry["count"] += 1
        if entry["nearest"] is None or miss.ratio < entry["ratio"]:
            entry["nearest"] = {"scenario": candidate.scenario, "lacks": miss.lacks}
            entry["ratio"] = miss.ratio


def does_not_run(report: dict[str, Any]) -> Miss:
    """Return why it does not run."""
    said = "; ".join(item["message"] for item in report["runs_because"])
    return Miss("runs", f"{report['scenario']['engine']}: {said}", inf)


def short(lacking: int, capacity: int) -> Miss:
    """Return how much more memory the fullest device would have to have."""
    return Miss("memory", f"it lacks {show_gib(lacking)} on the fullest device", 1 + lacking / max(capacity, 1))


def slow(value: float, most: float) -> str:
    """Return that a time is too long."""
    return f"{show_number(value * 1000, 3)} ms is more than {show_number(most * 1000, 3)} ms"


def room_of(memory: dict[str, Any]) -> tuple[int, int]:
    """Return the bytes that are left, and by how much the range of what is needed goes beyond it.

    Where an engine sets a cache aside, it is that cache which has to hold the sequences.
    """
    parts = {part["id"]: part["bytes"] for part in memory["parts"]}
    if memory["fits"] and "kv_pool_free" in parts:
        return parts["kv_pool_free"], memory["kv_pool_bytes_range"][1] - memory["kv_pool_bytes"]
    used = memory.get("device_bytes", memory.get("total_bytes", 0))
    return memory["headroom_bytes"], memory.get("device_bytes_range", (used, used))[1] - used


def energy_of(option: Option) -> float | None:
    """Return the kWh of a million output tokens."""
    cost = option.report["cost"] or {}
    found = cost.get("energy_kwh_per_million_output_tokens")
    return found["typical"] if found else None
