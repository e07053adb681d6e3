"""Recording a whole layer: its blocks in order, with the norms around them, on one tape."""

from collections.abc import Callable, Iterator
from functools import lru_cache

from calc.architecture.identity import Same
from calc.architecture.layers import AFTER, AROUND, BEFORE, BESIDE, ON_OUTPUT, Architecture, Layer
from calc.memory.training.attention_blocks import AttentionRecorder
from calc.memory.training.feed_forward_blocks import FeedForwardRecorder
from calc.memory.training.run import (
    Adapters,
    Batch,
    Choices,
    Numerics,
)
from calc.memory.training.tape import POINTWISE, Op, Tape

MULTIPLIED = ("attention", "ssm", "mlp", "layer_other")  # blocks of a layer with matrices that each token passes


class LayerRecorder(AttentionRecorder, FeedForwardRecorder):
    """Writes down all operations of a layer."""

    def blocks(self) -> list[tuple[str, Callable[[str], str]]]:
        """Return what the layer is made of: a mixer, attention over an encoder's output, a feed-forward network."""
        found = {tensor.block for tensor in self.layer.tensors}
        blocks: list[tuple[str, Callable[[str], str]]] = []
        if found & {"attention", "ssm"}:
            blocks.append(("attention", self.attention))
        if self.layer.cross is not None:
            blocks.append(("cross attention", self.cross_attention))
        if found & {"mlp", "expert"}:
            blocks.append(("mlp", self.feed_forward))
        return blocks

    def others(self) -> None:
        """Record the matrices that no block knows of, such as adapters that are a part of the model."""
        self.matrices(self.stream, *MULTIPLIED)

    def in_turn(self) -> None:
        """Record blocks that each read what the one before it has added to the stream."""
        place, blocks, names = self.layer.style.place, self.blocks(), iter(self.layer.norms)
        stream = self.stream
        for number, (label, block) in enumerate(blocks, 1):
            read = self.normed(stream, names) if place in (BEFORE, AROUND) else stream
            mixed = self.drop(block(read), label)
            if place in (ON_OUTPUT, AROUND):
                mixed = self.normed(mixed, names)
            stream = self.add(stream, mixed, "output" if number == len(blocks) else f"after {label}")
            if place == AFTER:
                stream = self.normed(stream, names)

    def side_by_side(self) -> None:
        """Record blocks that read the same stream, through one norm or through one each."""
        names = iter(self.layer.norms)
        read = self.normed(self.stream, names)
        outputs: list[str] = []
        for label, block in self.blocks():
            if outputs:
                read = self.normed(self.stream, names, read)
            outputs.append(self.drop(block(read), label))
        both = self.add(outputs[0], outputs[1], "mixed and fed") if len(outputs) > 1 else outputs[0]
        self.add(self.stream, both, "output")

    def normed(self, value: str, names: Iterator[str], otherwise: str = "") -> str:
        """Record the next of the layer's norms; where there is none left, or none here, nothing."""
        name = next(names, "")
        return self.gathered(self.norm(value, name)) if name else otherwise or value

    def gathered(self, value: str) -> str:
        """Record that tensor-parallel ranks gather what they divide, where matrices keep that and gather it once."""
        if not (self.choices.gathered and self.batch.sequence_parallel):
            return value
        size = self.tape.sizes[value] // self.batch.stream_rows * self.batch.rows
        whole = self.tape.value(f"{value}:gathered", size, "gathered inputs of matrices")
        return self.tape.add(Op(POINTWISE, (value,), whole))


def record_layer(
    *,
    layer: Layer,
    hidden: int,
    numerics: Numerics,
    batch: Batch,
    choices: Choices,
    adapters: Adapters | None = None,
) -> Tape:
    """Return the tape of one layer on one device, forward from its input to its output."""
    recorder = LayerRecorder(layer, hidden=hidden, numerics=numerics, batch=batch, choices=choices, adapters=adapters)
    if layer.style.place == BESIDE:
        recorder.side_by_side()
    else:
        recorder.in_turn()
    recorder.others()
    return recorder.tape


class Tapes:
    """The tapes of a model's layers that are all computed in one way, each recorded when it is first asked for."""

    def __init__(self, record: Callable[[Layer], Tape]) -> None:
        self.record = record
        self.known: dict[Same[Layer], Tape] = {}

    def of(self, layer: Layer) -> Tape:
        """Return the tape of a layer."""
        key = Same(layer)
        if key not in self.known:
            self.known[key] = self.record(layer)
        return self.known[key]


@lru_cache(maxsize=256)  # what makes a run fit is looked for in many ways to compute, and asked for again
def tapes_of(
    architecture: Same[Architecture], *, numerics: Numerics, batch: Batch, choices: Choices, adapters: Adapters | None
) -> Tapes:
    """Return the tapes of a model's layers."""

    def record(layer: Layer) -> Tape:
        hidden = architecture.value.hidden_size
        return record_layer(
            layer=layer, hidden=hidden, numerics=numerics, batch=batch, choices=choices, adapters=adapters
        )

    return Tapes(record)
