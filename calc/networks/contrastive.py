"""The towers that CLIP and SigLIP see through, by themselves: encoders of images, which may tell classes apart."""

from calc.architecture.blocks import dense
from calc.architecture.config import Config
from calc.architecture.families.encoder import CLASSIFIES
from calc.architecture.families.registry import family
from calc.architecture.families.vision import CLIP, SIGLIP, patch_count, siglip_tower
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor, Tensors
from calc.networks.image_encoder import image_head, images, last_norm, layer_of, pieces, vit


@family("clip_vision_model", defaults=CLIP)
def clip_vision(config: Config) -> Architecture:
    """CLIP's tower (arXiv:2103.00020): ViT with a norm before its layers, and no pooler behind them."""
    found = vit(config.replaced({"model_type": "vit", "pre_norm": True}))
    kept = tuple(tensor for tensor in found.head if not tensor.name.startswith("pooler."))
    return found._replace(family="clip", head=kept)


@family("siglip_vision_model", defaults=SIGLIP)
def siglip_vision(config: Config) -> Architecture:
    """SigLIP's tower (arXiv:2303.15343), with the attention that makes one vector of an image unless it is left out."""
    hidden = config.hidden()
    table: Tensors = (Tensor("position_embeddings", "other_embedding", (patch_count(config), hidden)), *pieces(config))
    activation = config.text("hidden_act", "gelu_pytorch_tanh")
    block = layer_of(
        config, feed=dense(hidden, config.integer("intermediate_size"), gated=False, bias=True, activation=activation)
    )
    last = last_norm(hidden)
    if config.flag("vision_use_head", default=True):
        pooled = (tensor for tensor in siglip_tower(config, pooling=True) if tensor.name.startswith("vision.head."))
        last += tuple(tensor._replace(block="other") for tensor in pooled)
    if CLASSIFIES in config.classes:
        last += image_head(config, "siglip", hidden)
    return images(config, table, block, last=last)._replace(family="siglip")
