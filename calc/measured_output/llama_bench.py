"""What `llama-bench` prints: a table, or with `-o json` an array. Prompts and answers are measured apart."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from calc.catalog import Catalog
from calc.measured_output.names import count_of, described_model, device_fields, file_model, file_type
from calc.measured_run.terms import Reading
from calc.units import GIB, MIB

TEST = re.compile(r"(pp|tg)\s?(\d+)(?:\s*@\s*d(\d+))?$")
RATE = re.compile(r"([\d.]+)")
DEVICES = (
    re.compile(r"Device \d+: (.+?), (?:compute capability|gfx)"),
    re.compile(r"ggml_vulkan: \d+ = (.+?)(?: \(.*)? \|"),
    re.compile(r"GPU name:\s+(.+)"),
)
BUILD = re.compile(r"build: [0-9a-f]{7,40} \((\d+)\)")
WHAT = "llama-bench"
ALL_LAYERS = 99  # what people give for as many as there are
BACKENDS = {"cuda": "cuda", "rocm": "rocm", "vulkan": "vulkan", "sycl": "sycl", "metal": "metal", "mtl": "metal"}


class Row(NamedTuple):
    """One test: what it ran, with which settings, and its rate."""

    model: str
    size_bytes: float | None
    parameters: float | None
    settings: dict[str, str]  # by the columns' names
    kind: str  # pp or tg
    tokens: int
    depth: int
    rate: float

    @property
    def setup(self) -> tuple[object, ...]:
        """What rows have in common that belong together."""
        return self.model, tuple(sorted(self.settings.items()))


def read(text: str, catalog: Catalog) -> Reading | None:
    """Return what a table or an array of `llama-bench` says, None where the text has none."""
    rows = list(table_rows(text)) or list(json_rows(text))
    if not rows:
        return None
    first = rows[0]
    mine = [row for row in rows if row.setup == first.setup]
    depth = min(row.depth for row in mine)
    notes = []
    if len(mine) < len(rows):
        notes.append(f"The output has {len({row.setup for row in rows})} settings: the first is taken")
    fields: dict[str, object] = {"engine": "llama.cpp", "sequences": 1, "apart": "yes", "cached_tokens": depth}
    terms: dict[str, float] = {}
    for kind, field, term in (
        ("pp", "prompt_tokens", "prefill_tokens_per_s"),
        ("tg", "output_tokens", "decode_tokens_per_s"),
    ):
        found = next((row for row in mine if row.kind == kind and row.depth == depth), None)
        if found is not None:
            fields[field], terms[term] = found.tokens, found.rate
    if first.size_bytes:
        terms["file_bytes"] = first.size_bytes
    weights = file_type(first.model, catalog)
    if weights:
        fields["weights"] = weights
    named = file_model(text, catalog)
    if first.parameters and not named:
        named, said = described_model(first.model.partition(" ")[0], first.parameters, catalog)
        notes += said
    fields = named | fields
    known, said = device_fields(devices(text, first), catalog)
    fields |= known | settings(first)
    backend = BACKENDS.get(first.settings.get("backend", "").partition(",")[0].casefold())
    if backend and "accelerator" in known:
        fields["backend"] = backend
    if build := BUILD.search(text):
        fields["engine_version"] = f"b{build[1]}"
    return Reading(WHAT, fields, terms, (*notes, *said))


def devices(text: str, row: Row) -> list[str]:
    """Return the names of the devices that a log lists before the table, or the array has in each entry."""
    for pattern in DEVICES:
        if found := pattern.findall(text):
            return [name.strip() for name in found]
    named = row.settings.get("gpu_info", "")
    return [name.strip() for name in named.split(",") if name.strip()]


def settings(row: Row) -> dict[str, object]:
    """Return what columns say beside model and test: layers on the device, attention, cache, micro-batch."""
    found: dict[str, object] = {}
    given = row.settings
    layers = given.get("ngl", "")
    if layers.isdigit() and int(layers) < ALL_LAYERS:
        found["gpu_layers"] = int(layers)
    if given.get("fa") in ("0", "1"):
        found["attention"] = "flash" if given["fa"] == "1" else "eager"
    for column, field in (("type_k", "kv_cache"), ("type_v", "kv_cache_v")):
        if column in given:
            found[field] = {"f16": "fp16", "f32": "fp32"}.get(given[column], given[column])
    if given.get("n_ubatch", "").isdigit():
        found["batched_tokens"] = int(given["n_ubatch"])
    return found


def table_rows(text: str) -> Iterator[Row]:
    """Iterate over the tests of the tables in a text."""
    headings: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "test" in cells and "t/s" in cells:
            headings = cells
        elif headings and len(cells) == len(headings):
            given = dict(zip(headings, cells, strict=True))
            test, rate = TEST.match(given.pop("test")), RATE.match(given.pop("t/s"))
            if test is None or rate is None:
                continue
            size, parameters = given.pop("size", ""), given.pop("params", "")
            yield Row(
                model=given.pop("model", ""),
                size_bytes=size_of(size),
                parameters=count_of(parameters),
                settings=given,
                kind=test[1],
                tokens=int(test[2]),
                depth=int(test[3] or 0),
                rate=float(rate[1]),
            )


def json_rows(text: str) -> Iterator[Row]:
    """Iterate over the tests of an array; prompts and answers in one test are left out."""
    start = text.find("[")
    try:
        entries = json.loads(text[start : text.rfind("]") + 1]) if start >= 0 else []
    except ValueError:
        return
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not {"model_type", "n_prompt", "n_gen", "avg_ts"} <= entry.keys():
            continue
        prompt, output = int(entry["n_prompt"]), int(entry["n_gen"])
        if bool(prompt) == bool(output):
            continue
        names = {"n_gpu_layers": "ngl", "flash_attn": "fa"}
        kept = ("n_gpu_layers", "flash_attn", "type_k", "type_v", "n_ubatch", "gpu_info")
        given = {names.get(key, key): str(entry[key]) for key in kept if key in entry}
        given["fa"] = {"True": "1", "False": "0"}.get(given.get("fa", ""), given.get("fa", ""))
        yield Row(
            model=str(entry["model_type"]),
            size_bytes=float(entry.get("model_size", 0)) or None,
            parameters=float(entry.get("model_n_params", 0)) or None,
            settings=given,
            kind="pp" if prompt else "tg",
            tokens=prompt or output,
            depth=int(entry.get("n_depth", 0)),
            rate=float(entry["avg_ts"]),
        )


def size_of(text: str) -> float | None:
    """Return bytes of a size such as 4.58 GiB, None where there is none."""
    found = re.fullmatch(r"([\d.]+) (GiB|MiB)", text)
    return float(found[1]) * {"GiB": GIB, "MiB": MIB}[found[2]] if found else None
