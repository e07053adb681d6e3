"""Replicas that share what is asked: how many of them a candidate has, and what each of them is given."""

from math import ceil, inf

from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.planner.candidate import Candidate
from calc.planner.encoders import Readers
from calc.planner.fleet import ALIKE, Fleet, Spread, at_best, fewest, fleets_of
from calc.planner.inspection import Inspection, typical
from calc.planner.need import Share
from calc.planner.options import Miss, tight
from calc.planner.question import Question
from calc.planning.chance import SURE
from calc.planning.serving_load import server_of
from calc.units import show_number

OF_FLEETS = ("cost", "devices")  # what ranks by the devices of all replicas


class Sharing(Inspection):
    """What is known of candidates whose replicas share requests or people."""

    def __init__(self, question: Question, facts: Catalog) -> None:
        super().__init__(question, facts)
        self.fleets = dict[tuple[int, int], Fleet | Readers]()  # of candidates that share requests
        self.spreads = dict[tuple[int, int], Spread]()  # of candidates that share people

    def bounded_share(self, candidate: Candidate) -> Candidate:
        """Return a candidate with as many replicas as none of its scenarios does without."""
        bounds = [self.bounds.of(candidate, scenario) for scenario in candidate.scenarios]
        return candidate._replace(share=Share(min(fewest(candidate, bound, self.question.need) for bound in bounds)))

    def no_faster(self, rest: Candidate, known: Candidate) -> Candidate:
        """Return the rest of a candidate with as many replicas as it needs if it gains what is to be gained at best.

        What an engine takes beside reading and arithmetic it takes in fewer bits too, so that requests are answered
        faster by less than the ratio of the least times, as Amdahl (1967) has it: that of as many as a replica keeps.
        """
        need, share = self.question.need, known.share
        if need.peak_rate is None or share is None or not share.capacity_per_s:
            return rest
        first = at_best(known, self.bounds.of(known, known.scenario), need, share.most or inf)
        gained = min(at_best(rest, self.bounds.of(rest, one), need) for one in rest.scenarios) / first if first else 0.0
        least = ceil(need.peak_rate / share.capacity_per_s * min(gained, 1.0) * (1 - ALIKE))
        return rest._replace(share=Share(max(rest.replicas, least)))

    def sized(self, candidate: Candidate) -> Candidate | Miss:
        """Return a candidate with as many replicas as share what is asked, and what each of them is given."""
        if miss := self.beyond_limits(candidate) or self.below_bounds(candidate):
            return miss
        people = self.question.need.mean_rate is None
        try:
            sized = self.shared_by_people(candidate) if people else self.shared_by_rate(candidate)
        except ScenarioError as error:
            return self.cannot_be(error)
        return sized if isinstance(sized, Miss) else self.within(sized)

    def within(self, sized: Candidate) -> Candidate | Miss:
        """Return a candidate whose replicas are no more than there may be."""
        whole, most = sized.replicas + self.question.need.spare, sized.most_replicas
        if whole > most:
            each = sized.share.capacity_per_s if sized.share else None
            kept = f": each keeps the times of {show_number(each)} requests a second" if each else ""
            return Miss("load", f"{whole:,} replicas are needed, and there may be {most:,}{kept}", whole / most)
        if miss := self.beyond_limits(sized):
            return miss
        if (share := sized.share) is None or not share.requests:
            return sized
        sized = sized._replace(sure=self.chance(sized) >= SURE) if sized.after() else sized
        energy = self.question.rank_by == "energy" and self.question.need.mean_rate is not None
        return self.paced(sized) if energy or (self.paces and share.confirmed) else sized

    @property
    def paces(self) -> bool:
        """Whether the speed of each answer ranks replicas that share requests: none is faster than with one in it.

        A run of requests may add replicas, which have fewer requests each, and still one at least.
        """
        return self.question.rank_by in ("speed", "latency") and self.question.need.mean_rate is not None

    def alone(self, candidate: Candidate) -> Candidate | Miss:
        """Return a candidate with the speed of one request, which is found sooner than how many share what comes."""
        if miss := self.beyond_limits(candidate) or self.below_bounds(candidate):
            return miss
        found = self.fitting(candidate)
        if isinstance(found, Miss):
            return found
        self.fitted[candidate.place] = found
        return candidate._replace(speed=typical(*found, prompts=True))

    def paced(self, sized: Candidate) -> Candidate:
        """Return a candidate with the speed of what each replica is given."""
        found = self.fitting(sized)
        return sized if isinstance(found, Miss) else sized._replace(speed=typical(*found, prompts=True))

    def shared_by_rate(self, candidate: Candidate) -> Candidate | Miss:
        """Return a candidate with what each replica is given of the requests that come."""
        known = self.fleets.get(candidate.place)
        fleet = known or self.fleet_of(candidate)
        if isinstance(fleet, Miss):
            return fleet
        if known is None:
            least = fleet.at_least()
            if isinstance(least, Miss):
                return least
            self.fleets[candidate.place] = fleet
            if candidate.replicas < least <= candidate.most_replicas:
                return candidate._replace(share=Share(least))  # others may be better than it is at best
        share = fleet.fewest()
        return share if isinstance(share, Miss) else candidate.given(share)

    def fleet_of(self, candidate: Candidate) -> Fleet | Readers | Miss:
        """Return the replicas of a candidate's first scenario, of which it is open how many there are."""
        kept, name = fleets_of(self.question.need), str(candidate.scenario)
        if name in kept:
            self.asked = True
            return kept[name]
        found = self.fitted.pop(candidate.place, None) or self.fitting(candidate)
        if isinstance(found, Miss):
            return found
        asked, served = found[0].asked, found[1]
        if not served.demand.architecture.writes:
            return Readers(served, self.question.need)
        server = server_of(served, asked.output_tokens, asked.cached_tokens)
        if server is None:
            return Miss("speed", "its speed is not known", inf)
        return kept.setdefault(name, Fleet(candidate.scenario, served, server, self.question.need))

    def confirmed(self, candidate: Candidate, share: Share) -> Candidate | Miss:
        """Return a candidate whose replicas keep the times in a run of requests at random, or one with more of them."""
        fleet = self.fleets[candidate.place]
        found = fleet.confirmed(share) if isinstance(fleet, Fleet) else share
        return found if isinstance(found, Miss) else self.within(candidate.given(found))

    def shared_by_people(self, candidate: Candidate) -> Candidate | Miss:
        """Return a candidate with what each replica is given of people who wait together, or with a better bound."""
        people = self.question.need.waiting or 1
        spread = self.spreads.setdefault(candidate.place, Spread(candidate, people))
        tried = spread.next(candidate.replicas)
        given = candidate.given(Share(tried, ceil(people / tried)))
        found = self.timed(given)
        if spread.surely and isinstance(found, Candidate) and (chance := self.chance(given)) < SURE:
            found = tight(chance)
        if isinstance(found, Miss) and (found.reason == "runs" or candidate.most_replicas == 1 or tried == people):
            return found
        return spread.after(tried, found)

    def may_be_fewer(self, candidate: Candidate) -> bool:
        """Return whether another scenario may be better as fewer replicas of it do."""
        return candidate.replicas > 1 and self.question.rank_by in OF_FLEETS
