"""The working of a training step: operations of a micro-batch, the seconds they take, and what follows."""

from functools import partial

from calc.derivation import Step
from calc.memory.training.plan import Plan
from calc.performance.operations import Product
from calc.performance.token_flops import TokenFlops
from calc.performance.training_clock import (
    ADAPTED,
    ATTENTION,
    BACKWARD,
    COPIED,
    MOVED,
    ON_DEVICE,
    PRODUCTS,
    UNPACKED,
    Part,
)
from calc.performance.training_step import StepTime
from calc.units import show_count, show_number

SECONDS = 4  # digits
LAWS = "aiconfigurator-kernels"  # the source of the kernels' laws
SUMS = {
    PRODUCTS: "Matrix products of a micro-batch",
    ATTENTION: "Attention of a micro-batch forward",
    BACKWARD: "Attention of a micro-batch backward",
    MOVED: "What a micro-batch moves between its products",
    ADAPTED: "What adapters scale and add in a micro-batch",
    UNPACKED: "Weights unpacked for a micro-batch",
    COPIED: "Copies between host and device for a micro-batch",
}


def step_steps(time: StepTime, flops: TokenFlops, source: str) -> list[Step]:
    """Return the steps from a micro-batch's operations to the seconds of a step."""
    one, overlap, ahead = time.slowest, time.pace.overlap, time.pace.launch_hidden
    each, busy, found = one.total(overlap), one.busy, one.whole.parts
    launches = time.pace.launched(one.whole)
    working, launch = shown(one.device + one.waiting), shown(one.launch)
    device = " + ".join(shown(time.pace.seconds(one.whole, kind)) for kind in ON_DEVICE if kind in one.whole.sums)
    timed = partial(Step, unit="s", source=source)
    return [
        *flops_steps(flops),
        *largest_steps(found.get(PRODUCTS, ())),
        *(sum_step(name, parts, time.pace.shares[kind]) for kind, name in SUMS.items() if (parts := found.get(kind))),
        *sent_steps(time, source),
        timed(
            "A micro-batch on the device",
            r"\sum t + t_{\text{waited for}}",
            f"{device or '0'} + {shown(one.waiting)}",
            one.device + one.waiting,
        ),
        timed(
            "Its launches by the host",
            r"n \cdot t_{\text{launch}} + n_{\text{within}} \cdot t_{\text{within}}"
            r" + n_{\text{looped}} \cdot t_{\text{looped}} + n_{\text{hooks}} \cdot t_{\text{within}}",
            f"{launches.led:.6g} × {time.pace.kernel_s:.4g} + {launches.within:.6g} × {time.pace.within_s:.4g}"
            f" + {launches.looped:.6g} × {time.pace.looped_s:.4g}"
            f" + {time.pace.hooks(launches):.6g} × {time.pace.within_s:.4g}",
            one.launch,
        ),
        timed(
            "A micro-batch, with its launches and what it hands on",
            r"\max(t, t_{\text{launches}}) + (1 - h) \cdot \min(t, t_{\text{launches}}) + t_{\text{next stage}}",
            f"max({working}, {launch}) + (1 − {ahead:g}) × min({working}, {launch}) + {shown(one.hand_over)}",
            busy,
        ),
        timed(
            "… with what is sent behind it, and copied beside it",
            r"\max(\max(t, t_{\text{behind}}) + (1 - o) \cdot \min(t, t_{\text{behind}}), t_{\text{copied}})",
            f"max(max({shown(busy)}, {shown(one.behind)})"
            f" + (1 − {overlap:g}) × min({shown(busy)}, {shown(one.behind)}), {shown(one.copied)})",
            each,
        ),
        timed(
            "All micro-batches through all stages",
            r"(m - 1) \cdot t + \sum_{\text{stages}} t_i + t_{\text{reduced}}",
            f"({show_count(time.micro_batches)} − 1) × {shown(each)}"
            f" + {shown(time.pipeline_s - (time.micro_batches - 1) * each)}",
            time.pipeline_s,
            source="pipeline-1f1b",
        ),
        timed(
            "Seconds of a step",
            r"t_{\text{micro-batches}} + t_{\text{gathered}} + t_{\text{optimizer}}",
            f"{shown(time.pipeline_s)} + {shown(time.exchange_s)} + {shown(time.optimizer_s)}",
            time.total,
        ),
    ]


def shown(seconds: float) -> str:
    """Return seconds as they stand in the working."""
    return show_number(seconds, SECONDS)


def sum_step(name: str, parts: tuple[Part, ...], share: float) -> Step:
    """Return the sum of operations, each kind with how often it happens, at the share of speed that a step leaves."""
    numbers = " + ".join(f"{part.times:g} × {shown(part.alone_s)}" for part in parts)
    seconds = sum(part.seconds for part in parts) / share
    return Step(name, r"\frac{\sum n \cdot t}{e}", f"({numbers}) / {share:.4g}", seconds, unit="s", source=LAWS)


def largest_steps(listed: tuple[Part, ...]) -> list[Step]:
    """Return the operations of the largest of some products, and the rate at which they are done."""
    products = [part for part in listed if isinstance(part.operation, Product)]
    if not products:
        return []
    part = max(products, key=lambda part: part.alone_s)
    one = part.operation
    assert isinstance(one, Product)
    numbers = f"2 × {one.m:.10g} × {show_count(one.n)} × {show_count(one.k)}"
    name = f"Operations of a product, {one.name}"
    return [
        Step(name, r"2 \cdot m \cdot n \cdot k", numbers, one.flops, unit="operations", source="roofline"),
        Step(
            "Rate at which they are done alone",
            r"\frac{F}{t}",
            f"{one.flops:.6g} / {shown(part.alone_s)}",
            one.flops / part.alone_s,
            unit="operations/s",
            source=LAWS,
        ),
    ]


def sent_steps(time: StepTime, source: str) -> list[Step]:
    """Return the messages of a micro-batch: those that computation waits for, and those behind it."""
    parts = time.slowest.whole.sent
    if not parts:
        return []
    numbers = " + ".join(f"{part.times:g} × {shown(part.alone_s)}" for part in parts)
    seconds = sum(part.seconds for part in parts)
    return [Step("Messages of a micro-batch", r"\sum n \cdot t", numbers, seconds, unit="s", source=source)]


def flops_steps(flops: TokenFlops) -> list[Step]:
    """Return the operations of one token."""
    numbers = f"{2 * flops.passes} × {show_count(flops.parameters)} + 3 × {show_count(flops.attention)}"
    formula = rf"{2 * flops.passes} N + 3 \cdot 4 L H d T_{{\text{{seen}}}}"
    return [
        Step("Operations of the model for one token", formula, numbers, flops.model, unit="operations", source="palm")
    ]


def rate_steps(plan: Plan, time: StepTime, flops: TokenFlops, peak: float, source: str) -> list[Step]:
    """Return the steps from the seconds of a step to tokens a second and utilization."""
    tokens = plan.micro_batch * plan.accumulation * plan.layout.data * plan.tokens
    rate = tokens / time.total / plan.layout.devices
    return [
        Step(
            "Tokens a second and device",
            r"\frac{b \cdot m \cdot n_{\text{data}} \cdot T}{t \cdot n}",
            f"{plan.micro_batch} × {plan.accumulation} × {plan.layout.data} × {show_count(plan.tokens)}"
            f" / ({shown(time.total)} × {show_count(plan.layout.devices)})",
            rate,
            unit="tokens/s",
            source=source,
        ),
        Step(
            "Model FLOPs utilization",
            r"\frac{r \cdot F}{P}",
            f"{shown(rate)} × {flops.model:.4g} / {peak:.4g}",
            rate * flops.model / peak,
            unit="ratio",
            source="palm",
        ),
    ]
