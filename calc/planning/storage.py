"""Storage: what a data set takes on disk once its texts are tokens, and weights that are saved alone."""

SHORT_IDS = (
    65_500  # vocabularies below it are stored in 16 bit (Megatron-LM, megatron/core/datasets/indexed_dataset.py)
)


def token_bytes(vocabulary: int) -> int:
    """Return the bytes that the number of a token takes, as Megatron-LM's data sets store it.

    >>> token_bytes(32_000), token_bytes(128_256)
    (2, 4)
    """
    return 2 if vocabulary < SHORT_IDS else 4


def in_sixteen_bit(parameters: int) -> int:
    """Return the bytes of parameters alone in 16 bit, as models are published.

    >>> in_sixteen_bit(8_030_261_248)
    16060522496
    """
    return 2 * parameters


def data_set_bytes(*, tokens: int, vocabulary: int) -> int:
    """Return the bytes of a data set of `tokens`, without the index beside it.

    >>> data_set_bytes(tokens=1_000_000, vocabulary=128_256)
    4000000
    """
    return tokens * token_bytes(vocabulary)
