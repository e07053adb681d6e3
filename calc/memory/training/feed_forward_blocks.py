"""Recording what works on each token for itself: MLPs with and without a gate, and experts."""

from calc.architecture.stages import local_share
from calc.architecture.tensors import Tensor
from calc.memory.training.recorder import Recorder
from calc.memory.training.tape import POINTWISE, Op

INSIDE = "inside of the MLP"
# Activation functions that transformers writes out in several operations, and what these keep beside the input.
COMPOSED = {
    "gelu_new": ("half", "tanh", "sum"),
    "gelu_fast": ("half", "tanh", "sum", "scaled", "inner"),
    "quick_gelu": ("sigmoid",),
}
COMPOSED_KERNELS = {"gelu_new": 8, "gelu_fast": 9, "quick_gelu": 3}  # these operations, in activations.py
WIDE = 4  # bytes of an element in FP32
RAISED = ("tanh", "sum")  # what autocast makes FP32 in gelu_new, which raises to a power


class FeedForwardRecorder(Recorder):
    """Writes down the operations of a layer's feed-forward network."""

    def feed_forward(self, value: str) -> str:
        """Record the MLP, or the router with the experts that each token is sent to, and the shared one."""
        if any(tensor.active is not None for tensor in self.layer.tensors):
            routed = self.experts(value)
            shared = self.mlp(value, "mlp.shared_expert", self.rows)
            return self.add(routed, shared, "experts and shared") if shared else routed
        return self.mlp(value, "mlp", self.rows) or self.matrices(value, "mlp")

    def mlp(self, value: str, prefix: str, rows: int) -> str:
        """Record an MLP of two matrices, or of three with a gate (arXiv:2002.05202); empty if there is none."""
        up, down = self.tensors.get(f"{prefix}.up_proj.weight"), self.tensors.get(f"{prefix}.down_proj.weight")
        if up is None or down is None:
            return ""
        _, shape = local_share(up._replace(copies=1, active=None), self.expert_tensor(up))
        width = shape[0]
        if f"{prefix}.gate_proj.weight" in self.tensors:
            inner = self.gated(value, prefix, width, rows=rows)
        else:
            up_values = self.matrix(value, f"{prefix}.up_proj", f"{prefix}:up", self.hidden, outputs=width, rows=rows)
            inner = self.activated(up_values, prefix, rows * width)
        return self.matrix(inner, f"{prefix}.down_proj", f"{prefix}:down", width, outputs=self.hidden, rows=rows)

    def expert_tensor(self, tensor: Tensor) -> int:
        """Return the ways in which tensor parallelism divides a matrix: what expert ranks leave of it for an expert."""
        return self.batch.tensor if tensor.active is None else max(1, self.batch.tensor // self.batch.expert)

    def gated(self, value: str, prefix: str, width: int, rows: int) -> str:
        """Record gate and up: the activation keeps the gate, the product both of its factors."""
        tape = self.tape
        gate = self.matrix(value, f"{prefix}.gate_proj", f"{prefix}:gate", self.hidden, outputs=width, rows=rows)
        active = self.activated(gate, prefix, rows * width)
        up = self.matrix(value, f"{prefix}.up_proj", f"{prefix}:up", self.hidden, outputs=width, rows=rows)
        product = tape.value(f"{prefix}:product", tape.sizes[gate], INSIDE)
        tape.labels[up] = INSIDE
        saves = (up,) if self.choices.compiled else (active, up)
        return tape.add(Op(POINTWISE, (active, up), product, saves))

    def activated(self, value: str, prefix: str, elements: int) -> str:
        """Record the activation function as the family computes it: most keep their input."""
        tape, name, size = self.tape, self.layer.activation, self.tape.sizes[value]
        active = tape.value(f"{prefix}:active", size, INSIDE)
        tape.labels[value] = INSIDE
        saves: tuple[str, ...] = (value,)
        kernels = 1
        if name == "relu":
            saves = (active,)
        elif name == "relu2":
            saves = (tape.value(f"{prefix}:relu", size, INSIDE),)
        elif name in COMPOSED and not self.choices.compiled:
            raised = name == "gelu_new" and self.numerics.autocast and self.numerics.compute < WIDE
            wide = elements * WIDE if raised else size
            if raised:
                saves = (tape.value(f"{prefix}:power", wide, INSIDE),)
            for part in COMPOSED[name]:
                saves += (tape.value(f"{prefix}:{part}", wide if part in RAISED else size, INSIDE),)
            kernels = COMPOSED_KERNELS[name]
        return tape.add(Op(POINTWISE, (value,), active, saves, kernels=kernels))

    def experts(self, value: str) -> str:
        """Record a router and the experts of each token: rows are copied for every expert that reads them."""
        tape, numerics = self.tape, self.numerics
        expert = next(tensor for tensor in self.layer.tensors if tensor.active is not None)
        active, count = expert.active or 1, expert.copies
        logits = self.matrix(value, "mlp.router", "router", self.hidden, outputs=count)
        scores = tape.value("router:scores", self.rows * count * 4, "router")
        tape.add(Op(POINTWISE, (logits,), scores, (scores,)))
        rows = self.rows * active
        sent = tape.value("sent", rows * self.hidden * numerics.compute, "inputs of experts")
        tape.add(Op(POINTWISE, (value,), sent, (tape.value("indices", 8 * rows, "router"),)))
        down = self.mlp(sent, "mlp.experts", rows)
        tape.labels[down] = "outputs of experts"
        weighted = tape.value("experts:weighted", self.rows * self.hidden * numerics.compute)
        weights = tape.value("router:weights", rows * numerics.compute, "router")
        kept = (weights,) if self.choices.weighted_inside else (down, weights)
        return tape.add(Op(POINTWISE, (down,), weighted, kept))
