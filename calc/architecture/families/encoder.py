"""Families of encoders: BERT and its kin, which give hidden states, not logits, and keep no cache."""

from collections.abc import Mapping

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, GPT_STYLE, assemble, heads_of
from calc.architecture.families.registry import family
from calc.architecture.families.vision import BLOCK, CLIP, clip_tower, patch_count, patches, siglip_tower
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


def bert_like(config: Config, *, pooled: bool, types: bool) -> Architecture:
    """Read an encoder in BERT's layout (arXiv:1810.04805): learned positions, LayerNorms after the blocks, biases."""
    hidden, layers = config.hidden("hidden_size", "dim"), config.layers("num_hidden_layers", "n_layers")
    width = config.integer("intermediate_size", "hidden_dim")
    heads, _, size = heads_of(config, hidden, "n_heads")
    seen = Attention(heads, heads, size, causal=False, rotary=False, wide_softmax=False)
    attention = softmax_attention(hidden, seen, qkv_bias=True, out_bias=True)
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
        last=text_head(config, hidden, pooled=pooled),
    )


def text_feed(config: Config, hidden: int, width: int, activation: str) -> FeedForward:
    """Return a plain MLP, or one with a gate whose first matrices have no bias (Jina BERT, arXiv:2310.19923)."""
    if config.text("feed_forward_type", "original") == "original":
        return dense(hidden, width, gated=False, bias=True, activation=activation)
    gated = dense(hidden, width)
    bias = Tensor("mlp.down_proj.bias", "mlp", (hidden,))
    return gated._replace(tensors=(*gated.tensors, bias), activation="gelu")


def text_head(config: Config, hidden: int, *, pooled: bool) -> Tensors:
    """Return what stands behind an encoder of text: a pooler, and one that classifies or ranks has its classes, too.

    RoBERTa's classes have a matrix of their own in the pooler's place, of the same size.
    """
    tensors = linear("pooler", "other", hidden, hidden, bias=True) if pooled else ()
    named = config.values.get("architectures")
    if isinstance(named, list) and any("ForSequenceClassification" in str(name) for name in named):
        labels = config.values.get("id2label")
        classes = len(labels) if isinstance(labels, Mapping) else config.integer("num_labels", default=2)
        tensors += linear("classifier", "head", classes, hidden, bias=True)
    return tensors


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


@family("roberta", "xlm-roberta", defaults={**BERT, "vocab_size": 50265})
def roberta(config: Config) -> Architecture:
    """RoBERTa and XLM-RoBERTa: BERT's layout with other vocabularies."""
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
    attention = softmax_attention(hidden, seen, qkv_bias=True, out_bias=True)
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


@family("clip", defaults={"text_config": {}, "vision_config": {}, "projection_dim": 512})
def clip(config: Config) -> Architecture:
    """CLIP (arXiv:2103.00020): a text encoder and a vision tower that meet in a common space."""
    text = config.nested("text_config").completed(CLIP_TEXT)
    vision = config.nested("vision_config")
    joint = config.integer("projection_dim")
    tower = clip_tower(vision) + linear("visual_projection", BLOCK, joint, vision.completed(CLIP).hidden())
    last = (*linear("text_projection", "other", joint, text.hidden()), Tensor("logit_scale", "other", (1,)))
    return text_tower(text, config, tower=tower, last=last, activation="quick_gelu", causal=True)


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
    text = config.nested("text_config").completed(SIGLIP_TEXT)
    vision = config.nested("vision_config")
    hidden = text.hidden()
    last = linear("head", "other", text.integer("projection_size", default=hidden), hidden, bias=True)
    last += (Tensor("logit_scale", "other", (1,)), Tensor("logit_bias", "other", (1,)))
    tower = siglip_tower(vision, pooling=True)
    return text_tower(text, config, tower=tower, last=last, activation="gelu_pytorch_tanh", causal=False)


VIT = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "image_size": 224,
    "patch_size": 16,
}


@family("vit", "deit", defaults=VIT)
@family("dinov2", defaults={**VIT, "patch_size": 14, "mlp_ratio": 4})
def vit(config: Config) -> Architecture:
    """ViT (arXiv:2010.11929), DeiT, DINOv2: encoders of patches; a classifier has classes in place of a pooler."""
    kind = config.text("model_type", "")
    hidden, bias = config.hidden(), config.flag("qkv_bias", default=True)
    heads, _, size = heads_of(config, hidden)
    seen = Attention(heads, heads, size, causal=False, rotary=False)
    attention = softmax_attention(hidden, seen, qkv_bias=bias, out_bias=True)
    first = {"vit": ("cls_token",), "deit": ("cls_token", "distillation_token"), "dinov2": ("cls_token", "mask_token")}
    table: Tensors = tuple(Tensor(name, "other_embedding", (1, 1, hidden)) for name in first[kind])
    places = patch_count(config) + (2 if kind == "deit" else 1)
    table += (Tensor("position_embeddings", "other_embedding", (1, places, hidden)),)
    table += tuple(tensor._replace(block="other_embedding") for tensor in patches(config, bias=True))
    extra: Tensors = ()
    width = config.integer("intermediate_size")
    if kind == "dinov2":
        config.refuse("use_swiglu_ffn", (False,), "its widths are rounded in another way")
        width = max(int(config.number("mlp_ratio", default=4) * hidden), 1)
        extra = tuple(Tensor(f"layer_scale{i}", "layer_other", (hidden,)) for i in (1, 2))
    block = layer(
        reader(attention),
        dense(hidden, width, gated=False, bias=True, activation=config.text("hidden_act", "gelu")),
        *norms(hidden, "layernorm_before", "layernorm_after", bias=True),
        *extra,
        style=GPT_STYLE,
    )
    return Architecture(
        family=kind,
        hidden_size=hidden,
        vocab_size=0,
        embeddings=table,
        kinds=(block,),
        pattern=(0,) * config.layers(),
        head=norm("layernorm", hidden, bias=True, block="final_norm") + image_head(config, kind, hidden),
        tied=False,
        context_tokens=None,
        output_size=0,
    )


def image_head(config: Config, kind: str, hidden: int) -> Tensors:
    """Return what stands behind an encoder of images: its classes, or a pooler, or nothing."""
    named = config.values.get("architectures")
    if isinstance(named, list) and any("ForImageClassification" in str(name) for name in named):
        labels = config.values.get("id2label")
        classes = len(labels) if isinstance(labels, Mapping) else config.integer("num_labels", default=2)
        inputs = 2 * hidden if kind == "dinov2" else hidden  # DINOv2's reads the mean of the patches, too
        return linear("classifier", "head", classes, inputs, bias=True)
    return () if kind == "dinov2" else linear("pooler", "other", hidden, hidden, bias=True)
