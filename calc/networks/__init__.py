"""Families of networks for images and sound, of convolutions, windows or pieces: from a `config.json` to layers.

They stand beside `calc.architecture.families` because a page fetches them when one of them is asked for, and most
questions are of text.
"""

from calc.architecture.families.registry import FAMILIES
from calc.networks import (
    codecs,
    conformers,
    convolutional,
    dense_vision,
    depth,
    finding,
    grounding,
    hiera,
    image_encoder,
    latents,
    masks,
    mobile,
    real_time,
    refining,
    voices,
    watching,
    windows,
)

MODULES = (  # importing them fills the registry
    codecs,
    conformers,
    convolutional,
    dense_vision,
    depth,
    finding,
    grounding,
    hiera,
    image_encoder,
    latents,
    masks,
    mobile,
    real_time,
    refining,
    voices,
    watching,
    windows,
)

__all__ = ["FAMILIES", "MODULES"]
