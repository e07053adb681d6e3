"""What a way to train needs of its devices, and how fast it is: each is worked out once for all candidates."""

from math import inf

from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.errors import ScenarioError
from calc.memory.training.plan import Plan
from calc.memory.training.reserve import Total, totals
from calc.performance.training_step import most_products_per_s, prepare, step_time
from calc.planner.candidate import Candidate
from calc.planner.options import Miss, short
from calc.planner.question import Question
from calc.planner.search import Search
from calc.planning.bounds import least
from calc.planning.chance import LIKELY, SURE, chance_of_fitting
from calc.planning.training_fit import fullest_within
from calc.question import read_asked
from calc.scenario.fields import OF_ACCELERATOR
from calc.scenario.reader import Reader
from calc.training.reading import read_training

PASSES = {"full": 3, "lora": 2, "qlora": 2}  # over the weights for each token at least: a frozen one has no gradient
OF_DEVICE = frozenset(("accelerator", *OF_ACCELERATOR))  # fields that a plan does not depend on
VARIED = ("accelerators", "parallelism", "sharding", "checkpointing", "offload", "micro_batch")  # what is looked for


class Sizing(Search):
    """A question about training, with what is known of the ways that were tried."""

    def __init__(self, question: Question, facts: Catalog) -> None:
        super().__init__(question, facts)
        self.plans: dict[tuple[object, ...], Plan | ScenarioError] = {}
        self.known: dict[str, Architecture] = {}
        self.rates: dict[tuple[object, ...], float] = {}
        self.products = dict[str, float | None]()  # a second of each device at most
        self.needs: dict[tuple[object, ...], Total] = {}
        self.beyond: dict[tuple[object, ...], int] = {}  # the largest capacity known to be too little for what stays

    def most_per_s(self, candidate: Candidate) -> float | None:
        """Return the tokens a second that no run exceeds: every weight multiplied twice or three times for each."""
        device, scenario = candidate.devices.accelerator, candidate.scenario
        if device.id not in self.products:
            self.products[device.id] = most_products_per_s(device, self.facts.training_step.values)
        rate = self.products[device.id]
        fast = device.quantity("fp8") if scenario.get("precision") == "fp8-mixed" else None
        used = least(self.architecture(candidate), self.facts.number_format("bf16")).multiplied
        if rate is None or not used:
            return None
        return candidate.devices.number * max(rate, fast or 0.0) / (2 * PASSES[str(scenario["method"])] * used)

    def architecture(self, candidate: Candidate) -> Architecture:
        """Return the architecture of what is trained, read once."""
        model = candidate.scenario["model"]
        if (key := str(model)) not in self.known:
            self.known[key] = read_asked(Reader({"model": model})).demand.architecture
        return self.known[key]

    def read(self, scenario: dict[str, object]) -> Plan:
        """Return a scenario's plan, read once for all kinds of devices; raises ScenarioError."""
        key = key_of(scenario)
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
            return read_training({name: scenario[name] for name in scenario if name not in OF_DEVICE}, self.facts).plan
        except ScenarioError as error:
            return error

    def cannot_be(self, error: ScenarioError) -> Miss:
        """Return that a scenario cannot be asked; of what is looked for, others can."""
        if (name := error.field.split(".")[0]) in VARIED and name not in self.question.fields:
            return Miss("layout", f"{error.field}: {error.message}", inf)
        return super().cannot_be(error)

    def short_of(self, scenario: dict[str, object], capacity: int, chance: float) -> Miss | None:
        """Return what the fullest device lacks, None where it fits with a chance."""
        key = key_of(scenario)
        if key not in self.needs:
            kind = tuple(item for item in key if item[0] != "checkpointing")  # with any of which as much stays
            if capacity <= self.beyond.get(kind, 0):
                return short(capacity, capacity)
            plan = self.read(scenario)
            found = fullest_within(plan, capacity)
            if found is None:
                self.beyond[kind] = capacity
                return short(capacity, capacity)
            self.needs[key] = totals(plan, found[0], self.facts).device
        needed = self.needs[key]
        spare, upper = capacity - needed.typical, needed.high - needed.typical
        if spare >= 0 and chance_of_fitting(room_bytes=capacity, spare_bytes=spare, upper_bytes=upper) >= chance:
            return None
        return short(max(-spare, 0), capacity)

    def likely(self, candidate: Candidate) -> Candidate | Miss:
        """Return a candidate whose scenario more likely fits than not."""
        try:
            miss = self.short_of(candidate.scenario, candidate.devices.accelerator.capacity_bytes, LIKELY)
        except ScenarioError as error:
            return self.cannot_be(error)
        return miss or candidate

    def surely_fits(self, scenario: dict[str, object], size: int, candidate: Candidate) -> bool:
        """Return whether a way surely fits with a micro-batch."""
        try:
            capacity = candidate.devices.accelerator.capacity_bytes
            return self.short_of({**scenario, "micro_batch": size}, capacity, SURE) is None
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
        key = key_of(scenario), size, device.id
        if key not in self.rates:
            self.rates[key] = self.rate({**scenario, "micro_batch": size}, device) or 0.0
        return self.rates[key]


def key_of(scenario: dict[str, object]) -> tuple[tuple[str, str], ...]:
    """Return what is the same of scenarios that differ in their kind of device alone."""
    return tuple(sorted((name, str(scenario[name])) for name in scenario if name not in OF_DEVICE))
