"""Families of encoders further from BERT: of words at places, of words and entities, of letters, without attention."""

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import GPT_STYLE, heads_of
from calc.architecture.families.bert_kin import embeddings, kin, narrowed
from calc.architecture.families.encoder import (
    BERT,
    bert_like,
    encoder,
    labels_of,
    pooler,
    reader,
    text_head,
    words_head,
)
from calc.architecture.families.registry import family
from calc.architecture.families.vision import patch_count, patches
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Layer, Style
from calc.architecture.tensors import Tensor, Tensors, convolution, linear, norm


def all_attending(config: Config, hidden: int) -> Mixer:
    """Return the attention of all tokens to all, with biases, over vectors of `hidden` numbers."""
    heads, _, size = heads_of(config, hidden)
    return softmax_attention(hidden, Attention(heads, heads, size, causal=False, rotary=False), bias=True)


def table_of(name: str, rows: int, columns: int) -> Tensor:
    """Return a table beside that of words."""
    return Tensor(f"{name}.weight", "other_embedding", (rows, columns))


@family("lilt", defaults={**BERT, "channel_shrink_ratio": 4, "max_2d_position_embeddings": 1024})
def lilt(config: Config) -> Architecture:
    """LiLT (arXiv:2202.13669): beside BERT's layers narrower ones over places on a page, whose scores are added."""
    hidden, ratio = config.hidden(), config.integer("channel_shrink_ratio", most=2**10)
    if hidden % (6 * ratio):
        raise config.error("channel_shrink_ratio", f"must leave whole sixths of the hidden size {hidden}")
    narrow, width = hidden // ratio, config.integer("intermediate_size") // ratio
    places = config.integer("max_2d_position_embeddings", most=2**20)
    table = embeddings(config, hidden, positions=True, types=True)
    table += tuple(table_of(f"layout.{axis}", places, hidden // 6) for axis in "xyhw")
    table += (table_of("layout.box", config.integer("max_position_embeddings"), narrow),)
    table += linear("layout.linear", "other_embedding", narrow, hidden, bias=True)
    table += norm("layout.norm", narrow, bias=True)
    mixer = all_attending(config, hidden)
    beside: Tensors = ()
    for part in ("query", "key", "value", "output"):
        beside += linear(f"self_attn.layout_{part}", "attention", narrow, narrow, bias=True)
    feed = dense(hidden, config.integer("intermediate_size"), gated=False, bias=True, activation="gelu")
    own = linear("layout.up_proj", "mlp", max(width, 1), narrow, bias=True)
    own += linear("layout.down_proj", "mlp", narrow, max(width, 1), bias=True)
    own += norm("layout.norms", narrow, bias=True, block="layer_other", copies=2)
    return kin(
        config,
        table=table,
        mixer=mixer._replace(tensors=mixer.tensors + beside),
        feed=feed._replace(tensors=feed.tensors + own),
        last=text_head(config, hidden, pooled=True),
    )


@family("luke", defaults={**BERT, "vocab_size": 50267, "entity_vocab_size": 500_000, "entity_emb_size": 256})
def luke(config: Config) -> Architecture:
    """LUKE (arXiv:2010.01057): RoBERTa over words and entities, with queries of their own for each pair of kinds."""
    hidden, size = config.hidden(), config.integer("entity_emb_size", default=config.hidden())
    table = embeddings(config, hidden, positions=True, types=True)
    table += (table_of("entities", config.integer("entity_vocab_size"), size),)
    if size != hidden:
        table += linear("entity_dense", "other_embedding", hidden, size)
    table += tuple(
        tensor._replace(name=f"entity_{tensor.name}")
        for tensor in embeddings(config, hidden, positions=True, types=True)
    )
    mixer = all_attending(config, hidden)
    if config.flag("use_entity_aware_attention", default=True):
        for pair in ("w2e", "e2w", "e2e"):
            more = linear(f"self_attn.{pair}_query", "attention", hidden, hidden, bias=True)
            mixer = mixer._replace(tensors=mixer.tensors + more)
    return kin(config, table=table, mixer=mixer, last=text_head(config, hidden, pooled=True))


@family("fnet", defaults={**BERT, "vocab_size": 32000, "type_vocab_size": 4})
def fnet(config: Config) -> Architecture:
    """FNet (arXiv:2105.03824): Fourier transforms in place of attention, which store nothing and are not counted."""
    hidden = config.hidden()
    table = embeddings(config, hidden, positions=True, types=True)
    table += linear("embeddings.projection", "other_embedding", hidden, hidden, bias=True)
    words = words_head(config, hidden, pooled=False)
    last = pooler(hidden) + words if words else text_head(config, hidden, pooled=True)
    return kin(config.replaced({"num_attention_heads": 1}), table=table, mixer=Mixer(), last=last)


CANINE = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 16384,
    "type_vocab_size": 16,
    "downsampling_rate": 4,
    "upsampling_kernel_size": 4,
    "num_hash_functions": 8,
    "num_hash_buckets": 16384,
    "local_transformer_stride": 128,
}


@family("canine", defaults=CANINE)
def canine(config: Config) -> Architecture:
    """CANINE (arXiv:2103.06874): letters by hashes, one layer over them, BERT's over every fourth, one over letters.

    A token is a letter here, as its context counts them; layers between meet a quarter of them.
    """
    hidden, fewer = config.hidden(), config.integer("downsampling_rate", most=2**10)
    hashes = config.integer("num_hash_functions", most=2**10)
    if hidden % hashes:
        raise config.error("num_hash_functions", f"must divide the hidden size {hidden}, not be {hashes}")
    buckets = config.integer("num_hash_buckets")
    table: Tensors = tuple(table_of(f"hash.{index}", buckets, hidden // hashes) for index in range(hashes))
    table += embeddings(config, hidden, positions=True, types=True)
    kernel = config.integer("upsampling_kernel_size", most=2**10)
    down = convolution("chars_to_molecules", hidden, hidden, (fewer,), places=1 / fewer, stride=fewer, bias=True)
    up = convolution("projection", hidden, 2 * hidden, (kernel,), bias=True)
    near = config.integer("local_transformer_stride", most=2**20)
    letters, words = letter_layer(config, hidden, 1, near), letter_layer(config, hidden, fewer, None)
    kinds = (
        letters,
        layer(Mixer(down), FeedForward(), *norms(hidden, "molecules_norm", bias=True)),
        words,
        layer(Mixer(up), FeedForward(), *norms(hidden, "projection_norm", bias=True)),
    )
    return Architecture(
        family="canine",
        hidden_size=hidden,
        vocab_size=0,
        embeddings=table,
        kinds=kinds,
        pattern=(0, 1, *(2,) * config.layers(), 3, 0),
        head=text_head(config, hidden, pooled=True),
        tied=False,
        context_tokens=config.integer("max_position_embeddings"),
        output_size=0,
    )


def letter_layer(config: Config, hidden: int, fewer: int, near: int | None) -> Layer:
    """Return BERT's layer as every so manieth letter meets it; those at letters see what is `near`."""
    mixer = all_attending(config, hidden)
    assert mixer.attention is not None
    feed = dense(hidden, config.integer("intermediate_size"), gated=False, bias=True, activation="gelu")
    return layer(
        reader(
            mixer._replace(
                tensors=tuple(tensor._replace(places=1 / fewer) for tensor in mixer.tensors),
                attention=mixer.attention._replace(window_tokens=near),
            )
        ),
        feed._replace(tensors=tuple(tensor._replace(places=1 / fewer) for tensor in feed.tensors)),
        *norms(hidden, "attention_layernorm", "output_layernorm", bias=True),
        style=Style(LAYER_NORM, AFTER),
    )


VILT = {**BERT, "max_position_embeddings": 40, "image_size": 384, "patch_size": 32, "modality_type_vocab_size": 2}


@family("vilt", defaults=VILT)
def vilt(config: Config) -> Architecture:
    """ViLT (arXiv:2102.03334): ViT's layers over words and pieces of an image side by side, which kinds tell apart."""
    hidden = config.hidden()
    table = embeddings(config, hidden, positions=True, types=True)
    table += (Tensor("cls_token", "other_embedding", (1, 1, hidden)),)
    table += (Tensor("position_embeddings", "other_embedding", (1, patch_count(config) + 1, hidden)),)
    table += tuple(tensor._replace(block="other_embedding") for tensor in patches(config, bias=True))
    table += (table_of("kinds", config.integer("modality_type_vocab_size", most=2**10), hidden),)
    block = layer(
        reader(all_attending(config, hidden)),
        dense(hidden, config.integer("intermediate_size"), gated=False, bias=True, activation="gelu"),
        *norms(hidden, "layernorm_before", "layernorm_after", bias=True),
        style=GPT_STYLE,
    )
    last = norm("layernorm", hidden, bias=True, block="final_norm") + pooler(hidden) + answers(config, hidden)
    return encoder(config, hidden=hidden, layers=config.layers(), block=block, embeddings=table, last=last)


def answers(config: Config, hidden: int) -> Tensors:
    """Return what ViLT tells behind its pooler: words, an answer of a list, or whether words and image belong."""
    if "ForQuestionAnswering" in config.classes:
        head = linear("classifier.0", "head", 2 * hidden, hidden, bias=True)
        head += norm("classifier.1", 2 * hidden, bias=True, block="head")
        return head + linear("classifier.3", "head", labels_of(config), 2 * hidden, bias=True)
    if "ForImageAndTextRetrieval" in config.classes:
        return linear("rank_output", "head", 1, hidden, bias=True)
    return words_head(config, hidden, pooled=False)


@family("splinter", defaults={**BERT, "vocab_size": 28996})
def splinter(config: Config) -> Architecture:
    """Splinter (arXiv:2101.00438): BERT without a pooler, which is asked where an answer begins and ends."""
    if config.classes not in ("", "SplinterModel"):
        raise config.error("architectures", "is not modelled: of Splinter its states are")
    return bert_like(config, pooled=False, types=True)


MEGATRON = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}


@family("megatron-bert", defaults={**BERT, **MEGATRON, "vocab_size": 29056})
def megatron_bert(config: Config) -> Architecture:
    """Megatron's BERT (arXiv:1909.08053): norms before the blocks, and one behind the layers in place of the first."""
    hidden = config.hidden()
    table = embeddings(config, hidden, positions=True, types=True)[:-2]
    block = layer(
        reader(all_attending(config, hidden)),
        dense(hidden, config.integer("intermediate_size"), gated=False, bias=True, activation="gelu"),
        *norms(hidden, "attention_layernorm", "output_layernorm", bias=True),
        style=GPT_STYLE,
    )
    last = norm("layernorm", hidden, bias=True, block="final_norm")
    last += words_head(config, hidden, pooled=True) or text_head(config, hidden, pooled=True)
    return encoder(config, hidden=hidden, layers=config.layers(), block=block, embeddings=table, last=last)


@family("roformer", defaults={**BERT, "vocab_size": 50000, "max_position_embeddings": 1536, "embedding_size": 768})
def roformer(config: Config) -> Architecture:
    """RoFormer (arXiv:2104.09864): BERT with rotary positions, whose sines its files store, and no pooler."""
    hidden, size = config.hidden(), config.integer("embedding_size")
    table = embeddings(config, size, positions=False, types=True)
    sines = (table_of("embed_positions", config.integer("max_position_embeddings"), heads_of(config, hidden)[2]),)
    last = words_head(config, hidden, pooled=False) or text_head(config, hidden, pooled=False)
    return narrowed(kin(config, table=table + sines, rotary=True, last=last), size)


TYPES = [3, 256, 256, 2, 256, 256, 10]


@family("tapas", defaults={**BERT, "max_position_embeddings": 1024, "type_vocab_sizes": TYPES})
def tapas(config: Config) -> Architecture:
    """TAPAS (arXiv:2004.02349): BERT over tables, whose tokens have rows, columns and ranks; cells are chosen."""
    hidden = config.hidden()
    table = embeddings(config.replaced({"type_vocab_size": 0}), hidden, positions=True, types=True)
    for index, rows in enumerate(config.integers("type_vocab_sizes") or ()):
        table += (table_of(f"token_type.{index}", rows, hidden),)
    last = text_head(config.replaced({"architectures": []}), hidden, pooled=True)
    if "ForQuestionAnswering" in config.classes:
        last += tuple(Tensor(f"{name}output_weights", "head", (hidden,)) for name in ("", "column_"))
        last += tuple(Tensor(f"{name}output_bias", "head", (1,)) for name in ("", "column_"))
        if kinds := config.integer("num_aggregation_labels", default=0, least=0, most=2**10):
            last += linear("aggregation_classifier", "head", kinds, hidden, bias=True)
    else:
        last = text_head(config, hidden, pooled=True)
    return kin(config, table=table, last=last)
