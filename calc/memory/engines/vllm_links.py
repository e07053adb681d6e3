"""vLLM: what a process holds of the driver, and for its links to other ranks."""

from calc.memory.context import CONTEXT_LABEL, context_amount
from calc.memory.runtime import Amount, Case, constant


def driver_amount(case: Case) -> Amount:
    """Return what a process holds before it loads a model; with what joins it to others where there are any."""
    linked = joins_others(case) and "runtime_context_linked" in case.engine.values
    coefficient = by_link(case, "runtime_context_linked") if linked else "runtime_context"
    if "context_thread" in case.engine.values:
        return context_amount(case, coefficient)
    return constant(case, "runtime_context", CONTEXT_LABEL, coefficient)


def links_amounts(case: Case) -> list[Amount]:
    """Return what is outside of the allocator while a step runs: workspaces, and the buffers of collectives."""
    found = [workspaces_amount(case)]
    if joins_others(case):
        buffers = by_link(case, "communication_buffers")
        found.append(constant(case, "communication_buffers", "Buffers of collectives", buffers))
    return found


def workspaces_amount(case: Case) -> Amount:
    """Return the workspaces; on an NVIDIA device that shares the host's memory, with what processes take of that.

    There vLLM reads what is free from the host, so all that its processes come to hold counts against its share.
    Source: vLLM, vllm/utils/mem_utils.py (MemorySnapshot.measure); is_integrated_gpu is NVIDIA's alone.
    """
    known, device = case.engine.values, case.accelerator
    if "workspaces_compressed" in known and case.stage.architecture.family in case.engine.compressed_pages:
        return constant(case, "workspaces", "Workspaces of kernels", "workspaces_compressed")
    if "processes_held" in known and device and device.shares_host_memory and device.vendor == "NVIDIA":
        return constant(case, "workspaces", "Workspaces, and what processes hold of the host", "processes_held")
    return constant(case, "workspaces", "Workspaces of kernels", "workspaces")


def joins_others(case: Case) -> bool:
    """Whether a rank exchanges tensors with others: parts of a model do, and replicas that divide their experts."""
    return case.layout.tensor * case.layout.pipeline > 1 or case.layout.expert > 1


def by_link(case: Case, name: str) -> str:
    """Return the name of what ranks take for each other: another one for devices that only PCIe joins, if known."""
    plain = f"{name}_plain"
    return plain if plain in case.engine.values and case.joined_by_pcie else name
