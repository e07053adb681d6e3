"""Families that write what an image shows: GIT, BLIP and BLIP-2 in sentences, TrOCR what stands in a line of text."""

from calc.architecture.blocks import Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE, assemble, heads_of
from calc.architecture.families.encoder import reader
from calc.architecture.families.multimodal import text_of, vision_of, with_tower, with_towers
from calc.architecture.families.registry import family, read_config
from calc.architecture.families.translation import DECODER, ENCODER, attention_over_both
from calc.architecture.families.vision import BLOCK, VIT, clip_tower, patch_count, patches, positions, transformer
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Layer, Style
from calc.architecture.tensors import Tensor, Tensors, linear, norm

BLIP_TEXT = {
    "vocab_size": 30524,
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "max_position_embeddings": 512,
}
BLIP_VISION = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "image_size": 384,
    "patch_size": 16,
}


def blip_tower(config: Config) -> Tensors:
    """Return BLIP's tower: ViT, with a position more than patches, for the class."""
    hidden = config.hidden()
    tensors: Tensors = (Tensor("vision.class_embedding", BLOCK, (hidden,)), *patches(config, bias=True))
    tensors += (positions(patch_count(config) + 1, hidden),)
    tensors += transformer(config, depth=config.layers())
    return tensors + norm("vision.post_layernorm", hidden, bias=True, block=BLOCK)


def seen_at(mixer: Mixer, hidden: int, seen: int) -> Mixer:
    """Return attention over an image whose vectors have another width: its keys and values are made of them."""
    of_image = ("encoder_attn.k_proj.weight", "encoder_attn.v_proj.weight")
    return mixer._replace(
        tensors=tuple(t._replace(shape=(hidden, seen)) if t.name in of_image else t for t in mixer.tensors)
    )


@family("blip", defaults={"text_config": {}, "vision_config": {}, "architectures": ["BlipForConditionalGeneration"]})
def blip(config: Config) -> Architecture:
    """BLIP (arXiv:2201.12086): BERT that attends to an image and writes; another reads a question before."""
    text = config.nested("text_config").completed(BLIP_TEXT)
    vision = config.nested("vision_config").completed(BLIP_VISION)
    asked = config.values.get("architectures") == ["BlipForQuestionAnswering"]
    if not asked:
        reason = "the others write nothing"
        config.refuse("architectures", (["BlipForConditionalGeneration"], ["BlipModel"]), reason)
    hidden, seen = text.hidden(), vision.hidden()
    heads, _, size = heads_of(text, hidden)
    attention = Attention(heads, heads, size, rotary=False)
    feed = dense(hidden, text.integer("intermediate_size"), gated=False, bias=True, activation="gelu")

    def build(kind: tuple[str, ...]) -> Layer:
        shape = attention._replace(causal=kind[0] == DECODER)
        mixer = softmax_attention(hidden, shape, bias=True)
        # Keys and values are of the image where nothing else is read before.
        mixer = attention_over_both(mixer, shape, None if asked else patch_count(vision) + 1)
        mixer = seen_at(mixer, hidden, seen)
        around = norms(hidden, "attention_norm", "cross_attention_norm", "output_norm", bias=True)
        return layer(mixer if kind[0] == DECODER else reader(mixer), feed, *around, style=Style(LAYER_NORM, AFTER))

    places = Tensor("position_embeddings.weight", "other_embedding", (text.integer("max_position_embeddings"), hidden))
    table: Tensors = (places, *norm("embed_layernorm", hidden, bias=True))
    tower = blip_tower(vision)
    if asked:
        words = Tensor("encoder.word_embeddings.weight", "other_embedding", (text.integer("vocab_size"), hidden))
        tower += (words, *(tensor._replace(name=f"encoder.{tensor.name}") for tensor in table))
    last = linear("transform", "head", hidden, hidden, bias=True) + norm("norm", hidden, bias=True, block="head")
    whole = assemble(
        text,
        hidden=hidden,
        layers=[(ENCODER,)] * (text.layers() if asked else 0) + [(DECODER,)] * text.layers(),
        build=build,
        tied=True,
        embeddings=table + tower,
        final=(*last, Tensor("bias", "head", (text.integer("vocab_size"),))),
    )
    return whole._replace(family="blip")


GIT = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "max_position_embeddings": 1024,
    "vision_config": {},
}


@family("git", defaults=GIT)
def git(config: Config) -> Architecture:
    """GIT (arXiv:2205.14100): BERT's layers that write behind what CLIP's tower sees; of videos a vector a frame."""
    config.refuse("architectures", (["GitForCausalLM"],), "the others write nothing")
    vision = config.nested("vision_config").completed({"patch_size": 16})
    hidden, seen = config.hidden(), clip_tower(vision)
    width = vision.completed({"hidden_size": 768}).hidden()
    seen += linear("projector", BLOCK, hidden, width, bias=True) + norm(
        "projector.norm", hidden, bias=True, block=BLOCK
    )
    frames = config.integer("num_image_with_embedding", default=0, least=0, most=1000)
    seen += (Tensor("vision.temporal_embedding", BLOCK, (frames, width)),) if frames else ()
    rows = config.integer("max_position_embeddings")
    places = Tensor("position_embeddings.weight", "other_embedding", (rows, hidden))
    mixer = softmax_attention(hidden, Attention(*heads_of(config, hidden), rotary=False), bias=True)
    feed = dense(hidden, config.integer("intermediate_size"), gated=False, bias=True, activation="gelu")
    around = norms(hidden, "attention_norm", "output_norm", bias=True)
    return assemble(
        config,
        hidden=hidden,
        layers=[(DECODER,)] * config.layers(),
        build=lambda _: layer(mixer, feed, *around, style=Style(LAYER_NORM, AFTER)),
        tied=config.flag("tie_word_embeddings", default=False),
        embeddings=(places, *norm("embed_layernorm", hidden, bias=True), *seen),
        final=(),
        head_bias=True,
    )


BLIP2_VISION = {
    "hidden_size": 1408,
    "intermediate_size": 6144,
    "num_hidden_layers": 39,
    "num_attention_heads": 16,
    "image_size": 224,
    "patch_size": 14,
}
QUERIES = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "cross_attention_frequency": 2,
}


@with_towers("blip-2")
def blip_2(config: Config) -> Architecture:
    """BLIP-2 (arXiv:2301.12597): a tower and a transformer of a few learned queries in front of OPT or Flan-T5."""
    text, vision = text_of(config, "opt"), vision_of(config).completed(BLIP2_VISION)
    queries = (config.nested("qformer_config") if config.has("qformer_config") else Config({})).completed(QUERIES)
    hidden, depth, seen = queries.hidden(), queries.layers(), vision.hidden()
    tower = blip_tower(vision)
    tower += (Tensor("query_tokens", BLOCK, (config.integer("num_query_tokens", default=32), hidden)),)
    tower += transformer(queries, depth=depth, name="qformer.layers") + norm(
        "qformer.norm", hidden, bias=True, block=BLOCK
    )
    crossed = -(-depth // queries.integer("cross_attention_frequency"))
    for name, inputs in (("q_proj", hidden), ("k_proj", seen), ("v_proj", seen), ("o_proj", hidden)):
        tower += linear(f"qformer.layers.cross.{name}", BLOCK, hidden, inputs, bias=True, copies=crossed)
    tower += norm("qformer.layers.cross.norm", hidden, bias=True, block=BLOCK, copies=crossed)
    outputs = text.integer("d_model") if text.has("d_model") else text.hidden()
    return with_tower(config, text, tower + linear("projector", BLOCK, outputs, hidden, bias=True))


GRID = 32  # pixels of a side that a place of Swin's last grid stands for
TROCR = {
    "vocab_size": 50265,
    "d_model": 1024,
    "decoder_layers": 12,
    "decoder_attention_heads": 16,
    "decoder_ffn_dim": 4096,
    "max_position_embeddings": 512,
}


GPT2 = {"vocab_size": 50257, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024}


def gpt2_as_bart(decoder: Config) -> Config:
    """Return a config of GPT-2 by BART's names of the same sizes."""
    decoder = decoder.completed(GPT2)
    hidden = decoder.integer("n_embd")
    sizes = {"d_model": hidden, "decoder_ffn_dim": decoder.integer("n_inner", default=4 * hidden)}
    names = {"decoder_layers": "n_layer", "decoder_attention_heads": "n_head", "max_position_embeddings": "n_positions"}
    return decoder.replaced({**sizes, **{name: decoder.integer(own) for name, own in names.items()}})


@family("vision-encoder-decoder")
def trocr(config: Config) -> Architecture:
    """TrOCR, Donut and ViT-GPT2 (arXiv:2109.10282, 2111.15664): an encoder of images, and a decoder that looks at it.

    It is BART's, mBART's or GPT-2's.
    """
    decoder = config.nested("decoder")
    reason = "other decoders are not modelled behind an encoder of images"
    decoder.completed({"model_type": "trocr"}).refuse("model_type", ("trocr", "mbart", "gpt2"), reason)
    gpt2 = decoder.text("model_type", "trocr") == "gpt2"
    decoder = (gpt2_as_bart(decoder) if gpt2 else decoder).completed(TROCR)
    for name in ("layernorm_embedding", "use_learned_position_embeddings"):
        decoder.refuse(name, (True,), "the small ones alone differ")
    seeing, places = read_encoder(config.nested("encoder"))
    tower = seeing.embeddings + seeing.head
    for kind, count in seeing.kind_counts():
        tower += tuple(tensor._replace(copies=count * tensor.copies) for tensor in kind.tensors)
    hidden, heads = decoder.hidden("d_model"), decoder.integer("decoder_attention_heads", most=2**20)
    _, _, size = heads_of(decoder.completed({"num_attention_heads": heads}), hidden)
    attention = Attention(heads, heads, size, rotary=False)
    mixer = softmax_attention(hidden, attention, bias=True)
    both = attention_over_both(mixer, attention, fixed_tokens=places)
    around = norms(hidden, "self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm", bias=True)
    first = decoder.text("model_type", "trocr") != "trocr"  # norms before the blocks, and one behind the layers
    feed = dense(hidden, decoder.integer("decoder_ffn_dim"), gated=False, bias=True, activation="gelu")
    block = layer(
        seen_at(both, hidden, seeing.hidden_size), feed, *around, style=GPT_STYLE if first else Style(LAYER_NORM, AFTER)
    )
    rows = decoder.integer("max_position_embeddings") + (0 if gpt2 else 2)
    whole = assemble(
        decoder,
        hidden=hidden,
        layers=[(DECODER,)] * decoder.layers("decoder_layers"),
        build=lambda _: block,
        tied=True,
        embeddings=(
            Tensor("embed_positions.weight", "other_embedding", (rows, hidden)),
            *(() if gpt2 else norm("layernorm_embedding", hidden, bias=True)),
            *(tensor._replace(name=f"encoder.{tensor.name}", block=BLOCK) for tensor in tower),
        ),
        final=norm("layer_norm", hidden, bias=True, block="final_norm") if first else (),
    )
    return whole._replace(family="vision-encoder-decoder")


def read_encoder(encoder: Config) -> tuple[Architecture, int]:
    """Return an encoder of images, and how many places a decoder sees of it; Swin's images are higher than wide."""
    if encoder.text("model_type", "") != "donut-swin":
        return read_config(encoder), patch_count(encoder.completed(VIT)) + 1
    sides = encoder.integers("image_size") or []
    if len(sides) != 2 or not all(GRID <= side <= 2**16 for side in sides):
        raise encoder.error("image_size", f"must be a height and a width of at least {GRID}")
    seeing = read_config(encoder.replaced({"image_size": sides[0], "architectures": ["DonutSwinModel"]}))
    return seeing, (sides[0] // GRID) * (sides[1] // GRID)
