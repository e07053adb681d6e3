"""The search: what can at best be reached is tried first, so that nothing better is left when enough was found.

Whatever is shown went through `estimate` itself. What is not shown was tried too, or could not have come before.
"""

from collections.abc import Iterable
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any

from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_total
from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.planner.bound import Bound, bound_of, least_held
from calc.planner.candidates import Candidate, doubted, named_engine
from calc.planner.devices import Devices
from calc.planner.fleet import by_rate, evenly, fewest, server_on, too_slow
from calc.planner.need import Share
from calc.planner.options import (
    Miss,
    Option,
    cannot_be,
    does_not_run,
    energy_of,
    room_of,
    short,
    slow,
    tokens_per_s,
    too_heavy,
)
from calc.planner.question import Question
from calc.planner.steps import Steps, finished
from calc.planning.bounds import chance_of_fitting
from calc.planning.fit import MOST_SEQUENCES
from calc.planning.serving import last
from calc.question import read_question
from calc.scenario.model import known_architecture
from calc.units import KWH_J, show_number

LEAST_CHANCE = 0.5  # of fitting
MILLION = 1e6


@lru_cache(maxsize=1024)  # each question asks for those of every model
def parameters(architecture: Architecture) -> int:
    """Return the number of parameters of a model."""
    return parameters_total(architecture)


class Search:
    """A question, asked of one candidate after the other."""

    def __init__(self, question: Question, facts: Catalog) -> None:
        self.question, self.facts = question, facts
        self.rejected: dict[str, dict[str, Any]] = {}
        self.estimated = self.looked = 0

    def best(self, tried: Iterable[Candidate]) -> list[Option]:
        """Return the best options, each of a group of its own, best first; last those of which nobody says they run."""
        return finished(self.looking(tried))

    def looking(self, tried: Iterable[Candidate]) -> Steps[list[Option]]:
        """Look for the best options, one candidate a step."""
        line: list[tuple[bool, tuple[bool, float], int, Candidate, Option | None]] = []
        for candidate in tried:
            if candidate.scenarios:
                line.append((doubted(candidate, self.facts), self.at_best(candidate), candidate.order, candidate, None))
        heapify(line)
        found: dict[str, Option] = {}
        while line and len(found) < self.question.shown:
            open_, _, order, candidate, option = heappop(line)
            if candidate.group in found:
                continue
            if option is not None:
                found[candidate.group] = option
                continue
            self.looked += 1
            yield self.looked
            answer = self.further(candidate)
            if isinstance(answer, Option):
                unknown = answer.report.get("runs", True) is None and bool(named_engine(candidate, self.facts))
                heappush(line, (unknown, self.value(answer), order, answer.candidate, answer))
            elif isinstance(answer, Candidate):
                heappush(line, (open_, self.at_best(answer), order, answer, None))
            else:
                self.reject(candidate, answer)
                if rest := candidate.after():
                    heappush(line, (open_, self.at_best(rest), order, rest, None))
        return list(found.values())

    def further(self, candidate: Candidate) -> Candidate | Option | Miss:
        """Return what is known of a candidate one step on: the fewest replicas, how many it takes, what it serves."""
        if not self.question.need.shared:
            return self.ask(candidate)
        if candidate.share is None and candidate.most_replicas > 1:
            bounds = [bound_of(candidate, scenario) for scenario in candidate.scenarios]
            least = min(fewest(candidate, bound, self.question.need) for bound in bounds)
            return candidate._replace(share=Share(least))
        known = candidate.share is not None and candidate.share.requests
        return self.serving(candidate) if known else self.sized(candidate)

    def sized(self, candidate: Candidate) -> Candidate | Option | Miss:
        """Return a candidate with as many replicas as share what is asked, and what each of them is given."""
        need = self.question.need
        if miss := self.beyond_limits(candidate) or self.below_bounds(candidate):
            return miss
        try:
            found = self.shared_by_rate(candidate) if need.mean_rate is not None else self.shared_by_people(candidate)
        except ScenarioError as error:
            return cannot_be(error)
        if not isinstance(found, Share):
            return found
        if found.replicas + need.spare > candidate.most_replicas:
            lacks = f"{found.replicas + need.spare:,} replicas are needed, and there may be {candidate.most_replicas:,}"
            return Miss("load", lacks, (found.replicas + need.spare) / candidate.most_replicas)
        sized = candidate.given(found)
        return self.beyond_limits(sized) or sized

    def shared_by_rate(self, candidate: Candidate) -> Share | Miss:
        """Return what each replica is given of the requests that come."""
        if miss := self.too_large(candidate):
            return miss
        server = server_on(candidate.scenario)
        if server is None:
            found = self.serving(candidate)
            return found if isinstance(found, Miss) else Miss("speed", "its speed is not known", inf)
        return by_rate(server, self.question.need) or too_slow(server, self.question.need)

    def shared_by_people(self, candidate: Candidate) -> Share | Option | Miss:
        """Return what each replica is given of people who wait together, as many as one serves; an option if all."""
        people, timed = self.question.need.waiting or 1, self.question.need.timed
        misses: dict[int, Miss] = {}

        def serves(count: int) -> bool:
            if count >= people:
                return False
            asked = candidate.given(Share(1, count))
            found = misses.get(count) or (self.serving(asked) if timed else self.too_large(asked))
            if isinstance(found, Miss):
                misses[count] = found
            return count not in misses

        whole = self.serving(candidate.given(Share(1, people)))
        if isinstance(whole, Option) or whole.reason == "runs" or candidate.most_replicas == 1 or people == 1:
            return whole
        return evenly(people, last(serves)) if serves(1) else misses[1]

    def at_best(self, candidate: Candidate) -> tuple[bool, float]:
        """Return what ranks a candidate, no worse than that of any of its scenarios; less is better."""
        rank, devices = self.question.rank_by, self.fleet(candidate)
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
            return False, (bound.least.held - devices.whole_room) / devices.number
        if rank == "latency":
            return False, step_s
        if rank == "speed":
            return False, -self.together(bound) / step_s if step_s else -inf
        return False, (devices.power_w or 0) * step_s / self.together(bound)

    def together(self, bound: Bound) -> float:
        """Return the sequences of all replicas together, at most."""
        need = self.question.need
        if need.mean_rate is not None:
            return 1.0 if self.question.rank_by == "speed" else MOST_SEQUENCES
        return need.waiting or bound.sequences

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
        if rank == "latency":
            return False, speed[name]["typical"]
        return False, -tokens_per_s(self.question.need, option)

    def price(self, candidate: Candidate) -> float | None:
        """Return what devices cost: their price where the reader buys, else their rent of a month."""
        fleet = self.fleet(candidate)
        if self.question.limits.buys:
            return fleet.purchase
        return fleet.rent_per_month(self.question.need.hours_a_month)

    def fleet(self, candidate: Candidate) -> Devices:
        """Return the devices of all replicas, spare ones included."""
        return candidate.devices.times(candidate.replicas + self.question.need.spare)

    def ask(self, candidate: Candidate) -> Option | Miss:
        """Return the option that a candidate's first scenario is, or why it is none; what is cheap is asked first."""
        return self.beyond_limits(candidate) or self.below_bounds(candidate) or self.serving(candidate)

    def serving(self, candidate: Candidate) -> Option | Miss:
        """Return the option that a candidate's first scenario is by its report, or what that lacks."""
        try:
            if miss := self.too_large(candidate):
                return miss
            self.estimated += 1
            report: dict[str, Any] = estimate(candidate.scenario)
        except ScenarioError as error:
            return cannot_be(error)
        return does_not_run(report) if report.get("runs") is False else self.judge(candidate, report)

    def beyond_limits(self, candidate: Candidate) -> Miss | None:
        """Return which limit the devices are beyond."""
        limits, devices = self.question.limits, self.fleet(candidate)
        rent = devices.rent_per_month(self.question.need.hours_a_month)
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

    def below_bounds(self, candidate: Candidate) -> Miss | None:
        """Return what no layout and no engine gives: room for the weights, or the time to read them."""
        room = candidate.devices.whole_room
        if (held := least_held(candidate.scenario, self.facts)) > room:
            return too_heavy(held, room)
        bound = bound_of(candidate, candidate.scenario)
        if bound.least.held > room:
            return too_heavy(bound.least.held, room)
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
        if self.question.trains:
            return None
        read = read_question(candidate.scenario)
        serving = read.serving()
        if serving is None:
            return Miss("engine", "no engine is known to run it", inf)
        if read.most:
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
