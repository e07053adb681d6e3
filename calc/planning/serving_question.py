"""What the speed of a demand under an engine is asked of, how far measurements lie apart, and what drafts gain."""

from calc.architecture.layers import Architecture
from calc.catalog import catalog
from calc.catalog.records import Accelerator, Engine
from calc.memory.engines.vllm import step_tokens
from calc.memory.runtime import Case
from calc.performance.engine_passes import kernel_classes
from calc.performance.speed import Question, passes_for
from calc.planning.measured import SPEED, range_factor
from calc.planning.served import Served, served_measured
from calc.planning.serving import Serving
from calc.planning.serving_report import Report


def speculation_gain(served: Served, question: Question | None) -> Report | None:
    """Return what drafts gain, None without speculation."""
    if question is None or question.demand.draft is None:
        return None
    from calc.performance.speculation import gain  # few scenarios ask for it

    values, demand = served.serving.engine.values, question.demand
    plain = passes_for(question._replace(demand=demand._replace(draft=None)), values)
    drafted = passes_for(question, values)
    if plain is None or drafted is None:
        return None
    context = demand.tokens - question.output_tokens + question.output_tokens // 2
    found = gain(plain=plain, drafted=drafted, sequences=served.case.sequences, context=context)
    most = found.helps_up_to
    return {
        "tokens_per_step": found.tokens_per_step,
        "gain": found.factor,
        "helps_up_to_sequences": None if most is None else most * served.layout.data,
    }


def speed_question(served: Served, output_tokens: int, cached_tokens: int) -> Question | None:
    """Return what a speed is asked of, None without an accelerator or an engine whose speed was measured."""
    serving, device = served.serving, served.serving.accelerator
    if device is None and not (serving.placement.alone and serving.engine.is_timed):
        return None
    if device is not None and not is_timed_on(serving.engine, device):
        return None
    demand = served.demand
    found = demand.prefix.found(demand.prompt_tokens)
    return Question(
        demand=demand._replace(prompt_tokens=demand.prompt_tokens - found),
        layout=served.layout,
        accelerator=device,
        engine=serving.engine.id,
        era=serving.engine.era,
        backend=serving.engine.backend,
        output_tokens=output_tokens,
        cached_tokens=cached_tokens + found,
        batched_tokens=prefill_tokens(served.case),
        attention=kernels_of_attention(serving, demand.architecture),
        placement=serving.placement,
        host=serving.host,
        places=tuple(serving.places(served.demand)),
        most=served.most,
        correction=serving.correction,
        serves=serving.concurrency is not None or serving.traffic is not None,
    )


def kernels_of_attention(serving: Serving, architecture: Architecture) -> str:
    """Return whose kernels attend: what was asked for, or Triton's where an engine has no others for a family."""
    device = serving.accelerator
    if serving.attention != "flash" or device is None:
        return serving.attention
    classes, attention = kernel_classes(device, serving.engine.backend), architecture.attention
    families = (architecture.family, "latent") if attention and attention.latent else (architecture.family,)
    return "triton" if any(serving.engine.attends_by_triton(family, classes) for family in families) else "flash"


def is_timed_on(engine: Engine, accelerator: Accelerator) -> bool:
    """Return whether an engine's speed on a device has a ground: a published rate, or runs on its maker's devices.

    Without matrix units the rate in FP32 is one for an engine with kernels of its own for packed weights.
    """
    if not engine.is_timed or accelerator.sixteen_bit is not None:
        return engine.is_timed
    if engine.values.get("integer_share") and accelerator.quantity("fp32"):
        return True
    return any(name.endswith(f"@{accelerator.vendor}") for name in engine.values)


def speed_factors(served: Served) -> tuple[float, float]:
    """Return the factors either way within which four of five measurements lie: of decoding steps, and of prefill."""
    facts, engine = catalog(), served.serving.engine.id
    sources = served_measured(served, facts).speed.sources
    step, first = (
        range_factor(facts, SPEED, engine=engine, phase=phase, sources=sources) for phase in ("decode", "prefill")
    )
    return step, first


def prefill_tokens(case: Case) -> int | None:
    """Return the tokens of a prefill pass, None where the engine passes whole prompts at once."""
    values = case.engine.values
    if case.batched_tokens is not None and case.engine.id != "transformers":
        return case.batched_tokens
    if "batched_tokens" not in values:
        return None
    return step_tokens(case)
