"""How tokens are drafted ahead, as each engine is told: vLLM in one word of JSON, others by flags."""

from collections.abc import Iterator, Mapping
from json import dumps
from typing import Any

from calc.catalog import Catalog

DRAFTING = {"mtp": "mtp", "ngram": "ngram", "eagle": "eagle3"}  # as vLLM names what drafts; a model of its own has none
LOOKED_UP = 4  # tokens of a text that ngram looks for
DRAFTER = "/models/drafter"
SGLANG, LLAMA, MLX = "sglang", "llama.cpp", "mlx"


def named(drafted: Mapping[str, Any] | None, facts: Catalog) -> dict[str, object]:
    """Return a scenario's speculation with the place of the model that drafts: its repository, or a folder."""
    if not drafted or "model" not in drafted:
        return {}
    name, place = drafted["model"], DRAFTER
    if isinstance(name, str):
        place = facts.variant(name) or next(iter(facts.model(name).repositories), DRAFTER)
    return {"speculation": {**drafted, "model": place}}


def drafts(drafted: Mapping[str, Any], engine: str) -> Iterator[tuple[str, object]]:
    """Iterate over how tokens are drafted, by the name that an engine's flags have for it.

    MLX has another model draft, and nothing else. SGLang compares the next token with those that are drafted, one
    behind the other; how it counts those that it looks up is not told, so they have no flag.
    """
    method, tokens = drafted["method"], drafted["tokens"]
    if engine == MLX and method == "draft":
        yield "draft_steps", tokens
        yield "drafter", drafted.get("model", DRAFTER)
        return
    if engine not in (SGLANG, LLAMA) or (engine == SGLANG and method == "ngram"):
        yield "speculation", in_json(drafted)
        return
    yield "drafts_by", method
    yield "looked_up" if method == "ngram" else "draft_steps", tokens
    if engine == SGLANG:
        yield "draft_width", 1
        yield "compared", tokens + 1
    if method == "eagle" or "model" in drafted:
        yield "drafter", f"{DRAFTER}.gguf" if engine == LLAMA else drafted.get("model", DRAFTER)


def in_json(drafted: Mapping[str, Any]) -> str:
    """Return how tokens are drafted, as vLLM is told."""
    said: dict[str, object] = {"num_speculative_tokens": drafted["tokens"]}
    if drafted["method"] in DRAFTING:
        said["method"] = DRAFTING[drafted["method"]]
    if drafted["method"] == "ngram":
        said["prompt_lookup_max"] = LOOKED_UP
    if drafted["method"] == "eagle":
        said["model"] = DRAFTER
    elif "model" in drafted:
        said["model"] = drafted["model"]
    return dumps(said)
