"""Families that find objects in what a convolutional network makes of an image: DETR and the Table Transformer."""

from calc.architecture.blocks import dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE
from calc.architecture.families.encoder import labels_of, reader
from calc.architecture.families.registry import family, read_config
from calc.architecture.families.translation import attention_over_both, heads_over
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Style
from calc.architecture.tensors import Tensor, Tensors, convolution, linear, norm
from calc.networks.convolutional import convolved
from calc.networks.image_encoder import images

BACKBONES = ("resnet18", "resnet50", "resnet101")
DETR = {
    "d_model": 256,
    "encoder_layers": 6,
    "encoder_ffn_dim": 2048,
    "encoder_attention_heads": 8,
    "decoder_layers": 6,
    "decoder_ffn_dim": 2048,
    "num_queries": 100,
    "num_labels": 91,
    "backbone": "resnet50",
}


@family("detr", defaults=DETR)
@family("table-transformer", defaults={**DETR, "backbone": "resnet18"})
def detr(config: Config) -> Architecture:
    """DETR (arXiv:2005.12872): ResNet, an encoder of its output, and as many learned queries as objects are sought."""
    config.refuse("backbone", tuple(BACKBONES), "the sizes of others are not known")
    seeing = read_config(Config({"architecture": config.text("backbone", ""), "architectures": []}))
    channels = seeing.hidden_size
    hidden, activation = config.hidden("d_model"), config.text("activation_function", "relu")
    first = config.text("model_type", "") == "table-transformer"  # norms before the blocks, and one behind each side
    style = GPT_STYLE if first else Style(LAYER_NORM, AFTER)
    attention = heads_over(config, hidden)._replace(causal=False)
    mixer = softmax_attention(hidden, attention, bias=True)
    names = ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")
    encoding, decoding = (
        dense(hidden, config.integer(f"{side}_ffn_dim"), gated=False, bias=True, activation=activation)
        for side in ("encoder", "decoder")
    )
    projected = convolved(convolution("input_projection", hidden, channels, 1, bias=True))
    table: Tensors = (Tensor("queries.weight", "other_embedding", (config.integer("num_queries", most=2**20), hidden)),)
    last = norm("layernorm", hidden, bias=True, block="final_norm", copies=2 if first else 1)
    last += linear("class_labels_classifier", "head", labels_of(config) + 1, hidden, bias=True)
    for index, outputs in enumerate((hidden, hidden, 4)):
        last += linear(f"bbox_predictor.{index}", "head", outputs, hidden, bias=True)
    whole, first_own = config.replaced({"hidden_size": hidden}), len(seeing.kinds)
    return images(
        whole,
        table,
        *seeing.kinds,
        projected,
        layer(reader(mixer), encoding, *norms(hidden, names[0], names[2], bias=True), style=style),
        layer(reader(attention_over_both(mixer, attention)), decoding, *norms(hidden, *names, bias=True), style=style),
        pattern=(
            *seeing.pattern,
            first_own,
            *(first_own + 1,) * config.layers("encoder_layers"),
            *(first_own + 2,) * config.layers("decoder_layers"),
        ),
        last=last,
    )
