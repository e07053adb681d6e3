"""Reading a scenario of `workload: training`: every field checked, every default filled in and named."""

from collections.abc import Mapping
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.stages import COST, EVEN
from calc.catalog import Catalog
from calc.catalog.records import Accelerator
from calc.catalog.support import METHODS
from calc.errors import ScenarioError, WrongValueError, nearest
from calc.memory.training.elements import Method
from calc.memory.training.loss import CHUNKED, COMPILED, FUSED, NARROW, SHIFTED
from calc.memory.training.loss import FULL as FULL_LOSS
from calc.memory.training.plan import (
    FULL,
    HEADS,
    NO_CHECKPOINTS,
    PER_OPERATION,
    RING,
    SCORES,
    SELECTIVE,
    XLA,
    Plan,
    keeps_no_scores,
    usually_compiled,
)
from calc.memory.training.run import Choices
from calc.memory.training.states import OPTIMIZERS, SCHEMES, Scheme
from calc.planning.support import Runs
from calc.planning.training_support import has_stages, what_trains
from calc.scenario.device import read_accelerator
from calc.scenario.fields import MOST_DEGREE
from calc.scenario.model import ReadModel, read_model
from calc.scenario.reader import read_price
from calc.training.adapters import read_adapters
from calc.training.checks import WHOLE_BITS, check_plan
from calc.training.devices import expert_shares, read_division, read_network
from calc.training.fields import (
    ATTENTIONS,
    BITSANDBYTES,
    EAGER,
    MOST_BATCH,
    MOST_SEQUENCE,
    OFFLOADS,
    UNKNOWN,
    USUAL,
    TrainingReader,
)
from calc.training.frameworks import follow_framework, framework_is, read_graphs
from calc.training.precision import (
    read_adapter_type,
    read_base,
    read_gathering,
    read_gradients,
    read_reduction,
    usual_precision,
)

PADDED = ("varied_lengths", "padding_mask")  # what says that sequences are padded, and no batch is like another


class Asked(NamedTuple):
    """A training scenario, read."""

    plan: Plan
    model: ReadModel
    accelerator: Accelerator | None
    reader: TrainingReader
    filled: dict[str, object]
    defaults: list[str]
    training_tokens: int | None
    network_bytes_per_s: float | None  # of a device, one way
    price_per_hour: float | None
    electricity_per_kwh: float | None


def read_training(scenario: Mapping[str, object], facts: Catalog) -> Asked:
    """Return a training scenario as a plan. Raises ScenarioError, by field, for what is wrong or cannot be."""
    reader = TrainingReader(scenario)
    reader.choice("workload", ("training",), "training")
    model = read_trained(reader, facts)
    follow_framework(reader, facts, model.architecture.family)
    plan = read_plan(reader, model, facts)
    tokens_of_run = None
    if "training_tokens" in reader.given:
        tokens_of_run = reader.count("training_tokens", most=10**15)
    check_plan(plan)
    accelerator = read_accelerator(reader, facts)
    return Asked(
        plan=plan,
        model=model,
        accelerator=accelerator,
        reader=reader,
        filled=reader.filled,
        defaults=sorted(set(reader.defaults)),
        training_tokens=tokens_of_run,
        network_bytes_per_s=read_network(reader),
        price_per_hour=read_price(reader, "price_per_hour"),
        electricity_per_kwh=read_price(reader, "electricity_per_kwh"),
    )


def read_trained(reader: TrainingReader, facts: Catalog) -> ReadModel:
    """Return the model, of a change the one that was read; raises ScenarioError where training it is not modelled."""
    value = reader.take("model")
    if isinstance(value, ReadModel):
        return value
    model = read_model(value, facts)
    if model.architecture.convolves:
        raise ScenarioError(
            "model", f"{model.name}: what training of layers on grids of their own keeps is not modelled"
        )
    if not any(kind.tensors for kind in model.architecture.kinds):
        raise ScenarioError("model", f"{model.name}: has no layer that could be trained")
    reader.filled["model"] = model.written or reader.given["model"]
    return model


def read_plan(reader: TrainingReader, model: ReadModel, facts: Catalog) -> Plan:
    """Return what is trained, how, on how many devices, and what is computed and kept on the way."""
    architecture, limit = model.architecture, model.context_tokens
    name = reader.choice("method", METHODS)
    reader.presets["precision"] = usual_precision(reader, facts)
    scheme = SCHEMES[reader.choice("precision", tuple(SCHEMES))]
    scheme = read_adapter_type(reader, scheme, name)
    method = read_method(reader, name, scheme, architecture, facts=facts)
    layout, stage_of_zero, shard_ranks = read_division(reader, architecture)
    method = method._replace(expert_shares=expert_shares(layout, stage_of_zero))
    tokens = reader.count("sequence_tokens", most=MOST_SEQUENCE, default=min(2048, limit or 2048))
    packed = read_packed(reader, model.architecture, tokens)
    by_xla = reader.take("compile") == XLA
    compiled = True if by_xla else reader.open_flag("compile", USUAL)
    varied = reader.open_flag("varied_lengths", UNKNOWN)
    loss = reader.choice("cross_entropy", (FULL_LOSS, SHIFTED, NARROW, CHUNKED, COMPILED, FUSED))
    of_layers = usually_compiled(scheme, layout) if compiled is None else compiled
    choices = read_choices(reader, architecture, method, scheme, compiled=of_layers, casts_apart=loss == FUSED)
    checkpointing = reader.choice("checkpointing", (NO_CHECKPOINTS, SELECTIVE, FULL))
    return Plan(
        architecture=architecture,
        method=method,
        scheme=scheme,
        layout=layout,
        stage_of_zero=stage_of_zero,
        shard_ranks=shard_ranks,
        micro_batch=reader.count("micro_batch", most=MOST_BATCH),
        tokens=tokens,
        accumulation=reader.count("gradient_accumulation", most=MOST_BATCH, default=layout.pipeline),
        in_backward=reader.flag("optimizer_in_backward"),
        checkpointing=checkpointing,
        selective=read_selective(reader, choices) if checkpointing == SELECTIVE else "",
        choices=choices,
        compile_stated=compiled is not None,
        by_xla=by_xla,
        loss_compiled=compiled is not False,
        cross_entropy=loss,
        keep_logits=reader.flag("keep_logits"),
        offload=read_offload(reader),
        reduced_last=reader.choice("gradient_reduction", ("each", "last")) == "last",
        varied_lengths=varied is True,
        stated="framework" in reader.given or (compiled is not None and varied is not None),
        tables_apart=reader.flag("tables_apart"),
        adapters_apart=reader.flag("adapters_apart"),
        expandable_segments=reader.flag("expandable_segments"),
        context_exchange=reader.choice("context_exchange", (RING, HEADS)),
        gather_bytes=read_gathering(reader, scheme),
        reduced_bytes=read_reduction(reader, scheme, method.gradient_bytes),
        narrow_gradients=reader.flag("narrow_gradients_kept"),
        sequence_parallel=reader.flag("sequence_parallel"),
        core=framework_is("megatron_core", reader, facts),
        graphs=read_graphs(reader, facts),
        packed=packed,
        packed_apart=framework_is("packed_apart", reader, facts),
        tensor_overlap=reader.flag("tensor_overlap"),
        tiles=str(reader.filled["attention"]).removeprefix("flash").removeprefix("-").removesuffix(EAGER),
        stage_split=reader.choice("stage_split", (EVEN, COST)),
        virtual_stages=reader.count("virtual_stages", most=MOST_DEGREE),
    )


def read_packed(reader: TrainingReader, architecture: Architecture, tokens: int) -> int:
    """Return the tokens of the sequences that are packed into one of `tokens`; as many where none are.

    What is packed is not padded, whatever a framework does by default. Raises ScenarioError where a scenario says that
    it is, for sequences that are longer than what they are packed into, and for a model whose encoder reads each apart.
    """
    if reader.given.get("packed_tokens") is None:
        return tokens
    if architecture.has_encoder:
        raise ScenarioError("packed_tokens", "does not apply: what an encoder reads is not packed")
    packed = reader.count("packed_tokens", most=MOST_SEQUENCE)
    if packed > tokens:
        raise ScenarioError("packed_tokens", f"are at most the {tokens:,} of what they are packed into")
    for name in PADDED:
        if reader.given.get(name) is True:
            raise ScenarioError("packed_tokens", f"does not go together with {name}: what is packed is not padded")
        reader.presets[name] = False
    return packed


def read_choices(
    reader: TrainingReader,
    architecture: Architecture,
    method: Method,
    scheme: Scheme,
    *,
    compiled: bool,
    casts_apart: bool,
) -> Choices:
    """Return how a layer is computed, and what of it is kept."""
    mask = reader.flag("padding_mask")
    flash = reader.choice("attention", ATTENTIONS) != EAGER
    return Choices(
        flash=flash and keeps_no_scores(architecture, scheme, mask=mask),
        mask=mask,
        compiled=compiled,
        casts_apart=casts_apart,
        unpacks=method.base.bits < WHOLE_BITS,
        all_gradients=method.all_gradients,
        gathered=reader.flag("gathered_inputs_kept"),
        narrow_inputs=reader.flag("narrow_inputs_kept"),
        weighted_inside=reader.flag("experts_weighted_inside"),
        weights_kept=reader.flag("gathered_weights_kept"),
        inputs_kept=reader.filled["method"] == "qlora" and reader.flag("base_inputs_kept"),
    )


def read_selective(reader: TrainingReader, choices: Choices) -> str:
    """Return what selective checkpoints compute again: scores where they are kept, else all but the costly products."""
    return reader.choice("selective", (PER_OPERATION, SCORES), PER_OPERATION if choices.flash else SCORES)


def read_method(
    reader: TrainingReader, name: str, scheme: Scheme, architecture: Architecture, *, facts: Catalog
) -> Method:
    """Return what is trained and by what: the whole model or adapters beside a base, and the optimizer."""
    gradient_bytes = read_gradients(reader, scheme, name)
    optimizer = OPTIMIZERS[reader.choice("optimizer", tuple(OPTIMIZERS))]
    adapters = read_adapters(reader, name, architecture)
    if adapters is not None:
        plain = not (adapters.dora or adapters.dropout)  # without which Unsloth's own kernels do not serve
        adapters = adapters._replace(
            joined=framework_is("megatron_core", reader, facts),
            summed=plain and framework_is("adapters_summed", reader, facts),
        )
    base, group = read_base(reader, name, scheme, facts)
    return Method(
        adapters=adapters,
        base=base,
        group=group,
        optimizer=optimizer,
        updated_bytes=scheme.updated if adapters is None else scheme.adapter,
        gradient_bytes=gradient_bytes,
        copy_bytes=scheme.compute,
        all_gradients=reader.flag("frozen_gradients"),
        rest_bytes=4 if scheme.weight == 4 else 0,  # prepare_model_for_kbit_training raises them to FP32
        experts_left=not reader.flag("experts_quantized") and base.id in BITSANDBYTES,
    )


def read_offload(reader: TrainingReader) -> tuple[str, ...]:
    """Return what is kept in host memory."""
    value = reader.take("offload")
    if not isinstance(value, list | tuple):
        raise WrongValueError("offload", f"must be a list out of {', '.join(OFFLOADS)}, not {value!r:.60}")
    for item in value:
        if item not in OFFLOADS:
            raise WrongValueError(
                "offload", f"has {item!r:.60}{nearest(str(item), OFFLOADS)}; allowed are {', '.join(OFFLOADS)}"
            )
    return tuple(dict.fromkeys(str(item) for item in value))


def overlaps(asked: Asked, facts: Catalog) -> bool:
    """Return whether devices work at the same time: those that hold layers for a framework without stages do not."""
    framework = asked.filled.get("framework")
    named = framework if isinstance(framework, str) else None
    return asked.plan.layout.pipeline == 1 or has_stages(facts=facts, framework=named)


def works_of(asked: Asked, facts: Catalog) -> Runs:
    """Return whether something is known to keep the run from starting."""
    plan = asked.plan
    framework = asked.filled.get("framework")
    return what_trains(
        facts=facts,
        framework=framework if isinstance(framework, str) else None,
        device=asked.accelerator,
        base=plan.method.base.id,
        precision=plan.scheme.id if "precision" in asked.reader.given else None,
        method=str(asked.filled["method"]),
        layout=plan.layout,
        sharding=str(asked.filled["sharding"]),
    )
