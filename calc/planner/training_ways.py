"""The ways to train that a question leaves open: methods, devices, layouts, sharding and checkpointing."""

from collections.abc import Iterator

from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.catalog.support import METHODS
from calc.memory.budget import Layout
from calc.memory.training.plan import FULL, NO_CHECKPOINTS, SELECTIVE
from calc.planner.candidate import Candidate
from calc.planner.candidates import placed
from calc.planner.devices import Devices
from calc.planner.offered import counts, devices, kinds
from calc.planner.options import Miss, does_not_run
from calc.planner.question import Question
from calc.planning.layout import tensor_degrees
from calc.planning.support import what_runs
from calc.planning.training_fit import WIDEST_TENSOR
from calc.planning.training_support import has_stages, what_trains
from calc.question import read_asked
from calc.scenario.formats import read_format
from calc.scenario.layout import read_layout
from calc.scenario.model import known_architecture
from calc.scenario.reader import Reader
from calc.training.fields import QLORA_BASE

CHECKPOINTING = (NO_CHECKPOINTS, SELECTIVE, FULL)
SHARDING = {"full": ("none", "zero-1", "zero-2", "zero-3"), "lora": ("none", "zero-3"), "qlora": ("none", "zero-3")}
WAITING: tuple[list[str], ...] = ([], ["optimizer"], ["optimizer", "parameters"])  # in the host's memory
SHARDED = "zero-3"  # with which frameworks leave parameters there
RUNNER = "transformers"  # what it runs on, training runs on: both are PyTorch
Way = dict[str, object]


def methods(question: Question) -> tuple[str, ...]:
    """Return the methods that are tried."""
    return (str(question.fields["method"]),) if "method" in question.fields else METHODS


def training_candidates(question: Question, facts: Catalog, method: str) -> Iterator[Candidate]:
    """Iterate over models and devices, or over layouts of the devices, to train with a method."""
    order = 0
    for accelerator in kinds(question, facts):
        if not question.have and not trains(accelerator, facts):
            continue
        one = devices(question, facts, accelerator)
        for count in counts(question, accelerator):
            for model in question.models:
                whole = of_number(question, one, count, model=model, method=method)
                for way in divisions(question, model, count, method) if question.want == "layout" else [{}]:
                    named = {"hardware": accelerator.id, "layout": str(way)}.get(question.want, str(model))
                    yield whole._replace(group=named, scenarios=({**whole.scenario, **way},), order=order)
                    order += 1


def of_number(question: Question, one: Devices, count: int, *, model: object, method: object) -> Candidate:
    """Return the candidate that trains a model with a method on so many devices of a kind."""
    where = placed(question, one.accelerator, count)
    scenario = {**question.fields, **where, "model": model, "method": method}
    return Candidate(one.accelerator.id, one.together(count), (scenario,), 0)


def trains(accelerator: Accelerator, facts: Catalog) -> bool:
    """Return whether PyTorch is known to run on a device that multiplies matrices."""
    runner, weights = facts.engine(RUNNER), facts.number_format("bf16")
    llama = known_architecture(facts, "llama-3.1-8b")
    known = what_runs(facts=facts, engine=runner, device=accelerator, weights=weights, architecture=llama)
    return accelerator.sixteen_bit is not None and known.on_device


def stopped(candidate: Candidate, facts: Catalog) -> Miss | None:
    """Return what is known to keep a candidate's run from starting, whatever its memory; raises ScenarioError.

    Where sharding is open, it is what most frameworks have. Stages of layers that are in doubt are no plan.
    """
    scenario = candidate.scenario
    named, precision, method = scenario.get("framework"), scenario.get("precision"), str(scenario.get("method"))
    stored = scenario.get("base_weights") or (QLORA_BASE if method == "qlora" else "bf16")
    framework = facts.framework(named).id if isinstance(named, str) else None
    divided = {"parallelism": scenario.get("parallelism", {"data": candidate.devices.number})}
    layout = read_layout(Reader(divided))[0] or Layout()
    works = what_trains(
        facts=facts,
        framework=framework,
        device=candidate.devices.accelerator,
        base=read_format(stored, "base_weights", facts)[0].id,
        precision=precision if isinstance(precision, str) else None,
        method=method,
        layout=layout,
        sharding=str(scenario.get("sharding", SHARDED)),
    )
    staged = layout.pipeline == 1 or has_stages(facts=facts, framework=framework)
    return None if staged and works.runs is not False else does_not_run(framework or RUNNER, works)


def startable(candidate: Candidate, scenarios: list[Way], facts: Catalog) -> list[Way]:
    """Return those of a candidate's scenarios whose sharding its framework has."""
    first = {one.get("sharding"): one for one in reversed(scenarios)}
    runs = {name for name, one in first.items() if not stopped(candidate._replace(scenarios=(one,)), facts)}
    return [one for one in scenarios if one.get("sharding") in runs]


def divisions(question: Question, model: object, count: int, method: str) -> Iterator[Way]:
    """Iterate over the ways to divide a run over all devices: layouts, sharding and checkpointing."""
    architecture = read_asked(Reader({"model": model})).demand.architecture
    layouts = [
        Layout(tensor=tensor, pipeline=pipeline, data=count // tensor // pipeline)
        for tensor in tensor_degrees(architecture)
        if tensor <= WIDEST_TENSOR and count % tensor == 0
        for pipeline in range(1, count // tensor + 1)
        if count // tensor % pipeline == 0 and pipeline <= architecture.layer_count
    ]
    for layout in layouts if "parallelism" not in question.fields else [None]:
        for way in ways(question, method, layout.data if layout else count):
            piped = layout is not None and layout.pipeline > 1
            if not (piped and way.get("sharding") in ("zero-2", "zero-3")):
                yield way | ({"parallelism": layout._asdict()} if layout else {})


def ways(question: Question, method: str, ranks: int) -> Iterator[Way]:
    """Iterate over what a question leaves open of sharding and checkpointing."""
    sharding = SHARDING[method] if ranks > 1 else ("none",)
    for shards in sharding if "sharding" not in question.fields else [None]:
        for checkpoints in CHECKPOINTING if "checkpointing" not in question.fields else [None]:
            way = {"sharding": shards, "checkpointing": checkpoints}
            yield {name: value for name, value in way.items() if value is not None}


def waiting_on(device: Accelerator, question: Question) -> tuple[list[str], ...]:
    """Return what may wait in the host's memory, the least first: nothing more where the device's memory is the host's.

    PyTorch keeps all of a model in a memory that both share (Transformers' guide to Apple silicon).
    """
    return WAITING[:1] if device.shares_host_memory or "offload" in question.fields else WAITING


def offloaded(every: list[Way], parts: list[str]) -> list[Way]:
    """Return ways with parts of the states in the host's memory: of the parameters, those that ranks share."""
    away = [way for way in every if "parameters" not in parts or way.get("sharding") == SHARDED]
    return [{**way, "offload": parts} for way in away] if parts else every


def longest_ways(question: Question, method: str, ranks: int) -> Iterator[Way]:
    """Iterate over the ways that leave most room for a sequence: all is recomputed, and divided as far as can be."""
    for way in ways(question, method, ranks):
        if way.get("checkpointing", FULL) == FULL and way.get("sharding") in (None, "none", SHARDING[method][-1]):
            yield way
