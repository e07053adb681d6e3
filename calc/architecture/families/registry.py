"""The registry of model families: which function reads the configs of which `model_type`."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

from calc.architecture.config import Config
from calc.architecture.layers import Architecture
from calc.catalog.timm_names import timm_shape
from calc.errors import listed, nearest

Read = Callable[[Config], Architecture]


TIMM = "timm_wrapper"  # transformers' class around any model of timm


class Family(NamedTuple):
    """How to read a family's configs, and what they leave out because it is the default of the family's class."""

    read: Read
    defaults: Mapping[str, object]


FAMILIES: dict[str, Family] = {}
NETWORKS = "calc.networks"  # more families, which a page fetches when one of them is asked for


def family(*model_types: str, defaults: Mapping[str, object] | None = None) -> Callable[[Read], Read]:
    """Register the function that reads configs of these `model_type`s.

    `defaults` holds what published configs leave out, with the value that transformers' class takes for it. What
    published configs always say has no default here: a config without it is broken, and is refused.
    """

    def register(read: Read) -> Read:
        FAMILIES.update(dict.fromkeys(model_types, Family(read, defaults or {})))
        return read

    return register


def modelled(model_type: str) -> Family | None:
    """Return how the configs of a `model_type` are read; None for one that no family has."""
    if model_type not in FAMILIES:
        import_module(NETWORKS)
    return FAMILIES.get(model_type)


def left_out(config: Config) -> list[str]:
    """Return the keys that a config leaves out and that its family's defaults fill in."""
    found = modelled(config.text("model_type", ""))
    return [name for name in found.defaults if not config.has(name)] if found else []


def read_config(config: Config) -> Architecture:
    """Return the architecture that a config describes.

    Raises ScenarioError for a family that is not modelled, by its name, and for a value that is missing or impossible.
    """
    config = from_timm(config)
    model_type = config.text("model_type", "")
    if not model_type:
        raise config.error("model_type", "is missing: it names the family, as in every config.json")
    found = modelled(model_type)
    if found is None:
        message = f"the family {model_type!r:.60} is not modelled{nearest(model_type, FAMILIES)}"
        raise config.error("model_type", message + f"; modelled are {listed(sorted(FAMILIES))}")
    filled = config.values.get("filled_intermediate_size")
    read = found.read(config.completed(found.defaults))
    return read._replace(tower=tower_shape(config), filled_width=filled if isinstance(filled, int) else 0)


def tower_shape(config: Config) -> tuple[int, int] | None:
    """Return the layers and the width of what sees as its config says; CLIP's where it has other names for them."""
    values = config.values.get("vision_config")
    if not isinstance(values, Mapping) or not values:
        return None
    layers, width = (values.get(name) for name in ("num_hidden_layers", "hidden_size"))
    return (layers if isinstance(layers, int) else 24, width if isinstance(width, int) else 1024)


def from_timm(config: Config) -> Config:
    """Return what transformers would say for a config of timm, which names a shape and how many classes it has."""
    name = config.text("architecture", "") if isinstance(config.values.get("architecture"), str) else ""
    shape = timm_shape(name)
    if shape is None:
        if name and config.text("model_type", TIMM) == TIMM:
            raise config.error("architecture", f"{name!r:.60} is not modelled: of timm's some networks for images are")
        return config
    if not config.has("num_labels") and config.has("num_classes"):
        classes = config.integer("num_classes", least=0, most=2**20)
        shape |= {"architectures": ["ForImageClassification"] if classes else [], "num_labels": classes}
    return config.replaced(shape)
