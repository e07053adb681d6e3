"""Families that find in an image what words name: Grounding DINO, over Swin's grids and BERT's words."""

from calc.architecture.blocks import Mixer, dense, layer, norms
from calc.architecture.config import Config
from calc.architecture.families.encoder import reader
from calc.architecture.families.registry import family, read_config
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Layer, Style
from calc.architecture.tensors import Tensor, Tensors, convolution, linear, norm
from calc.networks.convolutional import LAST, MOST_CHANNELS, convolved, places_at
from calc.networks.image_encoder import images

GROUNDING = {
    "d_model": 256,
    "encoder_layers": 6,
    "encoder_ffn_dim": 2048,
    "encoder_attention_heads": 8,
    "decoder_layers": 6,
    "decoder_ffn_dim": 2048,
    "decoder_attention_heads": 8,
    "num_queries": 900,
    "backbone_config": {},
    "text_config": {},
}
GRIDS, POINTS = 4, 4  # that are looked at, and how many places of each for a head
EVERYWHERE = 21  # places of all grids for one of Swin's last: of 8, 16, 32 and 64 pixels, the last a quarter
TOKENS = (800 // LAST) * (1333 // LAST)  # of an image as its processor makes it


@family("grounding-dino", defaults=GROUNDING)
def grounding_dino(config: Config) -> Architecture:
    """Grounding DINO (arXiv:2303.05499): grids and words enhance each other, and queries become boxes.

    A token is a place of Swin's last grid. What words pass is stored, and not counted as work: they are few.
    """
    hidden = config.hidden("d_model")
    vision = config.nested("backbone_config").completed({"model_type": "swin"})
    vision.refuse("model_type", ("swin",), "all published ones look through Swin")
    seeing = read_config(vision.replaced({"architectures": ["SwinBackbone"]}))
    widths = [vision.integer("embed_dim", default=96, most=MOST_CHANNELS) << stage for stage in (1, 2, 3)]
    table, width = words(config)
    table += linear("text_projection", "other_embedding", hidden, width, bias=True)
    table += (Tensor("queries.weight", "other_embedding", (config.integer("num_queries", most=2**20), hidden)),)
    own = (convolved(projected(widths, hidden)), enhancing(config, hidden), finding(config, hidden))
    first = len(seeing.kinds)
    encoders, decoders = config.layers("encoder_layers"), config.layers("decoder_layers")
    table += of_words(config, hidden, encoders)
    found = images(
        config.replaced({"hidden_size": hidden}),
        table,
        *seeing.kinds,
        *own,
        pattern=(*seeing.pattern, first, *(first + 1,) * encoders, *(first + 2,) * decoders),
        last=boxes(hidden),
    )
    return found._replace(context_tokens=TOKENS)


def words(config: Config) -> tuple[Tensors, int]:
    """Return BERT without its pooler, as what is stored beside the layers, and how wide it is."""
    text = config.nested("text_config").completed({"model_type": "bert"})
    text.refuse("model_type", ("bert",), "all published ones read by BERT")
    read = read_config(text.replaced({"architectures": ["BertModel"]}))
    tensors = [(tensor, 1) for tensor in read.embeddings]
    tensors += [(tensor, count) for kind, count in read.kind_counts() for tensor in kind.tensors]
    return tuple(
        tensor._replace(name=f"text.{tensor.name}", block="other_embedding", copies=count * tensor.copies)
        for tensor, count in tensors
    ), read.hidden_size


def projected(widths: list[int], hidden: int) -> Tensors:
    """Return what brings three of Swin's grids to one width, each behind a norm, and makes a coarser one."""
    tensors: Tensors = ()
    for stage, width in enumerate(widths):
        tensors += norm(f"grid_norm.{stage}", width, bias=True)
        tensors += convolution(f"projection.{stage}", hidden, width, 1, places=places_at(8 << stage), bias=True)
    tensors += convolution("projection.3", hidden, widths[-1], 3, places=0.25, stride=2, bias=True)
    tensors += norm("projection.norms", hidden, bias=True, copies=GRIDS)
    return (*tensors, Tensor("level_embed", "layer_other", (GRIDS, hidden)))


def sampling(name: str, hidden: int, heads: int, *, grids: int = GRIDS) -> Tensors:
    """Return attention to a few places of each grid, which the query itself points to (arXiv:2010.04159)."""
    tensors: Tensors = ()
    for part, rows in (
        ("offsets", 2 * heads * grids * POINTS),
        ("weights", heads * grids * POINTS),
        ("value_proj", hidden),
        ("o_proj", hidden),
    ):
        tensors += linear(f"{name}.{part}", "attention", rows, hidden, bias=True)
    return tensors


def all_to_all(name: str, block: str, hidden: int) -> Tensors:
    """Return the four matrices of plain attention."""
    parts = ("q_proj", "k_proj", "v_proj", "o_proj")
    return tuple(t for part in parts for t in linear(f"{name}.{part}", block, hidden, hidden, bias=True))


def fused(side: str, block: str, hidden: int, half: int) -> Tensors:
    """Return one side of attention in which grids and words look at each other."""
    tensors: Tensors = ()
    for part, rows, columns in (("proj", half, hidden), ("values", half, hidden), ("out", hidden, half)):
        tensors += linear(f"fusion.{side}.{part}", block, rows, columns, bias=True)
    return (*tensors, Tensor(f"fusion.{side}.scale", block, (hidden,)))


def of_words(config: Config, hidden: int, layers: int) -> Tensors:
    """Return what words pass in all layers of the encoder: attention to each other, an MLP, their side of fusion."""
    half = max(1, config.integer("encoder_ffn_dim") // 2)
    tensors = all_to_all("enhancer.self_attn", "other_embedding", hidden)
    tensors += linear("enhancer.fc1", "other_embedding", half, hidden, bias=True)
    tensors += linear("enhancer.fc2", "other_embedding", hidden, half, bias=True)
    tensors += norm("enhancer.norms", hidden, bias=True, block="other_embedding", copies=3)
    tensors += fused("text", "other_embedding", hidden, half)
    return tuple(tensor._replace(copies=layers * tensor.copies) for tensor in tensors)


def heads_in(config: Config, side: str, hidden: int) -> int:
    """Return the heads of attention on one side, which share the hidden size evenly."""
    heads = config.integer(f"{side}_attention_heads", most=2**10)
    if hidden % heads:
        raise config.error(f"{side}_attention_heads", f"must divide the hidden size {hidden}")
    return heads


def enhancing(config: Config, hidden: int) -> Layer:
    """Return a layer of the encoder: grids look at words, and places at a few others."""
    heads, width = heads_in(config, "encoder", hidden), config.integer("encoder_ffn_dim")
    half = max(1, width // 2)
    seen = fused("vision", "attention", hidden, half)
    seen += sampling("self_attn", hidden, heads)
    seen = tuple(tensor._replace(places=EVERYWHERE) for tensor in seen) + norm("fusion.norm", hidden, bias=True)
    feed = dense(hidden, width, gated=False, bias=True, activation=config.text("activation_function", "relu"))
    few = Attention(heads, heads, hidden // heads, GRIDS * POINTS, causal=False, rotary=False)
    found = layer(
        reader(Mixer(seen, few)),
        feed._replace(tensors=tuple(tensor._replace(places=EVERYWHERE) for tensor in feed.tensors)),
        *norms(hidden, "self_attn_layer_norm", "final_layer_norm", bias=True),
        style=Style(LAYER_NORM, AFTER),
    )
    return found._replace(hidden=hidden, places=EVERYWHERE)


def finding(config: Config, hidden: int) -> Layer:
    """Return a layer of the decoder: queries by each other, by words, by a few places of the grids."""
    heads = heads_in(config, "decoder", hidden)
    tensors = all_to_all("self_attn", "attention", hidden) + all_to_all("text_attn", "attention", hidden)
    feed = dense(
        hidden,
        config.integer("decoder_ffn_dim"),
        gated=False,
        bias=True,
        activation=config.text("activation_function", "relu"),
    )
    names = ("self_attn_layer_norm", "text_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")
    return layer(
        reader(
            Mixer(
                tensors + sampling("encoder_attn", hidden, heads),
                Attention(heads, heads, hidden // heads, causal=False, rotary=False),
            )
        ),
        feed,
        *norms(hidden, *names, bias=True),
        style=Style(LAYER_NORM, AFTER),
    )


def boxes(hidden: int) -> Tensors:
    """Return what makes boxes of the best places and of queries, whose layers share it, and points of boxes."""
    tensors = norm("layer_norm", hidden, bias=True, block="final_norm")
    tensors += linear("enc_output", "head", hidden, hidden, bias=True) + norm(
        "enc_output_norm", hidden, bias=True, block="head"
    )
    for index, inputs in enumerate((2 * hidden, hidden)):
        tensors += linear(f"reference_points.{index}", "head", hidden, inputs, bias=True)
    for which in ("encoder_boxes", "decoder_boxes"):
        for index, outputs in enumerate((hidden, hidden, 4)):
            tensors += linear(f"{which}.{index}", "head", outputs, hidden, bias=True)
    return tensors
