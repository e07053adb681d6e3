"""Families that read pages: BERT's layers over words that know where on the page they stand, and over its image."""

from calc.architecture.config import Config
from calc.architecture.families.bert_kin import embeddings, kin
from calc.architecture.families.encoder import BERT, HEADS, text_head
from calc.architecture.families.registry import family
from calc.architecture.families.vision import BLOCK, patch_count, patches, positions
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor, Tensors, linear, norm

SIDES = "xyhw"  # left or right, top or bottom, height, width


def places(config: Config, sizes: tuple[int, ...]) -> Tensors:
    """Return the tables of where a word stands on a page, with so many columns for each of SIDES."""
    rows = config.integer("max_2d_position_embeddings", default=1024, most=2**20)
    return tuple(
        Tensor(f"{side}_position_embeddings.weight", "other_embedding", (rows, size))
        for side, size in zip(SIDES, sizes, strict=True)
    )


@family("layoutlm", defaults=BERT)
def layoutlm(config: Config) -> Architecture:
    """LayoutLM (arXiv:1912.13318): BERT with a table for each side of a word's box, and a pooler under every head."""
    hidden = config.hidden()
    table = places(config, (hidden,) * len(SIDES)) + embeddings(config, hidden, positions=True, types=True)
    last = text_head(config, hidden, pooled=True)
    if not any(tensor.name == "pooler.weight" for tensor in last):
        last = linear("pooler", "other", hidden, hidden, bias=True) + last
    return kin(config, table=table, last=last)


LAYOUTLM3 = {
    **BERT,
    "vocab_size": 50265,
    "input_size": 224,
    "patch_size": 16,
    "coordinate_size": 128,
    "shape_size": 128,
}


@family("layoutlmv3", defaults=LAYOUTLM3)
def layoutlmv3(config: Config) -> Architecture:
    """LayoutLMv3 (arXiv:2204.08387): RoBERTa over words and patches of the page's image, with biases by distance.

    A word's box is cut into six parts of its vector, of which four are coordinates and two are sizes.
    """
    config.refuse("visual_embed", (True,), "all published ones see the page")
    config = config.replaced({"image_size": config.integer("input_size", most=2**16)})
    hidden, heads = config.hidden(), config.integer("num_attention_heads")
    side, size = config.integer("coordinate_size"), config.integer("shape_size")
    table = places(config, (side, side, size, size)) + embeddings(config, hidden, positions=True, types=True)
    table += (Tensor("vision.cls_token", BLOCK, (1, 1, hidden)), *patches(config, bias=True))
    table += (positions(patch_count(config) + 1, hidden), *norm("vision.norm", hidden, bias=True, block=BLOCK))
    table += norm("joint_layernorm", hidden, bias=True)
    for name, bins in (("rel_pos_bias", 32), ("rel_pos_x_bias", 64), ("rel_pos_y_bias", 64)):
        key = "rel_pos_bins" if name == "rel_pos_bias" else "rel_2d_pos_bins"
        rows = config.integer(key, default=bins)
        table += (Tensor(f"{name}.weight", "other_embedding", (heads, rows)),)
    head = any(end in config.classes for end in HEADS)
    return kin(config, table=table, last=page_head(config, hidden) if head else ())


def page_head(config: Config, hidden: int) -> Tensors:
    """Return what classifies pages or words, or finds answers: up to nine classes of words have one matrix alone."""
    last = text_head(config, hidden, pooled=False)
    outputs = next(tensor.shape[0] for tensor in last if tensor.name in ("classifier.weight", "qa_outputs.weight"))
    plain = "TokenClassification" in config.classes and outputs < 10  # as LayoutLMv3ForTokenClassification has it
    before = () if plain else linear("classifier.dense", "head", hidden, hidden, bias=True)
    return before + linear("classifier.out_proj", "head", outputs, hidden, bias=True)
