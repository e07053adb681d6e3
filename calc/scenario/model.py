"""The model of a scenario: an entry of the catalogue, or a config."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.identity import Alike
from calc.architecture.layers import Architecture
from calc.catalog import Catalog
from calc.catalog.records import Engine, StoredWeights
from calc.errors import ScenarioError
from calc.scenario.fields import MODEL_FIELDS, SHARING_ENGINES
from calc.scenario.reader import Reader, check_json, read_flag, whole

if TYPE_CHECKING:
    from calc.catalog.copies import Copy

SCALED = ("rope_scaling", "rope_parameters", "model_max_length")  # a config's keys that say more than its positions
MOST_STORED, LONGEST_NAME = 2**50, 200


class ReadModel(NamedTuple):
    """A model that a scenario names, or brings as a config."""

    id: str  # empty for one that is not in the catalogue
    name: str
    architecture: Architecture
    context_tokens: int | None
    config: Mapping[str, object]  # what says how the weights are published
    written: str  # a repository that holds the model in another number format than the entry's own; else the id
    said: "Copy | None" = None  # of the number format, by the name

    @property
    def own_tokens(self) -> int | None:
        """The tokens for which engines take it as its config stands, fewer than it is made for where YaRN is to be set.

        Source: vLLM, `_get_and_verify_max_len`, whose error issue 8793 quotes for Qwen2.5 72B.
        """
        stated = self.config.get("max_position_embeddings")
        otherwise = any(self.config.get(key) for key in SCALED)
        if otherwise or self.context_tokens is None or not isinstance(stated, int) or not self.architecture.writes:
            return self.context_tokens
        return min(stated, self.context_tokens)


def read_model(value: object, catalog: Catalog) -> ReadModel:
    """Return a model from a name or from `{"config": {...}}`.

    Beside the config may stand the model's `name`, and `stored_bytes`, which `read_weights` reads.
    """
    if isinstance(value, str):
        model = catalog.model(value)
        said, name = catalog.named_format(value), catalog.variant(value)
        head = (said.head if said else None) or {}
        repository = value if value in model.published else name  # a variant by whatever name is its repository
        first, *others = model.repositories or ("",)
        apart = value in others and first in model.published  # a sister that is not published as the first one is
        fetched = repository or (value if apart else first)
        said_there = {**model.variants.get(name, {}), **head, **model.published.get(fetched, {})}
        written = value if head or apart else repository or model.id
        architecture = known_architecture(catalog, model.id, name, head)
        config = {**model.config, **said_there}
        told = said_there.get("context_tokens")
        context = told if isinstance(told, int) else model.context_tokens
        named = str(said_there.get("architecture", model.name))
        return ReadModel(model.id, named, architecture, context, config=config, written=written, said=said)
    if isinstance(value, Mapping) and "config" in value and set(value) <= set(MODEL_FIELDS):
        given = Config(value["config"])
        check_json(given.values, given.field)
        architecture = config_architecture(Alike(given.values))
        name = value.get("name", f"{architecture.family} from its config")
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise ScenarioError("model.name", f"must be a text of at most {LONGEST_NAME} characters, not {name!r:.60}")
        return ReadModel("", name, architecture, architecture.context_tokens, config=given.values, written="")
    known = 'a catalogue id, a Hugging Face repository name, or {"config": {...}}'
    raise ScenarioError("model", f"must be {known}" if value is not None else f"is missing: give {known}")


def read_text_only(reader: Reader, architecture: Architecture) -> Architecture:
    """Return a model without what sees or hears, where a scenario leaves that out."""
    if not read_flag(reader.given.get("text_only", False), "text_only"):
        return architecture
    if architecture.alone is architecture:
        raise ScenarioError("text_only", "does not apply: the model has nothing that sees or hears")
    reader.filled["text_only"] = True
    return architecture.alone


def read_videos(reader: Reader, engine: Engine | None, architecture: Architecture) -> bool:
    """Return whether a model that sees is shown videos, as an engine takes it that measures that before it serves."""
    shown = read_flag(reader.given.get("videos", True), "videos")
    if not shown:
        budget = None if engine is None else engine.towers.get(architecture.family)
        if budget is None or not budget.video_tokens:
            raise ScenarioError("videos", "does not apply: only vLLM sets memory aside for videos, of some models")
        reader.filled["videos"] = False
    return shown


def read_balance(reader: Reader, engine: Engine | None, architecture: Architecture) -> bool | None:
    """Return whether an engine places experts by what they have to do, None where nothing is said."""
    if "balance_experts" not in reader.given:
        return None
    balances = read_flag(reader.given["balance_experts"], "balance_experts")
    if engine is None or engine.id not in SHARING_ENGINES:
        raise ScenarioError("balance_experts", f"does not apply: {', '.join(SHARING_ENGINES)} balance experts")
    if not architecture.experts:
        raise ScenarioError("balance_experts", "does not apply: the model has no experts")
    reader.filled["balance_experts"] = balances
    return balances


@lru_cache(maxsize=8)  # whoever brings one asks again and again; what is known of a layer is known by its identity
def config_architecture(config: Alike[Mapping[str, object]]) -> Architecture:
    """Return the architecture of a config."""
    return read_config(Config(config.value))


def known_architecture(
    catalog: Catalog, model_id: str, variant: str = "", head: Mapping[str, object] | None = None
) -> Architecture:
    """Return the architecture of a catalogue model, or of a variant, read once for each loaded catalogue.

    `head` is what a finetune has behind its layers otherwise, by its name.
    """

    def read() -> Architecture:
        model = catalog.model(model_id)
        return read_config(Config({**model.config, **model.variants.get(variant, {}), **(head or {})}))

    key = f"{variant or model_id} {head}" if head else variant or model_id
    return catalog.once(f"architecture {key}", read)


def read_stored(value: object) -> StoredWeights | None:
    """Return the sizes that a model's file gave, None for a model without a file."""
    stored = value.get("stored_bytes") if isinstance(value, Mapping) else None
    if stored is None:
        return None
    field, places = "model.stored_bytes", ("embeddings", "layers", "head")
    if not isinstance(stored, Mapping) or set(stored) != set(places):
        raise ScenarioError(field, f"must be an object with {', '.join(places)}, not {stored!r:.60}")
    embeddings, layers, head = (whole(stored[place], f"{field}.{place}", 0, MOST_STORED) for place in places)
    if not embeddings + layers + head:
        raise ScenarioError(field, "must not be all 0: a model has weights")
    return StoredWeights(embeddings, layers, head)
