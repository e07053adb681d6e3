"""The door to every answer: a scenario in, a report out, both plain JSON values. Names are fixed by the contract."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.architecture.config import Config
from calc.architecture.families import left_out
from calc.architecture.parameters import parameters_active, parameters_by_block
from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.catalog.records import Accelerator, Engine
from calc.derivation import Warn
from calc.errors import ScenarioError
from calc.memory.budget import Budget, Demand, Layout
from calc.memory.working import parts_of, sum_step
from calc.performance.fabric import tensor_warnings
from calc.planning.cost import cost_of
from calc.planning.fit import devices_needed, most_sequences
from calc.planning.layout import best_layout, check_layout, fullest, sum_over_devices, usual_layouts
from calc.planning.serving import Serving
from calc.planning.serving_report import (
    prefill_tokens,
    serve,
    serving_fit,
    serving_parts,
    serving_speed,
    serving_totals,
)
from calc.planning.serving_warnings import serving_warnings
from calc.scenario import (
    MOST_TOKENS,
    Reader,
    finite,
    name_doubts,
    read_accelerator,
    read_cache_format,
    read_engine,
    read_gpu_layers,
    read_layout,
    read_model,
    read_price,
    read_tokens,
    read_weights,
    whole,
)

Report = dict[str, object]


class Asked(NamedTuple):
    """What a scenario asks of devices, whichever they are."""

    model_id: str
    model_name: str
    context_limit: int | None
    demand: Demand
    output_tokens: int
    cached_tokens: int
    engine: Engine | None
    fraction: float | None
    batched_tokens: int | None
    attention: str
    gpu_layers: int | None

    def serving(self, accelerator: Accelerator | None) -> Serving | None:
        """Return the engine on a kind of device, None without an engine."""
        if self.engine is None:
            return None
        return Serving(
            engine=self.engine,
            accelerator=accelerator,
            fraction=self.fraction,
            batched_tokens=self.batched_tokens,
            attention=self.attention,
            gpu_layers=self.gpu_layers,
        )


class Answer(NamedTuple):
    """What was found for a scenario, before it is written out as a report."""

    demand: Demand
    layout: Layout
    stage: Stage
    budget: Budget
    accelerator: Accelerator | None


def estimate(scenario: Mapping[str, object]) -> Report:
    """Return the report on a scenario: parameters, memory by part, whether it fits, and the working.

    The fields of both are documented on the page "The scenario and the report". Bytes are integers.
    Raises ScenarioError, with the field and what is allowed, for a scenario that is wrong in any way.

    >>> report = estimate({"model": "llama-3.1-8b", "context_tokens": 8192})
    >>> report["memory"]["parts"][0]["bytes"]
    16060522496
    """
    facts = catalog()
    if isinstance(scenario, Mapping) and scenario.get("workload") == "training":
        from calc.training.report import training_report  # most scenarios, and the first page, need it not

        return training_report(scenario, facts)
    reader = Reader(scenario)
    asked = read_asked(reader)
    demand, accelerator = asked.demand, read_accelerator(reader, facts)
    own_prices = {field: read_price(reader, field) for field in ("price_per_hour", "electricity_per_kwh")}
    sequences = reader.take("sequences")
    if sequences != "max":
        demand = demand._replace(sequences=whole(sequences, "sequences", 1, MOST_TOKENS))
    layout = settle_layout(reader, demand, str(reader.filled["engine"]))
    served = None
    if serving := asked.serving(accelerator):
        served = serve(serving, demand, layout, most=sequences == "max")
        demand = served.demand
        reader.filled["batched_tokens"] = prefill_tokens(served.case) or demand.sequences * demand.prompt_tokens
    elif sequences == "max":
        demand = fill_device(demand, layout, accelerator)
    for name, record in (("kv_cache", demand.keys), ("kv_cache_v", demand.values)):
        reader.filled[name] = record.id
    if isinstance(reader.filled["weights"], str):
        reader.filled["weights"] = demand.weights.id
    answer = Answer(demand, layout, *fullest(demand, layout), accelerator)
    if served is None:
        parts = parts_of(demand=demand, layout=layout, stage=answer.stage, budget=answer.budget)
        memory = {**totals(answer), **fit(answer)}
        speed, speed_steps = None, []
        risks = []
    else:
        parts = serving_parts(served)
        memory = {**serving_totals(served), **serving_fit(served)}
        timed = serving_speed(served, asked.output_tokens, asked.cached_tokens)
        speed, speed_steps = timed if timed else (None, [])
        risks = serving_warnings(served)
    cost = None
    rate = speed.get("output_tokens_per_s") if speed else None
    if accelerator is not None and isinstance(rate, dict):
        cost, cost_steps = cost_of(
            facts=facts, accelerator=accelerator, devices=layout.devices, output_tokens_per_s=rate, **own_prices
        )
        speed_steps = [*speed_steps, *cost_steps]
    architecture = demand.architecture
    blocks = parameters_by_block(architecture)
    total = sum(blocks.values())
    return {
        "scenario": reader.filled,
        "defaults": reader.defaults,
        "model": {
            "id": asked.model_id or None,
            "name": asked.model_name,
            "family": architecture.family,
            "attention": architecture.attention_kind,
            "layers": architecture.layer_count,
            "attention_layers": architecture.attention_layers,
            "parameters_total": total,
            "parameters_active": parameters_active(architecture),
            "parameters_trainable": 0,
            "blocks": blocks,
        },
        "memory": {
            "parts": [{**part._asdict(), "steps": [step.as_dict() for step in part.steps]} for part in parts],
            **memory,
        },
        "speed": speed,
        "cost": cost,
        "steps": [
            step.as_dict() for step in (*(step for part in parts for step in part.steps), sum_step(parts), *speed_steps)
        ],
        "warnings": [
            warning._asdict()
            for warning in (*doubts(reader, layout.devices), *warnings(answer, asked.context_limit), *risks)
        ],
        "catalog": facts.version,
    }


def read_asked(reader: Reader) -> Asked:
    """Return what a scenario of inference asks of devices, for one sequence at once."""
    facts = catalog()
    reader.choice("workload", ("inference", "training"))
    engine, fraction = read_engine(reader, facts)
    model_id, model_name, architecture, context_limit = read_model(reader.take("model"), facts)
    reader.filled["model"] = model_id or finite(reader.given["model"])
    weights, group = read_weights(reader, facts)
    keys = read_cache_format(reader.take("kv_cache"), "kv_cache", facts, architecture)
    values = read_cache_format(reader.take("kv_cache_v", keys.id), "kv_cache_v", facts, architecture)
    prompt, output = read_tokens(reader)
    cached = reader.count("cached_tokens", least=0)
    demand = Demand(
        architecture=architecture,
        weights=weights,
        group=group,
        keys=keys,
        values=values,
        sequences=1,
        tokens=cached + prompt + output,
        prompt_tokens=prompt,
        batched_tokens=reader.count("batched_tokens"),
        all_logits=reader.choice("prompt_logits", ("last", "all")) == "all",
    )
    return Asked(
        model_id=model_id,
        model_name=model_name,
        context_limit=context_limit,
        demand=demand,
        output_tokens=output,
        cached_tokens=cached,
        engine=engine,
        fraction=fraction,
        batched_tokens=demand.batched_tokens if "batched_tokens" in reader.given else None,
        attention=reader.choice("attention", ("flash", "eager")),
        gpu_layers=read_gpu_layers(reader, engine, architecture.layer_count),
    )


def settle_layout(reader: Reader, demand: Demand, engine: str) -> Layout:
    """Return the layout asked for, checked, or the engine's usual one with the least memory on the fullest device."""
    layout, devices = read_layout(reader)
    if layout is None:
        found = best_layout(demand, devices or 1, engine)
        if found is None:
            every = range(devices or 1, 0, -1)
            near = next(count for count in every if usual_layouts(demand.architecture, count, engine))
            message = f"the model cannot be divided evenly over {devices}; {near} would work"
            raise ScenarioError("accelerators", message)
        layout = found[0]
    check_layout(demand.architecture, layout)
    if "parallelism" not in reader.given:
        reader.defaults.append("parallelism")
    if "accelerators" not in reader.given:
        reader.defaults.append("accelerators")
    reader.filled["accelerators"] = layout.devices
    reader.filled["parallelism"] = layout._asdict()
    return layout


def fill_device(demand: Demand, layout: Layout, accelerator: Accelerator | None) -> Demand:
    """Return the demand with as many sequences as fit on the devices."""
    if accelerator is None:
        raise ScenarioError("sequences", '"max" needs an accelerator: as many as fit on what?')
    local = most_sequences(demand._replace(sequences=1), layout._replace(data=1), accelerator.capacity_bytes)
    return demand._replace(sequences=max(local * layout.data, 1))


def totals(answer: Answer) -> Report:
    """Return the three totals that people read. Without an engine nothing is reserved, so they are one exact number."""
    total = answer.budget.total
    report: Report = {"phase": answer.budget.peak_phase}
    for name in ("allocated_bytes", "reserved_bytes", "device_bytes"):
        report[name] = total
        report[f"{name}_range"] = [total, total]
    report["sum_over_devices_bytes"] = sum_over_devices(answer.demand, answer.layout)
    report["sequences"] = answer.demand.sequences
    return report


def fit(answer: Answer) -> Report:
    """Return how the fullest device's memory compares to what it has, and how many devices the demand needs."""
    if answer.accelerator is None:
        return {}
    capacity, budget, demand = answer.accelerator.capacity_bytes, answer.budget, answer.demand
    sequence = budget.kv_cache // demand.sequences_on(answer.layout)
    room = max(capacity - budget.total + budget.kv_cache, 0)
    needed = devices_needed(demand, capacity)
    return {
        "capacity_bytes": capacity,
        "fits": budget.total <= capacity,
        "headroom_bytes": capacity - budget.total,
        "kv_pool_bytes": room,
        "kv_pool_tokens": room * demand.tokens // sequence if sequence else 0,
        "max_sequences": most_sequences(demand, answer.layout, capacity),
        "devices_needed": needed[0] if needed else None,
        "devices_needed_parallelism": {"tensor": needed[1].tensor, "pipeline": needed[1].pipeline} if needed else None,
    }


def doubts(reader: Reader, devices: int) -> list[Warn]:
    """Return what a scenario leaves open and an answer has to choose."""
    found = name_doubts(reader, catalog(), devices)
    model = reader.given.get("model")
    if isinstance(model, Mapping) and (keys := left_out(Config(model["config"], "model.config"))):
        message = f"the config leaves out {', '.join(keys)}: the defaults of its family are taken"
        found.append(Warn("config-incomplete", message, "model.config"))
    return found


def warnings(answer: Answer, context_limit: int | None) -> list[Warn]:
    """Return what cannot work natively or is risky about a scenario."""
    found = []
    demand, accelerator = answer.demand, answer.accelerator
    if context_limit and demand.tokens > context_limit:
        message = f"{demand.tokens:,} tokens are more than the {context_limit:,} that the model is made for"
        found.append(Warn("context-beyond-trained", message, "context_tokens"))
    if accelerator is not None:
        native = demand.weights.native
        if native and native not in accelerator.facts:
            message = (
                f"{accelerator.name} does not compute in {demand.weights.name}: it is converted to another format first"
            )
            found.append(Warn("format-not-native", message, "weights"))
        if accelerator.segment == "soc":
            message = f"{accelerator.name} shares its memory with the system, which leaves only part of it to a model"
            found.append(Warn("memory-shared", message, "accelerator"))
        elif accelerator.memory_fact.basis == "advertised":
            message = f"no driver report of {accelerator.name} is known: the advertised size stands in for it"
            found.append(Warn("capacity-advertised", message, "accelerator"))
    if demand.sequences < answer.layout.data:
        message = f"{demand.sequences} sequences leave some of the {answer.layout.data} data-parallel ranks idle"
        found.append(Warn("ranks-idle", message, "parallelism.data"))
    if answer.layout.tensor > 1 and accelerator is not None:
        found += tensor_warnings(accelerator, answer.layout.tensor)
    return found
