"""Families that find objects while a camera runs: RT-DETR, whose grids are joined by convolutions."""

from calc.architecture.blocks import Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.families.encoder import labels_of, reader
from calc.architecture.families.registry import family, read_config
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Layer, Style
from calc.architecture.tensors import STATISTICS, Tensor, Tensors, linear, norm
from calc.networks.convolutional import MOST_CHANNELS, convolved, normed, places_at
from calc.networks.grounding import all_to_all, sampling
from calc.networks.image_encoder import images

REAL_TIME = {
    "encoder_hidden_dim": 256,
    "encoder_in_channels": [512, 1024, 2048],
    "encoder_layers": 1,
    "encoder_ffn_dim": 1024,
    "encoder_attention_heads": 8,
    "encode_proj_layers": [2],
    "hidden_expansion": 1.0,
    "d_model": 256,
    "num_queries": 300,
    "decoder_ffn_dim": 1024,
    "decoder_layers": 6,
    "decoder_attention_heads": 8,
    "num_denoising": 100,
    "backbone_config": {},
}
GRIDS, POINTS, REPEATS = 3, 4, 3  # grids, places of each for a head, and windows where two grids are joined
STEM = [32, 32]


@family("rt_detr", "rt_detr_v2", defaults=REAL_TIME)
def rt_detr(config: Config) -> Architecture:
    """RT-DETR (arXiv:2304.08069, 2407.17140): ResNet, attention on its last grid, grids joined, queries that sample.

    A token is a place of the last grid.
    """
    config.refuse("learn_initial_query", (False,), "no published one learns its queries")
    inner, hidden = config.integer("encoder_hidden_dim", most=MOST_CHANNELS), config.hidden("d_model")
    if config.integers("encode_proj_layers") != [2]:
        raise config.error("encode_proj_layers", "must be [2]: all published ones attend on the last grid alone")
    seeing, widths = backbone(config)
    heads = {side: config.integer(f"{side}_attention_heads", most=2**10) for side in ("encoder", "decoder")}
    if inner % heads["encoder"] or hidden % heads["decoder"]:
        raise config.error("encoder_attention_heads", f"must divide {inner}, and the decoder's {hidden}")
    own = (
        convolved(projected("input", widths, inner)),
        attending(config, inner, heads["encoder"]),
        convolved(joined(config, inner)),
        convolved(projected("decoder", [inner] * GRIDS, hidden)),
        asking(config, hidden, heads["decoder"]),
    )
    first, encoders = len(seeing.kinds), config.integer("encoder_layers", least=0, most=1000)
    behind = (first + 2, first + 3, *(first + 4,) * config.layers("decoder_layers"))
    found = images(
        config.replaced({"hidden_size": hidden}),
        (),
        *seeing.kinds,
        *own,
        pattern=(*seeing.pattern, first, *(first + 1,) * encoders, *behind),
        last=boxes(config, hidden),
    )
    return found._replace(context_tokens=(640 // 32) ** 2)


def backbone(config: Config) -> tuple[Architecture, list[int]]:
    """Return ResNet as RT-DETR has it, with three windows first, and the channels of its three last grids."""
    seen = config.nested("backbone_config")
    seen.refuse("model_type", ("rt_detr_resnet", "resnet"), "all published ones look through ResNet")
    seeing = read_config(seen.replaced({"model_type": "resnet", "stem_widths": STEM, "architectures": ["Backbone"]}))
    widths = config.integers("encoder_in_channels") or []
    sizes = seen.integers("hidden_sizes") or [256, 512, 1024, 2048]
    if widths != sizes[-GRIDS:]:
        raise config.error("encoder_in_channels", f"must be what ResNet gives: {sizes[-GRIDS:]}")
    if seen.text("layer_type", "bottleneck") == "basic":  # the first of its layers has a shortcut, too
        shortcut = normed("shortcut", sizes[0], sizes[0], 1, places=places_at(4))
        kinds = (*seeing.kinds, convolved(shortcut))
        seeing = seeing._replace(kinds=kinds, pattern=(*seeing.pattern, len(seeing.kinds)))
    return seeing, widths


def projected(name: str, widths: list[int], channels: int) -> Tensors:
    """Return what brings three grids to one width."""
    tensors: Tensors = ()
    for stage, width in enumerate(widths):
        tensors += normed(f"{name}_proj.{stage}", channels, width, 1, places=places_at(8 << stage))
    return tensors


def attending(config: Config, inner: int, heads: int) -> Layer:
    """Return a layer of attention between the places of the last grid."""
    seen = Attention(heads, heads, inner // heads, causal=False, rotary=False)
    feed = dense(inner, config.integer("encoder_ffn_dim"), gated=False, bias=True, activation="gelu")
    around = norms(inner, "self_attn_layer_norm", "final_layer_norm", bias=True)
    mixer = reader(softmax_attention(inner, seen, bias=True))
    return layer(mixer, feed, *around, style=Style(LAYER_NORM, AFTER))._replace(hidden=inner)


def joined(config: Config, inner: int) -> Tensors:
    """Return what joins each grid with the next coarser one, and back: convolutions on two ways, one by windows."""
    between = int(inner * config.number("hidden_expansion", default=1.0, most=16))
    if not between:
        raise config.error("hidden_expansion", f"must leave some of {inner} channels")
    tensors: Tensors = ()
    for way in ("fpn", "pan"):
        for stage in range(GRIDS - 1):
            here = places_at(8 << (GRIDS - 2 - stage if way == "fpn" else stage + 1))
            kernel, before = (1, here // 4) if way == "fpn" else (3, here)
            tensors += normed(f"{way}.{stage}.way", inner, inner, kernel, places=max(1, before), stride=kernel // 2 + 1)
            for part in ("conv1", "conv2"):
                tensors += normed(f"{way}.{stage}.{part}", between, 2 * inner, 1, places=here)
            for _ in range(REPEATS):
                tensors += normed(f"{way}.{stage}.window", between, between, 3, places=here)
                tensors += normed(f"{way}.{stage}.beside", between, between, 1, places=here)
            if between != inner:
                tensors += normed(f"{way}.{stage}.conv3", inner, between, 1, places=here)
    return tensors


def asking(config: Config, hidden: int, heads: int) -> Layer:
    """Return a layer of queries, which look at each other and at places they choose, and say a class and a box."""
    tensors = all_to_all("self_attn", "attention", hidden) + sampling("encoder_attn", hidden, heads, grids=GRIDS)
    own = linear("class_embed", "layer_other", labels_of(config), hidden, bias=True)
    own += corners("bbox_embed", hidden, "layer_other")
    if config.text("model_type", "") == "rt_detr_v2":  # weighs the places of each grid alike
        own += (Tensor("n_points_scale", STATISTICS, (GRIDS * POINTS,)),)
    return layer(
        reader(Mixer(tensors, Attention(heads, heads, hidden // heads, causal=False, rotary=False))),
        dense(hidden, config.integer("decoder_ffn_dim"), gated=False, bias=True, activation="relu"),
        *norms(hidden, "self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm", bias=True),
        *own,
        style=Style(LAYER_NORM, AFTER),
    )


def corners(name: str, hidden: int, block: str = "head", outputs: int = 4) -> Tensors:
    """Return what makes a box of a vector, or a distribution of each of its sides."""
    tensors: Tensors = ()
    for index, width in enumerate((hidden, hidden, outputs)):
        tensors += linear(f"{name}.{index}", block, width, hidden, bias=True)
    return tensors


def boxes(config: Config, hidden: int) -> Tensors:
    """Return what chooses places for queries and makes vectors of boxes; and classes that training makes noise of."""
    labels = labels_of(config)
    tensors = linear("enc_output", "head", hidden, hidden, bias=True)
    tensors += norm("enc_output.norm", hidden, bias=True, block="head")
    tensors += linear("enc_score_head", "head", labels, hidden, bias=True) + corners("enc_bbox_head", hidden)
    tensors += linear("query_pos_head.0", "head", 2 * hidden, 4, bias=True)
    tensors += linear("query_pos_head.1", "head", hidden, 2 * hidden, bias=True)
    if config.integer("num_denoising", least=0, most=2**20):
        tensors += (Tensor("denoising_class_embed.weight", "head", (labels + 1, hidden)),)
    return tensors
