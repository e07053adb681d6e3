"""What numbers alone say of a candidate, before there is a report of it: limits, bounds, whether it fits, its speed."""

from collections.abc import Mapping
from functools import cached_property
from math import inf
from typing import Any

from calc.catalog import Catalog
from calc.errors import ScenarioError, WrongValueError
from calc.estimate import estimate, report_on
from calc.found import runs_of
from calc.planner import beside_host
from calc.planner.candidate import Candidate
from calc.planner.host_alone import within_host
from calc.planner.options import Miss, Option, cannot_be, does_not_run, no_engine, short, slow, too_heavy
from calc.planner.question import Question
from calc.planner.ranking import NOTHING_OWN, OF_NUMBERS, OF_SPEED, Ranking
from calc.planner.surer import likely_fits
from calc.planning.certainty import bytes_left, chance_of
from calc.planning.chance import LIKELY, SURE, room_of
from calc.planning.served import Served, serve
from calc.planning.serving_load import typical_load
from calc.planning.serving_speed import typical_speed
from calc.planning.usual_engine import is_served
from calc.question import Question as Scenario
from calc.scenario.fields import USUAL

Fitting = tuple[Scenario, Served]


def typical(read: Scenario, served: Served, *, prompts: bool) -> dict[str, float]:
    """Return the typical speed of sequences that fit, or of requests in a server; none where more has to be found."""
    asked = read.asked
    if read.most or asked.traffic is not None or asked.pools is not None:
        return {}
    if asked.concurrency is not None:
        held = serve(served.serving, read.demand, read.layout, most=False)
        return typical_load(held, asked.concurrency, asked.output_tokens, asked.cached_tokens)
    return typical_speed(served, asked.output_tokens, asked.cached_tokens, prompts=prompts)


class Inspection(Ranking):
    """What is known of candidates without their reports, each a step nearer to what its report will say."""

    def __init__(self, question: Question, facts: Catalog) -> None:
        super().__init__(question, facts)
        self.times = question.rank_by in OF_SPEED or question.need.timed
        self.times_prompts = question.rank_by == "energy" or question.need.ttft_s is not None
        self.fitted = dict[tuple[int, int], Fitting]()  # candidates whose first scenario fits, and is not timed yet
        self.served = dict[tuple[int, int], tuple[dict[str, object], Fitting]]()  # those that were timed, as asked
        self.asked = False  # whether any scenario could be asked
        self.refused: ScenarioError | None = None  # what the first that could not was refused for

    def divided(self, candidate: Candidate) -> Candidate | Miss:
        """Return a candidate with as little of it in the host's memory as has to be, where both memories hold it."""
        room = candidate.devices.whole_room + self.host_bytes
        if (held := self.bounds.least_held(candidate.scenario)) > room:
            return too_heavy(held, room)
        try:
            found = beside_host.divided(candidate.scenario, self.facts)
        except ScenarioError as error:
            return self.cannot_be(error)
        return candidate._replace(scenarios=(found,), undivided=False) if isinstance(found, dict) else found

    @cached_property
    def host_bytes(self) -> int:
        """The host's memory, which is the same for all candidates."""
        return beside_host.memory_of(self.question, self.facts)

    def nearer(self, candidate: Candidate) -> Candidate | Miss:
        """Return what is known of a candidate one step on, the cheaper step first.

        Where numbers of each rank, the cache that a step reads, and that the first scenario surely fits and so leaves
        out the others, may put it behind better ones before it is timed.
        """
        if known := self.fitted.get(candidate.place):
            if step_s := self.step_alone(candidate, known):
                return candidate._replace(own=(candidate.own or NOTHING_OWN)._replace(step_s=step_s))
            timed = self.timed(candidate, self.fitted.pop(candidate.place))
            return timed if isinstance(timed, Miss) else timed._replace(sure=chance_of(known[1]) >= SURE)
        if self.question.rank_by not in OF_NUMBERS:
            return self.trusted(candidate)
        if candidate.own is None:
            if miss := self.beyond_limits(candidate) or self.below_bounds(candidate):
                return miss
            return candidate._replace(own=self.bounds.own(candidate))
        found = self.fitting(candidate)
        if isinstance(found, Miss):
            return found
        if candidate.after() is None and not self.times_prompts:
            return self.timed(candidate, found)
        self.fitted[candidate.place] = found
        # Else, or if it is too slow, other scenarios may be what counts, which are divided otherwise.
        sure = not self.question.need.timed and chance_of(found[1]) >= SURE
        own = candidate.own._replace(stages=found[0].layout.pipeline) if sure else candidate.own
        return candidate._replace(sure=sure, own=own)

    def step_alone(self, candidate: Candidate, known: Fitting) -> float | None:
        """Return the seconds of a token, which are found sooner than those of prompts; None where they change nothing.

        They are known already, other scenarios count beside this one, or no prompts are timed.
        """
        alone, own = candidate.sure or candidate.after() is None, candidate.own or NOTHING_OWN
        if own.step_s or self.question.need.timed or not (self.times_prompts and alone):
            return None
        return typical(*known, prompts=False).get("time_per_output_token_s")

    def trusted(self, candidate: Candidate) -> Candidate | Miss:
        """Return a candidate whose first scenario fits, runs and is fast enough, with its speed where that counts."""
        return self.beyond_limits(candidate) or self.below_bounds(candidate) or self.timed(candidate)

    def timed(self, candidate: Candidate, known: Fitting | None = None) -> Candidate | Miss:
        """Return the same where no limit and no bound stands against it; `known` is that it fits."""
        found = known or self.fitting(candidate)
        if isinstance(found, Miss):
            return found
        try:
            speed = typical(*found, prompts=self.times_prompts) if self.times else {}
        except ScenarioError as error:
            return self.cannot_be(error)
        if miss := self.late(speed) if speed else None:
            return miss
        self.served[candidate.place] = candidate.scenario, found
        left = None if found[0].most else bytes_left(found[1])
        return candidate._replace(speed=speed, spare_bytes=left)

    def chance(self, candidate: Candidate) -> float:
        """Return how likely a candidate's first scenario fits, by what was found when it was timed, if it was."""
        scenario, known = self.served.get(candidate.place, (None, None))
        return chance_of(known[1]) if known and scenario == candidate.scenario else likely_fits(candidate.scenario)

    def report(self, candidate: Candidate) -> dict[str, Any]:
        """Return the report on a candidate's first scenario, by what was read and found when it was timed.

        Raises ScenarioError for a scenario that is wrong.
        """
        scenario, known = self.served.pop(candidate.place, (None, None))
        if known is None or scenario != candidate.scenario:
            return estimate(candidate.scenario, repairs=False, working=False)
        return report_on(known[0], known[1].serving, repairs=False, working=False)

    def judge(self, candidate: Candidate, report: dict[str, Any]) -> Option | Miss:
        """Return the option that a report is of, or what it lacks."""
        if self.question.alone:
            report = within_host(report, candidate.devices.room)
        memory = report["memory"]
        spare, chance = room_of(memory)[0], memory["chance"]
        if chance < LIKELY:
            return short(max(-spare, 0), memory["capacity_bytes"])
        speed = report["speed"] or {}
        if any(most is not None and name not in speed for name, most in self.allowed):
            return Miss("speed", "its speed is not known", inf)
        told = {name: speed[name]["typical"] for name, most in self.allowed if most is not None}
        if miss := self.late(told):
            return miss
        return Option(candidate, report, spare, chance)

    def late(self, speed: Mapping[str, float]) -> Miss | None:
        """Return which time is longer than it may be; None where it is kept or not known."""
        for name, most in self.allowed:
            if most is not None and name in speed and speed[name] > most:
                return Miss("speed", slow(speed[name], most), speed[name] / most)
        return None

    @property
    def allowed(self) -> tuple[tuple[str, float | None], ...]:
        """The longest times that are allowed, by their names in a report."""
        need = self.question.need
        return ("time_per_output_token_s", need.step_s), ("time_to_first_token_s", need.ttft_s)

    def below_bounds(self, candidate: Candidate) -> Miss | None:
        """Return what no layout and no engine gives: room for the weights, or the time to read them."""
        room = candidate.devices.whole_room
        if (held := self.bounds.least_held(candidate.scenario)) > room:
            return too_heavy(held, room)
        bound = self.bounds.quick(candidate, candidate.scenario)
        if bound.least.held > room:
            return too_heavy(bound.least.held, room)
        step = self.question.need.step_s
        if step is not None and bound.step_s > step:
            return Miss("speed", slow(bound.step_s, step), bound.step_s / step)
        return None

    def beyond_context(self, candidate: Candidate) -> Miss | None:
        """Return that a model is made for shorter texts, in whatever format; None where it is not, or is trained."""
        if self.question.trains:
            return None
        longest = self.bounds.longest(candidate.scenario)
        if longest is None or (tokens := self.bounds.tokens(candidate.scenario, longest)) <= longest:
            return None
        return Miss("context", f"it is made for {longest:,} tokens", tokens / longest)

    def fitting(self, candidate: Candidate) -> Fitting | Miss:
        """Return a candidate's first scenario on its fullest device, as `estimate` has it, or what it lacks.

        Of a device on which no engine runs one is read, which says what is wrong with the question, if anything is.
        """
        place = candidate.devices.place
        usual = candidate.scenario.get("engine") == USUAL and not candidate.devices.unlike
        if self.asked and usual and not is_served(facts=self.facts, place=place):
            return no_engine()
        if (least := self.bounds.held(candidate)) > candidate.devices.whole_room:
            return too_heavy(least, candidate.devices.whole_room, "the weights and the caches")
        try:
            found = self.held(self.bounds.question(candidate))
        except ScenarioError as error:
            return self.cannot_be(error)
        self.asked = True
        return found

    def cannot_be(self, error: ScenarioError) -> Miss:
        """Return that a scenario cannot be asked: a field that others may have, or that is wrong with all of them.

        Raises ScenarioError for a value of the question that none may have.
        """
        own = error.field.split(".")[0]
        if isinstance(error, WrongValueError) and (own in self.question.fields or own in self.question.have):
            raise self.of_question(error) from error
        miss = cannot_be(error)
        if miss.reason == "field" and self.refused is None:
            self.refused = error
        return miss

    def check(self) -> None:
        """Raise ScenarioError where no scenario could be asked: it is the question that is wrong."""
        if self.refused is None or self.asked:
            return
        raise self.of_question(self.refused) from self.refused

    def of_question(self, error: ScenarioError) -> ScenarioError:
        """Return what is wrong with a scenario by the question's field."""
        within = "have." if error.field.split(".")[0] in self.question.have else ""
        return ScenarioError(within + error.field, error.message)

    def held(self, read: Scenario) -> Fitting | Miss:
        """Return a scenario on its fullest device, or what it lacks."""
        serving = read.serving()
        if serving is None:
            return no_engine()
        works = runs_of(read)
        if works.runs is False or (self.question.alone and works.because):  # of a processor nobody says more than that
            return does_not_run(serving.engine.id, works)
        case, runtime = serving.fullest(read.demand, read.layout)
        if not serving.fits_host(read.demand):
            known = (read.host.usable_bytes if read.host else None) or 0
            return short(serving.host_bytes(read.demand) - known, known, "of the host's memory")
        if not (read.most or runtime.fits or runtime.capacity is None):
            return short(runtime.device - runtime.capacity, runtime.capacity)
        return read, Served(serving, read.demand, layout=read.layout, case=case, runtime=runtime, most=None)
