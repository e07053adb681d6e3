"""The types of a training run: what weights, adapters and gradients are kept in, and what ranks exchange."""

from functools import lru_cache

from calc.catalog import Catalog
from calc.catalog.records import Accelerator, Mixture, NumberFormat
from calc.errors import ScenarioError
from calc.memory.training.states import Scheme
from calc.planning.training_support import trains_in
from calc.scenario.formats import read_format
from calc.training.fields import DEFAULTS, GRADIENT_TYPES, QLORA_BASE, TrainingReader


def usual_precision(reader: TrainingReader, facts: Catalog) -> str:
    """Return the precision where nobody says it: the framework's own, or what it is on the device."""
    usual = str(reader.presets.get("precision", DEFAULTS["precision"]))
    name, framework = reader.given.get("accelerator"), reader.filled.get("framework")
    if not isinstance(name, str):
        return usual
    return precision_on(facts.accelerator(name), usual, framework=str(framework) if framework else None, facts=facts)


@lru_cache(maxsize=256)  # each change of a run asks for the same
def precision_on(device: Accelerator, usual: str, *, framework: str | None, facts: Catalog) -> str:
    """Return the precision of a device where nobody says it: what is usual, FP16 without BF16, or else FP32."""
    narrow = "fp16" in device.facts and "bf16" not in device.facts
    for precision in (usual, "fp16-autocast" if usual == "bf16-autocast" else "fp16-mixed"):
        if not (narrow and precision.startswith("bf16")) and trains_in(
            precision, facts=facts, framework=framework, device=device
        ):
            return precision
    return "fp32"


def type_names(scheme: Scheme) -> dict[int, str]:
    """Return the names of a scheme's wide and narrow type by their bytes."""
    return {4: "fp32", 2: "fp16" if scheme.id.startswith("fp16") else "bf16"}


def read_adapter_type(reader: TrainingReader, scheme: Scheme, method: str) -> Scheme:
    """Return the scheme with adapters in the type that is asked for."""
    if method == "full":
        if "adapter_dtype" in reader.given:
            raise ScenarioError("adapter_dtype", 'is for "lora" and "qlora"')
        return scheme
    name = reader.choice("adapter_dtype", tuple(GRADIENT_TYPES), type_names(scheme)[scheme.adapter])
    return scheme._replace(adapter=GRADIENT_TYPES[name])


def read_gradients(reader: TrainingReader, scheme: Scheme, method: str) -> int:
    """Return the bytes of a gradient that waits for the optimizer.

    By default as the scheme has it; sums in FP32 are Megatron-LM's, and ZeRO-2 and ZeRO-3 divide 16-bit ones.
    """
    width = scheme.gradient if method == "full" else scheme.adapter
    divided = reader.given.get("sharding") in ("zero-2", "zero-3", "fsdp")
    if scheme.master and divided and method == "full":
        width = scheme.compute
    return GRADIENT_TYPES[reader.choice("gradient_dtype", tuple(GRADIENT_TYPES), type_names(scheme)[width])]


def read_reduction(reader: TrainingReader, scheme: Scheme, gradient_bytes: int) -> int:
    """Return the bytes of a gradient as ranks exchange it: by default as it waits for the optimizer."""
    return GRADIENT_TYPES[reader.choice("reduce_dtype", tuple(GRADIENT_TYPES), type_names(scheme)[gradient_bytes])]


def read_gathering(reader: TrainingReader, scheme: Scheme) -> int:
    """Return the bytes of a parameter as it is gathered: as it computes, unless FSDP has no precision of its own."""
    return GRADIENT_TYPES[reader.choice("gather_dtype", tuple(GRADIENT_TYPES), type_names(scheme)[scheme.compute])]


def read_base(reader: TrainingReader, method: str, scheme: Scheme, facts: Catalog) -> tuple[NumberFormat, int | None]:
    """Return the number format of the stored weights, and a group size that replaces its own."""
    if method == "full":
        if "base_weights" in reader.given:
            raise ScenarioError("base_weights", 'is for "lora" and "qlora"; in full training `precision` says it')
        return facts.number_format("fp32" if scheme.weight == 4 else "bf16"), None
    default = QLORA_BASE if method == "qlora" else scheme.base
    base, group = read_format(reader.take("base_weights", default), "base_weights", facts)
    if isinstance(base, Mixture):
        raise ScenarioError("base_weights", f"{base.id} is a mixture of llama.cpp, through which nothing trains")
    if not isinstance(base, NumberFormat):
        raise ScenarioError("base_weights", "has the same number format in all blocks; leave `excluded` out")
    if isinstance(reader.filled["base_weights"], str):
        reader.filled["base_weights"] = base.id
    return base, group
