"""A family without layers: a vector of each word, whose means are those of a text (Model2Vec's potion)."""

from calc.architecture.blocks import FeedForward, Mixer, layer
from calc.architecture.config import Config
from calc.architecture.families.encoder import encoder
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture


@family("model2vec")
def model2vec(config: Config) -> Architecture:
    """Model2Vec and static embeddings of sentence-transformers: a table of words, and nothing behind it."""
    alone = layer(Mixer(), FeedForward())
    return encoder(config, hidden=config.hidden("hidden_dim"), layers=1, block=alone, embeddings=(), last=())
