"""Families of encoders: BERT and its kin, which give hidden states, not logits, and keep no cache."""

from collections.abc import Mapping

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, GPT_STYLE, assemble, heads_of
from calc.architecture.families.registry import family, read_config
from calc.architecture.families.vision import BLOCK, CLIP, clip_tower, siglip_tower
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Layer, Style
from calc.architecture.tensors import Tensor, Tensors, linear, norm


def reader(mixer: Mixer) -> Mixer:
    """Return a mixer as an encoder uses it: all tokens at once, so that nothing is kept of them."""
    return mixer._replace(caches=())


def encoder(
    config: Config,
    *,
    hidden: int,
    layers: int,
    block: Layer,
    embeddings: tuple[Tensor, ...],
    last: tuple[Tensor, ...],
) -> Architecture:
    """Put an encoder together whose layers are all alike."""
    whole = assemble(
        config,
        hidden=hidden,
        layers=[(FULL,)] * layers,
        build=lambda _: block,
        tied=True,
        embeddings=embeddings,
        final=last,
    )
    return whole._replace(tied=False, output_size=0)


# Norms more than BERT's, by the name that a config gives of where it is from: Jina's code for embeddings of code, which
# text-embeddings-inference tells apart by this name, too; and Spanish ones, whose files have two norms more a layer.
NORMED = {
    "jinaai/jina-bert-v2-qk-post-norm": ("q_norm", "k_norm", "out_norm"),
    "jinaai/jina-embeddings-v2-base-es": ("q_norm", "k_norm"),
}


def bert_like(config: Config, *, pooled: bool, types: bool) -> Architecture:
    """Read an encoder in BERT's layout (arXiv:1810.04805): learned positions, LayerNorms after the blocks, biases."""
    hidden, layers = config.hidden("hidden_size", "dim"), config.layers("num_hidden_layers", "n_layers")
    width = config.integer("intermediate_size", "hidden_dim")
    heads, _, size = heads_of(config, hidden, "n_heads")
    seen = Attention(heads, heads, size, causal=False, rotary=False, wide_softmax=False)
    attention = softmax_attention(hidden, seen, bias=True)
    for name in NORMED.get(config.text("_name_or_path", ""), ()):
        more = norm(f"self_attn.{name}", hidden, bias=True, block="attention")
        attention = attention._replace(tensors=attention.tensors + more)
    dropout = config.number("dropout" if config.has("dropout") else "hidden_dropout_prob", default=0.1, most=1)
    activation = config.text("activation" if config.has("activation") else "hidden_act", "gelu")
    table: Tensors = ()
    if config.text("position_embedding_type", "absolute") != "alibi":
        rows = config.integer("max_position_embeddings")
        table += (Tensor("position_embeddings.weight", "other_embedding", (rows, hidden)),)
    if types:
        count = config.integer("type_vocab_size")
        table += (Tensor("token_type_embeddings.weight", "other_embedding", (count, hidden)),)
    table += norm("embed_layernorm", hidden, bias=True)
    return encoder(
        config,
        hidden=hidden,
        layers=layers,
        block=layer(
            reader(attention),
            text_feed(config, hidden, width, activation),
            *norms(hidden, "attention_layernorm", "output_layernorm", bias=True),
            style=Style(LAYER_NORM, AFTER, dropout > 0),
        ),
        embeddings=table,
        last=words_head(config, hidden, pooled=pooled) or text_head(config, hidden, pooled=pooled),
    )


def words_head(config: Config, hidden: int, *, pooled: bool) -> Tensors:
    """Return what tells words behind an encoder, as those of sparse vectors have (SPLADE, arXiv:2107.05720).

    A matrix, a norm and a bias for each word; the words are those of the embedding. BERT as it was trained has its
    pooler beside that, and tells whether a second sentence follows.
    """
    trained = "ForPreTraining" in config.classes
    if not trained and "ForMaskedLM" not in config.classes:
        return ()
    head = pooler(hidden) if pooled and (trained or keeps_pooler(config)) else ()
    head += linear("lm_head.dense", "head", hidden, hidden, bias=True)
    head += norm("lm_head.norm", hidden, bias=True, block="head")
    head += (Tensor("lm_head.bias", "head", (config.integer("vocab_size"),)),)
    return head + linear("follows", "head", 2, hidden, bias=True) if trained else head


def pooler(hidden: int) -> Tensors:
    """Return the matrix that makes one vector of a text of its first token's."""
    return linear("pooler", "other", hidden, hidden, bias=True)


def keeps_pooler(config: Config) -> bool:
    """Return whether a file has the plain model's pooler, too, where its class has none: `architectures` names both."""
    return any(name.endswith("Model") for name in config.classes.split())


def text_feed(config: Config, hidden: int, width: int, activation: str) -> FeedForward:
    """Return a plain MLP, or one with a gate whose first matrices have no bias (Jina BERT, arXiv:2310.19923)."""
    if config.text("feed_forward_type", "original") == "original":
        return dense(hidden, width, gated=False, bias=True, activation=activation)
    gated = dense(hidden, width)
    bias = Tensor("mlp.down_proj.bias", "mlp", (hidden,))
    return gated._replace(tensors=(*gated.tensors, bias), activation="gelu")


HEADS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")


def text_head(config: Config, hidden: int, *, pooled: bool) -> Tensors:
    """Return what stands behind an encoder of text: a pooler, and one that classifies or ranks has its classes, too.

    RoBERTa's and DistilBERT's classes have a matrix of their own in the pooler's place, of the same size. What says
    something of each token (its class, or whether an answer begins or ends there) has no pooler.
    """
    head = next((end for end in HEADS if end in config.classes), "")
    if "ColBERT" in config.classes:  # a short vector of each token (arXiv:2004.12832), beside the pooler of the file
        return (pooler(hidden) if pooled else ()) + linear("linear", "head", config.integer("dim", default=128), hidden)
    if not head:
        return pooler(hidden) if pooled else ()
    before = pooler(hidden) if head == "ForSequenceClassification" or (pooled and keeps_pooler(config)) else ()
    if head == "ForQuestionAnswering":
        return before + linear("qa_outputs", "head", 2, hidden, bias=True)
    return before + linear("classifier", "head", labels_of(config), hidden, bias=True)


def labels_of(config: Config) -> int:
    """Return how many classes a config names, or 2 as its class has where it names none."""
    labels = config.values.get("id2label")
    return len(labels) if isinstance(labels, Mapping) else config.integer("num_labels", default=2)


BERT = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}


@family("bert", defaults=BERT)
def bert(config: Config) -> Architecture:
    """BERT: positions and token types learned, and a pooler on the first token."""
    return bert_like(config, pooled=True, types=True)


@family("big_bird", defaults={**BERT, "vocab_size": 50358, "max_position_embeddings": 4096, "hidden_act": "gelu_new"})
def big_bird(config: Config) -> Architecture:
    """BigBird (arXiv:2007.14062): BERT's layout for long texts; attention is counted as all of them pay it, in full."""
    return bert_like(config, pooled=True, types=True)


@family("roberta", "xlm-roberta", "camembert", defaults={**BERT, "vocab_size": 50265})
def roberta(config: Config) -> Architecture:
    """RoBERTa, XLM-RoBERTa and CamemBERT: BERT's layout with other vocabularies."""
    return bert_like(config, pooled=True, types=True)


DISTILBERT = {
    "vocab_size": 30522,
    "dim": 768,
    "n_layers": 6,
    "n_heads": 12,
    "hidden_dim": 3072,
    "max_position_embeddings": 512,
}


@family("distilbert", defaults=DISTILBERT)
def distilbert(config: Config) -> Architecture:
    """DistilBERT: BERT's layers without token types and pooler."""
    return bert_like(config, pooled=False, types=False)


CLIP_TEXT = {
    "vocab_size": 49408,
    "hidden_size": 512,
    "intermediate_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "max_position_embeddings": 77,
}


def text_tower(
    config: Config, outer: Config, *, tower: Tensors, last: Tensors, activation: str, causal: bool
) -> Architecture:
    """Read the text side of a model of images and texts, with the tower of the other side beside its embeddings."""
    hidden = config.hidden()
    heads, _, size = heads_of(config, hidden)
    seen = Attention(heads, heads, size, causal=causal, rotary=False)
    attention = softmax_attention(hidden, seen, bias=True)
    width, activation = config.integer("intermediate_size"), config.text("hidden_act", activation)
    positions = config.integer("max_position_embeddings")
    architecture = encoder(
        config,
        hidden=hidden,
        layers=config.layers(),
        block=layer(
            reader(attention),
            dense(hidden, width, gated=False, bias=True, activation=activation),
            *norms(hidden, "layer_norm1", "layer_norm2", bias=True),
            style=GPT_STYLE,
        ),
        embeddings=(Tensor("position_embedding.weight", "other_embedding", (positions, hidden)), *tower),
        last=norm("final_layer_norm", hidden, bias=True, block="final_norm") + last,
    )
    return architecture._replace(family=outer.text("model_type", ""))


CLASSIFIES = "ForImageClassification"  # what has a tower alone, and classes behind it


def tower_alone(config: Config, model_type: str) -> Architecture:
    """Return the tower of a model of images and texts with the classes that it tells apart, without the text side."""
    vision = config.nested("vision_config", ("architectures", "id2label", "num_labels"))
    return read_config(vision.replaced({"architectures": config.values["architectures"], "model_type": model_type}))


@family("clip", defaults={"text_config": {}, "vision_config": {}, "projection_dim": 512})
def clip(config: Config) -> Architecture:
    """CLIP (arXiv:2103.00020): a text encoder and a vision tower that meet in a common space."""
    if CLASSIFIES in config.classes:
        return tower_alone(config, "clip_vision_model")
    text = config.nested("text_config").completed(CLIP_TEXT)
    vision = config.nested("vision_config")
    joint = config.integer("projection_dim")
    tower = clip_tower(vision) + linear("visual_projection", BLOCK, joint, vision.completed(CLIP).hidden())
    last = (*linear("text_projection", "other", joint, text.hidden()), Tensor("logit_scale", "other", (1,)))
    return text_tower(text, config, tower=tower, last=last, activation="quick_gelu", causal=True)


@family("chinese_clip", defaults={"text_config": {}, "vision_config": {}, "projection_dim": 512})
def chinese_clip(config: Config) -> Architecture:
    """Chinese CLIP (arXiv:2211.01335): BERT without a pooler in place of CLIP's text, beside CLIP's tower."""
    text, vision = config.nested("text_config").completed(BERT), config.nested("vision_config")
    joint = config.integer("projection_dim")
    read = bert_like(text, pooled=False, types=True)
    tower = clip_tower(vision) + linear("visual_projection", BLOCK, joint, vision.completed(CLIP).hidden())
    last = (*linear("text_projection", "other", joint, text.hidden()), Tensor("logit_scale", "other", (1,)))
    return read._replace(family="chinese_clip", embeddings=read.embeddings + tower, head=read.head + last)


SIGLIP_TEXT = {
    "vocab_size": 32000,
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "max_position_embeddings": 64,
}


@family("siglip", defaults={"text_config": {}, "vision_config": {}})
def siglip(config: Config) -> Architecture:
    """SigLIP (arXiv:2303.15343): CLIP's idea with a pooling head on each side, a scale and a bias."""
    if CLASSIFIES in config.classes:
        return tower_alone(config, "siglip_vision_model")
    text = config.nested("text_config").completed(SIGLIP_TEXT)
    vision = config.nested("vision_config")
    hidden = text.hidden()
    last = linear("head", "other", text.integer("projection_size", default=hidden), hidden, bias=True)
    last += (Tensor("logit_scale", "other", (1,)), Tensor("logit_bias", "other", (1,)))
    tower = siglip_tower(vision, pooling=True)
    return text_tower(text, config, tower=tower, last=last, activation="gelu_pytorch_tanh", causal=False)


OWL_TEXT = {**CLIP_TEXT, "max_position_embeddings": 16}


@family("owlvit", "owlv2", defaults={"text_config": {}, "vision_config": {}, "projection_dim": 512})
def owl(config: Config) -> Architecture:
    """OWL-ViT and OWLv2 (arXiv:2205.06230, 2306.09683): CLIP whose patches become boxes, with a class by words."""
    second = config.text("model_type", "") == "owlv2"
    usual = {**CLIP, "image_size": 768, "patch_size": 16 if second else 32}
    vision = config.nested("vision_config").completed(usual)
    hidden, text = vision.hidden(), config.nested("text_config").completed(OWL_TEXT)
    whole = clip(config.replaced({"text_config": text.values, "vision_config": vision.values}))
    last = linear("class_head.dense0", "head", text.hidden(), hidden, bias=True)
    for name in ("shift", "scale"):
        last += linear(f"class_head.logit_{name}", "head", 1, hidden, bias=True)
    for name, outputs in (("box_head", 4), *((("objectness_head", 1),) if second else ())):
        for index, width in enumerate((hidden, hidden, outputs)):
            last += linear(f"{name}.dense{index}", "head", width, hidden, bias=True)
    return whole._replace(head=whole.head + last + norm("layer_norm", hidden, bias=True, block="head"))
