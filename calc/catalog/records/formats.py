"""Number formats, and the ways in which a whole model is stored in several of them."""

from collections.abc import Callable
from typing import NamedTuple


class NumberFormat(NamedTuple):
    """How weights or cache entries are stored: bits of an element and what is stored beside a group of them."""

    id: str
    name: str
    aliases: tuple[str, ...]
    bits: float
    scope: str  # one of SCOPES: which tensors it is for where nothing else is said
    group: int  # elements that share a scale; 0 if none do
    group_rows: int  # rows over which a group extends: 1, or the height of a block
    group_bits: int  # scale and zero point of a group
    outer_group: int  # groups that share a second scale; 0 if none do
    outer_bits: int
    row_bits: int  # stored for each output feature
    column_bits: int  # stored for each input feature
    tensor_bytes: int  # stored once for each tensor
    flattened: bool  # groups run over the whole tensor, not along each row
    cache: bool  # engines keep KV caches in it
    native: str  # the accelerator fact that shows the hardware computes in it; empty if it is unpacked to 16 bit
    kernel: str  # how matrices in it are multiplied: a law of kernels.toml
    suffixes: tuple[str, ...]  # ends of repository names that say so
    summary: str
    source: str
    checked: str


class Mixture(NamedTuple):
    """What llama.cpp stores a whole model in: the name of rules that choose a number format for each tensor."""

    id: str
    name: str
    aliases: tuple[str, ...]
    base: str  # the number format of tensors that no rule gives another one
    importance_matrix: bool  # whether the file is made with one, which some rules look at
    summary: str
    source: str
    checked: str
    stored_as: Callable[[str], NumberFormat]  # finds a number format by its id
    native: str = ""  # no device computes in one: weights are unpacked
    perplexity: float = 0.0  # added to that of Llama 3 8B; 0 where nobody measured it
    dynamic: bool = False  # whether Unsloth's quantiser makes it, which chooses by rules of its own
    experts: str = ""  # the number format of a model's experts, where its files keep them as they are published


class Rule(NamedTuple):
    """Which tensors of a recipe are in another number format: by their block, or by the names that modules have."""

    number_format: NumberFormat
    block: str = ""
    pattern: str = ""  # a regular expression
    layers: frozenset[int] | None = None  # None: all
    in_layer: bool = False  # the pattern is for a name within a layer, not for one from the model down
    by_number: bool = False  # the pattern looks at numbers of layers


class Recipe(NamedTuple):
    """What a repository stores a model in: one number format, and where it has another one; the last rule decides."""

    id: str
    name: str
    base: NumberFormat
    plain: NumberFormat  # of what no format is for: embeddings, norms, and what is left out
    rules: tuple[Rule, ...]

    @property
    def native(self) -> str:
        """The accelerator fact that shows that the hardware computes in its number format."""
        return self.base.native


WeightsFormat = NumberFormat | Mixture  # what the catalogue has a name for

ModelFormat = WeightsFormat | Recipe


class StoredWeights(NamedTuple):
    """Weights as they lie in a file that a reader brought: bytes by where they stand in the model."""

    embeddings: int
    layers: int
    head: int
    id: str = "stored"
    name: str = "the formats of the file"
    native: str = ""  # what the device computes in, a file does not say

    def bytes_by_place(self) -> dict[str, int]:
        """Return the bytes of the embeddings, the layers and the output head."""
        return {"embeddings": self.embeddings, "layers": self.layers, "head": self.head}


Weights = ModelFormat | StoredWeights
