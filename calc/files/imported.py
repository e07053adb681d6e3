"""Models that readers bring: what their files together say of one model, and the scenario's `model` made of it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from calc.architecture.layers import Architecture
from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.files.config_json import MOST_BYTES, MOST_KEYS, architecture_of, language_part, needed
from calc.files.gguf import MAGIC, OLDER, Gguf, read_gguf
from calc.files.gguf_config import config_of
from calc.files.head import FIELD, FIRST_BYTES, NeedMore, refused
from calc.files.json_text import read_json
from calc.files.safetensors import Index, read_index, read_safetensors, shard_of
from calc.files.tensors import Inventory, StoredBytes, StoredTensor, inventory
from calc.memory.module_rules import condensed
from calc.memory.published_formats import published_format, quantization_of, stated_type
from calc.units import show_count, show_decimal

MOST_FILES = 1000
MOST_JSON = 16 * 2**20  # an index of 140,000 tensors has 14 MB
MOST_TOGETHER = 256 * 2**20  # bytes of all headers
LONGEST_NAME = 80
ROTARY = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")  # in no config's parameters
CHECKPOINTS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x04", b"\x89HDF")


class BroughtFile(NamedTuple):
    """A file that a reader brings, as far as it was read; one without a name is text that was pasted."""

    name: str
    size_bytes: int
    data: bytes


class NeedMoreOfFiles(Exception):  # noqa: N818 (a request, not an error)
    """Some headers go on: `wanted_bytes` says how much is needed from the beginning of each file."""

    def __init__(self, wanted_bytes: list[int]) -> None:
        super().__init__("more of the files is needed")
        self.wanted_bytes = wanted_bytes


class IncompleteError(ScenarioError):
    """What was brought can be used together with further files."""


class Contents(NamedTuple):
    """What was found in files, by kind, each with the name of its file."""

    ggufs: list[tuple[str, Gguf]]
    shards: list[tuple[str, tuple[StoredTensor, ...]]]
    configs: list[tuple[str, dict[str, object]]]
    indexes: list[tuple[str, Index]]


class ImportedModel(NamedTuple):
    """A model as a scenario names it, and a sentence on what was read."""

    model: dict[str, object]
    sentence: str


def read_model_files(files: Sequence[BroughtFile]) -> ImportedModel:
    """Return the model that files describe: GGUF files, safetensors files with their config.json, or a config.json.

    Raises NeedMoreOfFiles until enough of each is there, and ScenarioError for files that cannot be used, by name.
    """
    contents = read_all(files)
    if len(contents.configs) > 1 or len(contents.indexes) > 1 or (contents.ggufs and contents.shards):
        raise refused("These files belong to several models; bring those of one at a time")
    if contents.ggufs:
        check_parts([(name, gguf.split) for name, gguf in contents.ggufs])
        return gguf_model(contents)
    check_parts([(name, shard_of(name)) for name, _ in contents.shards])
    if contents.configs:
        return config_model(contents)
    raise IncompleteError(FIELD, without_config(contents))


def read_all(files: Sequence[BroughtFile]) -> Contents:
    """Return what is in each file."""
    if not files or len(files) > MOST_FILES:
        raise refused("Bring at least one file" if not files else f"Bring at most {MOST_FILES:,} files at a time")
    contents = Contents([], [], [], [])
    wanted = []
    for file in files:
        try:
            read_one(file, contents)
            wanted.append(len(file.data))
        except NeedMore as more:
            wanted.append(more.wanted_bytes)
        except ScenarioError as error:
            raise refused(f"{file.name or 'The text'} {error.message}") from None
    if sum(wanted) > MOST_TOGETHER:
        raise refused("These files have more header than any model: bring fewer at a time")
    if wanted != [len(file.data) for file in files]:
        raise NeedMoreOfFiles(wanted)
    return contents


def read_one(file: BroughtFile, contents: Contents) -> None:
    """Add to `contents` what a file holds; what it is, its first bytes say, not its name."""
    data, size = file.data, file.size_bytes
    if size == 0:
        raise refused("is empty")
    if len(data) < min(FIRST_BYTES, size):
        raise NeedMore(min(FIRST_BYTES, size))
    if data[:4] in (MAGIC, *OLDER) or file.name.endswith(".gguf"):
        contents.ggufs.append((file.name, read_gguf(data, size)))
    elif data.startswith(CHECKPOINTS):
        raise refused("is a checkpoint in a format that runs code when it is opened; bring its safetensors instead")
    elif data[8:9] == b"{" or file.name.endswith(".safetensors"):
        contents.shards.append((file.name, read_safetensors(data, size)))
    else:
        read_json_file(file, contents)


def read_json_file(file: BroughtFile, contents: Contents) -> None:
    """Add a config or an index to `contents`."""
    if file.data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b""):
        raise refused("is neither a config.json nor a GGUF or safetensors file")
    if file.size_bytes > MOST_JSON:
        raise refused(f"has {show_decimal(file.size_bytes)}, more than any config.json")
    if len(file.data) < file.size_bytes:
        raise NeedMore(file.size_bytes)
    if file.size_bytes > MOST_BYTES and b'"weight_map"' not in file.data:
        raise refused(f"has {show_count(file.size_bytes)} bytes, more than any config.json")
    value = read_json(file.data, FIELD)
    if not isinstance(value, dict):
        raise refused("is not a config.json: that is an object in braces")
    if "weight_map" in value:
        contents.indexes.append((file.name, read_index(value)))
    elif file.size_bytes > MOST_BYTES or len(value) > MOST_KEYS:
        raise refused(f"has {show_count(len(value))} keys, more than any config.json")
    else:
        contents.configs.append((file.name, value))


def check_parts(parts: Sequence[tuple[str, tuple[int, int]]]) -> None:
    """Raise unless the files are all parts of one model, each once."""
    counts = {count for _, (_, count) in parts}
    numbers = [number for _, (number, _) in parts]
    if len(counts) > 1 or len(set(numbers)) != len(numbers):
        raise refused("These files belong to several models; bring those of one at a time")
    missing = sorted(set(range(1, min(max(counts, default=0), MOST_FILES) + 1)) - set(numbers))
    if missing:
        shown = ", ".join(str(number) for number in missing[:8]) + (" …" if len(missing) > 8 else "")
        whole = f"{parts[0][0]} is part {numbers[0]} of {max(counts)}" if len(parts) == 1 else "Parts are missing"
        raise IncompleteError(FIELD, f"{whole}: bring all parts together; missing are {shown}")


def without_config(contents: Contents) -> str:
    """Return what to say of tensors that come without a config."""
    if contents.indexes and not contents.shards:
        name, index = contents.indexes[0]
        size = f" of {show_decimal(index.total_bytes)}" if index.total_bytes else ""
        return (
            f"{name or 'The text'} lists {show_count(index.tensors)} tensors{size} in {len(index.files)} files: bring "
            "the model's config.json together with it, and those files for the size of each tensor"
        )
    tensors = [tensor for _, shard in contents.shards for tensor in shard]
    total = show_decimal(sum(tensor.bytes for tensor in tensors))
    return (
        f"{contents.shards[0][0]} holds {show_count(len(tensors))} tensors of {total}, and does not say how they work "
        "together: bring the model's config.json together with it"
    )


def gguf_model(contents: Contents) -> ImportedModel:
    """Return the model of GGUF files; a config.json beside them is taken at its word."""
    files = [gguf for _, gguf in sorted(contents.ggufs, key=lambda named: named[1].split)]
    name = contents.ggufs[0][0]
    try:
        config = language_part(contents.configs[0][1])[0] if contents.configs else config_of(files)
        architecture = architecture_of(config)
    except ScenarioError as error:
        raise refused(f"{name} {error.message}") from None
    found = inventory([tensor for gguf in files for tensor in gguf.tensors], architecture.layer_count)
    extra = sum(t.elements for gguf in files for t in gguf.tensors if t.name in ROTARY)
    parameters = parameters_total(architecture)
    if abs(found.elements - extra - parameters) > parameters // 50:
        message = f"its tensors have {show_count(found.elements)} elements, and its metadata describe a model of"
        raise refused(f"{name} is not modelled: {message} {show_count(parameters)}")
    title = files[0].metadata.get("general.name")
    return imported(
        title if isinstance(title, str) else "", [name for name, _ in contents.ggufs], config, architecture, found=found
    )


def config_model(contents: Contents) -> ImportedModel:
    """Return the model of a config.json, with the sizes of its tensors where safetensors files or an index come too."""
    name, given = contents.configs[0]
    try:
        config, partly = language_part(given)
        architecture = architecture_of(config)
    except ScenarioError as error:
        raise refused(f"{name or 'The text'} {error.message}") from None
    names = [name or "the text", *(name for name, _ in contents.shards), *(name for name, _ in contents.indexes)]
    found = None
    if contents.shards:
        found = inventory([tensor for _, shard in contents.shards for tensor in shard], architecture.layer_count)
    elif contents.indexes and contents.indexes[0][1].total_bytes:
        found = Inventory(spread(contents.indexes[0][1].total_bytes, architecture), 0, 0, {})
    if found is not None and not 1 <= 8 * found.stored.total / parameters_total(architecture) <= 40:
        size, count = show_decimal(found.stored.total), show_count(parameters_total(architecture))
        raise refused(f"{names[0]} describes {count} parameters, and the tensors have {size}: they are of two models")
    title = given.get("_name_or_path") or given.get("architectures") or given.get("model_type")
    title = title[0] if isinstance(title, list) and title else title
    title = title.rstrip("/").rpartition("/")[2] if isinstance(title, str) else ""
    result = imported(title, names, config, architecture, found=found)
    if found is None:
        result = as_published(result, given, architecture)
    note = " Its towers that see or hear are left out: the language model is modelled alone." if partly else ""
    return result._replace(sentence=result.sentence + note)


def as_published(model: ImportedModel, given: Mapping[str, object], architecture: Architecture) -> ImportedModel:
    """Return a model with what its whole config says of the format of its weights, which no tensors tell."""
    stated: dict[str, object] = {}
    if kind := stated_type(given):
        stated["torch_dtype"] = kind
    if quantization := quantization_of(given):
        stated["quantization_config"] = condensed(quantization)
    try:
        weights = published_format(stated, architecture, catalog().number_format)
    except ScenarioError as error:
        return model._replace(sentence=f"{model.sentence} Of its weights nothing is known: {error.message}.")
    config: dict[str, object] = {**model.model["config"], **stated}  # type: ignore[dict-item]
    sentence = f"{model.sentence} Its weights are in {weights.name}." if stated else model.sentence
    return model._replace(model={**model.model, "config": config}, sentence=sentence)


def spread(total: int, architecture: Architecture) -> StoredBytes:
    """Return a model's bytes by place where only their sum is known: as many for each parameter."""
    parameters = parameters_total(architecture)
    embeddings = total * sum(tensor.elements for tensor in architecture.embeddings) // parameters
    head = total * sum(tensor.elements for tensor in architecture.head) // parameters
    return StoredBytes(embeddings, total - embeddings - head, head)


def imported(
    title: str, names: list[str], config: Mapping[str, object], architecture: Architecture, found: Inventory | None
) -> ImportedModel:
    """Return the scenario's model, with the keys of the config that it needs, and a sentence on it."""
    kept = needed(config)
    title = " ".join(title.replace("\x00", "").split())[:LONGEST_NAME] or names[0][:LONGEST_NAME]
    model: dict[str, object] = {"name": title, "config": kept}
    files = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    sentence = f"Read {files}: {architecture.family}, {show_count(parameters_total(architecture))} parameters."
    if found is not None:
        model["stored_bytes"] = found.stored._asdict()
        formats = sorted(found.bytes_by_format.items(), key=lambda item: -item[1])
        listed = ", ".join(f"{name} {show_decimal(size)}" for name, size in formats[:4])
        more = f", and {len(formats) - 4} more" if len(formats) > 4 else ""
        of = f" ({listed}{more})" if listed else ""
        sentence += f" Its tensors have {show_decimal(found.stored.total)}{of}."
        if found.unused_bytes:
            sentence += f" {show_decimal(found.unused_bytes)} of layers that predict further tokens are not counted."
    return ImportedModel(model, sentence)
