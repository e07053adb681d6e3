"""A family that reads images and sound as words of its own, which networks beside the language model make of them."""

from calc.architecture.config import Config
from calc.architecture.families.dense import arcee
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture
from calc.architecture.tensors import SPLIT_VOCAB, Tensor

TOKENIZERS = 294_464_099  # parameters of what makes words of images and of sound: the same in both sizes


@family("apertus1p5")
def apertus(config: Config) -> Architecture:
    """Apertus 1.5: Apertus with words for images and sound, which it reads and does not write."""
    text = config.nested("text_config")
    words, written = text.integer("vocab_size"), text.integer("output_vocab_size")
    found = arcee(text.replaced({"model_type": "apertus", "vocab_size": written}))
    table = Tensor("embed_tokens.weight", "token_embedding", (words, found.hidden_size), SPLIT_VOCAB)
    beside = Tensor("vision.tokenizers", "vision", (TOKENIZERS,))
    return found._replace(family="apertus1p5", embeddings=(table, *found.embeddings[1:], beside))
