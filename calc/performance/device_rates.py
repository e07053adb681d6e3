"""What of a device the laws of kernels meet: the family that it runs kernels like, and the rates of its data sheet."""

from calc.catalog import catalog
from calc.catalog.records import Accelerator, KernelFamily

# Rates of the data sheet that may stand for one that it does not have.
RATES = {"bf16": ("bf16", "fp16", "fp32"), "fp8": ("fp8", "bf16", "fp16", "fp32"), "tf32": ("tf32", "fp32")}
RATES |= {"fp4": ("fp4", *RATES["fp8"]), "int8": ("int8", *RATES["bf16"]), "fp32": ("fp32",)}

HALF_RATE = 2.5  # times what lanes do in FP32 and matrix units less in 16 bit: twice as much, others four times


def device_class(accelerator: Accelerator) -> str:
    """Return what families of devices differ by within an architecture: market and memory."""
    if accelerator.shares_host_memory:
        return "unified"
    if accelerator.segment == "consumer":
        return "consumer"
    return "data-center" if accelerator.text("memory_type").startswith("HBM") else "professional"


def family_of(accelerator: Accelerator) -> KernelFamily:
    """Return the family whose laws an accelerator takes: of its architecture and class, else of its maker."""
    facts = catalog()
    families = facts.once(
        "kernel families", lambda: {cover: family for family in facts.kernel_families() for cover in family.covers}
    )
    architecture, group = accelerator.architecture, device_class(accelerator)
    covers = f"{architecture}/{group}", f"{architecture}/*", f"{accelerator.vendor}/{group}"
    for cover in (f"{architecture}/half rate", *covers) if is_half_rate(accelerator) else covers:
        if cover in families:
            return families[cover]
    return families[f"{accelerator.vendor}/*"]


def is_half_rate(accelerator: Accelerator) -> bool:
    """Return whether matrix units sum 16 bit in FP32 at half the rate of their die, as those of GeForce cards do.

    They do no more than twice what the lanes do in FP32: cards for workstations do four times as much, those with HBM
    eight and more. A few cards for servers are such, too: A10G, L20 and L40.
    """
    lanes = accelerator.quantity("fp32") or 0.0
    return matrix_rate(accelerator, "bf16") < HALF_RATE * lanes


def matrix_rate(accelerator: Accelerator, name: str, per_byte: float = 0.0) -> float:
    """Return the operations a second of a device in a format, by the nearest that its data sheet has.

    `per_byte` are operations that are counted on for each byte of bandwidth where the maker publishes no rate. 0 if
    nothing is known.
    """
    for known in RATES[name]:
        rate = accelerator.quantity(known)
        if rate:
            return rate
    return (accelerator.quantity("bandwidth") or 0.0) * per_byte
