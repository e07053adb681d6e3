"""What a process holds on a device before it allocates: the driver's context, and the code of its libraries."""

from calc.catalog.records import Accelerator, Engine
from calc.memory.runtime import DEVICE, Amount, Case

CONTEXT_LABEL = "Context of the driver and its libraries"


def device_threads(engine: Engine, device: Accelerator | None) -> int:
    """Return how many threads a device can have at once; those of `context_threads` where that is not known."""
    units, threads = (device.quantity(field) if device else None for field in ("compute_units", "unit_threads"))
    return int(units * threads) if units and threads else engine.whole("context_threads")


def context_bytes(engine: Engine, device: Accelerator | None) -> int:
    """Return the bytes of a process's context on a device.

    CUDA sets memory aside for every thread that a device can have at once: a stack of 1 KiB, and as much again for what
    is kept of a thread that waits. So it is 100 MiB on a small card and 600 MiB on the largest. What the engine's
    libraries load comes on top. Source: measurements on cards from 5 to 188 units, by the coefficients' rows. Of an
    engine without such rows it is what was measured on one device.
    """
    if "context_thread" not in engine.values:
        return engine.whole("runtime_context")
    return engine.whole("runtime_context") + device_threads(engine, device) * engine.whole("context_thread")


def context_amount(case: Case, libraries: str = "runtime_context") -> Amount:
    """Return `context_bytes` of a case's device as an amount; `libraries` names what stands beside its threads."""
    engine = case.engine
    loaded, threads = engine.whole(libraries), device_threads(engine, case.accelerator)
    each = engine.whole("context_thread")
    return Amount(
        id="runtime_context",
        label=CONTEXT_LABEL,
        bytes=loaded + threads * each,
        scope=DEVICE,
        formula=r"M_{\text{libraries}} + n_{\text{threads}} \cdot b_{\text{context}}",
        template="{} + {} × {}",
        numbers=(loaded, threads, each),
        source=engine.coefficient("context_thread").source,
    )
