"""A tape of a layer's operations: what each keeps for the backward pass, and what is alive while that pass runs.

Autograd keeps a tensor once however many operations ask for it, so a layer's memory is a union of the tensors that its
operations name, not a sum. Running the tape backwards gives the widest moment. tests/measure/training_activations.py
compares both with torch.
"""

from functools import cached_property
from typing import NamedTuple

MATMUL, KERNEL, POINTWISE, VIEW = "matmul", "kernel", "pointwise", "view"


class Op(NamedTuple):
    """One differentiable operation: the values it reads and gives, and those it keeps until its backward."""

    kind: str
    inputs: tuple[str, ...]  # values that get a gradient
    output: str
    saves: tuple[str, ...] = ()
    weight_grad_bytes: int = 0  # gradient of its parameters, alive from its backward on
    work_bytes: int = 0  # alive during its backward only
    kernels: int = 1  # forward, where PyTorch runs its parts one by one; of a matrix with a bias 2
    casts: int = 0  # of what a matrix reads to the type that it multiplies in
    cast_bytes: int = 0  # read and written by these


class Tape:
    """Operations in the order of the forward pass, and the bytes of every value.

    A tape is written once and read many times: what follows from it is worked out when it is first asked for.
    """

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.sizes: dict[str, int] = {}
        self.labels: dict[str, str] = {}  # values under a name that a reader knows
        self.outliving: set[str] = set()  # kept values that their operation does not release after its backward
        self.peaks: dict[bool, tuple[int, int]] = {}  # of the backward pass, once worked out

    def value(self, name: str, size_bytes: int, label: str = "") -> str:
        """Declare a value of that many bytes."""
        self.sizes[name] = size_bytes
        if label:
            self.labels[name] = label
        return name

    def add(self, op: Op) -> str:
        """Append an operation and return the name of its output."""
        self.ops.append(op)
        return op.output

    @cached_property
    def saved(self) -> dict[str, int]:
        """The values kept for the backward pass, each once, with its bytes."""
        names = dict.fromkeys(name for op in self.ops for name in op.saves)
        return {name: self.sizes[name] for name in names if self.sizes[name]}

    @cached_property
    def outliving_bytes(self) -> int:
        """Bytes of kept values that outlive their backward."""
        return sum(self.sizes[name] for name in self.outliving)

    @cached_property
    def saved_bytes(self) -> int:
        """Bytes kept for the backward pass."""
        return sum(self.saved.values())

    @cached_property
    def saved_but_scores_bytes(self) -> int:
        """Bytes kept without the scores of attention."""
        return sum(size for name, size in self.saved.items() if self.labels.get(name) != "attention scores")

    @cached_property
    def every_second_bytes(self) -> int:
        """Bytes of the first value, of what attention kernels give and keep, and of every second matrix's output."""
        names, matrices = {"input"}, 0
        for op in self.ops:
            if op.kind == KERNEL:
                names |= {op.output, *(name for name in op.saves if name.endswith(("log-sums", "kernel state")))}
            if op.kind == MATMUL:
                matrices += 1
                if matrices % 2:
                    names.add(op.output)
        return sum(self.sizes[name] for name in names if name in self.sizes)

    @cached_property
    def forward_peak_bytes(self) -> int:
        """Most bytes alive while the forward pass runs, the tape's first value not counted.

        A value that nothing keeps lives from the operation that makes it to the last one that reads it.
        """
        kept = self.saved
        last: dict[str, int] = {}
        for position, op in enumerate(self.ops):
            for name in (*op.inputs, *op.saves, op.output):
                last[name] = position
        live = peak = 0
        made: set[str] = set()
        for position, op in enumerate(self.ops):
            for name in (*op.saves, op.output):
                if name not in made and (name in kept or name == op.output) and op.kind != VIEW:
                    made.add(name)
                    live += self.sizes[name]
            peak = max(peak, live)
            for name in {*op.inputs, op.output}:
                if name in made and name not in kept and last[name] == position:
                    live -= self.sizes[name]
        return peak

    def backward_peak(self, *, keep_gradients: bool = True) -> tuple[int, int]:
        """Return the most bytes alive while the backward pass runs: of values, and of parameters' gradients.

        An operation's kept values are released after it ran, if no earlier operation keeps them too; so is the gradient
        it was given. A second gradient of a value is added to the first one in a new tensor. `keep_gradients` is false
        where parameters' gradients leave as they come: added to a buffer, or used by the optimizer at once.
        """
        if not self.ops:  # a layer of which a search left neither attention nor MLP
            return 0, 0
        if keep_gradients not in self.peaks:
            sweep = Sweep(self)
            for op in reversed(self.ops):
                sweep.run(op, keep_gradients)
            self.peaks[keep_gradients] = sweep.peak
        return self.peaks[keep_gradients]


class Sweep:
    """The state of a backward pass: gradients with the storages that they share, and what is still kept."""

    def __init__(self, tape: Tape) -> None:
        self.sizes = tape.sizes
        self.readers: dict[str, int] = {}
        for op in tape.ops:
            for name in set(op.saves):
                self.readers[name] = self.readers.get(name, 0) + 1
        last = tape.ops[-1].output
        self.storages = [self.sizes[last]]  # bytes of each gradient's storage
        self.users = [1]
        self.storage_of = {last: 0}
        self.live = sum(self.sizes[name] for name in self.readers) + self.storages[0]
        self.weight_grads = 0
        self.peak = (self.live, 0)

    def grow(self, size: int) -> int:
        """Allocate a gradient and return its storage."""
        self.storages.append(size)
        self.users.append(1)
        self.live += size
        return len(self.storages) - 1

    def drop(self, storage: int) -> None:
        """Let go of a storage; it is free when nobody holds it."""
        self.users[storage] -= 1
        if not self.users[storage]:
            self.live -= self.storages[storage]

    def mark(self, extra: int = 0, grads: int = 0) -> None:
        """Note the bytes alive now, with what is alive for this moment only."""
        now = (self.live + extra, self.weight_grads + grads)
        if sum(now) > sum(self.peak):
            self.peak = now

    def run(self, op: Op, keep_gradients: bool) -> None:
        """Run the backward of one operation."""
        given = self.storage_of.pop(op.output, None)
        if given is None:
            return
        made: list[tuple[str, int]] = []
        for name in op.inputs:
            if op.kind == VIEW:
                self.users[given] += 1
                made.append((name, given))
            else:
                made.append((name, self.grow(self.sizes[name])))
        self.mark(op.work_bytes, op.weight_grad_bytes)
        if keep_gradients:
            self.weight_grads += op.weight_grad_bytes
        self.drop(given)
        for name in set(op.saves):
            self.readers[name] -= 1
            if not self.readers[name]:
                self.live -= self.sizes[name]
        for name, storage in made:
            if name not in self.storage_of:
                self.storage_of[name] = storage
                continue
            total = self.grow(self.sizes[name])
            self.mark()
            self.drop(self.storage_of[name])
            self.drop(storage)
            self.storage_of[name] = total
