"""What a scenario may mean otherwise than it was read."""

from collections.abc import Mapping

from calc.catalog import Catalog
from calc.derivation import INFO, Warn
from calc.scenario.fields import PUBLISHED
from calc.scenario.reader import Reader

MOST_NAMED = 6  # other models that a name may mean


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
    shown = ""
    if copy is not None:  # a shape that timm has a name for is not that of the entry which it is read with
        shape = (copy.head or {}).get("architecture")
        shown = f"timm's {shape}" if shape else catalog.variant(name) or catalog.model(copy.id).name
    if copy is not None and copy.beside:
        message = f"{name:.80} is taken as {shown}, which its name has beside {copy.beside}; "
        classes = (copy.head or {}).get("num_labels")
        behind = f"with {classes} classes by that name, and words" if classes else "a head or words"
        message += f"{behind} of its own are not counted"
        return [Warn("model-trained-on", message + (f"; it is read in {form}" if form else ""), "model")]
    if copy is not None:
        message = f"{name:.80} is taken as a copy of {shown}, in "
        return [Warn("model-copied", message + (form or "the format that the scenario says"), "model", INFO)]
    read = None if by_name else catalog.read_model_name(name)
    if read is not None:
        message = f"{name:.80} is taken as {read.variant or catalog.model(read.id).name}"
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
