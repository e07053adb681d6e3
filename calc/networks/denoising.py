"""Families that write a whole piece at once: each pass reads all of it, and fills in some of what is hidden.

What is answered is one such pass. How many there are is chosen by who runs it, from a few to one for each token.
"""

from calc.architecture.config import Config
from calc.architecture.decoders import llama_like
from calc.architecture.families.registry import family
from calc.architecture.families.shared_mixture import bailing_moe
from calc.architecture.layers import Architecture
from calc.architecture.tensors import Tensor, linear


def whole(found: Architecture) -> Architecture:
    """Return a decoder whose tokens see all others, so that nothing is kept of them from pass to pass."""
    kinds = (
        kind._replace(caches=(), attention=kind.attention and kind.attention._replace(causal=False))
        for kind in found.kinds
    )
    return found._replace(kinds=tuple(kinds), tied=False, output_size=0)


@family("llada", defaults={"vocab_size": 126464, "n_kv_heads": 32})
def llada(config: Config) -> Architecture:
    """LLaDA 8B (arXiv:2502.09992): Llama's layout under OLMo's names, without caches."""
    config.refuse("include_bias", (False,), "no published one has biases")
    names = {
        "hidden_size": "d_model",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "num_key_value_heads": "n_kv_heads",
        "intermediate_size": "mlp_hidden_size",
        "max_position_embeddings": "max_sequence_length",
    }
    return whole(llama_like(config.completed({ours: config.integer(theirs) for ours, theirs in names.items()})))


@family("Dream")
def dream(config: Config) -> Architecture:
    """Dream 7B (arXiv:2508.15487): Qwen 2.5's layers, which were trained on to fill in."""
    return whole(llama_like(config, attention_bias=True, out_bias=False))


@family("llada2_moe")
def llada2(config: Config) -> Architecture:
    """LLaDA 2 (arXiv:2512.15745): Ling 2's layers, which fill in a block and keep what stood before it."""
    return bailing_moe(config)._replace(tied=False, output_size=0)


OMNIVOICE = {"audio_vocab_size": 1025, "num_audio_codebook": 8}


@family("omnivoice", defaults=OMNIVOICE)
def omnivoice(config: Config) -> Architecture:
    """OmniVoice: Qwen 3's layers, which fill in the codes of sound, of eight codebooks each, behind a text."""
    text = config.nested("llm_config")
    found = whole(llama_like(text, qk_norm="head", tied=True))
    hidden = found.hidden_size
    codes = config.integer("audio_vocab_size", most=2**20) * config.integer("num_audio_codebook", most=2**10)
    table = Tensor("audio_embeddings.weight", "other_embedding", (codes, hidden))
    return found._replace(
        family="omnivoice",
        embeddings=(*found.embeddings, table),
        head=(*found.head, *linear("audio_heads", "head", codes, hidden)),
    )
