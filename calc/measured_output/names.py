"""What outputs call models, number formats and devices, found in the catalogue."""

import re

from calc.architecture.parameters import parameters_total
from calc.catalog import Catalog
from calc.catalog.records import Model
from calc.errors import ScenarioError
from calc.files.gguf_families import FAMILIES
from calc.scenario.model import known_architecture

# llama.cpp's words for file types: "Q4_K - Medium", "IQ4_XS - 4.25 bpw", "MXFP4 MoE", "all F32".
FILE_TYPE = re.compile(
    r"(?P<type>\b(?:I?Q\d(?:_\w+)*|TQ\d_\d|BF16|F16|F32|MXFP4))(?:[ -]+(?P<size>Small|Medium|Large|MoE))?"
)
BILLION = re.compile(r"(\d+(?:\.\d+)?)\s*([BMT])\b")
POWERS = {"M": 1e6, "B": 1e9, "T": 1e12}
SNAPSHOT = re.compile(r"models--([^/]+?)--([^/]+)/snapshots/[^/]*/?(.*)")
FILE = re.compile(r"(?:-m|--model)[ =]([^\s'\"]+\.gguf)|loaded meta data with .* from ([^\s'\"]+\.gguf)")
NEAR = 0.004  # a count of parameters with three digits


def file_type(text: str, catalog: Catalog) -> str | None:
    """Return the number format that llama.cpp's words stand for, None where the catalogue has none of it."""
    found = FILE_TYPE.search(text)
    if found is None:
        return None
    name = found["type"].casefold()
    ends = {"Small": "_s", "Medium": "_m", "Large": "_l", "MoE": "_moe"}
    names = [name + ends.get(found["size"] or "", ""), name]
    return next((known for one in names if (known := catalog.lookup("mixtures", one))), None)


def repository(path: str) -> str:
    """Return the name of a model by where it lies: of a file the file's, of a folder the last two words of its path.

    >>> repository("/data/hf/Qwen2.5-0.5B/"), repository("/models/unsloth/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf")
    ('Qwen2.5-0.5B', 'Qwen3-8B-Q4_K_M')
    >>> repository("/x/models--meta-llama--Meta-Llama-3.1-8B-Instruct/snapshots/0e9e39f")
    'meta-llama/Meta-Llama-3.1-8B-Instruct'
    """
    if kept := SNAPSHOT.search(path):
        owner, name, file = kept.groups()
        return repository(file) if file.endswith(".gguf") else f"{owner}/{name}"
    bare = path.strip().rstrip("/")
    if bare.endswith(".gguf"):
        return re.sub(r"-\d{5}-of-\d{5}$", "", bare.rpartition("/")[2].removesuffix(".gguf"))
    return bare if re.fullmatch(r"[\w.-]+/[\w.-]+", bare) else bare.rpartition("/")[2]


def model_fields(path: str, catalog: Catalog) -> tuple[dict[str, object], list[str]]:
    """Return the model and number format that a path or name stands for, and what is to be said of them."""
    name = repository(path)
    try:
        model = catalog.model(name)
    except ScenarioError:
        return {}, [f"The catalogue has no model by the name of {name:.80}: choose it"]
    said = catalog.named_format(name)
    fields: dict[str, object] = {"model": catalog.variant(name) or model.id}
    if said is not None and isinstance(said.weights, str):
        fields["weights"] = said.weights
    elif name in model.published:
        fields["model"] = name
    return fields, []


def described_model(words: str, parameters: float, catalog: Catalog) -> tuple[dict[str, object], list[str]]:
    """Return the model that llama.cpp describes by its architecture and its number of parameters.

    >>> from calc.catalog import catalog
    >>> described_model("llama", 8.03e9, catalog())[0]
    {'model': 'llama-3.1-8b'}
    """
    family = FAMILIES.get(words) or FAMILIES.get(words.replace("-", ""))
    if family is None:
        return {}, [f"The architecture {words:.40} is not known: choose the model"]
    kinds = {found.model_type for name, found in FAMILIES.items() if name.partition(":")[0] == words}
    kinds |= {family.model_type, family.model_type.removesuffix("_text")}
    fitting = [model for model in catalog.models() if of_kind(model, kinds) and near(model, parameters, catalog)]
    if not fitting:
        return {}, [f"The catalogue has no {words} of {parameters / 1e9:.3g} billion parameters: choose the model"]

    def order(model: Model) -> tuple[bool, int, str]:  # those made of another model have longer names
        return model.name.casefold().startswith(words[:4]), -len(model.name.split()), model.released

    best = max(fitting, key=order)
    others = len(fitting) - 1
    return {"model": best.id}, [f"{best.name} is taken, and {others} others are of its size"] if others else []


def file_model(text: str, catalog: Catalog) -> dict[str, object]:
    """Return the model by the one GGUF file that a command or a log names; nothing where it names none or several."""
    paths = {next(filter(None, found)) for found in FILE.findall(text)}
    return model_fields(paths.pop(), catalog)[0] if len(paths) == 1 else {}


def of_kind(model: Model, kinds: set[str]) -> bool:
    """Return whether a model's config is of one of these types, in its text part too."""
    inner = model.config.get("text_config")
    types = {model.config.get("model_type"), inner.get("model_type") if isinstance(inner, dict) else None}
    return bool(types & kinds)


def near(model: Model, parameters: float, catalog: Catalog) -> bool:
    """Return whether a model has about so many parameters."""
    return abs(parameters_total(known_architecture(catalog, model.id)) / parameters - 1.0) < NEAR


def count_of(text: str) -> float | None:
    """Return a number of parameters such as 8.03 B, None where there is none."""
    found = BILLION.search(text)
    return float(found[1]) * POWERS[found[2]] if found else None


def device_fields(
    names: list[str], catalog: Catalog, memory: float | None = None
) -> tuple[dict[str, object], list[str]]:
    """Return the devices that an output lists, and what is to be said of them; `memory` tells sizes apart, in bytes."""
    if not names:
        return {}, []
    kinds = list(dict.fromkeys(names))
    name = kinds[0].removesuffix(" Graphics")
    try:
        found = catalog.accelerator(name)
    except ScenarioError:
        return {"accelerators": len(names)}, [f"The catalogue has no device by the name of {name:.60}: choose it"]
    read = catalog.reading(name)
    for other in read.others if read and memory else ():
        alike = catalog.accelerator(other)
        if abs(alike.capacity_bytes - (memory or 0)) < abs(found.capacity_bytes - (memory or 0)):
            found = alike
    said = [f"The devices are not alike: {len(names)} of {name:.60} are taken"] if len(kinds) > 1 else []
    return {"accelerator": found.id, "accelerators": len(names)}, said
