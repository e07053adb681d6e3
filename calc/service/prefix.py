"""Reading what prompts have in common: a scenario's `shared_prefix_tokens` and `prefix_hit_rate`."""

from math import isfinite

from calc.catalog.records import Engine
from calc.errors import ScenarioError
from calc.memory.prefix import Prefix
from calc.scenario.reader import Reader


def read_prefix(reader: Reader, engine: Engine | None, *, prompt_tokens: int, all_logits: bool) -> Prefix:
    """Return what prompts find in the cache of those before them.

    The share that is found is that of the shared tokens unless it is given.
    """
    shared = reader.count("shared_prefix_tokens", least=0, most=prompt_tokens, default=0)
    least = shared / prompt_tokens
    rate = reader.take("prefix_hit_rate", least)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not isfinite(rate) or not 0 <= rate <= 1:
        raise ScenarioError("prefix_hit_rate", f"must be a number from 0 to 1, not {rate!r:.60}")
    if round(rate * prompt_tokens) < shared:
        message = f"is less than the {least:.3g} of a prompt that shared_prefix_tokens says all of them have in common"
        raise ScenarioError("prefix_hit_rate", message)
    if rate:
        check_together(reader, engine, "shared_prefix_tokens" if shared else "prefix_hit_rate", all_logits=all_logits)
    return Prefix(shared, float(rate), held_once=engine is None or bool(engine.values.get("shares_prefix")))


def check_together(reader: Reader, engine: Engine | None, field: str, *, all_logits: bool) -> None:
    """Raise ScenarioError for what does not go together with a prefix that is found."""
    if reader.given.get("cached_tokens"):
        raise ScenarioError(field, "does not go together with cached_tokens, which each sequence has for itself")
    if all_logits:
        raise ScenarioError(field, 'does not go together with prompt_logits "all": every position is read for those')
    if engine is not None and "shares_prefix" not in engine.values:
        raise ScenarioError(field, f"does not apply: {engine.name} keeps nothing of one request for the next")
