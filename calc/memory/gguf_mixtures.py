"""llama.cpp's mixtures: the number format of each tensor of a model, as its quantiser chooses them.

Source: llama.cpp, src/llama-quant.cpp (tensor_allows_quantization, tensor_type_fallback), and its converter for what is
FP32 from the start. The rules by which a matrix gets its format stand in `gguf_rules`. A vision tower is in a file of
its own, which a model that only reads and writes text does without.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import NamedTuple

from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.stages import Stage
from calc.architecture.tensors import Tensor, Tensors
from calc.catalog.records import Mixture, NumberFormat
from calc.memory.gguf_rules import Setting, embedding_format, matrix_format, output_format
from calc.memory.recipes import Chosen, Formats

PLAIN = ("fp32", "fp16", "bf16")  # a mixture on one of these has no rules: every matrix is in it
FALLBACK = {  # where rows do not divide into blocks of 256
    **dict.fromkeys(("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_xs"), "iq4_nl"),
    **dict.fromkeys(("q2_0", "q2_k", "q3_k", "tq1_0", "tq2_0"), "q4_0"),
    "q4_k": "q5_0",
    "q5_k": "q5_1",
    "q6_k": "q8_0",
}
# The part a matrix plays, by the last part of its name.
ROLES = {
    "q_proj": "query",
    "k_proj": "key",
    "v_proj": "value",
    "in_proj_qkv": "value",
    "o_proj": "attention_output",
    "gate_proj": "gate",
    "up_proj": "up",
    "down_proj": "down",
}
KEPT = ("router", "conv1d", "correction_coefs", "prediction_coefs")  # small matrices that stay FP32
# Matrices of Gemma 3n and 4 that the quantiser leaves as the converter wrote them.
SIXTEEN = (
    "altup_projections",
    "altup_unembed_projections",
    "modality_router",
    "linear_left",
    "linear_right",
    "per_layer_model_projection",
)
TOWERS = ("vision", "audio")  # blocks that have files of their own
TABLES = ("embed_tokens_per_layer.weight",)  # tables beside the embedding of tokens that are treated as it is


def setting_of(architecture: Architecture, mixture: Mixture) -> Setting:
    """Return what the rules ask about a model."""
    layers, attention = architecture.pattern, architecture.attention
    has_values = [any(role_of(tensor) == "value" for tensor in kind.tensors) for kind in architecture.kinds]
    queries_per_kv = 1 if attention is None else queries_of(attention)
    return Setting(
        mixture=mixture.id.removeprefix("ud-"),
        base=mixture.base,
        dynamic=mixture.dynamic,
        importance_matrix=mixture.importance_matrix,
        layers=len(layers),
        values=sum(has_values[kind] for kind in layers),
        experts=max(architecture.experts, 1),
        queries_per_kv=queries_per_kv,
        falcon=architecture.files.falcon,
        seventy=len(layers) == 80 and architecture.files.seventy,
    )


def queries_of(attention: Attention) -> int:
    """Return how many query heads share a KV head; one latent vector serves all of them."""
    return attention.heads if attention.latent else attention.heads // attention.kv_heads


def file_tensors(kind: Layer) -> Tensors:
    """Return a layer's tensors as a GGUF file has them: what makes keys and values of a latent vector is two of them.

    The first is turned over, so that its rows are as long as a key (llama.cpp, conversion/deepseek.py).
    """
    tensors: list[Tensor] = []
    for tensor in kind.tensors:
        attention = kind.attention
        if attention is not None and attention.value_dim and tensor.name == "self_attn.kv_b_proj.weight":
            outputs, rank = tensor.shape
            values = attention.heads * attention.value_dim
            size = (outputs - values) // attention.heads
            tensors.append(tensor._replace(name="self_attn.k_b_proj.weight", shape=(attention.heads * rank, size)))
            tensors.append(tensor._replace(name="self_attn.v_b_proj.weight", shape=(values, rank)))
        else:
            tensors.append(tensor)
    return tuple(tensors)


def role_of(tensor: Tensor) -> str:
    """Return the part a tensor plays in its layer, empty where no rule asks for it: a gate of attention has none."""
    role = ROLES.get(last_name(tensor), "")
    return "" if role == "gate" and tensor.block == "attention" else role


def last_name(tensor: Tensor) -> str:
    """Return the last part of a tensor's name."""
    return tensor.name.removesuffix(".weight").rpartition(".")[2]


def is_kept(tensor: Tensor) -> bool:
    """Whether a tensor stays FP32: norms, biases and bare parameters, what has one row, position tables, routers."""
    if not tensor.name.endswith(".weight") or prod(tensor.shape[:-1]) <= 1:
        return True
    last = last_name(tensor)
    table = tensor.block == "other_embedding" and tensor.name not in TABLES
    return table or last in KEPT or last.endswith("norm")


def fitting(choice: str, columns: int, mixture: Mixture) -> str:
    """Return the format, or the one in its place where rows of `columns` do not divide into its blocks."""
    for name in (choice, FALLBACK.get(choice, "fp16")):
        if columns % (mixture.stored_as(name).group or 1) == 0:
            return name
    return "fp16"


class Matrix(NamedTuple):
    """A tensor of a kind of layer, its format where that is the same in every layer, and its role where not."""

    tensor: Tensor
    settled: str
    role: str


def settled(tensor: Tensor, base: str) -> str:
    """Return the format of a tensor that no rule asks about, empty where one does; `base` is the mixture's own."""
    if is_kept(tensor):
        return "fp32"
    if base in PLAIN:
        return base
    return "fp16" if last_name(tensor) in SIXTEEN else ""


def matrices(kind: Layer, mixture: Mixture) -> list[Matrix]:
    """Return the tensors of a kind of layer that are in the file of the language model."""
    found = []
    for tensor in file_tensors(kind):
        if tensor.block not in TOWERS:
            published = mixture.experts if tensor.active is not None and not is_kept(tensor) else ""
            found.append(Matrix(tensor, published or settled(tensor, mixture.base), role_of(tensor)))
    return found


@lru_cache(maxsize=256)
def formats_of(architecture: Architecture, mixture: Mixture) -> Formats:
    """Return the number format of each tensor of a model."""
    asked = setting_of(architecture, mixture)
    together = any(kind.attention is not None and kind.attention.fused for kind in architecture.kinds)
    together = together and not architecture.files.apart  # one tensor in a file, which is treated as the value is
    seen: dict[str, int] = {}
    known: dict[tuple[str, int], str] = {}  # layers ask the same again and again

    def fits(choice: str, columns: int) -> str:
        asked_for = choice, columns
        return known.get(asked_for) or known.setdefault(asked_for, fitting(choice, columns, mixture))

    def outside(tensor: Tensor) -> str:
        if tensor.block == "lm_head" or architecture.tied:
            return output_format(asked, fits=tensor.shape[-1] % (mixture.stored_as(asked.base).group or 1) == 0)
        return embedding_format(asked)

    def listed(tensors: Tensors) -> Chosen:
        kept = [tensor for tensor in tensors if tensor.block not in TOWERS]
        names = [settled(tensor, asked.base) or fits(outside(tensor), tensor.shape[-1]) for tensor in kept]
        return tuple((tensor, mixture.stored_as(name)) for tensor, name in zip(kept, names, strict=True))

    def in_layer(matrix: Matrix, layer: int) -> str:
        fused = matrix.role in ("query", "key", "value") and together
        nth = layer if fused else seen.get(matrix.role, 0)
        seen[matrix.role] = seen.get(matrix.role, 0) + 1
        role, experts = "value" if fused else matrix.role, matrix.tensor.active is not None
        return fits(matrix_format(asked, role, layer=layer, nth=nth, experts=experts), matrix.tensor.shape[-1])

    def same_in_all(matrix: Matrix) -> Matrix:
        return matrix if matrix.settled or matrix.role else matrix._replace(settled=in_layer(matrix, 0))

    kinds = [[same_in_all(matrix) for matrix in matrices(kind, mixture)] for kind in architecture.kinds]
    alike: dict[tuple[int | str, ...], Chosen] = {}
    layers: list[Chosen] = []
    for layer, kind in enumerate(architecture.pattern):
        names = tuple(matrix.settled or in_layer(matrix, layer) for matrix in kinds[kind])
        if (kind, *names) not in alike:
            stored = (mixture.stored_as(name) for name in names)
            alike[kind, *names] = tuple(zip((matrix.tensor for matrix in kinds[kind]), stored, strict=True))
        layers.append(alike[kind, *names])
    return Formats(
        listed(architecture.embeddings) + rope_factors(architecture, mixture.stored_as("fp32")),
        tuple(layers),
        listed(architecture.head),
    )


def rope_factors(architecture: Architecture, number_format: NumberFormat) -> Chosen:
    """Return the factors of a model's rotary frequencies, which its config describes and a file stores."""
    if not architecture.rope_factors:
        return ()
    return ((Tensor("rope_factors.weight", "rope_factors", (architecture.rope_factors,)), number_format),)


def mixed_tensors(stage: Stage, mixture: Mixture) -> Iterator[tuple[Tensor, int, NumberFormat]]:
    """Iterate over a stage's tensors as a GGUF file has them, each with how often it occurs and its format."""
    return formats_of(stage.architecture, mixture).of_stage(stage)
