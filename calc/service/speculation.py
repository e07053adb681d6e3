"""Reading how tokens are drafted ahead: a scenario's `speculation`."""

from collections.abc import Mapping
from math import isfinite

from calc.architecture.drafters import eagle, predicting
from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Engine, Mixture, StoredWeights, Weights
from calc.errors import ScenarioError, WrongValueError, nearest
from calc.memory.drafts import DRAFT, EAGLE, METHODS, MTP, Draft
from calc.scenario.fields import OF_HOST, PUBLISHED
from calc.scenario.formats import chosen_weights
from calc.scenario.model import read_model
from calc.scenario.reader import Reader, read_object, whole

FIELDS = ("method", "model", "weights", "tokens", "acceptance")
TOKENS, MOST_TOKENS = 3, 16
WIDEST_GAP = 128  # between the vocabularies of a model and of what drafts for it (llama.cpp's speculative.cpp)


def read_speculation(
    reader: Reader, engine: Engine | None, *, architecture: Architecture, weights: Weights, facts: Catalog
) -> Draft:
    """Return how tokens are drafted."""
    value = read_object(reader.given["speculation"], "speculation", FIELDS)
    method = read_method(value, engine, architecture)
    for name in OF_HOST:
        if name in reader.given:
            raise ScenarioError("speculation", f"does not go together with {name}: what drafts needs the whole device")
    draft = Draft(
        method,
        tokens=whole(value.get("tokens", TOKENS), "speculation.tokens", 1, MOST_TOKENS),
        acceptance=read_acceptance(value.get("acceptance"), method, facts),
    )
    filled: dict[str, object] = {"method": method, "tokens": draft.tokens, "acceptance": draft.acceptance}
    if method == DRAFT:
        draft, filled["weights"] = drafting_model(value, draft, architecture=architecture, weights=weights, facts=facts)
        filled["model"] = value["model"]
    elif method == MTP:  # stored as the model's layers; in 16 bit where a file gives sums alone
        stored = facts.number_format("bf16") if isinstance(weights, StoredWeights) else weights
        draft = draft._replace(
            architecture=predicting(architecture),
            weights=stored,
            shares_tables=(True, True),
            layers=architecture.prediction_layers,
        )
    elif method == EAGLE:
        bf16 = facts.number_format("bf16")
        draft = draft._replace(architecture=eagle(architecture), weights=bf16, shares_tables=(True, False))
    reader.filled["speculation"] = filled
    return draft


def read_acceptance(value: object, method: str, facts: Catalog) -> float:
    """Return the chance that a drafted token is accepted; where it is left out, what was measured of the method."""
    if value is None:
        return facts.coefficient(f"acceptance-{method}").value
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 <= value <= 1:
        raise ScenarioError("speculation.acceptance", f"must be a number from 0 to 1, not {value!r:.60}")
    return float(value)


def read_method(value: Mapping[str, object], engine: Engine | None, architecture: Architecture) -> str:
    """Return the way to draft, if the engine has it and the model can."""
    method, field = value.get("method"), "speculation.method"
    if method not in METHODS:
        hint = nearest(str(method), METHODS)
        raise WrongValueError(field, f"must be {' or '.join(METHODS)}, not {method!r:.60}{hint}", instead=METHODS)
    if not architecture.writes or architecture.has_encoder:
        raise ScenarioError("speculation", "does not apply: it is modelled for decoders alone")
    if engine is not None and method not in engine.drafters:
        known = f"has {', '.join(engine.drafters)}" if engine.drafters else "drafts nothing"
        raise ScenarioError(field, f'does not apply: {engine.name} {known}, not "{method}"', instead=engine.drafters)
    for name in ("model", "weights"):
        if method != DRAFT and value.get(name) is not None:
            message = f'is of method "{DRAFT}", not of "{method}": that follows from the model'
            raise ScenarioError(f"speculation.{name}", message)
    if method == MTP and not architecture.prediction_layers:
        raise ScenarioError(field, "does not apply: the model has no layers of multi-token prediction")
    return str(method)


def drafting_model(
    value: Mapping[str, object], draft: Draft, *, architecture: Architecture, weights: Weights, facts: Catalog
) -> tuple[Draft, object]:
    """Return a draft by another model, and what its weights are said to be in.

    Left out, that is the model's own mixture of llama.cpp, or what the other model is published in.
    """
    try:
        model = read_model(value.get("model"), facts)
        said = value.get("weights", weights.id if isinstance(weights, Mixture) else PUBLISHED)
        stored, _ = chosen_weights(said, model, facts)
    except ScenarioError as error:
        raise ScenarioError(f"speculation.{error.field}", error.message, instead=error.instead) from None
    other = model.architecture
    if not other.writes or other.has_encoder:
        raise ScenarioError("speculation.model", "must write text, and be a decoder")
    if abs(other.vocab_size - architecture.vocab_size) > WIDEST_GAP:
        message = f"has {other.vocab_size:,} tokens, and the model that it drafts for {architecture.vocab_size:,}"
        raise ScenarioError("speculation.model", message)
    return draft._replace(architecture=other, weights=stored), said
