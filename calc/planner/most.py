"""The most of one quantity that given devices serve: halved between what serves and what does not."""

from collections.abc import Iterator

from calc.catalog import Catalog, catalog
from calc.catalog.records import Accelerator
from calc.errors import ScenarioError
from calc.memory.budget import OUTPUT_TOKENS
from calc.planner.candidate import Candidate, doubted
from calc.planner.candidates import placed
from calc.planner.formats import ways
from calc.planner.offered import counts, devices, owned
from calc.planner.options import Miss, Option
from calc.planner.question import OF_A_RUN, Question
from calc.planner.search import Search
from calc.planner.steps import Steps
from calc.planner.surer import likely_fits
from calc.planner.training import TrainingSearch
from calc.planner.training_ways import Way, longest_ways, methods, offloaded, stopped, waiting_on
from calc.planning.chance import SURE
from calc.planning.fit import last
from calc.question import read_asked
from calc.scenario.reader import Reader, whole

MOST_SEQUENCES = 2**16
FIELD = {"sequences": "sequences", "users": "concurrency", **{name: name for name in OF_A_RUN}}
TAKEN = {  # fields that are what is asked for
    "context_tokens": ("context_tokens", "prompt_tokens"),
    "sequences": ("sequences", "concurrency"),
    "users": ("sequences", "concurrency"),
    **{name: (name,) for name in OF_A_RUN},
}


class Quantity:
    """What is asked for, of one model on given devices, under one engine and in one format."""

    def __init__(self, *, question: Question, search: Search, candidate: Candidate, most: int) -> None:
        self.question, self.search, self.candidate, self.most = question, search, candidate, most
        self.found: dict[int, Candidate | Option | Miss] = {}

    def serves(self, value: int) -> bool:
        """Return whether so many are served; each number is asked once."""
        if value > self.most:
            return False
        if value not in self.found:
            self.found[value] = self.asked(self.at(value))
        return not isinstance(self.found[value], Miss)

    def asked(self, candidate: Candidate) -> Candidate | Option | Miss:
        """Return what a candidate is known to serve, without its report where that is not needed."""
        if isinstance(self.search, TrainingSearch):
            lacking = stopped(candidate, self.search.facts) or self.search.beyond_limits(candidate)
            return lacking or self.search.likely(candidate)
        found = self.search.beyond_context(candidate) or self.search.trusted(candidate)
        timed = isinstance(found, Miss) or found.speed or not self.search.times
        return found if timed else self.search.reported(candidate)

    def at(self, value: int) -> Candidate:
        """Return the candidate that asks for so many."""
        of, fields = self.question.of, dict(self.candidate.scenario)
        if of == "context_tokens":
            fields |= {"prompt_tokens": value, "output_tokens": output_tokens(self.question)}
        else:
            fields[FIELD[of]] = value
        return self.candidate._replace(scenarios=(fields,))

    def best(self) -> tuple[int, Option] | None:
        """Return the most that is served, None where not even one is; what stands against more is kept."""
        found = last(self.serves, self.most) if self.serves(1) else 0
        if isinstance(beyond := self.found.get(found + 1), Miss):
            self.search.reject(self.at(found + 1), beyond)
        known = self.found.get(found)
        option = self.search.reported(known) if isinstance(known, Candidate) else known
        return (found, self.with_surer(option, found)) if isinstance(option, Option) else None

    def with_surer(self, option: Option, found: int) -> Option:
        """Return an option with the most that surely fits, where it is not so much."""
        if option.is_sure or not self.surely(1):
            return option
        sure = last(lambda value: value <= found and self.surely(value))
        if self.question.of == "context_tokens":
            return option._replace(surer={"context_tokens": sure + output_tokens(self.question)})
        return option._replace(surer={FIELD[self.question.of]: sure})

    def surely(self, value: int) -> bool:
        """Return whether so many surely fit."""
        search, scenario = self.search, self.at(value).scenario
        if isinstance(search, TrainingSearch):
            return search.short_of(scenario, self.candidate.devices.accelerator, SURE) is None
        return likely_fits(scenario) >= SURE


def output_tokens(question: Question) -> int:
    """Return the tokens that are written, of a context that is as long as can be."""
    return whole(question.fields.get("output_tokens", OUTPUT_TOKENS), "output_tokens", 0, 10**9)


def most(question: Question, facts: Catalog) -> Steps[tuple[Search, list[Option], int]]:
    """Look for the option with the most of what is asked for, of training one by each method, and count those tried."""
    check(question)
    training = question.of in OF_A_RUN
    accelerator = owned(question, facts)
    count = counts(question, accelerator)[0]
    own, model = devices(question, facts, accelerator).times(count), question.models[0]
    base = {**question.fields, **placed(question, accelerator, count), "model": model}
    found, tried, order = list[tuple[int, Option]](), 0, 0
    search = TrainingSearch(question, facts) if training else Search(question, facts)
    for rounds in (
        longest_rounds(question, accelerator, count) if training else [[served_ways(question, facts, accelerator)]]
    ):
        best: list[tuple[int, Option]] = []
        for chosen in rounds:
            for way in [] if best else chosen:
                candidate = Candidate(str(model), own, ({**base, **way},), order)
                quantity = Quantity(question=question, search=search, candidate=candidate, most=ceiling(question))
                best += [reached] if (reached := quantity.best()) else []
                tried, order = tried + len(quantity.found), order + 1
                yield tried
        found += sorted(best, key=rank)[:1]
    found.sort(key=rank)
    search.ended = bool(found) and found[0][0] == ceiling(question)
    return search, [option for _, option in found], tried


def rank(reached: tuple[int, Option]) -> tuple[bool, int, bool]:
    """Return what ranks an option with what it reaches: under an engine that is known to run, the most, surely."""
    most, option = reached
    return doubted(option.candidate, catalog()), -most, not option.is_sure


def served_ways(question: Question, facts: Catalog, accelerator: Accelerator) -> list[Way]:
    """Return the engines and number formats in which something is served."""
    return [
        {"engine": engine, "weights": item} for engine, items in ways(question, facts, accelerator) for item in items
    ]


def longest_rounds(question: Question, device: Accelerator, ranks: int) -> Iterator[list[list[Way]]]:
    """Iterate over the methods: the ways that leave most room, first those that leave nothing in the host's memory."""
    for method in methods(question):
        found = [{"method": method, **way} for way in longest_ways(question, method, ranks)]
        yield [offloaded(found, parts) for parts in waiting_on(device, question)]


def ceiling(question: Question) -> int:
    """Return the most that is looked for: of tokens what the model is made for."""
    limit = read_asked(Reader({"model": question.models[0]})).context_limit or 2**20
    if question.of == "context_tokens":
        return max(limit - output_tokens(question), 1)
    return limit if question.of == "sequence_tokens" else MOST_SEQUENCES


def check(question: Question) -> None:
    """Raise ScenarioError for fields that are what is asked for, and for a question that has no end."""
    for name in TAKEN[question.of]:
        if name in question.fields:
            field = "need.users" if question.need.users is not None and name == "sequences" else name
            raise ScenarioError(field, f"does not apply: {question.of} is what is asked for")
    need = question.need
    if question.of == "users" and not read_asked(Reader({"model": question.models[0]})).demand.architecture.writes:
        raise ScenarioError("of", "must not be users of a model that writes no text: its requests are not followed")
    if question.of == "users" and need.ttft_s is None:
        raise ScenarioError("need.ttft_s", "is needed: any number of users is served if they wait long enough")
