"""The working of speeds: the bytes and operations of a step, what the device reaches of its rates, and the seconds."""

from calc.catalog.records import Engine
from calc.derivation import Step
from calc.performance.flops import Work
from calc.performance.roofline import Machine, Times
from calc.performance.speed import Speed
from calc.units import show_count, show_number

ROOFLINE = "roofline"


def speed_steps(speed: Speed, engine: Engine) -> list[Step]:
    """Return the steps from work to speeds."""
    source = engine.coefficients["weights_share"].source
    steps = pass_steps("decoding step", speed.decode.work, speed.decode.times, speed.machine, source)
    if speed.device_share < 1:
        steps.append(
            Step(
                "Seconds of a decoding step with layers in host memory",
                r"s \cdot t_{\text{device}} + t_{\text{host}}",
                f"{speed.device_share:g} × {show_number(speed.decode.times.total, 4)} + {show_number(speed.host_s, 4)}",
                speed.decode.step_s,
                "s",
                engine.source,
            )
        )
    batch, step = speed.together, speed.decode.step_s
    steps.append(
        Step(
            "Decoding, all sequences",
            r"\frac{n_{\text{seq}}}{t_{\text{step}}}",
            f"{show_count(batch)} / {show_number(step, 4)}",
            batch / step,
            "tokens/s",
            source,
        )
    )
    return [*steps, *prefill_steps(speed, engine)]


def prefill_steps(speed: Speed, engine: Engine) -> list[Step]:
    """Return the steps of a prefill; it is all that a model does which writes no text."""
    source = engine.coefficients["weights_share"].source
    first = speed.prefill.seconds
    return [
        *pass_steps("prefill pass", speed.prefill.work, speed.prefill.times, speed.machine, source),
        Step(
            "Time to the first token",
            r"n_{\text{passes}} \cdot t_{\text{pass}}",
            f"{show_count(speed.prefill.passes)} × {show_number(first / speed.prefill.passes, 4)}",
            first,
            "s",
            source,
        ),
    ]


def pass_steps(name: str, work: Work, times: Times, machine: Machine, source: str) -> list[Step]:
    """Return the steps of one pass."""
    read, rate = machine.bandwidth * machine.weights_share, machine.matrix_rate * machine.matrix_share
    numbers = (times.weights, times.matrices, times.cache, times.attention, times.launch + times.links)
    shown = [show_number(number, 4) for number in numbers]
    steps = [
        Step(
            f"Reading weights, {name}",
            r"\frac{M_{\text{weights}}}{e \cdot BW}",
            f"{show_count(work.weight_bytes)} / ({machine.weights_share:g} × {machine.bandwidth:.4g})",
            work.weight_bytes / read,
            "s",
            source,
        ),
        Step(
            f"Matrix products, {name}",
            r"\frac{F + F_{\text{experts}} / e_{\text{experts}}}{e \cdot P}",
            f"({work.matrix_flops:.4g} + {work.expert_flops:.4g} / {machine.expert_share:g})"
            f" / ({machine.matrix_share:g} × {machine.matrix_rate:.4g})",
            (work.matrix_flops + work.expert_flops / machine.expert_share) / rate,
            "s",
            source,
        ),
    ]
    device = f"max({shown[0]}, {shown[1]}) + max({shown[2]}, {shown[3]}) + {shown[4]}"
    formula = r"\max(t_W, t_F) + \max(t_{\text{cache}}, t_{\text{attention}}) + t_{\text{launch}}"
    if times.host > 0:
        device = f"max({device}, {show_number(times.host, 4)})"
        formula = rf"\max({formula}, t_{{\text{{host}}}})"
    return [*steps, Step(f"Seconds of a {name}", formula, device, times.total, "s", ROOFLINE)]
