"""Reading a scenario: every field checked, every default filled in and named."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.layers import Architecture
from calc.architecture.tensors import QUANTIZED_BLOCKS
from calc.catalog import Catalog, catalog
from calc.catalog.loader import file_of
from calc.catalog.records import (
    Accelerator,
    Engine,
    Mixture,
    ModelFormat,
    NumberFormat,
    Recipe,
    Rule,
    StoredWeights,
    Weights,
    WeightsFormat,
    version_numbers,
)
from calc.derivation import INFO, Warn
from calc.errors import CatalogError, ScenarioError, nearest
from calc.memory.budget import Layout
from calc.memory.published_formats import published_format
from calc.planning.support import usual_engine
from calc.units import read_count, show_gib

if TYPE_CHECKING:
    from calc.catalog.copies import Copy

FIELDS = (
    "workload",
    "model",
    "accelerator",
    "accelerators",
    "parallelism",
    "weights",
    "kv_cache",
    "kv_cache_v",
    "engine",
    "engine_version",
    "sequences",
    "concurrency",
    "arrivals",
    "sequence_slots",
    "prompt_tokens",
    "output_tokens",
    "context_tokens",
    "cached_tokens",
    "shared_prefix_tokens",
    "prefix_hit_rate",
    "speculation",
    "adapters_served",
    "start",
    "disaggregation",
    "prompt_logits",
    "batched_tokens",
    "memory_fraction",
    "memory_limit",
    "display",
    "attention",
    "gpu_layers",
    "experts_on_host",
    "host",
    "pcie",
    "tensor_split",
    "cache_offload",
    "correction",
    "price_per_hour",
    "electricity_per_kwh",
)
DEFAULTS: dict[str, object] = {
    "workload": "inference",
    "weights": "published",
    "kv_cache": "bf16",
    "engine": "none",
    "sequences": 1,
    "cached_tokens": 0,
    "prompt_logits": "last",
    "batched_tokens": 2048,
    "attention": "flash",
}
ENGINES = ("none", "vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "mlx")
HOST_ENGINE = "llama.cpp"  # leaves parts of a model in the host's memory
OF_HOST = ("gpu_layers", "experts_on_host")  # how a scenario says which
SHARING_ENGINES = ("vllm", "sglang", "tensorrt-llm")  # set aside a cache, in a share of the device
PROMPT_TOKENS, OUTPUT_TOKENS = 2048, 256
# Two models as different as can be, for reading the other fields of a scenario whose model is wrong.
STAND_INS = {"model": ("llama-3.1-8b", "bloom-560m")}
DEGREES = ("tensor", "pipeline", "data", "expert", "context")
MOST_TOKENS, MOST_DEGREE = 10**9, 65_536
MODEL_FIELDS = ("config", "name", "stored_bytes")
PUBLISHED = "published"  # weights as the model's repository has them
USUAL = "usual"  # the engine that most people take on the device
STORED = "stored"  # weights in the sizes that the model's file gave
MOST_STORED, LONGEST_NAME = 2**50, 200
MOST_PRICE = 1_000_000
SIXTEEN = 16  # bits
MOST_NAMED = 6  # other models that a name may mean
PCIE = re.compile(r"(?:pcie )?(\d)(?:\.0)? ?x(\d{1,2})")
# What a scenario says of an accelerator, and what it leaves open without one.
OF_ACCELERATOR = {
    "memory_limit": "what a program may use of what",
    "display": "what a program may use of what",
    "pcie": "what is plugged in",
}
SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]i?b)")
RATE = re.compile(r"(\d{1,5}(?:\.\d{1,6})?)\s*([gt])b/s")
LEAST_RATE, MOST_RATE = 10**8, 10**13  # bytes a second
SIZE_UNITS = {
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)},
}
MOST_LEVELS = 32  # no config nests as deep


class Reader:
    """Takes the fields out of a scenario, one method a kind of value, and keeps what was filled in."""

    def __init__(self, scenario: Mapping[str, object]) -> None:
        if not isinstance(scenario, Mapping):
            raise ScenarioError("", "a scenario is an object of fields; needed is at least model")
        self.given = {name: value for name, value in scenario.items() if value is not None}
        self.filled: dict[str, object] = {}
        self.defaults: list[str] = []
        for name in scenario:
            if name not in FIELDS:
                raise ScenarioError(
                    str(name), f"is not a field{nearest(str(name), FIELDS)}; fields are {', '.join(FIELDS)}"
                )

    def take(self, name: str, default: object = None) -> object:
        """Return the field's value, or its default, and note which."""
        if name in self.given:
            self.filled[name] = self.given[name]
        else:
            self.filled[name] = DEFAULTS.get(name) if default is None else default
            self.defaults.append(name)
        return self.filled[name]

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """Return the field as one of the words allowed."""
        value = self.take(name)
        if value not in allowed:
            hint = nearest(str(value), allowed)
            raise ScenarioError(name, f"must be {' or '.join(allowed)}, not {value!r:.60}{hint}", instead=allowed)
        return str(value)

    def count(self, name: str, *, least: int = 1, most: int = MOST_TOKENS, default: int | None = None) -> int:
        """Return the field as a whole number in its range."""
        value = self.filled[name] = whole(self.take(name, default), name, least, most)
        return value


def counts_in_binary(field: str) -> bool:
    """Whether a k of a field is 1,024: of contexts and their parts, and not of what a run reads or a service serves."""
    return field.endswith("_tokens") and field != "training_tokens"


def whole(value: object, field: str, least: int, most: int, instead: tuple[int, ...] = ()) -> int:
    """Return a value as a whole number from `least` to `most`; 8192.0 counts as whole, and so does "8k"."""
    if isinstance(value, str) and (count := read_count(value, binary=counts_in_binary(field))) is not None:
        value = count
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        message = f"must be a whole number from {least:,} to {most:,}, not {value!r:.60}"
        raise ScenarioError(field, message, instead=instead)
    return value


class ReadModel(NamedTuple):
    """A model that a scenario names, or brings as a config."""

    id: str  # empty for one that is not in the catalogue
    name: str
    architecture: Architecture
    context_tokens: int | None
    config: Mapping[str, object]  # what says how the weights are published
    written: str  # a repository that holds the model in another number format than the entry's own; else the id
    said: "Copy | None" = None  # of the number format, by the name


def read_model(value: object, catalog: Catalog) -> ReadModel:
    """Return a model from a name or from `{"config": {...}}`.

    Beside the config may stand the model's `name`, and `stored_bytes`, which `read_weights` reads.
    """
    if isinstance(value, str):
        model = catalog.model(value)
        architecture = known_architecture(catalog, model.id)
        said = catalog.named_format(value)
        found = ReadModel(
            model.id, model.name, architecture, model.context_tokens, config=model.config, written=model.id, said=said
        )
        if value in model.published:
            return found._replace(config={**model.config, **model.published[value]}, written=value)
        return found
    if isinstance(value, Mapping) and "config" in value and set(value) <= set(MODEL_FIELDS):
        config = Config(value["config"])
        check_json(config.values, config.field)
        architecture = read_config(config)
        name = value.get("name", f"{architecture.family} from its config")
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise ScenarioError("model.name", f"must be a text of at most {LONGEST_NAME} characters, not {name!r:.60}")
        return ReadModel("", name, architecture, architecture.context_tokens, config=config.values, written="")
    known = 'a catalogue id, a Hugging Face repository name, or {"config": {...}}'
    raise ScenarioError("model", f"must be {known}" if value is not None else f"is missing: give {known}")


def check_json(value: object, field: str, level: int = 0) -> None:
    """Raise ScenarioError, by path, for what no JSON text says: numbers without end, and nesting without need."""
    if level == MOST_LEVELS:
        raise ScenarioError(field, f"nests deeper than {MOST_LEVELS} levels")
    if isinstance(value, float) and not isfinite(value):
        raise ScenarioError(field, f"must be a finite number, not {value}")
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        check_json(item, f"{field}.{key}", level + 1)


def known_architecture(catalog: Catalog, model_id: str) -> Architecture:
    """Return the architecture of a catalogue model, read once for each loaded catalogue."""
    architecture = catalog.derived.get(model_id)
    if not isinstance(architecture, Architecture):
        architecture = catalog.derived[model_id] = read_config(Config(catalog.model(model_id).config))
    return architecture


def check_models(catalog: Catalog) -> None:
    """Check that every config describes a known architecture; raises CatalogError with file, entry and field."""
    problems = []
    for model_id in catalog.ids("models"):
        try:
            architecture = known_architecture(catalog, model_id)
            model = catalog.model(model_id)
            for config in (model.config, *({**model.config, **other} for other in model.published.values())):
                published_format(config, architecture, catalog.number_format)
        except ScenarioError as error:
            field = error.field.removeprefix("model.")
            problems.append(f"{file_of('models', model_id)}: [{model_id}].{field}: {error.message}")
    if problems:
        raise CatalogError(problems)


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
        return chosen_weights(value, model, catalog)
    if stored is None:
        raise ScenarioError("weights", "are only stored in a file for a model that was read from one; choose a format")
    return stored, None


def chosen_weights(value: object, model: ReadModel, catalog: Catalog) -> tuple[ModelFormat, int | None]:
    """Return what a scenario's `weights` means for a model, and the group size that replaces the format's own."""
    if value == PUBLISHED:
        return known_published(model, catalog), None
    return read_format(value, "weights", catalog)


def known_published(model: ReadModel, catalog: Catalog) -> ModelFormat:
    """Return what a model is published in, worked out once for each of the catalogue."""
    if not model.written:
        return published_format(model.config, model.architecture, catalog.number_format)
    key = f"published {model.written}"
    if key not in catalog.derived:
        catalog.derived[key] = published_format(model.config, model.architecture, catalog.number_format)
    return catalog.derived[key]  # type: ignore[return-value]


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
        if not isinstance(value["importance_matrix"], bool):
            message = f"must be true or false, not {value['importance_matrix']!r:.60}"
            raise ScenarioError(f"{field}.importance_matrix", message)
        return mixture._replace(importance_matrix=value["importance_matrix"]), None
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


def read_tokens(reader: Reader) -> tuple[int, int]:
    """Return prompt and output tokens of a sequence, from either of them, from their sum, or from the defaults."""
    whole_context = reader.given.get("context_tokens")
    if whole_context is None:
        prompt = reader.count("prompt_tokens", default=PROMPT_TOKENS)
        output = reader.count("output_tokens", least=0, default=OUTPUT_TOKENS)
        reader.filled["context_tokens"] = prompt + output
        return prompt, output
    context = reader.count("context_tokens")
    if "prompt_tokens" in reader.given:
        prompt = reader.count("prompt_tokens", most=context)
        output = reader.count("output_tokens", least=0, default=context - prompt)
    else:
        output = reader.count("output_tokens", least=0, most=context - 1, default=min(OUTPUT_TOKENS, context // 2))
        prompt = reader.count("prompt_tokens", default=context - output)
    if prompt + output != context:
        message = f"is the whole of prompt and output: {prompt:,} + {output:,} are not {context:,}"
        raise ScenarioError("context_tokens", message)
    return prompt, output


def read_layout(reader: Reader) -> tuple[Layout | None, int | None]:
    """Return the layout and the number of devices that a scenario asks for, None where it leaves them open."""
    given = reader.given.get("parallelism")
    devices = reader.count("accelerators", most=MOST_DEGREE) if "accelerators" in reader.given else None
    if devices is None and given is None and (named := named_count(reader)):
        devices = whole(named, "accelerator", 1, MOST_DEGREE)
    if given is None:
        return (None, devices) if devices else (Layout(), 1)
    if not isinstance(given, Mapping):
        raise ScenarioError("parallelism", f"must be an object with {', '.join(DEGREES)}, not {given!r:.60}")
    for name in given:
        if name not in DEGREES:
            hint = nearest(str(name), DEGREES)
            raise ScenarioError(
                f"parallelism.{name}", f"is not a kind of parallelism{hint}; kinds are {', '.join(DEGREES)}"
            )
    degrees = {
        name: whole(given.get(name, 1), f"parallelism.{name}", 1, MOST_DEGREE, instead=(1, 2)) for name in DEGREES
    }
    layout = Layout(**degrees)
    if devices is not None and devices != layout.devices:
        product = f"{layout.tensor} × {layout.pipeline} × {layout.data} × {layout.context} = {layout.devices}"
        others = layout.devices // layout.data
        works = f"; data {devices // others} makes {devices}" if devices % others == 0 else f"; {layout.devices} works"
        raise ScenarioError("accelerators", f"is {devices}, and tensor × pipeline × data × context is {product}{works}")
    return layout, layout.devices


def read_engine(
    reader: Reader, catalog: Catalog, weights: Weights, architecture: Architecture
) -> tuple[Engine | None, float | None]:
    """Return the engine, None for none, and the share of the device that it is given."""
    name = reader.take("engine")
    if name == USUAL:
        device = catalog.accelerator(str(reader.given["accelerator"])) if "accelerator" in reader.given else None
        engine = usual_engine(facts=catalog, device=device, weights=weights, architecture=architecture)
        name = engine.id if engine else "none"
        if any(field in reader.given for field in OF_HOST):
            name = HOST_ENGINE
        reader.filled["engine"] = name
    if isinstance(name, str) and (known := catalog.lookup("engines", name)):
        name = reader.filled["engine"] = known
    if name not in ENGINES:
        hint = nearest(str(name), ENGINES)
        message = f"must be one of {', '.join(ENGINES)}, not {name!r:.60}{hint}"
        raise ScenarioError("engine", message, instead=ENGINES)
    share = reader.given.get("memory_fraction")
    if share is None:
        return (None if name == "none" else catalog.engine(str(name))), None
    if name not in SHARING_ENGINES:
        raise ScenarioError(
            "memory_fraction", f"does not apply: {name} takes no share of the device; {', '.join(SHARING_ENGINES)} do"
        )
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ScenarioError("memory_fraction", f"must be above 0 and at most 1, not {share!r:.60}")
    reader.filled["memory_fraction"] = share
    return catalog.engine(str(name)), float(share)


def newest(engine: Engine) -> Engine:
    """Return an engine in the newest era that was measured, which most scenarios ask for: it is made once."""
    known = catalog().derived
    found = known.get(f"newest {engine.id}")
    if not isinstance(found, Engine):
        found = known[f"newest {engine.id}"] = engine.of_version()
    return found


def in_version(reader: Reader, engine: Engine | None) -> Engine | None:
    """Return an engine in the era of the version that the scenario asks for, else in the newest that was measured."""
    version = reader.given.get("engine_version")
    if engine is None:
        if version is not None:
            raise ScenarioError("engine_version", "does not apply: no engine is asked for")
        return None
    if version is not None and (not isinstance(version, str) or not version_numbers(version) or len(version) > 40):
        raise ScenarioError("engine_version", f'must be a version such as "0.10.2" or "b4000", not {version!r:.60}')
    found = engine.of_version(version) if isinstance(version, str) else newest(engine)
    if version is None:
        reader.defaults.append("engine_version")
    reader.filled["engine_version"] = version or next((era.first for era in found.eras if era.id == found.era), None)
    return found


def read_concurrency(reader: Reader, engine: Engine | None) -> int | None:
    """Return the requests that are in a server at a time, None where a scenario asks for sequences held at once."""
    if "concurrency" not in reader.given:
        return None
    if engine is None:
        raise ScenarioError("concurrency", "does not apply: no engine is asked for that would serve requests")
    if "sequences" in reader.given:
        raise ScenarioError("concurrency", "is in place of sequences: give one of the two")
    return reader.count("concurrency")


def read_slots(reader: Reader, engine: Engine | None) -> int | None:
    """Return the sequences that an engine is set up for, None for its own number."""
    if "sequence_slots" not in reader.given:
        return None
    if engine is None:
        raise ScenarioError("sequence_slots", "does not apply: no engine is asked for")
    return reader.count("sequence_slots")


def read_price(reader: Reader, field: str) -> float | None:
    """Return a price of the reader's own in US dollars, None where the catalogue's is asked for."""
    value = reader.given.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_PRICE:
        raise ScenarioError(field, f"must be a number from 0 to {MOST_PRICE:,}, not {value!r:.60}")
    reader.filled[field] = value
    return float(value)


def read_accelerator(reader: Reader, catalog: Catalog) -> Accelerator | None:
    """Return the accelerator with what a program may use of it, None where the scenario names none."""
    value = reader.given.get("accelerator")
    if value is None:
        for name, asked in OF_ACCELERATOR.items():
            if reader.given.get(name):
                raise ScenarioError(name, f"needs an accelerator: {asked}?")
        return None
    if not isinstance(value, str):
        raise ScenarioError("accelerator", f"must be a catalogue id or a market name, not {value!r:.60}")
    accelerator = catalog.accelerator(value)
    reader.filled["accelerator"] = accelerator.id
    return limited(reader, plugged(reader, accelerator, catalog), catalog)


def plugged(reader: Reader, accelerator: Accelerator, catalog: Catalog) -> Accelerator:
    """Return a device on the PCIe that a scenario gives it, of which it uses no more than it has itself."""
    value = reader.given.get("pcie")
    if value is None:
        return accelerator
    found = PCIE.fullmatch(value.casefold().strip()) if isinstance(value, str) else None
    own = PCIE.fullmatch(accelerator.text("pcie"))
    if found is None or not catalog.lookup("links", f"pcie-{found[1]}-x{found[2]}"):
        known = ", ".join(
            link.id.removeprefix("pcie-").replace("-", ".0 ") for link in catalog.links() if link.kind == "host"
        )
        raise ScenarioError("pcie", f"must be a generation and lanes, one of {known}, not {value!r:.60}")
    if own is None and accelerator.segment == "soc":
        raise ScenarioError("pcie", f"does not apply: {accelerator.name} is no card")
    least = [min(int(asked), int(has)) for asked, has in zip(found.groups(), (own or found).groups(), strict=True)]
    reader.filled["pcie"] = f"{found[1]}.0 x{found[2]}"
    return accelerator.on_pcie(f"{least[0]}.0 x{least[1]}")


def limited(reader: Reader, accelerator: Accelerator, catalog: Catalog) -> Accelerator:
    """Return a device with as much memory as the scenario leaves to programs: a limit, and less where a display is."""
    size, whole_memory = None, int(accelerator.facts["memory"].value)
    if "memory_limit" in reader.given:
        size = read_size(reader.given["memory_limit"], "memory_limit")
        if size > whole_memory:
            message = (
                f"must not be more than the {show_gib(whole_memory)} of {accelerator.name}, as {show_gib(size)} is"
            )
            raise ScenarioError("memory_limit", message)
        reader.filled["memory_limit"] = size
    display = reader.given.get("display", False)
    if not isinstance(display, bool):
        raise ScenarioError("display", f"must be true or false, not {display!r:.60}")
    if display:
        reader.filled["display"] = True
        taken = catalog.coefficient("display")
        size = max((accelerator.capacity_bytes if size is None else size) - round(taken.value), 0)
    return accelerator if size is None else accelerator.limited_to(size, accelerator.memory_fact.source)


def read_size(value: object, field: str) -> int:
    """Return bytes from a whole number of them, or from a text such as "48 GiB" or "48GB"."""
    if isinstance(value, str):
        found = SIZE.fullmatch(value.strip().casefold())
        if found is None or found[2] not in SIZE_UNITS:
            raise ScenarioError(field, f'must be bytes, or a text such as "48 GiB", not {value!r:.60}')
        value = round(float(found[1]) * SIZE_UNITS[found[2]])
    return whole(value, field, 2**20, 2**50)


def read_rate(value: object, field: str) -> int:
    """Return bytes a second from a number of them, or from a text such as "80 GB/s"."""
    if isinstance(value, str):
        found = RATE.fullmatch(value.strip().casefold())
        if found is None:
            raise ScenarioError(field, f'must be bytes a second, or a text such as "80 GB/s", not {value!r:.60}')
        value = round(float(found[1]) * {"g": 10**9, "t": 10**12}[found[2]])
    return whole(value, field, LEAST_RATE, MOST_RATE)


def named_count(reader: Reader) -> int | None:
    """Return the devices that an accelerator's name counts, as in "2x RTX 3090"."""
    name = reader.given.get("accelerator")
    if not isinstance(name, str) or (name[:1].isalpha() and " x" not in name.casefold()):
        return None
    from calc.catalog.market_names import count_in  # names without a number need it not

    return count_in(name)


def name_doubts(reader: Reader, catalog: Catalog, devices: int) -> list[Warn]:
    """Return what the names of model and accelerator leave open; ids leave nothing."""
    found = []
    model, name = reader.given.get("model"), reader.given.get("accelerator")
    if isinstance(model, str):
        found += model_doubts(model, reader, catalog)
    if isinstance(name, str) and name != reader.filled.get("accelerator"):
        from calc.catalog.market_names import doubts  # ids need it not

        found += doubts(name, devices, catalog)
    return found


def model_doubts(name: str, reader: Reader, catalog: Catalog) -> list[Warn]:
    """Return what was taken of a repository's name: which model it holds, and in which number format."""
    said, copy = catalog.named_format(name), catalog.copied(name)
    by_name = said is not None and said.weights is not None and reader.given.get("weights") in (None, PUBLISHED)
    form = f"{shown_weights(said.weights)}, as {said.why} in its name says" if said and by_name else ""
    if copy is not None:
        message = f"{name:.80} is taken as a copy of {catalog.model(copy.id).name}, in "
        return [Warn("model-copied", message + (form or "the format that the scenario says"), "model", INFO)]
    read = None if by_name else catalog.read_model_name(name)
    if read is not None:
        message = f"{name:.80} is taken as {catalog.model(read.id).name}"
        if read.others:
            names = [catalog.model(other).name for other in read.others[:MOST_NAMED]]
            more = f" and {len(read.others) - MOST_NAMED} more" if len(read.others) > MOST_NAMED else ""
            message += f"; it may be any of {', '.join(names)}{more}"
        return [Warn("model-ambiguous", message, "model", INFO)]
    return [Warn("format-by-name", f"{name:.80} is taken in {form}", "weights", INFO)] if by_name else []


def shown_weights(value: object) -> str:
    """Return what a scenario's `weights` says in a few words."""
    if isinstance(value, Mapping) and "bits_per_weight" in value:
        return f"{value['bits_per_weight']:g} bits per weight"
    return str(value)
