"""D-FINE (arXiv:2410.13842): RT-DETR's plan on HGNet, with boxes that each layer refines as distributions."""

from itertools import pairwise

from calc.architecture.blocks import Mixer, dense, layer, norms
from calc.architecture.config import Config
from calc.architecture.families.encoder import labels_of, reader
from calc.architecture.families.registry import family
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Layer, Style
from calc.architecture.tensors import CONVOLUTION, STATISTICS, Tensor, Tensors, linear, norm
from calc.networks.convolutional import LAST, MOST_CHANNELS, convolved, normed, places_at
from calc.networks.grounding import all_to_all
from calc.networks.image_encoder import images
from calc.networks.real_time import attending, corners

HGNET = {
    "stem_channels": [3, 32, 48],
    "stage_in_channels": [48, 128, 512, 1024],
    "stage_mid_channels": [48, 96, 192, 384],
    "stage_out_channels": [128, 512, 1024, 2048],
    "stage_num_blocks": [1, 1, 3, 1],
    "stage_light_block": [False, False, True, True],
    "stage_kernel_size": [3, 3, 5, 5],
    "stage_numb_of_layers": [6, 6, 6, 6],
}
REFINING = {
    "encoder_hidden_dim": 256,
    "encoder_in_channels": [512, 1024, 2048],
    "decoder_in_channels": [256, 256, 256],
    "encoder_layers": 1,
    "encoder_ffn_dim": 1024,
    "encoder_attention_heads": 8,
    "encode_proj_layers": [2],
    "d_model": 256,
    "num_queries": 300,
    "decoder_ffn_dim": 1024,
    "decoder_n_points": [4, 4, 4],
    "decoder_layers": 6,
    "decoder_attention_heads": 8,
    "num_denoising": 100,
    "max_num_bins": 32,
    "top_prob_values": 4,
    "lqe_hidden_dim": 64,
    "lqe_layers": 2,
    "backbone_config": {},
}
REPEATS = 3  # windows where two grids are joined, before `depth_mult`


@family("d_fine", defaults=REFINING)
def d_fine(config: Config) -> Architecture:
    """D-FINE: HGNet, attention on its last grid, grids joined in pieces, queries that refine distributions of boxes.

    A token is a place of the last grid.
    """
    config.refuse("learn_initial_query", (False,), "no published one learns its queries")
    config.refuse("layer_scale", (1, 1.0), "no published one widens its last layers")
    inner, hidden = config.integer("encoder_hidden_dim", most=MOST_CHANNELS), config.hidden("d_model")
    heads = {side: config.integer(f"{side}_attention_heads", most=2**10) for side in ("encoder", "decoder")}
    if inner % heads["encoder"] or hidden % heads["decoder"]:
        raise config.error("encoder_attention_heads", f"must divide {inner}, and the decoder's {hidden}")
    seen = hgnet(config.nested("backbone_config").completed(HGNET))
    widths = config.integers("encoder_in_channels") or []
    if not 1 <= len(widths) <= 4:
        raise config.error("encoder_in_channels", "must be the channels of one to four grids")
    attended, behind = attending(config, inner, heads["encoder"]), joined(config, inner, len(widths))
    if inner != hidden:
        behind += projected("decoder_proj", [inner] * len(widths), hidden)
    own = (convolved(projected("input_proj", widths, inner)), attended, convolved(behind))
    kinds = tuple(dict.fromkeys((*seen, *own, asking(config, hidden, heads["decoder"]))))
    depth, encoders = config.layers("decoder_layers"), config.integer("encoder_layers", least=0, most=1000)
    order = (*seen, own[0], *(own[1],) * encoders, own[2], *(kinds[-1],) * depth)
    found = images(
        config.replaced({"hidden_size": hidden}),
        (),
        *kinds,
        pattern=tuple(kinds.index(each) for each in order),
        last=boxes(config, hidden),
    )
    return found._replace(context_tokens=(640 // LAST) ** 2)


def projected(name: str, widths: list[int], channels: int) -> Tensors:
    """Return what brings the last grids to one width."""
    tensors: Tensors = ()
    for index, width in enumerate(widths):
        there = places_at(grid(index, len(widths)))
        tensors += normed(f"{name}.{index}", channels, width, 1, places=there)
    return tensors


def grid(index: int, count: int) -> int:
    """Return how many pixels of a side a place of one of the last grids stands for."""
    return LAST >> (count - 1 - index)


def hgnet(config: Config) -> list[Layer]:
    """Return HGNet V2: a stem that looks twice, and stages whose layers' outputs are put together by two matrices."""
    lists = {name: config.integers(name) or [] for name in HGNET if name != "stage_light_block"}
    light = config.values.get("stage_light_block")
    stages = {name: values for name, values in lists.items() if name.startswith("stage_")}
    if any(len(values) != 4 for values in (*stages.values(), light)) or len(lists["stem_channels"]) != 3:  # type: ignore[arg-type]
        raise config.error("stage_in_channels", "must describe four stages, as all that begins with stage_, and a stem")
    if (
        min(map(min, lists.values())) < 1
        or max(map(max, lists.values())) > MOST_CHANNELS
        or sum(lists["stage_num_blocks"]) > 1000
        or max(lists["stage_numb_of_layers"]) > 1000
    ):
        raise config.error("stage_in_channels", f"must have sizes from 1 to {MOST_CHANNELS}")
    scaled = config.flag("use_learnable_affine_block", default=False)

    def one(name: str, outputs: int, inputs: int, kernel: int, *, at: int, stride: int = 1, groups: int = 1) -> Tensors:
        """Return a convolution before an activation, with a scale and a shift behind it where these are learned."""
        tensors = normed(name, outputs, inputs, kernel, places=places_at(at), stride=stride, groups=groups)
        return tensors + ((Tensor(f"{name}.lab", CONVOLUTION, (2,)),) if scaled else ())

    first, middle, last = lists["stem_channels"]
    stem = one("stem1", middle, first, 3, at=2, stride=2) + one("stem2a", middle // 2, middle, 2, at=2)
    stem += one("stem2b", middle, middle // 2, 2, at=2) + one("stem3", middle, 2 * middle, 3, at=4, stride=2)
    layers = [convolved(stem + one("stem4", last, middle, 1, at=4))]
    for stage in range(4):
        inputs, width, outputs, blocks, kernel, depth = (
            lists[f"stage_{name}"][stage]
            for name in ("in_channels", "mid_channels", "out_channels", "num_blocks", "kernel_size", "numb_of_layers")
        )
        at = 4 << stage
        if stage:
            down = normed("downsample", inputs, inputs, 3, places=places_at(at), stride=2, groups=inputs)
            layers.append(convolved(down))
        for _ in range(blocks):
            block: Tensors = ()
            for index in range(depth):
                before = width if index else inputs
                if light[stage]:  # type: ignore[index]
                    block += normed(f"{index}.conv1", width, before, 1, places=places_at(at))
                    block += one(f"{index}.conv2", width, width, kernel, at=at, groups=width)
                else:
                    block += one(str(index), width, before, kernel, at=at)
            block += one("squeeze", outputs // 2, inputs + depth * width, 1, at=at)
            layers.append(convolved(block + one("excite", outputs, outputs // 2, 1, at=at)))
            inputs = outputs
    return layers


def joined(config: Config, inner: int, count: int) -> Tensors:
    """Return what joins each grid with the next coarser one, and back, in pieces of which each reads the one before."""
    repeats = round(REPEATS * config.number("depth_mult", default=1.0, most=16))
    narrow = round(config.number("hidden_expansion", default=1.0, most=16) * inner // 2)
    if not narrow:
        raise config.error("hidden_expansion", f"must leave some of {inner} channels")
    tensors: Tensors = ()
    for way in ("fpn", "pan"):
        for stage in range(count - 1):
            at = places_at(grid(count - 2 - stage if way == "fpn" else stage + 1, count))
            name = f"{way}.{stage}"
            tensors += normed(f"{name}.way", inner, inner, 1, places=at)
            if way == "pan":
                tensors += normed(f"{name}.down", inner, inner, 3, places=at, stride=2, groups=inner)
            tensors += normed(f"{name}.conv1", 2 * inner, 2 * inner, 1, places=at)
            for piece, inputs in (("1", inner), ("2", narrow)):
                for part in ("conv1", "conv2"):
                    tensors += normed(f"{name}.csp{piece}.{part}", narrow, inputs, 1, places=at)
                for _ in range(repeats):
                    tensors += normed(f"{name}.csp{piece}.window", narrow, narrow, 3, places=at)
                    tensors += normed(f"{name}.csp{piece}.beside", narrow, narrow, 1, places=at)
                tensors += normed(f"{name}.after{piece}", narrow, narrow, 3, places=at)
            tensors += normed(f"{name}.conv4", inner, 2 * inner + 2 * narrow, 1, places=at)
    return tensors


def asking(config: Config, hidden: int, heads: int) -> Layer:
    """Return a layer of queries that sample places, pass a gate, and say a class, a distribution and how sure it is."""
    points = config.integers("decoder_n_points") or []
    if not 1 <= len(points) <= 4 or not all(0 < count <= 2**10 for count in points):
        raise config.error("decoder_n_points", "must be the places of each grid that a head looks at")
    total, bins = heads * sum(points), 4 * (config.integer("max_num_bins", most=2**16) + 1)
    tensors = all_to_all("self_attn", "attention", hidden)
    tensors += linear("encoder_attn.offsets", "attention", 2 * total, hidden, bias=True)
    tensors += linear("encoder_attn.weights", "attention", total, hidden, bias=True)
    own: Tensors = (Tensor("encoder_attn.n_points_scale", STATISTICS, (sum(points),)),)
    own += linear("gateway.gate", "layer_other", 2 * hidden, 2 * hidden, bias=True)
    own += linear("class_embed", "layer_other", labels_of(config), hidden, bias=True)
    own += corners("bbox_embed", hidden, "layer_other", bins)
    sure = config.integer("lqe_hidden_dim", most=MOST_CHANNELS)
    sizes = (
        4 * (config.integer("top_prob_values", most=2**10) + 1),
        *(sure,) * (config.integer("lqe_layers", most=64) - 1),
        1,
    )
    for index, (inputs, outputs) in enumerate(pairwise(sizes)):
        own += linear(f"lqe.{index}", "layer_other", outputs, inputs, bias=True)
    return layer(
        reader(Mixer(tensors, Attention(heads, heads, hidden // heads, causal=False, rotary=False))),
        dense(hidden, config.integer("decoder_ffn_dim"), gated=False, bias=True, activation="relu"),
        *norms(hidden, "self_attn_layer_norm", "gateway.norm", "final_layer_norm", bias=True),
        *own,
        style=Style(LAYER_NORM, AFTER),
    )


def boxes(config: Config, hidden: int) -> Tensors:
    """Return what chooses places for queries and makes vectors of boxes; and classes that training makes noise of."""
    labels = labels_of(config)
    tensors = linear("enc_output", "head", hidden, hidden, bias=True)
    tensors += norm("enc_output.norm", hidden, bias=True, block="head")
    tensors += linear("enc_score_head", "head", labels, hidden, bias=True)
    tensors += corners("enc_bbox_head", hidden) + corners("pre_bbox_head", hidden)
    tensors += linear("query_pos_head.0", "head", 2 * hidden, 4, bias=True)
    tensors += linear("query_pos_head.1", "head", hidden, 2 * hidden, bias=True)
    tensors += (Tensor("reg_scale", "head", (1,)), Tensor("up", "head", (1,)))
    if config.integer("num_denoising", least=0, most=2**20):
        tensors += (Tensor("denoising_class_embed.weight", "head", (labels + 1, hidden)),)
    return tensors
