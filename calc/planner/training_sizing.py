"""What a way to train needs of its devices, and how fast it is: each is worked out once for all candidates."""

from math import ceil, inf
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.errors import ScenarioError
from calc.memory.training.phases import stays_bytes
from calc.memory.training.plan import NO_CHECKPOINTS, Plan
from calc.memory.training.reserve import Total, totals
from calc.performance.training_pace import most_products_per_s
from calc.performance.training_step import prepare, step_time
from calc.planner.candidate import Candidate
from calc.planner.offered import MACHINE, OWN
from calc.planner.options import Miss, short, tight, too_heavy
from calc.planner.question import Question
from calc.planner.search import Search
from calc.planning.bounds import least
from calc.planning.chance import LIKELY, SURE
from calc.planning.training_fit import chance_on, fullest, hosted_bytes, room_on
from calc.question import read_asked
from calc.scenario.fields import OF_ACCELERATOR
from calc.scenario.reader import Reader
from calc.service.host import DESKTOP_BYTES
from calc.training.fields import DEFAULTS
from calc.training.frameworks import presets_asked
from calc.training.precision import precision_on
from calc.training.reading import read_training

PASSES = {"full": 3, "lora": 2, "qlora": 2}  # over the weights for each token at least: a frozen one has no gradient
OF_DEVICE = frozenset(("accelerator", *OF_ACCELERATOR))  # on which a plan depends by its precision alone
STATES = "weights, gradients and states"
CLOSE = 1.02  # times the memory that ways need at most which recompute less, or leave less in the host's memory
Key = tuple[str, ...]  # of a scenario, without its kind of device
VARIED = ("accelerators", "parallelism", "sharding", "checkpointing", "offload", "micro_batch")  # what is looked for


class Needed(NamedTuple):
    """What a way to train needs."""

    device: Total  # the fullest
    hosted: int  # bytes in the memory of all hosts
    least: Total  # of the device, with an allocator that finds its blocks again


class Sizing(Search):
    """A question about training, with what is known of the ways that were tried."""

    def __init__(self, question: Question, facts: Catalog) -> None:
        super().__init__(question, facts)
        self.plans: dict[Key, Plan | ScenarioError] = {}
        self.known: dict[str, Architecture] = {}
        self.rates: dict[tuple[object, ...], float] = {}
        self.products = dict[str, float | None]()  # a second of each device at most
        self.needs: dict[Key, Needed] = {}
        self.shares = dict[str, float]()  # of a host's memory, for each device
        self.stays: dict[Key, int] = {}  # on a first stage's device in every phase of a step
        self.precisions = dict[str, str]()  # of devices, where nobody says it
        named = (*question.fields, *question.have, *VARIED, "model", "method", *OF_DEVICE)
        self.names = frozenset(named)  # of the fields that scenarios have
        self.told = tuple(sorted(self.names - OF_DEVICE))  # those of them that keys are made of

    def most_per_s(self, candidate: Candidate) -> float | None:
        """Return the tokens a second that no run exceeds: every weight multiplied twice or three times for each."""
        device, scenario = candidate.devices.accelerator, candidate.scenario
        if device.id not in self.products:
            self.products[device.id] = most_products_per_s(device, self.facts.training_step.values)
        rate = self.products[device.id]
        fast = device.quantity("fp8") if scenario.get("precision") == "fp8-mixed" else None
        used = least(self.architecture(candidate), self.facts.number_format("bf16")).multiplied
        if rate is None:
            return None
        if not used:  # of an encoder with a decoder nothing is known to bound it
            return inf
        return candidate.devices.number * max(rate, fast or 0.0) / (2 * PASSES[str(scenario["method"])] * used)

    def architecture(self, candidate: Candidate) -> Architecture:
        """Return the architecture of what is trained, read once."""
        model = candidate.scenario["model"]
        if (key := str(model)) not in self.known:
            self.known[key] = read_asked(Reader({"model": model})).demand.architecture
        return self.known[key]

    def read(self, scenario: dict[str, object]) -> Plan:
        """Return a scenario's plan, read once for all kinds of devices; raises ScenarioError."""
        key = self.key(scenario)
        if key not in self.plans:
            self.plans[key] = self.plan_of(scenario)
        known = self.plans[key]
        if isinstance(known, ScenarioError):
            raise known
        self.asked = True
        return known

    def plan_of(self, scenario: dict[str, object]) -> Plan | ScenarioError:
        """Return a scenario's plan, or what is wrong with it."""
        try:
            asked = {name: scenario[name] for name in scenario if name not in OF_ACCELERATOR}
            return read_training(asked, self.facts).plan
        except ScenarioError as error:
            return error

    def key(self, scenario: dict[str, object]) -> Key:
        """Return what is the same of scenarios whose plans are alike, on whatever kind of device."""
        device = str(scenario["accelerator"])
        if device not in self.precisions:
            self.precisions[device] = "" if "precision" in scenario else self.usual_precisions(device)
        return *self.key_of(scenario), self.precisions[device]

    def key_of(self, scenario: dict[str, object]) -> Key:
        """Return what is the same of scenarios that differ in their kind of device alone."""
        if not scenario.keys() <= self.names:
            self.names |= scenario.keys()
            self.told = tuple(sorted(self.names - OF_DEVICE))
        return tuple(map(str, map(scenario.get, self.told)))

    def usual_precisions(self, device: str) -> str:
        """Return the precisions of a device where nobody says one, for each that the framework takes elsewhere."""
        named, usual = self.question.fields.get("framework"), {str(DEFAULTS["precision"])}
        framework = self.facts.framework(named) if isinstance(named, str) else None
        presets = presets_asked(self.question.fields, self.facts)
        usual |= {str(preset.value) for preset in presets if preset.field == "precision"}
        record, name = self.facts.accelerator(device), framework.id if framework else None
        return " ".join(precision_on(record, one, framework=name, facts=self.facts) for one in sorted(usual))

    def cannot_be(self, error: ScenarioError) -> Miss:
        """Return that a scenario cannot be asked; of what is looked for, others can."""
        if (name := error.field.split(".")[0]) in VARIED and name not in self.question.fields:
            return Miss("layout", f"{error.field}: {error.message}", inf)
        return super().cannot_be(error)

    def short_of(self, scenario: dict[str, object], device: Accelerator, chance: float) -> Miss | None:
        """Return what the fullest device lacks, or the hosts of all, None where it fits with a chance."""
        capacity = room_on(device, self.facts)
        found = self.needed(scenario, capacity)
        miss = lacking(found, capacity, chance)
        if isinstance(found, Miss) or not found.hosted or (miss and miss.reason == "memory"):
            return miss
        room = self.hosts_bytes(device, self.read(scenario).layout.devices)
        return short(found.hosted - room, room, "of the hosts' memory") if found.hosted > room else miss

    def hosts_bytes(self, device: Accelerator, count: int) -> int:
        """Return the memory of the hosts of so many devices, at most: of a computer that people build, a desktop's."""
        if device.segment == OWN:
            return DESKTOP_BYTES * ceil(count / MACHINE)
        if device.id not in self.shares:
            self.shares[device.id] = self.host_share(device)
        return int(self.shares[device.id] * count)

    def host_share(self, device: Accelerator) -> float:
        """Return the bytes of a host's memory for each device, at most: what machines of data centres come with.

        Of a device whose machines nobody tells the memory of it is the most of any.
        """
        known = self.facts.machines()
        shares = [(one.accelerator, (one.quantity("host_memory") or 0.0) / one.devices) for one in known if one.devices]
        own = max((share for name, share in shares if name == device.id), default=0.0)
        return own or max(share for _, share in shares)

    def needed(self, scenario: dict[str, object], capacity: int) -> Needed | Miss:
        """Return what a scenario needs, worked out once; where what stays is more than a capacity, that is said."""
        key = self.key(scenario)
        if key not in self.needs:
            if (held := self.held_throughout(scenario)) > capacity:
                return too_heavy(held, capacity, STATES)
            plan = self.read(scenario)
            widest, by_stage = fullest(plan)
            least = totals(plan._replace(checkpointing=NO_CHECKPOINTS), widest, self.facts)
            own = totals(plan, widest, self.facts)
            self.needs[key] = Needed(own.device, hosted_bytes(plan, by_stage), least.device)
        return self.needs[key]

    def all_lack(self, leanest: list[dict[str, object]], device: Accelerator, chance: float) -> Miss | None:
        """Return what the nearest of the leanest ways lacks where no way of their sharding fits, None where one may.

        A way that recomputes less keeps no less, but the allocator may find its blocks again: so it may with these.
        """
        misses, room = list[Miss](), room_on(device, self.facts)
        try:
            for scenario in leanest:
                found = self.needed(scenario, room)
                miss = lacking(found, room, chance)
                if miss is None or (isinstance(found, Needed) and may_fit(found, room, chance)):
                    return None
                misses.append(miss)
        except ScenarioError as error:
            self.cannot_be(error)  # raises what no way may have; what this one may not have is said where it is tried
            return None
        return min(misses, key=lambda miss: miss.ratio)

    def held_throughout(self, scenario: dict[str, object]) -> int:
        """Return the bytes that stay on a device of the first stage: as many with any checkpointing."""
        kind = self.key({**scenario, "checkpointing": None})
        if kind not in self.stays:
            plan = self.read(scenario)
            self.stays[kind] = stays_bytes(plan, plan.stages[0])
        return self.stays[kind]

    def likely(self, candidate: Candidate) -> Candidate | Miss:
        """Return a candidate whose scenario more likely fits than not."""
        try:
            miss = self.short_of(candidate.scenario, candidate.devices.accelerator, LIKELY)
        except ScenarioError as error:
            return self.cannot_be(error)
        return miss or candidate

    def surely_fits(self, scenario: dict[str, object], size: int, candidate: Candidate) -> bool:
        """Return whether a way surely fits with a micro-batch."""
        try:
            return self.short_of({**scenario, "micro_batch": size}, candidate.devices.accelerator, SURE) is None
        except ScenarioError:
            return False

    def rate_of(self, scenario: dict[str, object], accelerator: Accelerator) -> float | None:
        """Return the same, or 0 where it is not known and nothing is asked of it."""
        rate = self.rate(scenario, accelerator)
        asked = self.question.need.days is not None or self.question.limits.price_per_run is not None
        return 0.0 if rate is None and not asked else rate

    def rate(self, scenario: dict[str, object], accelerator: Accelerator) -> float | None:
        """Return the tokens a second of all devices; None where the device's rates are not known."""
        plan = self.read(scenario)
        network = scenario.get("network_gbit_per_s")
        share = float(network) * 1e9 / 8 if isinstance(network, int | float) else None
        prepared = prepare(plan, accelerator, share)
        if prepared is None:
            return None
        tokens = plan.micro_batch * plan.accumulation * plan.layout.data * plan.tokens
        return tokens / step_time(prepared, self.facts.training_step.values).total

    def rate_at(self, scenario: dict[str, object], size: int, candidate: Candidate) -> float:
        """Return the tokens a second with a micro-batch, whether or not it fits; 0 where they are not known."""
        device = candidate.devices.accelerator
        key = self.key_of(scenario), size, device.id
        if key not in self.rates:
            self.rates[key] = self.rate({**scenario, "micro_batch": size}, device) or 0.0
        return self.rates[key]


def lacking(found: Needed | Miss, capacity: int, chance: float) -> Miss | None:
    """Return what a device lacks of what is needed, or that it is tight; None where it fits with a chance."""
    if isinstance(found, Miss):
        return found
    if found.device.typical > capacity:
        return short(found.device.typical - capacity, capacity)
    likely = chance_on(found.device, capacity)
    return None if likely >= chance else tight(likely)


def may_fit(leanest: Needed, capacity: int, chance: float) -> bool:
    """Return whether a way may fit of which this one, of the same sharding, keeps least."""
    return chance_on(leanest.least, int(CLOSE * capacity)) >= chance
