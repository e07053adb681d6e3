"""The update of a training step: what goes to the host, the optimizer's kernels, and the bytes that they move."""

from calc.architecture.stages import Stage
from calc.memory.training.plan import OPTIMIZER, Plan
from calc.performance.exchanges import Exchanges
from calc.performance.operations import Counted, HostCopy, Pass, Pointwise

UPDATE_KERNELS = 10.0  # of an optimizer that works on many tensors at a time
AGAIN_IN_ADAM = 5.0  # of both moments: one more read of the first, nine of the second and its root (torch.optim)


def updating(plan: Plan, stage: Stage, sent: Exchanges) -> dict[str, Pass]:
    """Return what happens once a step: gathers, the reduction of gradients, and the optimizer."""
    size = optimizer_bytes(plan, stage)
    update: Pass = (Counted(Pointwise("Optimizer", size, UPDATE_KERNELS), 1),)
    hosted: Pass = ()
    if "optimizer" in plan.offload:  # gradients go to the host, and what was updated comes back
        trained_bytes = 2.0 * plan.inventory(stage).total.trained * plan.scheme.compute
        hosted = update
        update = (Counted(HostCopy("Gradients and parameters", trained_bytes / plan.degree(OPTIMIZER)), 1),)
    return {"gathered": sent.gathered, "reduced": sent.reduced, "updated": update + sent.updated, "hosted": hosted}


def trained_tensors(plan: Plan, stage: Stage) -> int:
    """Return how many tensors an optimizer updates on a stage; a matrix of all experts is one."""
    if plan.adapters is None:
        return sum(times for _, times in stage.tensors())
    names = ((tensor.name.removesuffix(".weight"), times) for tensor, times in stage.tensors())
    return 2 * sum(times for name, times in names if plan.adapters.covers(name))


def optimizer_bytes(plan: Plan, stage: Stage) -> float:
    """Return the bytes that the optimizer's step reads and writes: states and masters both, gradients, weights.

    Kernels of one operation each read and write what is updated once more, for its decay, and read the gradient once
    more, for the second moment.
    """
    total, scheme = plan.inventory(stage).total, plan.scheme
    masters = total.updated * scheme.master if plan.adapters is None else 0
    weights = total.added_bytes if plan.adapters is not None else total.base_bytes
    size = 2.0 * total.state_bytes + 2.0 * masters + total.gradient_bytes + (1.0 if masters else 2.0) * weights
    if not plan.method.optimizer.fused:
        size += 2.0 * (masters or weights) + total.gradient_bytes + AGAIN_IN_ADAM * total.state_bytes
    return size / plan.degree(OPTIMIZER)
