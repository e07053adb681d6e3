"""What an engine's kernels have to themselves, against those that the laws were measured with."""

from collections.abc import Mapping
from functools import lru_cache, partial
from math import ceil, inf
from typing import NamedTuple

from calc.catalog.records import Same
from calc.performance.kernel_laws import TILE_HEADS, shared_turns
from calc.performance.operations import Attention

SHARED_WIDTHS = 64, 128  # of heads that AMD's paged attention has kernels for, and the most that share a KV head
MOST_SHARING = 16
WIDEST_PLAIN = 256  # of heads that its back end takes at all
PART_KEYS = 256  # of a part of a sequence's keys, which a group of threads of AMD's paged attention takes
GATHERED_HEADS = 16  # of a tile of kernels that gather entries, and the most heads that one unit attends to in tiles
MOST_TILED_HEADS = 32


class OwnKernels(NamedTuple):
    """An engine's own kernels; zeros where it takes those of libraries."""

    fuses_casts: bool = False  # laws of its own products, in which casts stand apart, do not hold
    integer_share: float = 0.0  # of a device's rate on 8-bit integers, as which packed weights are multiplied
    integer_most: float = 0.0  # of its rate in 16 bit, what these products do not exceed; 0: no such limit is known
    integer_cycle: float = 0.0  # operations of them that a compute unit does in a cycle, at most; 0: as above
    fp4_share: float = 0.0  # the same of its rate in FP4, where weights are packed so
    vector_start_s: float = 0.0  # of kernels for a few rows
    vector_bytes: float = 0.0  # that a compute unit reads in a cycle by them, at most; 0: as memory gives them
    vector_weights: float = 0.0  # that a compute unit unpacks in a cycle by them, at most; 0: as fast as it reads
    vector_codes: float = 0.0  # the same of packed weights whose codes are multiplied as they are
    state_share: float = 0.0  # of a device's FP32 rate, at which states are updated token by token
    state_step_s: float = 0.0  # of a token, which waits for the one before it
    expert_tile: float = 0.0  # tokens of a tile, each of which is one routed expert's alone; 0: as the laws have it
    expert_idle_share: float = 0.0  # of a token's arithmetic, what an empty place of a tile takes
    expert_kernels: float = 0.0  # that a layer's routed experts take then, from choosing them to adding up
    expert_passes: float = 0.0  # over what they read and write, by these kernels
    experts_in_turn: float = 0.0  # kernels of each expert's product, which are launched one by one; 0: all at once
    experts_sort_s: float = 0.0  # of a host that sorts a prompt's rows, for each row and each expert of a product
    plain_in_turn: float = 0.0  # the same around products of weights in 16 bit, which a library multiplies
    heads_alone: float = 0.0  # 1: threads attend to each query head of a decoding token for itself, not matrix units
    fp4_depth_s: float = 0.0  # of experts in FP4 that a device does not multiply, a step along an inner dimension
    ahead_s: float = 0.0  # that a kernel begins before the one before it ends, as it is launched before that
    packed_elements: float = 0.0  # of a packed cache, that a unit takes in a cycle for each query head; 0: any number
    emulated_factor: float = 0.0  # times that arithmetic takes longer on a device without circuits for their format
    prompt_heads: float = 0.0  # query heads of prompts that kernels over chosen entries take: fewer are filled up
    step_heads: float = 0.0  # the same of the next tokens
    gather_cycles: float = 0.0  # of a unit that gathers an entry a prompt's token chose, for a tile of its query heads
    latent_cycles: float = 0.0  # of an element of latent vectors and keys, over which one unit walks; 0: a library's do
    latent_splits: float = 0.0  # units that share a sequence's then
    shared_keys: float = 0.0  # of a sequence up to which all units share those that such kernels take; 0: as without
    part_s: float = 0.0  # of each part of a sequence's keys that such kernels are launched for and that it has not
    longest: float = 0.0  # keys that a sequence may have where such kernels are chosen, as graphs of steps are
    sum_bytes: float = inf  # of a message up to which an engine adds up itself: what is larger is a library's
    triton: frozenset[str] = frozenset()  # of routed experts, where others' come from a library
    key_walk_s: float = 0.0  # of an element of keys and values, over which one unit walks
    key_splits: float = 0.0  # units that share the keys of a sequence then, at most; 0: one walks over all of a head
    prompt_share: float = 0.0  # of a law's rate, at which prompts are attended to; 0: all of it


LIBRARIES = OwnKernels()
# Of these each way to attend has coefficients of its own.
BY_ATTENTION = "key_walk_s", "key_splits", "prompt_share", "part_s"
# Fields that are no coefficient by their own name.
APART = "fuses_casts", "sum_bytes", "triton", "longest", *BY_ATTENTION
BY_NAME = tuple(name for name in OwnKernels._fields if name not in APART)


def own_kernels(
    values: Mapping[str, float],
    attention: str,
    classes: tuple[str, ...],
    triton: frozenset[str] = frozenset(),
    *,
    ranks: int = 1,
    longest: int = 0,
) -> OwnKernels:
    """Return what an engine's coefficients say of its kernels, with attention done one way, of `ranks` that add up.

    A server is started for texts of `longest` tokens. `classes` are what they may differ by, the narrowest first: a
    generation under another back end, a maker under it, a generation, a maker.
    """
    found = known_kernels(Same(values), attention, classes, triton=triton, ranks=ranks)
    return found._replace(longest=longest) if found.shared_keys or found.part_s else found


@lru_cache(maxsize=512)  # a search asks for the same of each number of devices, and a reader who moves a slider
def known_kernels(
    same: Same, attention: str, classes: tuple[str, ...], triton: frozenset[str], ranks: int
) -> OwnKernels:
    """Return the kernels of coefficients that were asked for before."""
    values = same.values

    of = partial(first_of, values, classes=classes)
    numbers = {name: of(name) for name in BY_NAME} | {name: of(f"{name}_{attention}") for name in BY_ATTENTION}
    most = inf
    if "sum_bytes" in values:
        names = ("sum_bytes", "symmetric_bytes") if values.get("symmetric_memory") else ("sum_bytes",)
        most = max(of(f"{name}_{ranks}") or of(name) for name in names)
    return OwnKernels(bool(values["fuses_casts"]), **numbers, sum_bytes=most, triton=triton)


def first_of(values: Mapping[str, float], name: str, classes: tuple[str, ...]) -> float:
    """Return a coefficient for the narrowest of some classes of devices that has it, or the plain one; 0 without."""
    return next((values[key] for key in named(name, classes) if key in values), 0.0)


@lru_cache(maxsize=4096)  # each pass asks for those of all kernels
def named(name: str, classes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a coefficient for classes of devices, and the plain one last."""
    return (*(f"{name}@{known}" for known in classes), name)


def filled(operation: Attention, heads: float) -> Attention:
    """Return attention as kernels over chosen entries do it, for so many query heads at least and for all entries.

    Where a sequence has fewer of either, zeros and entries that are masked take as long.
    """
    if not (operation.chosen and heads):
        return operation
    chosen = operation.chosen
    return operation._replace(heads=max(operation.heads, int(heads)), keys=float(chosen), causal=False, window=chosen)


def gathered_s(own: OwnKernels, operation: Attention, unit_clocks: float) -> float:
    """Return the seconds in which kernels over chosen entries gather these one by one, for each tile of query heads.

    Many heads are attended to by pairs of units, whose tile holds them all.
    """
    tiles = ceil(operation.heads / GATHERED_HEADS) if operation.heads <= MOST_TILED_HEADS else 1
    return own.gather_cycles * operation.pairs * tiles / unit_clocks if operation.chosen else 0.0


def shares_keys(operation: Attention, keys: float, most: float) -> bool:
    """Return whether all units share a sequence's keys: up to `most`, by usual heads that see all of them."""
    usual = operation.key_dim in SHARED_WIDTHS and operation.heads <= MOST_SHARING * operation.kv_heads
    return not in_pages(operation) or (usual and operation.window is None and keys <= most)


def in_pages(operation: Attention) -> bool:
    """Return whether attention is plain: latent vectors, an indexer's scores and wider heads have other back ends."""
    return operation.key_dim == operation.value_dim <= WIDEST_PLAIN and not operation.latent


def idle_parts_s(own: OwnKernels, operation: Attention, *, keys: float) -> float:
    """Return the seconds in which groups of threads begin for parts of keys that no sequence has.

    Graphs launch them for the longest text that a server is started for. Source: vLLM, csrc/rocm/attention.cu, whose
    grid is of sequences, parts and KV heads.
    """
    longest = max(keys, own.longest)
    if not in_pages(operation) or (own.shared_keys and not shares_keys(operation, longest, own.shared_keys)):
        return 0.0
    return own.part_s * operation.sequences * operation.kv_heads * (longest - keys) / PART_KEYS


def walk_s(
    own: OwnKernels, operation: Attention, *, keys: float, units: float, unit_clocks: float, start_s: float
) -> float:
    """Return the seconds in which compute units walk over keys, those of a query head alone or sharing them.

    `unit_clocks` are cycles a second of all units together. 0 where a library's kernels share keys among all units.
    """
    if own.shared_keys and shares_keys(operation, max(keys, own.longest), own.shared_keys):
        return 0.0
    walk, splits = own.key_walk_s, own.key_splits
    if operation.latent and own.latent_cycles:
        walk, splits = own.latent_cycles * units / unit_clocks, own.latent_splits
    heads, kv_heads, width = operation.heads, operation.kv_heads, operation.key_dim + operation.value_dim
    turns, began = float(ceil(operation.sequences * heads / units)), 0.0
    if splits:
        tiles = operation.sequences * kv_heads * ceil(heads / kv_heads / TILE_HEADS)
        turns, began = shared_turns(tiles=tiles, width=width, units=units, splits=splits), start_s
    return began + turns * keys * width * walk if walk else 0.0
