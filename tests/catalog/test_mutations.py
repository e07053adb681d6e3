"""A catalogue with one thing changed to what cannot be is refused, and the entry and field are named."""

import copy
import random
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from calc.catalog.checking.check import Check
from calc.catalog.checking.claims import check_claim, check_term
from calc.catalog.checking.coefficients import bound_of
from calc.catalog.checking.loader import CHECKS, read_file, read_tables
from calc.catalog.checking.runs import check_law, check_run
from calc.catalog.entries import DATA, Entry, Tables
from calc.errors import CatalogError

CHECKED = {**CHECKS, "claims": check_claim, "glossary": check_term, "laws": check_law, "runs": check_run}
SAMPLE = 150
NAN = float("nan")


@cache  # and not while tests are collected, which each process does
def raw_tables() -> Tables:
    """Return the catalogue as its files have it, quantities not yet converted."""
    tables: Tables = {}
    for path in sorted(DATA.rglob("*.toml")):
        shown = path.relative_to(DATA).as_posix()
        kind = shown.split("/")[0].removesuffix(".toml")
        read_file(Check(), shown, path, tables.setdefault(kind, {}), files={})
    return tables


known_tables = cache(read_tables)  # what references lead to


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Iterate over the leaves of an entry."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))
    if not isinstance(value, dict | list):
        yield path, value


def changed(entry: Entry, path: tuple[Any, ...], value: object) -> Entry:
    """Return an entry with another value at a place."""
    found = copy.deepcopy(entry)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return found


def problems(kind: str, name: str, entry: Entry) -> list[str]:
    """Return what the loader's full check says of one entry."""
    check = Check()
    CHECKED[kind](check, f"[{name}]", copy.deepcopy(entry), known_tables())
    return check.problems


UNITS = {"us": "MHz", "GiB": "GB/s", "GB/s": "GHz", "TFLOPS": "GB", "W": "GHz", "MHz": "us", "GB": "TFLOPS", "s": "GB"}


def of_unit(path: tuple[Any, ...], value: Any) -> Any:
    """Another dimension in place of a unit."""
    return UNITS.get(value) if path[-1] == "unit" else None


def of_day(path: tuple[Any, ...], _: Any) -> Any:
    """A day that there is not."""
    return "2026-02-30" if path[-1] == "checked" else None


def of_century(path: tuple[Any, ...], _: Any) -> Any:
    """A year before there were any of these."""
    return "1899" if path[-1] == "released" else "1899-01-01" if path[-1] == "checked" else None


def of_source(path: tuple[Any, ...], _: Any) -> Any:
    """A source that is in no file."""
    return "no-such-source" if path[-1] == "source" else None


def of_page(path: tuple[Any, ...], _: Any) -> Any:
    """A page that is not there."""
    return "memory/nothing.md" if path == ("page",) else None


NUMBERS = (
    "value",
    "bits",
    "group",
    "group_bits",
    "price",
    "cores",
    "share",
    "context_tokens",
    "devices",
    "tensor_bytes",
)


def of_sign(path: tuple[Any, ...], value: Any) -> Any:
    """A negative number."""
    return -value if path[-1] in NUMBERS and type(value) in (int, float) and value > 0 else None


def of_size(path: tuple[Any, ...], value: Any) -> Any:
    """A number that no device, price or format has."""
    return value * 10**9 if path[-1] in NUMBERS and type(value) in (int, float) and value > 0 else None


def of_number(path: tuple[Any, ...], value: Any) -> Any:
    """A number without end."""
    return float("nan") if path[-1] in NUMBERS and type(value) in (int, float) else None


CHANGES = (of_unit, of_day, of_century, of_source, of_page, of_sign, of_size, of_number)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_changed_entry_is_refused(change: Callable[[tuple[Any, ...], Any], Any]) -> None:
    """Of a sample of all places at which something can be changed so, each one is refused."""
    rng = random.Random(20261122)
    entries = [
        (kind, name, entry) for kind, table in raw_tables().items() for name, entry in table.items() if kind != "laws"
    ]
    found = 0
    for kind, name, entry in rng.sample(entries, len(entries)):
        able = [(path, new) for path, value in places(entry) if (new := change(path, value)) is not None]
        able = [(path, new) for path, new in able if "config" not in path and "published" not in path]
        if able and kind not in ("claims", "support") and kind in CHECKED and found < SAMPLE:
            path, new = rng.choice(able)
            assert problems(kind, name, changed(entry, path, new)), (kind, name, path, new)
            found += 1
    assert found >= 20


SETTINGS: dict[str, Callable[[Any], Any]] = {
    "hidden_size": lambda size: size * 1000,
    "intermediate_size": lambda size: size * 1000,
    "vocab_size": lambda size: size * 2**20,
    "num_attention_heads": str,
    "max_position_embeddings": lambda _: 0,
    "torch_dtype": lambda _: "bfloat",
    "model_type": lambda _: 7,
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_config_that_no_model_has_is_refused(setting: str) -> None:
    """A size a thousand times as large, a number in quotes, no length, a type that torch lacks, a number for a name."""
    able = [
        (name, entry, path, value)
        for name, entry in raw_tables()["models"].items()
        for path, value in places(entry)
        if path[0] == "config"
        and path[-1] == setting
        and not any(
            setting in str(variant) for variant in entry.get("variants", {}).values()
        )  # which are held to it, too
    ]
    assert len(able) > 50
    for name, entry, path, value in random.Random(setting).sample(able, 50):
        (said,) = problems("models", name, changed(entry, path, SETTINGS[setting](value)))
        assert said.startswith(f"[{name}].{'.'.join(map(str, path))}: "), said


@pytest.mark.parametrize("name", ["rtx-4090", "h100-sxm-80gb", "mi300x"])
def test_an_architecture_that_no_engine_is_known_by_is_refused(name: str) -> None:
    """What engines run on NVIDIA's and AMD's devices is told by architecture, so that a slip would lose all of it."""
    found = problems("accelerators", name, changed(raw_tables()["accelerators"][name], ("architecture",), "Hoper"))
    assert [problem.split(":")[0] for problem in found] == [f"[{name}].architecture"]


@pytest.mark.parametrize(("field", "value"), [("rows", -424), ("rows", 2_894_000), ("error", 0)])
def test_a_law_of_kernels_rests_on_rows(field: str, value: int) -> None:
    """On one at least and on no millions, and it is never met exactly."""
    name = next(name for name, entry in raw_tables()["kernels"].items() if field in entry)
    assert len(problems("kernels", name, changed(raw_tables()["kernels"][name], (field,), value))) == 1


def test_an_emptied_text_is_said(tmp_path: Path) -> None:
    """A name, a title or a reason that was deleted between its quotes, wherever it stands."""
    shutil.copytree(DATA, tmp_path / "data")
    for place, line in (("machines/servers.toml", 'maker = "NVIDIA"'), ("links.toml", 'name = "')):
        file = tmp_path / "data" / place
        text = file.read_text(encoding="utf-8")
        start = text.index(line)
        end = text.index("\n", start)
        file.write_text(text[:start] + line.partition(" ")[0] + ' = " "' + text[end:], encoding="utf-8")
    with pytest.raises(CatalogError) as caught:
        read_tables(tmp_path / "data")
    said = [problem.rpartition(".")[2] for problem in caught.value.problems]
    assert said == ["name: is empty: leave the field out, or say it", "maker: is empty: leave the field out, or say it"]


@pytest.mark.parametrize("factor", [1.8, 1 / 1.8])
@pytest.mark.parametrize("field", ["bandwidth", "bf16"])
def test_a_fact_that_follows_from_others_is_compared(field: str, factor: float) -> None:
    """A bandwidth that is not bus × rate and a rate that is not units × clock are refused."""
    parts = {"bandwidth": ("memory_bus", "memory_rate"), "bf16": ("compute_units", "operations_per_clock", "clock")}
    able = [
        (name, entry)
        for name, entry in raw_tables()["accelerators"].items()
        if all(part in entry for part in (field, *parts[field])) and "exceptions" not in entry
    ]
    assert len(able) > 50
    for name, entry in able:
        fact: Any = entry[field]
        found = problems("accelerators", name, changed(entry, (field, "value"), fact["value"] * factor))
        assert f".{field}: is {fact['value'] * factor / consistent(entry, field):.2f} times what " in "".join(found), (
            name
        )


def consistent(entry: Entry, field: str) -> float:
    """Return a bandwidth in GB/s or a rate in TFLOPS as the facts beside it give it."""
    value = {name: fact["value"] for name, fact in entry.items() if isinstance(fact, dict) and "value" in fact}
    if field == "bandwidth":
        return float(value["memory_bus"] * value["memory_rate"] / 8)
    clock = value.get("matrix_clock", value["clock"])
    return float(value["compute_units"] * value["operations_per_clock"] * clock / 1e6)


@pytest.mark.parametrize(
    ("name", "field", "other"),
    [
        ("rtx-4090", "memory_rate", "memory_bus"),
        ("rtx-4090", "clock", "operations_per_clock"),
        ("h100-sxm-80gb", "compute_units", "clock"),
    ],
)
def test_facts_that_say_nothing_alone_stand_together(name: str, field: str, other: str) -> None:
    """A bus without the rate of its pins, operations of a clock without the clock, a clock of no units."""
    entry = {key: fact for key, fact in raw_tables()["accelerators"][name].items() if key != field}
    assert f"[{name}].{field}: is missing, and {other} says nothing without it" in problems("accelerators", name, entry)


@pytest.mark.parametrize(
    ("field", "value"), [("memory_type", "OAM"), ("form", "HBM3"), ("link", "4.0 x16"), ("pcie", "NVLink 4")]
)
def test_a_text_of_another_fact_is_refused(field: str, value: str) -> None:
    """Memory is not called OAM, and a slot not NVLink."""
    entry = changed(raw_tables()["accelerators"]["h100-sxm-80gb"], (field, "value"), value)
    assert problems("accelerators", "h100-sxm-80gb", entry)[0].startswith(f"[h100-sxm-80gb].{field}")


@pytest.mark.parametrize(
    ("kind", "name", "field", "value"),
    [
        ("machines", "azure-nc40-h100", "topology", "switched"),
        ("machines", "gb200-nvl72", "kind", "server"),
        ("machines", "dgx-h100", "topology", "single"),
        ("accelerators", "tpu-v4", "availability", "announced"),
        ("processors", "core-ultra-7-155h", "vendor", "no-such-thing"),
        ("runs", "chinchilla", "year", 3640),
    ],
)
def test_a_word_that_other_facts_contradict_is_refused(kind: str, name: str, field: str, value: object) -> None:
    """One device is joined to none, 72 stand in a rack, and what came years ago is not announced."""
    (said,) = problems(kind, name, changed(raw_tables()[kind][name], (field,), value))
    assert said.startswith(f"[{name}].{field}: ")


@pytest.mark.parametrize(
    ("kind", "name", "path", "value", "said"),
    [
        ("accelerators", "rtx-2060", ("unit_threads", "value"), 1843, "multiple of 32"),
        ("accelerators", "m1-ultra-128gb", ("memory_usable", "value"), 172.8, "more than the advertised"),
        ("accelerators", "gb10", ("memory_free", "value"), 125, "more than a program may use"),
        ("accelerators", "ai-pro-r9700", ("fp16", "value"), 344.52, "neither as fast as bf16"),
        ("accelerators", "h800-pcie-80gb", ("fp16", "value"), 756500, "neither as fast as bf16"),
        ("accelerators", "v100-sxm-32gb", ("l2_cache", "value"), 6000, "l2_cache"),
        ("machines", "dgx-b200", ("link",), "nvlink-4", "its devices have NVLink 5"),
        ("machines", "dgx-b200", ("link",), "infiniband-ndr", "not 'device'"),
        ("machines", "dgx-b200", ("network",), "nvlink-5", "not 'network'"),
        ("models", "flan-t5-large", ("config", "feed_forward_proj"), "no-such-thing", "is not known"),
        ("models", "helium-1-preview-2b", ("config", "max_position_embeddings"), 7373, "no multiple of 16"),
        ("launchers", "vllm", ("flags", 0, "flag"), "", "names no option"),
    ],
)
def test_what_cannot_be_of_its_kind_is_refused(
    kind: str, name: str, path: tuple[Any, ...], value: object, said: str
) -> None:
    """Threads come in groups, links join what they are made for, activations have names that classes know."""
    assert not problems(kind, name, raw_tables()[kind][name])
    assert said in " ".join(problems(kind, name, changed(raw_tables()[kind][name], path, value)))


@pytest.mark.parametrize(
    ("name", "field"), [("rtx-4070-ti", "form"), ("rtx-5070-laptop", "fp32"), ("quadro-rtx-6000", "power")]
)
def test_what_a_maker_says_of_each_card_is_needed(name: str, field: str) -> None:
    """Of cards that are or were sold; what is announced may have no sheet yet."""
    without = {key: value for key, value in raw_tables()["accelerators"][name].items() if key != field}
    assert f"{field}: is missing" in " ".join(problems("accelerators", name, without))
    assert f"{field}: is missing" not in " ".join(
        problems("accelerators", name, without | {"availability": "announced"})
    )


def test_nobody_rents_out_what_is_announced() -> None:
    """A price by the hour of a device that cannot be had is another device's, or the device can be had."""
    name, entry = next((name, entry) for name, entry in raw_tables()["prices"].items() if entry["kind"] == "on-demand")
    (said,) = problems("prices", name, entry | {"of": "accelerators", "item": "rubin-288gb", "market": "specialist"})
    assert said.startswith(f"[{name}].kind: ")


@pytest.mark.parametrize("factor", [1.8, 1000])
def test_a_length_that_no_model_has_is_refused(factor: float) -> None:
    """A context is the config's or round, and not far from the positions that the model has."""
    for name in ("llama-3.1-8b", "opt-2.7b", "gemma-3-27b", "bert-base", "clip-vit-large-patch14"):
        entry = raw_tables()["models"][name]
        assert not problems("models", name, entry)
        longer = int(factor * entry["context_tokens"])  # type: ignore[operator]
        (said,) = problems("models", name, entry | {"context_tokens": longer})
        assert said.startswith(f"[{name}].context_tokens: ")


def test_one_file_that_is_no_toml_is_one_problem(tmp_path: Path) -> None:
    """What it would have defined is not missed in every other file."""
    shutil.copytree(DATA, tmp_path / "data")
    broken = sorted((tmp_path / "data/sources").glob("*.toml"))[0]
    broken.write_text("[oops")
    with pytest.raises(CatalogError) as caught:
        read_tables(tmp_path / "data")
    assert len(caught.value.problems) == 1 and broken.name in caught.value.problems[0]


def test_an_emptied_file_is_said(tmp_path: Path) -> None:
    """A file without entries is a slip, not a catalogue without them."""
    shutil.copytree(DATA, tmp_path / "data")
    (tmp_path / "data/links.toml").write_text("")
    with pytest.raises(CatalogError) as caught:
        read_tables(tmp_path / "data")
    assert caught.value.problems == ["links.toml: is empty: delete it, or put its entries back"]


def test_what_would_do_is_listed_ten_times_at_most() -> None:
    """A misspelled device names the nearest and some of the others, not two hundred."""
    check = Check()
    check.choice("here", "rtx-409", known_tables()["accelerators"])
    assert "rtx-4090" in check.problems[0] and len(check.problems[0]) < 600


def test_every_coefficient_has_a_dimension_and_a_range() -> None:
    """Of each number of an engine and of training it is known what it may be."""
    for kind in ("engines", "trainers"):
        for entry in raw_tables()[kind].values():
            coefficients: Any = entry["coefficients"]
            for name in coefficients:
                assert bound_of(name), name


@pytest.mark.parametrize(
    ("kind", "name", "path", "value"),
    [
        ("accelerators", "arc-a380-6gb", ("memory", "value"), 9),
        ("accelerators", "rtx-5050", ("fp32", "value"), 1.32),
        ("accelerators", "gtx-1070-ti", ("compute_units", "value"), 28),
        ("accelerators", "a10g-24gb", ("compute_units", "value"), 72),
        ("coefficients", "training-device", ("low",), 0.0),
        ("engines", "mlx", ("coefficients",), {"step_s": {"value": 0.0003, "reason": "Nothing of drafts."}}),
        ("engines", "vllm", ("since", "cuts_prompts", "version"), "the first"),
        ("engines", "vllm", ("since", "cuts_prompts", "source"), "somebody"),
        ("engines", "mlx", ("since",), {"cuts_tokens": {"version": "0.2"}}),
        ("machines", "aws-p5", ("host_memory", "unit"), "MiB"),
        ("machines", "azure-nc24-a100", ("host_memory", "unit"), "TB"),
        ("machines", "groq-3-lpx", ("memory", "unit"), "TB"),
        ("processors", "ryzen-7-7800x3d", ("clock", "value"), 8640),
        ("processors", "epyc-9654", ("memory_rate", "value"), 48),
        ("prices", "glm-5.1-openrouter-2026-09", ("cached_price",), -0.1794),
        ("kernel_families", "apple", ("vector_per_byte",), -33),
        ("kernel_families", "hopper", ("least_rows",), 64e9),
        ("laws", "kaplan-2020", ("constants", "alpha_d"), 10.3),
        ("laws", "hoffmann-2022", ("constants", "a"), 4.064e11),
        ("frameworks", "litgpt", ("presets", 8, "value"), True),
        ("frameworks", "litgpt", ("presets", 8, "field"), "compile"),
        ("frameworks", "litgpt", ("presets", 0, "since"), "the first"),
        ("frameworks", "litgpt", ("carries",), {"0.4": "4.40"}),
        ("frameworks", "trl", ("carries",), {"0.9": "4.42", "0.7": "4.34"}),
        ("frameworks", "trl", ("carries",), {"0.7": "4.34", "0.9": "the next"}),
        ("measured", "llama.cpp_apple-m1-soc_bf16_dense", ("speed", 0), 8e9),
        ("models", "rt-detr-r50vd", ("variants", "PekingU/rtdetr_r34vd", "hidden_expansion"), -0.5),
        ("models", "rt-detr-r50vd", ("variants", "PekingU/rtdetr_r34vd", "backbone_config", "hidden_sizes", 2), [256]),
        ("models", "rt-detr-r50vd", ("variants", "PekingU/rtdetr_r34vd", "backbone_config", "hidden_sizes", 2), NAN),
    ],
)
def test_what_follows_from_something_else_is_refused(
    kind: str, name: str, path: tuple[Any, ...], value: object
) -> None:
    """The memory of an id, FP32 of units, clock and lanes, a range that begins at nothing, drafters without drafts;

    a host's memory in another unit than its devices', a share that is true, a variant unlike its model, an engine that
    does something since no version, by nobody's word, or what no engine does; a framework that did something since no
    version, that carries what it is not built on, or whose versions go down.
    """
    entry = raw_tables()[kind][name]
    assert not problems(kind, name, entry)
    assert problems(kind, name, changed(entry, path, value))
