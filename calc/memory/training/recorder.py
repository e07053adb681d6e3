"""Recording a layer: what all blocks are made of, which are norms, additions, dropout, and matrices with adapters."""

from calc.architecture.layers import LAYER_NORM, WIDE_RMS, Layer
from calc.architecture.stages import local_share
from calc.architecture.tensors import Tensor
from calc.memory.training.run import Adapters, Batch, Choices, Numerics
from calc.memory.training.tape import MATMUL, POINTWISE, VIEW, Op, Tape

STATISTIC_BYTES = 4  # means, deviations and log-sums are FP32
KERNEL_STATE_BYTES, MASKED_KERNEL_STATE_BYTES = 24, 16  # seed and offset, kept once a layer by a fused attention kernel
MASK_BYTES = 1  # an element of a dropout mask
NORM_KERNELS = 8  # of an RMSNorm: raised to FP32, squared, its mean, epsilon added, the root, divided, lowered, weighed
SCALED = ":scaled"  # ends the name of what an adapter adds to its matrix


class Recorder:
    """Writes a layer's tape. Sizes are those of one device."""

    def __init__(
        self,
        layer: Layer,
        *,
        hidden: int,
        numerics: Numerics,
        batch: Batch,
        choices: Choices,
        adapters: Adapters | None,
    ) -> None:
        self.layer, self.hidden, self.numerics = layer, hidden, numerics
        self.batch, self.choices, self.adapters = batch, choices, adapters
        self.tape = Tape()
        self.tensors = {tensor.name: tensor for tensor in layer.tensors}
        self.met: set[str] = set()  # matrices that are on the tape
        self.dropout = layer.style.dropout
        self.fused = layer.attention is not None and layer.attention.fused
        self.rows = batch.rows
        self.stream = self.tape.value("input", batch.stream_rows * hidden * numerics.residual, "layer input")

    def elements(self, tensor: Tensor) -> int:
        """Return the elements of a tensor on this device."""
        copies, shape = local_share(tensor, self.batch.tensor, self.batch.expert)
        for size in shape:
            copies *= size
        return copies

    @property
    def casts_fused(self) -> bool:
        """Whether what writes a value casts it as well, for all that read it: a compiler's code does, no other."""
        return self.choices.compiled and not self.choices.casts_apart

    def trained(self, name: str) -> bool:
        """Whether the weights of a module get gradients."""
        if self.adapters is None or self.choices.all_gradients:
            return True
        return name.rsplit(".", 1)[-1] in self.adapters.saved

    def gradient_bytes(self, module: str) -> int:
        """Return the bytes of the gradients of a module's weights."""
        if not self.trained(module):
            return 0
        named = (self.tensors.get(f"{module}.{part}") for part in ("weight", "bias"))
        return sum(self.elements(tensor) for tensor in named if tensor is not None) * self.numerics.gradient

    def add(self, left: str, right: str, name: str) -> str:
        """Record the addition of a block's output to the stream: both get the same gradient, nothing is kept."""
        size = self.batch.stream_rows * self.hidden * self.numerics.residual
        passed = self.tape.value(f"{right}:passed", size)
        self.tape.add(Op(VIEW, (right,), passed))
        output = self.tape.value(name, size)
        return self.tape.add(Op(VIEW, (left, passed), output))

    def drop(self, value: str, name: str) -> str:
        """Record dropout after a block: it keeps a mask of one byte an element."""
        if not self.dropout:
            return value
        elements = self.batch.stream_rows * self.hidden
        mask = self.tape.value(f"{name}:mask", elements * MASK_BYTES, "dropout masks")
        output = self.tape.value(f"{name}:dropped", self.tape.sizes[value])
        return self.tape.add(Op(POINTWISE, (value,), output, (mask,)))

    def norm(self, value: str, name: str, *, rows: int | None = None, size: int | None = None) -> str:
        """Record a norm: a fused LayerNorm, or an RMSNorm written out in FP32.

        A LayerNorm keeps its input, mean and deviation. An RMSNorm keeps its input in FP32, the inverse deviation, and,
        where its weight is trained, the normalised values in the compute type.
        """
        tape, numerics = self.tape, self.numerics
        rows = self.batch.stream_rows if rows is None else rows
        size = self.hidden if size is None else size
        elements = rows * size
        wide = 4 if tape.sizes[value] == 4 * elements or self.layer.style.norm == WIDE_RMS else numerics.compute
        width = numerics.residual if numerics.autocast else numerics.compute
        output = tape.value(f"{name}:out", elements * width, "normalised inputs of matrices")
        gradient = self.gradient_bytes(name)
        if self.layer.style.norm == LAYER_NORM:
            statistics = tape.value(f"{name}:statistics", 2 * rows * STATISTIC_BYTES, "norm statistics")
            return tape.add(Op(POINTWISE, (value,), output, (value, statistics), weight_grad_bytes=gradient))
        label = "inputs of norms in FP32"
        if tape.sizes[value] == 4 * elements:
            upcast = value
            tape.labels.setdefault(value, label)
        else:
            upcast = tape.value(f"{name}:fp32", 4 * elements, label)
        statistics = tape.value(f"{name}:statistics", rows * STATISTIC_BYTES, "norm statistics")
        saves: tuple[str, ...] = (upcast, statistics)
        if self.trained(name):
            saves += (tape.value(f"{name}:normalised", elements * wide, "normalised values"),)
        if self.choices.compiled:
            saves = (value, statistics)
        return tape.add(
            Op(
                POINTWISE,
                (value,),
                output,
                saves,
                weight_grad_bytes=gradient,
                work_bytes=16 * elements,
                kernels=NORM_KERNELS,
            )
        )

    def matrix(self, value: str, name: str, output: str, inputs: int, outputs: int, rows: int | None = None) -> str:
        """Record a matrix `name` with its adapter, if it has one.

        It keeps its input for the gradient of its weight, so a frozen one keeps nothing; its adapter does. Under
        autocast each matrix casts its input for itself, and the graph holds the cast weight. A quantised one is
        unpacked in both directions, nothing is kept of it, and what it gives is cast back to the type of its input
        (bitsandbytes' MatMul4Bit and Linear4bit).
        """
        tape, numerics = self.tape, self.numerics
        self.met.add(name)
        rows = self.rows if rows is None else rows
        trained, low_rank = self.trained(name), self.adapters is not None and self.adapters.covers(name)
        weight = self.tensors.get(f"{name}.weight")
        elements = self.elements(weight) if weight is not None else inputs * outputs
        quantized = not trained and weight is not None and weight.quantizable  # where the base is
        read, saves, casts, cast_bytes = value, (), 0, 0
        unpacked = self.choices.unpacks and quantized
        needs_cast = numerics.casts and tape.sizes[value] in (0, rows * inputs * numerics.residual)
        width = numerics.residual if unpacked and needs_cast else numerics.compute
        out = tape.value(output, rows * outputs * width, "outputs of matrices")
        if needs_cast:
            cast = self.cast_name(value, name)
            if cast not in tape.sizes and not self.casts_fused:
                casts, cast_bytes = 1, rows * inputs * (numerics.residual + numerics.compute)
            read = tape.value(cast, rows * inputs * numerics.compute, "inputs of matrices, cast")
        if trained and self.choices.narrow_inputs and weight is not None and weight.quantizable:
            own = tape.sizes[value] // numerics.compute or rows * inputs  # ranks gather it again in the backward pass
            read = tape.value(f"{value}:fp8", min(own, rows * inputs), "inputs of matrices in FP8")
        kept: tuple[str, ...] = (read,) if trained else saves
        if self.choices.inputs_kept and quantized:
            kept += (read,)
            tape.outliving.add(read)
        if width > numerics.compute:
            casts, cast_bytes = casts + 1, cast_bytes + rows * outputs * (numerics.compute + width)
        if numerics.autocast and numerics.weight > numerics.compute and not unpacked:
            kept += (tape.value(f"{name}:weight", elements * numerics.compute, "cast weights"),)
            casts, cast_bytes = casts + 1, cast_bytes + elements * (numerics.weight + numerics.compute)
        if self.choices.weights_kept and weight is not None:
            kept += (tape.value(f"{name}:gathered", elements * numerics.compute, "gathered weights"),)
        biased = f"{name}.bias" in self.tensors
        casts += biased and numerics.casts
        work = 0
        if weight is not None and unpacked:
            copies, _ = local_share(weight, self.batch.tensor, self.batch.expert)
            work = elements // copies * numerics.compute  # one matrix, or one expert's, at a time
        plain = Op(MATMUL, (value,), out, kept, work_bytes=work, kernels=1 + biased, casts=casts, cast_bytes=cast_bytes)
        if not low_rank:
            return tape.add(plain._replace(weight_grad_bytes=self.gradient_bytes(name)))
        return self.low_rank(plain, name=name, inputs=inputs, outputs=outputs, rows=rows)

    def matrices(self, value: str, *blocks: str) -> str:
        """Record the matrices of blocks one after the other, each with its input, where more is not known of them."""
        tape, width, last = self.tape, self.numerics.compute, value
        for tensor in self.layer.tensors:
            if tensor.block not in blocks or not tensor.name.endswith(".weight") or len(tensor.shape) != 2:
                continue
            if tensor.name.removesuffix(".weight") in self.met:
                continue
            _, (outputs, inputs) = local_share(tensor, self.batch.tensor)
            name = tensor.name.removesuffix(".weight")
            source = value if inputs == self.hidden else last
            if tape.sizes[source] != self.rows * inputs * width:
                taken = tape.value(f"{name}:input", self.rows * inputs * width, "inputs of matrices")
                source = tape.add(Op(POINTWISE, (source,), taken))
            last = self.matrix(source, name, f"{name}:out", inputs, outputs=outputs)
        return last

    def cast_name(self, value: str, matrix: str) -> str:
        """Return the name of a matrix's cast input: its own, or one for all that the family or a compiler fuses."""
        one = self.casts_fused or (self.fused and matrix.endswith(("q_proj", "k_proj", "v_proj")))
        one = one or (self.layer.mlp_fused and matrix.endswith(("gate_proj", "up_proj")))
        return f"{value}:cast" if one else f"{matrix}:cast"

    def adapter_casts(self, held: int, taken: int, weights: int) -> tuple[int, int]:
        """Return how often an adapter of another type casts, and the bytes of it, for an input of `held` bytes.

        PEFT gives it what it reads in the adapter's type; autocast then takes input and weights to that of products.
        """
        numerics = self.numerics
        one = numerics.adapter + numerics.compute
        raised = held < taken * numerics.adapter
        if not numerics.autocast:
            return int(raised), taken * one * raised
        return 1 + raised + 2, (taken * (1 + raised) + weights) * one

    def low_rank(self, frozen: Op, *, name: str, inputs: int, outputs: int, rows: int) -> str:
        """Record a frozen matrix with its adapter: A reads the matrix's input, B what A gives.

        An adapter in another type than the activations casts the input, each adapter for itself; under autocast code
        that is compiled, or has kernels of its own (Unsloth, Megatron-LM), reads the input as it is.
        """
        beside = self.adapters.beside(name) if self.adapters is not None else ()
        if not beside:  # the adapter of a matrix before this one gives its part, too
            return self.tape.add(frozen)
        listed = [self.tensors[f"{one}.weight"] for one in beside[1:] if f"{one}.weight" in self.tensors]
        outputs += sum(local_share(one, self.batch.tensor, self.batch.expert)[1][0] for one in listed)
        tape, numerics, rank = self.tape, self.numerics, self.adapters.rank if self.adapters else 0
        width = numerics.compute if numerics.autocast else numerics.adapter
        (value,), out = frozen.inputs, frozen.output
        read, casts, cast_bytes = value, 0, 0
        if numerics.adapter != numerics.compute and not (self.choices.compiled and numerics.autocast):
            read = tape.value(f"{name}:adapter input", rows * inputs * width, "inputs of adapters, cast")
            casts, cast_bytes = self.adapter_casts(tape.sizes[value], rows * inputs, rank * (inputs + outputs))
        tape.labels.setdefault(read, "inputs of adapters")
        masks: tuple[str, ...] = ()
        if self.adapters is not None and self.adapters.dropout:
            shared = name.replace(".k_proj", ".q_proj").replace(".v_proj", ".q_proj")
            owner = shared if self.fused else name
            masks = (tape.value(f"{owner}:adapter mask", rows * inputs * MASK_BYTES, "dropout masks"),)
            read = tape.value(f"{owner}:adapter dropped", rows * inputs * width, "inputs of adapters")
            dropped = f"{owner}:dropped"
            if dropped not in tape.sizes:
                tape.value(dropped, max(tape.sizes[value], rows * inputs * width))
                tape.add(Op(POINTWISE, (value,), dropped, masks))
            value = dropped
        low = tape.value(f"{name}:low", rows * rank * width, "low-rank values")
        update = tape.value(f"{name}:update", rows * outputs * width)
        plain = tape.value(f"{name}:plain", tape.sizes[out])
        bytes_of = numerics.adapter
        tape.add(frozen._replace(output=plain))
        first = Op(MATMUL, (value,), low, (read, *masks), weight_grad_bytes=rank * inputs * bytes_of)
        tape.add(first._replace(casts=casts, cast_bytes=cast_bytes))
        scaled = tape.value(f"{name}{SCALED}", rows * outputs * width)
        tape.add(Op(MATMUL, (low,), update, (low,), weight_grad_bytes=rank * outputs * bytes_of))
        tape.add(Op(POINTWISE, (update,), scaled))
        if self.adapters is not None and self.adapters.dora:
            magnitude = tape.value(f"{name}:dora", 2 * rows * outputs * numerics.compute, "outputs scaled by DoRA")
            return tape.add(Op(POINTWISE, (plain, scaled), out, (magnitude,)))
        return tape.add(Op(VIEW, (plain, scaled), out))
