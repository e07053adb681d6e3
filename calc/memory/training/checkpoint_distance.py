"""How far apart checkpoints of activations stand best: few of them keep little, and many compute little at once."""

from math import ceil


def alive_at_most(*, layers: int, distance: int, checkpoint: float, layer: float) -> float:
    r"""Return what is alive at most with a checkpoint every `distance` layers: these, and the layers between two.

    $\lceil \frac{L}{k} \rceil \cdot B_{\text{checkpoint}} + k \cdot B_{\text{layer}}$, in the unit of what a checkpoint
    and a layer keep. Where both keep the same, the square root of the layers is the best distance (Chen et al.,
    arXiv:1604.06174, section 4.2).

    >>> [alive_at_most(layers=100, distance=distance, checkpoint=1, layer=1) for distance in (5, 10, 20)]
    [25, 20, 25]
    """
    return ceil(layers / distance) * checkpoint + distance * layer


def checkpoint_of_layer(checkpoints: float, *, layers: int) -> float:
    """Return what the checkpoint of one layer keeps, of all where each layer has one.

    >>> checkpoint_of_layer(4096.0, layers=32)
    128.0
    """
    return checkpoints / layers
