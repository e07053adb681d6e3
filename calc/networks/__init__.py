"""Families of networks for images and sound, of convolutions, windows or pieces, and of text as a whole: to layers.

They stand beside `calc.architecture.families` because a page fetches them when one of them is asked for, and most
questions are of text.
"""

from importlib import import_module

from calc.architecture.families.registry import FAMILIES

__all__ = ["FAMILIES"]

for kind in (  # each puts its families into the registry
    "codecs",
    "conformers",
    "contrastive",
    "convolutional",
    "convolved",
    "denoising",
    "dense_vision",
    "depth",
    "embedding",
    "finding",
    "grounding",
    "hiera",
    "image_encoder",
    "latents",
    "masks",
    "mobile",
    "real_time",
    "refining",
    "sparks",
    "tables",
    "talking",
    "tokenizing",
    "voices",
    "watching",
    "windows",
):
    import_module(f"{__name__}.{kind}")
