"""Families that watch: encoders of videos, whose pieces reach over several frames."""

from calc.architecture.config import Config
from calc.architecture.families.encoder import labels_of
from calc.architecture.families.registry import family
from calc.architecture.families.vision import VIT, patch_count, patches, transformer
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor, Tensors, linear, norm
from calc.networks.image_encoder import images, last_norm, layer_of, looking, pieces

VIDEOMAE = {
    **VIT,
    "num_frames": 16,
    "tubelet_size": 2,
    "decoder_hidden_size": 384,
    "decoder_intermediate_size": 1536,
    "decoder_num_hidden_layers": 4,
    "decoder_num_attention_heads": 6,
}


@family("videomae", defaults=VIDEOMAE)
def videomae(config: Config) -> Architecture:
    """VideoMAE (arXiv:2203.12602): ViT over pieces of two frames, without biases of keys and with waves as positions.

    The one that is trained by itself has a small decoder, which paints what was covered; it is counted as its head.
    """
    mixer = looking(config, bias=config.flag("qkv_bias", default=True))
    table = patches(config, bias=True, frames=config.integer("tubelet_size", most=2**10))
    return images(
        config,
        tuple(tensor._replace(block="other_embedding") for tensor in table),
        layer_of(config, mixer=mixer._replace(tensors=without_key_bias(mixer.tensors))),
        last=video_head(config),
    )


def without_key_bias(tensors: Tensors) -> Tensors:
    """Return the tensors of an attention without the bias of its keys."""
    return tuple(tensor for tensor in tensors if not tensor.name.endswith("k_proj.bias"))


def video_head(config: Config) -> Tensors:
    """Return what stands behind an encoder of videos: a norm, and classes or a decoder."""
    hidden, names = config.hidden(), config.classes
    means = config.flag("use_mean_pooling", default=True)
    if "ForVideoClassification" in names:  # of the mean of all pieces, or of the first
        last = norm("fc_norm", hidden, bias=True, block="final_norm") if means else last_norm(hidden)
        return last + linear("classifier", "head", labels_of(config), hidden, bias=True)
    last = () if means else last_norm(hidden)
    return last + painter(config) if "ForPreTraining" in names else last


def painter(config: Config) -> Tensors:
    """Return the decoder of one that was trained to paint the pieces that it was not shown."""
    hidden, width = config.integer("decoder_hidden_size", most=2**20), config.integer("decoder_intermediate_size")
    small = config.replaced({"num_attention_heads": config.integer("decoder_num_attention_heads", most=2**20)})
    depth = config.integer("decoder_num_hidden_layers", most=2**12)
    piece = config.integer("num_channels", default=3, most=2**16) * config.integer("tubelet_size", most=2**10)
    piece *= config.integer("patch_size", most=2**16) ** 2
    tensors: Tensors = (Tensor("mask_token", "head", (1, 1, hidden)),)
    tensors += linear("encoder_to_decoder", "head", hidden, config.hidden())
    layers = transformer(small, depth=depth, hidden=hidden, width=width, name="decoder.layers")
    tensors += tuple(tensor._replace(block="head") for tensor in without_key_bias(layers))
    tensors += norm("decoder.norm", hidden, bias=True, block="head")
    return tensors + linear("decoder.head", "head", piece, hidden, bias=True)


@family("timesformer", defaults={**VIT, "num_frames": 8, "attention_type": "divided_space_time"})
def timesformer(config: Config) -> Architecture:
    """TimeSformer (arXiv:2102.05095): ViT that attends to the same piece of other frames, then to its own frame."""
    config.refuse("attention_type", ("divided_space_time",), "all published ones divide space and time")
    hidden, frames = config.hidden(), config.integer("num_frames", most=2**16)
    table: Tensors = (Tensor("cls_token", "other_embedding", (1, 1, hidden)),)
    table += (Tensor("position_embeddings", "other_embedding", (1, patch_count(config) + 1, hidden)),)
    table += (Tensor("time_embeddings", "other_embedding", (1, frames, hidden)), *pieces(config))
    mixer = looking(config, bias=config.flag("qkv_bias", default=True))
    own = tuple(tensor._replace(name=f"temporal_{tensor.name}") for tensor in mixer.tensors)
    own += linear("temporal_dense", "attention", hidden, hidden, bias=True)
    block = layer_of(
        config, *norm("temporal_layernorm", hidden, bias=True), mixer=mixer._replace(tensors=mixer.tensors + own)
    )
    return images(config, table, block, last=last_norm(hidden) + watched(config, hidden))


@family("vivit", defaults={**VIT, "num_frames": 32, "tubelet_size": [2, 16, 16]})
def vivit(config: Config) -> Architecture:
    """ViViT (arXiv:2103.15691): ViT over pieces that reach over several frames, with a place for each."""
    hidden, sides = config.hidden(), config.integers("tubelet_size") or []
    if len(sides) != 3 or not all(0 < side <= 2**10 for side in sides) or sides[1] != sides[2]:
        raise config.error("tubelet_size", "must be frames, and a height and a width that are alike")
    whole = config.replaced({"patch_size": sides[1]})
    places = patch_count(whole) * (config.integer("num_frames", most=2**16) // sides[0]) + 1
    table: Tensors = (Tensor("cls_token", "other_embedding", (1, 1, hidden)),)
    table += (Tensor("position_embeddings", "other_embedding", (1, places, hidden)),)
    table += tuple(tensor._replace(block="other_embedding") for tensor in patches(whole, bias=True, frames=sides[0]))
    behind = watched(config, hidden) or linear("pooler", "other", hidden, hidden, bias=True)
    return images(config, table, layer_of(config), last=last_norm(hidden) + behind)


def watched(config: Config, hidden: int) -> Tensors:
    """Return the classes of a video."""
    classifies = "ForVideoClassification" in config.classes
    return linear("classifier", "head", labels_of(config), hidden, bias=True) if classifies else ()
