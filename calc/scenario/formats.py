"""The number formats of a scenario: of the weights, as published or as asked for, and of the cache."""

from collections.abc import Mapping

from calc.architecture.layers import Architecture
from calc.architecture.tensors import QUANTIZED_BLOCKS
from calc.catalog import Catalog
from calc.catalog.records import Engine, Mixture, ModelFormat, NumberFormat, Recipe, Rule, Weights, WeightsFormat
from calc.errors import ScenarioError
from calc.memory.published_formats import is_eight_bit, published_cache, published_format
from calc.scenario.fields import HOST_ENGINE, PUBLISHED, STORED
from calc.scenario.model import ReadModel, read_stored
from calc.scenario.reader import Reader, read_flag, whole

SIXTEEN = 16  # bits


def read_weights(reader: Reader, model: ReadModel, catalog: Catalog) -> tuple[Weights, int | None]:
    """Return what the weights are stored in, and the group size that replaces the format's own.

    Where no format is given, a model with sizes from its file has those, a copy what its name says, and any other what
    its repository is published in.
    """
    stored = read_stored(reader.given.get("model"))
    value = reader.take("weights", STORED if stored else None)
    if value == PUBLISHED and model.said is not None and model.said.weights is not None:
        value = reader.filled["weights"] = model.said.weights
    if value != STORED:
        found, group = chosen_weights(value, model, catalog)
        return with_experts(found, model, catalog), group
    if stored is None:
        raise ScenarioError("weights", "are only stored in a file for a model that was read from one; choose a format")
    return stored, None


def as_loaded(weights: Weights, engine: Engine | None, catalog: Catalog, *, published: bool) -> Weights:
    """Return weights as an engine has them: some load FP32 in 16 bit unless told otherwise.

    llama.cpp has MXFP4 for experts alone, in files that keep everything else in Q8_0.
    """
    if engine is None:
        return weights
    if engine.id == HOST_ENGINE and weights == catalog.number_format("mxfp4"):
        return catalog.weights_format("mxfp4_moe", "weights")
    if published and engine.values.get("halves_fp32") and weights == catalog.number_format("fp32"):
        return catalog.number_format("fp16")
    return weights


def read_caches(
    reader: Reader, model: ReadModel, engine: Engine | None, architecture: Architecture, *, facts: Catalog
) -> tuple[NumberFormat, NumberFormat]:
    """Return the formats of cached keys and values.

    Where nothing is said keys are in 16 bit, or in what published weights ask for under an engine that follows it, and
    values in the same as keys.
    """
    follows = engine is not None and engine.values.get("cache_as_stated") and reader.filled["weights"] == PUBLISHED
    usual = (published_cache(model.config) or None) if follows else None
    keys = read_cache_format(reader.take("kv_cache", usual), "kv_cache", facts, architecture)
    values = read_cache_format(reader.take("kv_cache_v", keys.id), "kv_cache_v", facts, architecture)
    return keys, values


def with_experts(weights: ModelFormat, model: ReadModel, catalog: Catalog) -> ModelFormat:
    """Return a mixture of llama.cpp with the experts as they are published, where that is in MXFP4.

    Files of such models have them in no other format, whatever their name says of everything else.
    """
    packed = catalog.number_format("mxfp4")
    if isinstance(weights, Mixture) and model.architecture.experts and known_published(model, catalog) == packed:
        return weights._replace(experts=packed.id)
    return weights


def chosen_weights(value: object, model: ReadModel, catalog: Catalog) -> tuple[ModelFormat, int | None]:
    """Return what a scenario's `weights` means for a model, and the group size that replaces the format's own.

    FP8 without more is what a model is published in where that is FP8, with a scale for each block as DeepSeek-V3 has.
    """
    if value == PUBLISHED:
        return known_published(model, catalog), None
    found, group = read_format(value, "weights", catalog)
    if found == catalog.number_format("fp8") and is_eight_bit(own := known_published(model, catalog)):
        return own, None
    return found, group


def known_published(model: ReadModel, catalog: Catalog) -> ModelFormat:
    """Return what a model is published in, worked out once for each of the catalogue."""

    def worked_out() -> ModelFormat:
        return published_format(model.config, model.architecture, catalog.number_format)

    return catalog.once(f"published {model.written}", worked_out) if model.written else worked_out()


def read_format(value: object, field: str, catalog: Catalog) -> tuple[ModelFormat, int | None]:
    """Return what weights are stored in, and the group size that replaces the format's own.

    Accepts a name, `{"format": name, "group_size": n}`, `{"format": name, "excluded": [blocks]}`, `{"format": name,
    "importance_matrix": true}` for mixtures of llama.cpp, or `{"bits_per_weight": x}` for all parameters alike.
    """
    if isinstance(value, str):
        return catalog.weights_format(value, field), None
    if isinstance(value, Mapping) and set(value) == {"bits_per_weight"}:
        bits = value["bits_per_weight"]
        if isinstance(bits, bool) or not isinstance(bits, int | float) or not 0.5 <= bits <= 64:
            raise ScenarioError(f"{field}.bits_per_weight", f"must be a number from 0.5 to 64, not {bits!r:.60}")
        plain = catalog.number_format("fp32")
        name = f"{bits:g} bits per weight"
        return plain._replace(id="bits_per_weight", name=name, bits=bits, cache=False, summary="As given."), None
    if isinstance(value, Mapping) and set(value) == {"format", "importance_matrix"}:
        mixture = named_format(value["format"], f"{field}.format", catalog)
        if not isinstance(mixture, Mixture):
            message = f"{mixture.id} is no mixture of llama.cpp, and is made without one"
            raise ScenarioError(f"{field}.importance_matrix", message)
        matrix = read_flag(value["importance_matrix"], f"{field}.importance_matrix")
        return mixture._replace(importance_matrix=matrix), None
    if isinstance(value, Mapping) and set(value) == {"format", "group_size"}:
        number_format = named_format(value["format"], f"{field}.format", catalog)
        if isinstance(number_format, Mixture) or not number_format.group or number_format.group_rows > 1:
            raise ScenarioError(f"{field}.group_size", f"{number_format.id} has no groups to choose")
        return number_format, whole(value["group_size"], f"{field}.group_size", 8, 65_536)
    if isinstance(value, Mapping) and {"format", "excluded"} <= set(value) <= {"format", "excluded", "group_size"}:
        return read_excluded(value, field, catalog), None
    forms = 'a number format, {"format": "awq", "group_size": 64}, {"format": "nvfp4", "excluded": ["attention"]}, '
    forms += '{"format": "q4_0", "importance_matrix": true}'
    forms += ' or {"bits_per_weight": 4.5}'
    raise ScenarioError(field, f"must be {forms}, not {value!r:.60}")


def read_excluded(value: Mapping[str, object], field: str, catalog: Catalog) -> Recipe:
    """Return a number format that leaves some blocks of the layers at 16 bit."""
    base: ModelFormat = named_format(value["format"], f"{field}.format", catalog)
    group = None
    if "group_size" in value:
        base, group = read_format({"format": base.id, "group_size": value["group_size"]}, field, catalog)
    blocks = value["excluded"]
    if isinstance(base, Mixture) or not isinstance(base, NumberFormat) or base.bits >= SIXTEEN:
        raise ScenarioError(f"{field}.excluded", f"{base.id} leaves no blocks out")
    if not isinstance(blocks, list | tuple) or not blocks or not set(map(str, blocks)) <= set(QUANTIZED_BLOCKS):
        message = f"must be a list out of {', '.join(QUANTIZED_BLOCKS)}, not {blocks!r:.60}"
        raise ScenarioError(f"{field}.excluded", message)
    plain = catalog.number_format("bf16")
    name = f"{base.name} without {', '.join(map(str, blocks))}"
    rules = tuple(Rule(plain, block=str(block)) for block in dict.fromkeys(blocks))
    return Recipe(base.id, name, base._replace(group=group or base.group), plain, rules=rules)


def named_format(name: object, field: str, catalog: Catalog) -> WeightsFormat:
    """Return what weights are stored in by its name."""
    if not isinstance(name, str):
        raise ScenarioError(field, f"must be the name of a number format, not {name!r:.60}")
    return catalog.weights_format(name, field)


def read_cache_format(value: object, field: str, catalog: Catalog, architecture: Architecture) -> NumberFormat:
    """Return a number format that caches are kept in, whose blocks divide the model's heads."""
    number_format = catalog.number_format(value, field) if isinstance(value, str) else None
    if number_format is None or not number_format.cache:
        known = ", ".join(record.id for record in catalog.number_formats() if record.cache)
        if number_format is None:
            raise ScenarioError(field, f"must be a number format, one of {known}, not {value!r:.60}")
        raise ScenarioError(field, f"caches in {number_format.id} are not modelled; those in {known} are")
    for cache in (cache for kind in architecture.kinds for cache in kind.caches):
        for size in (cache.key_dim, cache.value_dim):
            if number_format.group and size % number_format.group:
                blocks = f"{number_format.id} has blocks of {number_format.group}"
                raise ScenarioError(field, f"{blocks}, and the model's head size {size} is not a multiple of them")
    return number_format
