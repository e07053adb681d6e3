"""What `torch.cuda.memory_summary()` prints: a table of what PyTorch's allocator has and had."""

import re

from calc.catalog import Catalog
from calc.measured_run.terms import Reading
from calc.units import GIB, KIB, MIB, TIB

WHAT = "torch.cuda.memory_summary"
TITLE = "PyTorch CUDA memory summary"
UNITS = {"B": 1, "K": KIB, "M": MIB, "G": GIB, "T": TIB}  # powers of 1,024, however they are written
ROWS = {"allocated_bytes": "Allocated memory", "reserved_bytes": "GPU reserved memory"}


def read(text: str, _catalog: Catalog) -> Reading | None:
    """Return the peaks of the fullest device, None where the text has no such table."""
    if TITLE not in text:
        return None
    terms = {}
    for term, label in ROWS.items():
        peaks = re.findall(rf"\| {label}\s*\|[^|]*\|\s*(\d+) ?([BKMGT])i?B?\s*\|", text)
        if sizes := [int(count) * UNITS[unit] for count, unit in peaks]:
            terms[term] = float(max(sizes))
    devices = len([size for size in re.findall(r"Allocated memory\s*\|[^|]*\|\s*(\d+)", text) if int(size)])
    fields: dict[str, object] = {"engine": "transformers"}
    if devices > 1:
        fields["accelerators"] = devices
    return Reading(WHAT, fields, terms) if any(terms.values()) else None
