"""From a `config.json`, or a folder with one, to a model's entry in the catalogue."""

import datetime
import json
import re
from collections.abc import Mapping
from pathlib import Path

from calc.architecture.config import Config
from calc.architecture.families import read_config
from calc.architecture.parameters import parameters_total
from calc.catalog import catalog
from calc.catalog.checking.configs import COUNTS
from calc.catalog.entries import DATA
from calc.files.config_json import needed
from calc.files.json_text import read_json
from calc.maintenance.toml_text import append, table_text

# Kept of a config beside what its shape follows from: what says how weights are stored, and how long a text may be.
KEPT = (
    "architectures",
    "model_type",
    "dtype",
    "torch_dtype",
    "quantization_config",
    "max_position_embeddings",
    "rope_scaling",
    "sliding_window",
    "tie_word_embeddings",
    "tie_embedding",
    "num_nextn_predict_layers",
    "mtp_num_hidden_layers",
    "num_mtp_modules",
)
NESTED = ("text_config", "vision_config", "audio_config")
CONTEXT = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "max_seq_len")


def shape_of(config: Mapping[str, object]) -> dict[str, object]:
    """Return what the catalogue keeps of a config: what the shape follows from, and what `KEPT` names.

    Raises ScenarioError for a family that is not modelled and for a value that is missing or impossible.
    """
    read_config(Config(config))
    kept = {**needed(config), **{key: config[key] for key in KEPT if config.get(key) is not None}}
    for name in NESTED:
        inner = config.get(name)
        if isinstance(inner, Mapping) and isinstance(kept.get(name), Mapping):
            extra = {key: inner[key] for key in KEPT if inner.get(key) is not None}
            kept[name] = {**kept[name], **extra}  # type: ignore[dict-item]
    return dict(sorted(kept.items(), key=lambda item: (isinstance(item[1], Mapping), item[0])))


def context_of(config: Mapping[str, object]) -> int:
    """Return the positions that a config allows for, of its language model where it nests one; 0 if it does not say."""
    text = config.get("text_config")
    for values in (text, config):
        if isinstance(values, Mapping):
            for key in CONTEXT:
                if isinstance(found := values.get(key), int) and found > 0:
                    return found
    return 0


def read_folder(path: Path) -> tuple[dict[str, object], int]:
    """Return the config at `path`, and the bytes of weights that an index beside it states, 0 where none does."""
    folder = path if path.is_dir() else path.parent
    config = read_json((path / "config.json" if path.is_dir() else path).read_bytes(), "config.json")
    index = folder / "model.safetensors.index.json"
    stated = json.loads(index.read_text())["metadata"].get("total_size", 0) if path.is_dir() and index.exists() else 0
    return config, int(stated)


def id_of(name: str) -> str:
    """Return the id of a repository's name.

    >>> id_of("Qwen/Qwen3.5-2B")
    'qwen3.5-2b'
    """
    return re.sub(r"[^a-z0-9.+-]+", "-", name.rpartition("/")[2].casefold()).strip("-")


def entry_of(config: Mapping[str, object], repository: str, **known: object) -> dict[str, object]:
    """Return an entry with all that can be read; `known` is what a config does not say and the caller knows.

    When a model was released is among that: a loader refuses an entry that does not say.
    """
    head: dict[str, object] = {
        "name": repository.rpartition("/")[2].replace("-", " "),
        "repositories": [repository],
        "aliases": [],
        "organization": repository.partition("/")[0],
        "licence": "not stated",
        "gated": False,
        "context_tokens": context_of(config) or 512,
        "source": f"https://huggingface.co/{repository}/blob/main/config.json",
        "checked": datetime.date.today(),
    }
    return {**head, **{key: value for key, value in known.items() if value}, "config": shape_of(config)}


def file_for(config: Mapping[str, object], folder: Path = DATA) -> Path:
    """Return the file in which most models of this family stand, or a new one named after it."""
    family = str(config.get("model_type", ""))
    line = re.compile(rf'^model_type = "{re.escape(family)}"$', re.MULTILINE)
    counts = {path: len(line.findall(path.read_text(encoding="utf-8"))) for path in (folder / "models").glob("*.toml")}
    most = max(sorted(counts), key=counts.__getitem__, default=None)
    return most if most and counts[most] else folder / "models" / f"{family.replace('_', '-').casefold()}.toml"


def of_same_shape(config: Mapping[str, object]) -> str:
    """Return the name of a model of the catalogue that has a config's shape, empty where none has."""
    family = [model for model in catalog().models() if model.config.get("model_type") == config.get("model_type")]
    return next((model.name for model in family if needed(dict(model.config)) == needed(config)), "")


def add(path: Path, repository: str, known: Mapping[str, str], folder: Path = DATA) -> str:
    """Write the entry of the model at `path` into its family's file; return what was written and what it computes.

    `known` has more of the entry, and `parameters`, the count that each build compares. Raises ValueError
    where the catalogue has the model, and ScenarioError or CatalogError where its config is not sound.
    """
    config, stated = read_folder(path)
    found = catalog().listed_model(repository)
    if found is not None:
        raise ValueError(f"{repository} is in the catalogue, as {found}")
    total, counted = parameters_total(read_config(Config(config))), int(known.get("parameters", 0))
    if counted and counted != total:
        raise ValueError(f"{repository} has {counted:,} parameters by its maker, and {total:,} by calc")
    more = {key: value for key, value in known.items() if key != "parameters"}
    entry_id, target = id_of(repository), file_for(config, folder)
    append(target, table_text([entry_id], entry_of(config, repository, **more)), folder)
    lines = [f"{entry_id} stands in {target.name} now: {total:,} parameters"]
    if twin := of_same_shape(config):
        lines.append(
            f"{twin} has the same shape: where this is a finetune of it, its place is among the finetunes there"
        )
    if stated:
        lines.append(f"the weights beside it have {stated:,} bytes, {8 * stated / total:.2f} bits a parameter")
    if counted and folder == DATA:
        counts = json.loads(COUNTS.read_text(encoding="utf-8"))
        counts[entry_id] = {"total": total, "safetensors": repository}
        COUNTS.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    elif not counted:
        lines.append(f"put its maker's count into measurements/{COUNTS.name}, or say parameters=COUNT next time")
    return "\n".join(lines)
