"""Reading how sequences are packed into one."""

from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.errors import ScenarioError
from calc.training.fields import MOST_SEQUENCE, TrainingReader

PADDED = ("varied_lengths", "padding_mask")  # what says that sequences are padded, and no batch is like another


def read_packed(reader: TrainingReader, architecture: Architecture, tokens: int) -> int:
    """Return the tokens of the sequences that are packed into one of `tokens`; as many where none are.

    What is packed is not padded, whatever a framework does by default. Raises ScenarioError where a scenario says that
    it is, for sequences that are longer than what they are packed into, and for a model whose encoder reads each apart.
    """
    if reader.given.get("packed_tokens") is None:
        return tokens
    if architecture.has_encoder:
        raise ScenarioError("packed_tokens", "does not apply: what an encoder reads is not packed")
    packed = reader.count("packed_tokens", most=MOST_SEQUENCE)
    if packed > tokens:
        raise ScenarioError("packed_tokens", f"are at most the {tokens:,} of what they are packed into")
    for name in PADDED:
        if reader.given.get(name) is True:
            raise ScenarioError("packed_tokens", f"does not go together with {name}: what is packed is not padded")
        reader.presets[name] = False
    return packed


def turns_packed_apart(reader: TrainingReader, facts: Catalog) -> bool:
    """Return whether the scenario's framework turns packed sequences one after the other; not where none is named."""
    framework = reader.filled.get("framework")
    return isinstance(framework, str) and facts.framework(framework).packed_apart
