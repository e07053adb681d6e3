"""Seconds of one kernel as a function of its shape: a few numbers each, and a reason for each number.

Time in memory and time in arithmetic overlap, but not fully where they are alike: a law adds them with a power `q`
(1 adds them up, a large one takes the longer of them). Fitted by `calc.validation.kernel_fits`, the numbers stand in
the catalogue; here they have met a device's data sheet, and are seconds, bytes a second and operations a second.
"""

from math import expm1, log, sqrt
from typing import NamedTuple

TILE_ROWS = 256.0  # of a product's largest tiles
SPLIT_KEYS = 1024.0  # the same of the keys that one query looks at
TILE_QUERIES = 128.0  # queries that one compute unit takes at a time
WIDEST_HEAD = 512.0  # elements of a key and a value together that stay in a unit's registers; wider ones pass twice
WANTED_MOST = 0.8  # of the tokens that the expert has which is wanted most
# Of the mean, what the busiest rank has where experts are placed by what they had to do before: DeepSeek R1 on 32 GB200
# with a balancer of TensorRT-LLM (its blog on large-scale expert parallelism, table 1; 2.56 without).
BALANCED = 1.11
COPIED = 32  # places for copies of experts that balancers have: vLLM's guide, SGLang's and TensorRT-LLM's blogs
ROUNDS = 8  # of looking for the most that an expert or a copy has
# Inner width of an expert below which its tiles take no less time, as Triton's kernel of vLLM and SGLang has it by
# default (`get_default_config` in fused_moe); those of packed weights are as wide as FP8's.
EXPERT_TILES = {"bf16": 64.0, "fp8-block": 128.0}
EXPERT_TILE = 256.0
LEAST_TILE = 8.0  # tokens of the smallest tiles of an expert: kernels take tiles by the tokens that one has as a mean
HELD_WIDTH = 1024.0  # elements of a key and a value together, of which a compute unit holds tiles of some tens of keys
TILE_HEADS = 16.0  # rows of a matrix instruction: fewer query heads on a KV head cost as much


def blend(first: float, second: float, sharpness: float) -> float:
    r"""Return how long two things take that overlap in part: $(x^q + y^q)^{1/q}$.

    >>> blend(3.0, 4.0, 2.0), blend(3.0, 4.0, 1.0)
    (5.0, 7.0)
    """
    if first < second:
        first, second = second, first
    if second <= 0.0:
        return first
    return float(first * (1.0 + (second / first) ** sharpness) ** (1.0 / sharpness))


class ProductLaw(NamedTuple):
    """A matrix product: its start, the way through its inner dimension, memory and arithmetic."""

    start_s: float  # until the first tile is under way, and after the last
    depth_s: float  # for each step along the inner dimension, of a tile of a few rows
    tile_s: float  # the same of a tile of 256 rows: where there are fewer tiles than compute units, the others idle
    split_depth: float  # inner dimension from which on kernels cut it into parts that run side by side
    read: float  # bytes a second
    rate: float  # operations a second
    sharpness: float
    quantize_s: float  # for each element of the operand that is brought to the format of the weights first
    row_s: float = 0.0  # the same for each of its rows, which a group of threads looks through for its scale


def product_s(law: ProductLaw, *, m: float, k: float, flops: float, moved_bytes: float) -> float:
    r"""Return the seconds of a matrix product of `m` rows over an inner dimension `k`.

    $t_0 + (c k + r) m + \left((B / \text{read})^q + (F / \text{rate})^q + w^q\right)^{1/q}$ with the way of a tile
    $w = d k + e k \min(m, 256)/256$, which takes its time however few bytes it reads; the $k$ of its first term ends at
    the depth that kernels split.

    >>> product_s(ProductLaw(1.0, 0.0, 0.0, 9.0, 1.0, 1.0, 2.0, 0.0), m=1, k=1, flops=4.0, moved_bytes=3.0)
    6.0
    """
    split = k if k < law.split_depth else law.split_depth
    way = law.depth_s * split + law.tile_s * k * (m / TILE_ROWS if m < TILE_ROWS else 1.0)
    overlapped = blend(moved_bytes / law.read, flops / law.rate, law.sharpness)
    if way > 0.0:
        overlapped = blend(overlapped, way, law.sharpness)
    return law.start_s + (law.quantize_s * k + law.row_s) * m + overlapped


class PrefillLaw(NamedTuple):
    """Attention of many new tokens: arithmetic, with what each query costs besides its keys."""

    start_s: float
    read: float
    rate: float
    sharpness: float
    setup_keys: float  # keys in whose time a query is loaded, scaled, masked and written
    setup_width: float  # elements of a head in whose time the exponential of a pair is taken
    last_wave: float  # share of a wave of tiles in which compute units wait for the last ones
    units: float  # compute units


def prefill_s(
    law: PrefillLaw,
    *,
    pairs: float,
    queries: float,
    heads: float,
    widths: float,
    moved_bytes: float,
    latent: bool = False,
) -> float:
    r"""Return the seconds of attention over `pairs` of a query and a key, of `queries` in all, for each of `heads`.

    `widths` is the elements of a key and of a value together. Pairs take $2 (w + 2 w_0)$ operations each, and the last
    wave of tiles of 128 queries does not fill the compute units. Kernels for latent vectors divide a head over two
    groups of threads, each with half of the values.
    """
    work = 2.0 * heads * (pairs + law.setup_keys * queries) * (widths + 2.0 * law.setup_width)
    if widths > WIDEST_HEAD and not latent:
        work *= widths / WIDEST_HEAD
    work *= 1.0 + law.last_wave * law.units * TILE_QUERIES / (heads * queries)
    return law.start_s + blend(moved_bytes / law.read, work / law.rate, law.sharpness)


class DecodeLaw(NamedTuple):
    """Attention of one or a few new tokens: a floor, the cache, and a turn for each sequence and KV head."""

    start_s: float
    key_s: float  # for each key, up to those that kernels take side by side
    read: float
    rate: float
    sharpness: float
    turn_s: float  # of a compute unit, for each pair of sequence and KV head


def decode_s(law: DecodeLaw, *, keys: float, turns: float, flops: float, cache_bytes: float) -> float:
    """Return the seconds of attention of one token of each sequence over `keys` others.

    `turns` are pairs of a sequence and a KV head for each compute unit; `flops` has heads padded to whole instructions.
    """
    walked = keys if keys < SPLIT_KEYS else SPLIT_KEYS
    q = law.sharpness
    worked = blend(blend(cache_bytes / law.read, law.turn_s * turns, q), flops / law.rate, q)
    return law.start_s + law.key_s * walked + worked


def shared_turns(*, tiles: float, width: float, units: float, splits: float) -> float:
    """Return over how many sequences' keys a compute unit walks one after the other, where units share those of each.

    `tiles` are pairs of a sequence and query heads that share keys of a `width`. A unit holds as many of them at a time
    as there is room for; of few tiles up to `splits` units share each.

    >>> shared_turns(tiles=2.0, width=256.0, units=100.0, splits=8.0)
    0.125
    >>> shared_turns(tiles=400.0, width=256.0, units=100.0, splits=8.0)
    1.0
    """
    return max(tiles * width / (HELD_WIDTH * units), 1.0 / splits)


class ExpertsLaw(NamedTuple):
    """The products of a layer's routed experts: memory and arithmetic, with rows that tiles of experts leave empty."""

    start_s: float
    depth_s: float  # for each step along the inner dimensions of both products
    read: float
    rate: float
    sharpness: float
    quantize_s: float
    idle_rows: float  # of the tiles of each expert that is touched, as a mean
    row_s: float  # for each row: sorting tokens by expert, and adding up what experts answer
    tile: float  # elements of an expert's inner width that are multiplied at a time


def experts_s(
    law: ExpertsLaw,
    *,
    rows: float,
    touched: float,
    width: float,
    depth: float,
    flops_per_row: float,
    moved_bytes: float,
) -> float:
    r"""Return the seconds of grouped products: `rows` tokens in all, spread over `touched` experts of an inner `width`.

    Arithmetic is of $R + i E \max(n, T) / n$ rows, with $i$ the idle rows of each of $E$ experts, $n$ their width and
    $T$ that of a tile: narrow slices, as tensor ranks have them, leave tiles empty in width, too. Where experts have
    few rows, kernels take tiles of as few: $i$ is then less, by $1 - e^{-R / 8 E}$.
    """
    idle = law.idle_rows * touched * -expm1(-rows / (LEAST_TILE * touched))
    if width < law.tile:
        idle *= law.tile / width
    worked = (rows + idle) * flops_per_row
    overlapped = blend(moved_bytes / law.read, worked / law.rate, law.sharpness)
    return law.start_s + law.depth_s * depth + (law.quantize_s * depth + law.row_s) * rows + overlapped


def tiled_rows(*, rows: float, touched: float, tile: float) -> float:
    r"""Return the rows of whole tiles, where `rows` are spread over `touched` experts and no tile is of two.

    Loads of experts are taken to be spread exponentially, so that an expert with $\mu$ rows as a mean fills
    $1 / (1 - e^{-T / \mu})$ tiles of $T$: one where there are few rows, and half a tile more than its rows where many.

    >>> round(tiled_rows(rows=100.0, touched=100.0, tile=128.0)), round(tiled_rows(rows=1e6, touched=1.0, tile=128.0))
    (12800, 1000064)
    """
    return touched * tile / -expm1(-tile * touched / rows)


def busiest_rank(*, experts: int, ranks: int, tokens: float, balanced: bool = False) -> float:
    r"""Return what the busiest of `ranks` has to do over their mean, where `experts` are not equally wanted.

    Loads as NVIDIA's measurements have them spread from 1 to 0.8 of the tokens, evenly in their logarithms, so that the
    deviation of one over the mean is $\sqrt{\ln L (L + 1) / (2 (L - 1)) - 1}$. A rank's sum of $E / R$ deviates
    $\sqrt{R / E}$ times as much, and the largest of $R$ such sums by about $0.8 (\ln R)^{0.8}$ deviations. Where a
    balancer places experts, what is left is small, but no rank has less than what is wanted most: an expert has
    $\ln L$ times the mean, or a $y$th of it where $N$ places for copies level those above:
    $y - 1 - \ln y = N \ln L / E$.

    >>> round(busiest_rank(experts=128, ranks=8, tokens=8192), 2), busiest_rank(experts=8, ranks=1, tokens=64)
    (1.66, 1.0)
    >>> [round(busiest_rank(experts=256, ranks=32, tokens=8192, balanced=known), 2) for known in (False, True)]
    [2.41, 1.11]
    """
    most = WANTED_MOST * tokens
    if ranks == 1 or most <= 1.0:
        return 1.0
    deviation = sqrt(max(log(most) * (most + 1.0) / (2.0 * (most - 1.0)) - 1.0, 0.0))
    found = 1.0 + deviation * sqrt(ranks / experts) * deviations_of_largest(ranks)
    if not balanced:
        return found
    copies = COPIED * log(most) / experts
    level = 1.0 + copies + sqrt(2.0 * copies)
    for _ in range(ROUNDS):
        level = 1.0 + copies + log(level)
    return min(found, max(BALANCED, log(most) * most / (most - 1.0) * ranks / experts / level))


def most_touched(*, experts: float, touched: float, ranks: int) -> float:
    r"""Return how many of its `experts` that rank touches which touches most, where so many are `touched` as a mean.

    Each is touched or not, so that their number deviates by $\sqrt{t (1 - t / E)}$; how evenly they have work over many
    steps does not change it.

    >>> round(most_touched(experts=32, touched=20.0, ranks=8), 1), most_touched(experts=8, touched=8.0, ranks=8)
    (23.9, 8.0)
    """
    deviation = sqrt(max(touched * (1.0 - touched / experts), 0.0))
    return min(touched + deviation * deviations_of_largest(ranks), experts)


def deviations_of_largest(count: int) -> float:
    """Return by about how many deviations the largest of some alike numbers lies above their mean.

    >>> [round(deviations_of_largest(count), 2) for count in (1, 2, 8, 64)]  # of normal ones: 0, 0.56, 1.42, 2.39
    [0.0, 0.6, 1.44, 2.5]
    """
    return 0.8 * float(log(count) ** 0.8)


class StreamLaw(NamedTuple):
    """Kernels that pass over what is in memory: pointwise work, and the states of recurrent mixers."""

    start_s: float  # of each kernel
    read: float
    rate: float
    sharpness: float
    step_s: float  # for each token of a sequence, where one must follow the other
    chunk_s: float  # once where there is more than one: kernels that cut a prompt into chunks


def stream_s(law: StreamLaw, *, launches: float, flops: float, moved_bytes: float, steps: float) -> float:
    """Return the seconds of `launches` kernels that pass over bytes together, `steps` tokens of a sequence in turn.

    >>> stream_s(StreamLaw(1.0, 2.0, 1.0, 1.0, 0.0, 0.0), launches=2.0, flops=0.0, moved_bytes=4.0, steps=1.0)
    4.0
    """
    worked = blend(moved_bytes / law.read, flops / law.rate, law.sharpness)
    start = launches * law.start_s + (law.chunk_s if steps > 1.0 else 0.0)
    return start + blend(worked, law.step_s * steps, law.sharpness)


class MessageLaw(NamedTuple):
    """A message among the devices of one machine: a start, steps that wait for one another, and bytes on the link."""

    start_s: float
    hop_s: float  # of a step
    rate: float  # bytes a second of each device
    ramp: float  # share of the time between start and full rate in which pieces are too small to fill the link


def message_s(law: MessageLaw, *, steps: float, sent_bytes: float) -> float:
    r"""Return the seconds of a message of which each device sends `sent_bytes`, in `steps` one after the other.

    $w + s + r \sqrt{w s}$ with $w$ the waiting and $s$ the bytes over the rate: a message is cut into pieces, of which
    small ones wait more often and large ones overlap less, and the best size lies between.

    >>> message_s(MessageLaw(1.0, 1.0, 2.0, 0.5), steps=3, sent_bytes=8.0)
    10.0
    """
    waiting, sending = law.start_s + law.hop_s * steps, sent_bytes / law.rate
    return float(waiting + sending + law.ramp * (waiting * sending) ** 0.5)
