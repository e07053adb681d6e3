"""EmbeddingGemma 2: Gemma 4 read both ways, for one vector of all that is read."""

from calc.architecture.config import Config
from calc.architecture.families.gemma import GEMMA4, gemma4_text
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture
from calc.architecture.tensors import linear
from calc.networks.denoising import whole

EMBEDDING_GEMMA2 = {
    **GEMMA4,
    "hidden_size": 512,
    "hidden_size_per_layer_input": 512,
    "intermediate_size": 2048,
    "num_hidden_layers": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "per_layer_config": {"5": {"head_dim": 512, "num_key_value_heads": 1}},  # of the layers that see everything
    "embedding_dim": 768,
}
OF_TOKENS = "embed_tokens_per_layer.weight"


@family("embedding_gemma2_text", defaults=EMBEDDING_GEMMA2)
def embedding_gemma2_text(config: Config) -> Architecture:
    """EmbeddingGemma 2's layers: what a layer reads of a token is made of its embedding alone, without a table.

    The window is said as how far a token sees to either side. A matrix of the sentence's vector stands at the end.
    """
    found = whole(gemma4_text(config.replaced({"sliding_window": 2 * config.integer("sliding_window") + 1})))
    sentence = linear("embedding_projection", "head", config.integer("embedding_dim"), found.hidden_size)
    embeddings = tuple(tensor for tensor in found.embeddings if tensor.name != OF_TOKENS)
    return found._replace(embeddings=embeddings, head=found.head + sentence)
