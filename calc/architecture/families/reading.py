"""Families that read pages: DeepSeek OCR, whose page passes two towers, Florence 2, dots.ocr and Hunyuan OCR."""

from calc.architecture.config import Config
from calc.architecture.families.multimodal import EITHER, text_of, vision_of, with_tower, with_towers
from calc.architecture.families.registry import read_config
from calc.architecture.families.vision import BLOCK, clip_tower, patches, positions, transformer
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor, Tensors, linear, norm


def convolved(name: str, outputs: int, inputs: int, size: int, *, bias: bool = True) -> Tensors:
    """Return a convolution over an image; with one input each channel is for itself."""
    weight = Tensor(f"{name}.weight", BLOCK, (outputs, inputs, size, size))
    return (weight, Tensor(f"{name}.bias", BLOCK, (outputs,))) if bias else (weight,)


SAM = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "patch_size": 16, "image_size": 1024}
SAM_GLOBAL, SAM_WINDOWED, SAM_WINDOW = 4, 8, 14  # layers that see the whole page, others, and what those see


def sam_tower(outputs: int) -> Tensors:
    """Return the tower of Segment Anything (arXiv:2304.02643, ViT-B) with the neck that DeepSeek OCR gives it."""
    config = Config(SAM)
    hidden, head, side = 768, 64, 64
    tensors: Tensors = (*patches(config, bias=True), Tensor("vision.sam.positions", BLOCK, (side * side, hidden)))
    for name, depth, seen in (("global", SAM_GLOBAL, side), ("windowed", SAM_WINDOWED, SAM_WINDOW)):
        distances = tuple(Tensor(f"rel_pos_{axis}", BLOCK, (2 * seen - 1, head)) for axis in "hw")
        tensors += transformer(config, depth=depth, extra=distances, name=f"vision.sam.{name}")
    tensors += convolved("vision.sam.neck.0", 256, hidden, 1, bias=False)
    tensors += norm("vision.sam.neck.1", 256, bias=True, block=BLOCK)
    tensors += convolved("vision.sam.neck.2", 256, 256, 3, bias=False)
    tensors += norm("vision.sam.neck.3", 256, bias=True, block=BLOCK)
    tensors += convolved("vision.sam.net_2", 512, 256, 3, bias=False)
    return tensors + convolved("vision.sam.net_3", outputs, 512, 3, bias=False)


OCR_CLIP = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 224,
    "patch_size": 14,
}


def seen_by_clip(text_hidden: int) -> Tensors:
    """Return DeepSeek OCR's second tower, CLIP's, which reads what the first has seen beside the page, and the rest."""
    clip = tuple(
        tensor
        for tensor in clip_tower(Config(OCR_CLIP))
        if not tensor.name.startswith(("vision.patch_embedding", "vision.post_layernorm"))
    )
    tower = sam_tower(1024) + clip + convolved("vision.patch_embedding", 1024, 3, 14, bias=False)
    tower += linear("projector", BLOCK, text_hidden, 2048, bias=True)
    return tower + tuple(Tensor(name, BLOCK, (text_hidden,)) for name in ("image_newline", "view_seperator"))


OCR_QWEN2 = {  # Qwen2 0.5B, which configs name and describe by its width alone
    "model_type": "qwen2",
    "vocab_size": 1,
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
}
QUERIES = (144, 256)  # what is asked of a small page and of a large one


def seen_by_qwen2(text_hidden: int) -> Tensors:
    """Return DeepSeek OCR 2's second tower: a small language model that puts a page in the order of reading."""
    layers = read_config(Config(OCR_QWEN2))
    hidden = layers.hidden_size
    tower = sam_tower(hidden)
    for kind in layers.kinds:
        tower += tuple(
            tensor._replace(name=f"vision.layers.{tensor.name}", block=BLOCK, copies=len(layers.pattern))
            for tensor in kind.tensors
        )
    tower += norm("vision.norm", hidden, block=BLOCK)
    tower += tuple(Tensor(f"vision.query_{rows}.weight", BLOCK, (rows, hidden)) for rows in QUERIES)
    tower += linear("projector", BLOCK, text_hidden, hidden, bias=True)
    return (*tower, Tensor("view_seperator", BLOCK, (text_hidden,)))


@with_towers("deepseek_vl_v2", "unlimited-ocr")
def deepseek_ocr(config: Config) -> Architecture:
    """DeepSeek OCR (arXiv:2510.18234) and its second: two towers in a row before a small DeepSeek mixture."""
    language = config.nested("language_config")
    language.refuse("use_mla", (False,), "DeepSeek VL 2 in its other sizes has another tower and latent attention")
    text = language.replaced({"model_type": "deepseek"}).completed({"first_k_dense_replace": 1})
    seen = seen_by_qwen2 if "qwen2-0-5b" in str(config.values.get("vision_config")) else seen_by_clip
    return with_tower(config, text, seen(text.hidden()))


DAVIT = {"embed_dim": [128, 256, 512, 1024], "depths": [1, 1, 9, 1], "patch_size": [7, 3, 3, 3]}


def davit_tower(config: Config) -> tuple[Tensors, int]:
    """Return DaViT's tower (arXiv:2204.03645), whose blocks attend in windows and over channels, and its width."""
    config = config.completed(DAVIT)
    widths, depths, kernels = (config.integers(name) or [] for name in ("embed_dim", "depths", "patch_size"))
    if not widths or not len(widths) == len(depths) == len(kernels):
        raise config.error("depths", "must have one item for each of embed_dim")
    ratio = config.integer("mlp_ratio", default=4, most=64)
    tensors: Tensors = ()
    inputs = 3
    for stage, (width, depth, kernel) in enumerate(zip(widths, depths, kernels, strict=True)):
        tensors += convolved(f"vision.convs.{stage}", width, inputs, kernel)
        tensors += norm(f"vision.convs.{stage}.norm", inputs if stage else width, bias=True, block=BLOCK)
        block: Tensors = convolved("conv1", width, 1, 3) + convolved("conv2", width, 1, 3)
        block += linear("qkv", BLOCK, 3 * width, width, bias=True) + linear("proj", BLOCK, width, width, bias=True)
        block += linear("fc1", BLOCK, ratio * width, width, bias=True)
        block += linear("fc2", BLOCK, width, ratio * width, bias=True)
        block += norm("norm1", width, bias=True, block=BLOCK) + norm("norm2", width, bias=True, block=BLOCK)
        name = f"vision.blocks.{stage}"
        tensors += tuple(item._replace(name=f"{name}.{item.name}", copies=2 * depth) for item in block)
        inputs = width
    return tensors, inputs


@with_towers("florence2")
def florence2(config: Config) -> Architecture:
    """Florence 2 (arXiv:2311.06242): DaViT in front of BART, with positions for rows and columns."""
    vision = vision_of(config)
    text = text_of(config, "bart")
    text = text.replaced({"model_type": "bart"})
    tower, width = davit_tower(vision)
    joint = vision.integer("projection_dim", default=1024)
    tower += linear("projector.image_projection", BLOCK, joint, width)
    tower += norm("projector.image_proj_norm", joint, bias=True, block=BLOCK)
    rows = vision.integer("max_position_embeddings", default=50)
    for name, size in (("row", width // 2), ("column", width - width // 2)):
        tower += (Tensor(f"projector.{name}_embeddings.weight", BLOCK, (rows, size)),)
    return with_tower(config, text, tower)


DOTS = {
    "embed_dim": 1536,
    "hidden_size": 1536,
    "intermediate_size": 4224,
    "num_hidden_layers": 42,
    "num_attention_heads": 12,
    "patch_size": 14,
    "spatial_merge_size": 2,
}


@with_towers("dots_ocr")
def dots_ocr(config: Config) -> Architecture:
    """dots.ocr (arXiv:2512.02498): a tower of gated layers trained from nothing, in front of Qwen 2's small layers."""
    vision = vision_of(config).completed(DOTS)
    text = Config({k: v for k, v in config.values.items() if k != "vision_config"}, config.field)
    text = text.replaced({"model_type": "qwen2"}).completed({"tie_word_embeddings": False})
    inner, bias = vision.integer("embed_dim"), vision.flag("use_bias", default=False)
    tower = patches(vision, bias=True, hidden=inner) + norm("vision.patch_norm", inner, block=BLOCK)
    tower += transformer(
        vision, depth=vision.layers(), hidden=inner, attention_bias=bias, mlp_bias=bias, norm_bias=False, gated=True
    )
    if vision.flag("post_norm", default=True):
        tower += norm("vision.post_trunk_norm", inner, block=BLOCK)
    four = inner * vision.integer("spatial_merge_size", most=64) ** 2
    tower += norm("vision.merger.ln_q", inner, bias=True, block=BLOCK)
    tower += linear("vision.merger.0", BLOCK, four, four, bias=True)
    return with_tower(config, text, tower + linear("vision.merger.2", BLOCK, vision.hidden(), four, bias=True))


HUNYUAN = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "patch_size": 16,
    "max_image_size": 2048,
}


@with_towers("hunyuan_vl")
def hunyuan_vl(config: Config) -> Architecture:
    """Hunyuan OCR (arXiv:2511.19575): SigLIP's layers with a place for each patch of a large page, before Hunyuan's."""
    vision, text = vision_of(config).completed(HUNYUAN), text_of(config, "hunyuan_v1_dense", EITHER)
    text = text.replaced({"model_type": "hunyuan_v1_dense"})
    hidden, outputs = vision.hidden(), text.hidden()
    side = vision.integer("max_image_size", most=2**16) // vision.integer("patch_size", most=2**16)
    tower = (*patches(vision, bias=True), positions(side * side + 1, hidden))
    tower += transformer(vision, depth=vision.layers())
    tower += convolved("vision.merger.proj_conv", 2 * hidden, hidden, 2)
    tower += convolved("vision.merger.proj_out", 4 * hidden, 2 * hidden, 1)
    tower += linear("vision.merger.mlp", BLOCK, outputs, 4 * hidden, bias=True)
    tower += norm("vision.merger.before_rms", hidden, block=BLOCK) + norm(
        "vision.merger.after_rms", outputs, block=BLOCK
    )
    tower += (Tensor("vision.merger.image_newline", BLOCK, (4 * hidden,)),)
    tower += tuple(Tensor(f"vision.merger.image_{name}", BLOCK, (outputs,)) for name in ("begin", "end", "sep"))
    return with_tower(config, text, tower)
