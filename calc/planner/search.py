"""The search: what can at best be reached is tried first, so that nothing better is left when enough was found.

Whatever is shown went through `estimate` itself. What is not shown was tried too, or could not have come before.
"""

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count as counting
from itertools import islice
from math import inf

from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.planner.candidate import Candidate, named_engine
from calc.planner.candidates import Place
from calc.planner.options import Miss, Option, Rejected, tight
from calc.planner.question import Question
from calc.planner.sharing import Sharing
from calc.planner.steps import Steps, finished
from calc.planner.surer import change_for, surer_context

Line = list[tuple[bool, tuple[bool, float], int, int, Candidate, Option | None]]


class Search(Sharing):
    """A question, asked of one candidate after the other."""

    def __init__(self, question: Question, facts: Catalog) -> None:
        super().__init__(question, facts)
        self.rejected = dict[str, Rejected]()
        self.estimated = self.looked = 0
        self.may_fit: Option | None = None  # the best that is tight, of those that were looked at
        self.ended = False  # where a limit is asked for: at the end of what is looked for, before anything was too much
        self.hopeful = set[tuple[int, int]]()  # candidates in line by the fewest bytes that their models are read in
        self.turn = counting()  # of two that are ranked alike, the one that was put in line first

    def best(self, tried: Iterable[Candidate]) -> list[Option]:
        """Return the best options, each of a group of its own, best first; last those that may not run, or not fit."""
        return finished(self.looking(tried))

    def looking(self, tried: Iterable[Candidate]) -> Steps[list[Option]]:
        """Look for the best options, one candidate a step."""
        line, found = self.in_line(tried), dict[str, Option]()
        while line and len(found) < self.question.shown:
            open_, best, order, _, candidate, option = heappop(line)
            if candidate.group in found:
                continue
            if option is not None:
                found[candidate.group] = option
                continue
            if (least := self.nearer_bound(candidate)) is not None and least > best:
                heappush(line, (open_, least, order, next(self.turn), candidate, None))
                continue
            self.looked += 1
            yield self.looked
            answer = self.further(candidate)
            if isinstance(answer, Option):
                self.keep_tight(answer)
                heappush(
                    line, (self.is_last(answer), self.value(answer), order, next(self.turn), answer.candidate, answer)
                )
                for other in self.instead(answer):
                    heappush(line, (open_, self.at_best(other), order, next(self.turn), other, None))
            elif isinstance(answer, Candidate):
                self.remember(answer)
                heappush(line, (open_ or answer.tight, self.standing(answer), order, next(self.turn), answer, None))
            else:
                self.reject(candidate, answer)
                if (rest := candidate.after()) and (answer.reason == "memory" or not rest.undivided):
                    heappush(line, (open_, self.at_best(rest), order, next(self.turn), rest, None))
        self.leave_tight(option for *_, option in line if option and option.candidate.group not in found)
        if any(self.price(option.candidate) is not None for option in found.values()):
            self.leave_unpriced(candidate for *_, candidate, option in line if option is None)
        return sorted(found.values(), key=lambda option: (self.is_last(option), self.value(option)))

    def keep_tight(self, option: Option) -> None:
        """Keep an option that is tight, and in no other doubt, if it is the best of such ones."""
        if option.is_sure or self.doubted(option.candidate):
            return
        if self.may_fit is None or self.value(option) < self.value(self.may_fit):
            self.may_fit = option

    def nearer_bound(self, candidate: Candidate) -> tuple[bool, float] | None:
        """Return what ranks a candidate at best where its bound may be nearer than the one that put it in line."""
        if candidate.place in self.hopeful:
            self.hopeful.remove(candidate.place)
            return self.at_best(candidate)
        return self.no_better(candidate)

    def instead(self, option: Option) -> Iterator[Candidate]:
        """Iterate over what may surely fit where an option is tight: another scenario, and people on more replicas.

        Where devices rank, or what they cost, fewer replicas in fewer bits come before more of them in more bits, as
        fewer devices of one server do.
        """
        if option.is_sure and not self.may_be_fewer(option.candidate):
            return
        if rest := option.candidate.after():
            yield rest
        if not option.is_sure and (spread := self.spreads.get(option.candidate.place)):
            yield from spread.surer()

    def in_line(self, tried: Iterable[Candidate]) -> Line:
        """Return candidates in the order of what they can at best be, as a heap."""
        line: Line = []
        lengths = dict[str, Miss | None]()  # the same of a model on whatever devices
        for candidate in tried:
            if (model := str(candidate.scenario["model"])) not in lengths:
                lengths[model] = self.beyond_context(candidate)
            if too_long := lengths[model]:
                self.reject(candidate, too_long, len(candidate.scenarios))
            else:
                open_, best = self.doubted(candidate), self.hoped(candidate)
                self.hopeful.add(candidate.place)
                line.append((open_, best, candidate.order, next(self.turn), candidate, None))
        heapify(line)
        return line

    def within_limits(self, places: Iterable[Place]) -> Iterator[Candidate]:
        """Iterate over what is tried on devices that keep the limits, and count the rest, all of a place at once."""
        for place in places:
            tried = place.candidates()
            if miss := self.beyond(place.devices.times(1 + self.question.need.spare)):
                for first in islice(tried, 1):
                    self.reject(first, miss, place.number)
            else:
                yield from tried

    def leave_tight(self, options: Iterable[Option]) -> None:
        """Count options that are left out as they may not fit, and say what makes the surest of them sure."""
        left = [option for option in options if not option.is_sure]
        left.sort(key=lambda option: (-option.chance, option.candidate.order))
        for place, option in enumerate(left):
            change = "" if place else change_for(surer_context(option), trains=self.question.trains)
            self.reject(option.candidate, tight(option.chance, change))

    def leave_unpriced(self, candidates: Iterable[Candidate]) -> None:
        """Count candidates that are left out where cost ranks, as nobody says what they cost."""
        reason = "price" if self.question.limits.buys else "rent"
        for candidate in sorted(candidates, key=lambda one: one.place) if self.question.rank_by == "cost" else ():
            if self.price(candidate) is None:
                self.reject(candidate, Miss(reason, f"no {reason} of it is known", inf), len(candidate.scenarios))

    def is_last(self, option: Option) -> bool:
        """Return whether an option comes after others: it may not fit, or nobody says that its named engine runs."""
        open_ = option.report.get("runs", True) is None and bool(named_engine(option.candidate, self.facts))
        return open_ or not option.is_sure

    def further(self, candidate: Candidate) -> Candidate | Option | Miss:
        """Return what is known of a candidate one step on: how it shares what is asked, how fast it is, its report."""
        if candidate.undivided:
            return self.divided(candidate)
        if not self.question.need.shared:
            return self.nearer(candidate) if candidate.speed is None else self.reported(candidate)
        if candidate.share is None and candidate.most_replicas > 1:
            return self.below_bounds(candidate) or self.bounded_share(candidate)
        share = candidate.share
        if share is None or not share.requests:
            return self.alone(candidate) if self.paces and candidate.speed is None else self.sized(candidate)
        return self.confirmed(candidate, share) if share.most and not share.confirmed else self.reported(candidate)

    def standing(self, candidate: Candidate) -> tuple[bool, float]:
        """Return what ranks a candidate at best: by its first scenario, and the next, if that may be taken."""
        own, rest = self.at_best(candidate), candidate.after()
        if rest is None or (candidate.sure and not self.may_be_fewer(candidate)):
            return own
        if candidate.speed is None and candidate.share is None:
            return own
        if self.question.need.shared and candidate.most_replicas > 1:
            rest = self.no_faster(self.bounded_share(rest), candidate)
        return min(own, self.at_best(rest))

    def reported(self, candidate: Candidate) -> Option | Miss:
        """Return the option that a candidate's first scenario is by its report, or what that lacks."""
        try:
            self.estimated += 1
            report = self.report(candidate)
        except ScenarioError as error:
            return self.cannot_be(error)
        return self.judge(candidate, report)

    def reject(self, candidate: Candidate, miss: Miss, count: int = 1) -> None:
        """Count scenarios that do not serve, the first one unless more are meant, and keep the nearest of a reason."""
        if (entry := self.rejected.get(miss.reason)) is None:
            entry = self.rejected[miss.reason] = Rejected()
        entry.count += count
        known = entry.nearest.get(candidate.group)
        if known is None or miss.ratio < known[0]:
            entry.nearest[candidate.group] = miss.ratio, candidate.scenario, miss

    def rejections(self, options: Iterable[Option]) -> dict[str, object]:
        """Return by reason how many do not serve, and the nearest: one of a group that has no option, if there is."""
        offered = {option.candidate.group for option in options}
        return {reason: entry.as_dict(offered) for reason, entry in self.rejected.items()}
