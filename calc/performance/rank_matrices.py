"""The matrices of a rank as they are stored: what multiplies one input is one product."""

from math import prod
from typing import NamedTuple

from calc.architecture.stages import Stage, local_share
from calc.architecture.tensors import SPLIT_IN, Tensor
from calc.catalog.records import NumberFormat, StoredWeights, Weights
from calc.memory.budget import Layout
from calc.memory.stored_weights import parameters_by_place, whole_model
from calc.memory.weights import stored_bytes, stored_tensors

TABLE = "token_embedding"
NOT_PASSED = ("vision", "vision_expert", "audio", "other_embedding")  # no text token is multiplied with them
PRODUCTS = (".weight", "_weight", ".fn", "_w1", "_w2")  # how the names of matrices end that tokens are multiplied with
OVER_ENCODED = ("encoder_attn.k_proj", "encoder_attn.v_proj")  # what multiplies an encoder's output
# Which tokens pass: the prompt's in an encoder, all others, those whose keys a decoder keeps, those with logits.
ENCODER, DECODER, ENCODED, OUTPUTS = "encoder", "decoder", "encoded", "outputs"


class Matrix(NamedTuple):
    """Matrices that multiply the same input, and so can be one product."""

    name: str
    rows: str
    n: int
    k: int
    kernel: str
    weight_bytes: float
    places: float = 1  # of a finer grid that each token stands for
    reads: int = 0  # elements that a convolution reads anew for each of its rows, whose windows overlap; 0: all k


class ExpertMatrices(NamedTuple):
    """The routed experts of a layer on a rank."""

    name: str
    experts: int
    total: int
    active: int
    n: int
    k: int
    matrices: int
    kernel: str
    weight_bytes: float  # of all experts on the rank


class Stored:
    """The matrices of a rank as they are stored, collected tensor by tensor."""

    def __init__(self, weights: Weights, group: int | None, plain: NumberFormat, layout: Layout, fuses: bool) -> None:
        self.weights, self.group, self.layout, self.fuses = weights, group, layout, fuses
        self.file = weights if isinstance(weights, StoredWeights) else None
        self.formats = plain if isinstance(weights, StoredWeights) else weights
        self.joined: dict[tuple[object, ...], list[Joined]] = {}
        self.small_bytes = 0.0
        self.expansion: dict[int, tuple[int, int, str, float]] = {}

    def add(self, part: Stage, rows: str) -> None:
        """Add the tensors of some layers."""
        heads = set(part.architecture.head)
        for tensor, stored_times, number_format in stored_tensors(part, self.formats):
            count = part.uses(tensor, stored_times)
            if tensor.block in NOT_PASSED:
                continue
            if tensor.block == TABLE and not (part.architecture.tied and part.is_last):
                continue
            copies, shape = local_share(tensor, self.layout.tensor, self.layout.expert)
            stored = float(copies * stored_bytes(shape=shape, number_format=number_format, group=self.group))
            if not tensor.name.endswith(PRODUCTS) or len(shape) < 2 or is_convolution(tensor):
                if tensor.active is None or not self.beside(tensor, rows, count, stored):
                    self.small_bytes += count * stored
                continue
            passing = OUTPUTS if tensor in heads or tensor.block == TABLE or not tensor.places else rows
            if part.architecture.has_encoder and tensor.name.startswith(OVER_ENCODED):
                passing = ENCODED
            self.join(tensor, Joined(passing, copies, shape, number_format.kernel, stored=stored, layers=count))

    def beside(self, tensor: Tensor, rows: str, layers: int, stored: float) -> bool:
        """Add what experts have beside their matrices, biases, to these; return whether there are any."""
        module = tensor.name.rpartition(".")[0].rpartition(".")[0]
        listed = self.joined.get((module, rows, layers, tensor.copies, tensor.active))
        if listed:
            listed[-1] = listed[-1]._replace(stored=listed[-1].stored + stored)
        return bool(listed)

    def join(self, tensor: Tensor, new: "Joined") -> None:
        """Add a matrix to those that multiply the same input, or begin another product with it."""
        module, _, last = tensor.name.removesuffix(".weight").rpartition(".")
        if tensor.name.endswith("kv_b_proj.weight"):
            self.expansion[new.shape[-1]] = (new.shape[0], new.shape[-1], new.kernel, new.stored)
        expert = tensor.active is not None
        key: tuple[object, ...] = (module, new.rows, new.layers, tensor.copies, tensor.active)
        if not expert:
            key += (tensor.places,)
            beside = self.fuses and len(new.shape) == 2 and not last.isdigit()  # numbered ones follow each other
            alone = "" if beside else last
            key += (new.shape[-1], tensor.split == SPLIT_IN, new.kernel, tensor.block, alone)
        listed = self.joined.setdefault(key, [])
        if not listed or last in listed[-1].names:
            listed.append(new._replace(tensor=tensor, names=(last,)))
            return
        mine = listed[-1]
        shape = mine.shape if expert else (mine.shape[0] + new.shape[0], mine.shape[1])
        listed[-1] = mine._replace(shape=shape, stored=mine.stored + new.stored, names=(*mine.names, last))

    def scaled(self, stage: Stage) -> tuple[dict[Matrix, int], dict[ExpertMatrices, int]]:
        """Return the products and the experts; of a file that gives sums alone, bytes are spread over the elements."""
        found = [item for items in self.joined.values() for item in items]
        layers = head = 1.0
        if self.file is not None:
            inner = sum(item.layers * item.stored for item in found if item.rows != OUTPUTS) + self.small_bytes
            outer = sum(item.layers * item.stored for item in found if item.rows == OUTPUTS)
            here, everywhere = (
                parameters_by_place(part, 1, 1)["layers"] for part in (stage, whole_model(stage.architecture))
            )
            layers = self.file.layers * here / max(everywhere, 1) / self.layout.tensor / max(inner, 1.0)
            last = self.file.embeddings if stage.architecture.tied else self.file.head
            head = last / self.layout.tensor / max(outer, 1.0)
            self.small_bytes *= layers
        dense: dict[Matrix, int] = {}
        experts: dict[ExpertMatrices, int] = {}
        for item in found:
            stored = item.stored * (head if item.rows == OUTPUTS else layers)
            if item.tensor is not None and item.tensor.active is not None:
                group = item.experts(stored)
                experts[group] = experts.get(group, 0) + item.layers
            else:
                matrix = item.matrix(stored)
                dense[matrix] = dense.get(matrix, 0) + item.layers * item.copies
        return dense, experts


class Joined(NamedTuple):
    """Matrices of one product on the way to it."""

    rows: str
    copies: int
    shape: tuple[int, ...]
    kernel: str
    stored: float  # bytes, of all copies
    layers: int
    tensor: Tensor | None = None
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The modules' names, joined."""
        assert self.tensor is not None
        module = self.tensor.name.removesuffix(".weight").rpartition(".")[0]
        return ".".join(part for part in (module, "+".join(self.names)) if part)

    def matrix(self, stored: float) -> Matrix:
        """Return the product; matrices of blocks stand below each other."""
        assert self.tensor is not None
        tensor, shape = self.tensor, self.shape
        if len(shape) > 2 and shape[-1] == 1:  # a kernel one token wide
            shape = shape[:-1]
        # A convolution multiplies the window around a place, or a group's part of it, with a row for each channel.
        n, k = (self.shape[0], prod(self.shape[1:])) if tensor.reads else (prod(shape[:-1]), shape[-1])
        return Matrix(
            self.name,
            self.rows,
            n,
            k,
            kernel=self.kernel,
            weight_bytes=stored / self.copies,
            places=tensor.places or 1,
            reads=tensor.reads,
        )

    def experts(self, stored: float) -> ExpertMatrices:
        """Return the experts that the matrices make up."""
        assert self.tensor is not None
        assert self.tensor.active is not None
        tensor, (n, k), active = self.tensor, self.shape, self.tensor.active
        inner = (k, n) if tensor.split == SPLIT_IN else (n, k)
        parts = len(self.names)
        return ExpertMatrices(self.name, self.copies, tensor.copies, active, *inner, parts, self.kernel, stored)


def is_convolution(tensor: Tensor) -> bool:
    """Whether a tensor is a convolution over time of each channel for itself, which no product is made of."""
    return len(tensor.shape) == 3 and not tensor.reads and ("conv1d" in tensor.name or tensor.shape[1] == 1)
