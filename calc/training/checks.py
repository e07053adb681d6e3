"""What excludes each other in a training run, and what is risky."""

from calc.architecture.parameters import parameters_total
from calc.catalog.records import Accelerator
from calc.derivation import INFO, WRONG, Warn
from calc.errors import ScenarioError
from calc.memory.training.plan import (
    GRADIENTS,
    PARAMETERS,
    Plan,
)
from calc.memory.training.states import FACTORED, MATRICES
from calc.performance.fabric import tensor_warnings
from calc.performance.power import power_warnings
from calc.units import show_gib

WHOLE_BITS = 16  # of weights that nothing quantizes
# Warnings of memory that is counted roughly or not at all: of 25 runs with room that were asked blind and of which one
# was said 17 ran out of memory.
MISCOUNTED = frozenset(("towers-not-counted", "activations-approximate", "experts-not-quantized", "base-loaded-whole"))


def check_plan(plan: Plan) -> None:
    """Raise for choices that exclude each other."""
    if plan.in_backward and plan.accumulation > 1:
        message = "frees each gradient at once, so micro-batches cannot add up: gradient_accumulation must be 1"
        raise ScenarioError("optimizer_in_backward", message)
    if plan.sequence_parallel and plan.layout.tensor == 1:
        raise ScenarioError("sequence_parallel", "divides the stream over tensor-parallel ranks, and there is but one")
    if plan.virtual_stages > 1:
        check_interleaving(plan)
    if plan.tokens < plan.layout.context:
        message = f"{plan.layout.context} ranks cannot divide {plan.tokens} tokens"
        raise ScenarioError("parallelism.context", message)
    if "parameters" in plan.offload and plan.stage_of_zero != PARAMETERS:
        raise ScenarioError("offload", '"parameters" needs sharding zero-3, which gathers a layer at a time')
    if plan.method.optimizer.kind == MATRICES and plan.stage_of_zero >= GRADIENTS:
        message = "muon needs whole matrices, and zero-2 and zero-3 leave each rank a piece; none and zero-1 work"
        raise ScenarioError("optimizer", message)
    if plan.in_backward and "optimizer" in plan.offload:
        message = "updates on the device as gradients come; it cannot be combined with an offloaded optimizer"
        raise ScenarioError("optimizer_in_backward", message)
    if plan.method.optimizer.paged and "optimizer" in plan.offload:
        raise ScenarioError("offload", "a paged optimizer already keeps its states in host memory")
    check_gathering(plan)


def check_interleaving(plan: Plan) -> None:
    """Raise where stages cannot have several pieces of the model each.

    The token table and the output matrix may each stand for a layer, as account_for_embedding_in_pipeline_split and
    account_for_loss_in_pipeline_split of Megatron-LM have them: 126 layers make 128 pieces.
    """
    stages, pieces, layers = plan.layout.pipeline, plan.virtual_stages, plan.architecture.layer_count
    if stages == 1:
        raise ScenarioError("virtual_stages", "needs a pipeline: parallelism.pipeline is 1")
    most = (layers + 2) // stages
    if pieces > most:
        message = f"must leave each piece a layer: {stages} stages of {layers} layers have at most {most}"
        raise ScenarioError("virtual_stages", message)


def check_gathering(plan: Plan) -> None:
    """Raise for choices that only sharded gradients or parameters have."""
    if plan.choices.all_gradients and (plan.adapters is None or plan.stage_of_zero != PARAMETERS):
        message = 'is for "lora" and "qlora" with sharding zero-3, where adapters share a flat parameter with the base'
        raise ScenarioError("frozen_gradients", message)
    if plan.choices.all_gradients and plan.choices.unpacks:
        raise ScenarioError("frozen_gradients", "a quantized base is stored in whole numbers, which have no gradients")
    if plan.gather_bytes > plan.scheme.compute and (plan.stage_of_zero != PARAMETERS or not plan.scheme.autocast):
        message = '"fp32" needs sharding zero-3 of FP32 parameters: precision "bf16-autocast"'
        raise ScenarioError("gather_dtype", message)
    if plan.choices.gathered and not plan.sequence_parallel:
        raise ScenarioError("gathered_inputs_kept", "needs sequence_parallel, without which nothing is gathered")
    if plan.choices.weights_kept and plan.stage_of_zero != PARAMETERS:
        raise ScenarioError("gathered_weights_kept", "needs sharding zero-3, without which nothing is gathered")
    if plan.choices.narrow_inputs and plan.scheme.id != "fp8-mixed":
        raise ScenarioError(
            "narrow_inputs_kept", 'needs precision "fp8-mixed", under which matrices multiply in 8 bits'
        )
    if plan.narrow_gradients and plan.method.gradient_bytes == plan.scheme.compute:
        raise ScenarioError("narrow_gradients_kept", 'needs gradient_dtype "fp32": sums beside which 16-bit ones stay')
    if plan.reduced_last and plan.stage_of_zero < GRADIENTS:
        message = '"last" needs sharding zero-2 or zero-3; without it each rank has whole gradients anyway'
        raise ScenarioError("gradient_reduction", message)
    check_units(plan)


def check_units(plan: Plan) -> None:
    """Raise for units of their own where nothing is gathered unit by unit."""
    if plan.tables_apart and plan.stage_of_zero != PARAMETERS:
        raise ScenarioError("tables_apart", "needs sharding zero-3, which gathers parameters unit by unit")
    if plan.adapters_apart and (plan.adapters is None or plan.stage_of_zero != PARAMETERS):
        message = 'is for "lora" and "qlora" with sharding zero-3, which gathers parameters unit by unit'
        raise ScenarioError("adapters_apart", message)
    if plan.adapters_apart and plan.choices.all_gradients:
        raise ScenarioError("adapters_apart", "does not go together with frozen_gradients, of units that hold both")


def warnings(plan: Plan, context_limit: int | None, accelerator: Accelerator | None, device_bytes: int) -> list[Warn]:
    """Return what is risky about a plan that takes so many bytes of a device, or has no effect."""
    found = [] if plan.stated else [habits(plan)]
    if context_limit and plan.tokens > context_limit:
        message = f"{plan.tokens:,} tokens are more than the {context_limit:,} that the model is made for"
        found.append(Warn("context-beyond-trained", message, "sequence_tokens"))
    if plan.stage_of_zero and plan.shard_ranks == 1 and "parameters" not in plan.offload:
        message = "nothing is divided: there is one data-parallel rank"
        found.append(Warn("sharding-without-ranks", message, "sharding", INFO))
    if plan.method.optimizer.kind == FACTORED and plan.stage_of_zero:
        message = "Adafactor keeps rows and columns of whole matrices; sharding that flattens them breaks it"
        found.append(Warn("optimizer-sharding", message, "optimizer", WRONG))
    if plan.layout.pipeline > 1 and plan.stage_of_zero >= GRADIENTS:
        message = (
            "with pipeline stages gradients of all micro-batches add up, so ZeRO-1 is usual; DeepSpeed refuses more"
        )
        found.append(Warn("sharding-pipeline", message, "sharding"))
    if plan.layout.pipeline > 1 and plan.accumulation < plan.layout.pipeline:
        message = f"{plan.accumulation} micro-batches leave stages idle; {plan.layout.pipeline} or more fill them"
        found.append(Warn("pipeline-bubble", message, "gradient_accumulation"))
    if not plan.choices.flash and plan.tokens > 4096:
        message = "eager attention keeps the scores of every pair of tokens; flash keeps none"
        found.append(Warn("scores-kept", message, "attention"))
    found += [*model_warnings(plan), *kernel_warnings(plan)]
    if accelerator is not None:
        found += hardware_warnings(plan, accelerator, device_bytes)
    return found


def habits(plan: Plan) -> Warn:
    """Return what is taken where no framework is named: what follows from the layout, precision and sharding given."""
    code = "compiled" if plan.choices.compiled else "not compiled"
    message = (
        f"no framework is named: code is taken as {code}, gradients wait in {8 * plan.method.gradient_bytes} bit, "
        f"ranks share them after {'the last' if plan.reduced_last else 'each'} micro-batch, and batches have one length"
    )
    return Warn("framework-not-named", message, "framework", INFO)


def model_warnings(plan: Plan) -> list[Warn]:
    """Return what of a model is counted roughly or not at all."""
    found = []
    if any(kind.recurrence is not None for kind in plan.architecture.kinds):
        message = "activations of recurrent layers are estimated from their width, not from each operation"
        found.append(Warn("activations-approximate", message, "model", INFO))
    if plan.architecture.alone is not plan.architecture:
        message = (
            "sequences are counted as text: pictures and sounds pass the model's tower first, whose activations and "
            "time come on top, and what it makes of them stands among the tokens"
        )
        if plan.adapters is None:
            message += "; its weights are counted as trained, which LLaMA-Factory and ms-swift freeze by default"
        found.append(Warn("towers-not-counted", message, "sequence_tokens"))
    return found


def kernel_warnings(plan: Plan) -> list[Warn]:
    """Return which kernels a plain training loop may get without asking for them."""
    found = []
    if plan.choices.flash and plan.choices.mask:
        message = "a padding mask makes attention multiply every pair of tokens; packed sequences without one skip half"
        found.append(Warn("mask-multiplies", message, "padding_mask"))
    if plan.varied_lengths and plan.micro_batch > 1 and not plan.choices.mask:
        message = (
            "sequences of several lengths are padded to one: where attention is PyTorch's own, a mask makes it "
            "multiply every pair, as padding_mask counts it; packing skips both"
        )
        found.append(Warn("padding-not-counted", message, "padding_mask"))
    if plan.adapters is not None and plan.scheme.adapter > plan.scheme.compute and not plan.numerics.autocast:
        message = (
            "adapters are kept in FP32, and nothing casts their inputs: their products run at FP32's rate; BF16 "
            "autocast or adapters in 16 bit are faster"
        )
        found.append(Warn("adapters-wide", message, "adapter_dtype"))
    return found


def expert_warnings(plan: Plan, framework: object) -> list[Warn]:
    """Return that a quantized base leaves experts as they are, or would under most frameworks where none is named."""
    if (
        plan.method.base.bits >= WHOLE_BITS
        or not plan.architecture.experts
        or not (plan.method.experts_left or framework is None)
    ):
        return []
    counted = "which is counted" if plan.method.experts_left else "four times what is counted, as no framework is named"
    message = (
        "Transformers from 5.0 on keeps the experts of a layer as one parameter, which bitsandbytes does not quantize: "
        f"they stay in 16 bit, {counted}; before 5.0, under Unsloth and with Axolotl's quantize_moe_experts they are "
        "quantized (experts_quantized; bitsandbytes#1849)"
    )
    return [Warn("experts-not-quantized", message, "experts_quantized")]


def hardware_warnings(plan: Plan, accelerator: Accelerator, device_bytes: int) -> list[Warn]:
    """Return what the accelerator cannot do natively, and whether it may hold more than is counted."""
    found = []
    precision = plan.scheme.id
    needed = "fp8" if precision == "fp8-mixed" else "bf16" if precision.startswith("bf16") else ""
    if needed and needed not in accelerator.facts:
        message = f"{accelerator.name} does not compute in {needed.upper()}"
        found.append(Warn("format-not-native", message, "precision"))
    base = plan.method.base.bits / 8 * parameters_total(plan.architecture)
    whole = device_bytes + base * (1 - 1 / plan.shard_ranks)  # as where a rank's share is all of the base
    if plan.adapters is not None and plan.stage_of_zero == PARAMETERS and whole > accelerator.capacity_bytes:
        # transformers' pages on DeepSpeed and on bitsandbytes with FSDP, where 4 bits are shared only if they are
        # stored as another type (peft#1703); llama-cookbook#37 and #263, starcoder#96
        message = (
            f"a device has no room for the whole frozen base of {show_gib(base)} beside the rest, and ranks share it "
            "only if the program is told so before it loads the model: else each has all of it then, or when it saves"
        )
        found.append(Warn("base-loaded-whole", message, "sharding"))
    return [*found, *tensor_warnings(accelerator, plan.layout.tensor), *power_warnings(accelerator)]
