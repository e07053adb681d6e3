"""Training: which method, sharding and checkpointing trains a model on which devices, and how fast.

Of each number of devices every way that the question leaves open is sized and timed by what `estimate` itself asks; the
fastest that surely fits is taken, with a micro-batch that is doubled while that helps. What recomputes more may be
faster with a still larger one: that is looked for when the devices' turn has come. Of what may not fit the leanest ways
are taken. The optimizer, and then the parameters too, wait in the host's memory only where nothing else surely fits.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile
from math import inf
from typing import Any

from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.estimate import estimate
from calc.planner.candidate import Candidate
from calc.planner.fleet import ALIKE
from calc.planner.offered import CLUSTERS, COUNTS, MACHINE, devices
from calc.planner.options import Miss, Option, tokens_a_second, too_heavy
from calc.planner.question import Question
from calc.planner.ranking import parameters
from calc.planner.steps import Steps
from calc.planner.training_sizing import Sizing
from calc.planner.training_ways import (
    CHECKPOINTING,
    methods,
    of_number,
    offloaded,
    startable,
    stopped,
    training_candidates,
    waiting_on,
    ways,
)
from calc.planning.bounds import least
from calc.planning.chance import LIKELY, SURE
from calc.scenario.reader import whole
from calc.training.frameworks import presets_asked
from calc.units import DAY_S, HOUR_S, show_number

BASES = {"full": "bf16", "lora": "bf16", "qlora": "nf4"}  # in which weights take least
MICRO_BATCHES = (2, 4, 8, 16, 32)
MOST_BATCH = MICRO_BATCHES[-1]
GROWN = ("sharding", "checkpointing", "offload", "micro_batch")  # what is found for a number of devices


class TrainingSearch(Sizing):
    """A question about training, asked of one candidate after the other."""

    def at_best(self, candidate: Candidate) -> tuple[bool, float]:
        """Return what ranks a candidate, no worse than that of any way to train on its devices; less is better."""
        rate = candidate.ideal or candidate.rate or self.most_per_s(candidate)
        return self.placed(candidate, rate, -candidate.devices.room)

    def value(self, option: Option) -> tuple[bool, float]:
        """Return what ranks an option; less is better, and what is not known comes last."""
        return self.placed(option.candidate, tokens_a_second(option), -option.spare_bytes)

    def placed(self, candidate: Candidate, rate: float | None, used: float) -> tuple[bool, float]:
        """Return what ranks devices that train so many tokens a second, with so much less than all memory in use."""
        rank, fleet = self.question.rank_by, candidate.devices
        if rank == "devices":
            return False, fleet.number
        if rank == "margin":
            return False, used
        if rank == "size":
            return False, -parameters(self.architecture(candidate))
        if rank == "cost" and self.question.limits.buys:
            return fleet.purchase is None, fleet.purchase or fleet.number
        if rank == "speed":
            return rate is None, -(rate or 0.0)
        each = fleet.rent_per_hour if rank == "cost" else fleet.power_w
        return rate is None or each is None, fleet.number if rate is None or each is None else each / rate

    def further(self, candidate: Candidate) -> Candidate | Option | Miss:
        """Return what is known of a candidate one step on: the fastest way that fits, then its report."""
        if candidate.ideal is not None:
            return self.refined(candidate)
        if candidate.rate is not None:
            return self.reported(candidate)
        try:
            lacking = stopped(candidate, self.facts)
        except ScenarioError as error:
            return self.cannot_be(error)
        return lacking or self.beyond_limits(candidate) or self.too_long(candidate) or self.fastest(candidate)

    def fastest(self, candidate: Candidate) -> Candidate | Miss:
        """Return a candidate with the fastest way that surely fits; untimed and tight, where one is likely to.

        Of one that is tight it is the fastest of the leanest ways, looked for behind all that surely fit.
        """
        base, method, ranks = candidate.scenario, str(candidate.scenario["method"]), candidate.devices.number
        found = [{}] if self.question.want == "layout" else list(ways(self.question, method, ranks))
        open_ = [{**base, **way} for way in found]
        if not (every := startable(candidate, open_, self.facts)):
            lacking = stopped(candidate._replace(scenarios=(open_[0],)), self.facts)
            assert lacking is not None  # which is so of all of them
            return lacking
        grows, device = "micro_batch" not in base and not candidate.tight, candidate.devices.accelerator
        every = self.leanest(every) if candidate.tight else every
        waiting = [away for parts in waiting_on(device, self.question) if (away := offloaded(every, parts))]
        held = least(self.architecture(candidate), self.facts.number_format(BASES[method])).held
        room = ranks * candidate.devices.room
        if held > room and not any("parameters" in str(one.get("offload")) for one in waiting[-1]):
            return too_heavy(held, room)
        leanest = self.leanest([scenario for scenarios in waiting for scenario in scenarios])
        if lacking := self.all_lack(leanest, device, LIKELY):
            return lacking
        chance = LIKELY if candidate.tight else SURE
        unsure = self.all_lack(leanest, device, chance)
        misses = [unsure] if unsure else list[Miss]()
        for scenarios in waiting if not unsure else []:
            answer = self.of_ways(candidate, scenarios, chance)
            if isinstance(answer, Candidate):
                best = self.with_ideal(self.larger(answer)) if grows else answer
                return self.too_long(best) or best
            misses.append(answer)
        if not candidate.tight:
            misses = []
            for one in (one for scenarios in reversed(waiting) for one in reversed(scenarios)):
                if isinstance(answer := self.likely(candidate._replace(scenarios=(one,))), Candidate):
                    return candidate._replace(tight=True)
                misses.append(answer)
        return min(misses, key=lambda miss: miss.ratio)

    def leanest(self, scenarios: list[dict[str, object]]) -> list[dict[str, object]]:
        """Return of the ways of each sharding the last, which recomputes most and leaves most in the host's memory.

        A framework that leaves something there by itself does not where a way says what waits: so of either the last.
        """
        return list({(one.get("sharding"), self.waits_unasked and "offload" in one): one for one in scenarios}.values())

    @cached_property
    def waits_unasked(self) -> bool:
        """Whether the question's framework leaves something in the host's memory by itself."""
        return any(preset.field == "offload" for preset in presets_asked(self.question.fields, self.facts))

    def too_long(self, candidate: Candidate) -> Miss | None:
        """Return by how much a run takes longer, or costs more, than it may."""
        days, money = self.question.need.days, self.question.limits.price_per_run
        if self.question.of == "training_tokens" or (days is None and money is None):
            return None
        rate = candidate.ideal or candidate.rate or self.most_per_s(candidate) or inf
        tokens = whole(self.question.fields["training_tokens"], "training_tokens", 1, 10**15)
        takes, rent = tokens / rate / DAY_S, candidate.devices.rent_per_hour
        if days is not None and takes > days:
            least = "" if candidate.rate and not candidate.ideal else "at least "
            return Miss("speed", f"it takes {least}{show_number(takes)} days", takes / days)
        if money is not None and rent is None:
            return Miss("rent", "no rent of it is known", inf)
        costs = takes * 24 * (rent or 0.0)
        if money is not None and costs > money:
            return Miss("rent", f"{show_number(costs, 4)} USD is more than {show_number(money, 4)}", costs / money)
        return None

    def of_ways(self, candidate: Candidate, scenarios: list[dict[str, object]], chance: float) -> Candidate | Miss:
        """Return the candidate with the fastest scenario that fits with a chance, or what they lack.

        Of each sharding the one with the least checkpointing is timed, as recomputing never makes a step faster.
        """
        best: Candidate | None = None
        misses, device = list[Miss](), candidate.devices.accelerator
        fitting: set[object] = set()
        leanest = self.leanest(scenarios) if len(scenarios) > 1 else []
        lacking = {one.get("sharding"): self.all_lack([one], device, chance) for one in leanest}
        misses += [miss for miss in lacking.values() if miss]
        for scenario in scenarios:
            if (shards := scenario.get("sharding")) in fitting or lacking.get(shards):
                continue
            try:
                miss = self.short_of(scenario, device, chance)
                rate = None if miss else self.rate_of(scenario, device)
            except ScenarioError as error:
                miss, rate = self.cannot_be(error), None
            if rate is None:
                misses.append(miss or Miss("speed", "its speed is not known", inf))
                continue
            fitting.add(shards)
            if best is None or is_faster(rate, best.rate):
                best = candidate._replace(scenarios=(scenario,), rate=rate)
        return best or min(misses, key=lambda miss: miss.ratio)

    def larger(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the largest micro-batch that surely fits, where it is faster: none is slower."""
        own = candidate.scenario
        fitting = list(takewhile(lambda size: self.surely_fits(own, size, candidate), MICRO_BATCHES))
        rate = self.rate_at(own, fitting[-1], candidate) if fitting else 0.0
        if not is_faster(rate, candidate.rate):
            return candidate
        return candidate._replace(scenarios=({**own, "micro_batch": fitting[-1]},), rate=rate)

    def with_ideal(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the tokens a second that its other ways do not exceed, where one may be faster."""
        if self.question.want == "layout":
            return candidate
        least: dict[object, dict[str, object]] = {}  # that is recomputed, with which no way is slower
        for one in self.others(candidate):
            least.setdefault(one.get("sharding"), one)
        ideal = max((self.rate_at(one, MOST_BATCH, candidate) for one in least.values()), default=0.0)
        return candidate._replace(ideal=ideal if is_faster(ideal, candidate.rate) else None)

    def refined(self, candidate: Candidate) -> Candidate | Miss:
        """Return a candidate with the fastest of all ways, each with the largest micro-batch that surely fits."""
        best = candidate._replace(ideal=None)
        for one in self.others(candidate):
            if not is_faster(self.rate_at(one, MOST_BATCH, candidate), best.rate):
                continue
            fitting = (size for size in reversed(MICRO_BATCHES) if self.surely_fits(one, size, candidate))
            size = next(fitting, 1)
            if is_faster(rate := self.rate_at(one, size, candidate), best.rate):
                best = best._replace(scenarios=({**one, "micro_batch": size},), rate=rate)
        return self.too_long(best) or best

    def others(self, candidate: Candidate) -> Iterator[dict[str, object]]:
        """Iterate over other ways that may be faster with larger micro-batches, as these never make a step slower.

        Recomputing never makes it faster: what recomputes as much or more, of the same shards, has to have room for a
        larger one. Of other shards it may be faster in one as large, though it was slower in a small one.
        """
        own, method = candidate.scenario, str(candidate.scenario["method"])
        size, parts = own.get("micro_batch", 1), own.get("offload")
        assert isinstance(size, int)  # found here: where the question says it, no other is looked for
        base = {name: own[name] for name in own if name not in GROWN or name in self.question.fields}
        open_ = [{**base, **way} for way in ways(self.question, method, candidate.devices.number)]
        every = startable(candidate, open_, self.facts)
        away = offloaded(every, parts) if isinstance(parts, list) and "offload" not in base else every
        for one in away:
            if all(one.get(name) == own.get(name) for name in ("sharding", "checkpointing")):
                continue
            alike = one.get("sharding") == own.get("sharding")
            least = (2 * size if alike else size) if recomputed(one) >= recomputed(own) else 1
            if least <= MOST_BATCH and self.surely_fits(one, least, candidate):
                yield one


def is_faster(rate: float, other: float | None) -> bool:
    """Return whether a run is faster than another, by more than what rounding makes of the same on some machines."""
    return rate > (other or 0.0) * (1.0 + ALIKE)


def recomputed(scenario: dict[str, object]) -> int:
    """Return the place of a way's checkpointing among those that recompute more and more."""
    chosen = str(scenario.get("checkpointing", CHECKPOINTING[0]))
    return CHECKPOINTING.index(chosen) if chosen in CHECKPOINTING else 0


def best_training(question: Question, facts: Catalog) -> Steps[tuple[TrainingSearch, list[Option], int]]:
    """Look for the best options of each method that is tried, all of them best first, and count those tried."""
    search, tried = TrainingSearch(question, facts), 0
    found: list[Option] = []
    for method in methods(question):
        every = list(training_candidates(question, facts, method))
        tried += len(every)
        for option in (yield from search.looking(every)):
            found.append((yield from fewer(search, option)))
    if question.of == "training_tokens":
        found = [most_tokens(search, option) for option in found]
        return search, sorted(found, key=lambda option: -option.report["scenario"]["training_tokens"])[:1], tried
    return search, sorted(found, key=lambda option: (search.is_last(option), search.value(option))), tried


def fewer(search: TrainingSearch, option: Option) -> Steps[Option]:
    """Look for as few machines as end a run in its days: between the number that was tried and the one before it."""
    question, number = search.question, option.candidate.devices.number
    if question.need.days is None or question.want != "hardware" or number not in CLUSTERS:
        return option
    accelerator, scenario = option.candidate.devices.accelerator, option.candidate.scenario
    one, asked = devices(question, search.facts, accelerator), {name: scenario[name] for name in ("model", "method")}
    few, enough = max(count for count in (*COUNTS, *CLUSTERS) if count < number) // MACHINE, number // MACHINE
    while enough - few > 1:
        middle = (few + enough) // 2
        answer: Candidate | Option | Miss = of_number(question, one, middle * MACHINE, **asked)
        while isinstance(answer, Candidate):
            search.looked += 1
            yield search.looked
            answer = search.further(answer)
        if isinstance(answer, Option) and search.value(answer) <= search.value(option):
            option, enough = answer, middle
        else:
            few = middle
    return option


def most_tokens(search: TrainingSearch, option: Option) -> Option:
    """Return an option with as many tokens as it trains on in the days, and for the money, that there are."""
    candidate, question = option.candidate, search.question
    rate, rent, ends = tokens_a_second(option) or 0.0, candidate.devices.rent_per_hour, []
    if question.need.days is not None:
        ends.append(rate * question.need.days * DAY_S)
    if question.limits.price_per_run is not None:
        if rent is None:
            raise ScenarioError("price_per_hour", "no rent of this device is known: say what an hour of one costs")
        ends.append(rate * question.limits.price_per_run / rent * HOUR_S)
    scenario = {**candidate.scenario, "training_tokens": max(int(min(ends)), 1)}
    report: dict[str, Any] = estimate(scenario, repairs=False, working=False)
    return option._replace(candidate=candidate._replace(scenarios=(scenario,)), report=report)
