"""Reading what somebody pastes: every kind of output that is in it, each adding what those before do not say."""

from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.measured_output import (
    llama_bench,
    llama_log,
    memory_summary,
    nvidia_smi,
    serving_benchmark,
    training_log,
    vllm_log,
)
from calc.measured_run.terms import Reading

KINDS = (llama_bench, serving_benchmark, vllm_log, llama_log, training_log, memory_summary, nvidia_smi)
KNOWN = ", ".join(kind.WHAT for kind in KINDS)
LONGEST = 2_000_000  # characters


def read_output(text: str, catalog: Catalog) -> Reading:
    """Return what a text of any kinds of output says; raises ScenarioError naming what is read where it has none.

    >>> from calc.catalog import catalog
    >>> read_output("prompt eval time = 500.0 ms / 100 tokens", catalog()).terms
    {'prefill_tokens_per_s': 200.0}
    """
    if len(text) > LONGEST:
        raise ScenarioError("text", f"has {len(text):,} characters; at most {LONGEST:,} are read: paste the last part")
    found = [reading for kind in KINDS if (reading := kind.read(text, catalog))]
    if not found:
        raise ScenarioError("text", f"has none of the outputs that are read: {KNOWN}")
    fields: dict[str, object] = {}
    terms: dict[str, float] = {}
    for reading in reversed(found):
        fields |= reading.fields
        terms |= reading.terms
    what = " and ".join(dict.fromkeys(reading.what for reading in found))
    return Reading(what, fields, terms, tuple(note for reading in found for note in reading.notes))
