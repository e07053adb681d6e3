"""What can be measured of a run, by the names under which a report and the outputs of programs have it."""

from typing import NamedTuple

RATE, SECONDS, BYTES, TOKENS = "tokens/s", "s", "B", "tokens"


class Term(NamedTuple):
    """Something that a run shows and a report computes."""

    label: str
    unit: str


TERMS = {
    "prefill_tokens_per_s": Term("Tokens read (prefill)", RATE),
    "decode_tokens_per_s": Term("Tokens written (decode), all sequences", RATE),
    "output_tokens_per_s": Term("Tokens written over the whole time", RATE),
    "time_to_first_token_s": Term("Time to the first token", SECONDS),
    "time_per_output_token_s": Term("Time per output token", SECONDS),
    "file_bytes": Term("Weights of the whole model", BYTES),
    "weights_bytes": Term("Weights on a device", BYTES),
    "kv_cache_bytes": Term("KV cache on a device", BYTES),
    "working_bytes": Term("Activations and logits, or the compute buffer", BYTES),
    "graphs_bytes": Term("CUDA graphs", BYTES),
    "kv_pool_bytes": Term("Cache that the engine sets aside", BYTES),
    "kv_pool_tokens": Term("Tokens that the cache holds", TOKENS),
    "allocated_bytes": Term("Allocated by the framework", BYTES),
    "reserved_bytes": Term("Reserved by the framework", BYTES),
    "device_bytes": Term("Used on a device, as its driver shows", BYTES),
    "step_s": Term("Time of a step", SECONDS),
    "trained_tokens_per_s": Term("Tokens trained on, all devices", RATE),
}
TRAINED = ("step_s", "trained_tokens_per_s", "allocated_bytes", "reserved_bytes", "device_bytes")
SERVED = tuple(name for name in TERMS if name not in TRAINED[:2])


class Reading(NamedTuple):
    """What a text says: `fields` of a scenario, what was measured by the names of `TERMS`, and what is to be known.

    `notes` are sentences: what the text names that the catalogue does not have, or what of it was not taken.
    """

    what: str  # the program whose output it is
    fields: dict[str, object]
    terms: dict[str, float]
    notes: tuple[str, ...] = ()
