"""Phi 4 multimodal: a language model that keeps low-rank adapters for what it sees and for what it hears."""

from calc.architecture.config import Config
from calc.architecture.families.dense import phi3
from calc.architecture.families.multimodal import with_towers
from calc.architecture.families.towers import AUDIO
from calc.architecture.families.vision import BLOCK, siglip_tower
from calc.architecture.layers import Architecture, Layer
from calc.architecture.tensors import Tensor, Tensors, linear, norm

SEES = {  # of SigLIP's tower, which configs do not describe
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "image_size": 448,
    "patch_size": 14,
}
HEARS = {
    "attention_dim": 1024,
    "attention_heads": 16,
    "linear_units": 1536,
    "num_blocks": 24,
    "input_size": 80,
    "kernel_size": 3,
}
JOINED = {"qkv": ("q_proj", "k_proj", "v_proj"), "gate_up": ("gate_proj", "up_proj")}  # matrices that are one there


def adapted(kind: Layer, name: str, block: str, rank: int) -> Layer:
    """Return a layer with a low-rank pair beside each of its matrices; text alone passes none of them."""
    shapes: dict[str, list[int]] = {}
    for tensor in kind.tensors:
        if tensor.quantizable:
            module = tensor.name.removesuffix(".weight")
            last = module.rpartition(".")[2]
            joined = next((whole for whole, parts in JOINED.items() if last in parts), last)
            outputs, inputs = shapes.setdefault(joined, [0, tensor.shape[1]])
            shapes[joined] = [outputs + tensor.shape[0], inputs]
    extra: Tensors = ()
    for module, (outputs, inputs) in shapes.items():
        extra += linear(f"{name}.{module}.lora_A", block, rank, inputs)
        extra += linear(f"{name}.{module}.lora_B", block, outputs, rank)
    return kind._replace(tensors=kind.tensors + extra)


def page_tower(outputs: int) -> Tensors:
    """Return the tower that sees, with separators of an image and its crops, and what projects it."""
    config = Config(SEES)
    hidden = config.hidden()
    tensors = siglip_tower(config, pooling=True)
    tensors += tuple(Tensor(f"vision.{name}", BLOCK, (hidden,)) for name in ("glb_GN", "sub_GN"))
    tensors += linear("vision.img_projection.0", BLOCK, outputs, hidden, bias=True)
    return tensors + linear("vision.img_projection.2", BLOCK, outputs, outputs, bias=True)


def conformer(config: Config, outputs: int, reach: int) -> Tensors:
    """Return the conformer that hears (arXiv:2503.01743), with a projection for speech alone and one beside images.

    `reach` is the distance to which attention tells positions apart.
    """
    hidden, width = config.integer("attention_dim"), config.integer("linear_units")
    heads, kernel = config.integer("attention_heads", most=2**20), config.integer("kernel_size", most=1000)
    bins, depth = config.integer("input_size", most=2**16), config.layers("num_blocks")
    front: Tensors = (Tensor("audio.global_mean", AUDIO, (bins,)), Tensor("audio.global_invstd", AUDIO, (bins,)))
    front += (Tensor("audio.conv.0.weight", AUDIO, (hidden, 1, 3, 3)), Tensor("audio.conv.0.bias", AUDIO, (hidden,)))
    for index in (1, 2):  # two more halvings, a convolution of each channel and one over channels
        front += (Tensor(f"audio.conv.{index}.depth.weight", AUDIO, (hidden, 1, 3, 3)),)
        front += (Tensor(f"audio.conv.{index}.point.weight", AUDIO, (hidden, hidden, 1, 1)),)
        front += tuple(Tensor(f"audio.conv.{index}.{name}.bias", AUDIO, (hidden,)) for name in ("depth", "point"))
    front += linear("audio.conv.out", AUDIO, hidden, hidden * -(-bins // 8), bias=True)
    front += (Tensor("audio.relative_attention_bias.weight", AUDIO, (2 * reach, heads)),)
    block: Tensors = ()
    for name in ("feed_forward_in", "feed_forward_out"):
        block += norm(f"{name}.layer_norm", hidden, bias=True)
        block += linear(f"{name}.gate_up_proj", AUDIO, 2 * width, hidden, bias=True)
        block += linear(f"{name}.down_proj", AUDIO, hidden, width, bias=True)
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        block += linear(f"self_attn.{name}", AUDIO, hidden, hidden, bias=True)
    block += norm("conv.layer_norm", hidden, bias=True)
    block += (Tensor("conv.glu.b1", AUDIO, (1, hidden, 1)), Tensor("conv.glu.b2", AUDIO, (1, hidden, 1)))
    block += linear("conv.glu.pointwise", AUDIO, 2 * hidden, hidden, bias=True)
    block += (Tensor("conv.depth.weight", AUDIO, (hidden, 1, kernel)), Tensor("conv.depth.bias", AUDIO, (hidden,)))
    for name in ("conv.point", "conv.pointwise"):
        block += linear(name, AUDIO, hidden, hidden, bias=True)
    for name in ("layer_norm_att", "layer_norm"):
        block += norm(name, hidden, bias=True)
    layers = tuple(tensor._replace(name=f"audio.{tensor.name}", block=AUDIO, copies=depth) for tensor in block)
    last: Tensors = ()
    for name in ("speech", "vision_speech"):
        last += linear(f"audio.{name}.up_proj", AUDIO, outputs, hidden, bias=True)
        last += linear(f"audio.{name}.down_proj", AUDIO, outputs, outputs, bias=True)
    return front + layers + last


@with_towers("phi4mm")
def phi4mm(config: Config) -> Architecture:
    """Phi 4 multimodal (arXiv:2503.01743): Phi 4 mini, two towers, and adapters for what comes of them."""
    found, hidden = phi3(config.completed({"tie_word_embeddings": True})), config.hidden()
    kinds = found.kinds
    for name, block in (("vision_lora", BLOCK), ("speech_lora", AUDIO)):
        if config.has(name):
            rank = config.nested(name).integer("r", most=2**16)
            kinds = tuple(adapted(kind, name, block, rank) for kind in kinds)
    audio = Config(HEARS)
    if config.has("audio_processor"):
        audio = config.nested("audio_processor").nested("config").completed(HEARS)
    bias = audio.nested("relative_attention_bias_args") if audio.has("relative_attention_bias_args") else audio
    reach = bias.integer("t5_bias_max_distance", default=500)
    tower = page_tower(hidden) + conformer(audio, hidden, reach)
    return found._replace(kinds=kinds, embeddings=found.embeddings + tower)
