"""The working of a training step: operations and bytes of a micro-batch, the seconds they take, and what follows."""

from calc.derivation import Step
from calc.memory.training.plan import Plan
from calc.performance.training_step import Rates, StepTime
from calc.performance.training_work import TokenFlops
from calc.units import show_count, show_number

SECONDS = 4  # digits


def step_steps(time: StepTime, flops: TokenFlops, source: str) -> list[Step]:
    """Return the steps from a micro-batch's work to the seconds of a step."""
    one, rates, whole = time.slowest, time.rates, time.work.whole
    seconds = (one.matrices, one.attention, one.moved + one.unpacking + one.gaps)
    shown = [show_number(value, SECONDS) for value in seconds]
    device = show_number(one.device + one.waiting, SECONDS)
    formula = r"t_{\text{matrices}} + t_{\text{attention}} + t_{\text{moved}} + t_{\text{links}}"
    numbers = f"{shown[0]} + {shown[1]} + {shown[2]} + {show_number(one.waiting, SECONDS)}"
    each, busy = one.total(rates.overlap), one.busy
    both = f"{show_number(busy, SECONDS)}, {show_number(one.behind, SECONDS)}"
    return [
        *flops_steps(flops),
        *reached_steps(rates, source),
        Step(
            "Matrix products of a micro-batch, with their operands",
            r"\frac{F}{P_e} + \frac{B}{BW_e}",
            f"{whole.matrix_flops:.4g} / {rates.matrix:.4g} + {whole.matrix_bytes:.4g} / {rates.memory:.4g}",
            whole.matrix_flops / rates.matrix + whole.matrix_bytes / rates.memory,
            "s",
            source,
        ),
        Step(
            "Attention of a micro-batch",
            r"\frac{F_{\text{attention}}}{e \cdot P}",
            f"{whole.attention_flops:.4g} / {rates.attention:.4g}",
            one.attention,
            "s",
            source,
        ),
        Step(
            "Bytes moved between matrix products",
            r"\frac{B_{\text{moved}}}{BW_e}",
            f"{whole.moved_bytes:.4g} / {rates.memory:.4g}",
            one.moved,
            "s",
            source,
        ),
        Step("A micro-batch on the device", formula, numbers, one.device + one.waiting, "s", source),
        Step(
            "A micro-batch, with the host's launches and what it hands on",
            r"\max(t, t_{\text{host}}) + t_{\text{next stage}}",
            f"max({device}, {show_number(one.launch, SECONDS)}) + {show_number(one.hand_over, SECONDS)}",
            busy,
            "s",
            source,
        ),
        Step(
            "… with what is sent behind it",
            r"\max(t, t_{\text{behind}}) + (1 - o) \cdot \min(t, t_{\text{behind}})",
            f"max({both}) + (1 − {rates.overlap:g}) × min({both})",
            each,
            "s",
            source,
        ),
        Step(
            "All micro-batches through all stages",
            r"(m - 1) \cdot t + \sum_{\text{stages}} t_i + t_{\text{reduced}}",
            f"({show_count(time.micro_batches)} − 1) × {show_number(each, SECONDS)}"
            f" + {show_number(time.pipeline_s - (time.micro_batches - 1) * each, SECONDS)}",
            time.pipeline_s,
            "s",
            "pipeline-1f1b",
        ),
        Step(
            "Seconds of a step",
            r"t_{\text{micro-batches}} + t_{\text{gathered}} + t_{\text{optimizer}}",
            f"{show_number(time.pipeline_s, SECONDS)} + {show_number(time.exchange_s, SECONDS)}"
            f" + {show_number(time.optimizer_s, SECONDS)}",
            time.total,
            "s",
            source,
        ),
    ]


def reached_steps(rates: Rates, source: str) -> list[Step]:
    """Return the steps from the rates of the data sheet to those that are reached."""
    gain = f" × {rates.gain:g}" if rates.gain != 1 else ""
    formula = r"e \cdot P \cdot g" if gain else r"e \cdot P"
    numbers = f"{rates.matrix_share:g} × {rates.peak:.4g}{gain}"
    bandwidth = f"{rates.memory_share:g} × {rates.bandwidth:.4g}"
    return [
        Step("Rate that matrix products sustain", formula, numbers, rates.matrix, "operations/s", source),
        Step("Bandwidth that is reached", r"e \cdot BW", bandwidth, rates.memory, "B/s", source),
    ]


def flops_steps(flops: TokenFlops) -> list[Step]:
    """Return the operations of one token."""
    numbers = f"{2 * flops.passes} × {show_count(flops.parameters)} + 3 × {show_count(flops.attention)}"
    formula = rf"{2 * flops.passes} N + 3 \cdot 4 L H d T"
    return [Step("Operations of the model for one token", formula, numbers, flops.model, "operations", "palm")]


def rate_steps(plan: Plan, time: StepTime, flops: TokenFlops, peak: float, source: str) -> list[Step]:
    """Return the steps from the seconds of a step to tokens a second and utilization."""
    tokens = plan.micro_batch * plan.accumulation * plan.layout.data * plan.tokens
    rate = tokens / time.total / plan.layout.devices
    return [
        Step(
            "Tokens a second and device",
            r"\frac{b \cdot m \cdot n_{\text{data}} \cdot T}{t \cdot n}",
            f"{plan.micro_batch} × {plan.accumulation} × {plan.layout.data} × {show_count(plan.tokens)}"
            f" / ({show_number(time.total, SECONDS)} × {show_count(plan.layout.devices)})",
            rate,
            "tokens/s",
            source,
        ),
        Step(
            "Model FLOPs utilization",
            r"\frac{r \cdot F}{P}",
            f"{show_number(rate, SECONDS)} × {flops.model:.4g} / {peak:.4g}",
            rate * flops.model / peak,
            "ratio",
            "palm",
        ),
    ]
