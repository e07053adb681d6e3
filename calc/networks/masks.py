"""Families that give each object and each surface of an image a mask: Mask2Former and OneFormer, over Swin's grids."""

from calc.architecture.blocks import Mixer, dense, layer, norms
from calc.architecture.config import Config
from calc.architecture.families.encoder import labels_of, reader
from calc.architecture.families.registry import family, read_config
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Layer, Style
from calc.architecture.tensors import STATISTICS, Tensor, Tensors, convolution, linear, norm
from calc.networks.convolutional import MOST_CHANNELS, convolved, finer, places_at
from calc.networks.grounding import all_to_all, sampling
from calc.networks.image_encoder import images

MASKS = {
    "hidden_dim": 256,
    "encoder_feedforward_dim": 1024,
    "encoder_layers": 6,
    "decoder_layers": 10,
    "num_attention_heads": 8,
    "dim_feedforward": 2048,
    "num_queries": 100,
    "backbone_config": {},
}
GRIDS, POINTS = 3, 4  # that are looked at, of 8, 16 and 32 pixels, and how many places of each for a head
EVERYWHERE = 21  # places of these grids for one of the last


@family("mask2former", defaults={**MASKS, "feature_size": 256, "mask_feature_size": 256})
def mask2former(config: Config) -> Architecture:
    """Mask2Former (arXiv:2112.01527): three of Swin's grids look at each other, and queries at them, as masks say."""
    hidden = config.hidden("hidden_dim")
    mask = config.integer("mask_feature_size", most=MOST_CHANNELS)
    table = query_tables(config, hidden, ("embedder", "features"))
    last = norm("layernorm", hidden, bias=True, block="final_norm") + told(config, hidden, mask)
    pixels = config.integer("feature_size", most=MOST_CHANNELS)
    return masked(config, hidden=hidden, pixels=pixels, mask=mask, table=table, last=last)


@family("oneformer", defaults={**MASKS, "num_queries": 150, "conv_dim": 256, "mask_dim": 256, "task_seq_len": 77})
def oneformer(config: Config) -> Architecture:
    """OneFormer (arXiv:2211.06220): Mask2Former whose queries know the task; what reads texts in training is apart."""
    config.refuse("is_training", (False,), "what reads texts in training is left out of what people run")
    hidden = config.hidden("hidden_dim")
    mask = config.integer("mask_dim", most=MOST_CHANNELS)
    table = query_tables(config, hidden, ("embedder",))
    for index, inputs in enumerate((config.integer("task_seq_len", most=2**16), hidden)):
        table += linear(f"task.{index}", "other_embedding", hidden, inputs, bias=True)
    table += of_task(config, hidden)
    last = norm("layernorm", hidden, bias=True, block="final_norm", copies=2) + told(config, hidden, mask)
    last += convolution("query_input_projection", hidden, hidden, 1, places=0, bias=True, block="head")
    last += (Tensor("criterion.logit_scale", STATISTICS, (1,)),)
    pixels = config.integer("conv_dim", most=MOST_CHANNELS)
    return masked(config, hidden=hidden, pixels=pixels, mask=mask, table=table, last=last)


def query_tables(config: Config, hidden: int, names: tuple[str, ...]) -> Tensors:
    """Return what queries are at first, and what tells grids apart."""
    count = config.integer("num_queries", most=2**20)
    table: Tensors = tuple(Tensor(f"queries.{name}.weight", "other_embedding", (count, hidden)) for name in names)
    return (*table, Tensor("level_embed", "other_embedding", (GRIDS, hidden)))


def of_task(config: Config, hidden: int) -> Tensors:
    """Return the layers in which queries look at the task, which are few and stand beside the others."""
    tensors = all_to_all("task.self_attn", "other_embedding", hidden)
    tensors += all_to_all("task.attn", "other_embedding", hidden)
    width = config.integer("dim_feedforward")
    tensors += linear("task.linear1", "other_embedding", width, hidden, bias=True)
    tensors += linear("task.linear2", "other_embedding", hidden, width, bias=True)
    tensors += norm("task.norms", hidden, bias=True, block="other_embedding", copies=3)
    layers = config.integer("query_dec_layers", default=2, most=1000)
    return tuple(tensor._replace(copies=layers * tensor.copies) for tensor in tensors)


def told(config: Config, hidden: int, mask: int) -> Tensors:
    """Return what makes a class and a mask of a query, and how much each class weighs in training."""
    labels = labels_of(config)
    tensors = linear("class_predictor", "head", labels + 1, hidden, bias=True)
    for index, outputs in enumerate((hidden, hidden, mask)):
        tensors += linear(f"mask_embedder.{index}", "head", outputs, hidden, bias=True)
    return (*tensors, Tensor("criterion.empty_weight", STATISTICS, (labels + 1,)))


def masked(config: Config, *, hidden: int, pixels: int, mask: int, table: Tensors, last: Tensors) -> Architecture:
    """Put a network for masks together: Swin, layers over three of its grids, and layers of queries."""
    vision = config.nested("backbone_config").completed({"model_type": "swin"})
    vision.refuse("model_type", ("swin",), "those that look through ResNet are not")
    seeing = read_config(vision.replaced({"architectures": ["SwinBackbone"]}))
    widths = [vision.integer("embed_dim", default=96, most=MOST_CHANNELS) << stage for stage in range(4)]
    heads = config.integer("num_attention_heads", most=2**10)
    if hidden % heads or pixels % heads:
        raise config.error("num_attention_heads", f"must divide the hidden sizes {hidden} and {pixels}")
    first, encoders = len(seeing.kinds), config.layers("encoder_layers")
    decoders = config.integer("decoder_layers", least=2, most=1000) - 1  # the first predicts from the queries alone
    kinds = (
        convolved(joined(widths, pixels, mask)),
        looking_around(config, pixels, heads),
        asking(config, hidden, heads),
    )
    return images(
        config.replaced({"hidden_size": hidden}),
        table,
        *seeing.kinds,
        *kinds,
        pattern=(*seeing.pattern, first, *(first + 1,) * encoders, *(first + 2,) * decoders),
        last=last,
    )._replace(context_tokens=seeing.context_tokens)


def joined(widths: list[int], pixels: int, mask: int) -> Tensors:
    """Return the norms of Swin's grids, what brings them to one width, and what makes the finest, where masks lie."""
    tensors: Tensors = ()
    for stage, width in enumerate(widths):
        tensors += norm(f"grid_norm.{stage}", width, bias=True)
        if stage:
            places = places_at(4 << stage)
            tensors += convolution(f"projection.{stage}", pixels, width, 1, places=places, bias=True)
            tensors += norm(f"projection.{stage}.norm", pixels, bias=True)
    finest = places_at(4)
    tensors += convolution("adapter", pixels, widths[0], 1, places=finest)
    tensors += convolution("fuse", pixels, pixels, 3, places=finest) + norm("norms", pixels, bias=True, copies=2)
    tensors += convolution("mask_projection", mask, pixels, 1, places=finest, bias=True)
    return (*tensors, Tensor("pixels.level_embed", "layer_other", (GRIDS, pixels)))


def looking_around(config: Config, pixels: int, heads: int) -> Layer:
    """Return a layer in which places of three grids look at a few others, which they choose."""
    feed = dense(pixels, config.integer("encoder_feedforward_dim"), gated=False, bias=True, activation="relu")
    seen = finer(sampling("self_attn", pixels, heads, grids=GRIDS), EVERYWHERE)
    few = Attention(heads, heads, pixels // heads, GRIDS * POINTS, causal=False, rotary=False)
    return layer(
        reader(Mixer(seen, few)),
        feed._replace(tensors=finer(feed.tensors, EVERYWHERE)),
        *norms(pixels, "self_attn_layer_norm", "final_layer_norm", bias=True),
        style=Style(LAYER_NORM, AFTER),
    )._replace(hidden=pixels, places=EVERYWHERE)


def asking(config: Config, hidden: int, heads: int) -> Layer:
    """Return a layer of queries, which look at one grid within their masks, and at each other."""
    tensors = all_to_all("self_attn", "attention", hidden) + all_to_all("cross_attn", "attention", hidden)
    return layer(
        reader(Mixer(tensors, Attention(heads, heads, hidden // heads, causal=False, rotary=False))),
        dense(hidden, config.integer("dim_feedforward"), gated=False, bias=True, activation="relu"),
        *norms(hidden, "cross_attn_layer_norm", "self_attn_layer_norm", "final_layer_norm", bias=True),
        style=Style(LAYER_NORM, AFTER),
    )
