"""Recording what mixes tokens: attention in tiles or written out, latent attention, and recurrences by their width."""

from calc.architecture.layers import Attention
from calc.architecture.stages import local_heads
from calc.memory.training.recorder import (
    KERNEL_STATE_BYTES,
    MASK_BYTES,
    MASKED_KERNEL_STATE_BYTES,
    STATISTIC_BYTES,
    Recorder,
)
from calc.memory.training.tape import KERNEL, MATMUL, POINTWISE, VIEW, Op

ENCODED = "encoder output"
ROTATION_KERNELS = 5  # of rotary positions: halves negated and joined, two products with the table, their sum


class AttentionRecorder(Recorder):
    """Writes down the operations of a layer's mixer."""

    def attention(self, value: str) -> str:
        """Record a layer's mixer: attention, latent attention, or what else it has."""
        attention = self.layer.attention
        if attention is not None and attention.latent:
            return self.latent_attention(value, attention)
        if attention is None or not {"self_attn.q_proj.weight", "self_attn.o_proj.weight"} <= self.tensors.keys():
            return self.other_mixer(value, "attention", "ssm")
        mixed = self.softmax_attention(value, value, attention, "self_attn")
        if self.layer.recurrence is None:
            return mixed
        return self.add(mixed, self.other_mixer(value, "ssm"), "both mixers")

    def cross_attention(self, value: str) -> str:
        """Record attention over an encoder's output, which all layers read and none keeps for itself."""
        assert self.layer.cross is not None
        return self.softmax_attention(value, self.tape.value(ENCODED, 0), self.layer.cross, "encoder_attn")

    def softmax_attention(self, value: str, seen: str, attention: Attention, module: str) -> str:
        """Record attention to `seen`: projections, positions, and the product in tiles or written out."""
        tape, size, batch, width = self.tape, attention.head_dim, self.batch, self.numerics.compute
        heads = local_heads(attention.heads, batch.tensor)
        kv_heads = local_heads(attention.kv_heads, batch.tensor)
        query, keys, mark = heads * size, kv_heads * size, "" if module == "self_attn" else f"{module}:"
        gated = self.tensors[f"{module}.q_proj.weight"].shape[0] == 2 * attention.heads * size
        q = self.matrix(value, f"{module}.q_proj", f"{mark}q", self.hidden, outputs=query * (2 if gated else 1))
        k = self.matrix(seen, f"{module}.k_proj", f"{mark}k", self.hidden, outputs=keys)
        v = self.matrix(seen, f"{module}.v_proj", f"{mark}v", self.hidden, outputs=keys)
        q, k = self.head_norm(q, f"{module}.q_norm", heads, size), self.head_norm(k, f"{module}.k_norm", kv_heads, size)
        if attention.rotary:
            q, k = self.positions(q, "q:rotated", query), self.positions(k, "k:rotated", keys)
        kept = q, k, v = self.narrowed(q, query), self.narrowed(k, keys), self.narrowed(v, keys)
        if attention.fused:  # slices of one tensor: one that is kept keeps all of it
            whole = tape.value(f"{mark}qkv", self.rows * (query + 2 * keys) * width, "queries, keys and values")
            kept = (q, k, whole) if attention.rotary else (whole, whole, whole)
        out = self.product(attention, q, k, v, heads=heads, kv_heads=kv_heads, kept=kept, mark=mark)
        if gated:
            gate = tape.value("gate", self.rows * query * width, "attention gate")
            gated_out = tape.value("context:gated", self.rows * query * width, "attention output, gated")
            out = tape.add(Op(POINTWISE, (out,), gated_out, (out, gate)))
        if attention.joined and self.choices.flash and not self.numerics.autocast:
            copied = tape.value("context:copied", tape.sizes[out], "attention output")
            out = tape.add(Op(POINTWISE, (out,), copied))
        return self.matrix(out, f"{module}.o_proj", f"{mark}attention", query, outputs=self.hidden)

    def head_norm(self, value: str, name: str, heads: int, size: int) -> str:
        """Record the norm over each head, or over all heads together, where the family has one."""
        tensor = self.tensors.get(f"{name}.weight")
        if tensor is None:
            return value
        together = tensor.shape[0] != size
        return self.norm(
            value, name, rows=self.rows * (1 if together else heads), size=heads * size if together else size
        )

    def narrowed(self, value: str, width: int) -> str:
        """Record the cast of what attention reads to the compute type, where autocast does it and a matrix did not."""
        numerics, elements = self.numerics, self.rows * width
        if not numerics.casts or self.tape.sizes[value] != elements * numerics.residual:
            return value
        cast = self.tape.value(f"{value}:cast", elements * numerics.compute, "queries, keys and values")
        size = elements * (numerics.residual + numerics.compute)
        return self.tape.add(Op(VIEW, (value,), cast, casts=1, cast_bytes=size))

    def positions(self, value: str, name: str, width: int) -> str:
        """Record rotary positions: a new tensor of the compute type; nothing but the table is kept."""
        output = self.tape.value(name, self.rows * width * self.numerics.compute, "queries, keys and values")
        return self.tape.add(
            Op(
                POINTWISE,
                (value,),
                output,
                (),
                weight_grad_bytes=0,
                work_bytes=self.rows * width * self.numerics.compute,
                kernels=ROTATION_KERNELS,
            )
        )

    def product(
        self,
        attention: Attention,
        q: str,
        k: str,
        v: str,
        *,
        heads: int,
        kv_heads: int,
        kept: tuple[str, ...] = (),
        mark: str = "",
    ) -> str:
        """Record softmax(QK)V. Tiles keep operands, output and one log-sum a row; written out it keeps the scores too.

        A mask, and attention written out, repeat keys and values for all query heads. `mark` tells the values of a
        second attention in a layer from those of the first.
        """
        size, value_size = attention.head_dim, attention.value_dim or attention.head_dim
        tape, batch, width = self.tape, self.batch, self.numerics.compute
        tape.labels[v] = "queries, keys and values"
        output = tape.value(f"{mark}context", self.rows * heads * value_size * width, "attention output")
        passing = 0
        key_rows = batch.sequences * batch.keys if batch.keys != batch.tokens else self.rows
        if (self.choices.mask or not self.choices.flash) and kv_heads != heads:
            for name in (k, v):
                every = key_rows * heads * (size if name == k else value_size) * width
                repeated = tape.value(f"{name}:repeated", every, "keys and values, repeated")
                tape.add(Op(POINTWISE, (name,), repeated))
            k, v = f"{k}:repeated", f"{v}:repeated"
            kept = (q, k, v)
        elif key_rows != self.rows:
            # Context parallelism: a rank keeps its own keys and values, and those of the others pass by once more.
            passing = 2 * key_rows * kv_heads * max(size, value_size) * width
        if self.choices.flash:
            sums = tape.value(f"{mark}log-sums", heads * self.rows * STATISTIC_BYTES, "attention row sums")
            state = tape.value(
                f"{mark}kernel state", MASKED_KERNEL_STATE_BYTES if self.choices.mask else KERNEL_STATE_BYTES
            )
            saves: tuple[str, ...] = (*(kept or (q, k, v)), output, sums, state)
            if self.choices.mask:
                mask = batch.sequences * batch.tokens * batch.keys * width
                saves += (tape.value("mask", mask, "padding mask"),)
            return tape.add(Op(KERNEL, (q, k, v), output, saves, weight_grad_bytes=0, work_bytes=passing))
        return self.written_out(attention, q, k, v, heads=heads, output=output, mark=mark)

    def written_out(self, attention: Attention, q: str, k: str, v: str, *, heads: int, output: str, mark: str) -> str:
        """Record attention with its scores: softmax in FP32 and its copy, or softmax, dropout mask and its output."""
        tape, batch, width = self.tape, self.batch, self.numerics.compute
        scores = batch.sequences * heads * batch.tokens * batch.keys
        label = "attention scores"
        product = tape.value(f"{mark}scores", scores * width)
        tape.add(Op(MATMUL, (q, k), product, (q, k)))
        wide_softmax = attention.wide_softmax or (self.numerics.casts and not self.choices.compiled)  # autocast's own
        narrow = width == 4 or not wide_softmax
        wide = product
        if not narrow:
            wide = tape.add(Op(POINTWISE, (product,), tape.value(f"{mark}scores:fp32", scores * 4)))
        if attention.soft_cap:
            tangent = tape.value(f"{mark}scores:tanh", scores * width, label)
            capped = tape.value(f"{mark}scores:capped", tape.sizes[wide])
            wide = tape.add(Op(POINTWISE, (wide,), capped, (tangent,)))
        weights = tape.value(f"{mark}softmax", tape.sizes[wide], label)
        tape.add(Op(POINTWISE, (wide,), weights, (weights,)))
        if not narrow:
            weights = tape.add(Op(POINTWISE, (weights,), tape.value(f"{mark}weights", scores * width, label)))
        if self.dropout:
            mask = tape.value(f"{mark}scores:mask", scores * MASK_BYTES, label)
            weights = tape.add(
                Op(POINTWISE, (weights,), tape.value(f"{mark}weights:dropped", scores * width, label), (mask,))
            )
        return tape.add(Op(MATMUL, (weights, v), output, (weights, v)))

    def latent_attention(self, value: str, attention: Attention) -> str:
        """Record multi-head latent attention (arXiv:2405.04434): training forms keys and values of every head."""
        prefix = "self_attn."
        heads, size = local_heads(attention.heads, self.batch.tensor), attention.head_dim
        width, rows = self.numerics.compute, self.rows
        if f"{prefix}q_a_proj.weight" in self.tensors and f"{prefix}q_b_proj.weight" in self.tensors:
            rank = self.tensors[f"{prefix}q_a_proj.weight"].shape[0]
            low = self.matrix(value, f"{prefix}q_a_proj", "q:low", self.hidden, outputs=rank)
            normed = (
                f"{prefix}q_a_layernorm" if f"{prefix}q_a_layernorm.weight" in self.tensors else f"{prefix}q_a_norm"
            )
            low = self.norm(low, normed, rows=rows, size=rank)
            q = self.matrix(low, f"{prefix}q_b_proj", "q", rank, outputs=heads * size)
        else:
            q = self.matrix(value, f"{prefix}q_proj", "q", self.hidden, outputs=heads * size)
        q = self.positions(q, "q:rotated", heads * size)
        if f"{prefix}kv_b_proj.weight" not in self.tensors:
            return self.other_mixer(q, "attention")
        latent = self.tensors[f"{prefix}kv_a_proj_with_mqa.weight"].shape[0]
        rank = self.tensors[f"{prefix}kv_b_proj.weight"].shape[1]
        value_size = self.tensors[f"{prefix}o_proj.weight"].shape[1] // attention.heads
        pair = self.tensors[f"{prefix}kv_b_proj.weight"].shape[0] // attention.heads
        low = self.matrix(value, f"{prefix}kv_a_proj_with_mqa", "kv:latent", self.hidden, outputs=latent)
        part = self.tape.value("kv:low", rows * rank * width)
        self.tape.add(Op(VIEW, (low,), part))
        part = self.norm(part, f"{prefix}kv_a_layernorm", rows=rows, size=rank)
        kv = self.matrix(part, f"{prefix}kv_b_proj", "kv", rank, outputs=heads * pair)
        keys = self.positions(kv, "k:rotated", heads * size)
        values = self.tape.value("v", rows * heads * value_size * width)
        self.tape.add(Op(VIEW, (kv,), values))
        out = self.product(attention, q, keys, values, heads=heads, kv_heads=heads)
        return self.matrix(out, f"{prefix}o_proj", "attention", heads * value_size, outputs=self.hidden)

    def other_mixer(self, value: str, *blocks: str) -> str:
        """Record a mixer whose operations are not known one by one: recurrences, and what is new in attention.

        Each of its matrices keeps its input, and the mixer its width once before and once after its kernel.
        """
        recurrence, tape, numerics = self.layer.recurrence, self.tape, self.numerics
        last = self.matrices(value, *blocks)
        if recurrence is not None:
            width = -(-recurrence.width // self.batch.tensor)
            kept = tape.value("recurrence", 2 * self.rows * width * numerics.compute, "recurrence")
            output = tape.value("recurrence:out", tape.sizes[last])
            last = tape.add(Op(KERNEL, (last,), output, (kept,)))
        output = tape.value("mixer", self.rows * self.hidden * numerics.compute)
        return tape.add(Op(POINTWISE, (last,), output))
