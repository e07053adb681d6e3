"""The family that follows objects through videos: SAM 2, over the four grids of Hiera."""

from calc.architecture.blocks import Mixer, dense, layer, norms
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE
from calc.architecture.families.encoder import reader
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention, Layer
from calc.architecture.tensors import Tensor, Tensors, convolution, linear
from calc.networks.convolutional import LAST, MOST_CHANNELS, convolved, finer, places_at
from calc.networks.image_encoder import in_order

HIERA = {
    "embed_dim_per_stage": [96, 192, 384, 768],
    "blocks_per_stage": [1, 2, 7, 2],
    "num_attention_heads_per_stage": [1, 2, 4, 8],
    "window_size_per_stage": [8, 4, 14, 7],
    "global_attention_blocks": [5, 7, 9],
    "window_positional_embedding_background_size": [7, 7],
    "mlp_ratio": 4.0,
    "image_size": [1024, 1024],
}
MEMORY_CHANNELS = 64  # of what is remembered of a place
SAM2_CHANNELS = 256  # of what stands behind the tower, in every published SAM 2
# Parameters of what reads points and writes masks, and of what remembers frames.
SAM2_DECODER, SAM2_MEMORY = 4_222_097, 7_505_265


@family("sam2", "sam2_video", defaults={"vision_config": {}})
def sam2(config: Config) -> Architecture:
    """SAM 2 (arXiv:2408.00714): Hiera, windows on four grids, and a decoder of masks; of videos a memory of frames."""
    vision = config.nested("vision_config")
    vision.refuse("fpn_hidden_size", (SAM2_CHANNELS,), "what reads points and writes masks is of this width")
    seen = vision.nested("backbone_config") if vision.has("backbone_config") else Config({}, vision.field)
    layers, widths = hiera(seen.completed(HIERA))
    last: Tensors = ()
    for stage, width in enumerate(widths):
        places = places_at(4 << stage)
        last += convolution(f"neck.{stage}", SAM2_CHANNELS, width, 1, places=places, bias=True, block="head")
    last += (Tensor("mask_decoder", "head", (SAM2_DECODER,)),)
    if config.text("model_type", "") == "sam2_video":
        last += (Tensor("memory", "head", (SAM2_MEMORY,)),)
        if config.flag("enable_occlusion_spatial_embedding", default=True):  # since 2.1, as the projection of times
            last += (Tensor("occlusion_spatial_embedding", "head", (1, MEMORY_CHANNELS)),)
        if config.flag("enable_temporal_pos_encoding_for_object_pointers", default=True):
            last += linear("temporal_projection", "head", MEMORY_CHANNELS, SAM2_CHANNELS, bias=True)
    found = in_order(config.replaced({"hidden_size": widths[-1]}), layers, last=last)
    return found._replace(context_tokens=(1024 // LAST) ** 2)


def hiera(config: Config) -> tuple[list[Layer], list[int]]:
    """Return Hiera's layers (arXiv:2306.00989); the first on a coarser grid asks by the largest of four places."""
    widths, depths, heads, windows = (
        config.integers(name) or []
        for name in (
            "embed_dim_per_stage",
            "blocks_per_stage",
            "num_attention_heads_per_stage",
            "window_size_per_stage",
        )
    )
    each = list(zip(widths, depths, heads, windows, strict=False))
    if not all(len(listed) == 4 for listed in (widths, depths, heads, windows)) or not all(
        0 < value <= MOST_CHANNELS for stage in each for value in stage
    ):
        raise config.error("embed_dim_per_stage", "and what else is said of stages must be four numbers above zero")
    if any(width % count for width, _, count, _ in each) or sum(depths) > 1000:
        raise config.error("num_attention_heads_per_stage", "must divide the widths, of no more than 1,000 layers")
    everywhere = set(config.integers("global_attention_blocks") or ())
    rows = config.integers("window_positional_embedding_background_size") or [7, 7]
    first, inputs = widths[0], widths[0]
    table = convolution("patches", first, 3, 7, places=places_at(4), stride=4, bias=True)
    table += tuple(
        Tensor(f"pos_embed{name}", "layer_other", (1, first, side, other))
        for name, side, other in (("", rows[0], rows[-1]), ("_window", windows[0], windows[0]))
    )
    layers = [convolved(table)]
    for stage, (width, depth, count, window) in enumerate(each):
        for index in range(depth):
            pools = bool(stage) and not index
            reach = windows[stage - 1] if pools else window
            whole = len(layers) - 1 in everywhere
            layers.append(pooled(config, inputs, width, count, stage=stage, window=None if whole else reach**2))
            inputs = width
    return layers, widths


def pooled(config: Config, inputs: int, width: int, heads: int, *, stage: int, window: int | None) -> Layer:
    """Return a layer of Hiera, which looks at a window; where it widens, at the finer grid that it comes from."""
    here = places_at(4 << stage)
    before = here if inputs == width else 4 * here
    tensors = finer(linear("self_attn.qkv", "attention", 3 * width, inputs, bias=True), before)
    tensors += finer(linear("self_attn.proj", "attention", width, width, bias=True), here)
    if inputs != width:
        tensors += finer(linear("proj", "attention", width, inputs, bias=True), before)
    feed = dense(
        width, max(1, int(config.number("mlp_ratio", default=4) * width)), gated=False, bias=True, activation="gelu"
    )
    seen = Attention(heads, heads, width // heads, window, causal=False, rotary=False)
    around = norms(inputs, "layer_norm1", bias=True) + norms(width, "layer_norm2", bias=True)
    return layer(
        reader(Mixer(tensors, seen)), feed._replace(tensors=finer(feed.tensors, here)), *around, style=GPT_STYLE
    )._replace(hidden=width, places=here)
