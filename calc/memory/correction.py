"""What a reader has measured on a machine of their own: by what factor its times and its memory differ."""

from typing import NamedTuple


class Correction(NamedTuple):
    """How many times as long passes take as they are computed to, and as much what an engine takes for itself."""

    prefill: float = 1.0  # passes over prompts
    decode: float = 1.0  # steps
    memory: float = 1.0  # beside weights and what is kept of sequences


UNCORRECTED = Correction()
