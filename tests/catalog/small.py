"""Sound entries of a small catalogue, which tests break, and a built copy's catalogue."""

from collections.abc import Callable, Mapping

from calc.catalog import Catalog
from calc.catalog.carried import KeptTables
from calc.catalog.entries import Entry

GOOD = """
[good]
name = "Good"
aliases = []
vendor = "NVIDIA"
segment = "data-center"
architecture = "Ada"
released = "2022-10"
availability = "used"
source = "ieee-754"
checked = 2026-11-21
form = { value = "PCIe" }
memory = { value = 24, unit = "GiB", basis = "advertised" }
bandwidth = { value = 1008, unit = "GB/s", basis = "peak" }
bf16 = { value = 165.2, unit = "TFLOPS", basis = "dense" }
"""
MODEL = """
[tiny]
name = "Tiny"
repositories = []
aliases = []
organization = "Us"
licence = "MIT"
released = "2026"
gated = false
context_tokens = 2048
source = "https://example.org/config.json"
checked = 2026-11-21
[tiny.config]
model_type = "llama"
"""


def built_catalog(packed: bytes, finetunes: Callable[[], Mapping[str, Entry]] | None = None) -> Catalog:
    """Return the catalogue of a built copy of the package that carries what was packed."""
    tables = KeptTables(packed)
    return Catalog(tables, tables.version, finetunes)
