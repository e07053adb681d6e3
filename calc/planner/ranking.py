"""What ranks ways to answer a question: at best before they were looked at, and as their speed or report has it."""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from math import inf

from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_total
from calc.catalog import Catalog
from calc.performance.starts import Begun
from calc.planner.beginnings import UNKNOWN
from calc.planner.bound import Bound, Bounds, alike
from calc.planner.candidate import Candidate, Own, doubted, named_engine
from calc.planner.devices import Devices
from calc.planner.options import Miss, Option, rate_of, time_of, writes
from calc.planner.question import Question
from calc.planning.fit import MOST_SEQUENCES
from calc.planning.support import known_runs
from calc.scenario.model import known_architecture
from calc.units import show_number

OF_SPEED = ("speed", "latency", "energy")  # what ranks by how fast an option is
NOTHING_OWN = Own()
OF_NUMBERS = (*OF_SPEED, "margin")  # what ranks by numbers that each scenario has of its own


@lru_cache(maxsize=1024)  # each question asks for those of every model
def parameters(architecture: Architecture) -> int:
    """Return the number of parameters of a model."""
    return parameters_total(architecture)


class Ranking:
    """By what the ways to answer a question are ranked, and the limits that their devices keep."""

    def __init__(self, question: Question, facts: Catalog) -> None:
        self.question, self.facts, self.bounds = question, facts, Bounds(facts)
        self.energies = dict[tuple[str, str], tuple[int, float]]()  # of scenarios, by how many devices of a kind

    def at_best(self, candidate: Candidate) -> tuple[bool, float]:
        """Return what ranks a candidate, no worse than that of any of its scenarios; less is better."""
        rank = self.question.rank_by
        if candidate.speed is not None and rank in OF_SPEED:
            return self.ranked(candidate, candidate.speed)
        if candidate.spare_bytes is not None and rank == "margin":
            return False, -candidate.spare_bytes
        if rank == "devices":
            return False, self.fleet(candidate).number
        if rank == "cost":
            price = self.price(candidate)
            return price is None, self.fleet(candidate).number if price is None else price
        model = candidate.scenario["model"]
        if rank == "size" and isinstance(model, str) and model in self.facts.entries("models"):
            return False, -parameters(known_architecture(self.facts, model))
        look = self.bounds.of if rank == "size" else self.bounds.quick
        left = candidate.scenarios[:1] if candidate.sure else candidate.scenarios
        if rank in OF_SPEED:
            return self.begun(rank, candidate, left)
        return min(self.bounded(rank, candidate, look(candidate, scenario)) for scenario in left)

    def hoped(self, candidate: Candidate) -> tuple[bool, float]:
        """Return what ranks a candidate no worse than at best, by the fewest bytes that its model is read in alone.

        They are worked out once for all devices; which engine runs there, and so how many devices are read one after
        the other, is asked where that may count.
        """
        rank = self.question.rank_by
        bound = self.bounds.of_formats(candidate) if rank in OF_SPEED else None
        return self.at_best(candidate) if bound is None else self.bounded(rank, candidate, bound)

    def begun(self, rank: str, candidate: Candidate, scenarios: tuple[dict[str, object], ...]) -> tuple[bool, float]:
        """Return what ranks the best of scenarios if kernels begin, which is worked out of those that may be it."""
        quick = [self.bounds.quick(candidate, scenario) for scenario in scenarios]
        values = [self.bounded(rank, candidate, bound) for bound in quick]
        best = True, inf
        for place in sorted(range(len(values)), key=values.__getitem__):
            if values[place] >= best:
                break
            begun = self.bounds.begun(candidate, scenarios[place])
            best = min(best, self.bounded(rank, candidate, quick[place], begun))
        return best

    def doubted(self, candidate: Candidate) -> bool:
        """Return whether nobody says that a named engine runs on the device, or any of the scenarios there.

        By the names of formats and families alone: what else is asked may only be against it.
        """
        engine = named_engine(candidate, self.facts)
        if not engine or doubted(candidate, self.facts):
            return bool(engine)
        known = [self.bounds.named(scenario) for scenario in candidate.scenarios]
        if "engine_version" in candidate.scenario or not all(known):
            return False
        told = (
            known_runs(
                facts=self.facts,
                engine=engine,
                place=candidate.devices.place,
                formats=one.formats,
                families=one.families,
            )
            for one in known
            if one
        )
        return all(works.runs is None for works in told)

    def bounded(self, rank: str, candidate: Candidate, bound: Bound, begun: Begun = UNKNOWN) -> tuple[bool, float]:
        """Return what ranks a scenario if it needs no more than its bound, and so long to begin.

        Tensor ranks send messages; stages of one device each have none of these, and are read one after the other.
        """
        devices, own = candidate.devices, candidate.own or NOTHING_OWN
        stages = max(own.stages, bound.stages) / bound.stages
        apart_s, stage_s = devices.number / bound.stages * bound.step_s, stages * bound.step_s
        reading_s = min(apart_s, stage_s + begun.messages_s) if begun.messages_s else stage_s
        step_s = own.step_s or reading_s + own.cache_s + begun.starts_s
        if bound.given is None:
            return False, -inf
        if rank == "size":
            return False, -parameters(bound.asked.demand.architecture) if bound.asked else -inf
        if rank == "margin":
            return False, (bound.least.held - devices.whole_room) / devices.number
        if rank == "latency":
            return False, step_s
        together = self.most_together or bound.sequences
        if rank == "speed":
            return False, -together / step_s if step_s else -inf
        if not devices.power_w or devices.unlike:
            return True, 0.0  # as when it is timed
        return False, devices.power_w * (step_s * own.steps + own.prompt_s) / together

    def remember(self, candidate: Candidate) -> None:
        """Remember what the first scenario of a candidate takes at least on the fewest of its devices, once timed."""
        is_timed = candidate.speed or (candidate.own and candidate.own.step_s)
        if self.question.rank_by == "energy" and is_timed and not self.question.need.shared:
            kind, number = self.kind(candidate), candidate.devices.number
            unknown, value = self.at_best(candidate)
            if not unknown and number <= self.energies.get(kind, (number,))[0]:
                self.energies[kind] = number, value

    def no_better(self, candidate: Candidate) -> tuple[bool, float] | None:
        """Return what ranks a candidate at best by what fewer of its devices were found to take; None if not known.

        Twice the devices are at most twice as fast: what each reads is halved at best, and what starts, or waits for
        messages, is not. So a token takes no less energy of more devices.
        """
        if not self.energies or (len(candidate.scenarios) > 1 and not candidate.sure):
            return None
        number, value = self.energies.get(self.kind(candidate), (candidate.devices.number, 0.0))
        return (False, value) if candidate.speed is None and number < candidate.devices.number else None

    def kind(self, candidate: Candidate) -> tuple[str, str]:
        """Return the kind of devices and what is asked of them, however many they are."""
        return candidate.devices.accelerator.id, alike(candidate.scenario)

    @cached_property
    def most_together(self) -> float | None:
        """The sequences of all replicas together, at most; None where a scenario says it."""
        need = self.question.need
        if need.mean_rate is not None:
            return 1.0 if self.question.rank_by == "speed" else MOST_SEQUENCES
        return need.waiting

    def value(self, option: Option) -> tuple[bool, float]:
        """Return what ranks an option; less is better, and what is not known comes last."""
        rank = self.question.rank_by
        if rank in ("cost", "devices"):
            return self.at_best(option.candidate)
        if rank == "size":
            return False, -option.report["model"]["parameters_total"]
        if rank == "margin":
            return False, -option.spare_bytes
        return self.ranked(option.candidate, option.typical)

    def ranked(self, candidate: Candidate, speed: Mapping[str, float]) -> tuple[bool, float]:
        """Return what ranks a candidate of so much speed; less is better, and what is not known comes last."""
        rank, rate = self.question.rank_by, speed.get("output_tokens_per_s")
        texts, read_s = candidate.scenario.get("sequences", 1), speed.get("time_to_first_token_s")
        if read_s and isinstance(texts, int) and not writes(speed):
            rate = texts / read_s
        if rank == "energy":
            watts = candidate.devices.power_w
            return (True, 0.0) if rate is None or not watts or candidate.devices.unlike else (False, watts / rate)
        time, fast = time_of(speed), rate_of(self.question.need, candidate, speed)
        if time is None or fast is None:
            return True, 0.0
        return False, time if rank == "latency" else -fast

    def price(self, candidate: Candidate) -> float | None:
        """Return what devices cost: their price where the reader buys, else their rent of a month."""
        fleet = self.fleet(candidate)
        if self.question.limits.buys:
            return fleet.purchase
        return fleet.rent_per_month(self.question.need.hours_a_month)

    def fleet(self, candidate: Candidate) -> Devices:
        """Return the devices of all replicas, spare ones included."""
        return candidate.devices.times(candidate.replicas + self.question.need.spare)

    def beyond_limits(self, candidate: Candidate) -> Miss | None:
        """Return which limit the devices of all replicas are beyond."""
        miss, servers = self.beyond(self.fleet(candidate)), candidate.replicas + self.question.need.spare
        if miss is None or servers == 1:
            return miss
        return miss._replace(lacks=f"{servers:,} of these servers are needed, and {miss.lacks}")

    def beyond(self, devices: Devices) -> Miss | None:
        """Return which limit devices are beyond."""
        limits = self.question.limits
        rent = devices.rent_per_month(self.question.need.hours_a_month)
        for reason, unit, most, value, asked in (
            ("price", "USD", limits.price, devices.purchase, limits.buy),
            ("rent", "USD a month", limits.price_per_month, rent, limits.rent),
            ("power", "W", limits.power_w, devices.power_w, False),
        ):
            if (most is not None or asked) and value is None:
                return Miss(reason, f"no {reason} of it is known", inf)
            if most is not None and value is not None and value > most:
                lacks = f"{show_number(value, 4)} {unit} is more than {show_number(most, 4)}"
                return Miss(reason, lacks, value / most)
        return None
