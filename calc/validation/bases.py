"""What stands behind the seconds of an operation: the law that was asked, and where it was measured."""

from typing import NamedTuple

from calc.catalog.records import KernelLaw
from calc.performance.device_laws import (
    DECODE,
    EXPERTS,
    LATENT_DECODE,
    LATENT_PREFILL,
    MESSAGE,
    PLAIN,
    POINTWISE,
    PREFILL,
    PRODUCT,
    RECURRENCE,
)
from calc.performance.fabric import joined
from calc.performance.kernels import MOST_DECODED, Kernels
from calc.performance.operations import Attention, Collective, Experts, HostCopy, Operation, Product, Recurrence


class Basis(NamedTuple):
    """What stands behind the seconds of an operation."""

    law: KernelLaw
    kind: str  # measured on this device, on another of its generation, or carried over from another family


def basis_of(kernels: Kernels, operation: Operation) -> Basis | None:
    """Return what stands behind the seconds of an operation, None for messages and copies."""
    kernel, is_own = getattr(operation, "kernel", PLAIN), True
    if isinstance(operation, Attention):
        many = operation.queries > MOST_DECODED
        kinds = (LATENT_PREFILL, LATENT_DECODE) if operation.latent else (PREFILL, DECODE)
        kind = kinds[0] if many else kinds[1]
    elif isinstance(operation, HostCopy):
        return None
    elif isinstance(operation, Collective):
        way = joined(kernels.accelerator, ranks=operation.ranks)
        is_own = kernels.is_own(operation)
        if kernels.message_law(operation.kind, operation.group, operation.ranks, is_own=is_own) is None:
            return None
        kind, kernel = MESSAGE, f"{operation.kind}/{way.kind}"
    else:
        kind = {Product: PRODUCT, Experts: EXPERTS, Recurrence: RECURRENCE}.get(type(operation), POINTWISE)
    found = kernels.find(kind, kernel, is_own=is_own)
    return Basis(found.law, found.kind)
