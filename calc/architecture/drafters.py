"""What drafts further tokens for a model: its own layers of multi-token prediction, or a head trained for it (EAGLE-3).

Both read the model's hidden states, and take its table of embeddings; the first takes its output matrix too. They are
architectures of a layer, so that memory and passes count them as they count any model.
Sources: DeepSeek-V3 (arXiv:2412.19437, section 2.2); EAGLE-3 (arXiv:2503.01840, section 3), and the configs of heads
that SpecForge trains.
"""

from functools import lru_cache

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.architecture.prediction import predictor, repeated_kinds
from calc.architecture.tensors import linear

HEAD_TOKENS = 32_000  # that an EAGLE-3 head chooses from: the most frequent
FEATURES = 3  # hidden states of early, middle and late layers that are joined
WIDE = 6  # times the hidden size: inner width of a head's MLP where the model's is a mixture
USUAL_HEAD, USUAL_KV_HEADS = 128, 8  # of heads for models with latent attention


@lru_cache(maxsize=64)
def predicting(architecture: Architecture) -> Architecture:
    """Return one of a model's layers of multi-token prediction, with the model's embeddings and output matrix."""
    kinds = architecture.predicting or repeated_kinds(architecture)
    repeated = {tensor.name for kind in kinds for tensor in kind.tensors}
    joins = tuple(tensor for tensor in predictor(architecture) if tensor.name not in repeated)
    first = kinds[0]._replace(tensors=joins + kinds[0].tensors)
    return architecture._replace(
        kinds=(first, *kinds[1:]), pattern=tuple(range(len(kinds))), prediction_layers=0, predicting=()
    )


@lru_cache(maxsize=64)
def eagle(architecture: Architecture) -> Architecture:
    """Return an EAGLE-3 head for a model: a matrix that joins hidden states, a Llama layer, a small output matrix.

    The layer's queries, keys and values are made of a hidden state and an embedding side by side.
    """
    hidden, attention = architecture.hidden_size, architecture.attention
    heads, kv_heads, head_dim = max(hidden // USUAL_HEAD, 1), USUAL_KV_HEADS, USUAL_HEAD
    if attention is not None and not attention.latent:
        heads, kv_heads, head_dim = attention.heads, attention.kv_heads, attention.head_dim
    kv_heads = kv_heads if heads % kv_heads == 0 else heads
    dense = [kind.mlp_width for kind in architecture.kinds if kind.mlp_width and not architecture.experts]
    config = {
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": max(dense, default=WIDE * hidden),
        "num_hidden_layers": 1,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "vocab_size": min(HEAD_TOKENS, architecture.vocab_size),
        "tie_word_embeddings": False,
    }
    found = read_config(Config(config))
    joined = linear("fc", "other", hidden, FEATURES * hidden)
    tensors = tuple(
        tensor._replace(shape=(tensor.shape[0], 2 * hidden))
        if tensor.name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight"))
        else tensor
        for tensor in found.kinds[0].tensors
    )
    kind = found.kinds[0]._replace(tensors=joined + tensors)
    return found._replace(embeddings=architecture.embeddings[:1], kinds=(kind,))
