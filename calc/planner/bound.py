"""What a candidate needs at least, cheap enough for a whole catalogue: nothing better is cut by it."""

from collections.abc import Mapping
from math import inf
from operator import attrgetter
from typing import NamedTuple

from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.performance.starts import Begun
from calc.planner.beginnings import UNKNOWN, Beginnings, Divided, widest
from calc.planner.candidate import Candidate, Own
from calc.planning.bounds import Least, least, least_cache
from calc.planning.support import families_of, format_names
from calc.planning.usual_engine import first_engine
from calc.question import Asked, Question, read_asked, read_placement, read_question
from calc.scenario.fields import OF_HOST, USUAL
from calc.scenario.formats import chosen_weights, with_experts
from calc.scenario.model import read_model
from calc.scenario.reader import Reader, read_tokens

NOTHING = Least(0, 0)
# Fields with which a scenario has to be read: what drafts, what comes, and what its engine may depend on.
READ = frozenset(("speculation", "arrivals", "concurrency", "kv_cache", "kv_cache_v"))
PLACED = frozenset(OF_HOST)
LENGTHS = ("context_tokens", "prompt_tokens", "output_tokens", "cached_tokens")
NAMED = frozenset((*LENGTHS, "model", "weights", "engine", "accelerator", "accelerators", "sequences"))
READING = attrgetter("read")
# Fields that do not change what is asked of devices of a kind for each sequence.
WHERE = ("accelerator", "accelerators", "sequences")


class Named(NamedTuple):
    """What the names of a model and of a number format say."""

    least: Least
    formats: tuple[str, ...]  # as facts on engines name them
    families: tuple[str, ...]


class Bound(NamedTuple):
    """What a scenario needs at least."""

    asked: Asked | None  # None where it cannot be read
    least: Least
    step_s: float  # of a token of each sequence
    written: int = 1  # tokens of a sequence that a step writes at most: one, and those that are drafted
    given: int | None = None  # sequences at a time that the scenario says; None where it cannot be read
    stages: int = 1  # of devices that a token passes one after the other, as far as they are counted in step_s
    read: tuple[Reader, Asked] | None = None  # what is asked of any devices of the kind, as it was read

    @property
    def sequences(self) -> float:
        """The sequences at a time, at most."""
        if self.given is None:
            return inf
        return (self.asked.concurrency if self.asked else None) or self.given

    @property
    def cache(self) -> tuple[int, int]:
        """The bytes of a sequence's own cache, and those of them that a step reads; what all share is left out."""
        return (0, 0) if self.asked is None else least_cache(self.asked.demand)

    @property
    def prompt(self) -> int:
        """The tokens of a prompt that pass through the layers: what no cache has."""
        if self.asked is None:
            return 0
        prompt = self.asked.demand.prompt_tokens
        return prompt - self.asked.demand.prefix.found(prompt)

    @property
    def multiplied_tokens(self) -> int:
        """The tokens of a request that pass through the layers: of its prompt what no cache has, and its answer."""
        return 0 if self.asked is None else self.prompt + max(self.asked.output_tokens - 1, 1)


def alike(scenario: Mapping[str, object]) -> str:
    """Return what is the same of scenarios that differ in their devices and sequences alone."""
    return str([item for item in scenario.items() if item[0] not in WHERE])


class Bounds:
    """The bounds of scenarios, of which all numbers of all devices that engines know alike are read once."""

    def __init__(self, facts: Catalog) -> None:
        self.facts = facts
        self.read = dict[tuple[object, ...], Bound]()
        self.known = facts.once("least of models", dict[tuple[str, str], Named | None])  # by names of model and format
        self.splitting = {engine.id for engine in facts.engines() if engine.splits_layers}
        self.beginning_alike = {engine.id for engine in facts.engines() if "vector_start_s" in engine.values}
        self.lengths = dict[str, int]()
        self.fewest = dict[tuple[str, ...], Least | None]()  # of models in the format that is read fastest
        self.beginnings = Beginnings()
        self.divided = dict[tuple[object, ...], Divided | None]()  # models on so many devices that engines know alike
        # Of a model on devices, whatever its lengths are.
        self.started = facts.once("starts of steps", dict[tuple[object, ...], Begun])

    def tokens(self, scenario: Mapping[str, object], longest: int | None) -> int:
        """Return the tokens of a sequence of a model made for `longest`, read once for all scenarios alike."""
        said = {name: scenario[name] for name in LENGTHS if name in scenario}
        key = f"{longest} {said}"
        if key not in self.lengths:
            reader = Reader(said)
            self.lengths[key] = sum(read_tokens(reader, longest)) + reader.count("cached_tokens", least=0)
        return self.lengths[key]

    def longest(self, scenario: Mapping[str, object]) -> int | None:
        """Return the tokens that a model is made for; None where nobody says."""
        model = scenario["model"]
        if isinstance(model, str) and model in self.facts.entries("models"):
            return self.facts.model(model).context_tokens
        return longest_of(model, self.facts)

    def of(self, candidate: Candidate, scenario: Mapping[str, object]) -> Bound:
        """Return what a scenario needs at least: the weights, and the time to read them and for what a step begins."""
        place = candidate.devices.place
        key = (place, bool(candidate.devices.unlike), alike(scenario))
        if key not in self.read:
            self.read[key] = needed(scenario)
        bound = self.read[key]
        if bound.asked is None:
            return bound
        engine, sequences = bound.asked.engine, scenario.get("sequences", 1)
        stages = self.stages(candidate, scenario, engine.id if engine else "")
        step_s = stages * bound.least.read * candidate.devices.seconds_each_byte / bound.written
        return bound._replace(step_s=step_s, stages=stages, given=sequences if isinstance(sequences, int) else 10**7)

    def held(self, candidate: Candidate) -> int:
        """Return the least bytes of the weights and of all caches; 0 where requests wait, or the host keeps a part."""
        bound, most = self.of(candidate, candidate.scenario), candidate.scenario.get("sequences") == "max"
        if most or bound.given is None or bound.asked is None or bound.asked.concurrency or not bound.least.held:
            return 0
        return bound.least.held + bound.given * bound.cache[0]

    def stages(self, candidate: Candidate, scenario: Mapping[str, object], engine: str) -> int:
        """Return how many devices each token passes one after the other, under engines that give each whole layers."""
        whole = engine in self.splitting and "parallelism" not in scenario and not candidate.devices.unlike
        return candidate.devices.number if whole else 1

    def question(self, candidate: Candidate) -> Question:
        """Return a candidate's first scenario, of which all that devices of a kind are asked is read once.

        Raises ScenarioError for a scenario that is wrong.
        """
        known = None if candidate.devices.unlike else self.of(candidate, candidate.scenario).read
        if known is None:
            return read_question(candidate.scenario)
        reader, asked = known
        return read_placement(reader.on(candidate.scenario), asked)

    def quick(self, candidate: Candidate, scenario: Mapping[str, object]) -> Bound:
        """Return the same, by the names of model and format alone where these say it."""
        known, sequences = self.named(scenario), scenario.get("sequences", 1)
        has_to_be_read = shared_with_host(scenario) or not READ.isdisjoint(scenario)
        if known is None or type(sequences) is not int or has_to_be_read:
            return self.of(candidate, scenario)
        several = candidate.devices.number > 1
        stages = self.stages(candidate, scenario, self.engine(candidate, scenario, known)) if several else 1
        step_s = stages * known.least.read * candidate.devices.seconds_each_byte
        return Bound(None, known.least, step_s, given=sequences, stages=stages)

    def of_formats(self, candidate: Candidate) -> Bound | None:
        """Return what the scenario of a candidate needs at least that reads the fewest bytes; None if names say it not.

        No engine is looked for: each token passes one stage.
        """
        first = candidate.scenario
        sequences, names = first.get("sequences", 1), tuple(one.get("weights") for one in candidate.scenarios)
        if type(sequences) is not int or shared_with_host(first) or not READ.isdisjoint(first):
            return None
        key = str(first["model"]), *map(str, names)
        if key not in self.fewest:
            known = [self.named(one) for one in candidate.scenarios]
            self.fewest[key] = min((one.least for one in known if one), key=READING) if all(known) else None
        least = self.fewest[key]
        if least is None:
            return None
        return Bound(None, least, least.read * candidate.devices.seconds_each_byte, given=sequences)

    def begun(self, candidate: Candidate, scenario: Mapping[str, object]) -> Begun:
        """Return how long a step takes to begin, worked out once for all lengths; nothing where that is not known."""
        devices, known = candidate.devices, self.named(scenario)
        if known is None or devices.unlike or not NAMED.issuperset(scenario):
            return UNKNOWN
        engine = self.engine(candidate, scenario, known)
        own = "" if engine in self.beginning_alike else str(scenario["weights"])
        key = devices.accelerator.id, devices.number, scenario["model"], engine, own
        if key not in self.started:
            self.started[key] = self.least_begun(candidate, scenario, own)
        return self.started[key]

    def least_begun(self, candidate: Candidate, scenario: Mapping[str, object], own: str) -> Begun:
        """Return the same, worked out on as many tensor ranks as there may be, over which products are least deep."""
        devices, model = candidate.devices, str(scenario["model"])
        key = devices.place, devices.number, model, scenario["engine"], own
        if key not in self.divided:
            asked = self.of(candidate, scenario).asked
            self.divided[key] = widest(asked, devices) if asked else None
        divided = self.divided[key]
        return self.beginnings.least(divided, devices.accelerator, model, own) if divided else UNKNOWN

    def engine(self, candidate: Candidate, scenario: Mapping[str, object], known: Named) -> str:
        """Return the engine of a scenario; empty where none is known to run it."""
        name, place = scenario.get("engine"), candidate.devices.place
        if name != USUAL or place is None:
            return str(name)
        found = first_engine(facts=self.facts, place=place, formats=known.formats, families=known.families, caches=())
        return found or ""

    def own(self, candidate: Candidate) -> Own:
        """Return what the sequences of a candidate need at least of its devices, in whatever format its weights are."""
        bound, devices = self.of(candidate, candidate.scenario), candidate.devices
        cache_s = bound.sequences * bound.cache[1] * devices.seconds_each_byte / bound.written
        operations, rate = 2.0 * bound.least.multiplied * bound.prompt * bound.sequences, devices.operations_per_s
        written = max(bound.asked.output_tokens, 1) if bound.asked else 1
        return Own(cache_s, operations / rate / written if rate else 0.0, 1 - 1 / written)

    def least_held(self, scenario: Mapping[str, object]) -> int:
        """Return the least bytes of the weights, without reading the rest of a scenario; 0 where that would not do.

        Layers may stand in the host's memory, and FP32 is halved by some engines.
        """
        known = None if shared_with_host(scenario) else self.named(scenario)
        return known.least.held if known else 0

    def named(self, scenario: Mapping[str, object]) -> Named | None:
        """Return what a model and a format say that are named; None where more has to be read to know it."""
        model, weights = scenario.get("model"), scenario.get("weights")
        if not isinstance(model, str) or weights is None:
            return None
        key = model, str(weights)
        if key not in self.known:
            read = read_model(model, self.facts)
            stored = None
            if read.said is None:
                stored = with_experts(chosen_weights(weights, read, self.facts)[0], read, self.facts)
            halved = stored is not None and stored.id == "fp32"
            self.known[key] = (
                None
                if stored is None or halved
                else Named(
                    least(read.architecture, stored), tuple(format_names(stored)), families_of(read.architecture)
                )
            )
        return self.known[key]


def shared_with_host(scenario: Mapping[str, object]) -> bool:
    """Return whether a model may stand in two memories: on devices, and in that of their host."""
    return not PLACED.isdisjoint(scenario) and scenario.get("gpu_layers") != 0


def longest_of(model: object, facts: Catalog) -> int | None:
    """Return the tokens that a model by another name than its id, or by its config, is made for; None if not read."""
    try:
        return read_model(model, facts).context_tokens
    except ScenarioError:
        return None


def needed(scenario: Mapping[str, object]) -> Bound:
    """Return what a scenario asks, and what that needs at least of any devices."""
    try:
        reader = Reader(scenario)
        read = reader, read_asked(reader)
    except ScenarioError:
        return Bound(None, NOTHING, 0.0)
    asked = read[1]
    if asked.placement.on_host and not asked.placement.alone:  # what stands in the host's memory is not the device's
        return Bound(asked, NOTHING, 0.0, read=read)
    written = 1 + (asked.demand.draft.tokens if asked.demand.draft else 0)
    known = least(asked.demand.architecture, asked.demand.weights)
    return Bound(asked, known, 0.0, written, read=read)
