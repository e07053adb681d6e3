"""The working of speeds: the operations of a pass, the seconds of each, and how the engine puts them together."""

from calc.catalog.records import Engine
from calc.derivation import Step
from calc.memory.drafts import Draft
from calc.performance.operations import Attention, Collective, Copy, Experts, HostCopy, Pointwise, Product, Recurrence
from calc.performance.pass_times import HOST, PassTime, Timed
from calc.performance.speed import Speed, step_of
from calc.units import show_count, show_number

ROOFLINE = "roofline"
WORDS: dict[type, str] = {
    Product: "Matrix products",
    Experts: "Products of experts",
    Attention: "Attention and states",
    Recurrence: "Attention and states",
    Pointwise: "Norms, activations and copies",
    Copy: "Norms, activations and copies",
    Collective: "Messages between devices",
    HostCopy: "Copies between host and device",
}
ON_HOST = "The host's processor"


def speed_steps(speed: Speed, engine: Engine) -> list[Step]:
    """Return the steps from work to speeds."""
    steps = pass_steps("decoding step", speed.decode.time, engine)
    if speed.decode.parts > 1:
        steps.append(parts_step(speed, engine))
    if speed.waves > 1:
        steps.append(
            Step(
                "Seconds until sequences of all waves have a token more",
                r"n_{\text{waves}} \cdot t_{\text{step}}",
                f"{speed.waves} × {show_number(speed.decode.step_s, 5)}",
                speed.step_s,
                unit="s",
                source=engine.source,
            )
        )
    if speed.passes.draft is not None:
        steps += accepted_steps(speed, speed.passes.draft, engine)
    batch, step = speed.together, speed.step_s
    steps.append(
        Step(
            "Decoding, all sequences",
            r"\frac{n_{\text{seq}}}{t_{\text{step}}}",
            f"{show_count(batch)} / {show_number(step, 5)}",
            batch / step,
            unit="tokens/s",
            source=engine.source,
        )
    )
    return [*steps, *prefill_steps(speed, engine)]


def accepted_steps(speed: Speed, draft: Draft, engine: Engine) -> list[Step]:
    """Return how many tokens a step writes with drafts, and the seconds for each of them."""
    tokens, seconds = show_number(draft.expected, 5), speed.decode.step_s * draft.expected
    numbers = f"(1 − {draft.acceptance:g}^{draft.tokens + 1}) / (1 − {draft.acceptance:g})"
    formula = r"\frac{1 - a^{k + 1}}{1 - a}"
    if draft.acceptance == 1.0:
        formula, numbers = "k + 1", f"{draft.tokens} + 1"
    return [
        Step("Tokens that a step writes", formula, numbers, draft.expected, unit="", source="speculative-decoding"),
        Step(
            "Seconds for each token",
            r"\frac{t_{\text{step}}}{n_{\text{tokens}}}",
            f"{show_number(seconds, 5)} / {tokens}",
            speed.decode.step_s,
            unit="s",
            source=engine.source,
        ),
    ]


def parts_step(speed: Speed, engine: Engine) -> Step:
    """Return how parts of a batch follow each other through the stages of a pipeline."""
    time, parts = speed.decode.time, speed.decode.parts
    stage_s = speed.passes.busiest_s(time)
    return Step(
        "Seconds until each sequence has a token more",
        r"\max(t, n_{\text{parts}} \cdot t_{\text{stage}})",
        f"max({show_number(time.total, 4)}, {parts} × {show_number(stage_s, 4)})",
        step_of(pass_s=time.total, stage_s=stage_s, parts=parts),
        unit="s",
        source=engine.source,
    )


def prefill_steps(speed: Speed, engine: Engine) -> list[Step]:
    """Return the steps of a prefill; it is all that a model does which writes no text."""
    first, passes = speed.first_s, speed.waves * speed.prefill.passes
    return [
        *pass_steps("prefill pass", speed.prefill.time, engine),
        Step(
            "Time to the first token",
            r"n_{\text{passes}} \cdot t_{\text{pass}}",
            f"{show_count(passes)} × {show_number(first / passes, 5)}",
            first,
            unit="s",
            source=engine.source,
        ),
    ]


def pass_steps(name: str, time: PassTime, engine: Engine) -> list[Step]:
    """Return the steps of one pass: the seconds of its operations by kind, and their sum with the host's part."""
    steps, parts = list[Step](), {words: list[Timed]() for words in (*WORDS.values(), ON_HOST)}
    for part in time.parts:
        parts[ON_HOST if part.bound == HOST else WORDS[type(part.operation)]].append(part)
    worked = parts.pop(ON_HOST)
    for words, alike in parts.items():
        steps += sum_steps(f"{words}, {name}", alike)
    device, formula = " + ".join(show_number(step.value, 4) for step in steps), r"\sum t"
    if time.host_s > 0:
        device, formula = f"max({device}, {show_number(time.host_s, 4)})", rf"\max({formula}, t_{{\text{{host}}}})"
    terms, formulas = [device] if device else [], [formula] if device else []
    steps += sum_steps(f"{ON_HOST}, {name}", worked)
    for seconds, symbol in ((time.processor_s, "processor"), (time.between_s, "between")):
        if seconds > 0:
            terms.append(show_number(seconds, 4))
            formulas.append(rf"t_{{\text{{{symbol}}}}}")
    for draft, times in time.drafts:
        steps += pass_steps(f"drafting pass beside a {name}", draft, engine)
        terms.append(f"{times:g} × {show_number(draft.total, 4)}")
        formulas.append(r"k \cdot t_{\text{draft}}")
    formula, numbers = " + ".join(formulas), " + ".join(terms)
    if time.correction != 1.0:
        formula, numbers = rf"({formula}) \cdot c", f"({numbers}) × {show_number(time.correction, 4)}"
    return [*steps, Step(f"Seconds of a {name}", formula, numbers, time.total, unit="s", source=engine.source)]


def sum_steps(name: str, parts: list[Timed]) -> list[Step]:
    """Return the step that adds up the seconds of operations; none where they take no time."""
    parts = [part for part in parts if part.total]
    numbers = " + ".join(f"{part.times:g} × {part.seconds:.4g}" for part in parts)
    seconds = sum(part.total for part in parts)
    return [Step(name, r"\sum n \cdot t", numbers, seconds, unit="s", source=ROOFLINE)] if parts else []
