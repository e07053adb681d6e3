"""What models take of one device together: each a tenant with its own engine, and what is left."""

from collections.abc import Iterator

from calc.architecture.parameters import parameters_total
from calc.calculators.inputs import Report, whole
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.memory.budget import Layout
from calc.planning import sharing
from calc.planning.served import Served
from calc.planning.serving_warnings import serving_warnings
from calc.planning.sharing import Sharing, Tenant
from calc.question import read_asked
from calc.scenario.reader import Reader
from calc.units import MIB

FIRST, SECOND, THIRD, FOURTH = "", "_2", "_3", "_4"
ASKED = ("model", "weights", "engine", "kv_cache", "kv_cache_v", "context_tokens", "sequences")
OWN_PROCESS, ONE_PROCESS = "several", "one"


def scenarios(values: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """Iterate over the scenarios of the models that were chosen, each with the suffix of its inputs."""
    for suffix in (FIRST, SECOND, THIRD, FOURTH):
        if f"model{suffix}" not in values:
            continue
        usual = {"engine": "transformers", "context_tokens": values["context_tokens_2"], "sequences": 1}
        asked = {name: values.get(f"{name}{suffix}", usual.get(name)) for name in ASKED}
        asked = {name: value for name, value in asked.items() if value is not None}
        yield suffix, {**asked, "accelerator": values["accelerator"]}


def read_tenant(suffix: str, scenario: dict[str, object]) -> tuple[Tenant, Report]:
    """Return a model with what is asked of it, and what a report says of the model.

    Raises ScenarioError for the input of that model.
    """
    try:
        reader = Reader({name: value for name, value in scenario.items() if name not in ("accelerator", "sequences")})
        asked = read_asked(reader)
    except ScenarioError as error:
        head, _, rest = error.field.partition(".")
        raise ScenarioError(f"{head}{suffix}" + (f".{rest}" if rest else ""), error.message) from None
    demand = asked.demand._replace(sequences=whole(scenario, "sequences"))
    if not demand.architecture.writes:
        demand = demand._replace(prompt_tokens=demand.tokens)
    serving = asked.serving(catalog().accelerator(str(scenario["accelerator"])))
    assert serving is not None
    model = {
        "id": asked.model_id or None,
        "name": asked.model_name,
        "given": reader.filled["model"],
        "parameters_total": parameters_total(demand.architecture),
    }
    return Tenant(asked.model_name, serving, demand), model


def share(values: dict[str, object]) -> Report:
    """Return the report on models that share a device."""
    read = [(suffix, *read_tenant(suffix, scenario)) for suffix, scenario in scenarios(values)]
    tenants = [tenant for _, tenant, _ in read]
    names = numbered([tenant.name for tenant in tenants])
    accelerator = catalog().accelerator(str(values["accelerator"]))
    found = sharing.share(
        tenants=tenants,
        accelerator=accelerator,
        display_bytes=whole(values, "display") * MIB,
        one_process=values["processes"] == ONE_PROCESS,
    )
    if found.available <= 0:
        room = f"{found.capacity // MIB:,} MiB"
        raise ScenarioError("display", f"leaves nothing of the {room} of {accelerator.name} to the models")
    models = {f"model{suffix}": model for suffix, _, model in read}
    held = [
        tenant_report(tenant, name, found, index)
        for index, (tenant, name) in enumerate(zip(tenants, names, strict=True))
    ]
    return {
        "scenario": {**values, "model": models["model"]["given"]},
        "model": models["model"],
        "models": models,
        "memory": {
            "parts": list(bar_parts(found, names)),
            "device_bytes": found.needed + found.display + found.reserved,
            "capacity_bytes": found.capacity,
        },
        "tenants": held,
        "left_bytes": found.left,
        "available_bytes": found.available,
        "fits": found.left >= 0,
        "missing_at_defaults_bytes": found.missing_at_defaults(),
        "speed": None,
        "steps": [step.as_dict() for step in sharing.sharing_steps(found, names)],
        "warnings": list(warnings(tenants, names)),
    }


def numbered(names: list[str]) -> list[str]:
    """Return names of which no two are the same.

    >>> numbered(["A", "B", "A"])
    ['A', 'B', 'A (2)']
    """
    before = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name} ({count + 1})" if count else name for name, count in zip(names, before, strict=True)]


def tenant_report(tenant: Tenant, name: str, found: Sharing, index: int) -> Report:
    """Return what a report says of one of the models."""
    held, room = found.holdings[index], found.room(index)
    accelerator = tenant.serving.accelerator
    assert accelerator is not None
    return {
        "name": name,
        "engine": tenant.serving.engine.name,
        **held._asdict(),
        "needed": held.needed,
        "sequences": tenant.demand.sequences,
        "context_tokens": tenant.demand.tokens,
        "cache_tokens": sharing.cache_tokens(tenant, held, room),
        "longest_context": sharing.longest_context(tenant, room),
        "most_sequences": sharing.most_sequences(tenant, room),
        "fraction": sharing.fitted_fraction(tenant, accelerator, room),
        "default_fraction": tenant.serving.engine.values.get("memory_fraction"),
    }


def bar_parts(found: Sharing, names: list[str]) -> Iterator[Report]:
    """Iterate over the parts of the device as a bar shows them: the system's, then each model's."""
    yield {"id": "communication_buffers", "label": "Kept by the driver", "bytes": found.reserved}
    yield {"id": "logits", "label": "Display", "bytes": found.display}
    contexts = sum(held.context for held in found.holdings) - found.saved
    yield {"id": "runtime_context", "label": "Contexts of the processes", "bytes": contexts}
    for name, held in zip(names, found.holdings, strict=True):
        yield {"id": "weights", "label": f"{name}: weights", "bytes": held.weights}
        yield {"id": "kv_cache", "label": f"{name}: cache", "bytes": held.cache}
        yield {"id": "activations", "label": f"{name}: working memory", "bytes": held.working}


def warnings(tenants: list[Tenant], names: list[str]) -> Iterator[Report]:
    """Iterate over what is risky about each model under its engine; one that writes no text is at home here."""
    layout = Layout()
    for tenant, name in zip(tenants, names, strict=True):
        case, runtime = tenant.serving.fullest(tenant.demand, layout)
        served = Served(tenant.serving, tenant.demand, layout, case, runtime=runtime, most=None)
        for warning in serving_warnings(served):
            if warning.code in ("format-of-another-engine", "engine-not-on-device", "share-too-small"):
                yield {**warning.as_dict(), "message": f"{name}: {warning.message}"}
