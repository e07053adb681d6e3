"""Families of encoders beside BERT: what reads text with rotary or relative positions, split or convolved attention."""

from calc.architecture.blocks import FeedForward, Mixer, dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import FULL, GPT_STYLE, assemble, heads_of
from calc.architecture.families.encoder import BERT, HEADS, bert_like, encoder, labels_of, reader, text_feed, text_head
from calc.architecture.families.registry import family
from calc.architecture.layers import AFTER, LAYER_NORM, Architecture, Attention, Style
from calc.architecture.tensors import SPLIT_IN, SPLIT_OUT, Tensor, Tensors, linear, norm


def embeddings(config: Config, size: int, *, positions: bool, types: bool) -> Tensors:
    """Return the tables beside that of words, of `size` columns, and the norm behind them."""
    table: Tensors = ()
    if positions:
        rows = config.integer("max_position_embeddings")
        table += (Tensor("position_embeddings.weight", "other_embedding", (rows, size)),)
    if types and config.integer("type_vocab_size", least=0):
        rows = config.integer("type_vocab_size")
        table += (Tensor("token_type_embeddings.weight", "other_embedding", (rows, size)),)
    return table + norm("embed_layernorm", size, bias=True)


def kin(
    config: Config,
    *,
    table: Tensors,
    bias: bool = True,
    rotary: bool = False,
    mixer: Mixer | None = None,
    feed: FeedForward | None = None,
    last: Tensors = (),
) -> Architecture:
    """Read an encoder of BERT's layers, with an attention or an MLP of its own where they are given."""
    hidden = config.hidden()
    heads, _, size = heads_of(config, hidden)
    seen = Attention(heads, heads, size, causal=False, rotary=rotary, wide_softmax=False)
    plain = softmax_attention(hidden, seen, bias=bias)
    width, activation = config.integer("intermediate_size"), config.text("hidden_act", "gelu")
    dropout = config.number("hidden_dropout_prob", default=0.1, most=1)
    block = layer(
        reader(mixer or plain),
        feed or dense(hidden, width, gated=False, bias=True, activation=activation),
        *norms(hidden, "attention_layernorm", "output_layernorm", bias=True),
        style=Style(LAYER_NORM, AFTER, dropout > 0),
    )
    return encoder(config, hidden=hidden, layers=config.layers(), block=block, embeddings=table, last=last)


@family("nomic_bert", defaults={**BERT, "vocab_size": 30528, "max_position_embeddings": 2048})
def nomic_bert(config: Config) -> Architecture:
    """Nomic Embed (arXiv:2402.01613): BERT with rotary positions, gated MLPs and no biases in its matrices."""
    feed = dense(config.hidden(), config.integer("intermediate_size"))
    table = embeddings(config, config.hidden(), positions=False, types=True)
    return kin(config, table=table, bias=False, rotary=True, feed=feed)


@family("new", "gte", defaults={**BERT, "type_vocab_size": 1})
def gte(config: Config) -> Architecture:
    """GTE 1.5 and multilingual (arXiv:2407.19669), Arctic Embed M 2: BERT with rotary positions and gated MLPs."""
    config.refuse("position_embedding_type", ("rope",), "no published one has learned positions")
    config.refuse("pack_qkv", (True,), "the parts apart have no biases in some makes")
    hidden = config.hidden()
    table = embeddings(config, hidden, positions=False, types=True)
    feed = text_feed(config.replaced({"feed_forward_type": "glu"}), hidden, config.integer("intermediate_size"), "gelu")
    return kin(config, table=table, rotary=True, feed=feed, last=text_head(config, hidden, pooled=False))


JINA = {**BERT, "vocab_size": 250002, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}


@family("jina_embeddings_v3", defaults={**JINA, "intermediate_size": 4096, "type_vocab_size": 1})
def jina_embeddings_v3(config: Config) -> Architecture:
    """Jina embeddings 3 (arXiv:2409.10173): XLM-RoBERTa with rotary positions."""
    hidden = config.hidden()
    table = embeddings(config, hidden, positions=False, types=True)
    return kin(config, table=table, rotary=True, last=linear("pooler", "other", hidden, hidden, bias=True))


@family("longformer", defaults={**BERT, "vocab_size": 30522})
def longformer(config: Config) -> Architecture:
    """Longformer (arXiv:2004.05150): RoBERTa with projections of their own for the tokens that see all others.

    Attention is counted as all tokens pay it, in full.
    """
    hidden = config.hidden()
    heads, _, size = heads_of(config, hidden)
    seen = Attention(heads, heads, size, causal=False, rotary=False, wide_softmax=False)
    mixer = softmax_attention(hidden, seen, bias=True)
    for name in ("query", "key", "value"):
        mixer = mixer._replace(
            tensors=mixer.tensors + linear(f"self_attn.{name}_global", "attention", hidden, hidden, bias=True)
        )
    table = embeddings(config, hidden, positions=True, types=True)
    return kin(config, table=table, mixer=mixer, last=text_head(config, hidden, pooled=True))


@family("mpnet", defaults={**BERT, "vocab_size": 30527, "relative_attention_num_buckets": 32})
def mpnet(config: Config) -> Architecture:
    """MPNet (arXiv:2004.09297): BERT without token types, and with a table of relative positions that layers share."""
    hidden, heads = config.hidden(), config.integer("num_attention_heads")
    table = embeddings(config, hidden, positions=True, types=False)
    buckets = config.integer("relative_attention_num_buckets")
    table += (Tensor("relative_attention_bias.weight", "other_embedding", (buckets, heads)),)
    return kin(config, table=table, last=linear("pooler", "other", hidden, hidden, bias=True))


ELECTRA = {**BERT, "embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}


@family("electra", defaults=ELECTRA)
def electra(config: Config) -> Architecture:
    """ELECTRA (arXiv:2003.10555): BERT whose tables may be narrower than its layers."""
    size = config.integer("embedding_size")
    table = embeddings(config, size, positions=True, types=True)
    return narrowed(kin(config, table=table, last=text_head(config, config.hidden(), pooled=False)), size)


def narrowed(architecture: Architecture, size: int) -> Architecture:
    """Return an encoder whose words have `size` columns, and a matrix that widens them where layers are wider."""
    table, *others = architecture.embeddings
    words: Tensors = (table._replace(shape=(architecture.vocab_size, size)), *others)
    if size != architecture.hidden_size:
        words += linear("embeddings_project", "other_embedding", architecture.hidden_size, size, bias=True)
    return architecture._replace(embeddings=words)


@family("convbert", defaults={**BERT, "head_ratio": 2, "conv_kernel_size": 9, "num_groups": 1, "embedding_size": 768})
def convbert(config: Config) -> Architecture:
    """ConvBERT (arXiv:2008.02496): half of the heads attend, the others are convolutions made from the text."""
    config.refuse("num_groups", (1,), "all published ones have plain MLPs")
    hidden, kernel = config.hidden(), config.integer("conv_kernel_size", most=1000)
    all_heads = config.integer("num_attention_heads")
    ratio = config.integer("head_ratio")
    heads = max(all_heads // ratio, 1)
    size = hidden // all_heads
    inner = heads * size
    prefix, block = "self_attn.", "attention"
    tensors: Tensors = ()
    for name in ("q_proj", "k_proj", "v_proj"):
        tensors += linear(prefix + name, block, inner, hidden, split=SPLIT_OUT, bias=True)
    tensors += (Tensor(prefix + "depthwise.weight", block, (hidden, 1, kernel)),)
    tensors += (Tensor(prefix + "pointwise.weight", block, (inner, hidden, 1)),)
    tensors += (Tensor(prefix + "pointwise.bias", block, (inner, 1)),)
    for name, outputs, inputs in (("conv_out", inner, hidden), ("conv_kernel", heads * kernel, inner)):
        tensors += (Tensor(f"{prefix}{name}.weight", block, (outputs, inputs, 1)),)
        tensors += (Tensor(f"{prefix}{name}.bias", block, (outputs,)),)
    tensors += linear(prefix + "o_proj", block, hidden, 2 * inner, split=SPLIT_IN, bias=True)
    table = embeddings(config, config.integer("embedding_size"), positions=True, types=True)
    found = kin(config, table=table, mixer=Mixer(tensors, Attention(heads, heads, size, causal=False, rotary=False)))
    return narrowed(found, config.integer("embedding_size"))


DEBERTA = {**BERT, "vocab_size": 50265, "type_vocab_size": 0}


@family("deberta", defaults=DEBERTA)
@family("deberta-v2", defaults={**DEBERTA, "vocab_size": 128100})
def deberta(config: Config) -> Architecture:
    """DeBERTa (arXiv:2006.03654): attention to content and to distances; its tables of distances as the config says."""
    hidden, newer = config.hidden(), config.text("model_type", "") == "deberta-v2"
    size = config.integer("embedding_size", default=hidden)
    absolute = config.flag("position_biased_input", default=True)
    table = embeddings(config, size, positions=absolute, types=True)
    if size != hidden:
        table += linear("embed_proj", "other_embedding", hidden, size)
    relative = config.flag("relative_attention", default=False)
    mixer = deberta_attention(config, newer=newer, relative=relative)
    last = text_head(config, hidden, pooled=False)
    if relative:
        last += relative_positions(config, hidden, newer=newer)
    kernel = config.integer("conv_kernel_size", default=0, least=0, most=1000)
    if newer and kernel:
        last += (Tensor("conv.weight", "other", (hidden, hidden, kernel)), Tensor("conv.bias", "other", (hidden,)))
        last += norm("conv.layernorm", hidden, bias=True)
    found = kin(config, table=table, mixer=mixer, last=last)
    words = (found.embeddings[0]._replace(shape=(found.vocab_size, size)), *found.embeddings[1:])
    return found._replace(embeddings=words)


def attention_kinds(config: Config) -> tuple[str, ...]:
    """Return what DeBERTa attends with: `c2p`, `p2c` or both, as a list or with bars between."""
    kinds = config.values.get("pos_att_type")
    listed = kinds.split("|") if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    return tuple(str(kind).strip() for kind in listed)


def deberta_attention(config: Config, *, newer: bool, relative: bool) -> Mixer:
    """Return DeBERTa's attention; the first one has biases on query and value alone, and matrices for distances."""
    hidden = config.hidden()
    heads, _, size = heads_of(config, hidden)
    attention = Attention(heads, heads, size, causal=False, rotary=False)
    kinds, shared = attention_kinds(config), config.flag("share_att_key", default=False)
    mixer = softmax_attention(hidden, attention, bias=newer, out_bias=True)
    tensors = mixer.tensors
    if not newer:
        tensors += tuple(Tensor(f"self_attn.{name}_bias", "attention", (hidden,)) for name in "qv")
    if relative and not shared:
        if "c2p" in kinds:
            tensors += linear("self_attn.pos_key_proj", "attention", hidden, hidden, bias=newer)
        if "p2c" in kinds:
            tensors += linear("self_attn.pos_query_proj", "attention", hidden, hidden, bias=True)
    return mixer._replace(tensors=tensors)


def relative_positions(config: Config, hidden: int, *, newer: bool) -> Tensors:
    """Return the table of distances that layers share, twice as many as the farthest or as there are buckets."""
    farthest = config.values.get("max_relative_positions")
    reach = farthest if isinstance(farthest, int) and farthest > 0 else config.integer("max_position_embeddings")
    buckets = config.values.get("position_buckets")
    if newer and isinstance(buckets, int) and buckets > 0:
        reach = buckets
    tensors: Tensors = (Tensor("rel_embeddings.weight", "other_embedding", (2 * reach, hidden)),)
    if newer and "layer_norm" in config.text("norm_rel_ebd", "none"):
        tensors += norm("rel_layernorm", hidden, bias=True)
    return tensors


@family("camembert", defaults={**BERT, "vocab_size": 30522})
def camembert(config: Config) -> Architecture:
    """CamemBERT: RoBERTa under another name."""
    return bert_like(config, pooled=True, types=True)


EUROBERT = {"vocab_size": 128256, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12}


@family("eurobert", defaults={**EUROBERT, "num_attention_heads": 12})
def eurobert(config: Config) -> Architecture:
    """EuroBERT (arXiv:2503.05500): Llama's layers, reading in both directions."""
    hidden = config.hidden()
    attention = Attention(*heads_of(config, hidden), causal=False)
    block = layer(
        reader(softmax_attention(hidden, attention, bias=config.flag("attention_bias", default=False))),
        dense(hidden, config.integer("intermediate_size"), bias=config.flag("mlp_bias", default=False)),
        *norms(hidden, "input_layernorm", "post_attention_layernorm"),
    )
    last = norm("norm", hidden, block="final_norm")
    return encoder(config, hidden=hidden, layers=config.layers(), block=block, embeddings=(), last=last)


MODERNBERT = {
    "vocab_size": 50368,
    "hidden_size": 768,
    "intermediate_size": 1152,
    "num_hidden_layers": 22,
    "num_attention_heads": 12,
}


@family("modernbert", defaults=MODERNBERT)
def modernbert(config: Config) -> Architecture:
    """ModernBERT (arXiv:2412.13663): rotary positions, a gated MLP, no biases, no norm before the first attention."""
    hidden, layers = config.hidden(), config.layers()
    heads, _, size = heads_of(config, hidden)
    bias, norm_bias = config.flag("attention_bias", default=False), config.flag("norm_bias", default=False)
    seen = Attention(heads, heads, size, causal=False, fused=True)
    mixer = reader(softmax_attention(hidden, seen, bias=bias))
    feed: FeedForward = dense(
        hidden,
        config.integer("intermediate_size"),
        bias=config.flag("mlp_bias", default=False),
        activation=config.text("hidden_activation", "gelu"),
        fused=True,
    )
    first = layer(mixer, feed, *norms(hidden, "mlp_norm", bias=norm_bias), style=GPT_STYLE)
    first = first._replace(norms=("", "mlp_norm"))
    other = layer(mixer, feed, *norms(hidden, "attn_norm", "mlp_norm", bias=norm_bias), style=GPT_STYLE)
    whole = assemble(
        config,
        hidden=hidden,
        layers=[("first" if i == 0 else FULL,) for i in range(layers)],
        build=lambda kind: first if kind[0] == "first" else other,
        tied=True,
        embeddings=norm("embed_layernorm", hidden, bias=norm_bias),
        norm_bias=norm_bias,
    )
    return whole._replace(tied=False, output_size=0, head=whole.head + modernbert_head(config, hidden, norm_bias))


def modernbert_head(config: Config, hidden: int, norm_bias: bool) -> Tensors:
    """Return what ModernBERT tells classes or words with, where its class does: a matrix, a norm and one of them."""
    if not any(end in config.classes for end in (*HEADS, "ForMaskedLM")):
        return ()
    head = linear("head.dense", "other", hidden, hidden, bias=config.flag("classifier_bias", default=False))
    head += norm("head.norm", hidden, bias=norm_bias, block="final_norm")
    if "ForMaskedLM" in config.classes:
        return (*head, Tensor("lm_head.bias", "head", (config.integer("vocab_size"),)))
    return head + linear("classifier", "head", labels_of(config), hidden, bias=True)
