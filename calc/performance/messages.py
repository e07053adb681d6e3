"""What a model's devices send each other: the messages of a pass or a step, by the way in which they share the work."""

from collections.abc import Callable
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_total
from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.catalog.records import Accelerator
from calc.memory.budget import Layout
from calc.memory.training.plan import NONE, PARAMETERS
from calc.performance.exchanges import shared
from calc.performance.forward import Segment, forward
from calc.performance.kernels import kernels
from calc.performance.operations import Collective, Experts, Product
from calc.performance.rank_model import RankModel, rank_model
from calc.performance.totals import total_flops

TENSOR, SHARDED, GRADIENTS, STAGES, EXPERTS = "tensor", "sharded", "gradients", "stages", "experts"
SHARINGS = (TENSOR, SHARDED, GRADIENTS, STAGES, EXPERTS)
TRAINED = (SHARDED, GRADIENTS)  # what happens in a training step; the others are of one forward pass
LAYOUTS: dict[str, Callable[[int], Layout]] = {
    TENSOR: lambda devices: Layout(tensor=devices),
    STAGES: lambda devices: Layout(pipeline=devices),
    EXPERTS: lambda devices: Layout(data=devices, expert=devices),
}
SOURCES = {TENSOR: "megatron-lm", STAGES: "gpipe", EXPERTS: "gshard"}


class Messages(NamedTuple):
    """Messages of one size, sent one after the other."""

    operation: str
    repeats: int
    message_bytes: float
    formula: str  # of the size
    substituted: str
    source: str


def messages(
    sharing: str, *, architecture: Architecture, devices: int, tokens: int, element_bytes: float
) -> list[Messages]:
    """Return what devices send in a forward pass over `tokens`, or in a training step.

    Tensor ranks reduce hidden states twice a layer (Megatron-LM, arXiv:1909.08053). Sharded parameters are gathered for
    the forward and for the backward pass and their gradients scattered (ZeRO, arXiv:1910.02054, section 7.2);
    replicas reduce their gradients. Stages hand hidden states on. Expert ranks send each token to its experts and back.
    """
    if sharing not in TRAINED:
        return passed_on(
            sharing, architecture=architecture, devices=devices, tokens=tokens, element_bytes=element_bytes
        )
    layers, parameters = architecture.layer_count, parameters_total(architecture)
    size, whole = parameters * element_bytes, sharing == GRADIENTS
    sent = shared(
        zero=NONE if whole else PARAMETERS,
        summed=size,
        stored=size,
        layers=layers,
        shards=1 if whole else devices,
        copies=devices if whole else 1,
    )
    counts: dict[Collective, float] = {}
    for one, times in sent.forward + sent.backward + sent.reduced:
        if isinstance(one, Collective) and one.ranks > 1:
            counts[one] = counts.get(one, 0) + times
    numbers = f"{parameters:,} × {element_bytes:g} / {layers}"
    return [
        Messages(one.kind, round(times), one.message_bytes, r"\frac{N \cdot b}{L}", substituted=numbers, source="zero")
        for one, times in counts.items()
    ]


def passed_on(
    sharing: str, *, architecture: Architecture, devices: int, tokens: int, element_bytes: float
) -> list[Messages]:
    """Return the messages of a forward pass, as the list of its operations has them."""
    layout, share = LAYOUTS[sharing](devices), devices if sharing == EXPERTS else 1
    model = bare_rank(architecture, layout, int(element_bytes))
    found: list[Messages] = []
    for operation, times in forward(model, Segment(1.0 / share, tokens, 0, 0.0)):
        if not isinstance(operation, Collective):
            continue
        formula, numbers = r"T \cdot d \cdot b", f"{tokens:,} × {architecture.hidden_size:,} × {element_bytes:g}"
        if sharing == EXPERTS:
            experts = model.experts[0][0]
            formula = r"\frac{T}{n} \cdot k \cdot d \cdot b"
            numbers = f"{tokens:,} / {devices:,} × {experts.active} × {experts.k:,} × {element_bytes:g}"
        size = operation.message_bytes
        found.append(
            Messages(operation.kind, round(times), size, formula, substituted=numbers, source=SOURCES[sharing])
        )
    return found


def bare_rank(architecture: Architecture, layout: Layout, element_bytes: int = 2) -> RankModel:
    """Return a model in 16 bit on one rank."""
    plain = catalog().number_format("bf16")
    return rank_model(
        stage=Stage(architecture, 0, architecture.layer_count),
        weights=plain,
        group=None,
        keys=plain,
        values=plain,
        element_bytes=element_bytes,
        layout=layout,
    )


class Arithmetic(NamedTuple):
    """The seconds that devices compute between their messages, and how they come about."""

    flops: float  # of one device
    seconds: float
    numbers: str  # how many products of which seconds


def arithmetic(
    sharing: str, *, architecture: Architecture, accelerator: Accelerator, devices: int, tokens: int
) -> Arithmetic | None:
    """Return the products that devices compute beside the messages; None where a device's rates are not known.

    Two operations for each active parameter and token, three times as many in training. Attention is left out. `tokens`
    are of all devices together in a forward pass, and of each of them in training.
    """
    device = kernels(accelerator)
    if device is None:
        return None
    passes = 3 if sharing in TRAINED else 1
    layout = Layout() if sharing in TRAINED else LAYOUTS[sharing](devices)
    segment = Segment(1.0 / devices if sharing == EXPERTS else 1.0, tokens, 0, 0.0)
    done = [
        item for item in forward(bare_rank(architecture, layout), segment) if isinstance(item[0], Product | Experts)
    ]
    times = [(passes * item.times, device.seconds(item.operation)) for item in done]
    numbers = " + ".join(f"{count:g} × {seconds:.4g}" for count, seconds in times)
    return Arithmetic(passes * total_flops(done), sum(count * seconds for count, seconds in times), numbers)
