"""Repositories that hold a known model again: copies by other owners, and conversions to a number format."""

import re
from collections.abc import Mapping

from calc.catalog.loader import fold, lookup_names

CONVERTED = re.compile(
    r"[-_.](awq|gptq|gguf|exl[23]|mlx|bnb|quantized|dynamic|channel|block|unsloth|kv|g\d+|w\d+a\d+|fp8|fp4|nf4|nvfp4|"
    r"mxfp4|bf16|fp16|[348]bit|int[48])$"
)


def copied(name: str, entries: Mapping[str, Mapping[str, object]]) -> str | None:
    """Return the id of the model that a repository holds by its name, None where none has it.

    The owner and words of conversion at the end are left out; what stays has to be a known repository's own name.

    >>> copied("someone/Llama-2-7b-hf-AWQ", {"llama-2-7b": {"repositories": ["meta-llama/Llama-2-7b-hf"]}})
    'llama-2-7b'
    """
    owner, _, bare = name.rpartition("/")
    if not owner:
        return None
    bare = bare.casefold()
    while (shorter := CONVERTED.sub("", bare)) != bare:
        bare = shorter
    for entry_id, entry in entries.items():
        if any(fold(known.rpartition("/")[2]) == fold(bare) for known in lookup_names(entry_id, entry)):
            return entry_id
    return None
