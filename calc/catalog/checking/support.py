"""Checking what engines run."""

from calc.catalog.checking.check import Check, Rules, with_fields
from calc.catalog.choices import SEGMENTS, VENDORS
from calc.catalog.entries import Entry, Tables
from calc.catalog.support import (
    ABOUT,
    CACHE,
    DIVISION,
    FORMAT,
    GGUF,
    LOADING,
    MAYBE,
    METHOD,
    METHODS,
    MLX,
    NO,
    PACKED,
    PACKED_CACHE,
    REPLICATED,
    STAGED_TENSORS,
    STAGES,
    STATES_ALONE,
    TRAINED_APART,
    TRAINING,
    YES,
)

SUPPORT_RULES: Rules = {
    "engine": (str,),
    "about": (str,),
    "names?": (list,),
    "where?": (list,),
    "kinds?": (list,),
    "families?": (list,),
    "runs": (str,),
    "since?": (str,),
    "before?": (str,),
    "first?": (dict,),
    "because": (str,),
    "source": (str,),
    "checked": (str,),
}


@with_fields(SUPPORT_RULES)
def check_support(check: Check, where: str, entry: Entry, tables: Tables) -> None:
    """Check one fact: that its engine, formats, makers, architectures and segments are in the catalogue."""
    check.choice(f"{where}.engine", entry["engine"], sorted({*tables["engines"], *tables["frameworks"], TRAINING}))
    check.choice(f"{where}.about", entry["about"], ABOUT)
    check.choice(f"{where}.runs", entry["runs"], (YES, NO, MAYBE))
    devices = {str(device.get("architecture")) for device in tables["accelerators"].values()} | set(VENDORS)
    formats = {*tables["number_formats"], GGUF, MLX}
    divisions = {*TRAINED_APART, PACKED, PACKED_CACHE, REPLICATED, STAGED_TENSORS, STAGES, STATES_ALONE}
    known_names = {FORMAT: formats, CACHE: formats, LOADING: formats, DIVISION: divisions, METHOD: set(METHODS)}
    named = known_names.get(str(entry["about"]))
    lists = (("where", devices), ("kinds", set(SEGMENTS)), ("names", named))
    for field, known in lists:
        listed = entry.get(field, [])
        assert isinstance(listed, list)
        for item in listed if known is not None else ():
            check.choice(f"{where}.{field}", item, sorted(known or ()))
