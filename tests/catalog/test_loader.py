"""A catalogue with a mistake does not load, and the mistake is named by file, entry and field."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calc.catalog import Catalog, catalog
from calc.catalog.carried import (
    FACT,
    LEFT_BEHIND,
    LISTED_FACTS,
    NOT_CARRIED,
    READ_LATE,
    SOURCED_FACTS,
    KeptTables,
    carried,
    carried_entry,
    finetunes,
    restored,
)
from calc.catalog.checking.check import Check
from calc.catalog.checking.checked import checked_tables
from calc.catalog.checking.device_rules import ACCELERATOR_FACTS
from calc.catalog.checking.loader import read_tables
from calc.catalog.checking.software import check_eras
from calc.catalog.entries import fold
from calc.catalog.records import Price
from calc.errors import CatalogError, ScenarioError
from calc.memory.training.plan import FSDP, MEGATRON, PLAIN
from calc.performance.device_rates import device_class
from calc.planning.cost import newest_purchase, rents
from tests.catalog.small import GOOD, MODEL, built_catalog


def test_the_small_catalogue_is_sound(data: Path) -> None:
    """What the other tests break loads as it is."""
    assert Catalog(read_tables(data)).accelerator("good").capacity_bytes == 24 * 2**30


BROKEN = [
    ('source = "ieee-754"', "", "source: is missing"),
    ('source = "ieee-754"', 'source = "nowhere"', "'nowhere' is neither"),
    ("checked = 2026-11-21", "", "checked: is missing"),
    ("checked = 2026-11-21", 'checked = "today"', "checked: must be a date"),
    ('name = "Good"', "name = 5", "name: must be str, not int"),
    ("value = 24,", 'value = "24",', "memory.value: must be a number"),
    ("value = 24,", "value = true,", "memory.value: must be"),
    ('unit = "GiB"', 'unit = "Gb"', "memory.unit: 'Gb' is not a unit; did you mean \"GB\""),
    ('unit = "GiB"', 'unit = "GB/s"', "memory.unit: 'GB/s' measures bytes_per_s"),
    ('basis = "dense"', 'basis = "sparse"', "bf16.basis: is a sparse rate in a dense field"),
    ('basis = "dense"', 'basis = "peak"', "bf16.basis: must be dense"),
    (
        'basis = "advertised" }',
        'basis = "advertised", colour = "red" }',
        "memory.colour: is not a field here",
    ),
    ("value = 1008", "value = 10080000", "is not possible for bandwidth"),
    ("value = 24,", "value = -24,", "is not possible for memory"),
    ('segment = "data-center"', 'segment = "data-centre"', 'did you mean "data-center"'),
    ('released = "2022-10"', 'released = "October"', "released: must be a year or a month"),
    ("bandwidth =", "bandwith =", 'bandwith: is not a field here; did you mean "bandwidth"'),
    ("bandwidth = {", "x = {", "bandwidth: is missing"),
    ("[good]", "[good", "is not TOML"),
    ("value = 24,", "value = nan,", "memory.value: must be a finite number"),
    ("value = 1008", "value = inf", "bandwidth.value: must be a finite number"),
    ("checked = 2026-11-21", "checked = 2126-11-21", "checked: must be a day that has been"),
    ("aliases = []", "aliases = [5]", "aliases: must be a list of texts"),
    ('source = "ieee-754"', 'source = "https://"', "'https://' is neither"),
    ("[good]", '["Good one"]', "an id is made of"),
    ('vendor = "NVIDIA"', 'vendor = "NVDIA"', 'did you mean "NVIDIA"'),
    (
        "bandwidth =",
        'memory_reported = { value = 99999, unit = "MiB", basis = "driver" }\nbandwidth =',
        "memory_reported: is 4.07 times the advertised memory",
    ),
    (
        "bf16 =",
        'fp8 = { value = 661, unit = "TFLOPS", basis = "dense" }\nbf16 =',
        "fp8: is 4.0 times the 16-bit rate: a sparse number",
    ),
    ("bf16 =", 'link = { value = "none", unit = "GB" }\nbf16 =', "link: is a text"),
    (
        "bf16 =",
        'also = [{ field = "x", value = 1, source = "ieee-754", note = "" }]\nbf16 =',
        "also[0].field: 'x' is not known",
    ),
    ("bf16 =", "other_memory = [[16, 20]]\nbf16 =", "other_memory: must hold pairs of GiB"),
    ("bf16 =", "other_memory = [16]\nbf16 =", "other_memory: must hold pairs of GiB"),
]


@pytest.mark.parametrize(("old", "new", "message"), BROKEN)
def test_a_mistake_is_named(data: Path, old: str, new: str, message: str) -> None:
    """Every kind of mistake in an accelerator says where it is and what is wrong."""
    (data / "accelerators/a.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(CatalogError) as caught:
        read_tables(data)
    named = [problem for problem in caught.value.problems if message in problem]
    assert named, caught.value.problems
    assert named[0].startswith("accelerators/a.toml")


def test_a_duplicate_in_one_file_and_in_two(data: Path) -> None:
    """An id stands once: twice in a file is no TOML, twice in two files names both."""
    (data / "accelerators/b.toml").write_text(GOOD)
    with pytest.raises(CatalogError, match=r"b\.toml: \[good\]: stands already in accelerators/a\.toml"):
        read_tables(data)
    (data / "accelerators/b.toml").write_text(GOOD.replace("[good]", "[other]") + GOOD.replace("[good]", "[other]"))
    with pytest.raises(CatalogError, match=r"accelerators/b\.toml: is not TOML"):
        read_tables(data)


def test_a_name_leads_to_one_entry(data: Path) -> None:
    """Two entries cannot be found under the same name, however it is spelled."""
    other = GOOD.replace("[good]", "[other]").replace('name = "Good"', 'name = "Other"')
    (data / "accelerators/b.toml").write_text(other.replace("aliases = []", 'aliases = ["NVIDIA go-od"]'))
    with pytest.raises(CatalogError, match=r"the name 'good' already leads to|already leads to \[good\]"):
        read_tables(data)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("gated = false", 'gated = "no"', "gated: must be bool"),
        ("context_tokens = 2048", "context_tokens = 1", "context_tokens: must be from 16"),
        ("licence =", "license =", 'did you mean "licence"'),
        ("[tiny.config]", "[tiny.konfig]", "config: is missing"),
    ],
)
def test_a_mistake_in_a_model_is_named(data: Path, old: str, new: str, message: str) -> None:
    """Models are checked as strictly."""
    (data / "models/m.toml").write_text(MODEL.replace(old, new))
    with pytest.raises(CatalogError) as caught:
        read_tables(data)
    assert any(message in problem and "models/m.toml: [tiny]" in problem for problem in caught.value.problems)


VARIANT = """
[tiny.variants]
"we/tiny-thai" = { vocab_size = 40960, source = "https://example.org/thai.json", checked = 2026-11-21 }
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('source = "https://example.org/thai.json", ', "", "variants.we/tiny-thai.source: is missing"),
        ('"https://example.org/thai.json"', '"nowhere"', "variants.we/tiny-thai.source: 'nowhere' is neither"),
        (", checked = 2026-11-21", "", "variants.we/tiny-thai.checked: is missing"),
        ("vocab_size = 40960, ", "", "variants.we/tiny-thai: must be a table with what"),
        ("vocab_size", "hidden_size", "variants.we/tiny-thai.hidden_size: is not a field here"),
    ],
)
def test_a_mistake_in_a_variant_is_named(data: Path, old: str, new: str, message: str) -> None:
    """What a variant's config says otherwise has a source and a day, and is not of its sizes."""
    (data / "models/m.toml").write_text(MODEL + VARIANT)
    assert Catalog(read_tables(data)).model("tiny").variants == {"we/tiny-thai": {"vocab_size": 40960}}
    (data / "models/m.toml").write_text(MODEL + VARIANT.replace(old, new))
    with pytest.raises(CatalogError) as caught:
        read_tables(data)
    assert any(message in problem for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("group = 128\n", "group = -128\n", "group: must be a number from 8"),
        ("group_bits = 20\n", "", "group: group needs group_bits"),
        ("outer_group = 256\n", "", "outer_group: outer_group needs outer_bits"),
        ('scope = "linear"', 'scope = "linears"', 'did you mean "linear"'),
        ("bits = 4\n", "bits = 400\n", "bits: must be a number from 1 to 64"),
    ],
)
def test_a_mistake_in_a_number_format_is_named(data: Path, old: str, new: str, message: str) -> None:
    """What would make weights too small does not load."""
    file = data / "number_formats.toml"
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(CatalogError) as caught:
        read_tables(data)
    assert any(message in problem and "number_formats.toml: [" in problem for problem in caught.value.problems)


def test_a_missing_source_is_one_mistake(data: Path) -> None:
    """The facts that would take the entry's source do not repeat it."""
    (data / "accelerators/a.toml").write_text(GOOD.replace('source = "ieee-754"', ""))
    with pytest.raises(CatalogError) as caught:
        read_tables(data)
    assert caught.value.problems == ["accelerators/a.toml: [good].source: is missing"]


def test_all_mistakes_are_named_at_once(data: Path) -> None:
    """A maintainer who makes three mistakes reads three lines, and nothing is loaded."""
    text = GOOD.replace('"GiB"', '"Gib"').replace('"dense"', '"sparse"').replace('name = "Good"', "")
    (data / "accelerators/a.toml").write_text(text)
    with pytest.raises(CatalogError) as caught:
        read_tables(data)
    assert len(caught.value.problems) == 3


def test_what_is_made_of_the_records_is_made_once() -> None:
    """Who asks again for what was made under a name gets the same, also where it is nothing."""
    facts, made = catalog(), list[str]()
    for _ in range(2):
        assert facts.once("made in a test", lambda: made.append("made")) is None
    assert facts.derived.pop("made in a test") is None and made == ["made"]


def test_every_fact_of_the_catalogue_has_a_source_and_a_date() -> None:
    """Each fact leads to a document; test_machines.py finds sources that nothing uses."""
    for device in catalog().accelerators():
        for fact in device.facts.values():
            assert fact.checked
            assert catalog().source(fact.source).url
    for engine in catalog().engines():
        for item in engine.coefficients.values():
            assert item.checked
            assert item.reason
            assert catalog().source(item.source).url


def test_every_kind_of_fact_is_used() -> None:
    """A field of the schema that no accelerator has is not needed."""
    used = {name for device in catalog().accelerators() for name in device.facts}
    assert used == set(ACCELERATOR_FACTS)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("RTX 4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm-80gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
        ("A100-PCIE-40GB", "a100-pcie-40gb"),
        ("AMD Instinct MI300X", "mi300x"),
    ],
)
def test_accelerators_are_found_by_the_names_people_write(name: str, found: str) -> None:
    """Market names, driver names and ids lead to the same entry."""
    assert catalog().accelerator(name).id == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("Llama 3.1 8B", "llama-3.1-8b"),
        ("LLAMA-3.1-8B", "llama-3.1-8b"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
    ],
)
def test_models_are_found_by_name_and_repository(name: str, found: str) -> None:
    """Names and Hugging Face repositories lead to the same entry."""
    assert catalog().model(name).id == found


def test_an_unknown_name_names_the_nearest() -> None:
    """A slip of the pen is answered with what was probably meant."""
    with pytest.raises(ScenarioError, match='did you mean "rtx-4090"'):
        catalog().accelerator("rtx-4o90")


def bare(price: Price) -> Price:
    """Return a price as the browser knows it: without its id and note."""
    return price._replace(id="", note="")


@pytest.fixture(scope="module")
def packed() -> bytes:
    """The catalogue as a built copy of the package carries it."""
    return carried(checked_tables())


def test_a_built_copy_has_the_catalogue(packed: bytes) -> None:
    """What the browser reads is what the maintainer wrote, but for what pages alone show."""
    again, known = built_catalog(packed), catalog()
    assert again.version == known.version
    for device in known.accelerators():
        carried = {name: fact for name, fact in device.facts.items() if name not in LISTED_FACTS["accelerators"]}
        own = str(known.entries("accelerators")[device.id]["source"])
        facts = {
            name: fact._replace(note="", checked="", sparse=0, source=fact.source if name in SOURCED_FACTS else own)
            for name, fact in carried.items()
        }
        assert again.accelerator(device.id) == device._replace(also=(), exceptions=(), facts=facts)
    for model in known.models():
        listed = {name: said for name, said in model.variants.items() if name in model.repositories}
        team = model._replace(organization=model.organization.partition(" ")[0])
        left = team._replace(licence="", gated=False, note="", checked="", finetunes=(), variants=listed)
        assert again.model(model.id) == left
    assert again.ids("models") == known.ids("models")
    assert again.variant("Qwen/Qwen3-8B-Base") == "Qwen/Qwen3-8B-Base"
    assert 0.5 * len(known.prices()) < len(again.prices()) < len(known.prices())
    for device in known.accelerators():
        asked = [*rents(known, device), newest_purchase(known, device)]
        given = [*rents(again, device), newest_purchase(again, device)]
        assert [price and price._replace(id="") for price in given] == [price and bare(price) for price in asked]
    hosted = {price.item: price for price in reversed(known.prices("models"))}
    assert {price.item: price._replace(id="") for price in reversed(again.prices("models"))} == {
        model: bare(price) for model, price in hosted.items()
    }
    cited = {fact.source for device in again.accelerators() for fact in device.facts.values()}
    assert all(again.source(source).url for source in cited)
    assert 0.5 * len(known.ids("sources")) < len(again.ids("sources")) < len(known.ids("sources"))
    for name in known.ids("engines"):
        assert again.engine(name).of_version().values == known.engine(name).of_version().values
        assert again.engine(name).coefficient("range_weights").source
    for name in ("3b", "llama 3.3 70b", "someone/Qwen3-8B-AWQ", "gemma 27b", "deepseek"):
        assert (again.read_model_name(name), again.copied(name)) == (known.read_model_name(name), known.copied(name))
    for name in ("RTX 3060", "NVIDIA H100 80GB HBM3", "A100"):
        assert again.reading(name) == known.reading(name)


def test_a_built_copy_reads_a_table_when_it_is_asked_for(packed: bytes) -> None:
    """A model is found by its id from the table of models alone; its config alone is read, and a device's facts."""
    tables = KeptTables(packed)
    again = Catalog(tables, tables.version)
    assert again.kinds() == [kind for kind in catalog().kinds() if kind not in NOT_CARRIED]
    assert again.model("llama-3.1-8b").config == catalog().model("llama-3.1-8b").config
    assert dict.keys(tables) == {"models"}
    assert again.accelerator("rtx-4090").quantity("bandwidth") == 1008e9
    for kind, late in (("models", "config"), ("accelerators", "bandwidth")):
        assert all(isinstance(entry[READ_LATE], bytes) and late not in entry for entry in tables[kind].values())
    with pytest.raises(KeyError):
        tables["claims"]


def test_finetunes_are_read_where_nothing_else_knows_a_name(packed: bytes) -> None:
    """A built copy finds every model by the same names; the names that it knows without finetunes mean the same."""
    read: list[int] = []

    def late() -> dict[str, dict[str, object]]:
        read.append(1)
        text = finetunes(checked_tables())
        assert '"source":' not in text and '"checked":' not in text
        found: dict[str, dict[str, object]] = json.loads(text)
        return found

    known = catalog()
    again = built_catalog(packed, late)
    for name in ("llama-3.1-8b", "someone/Qwen3-8B-AWQ", "llama 3.3 70b"):
        assert again.model(name).id == known.model(name).id
    assert not read
    every = [name for model in known.models() for name in model.finetunes]
    for name in every[::40]:
        assert again.model(name).id == known.model(name).id
        assert again.named_format(name) == known.named_format(name)
    assert again.model("google/vit-base-patch16-224").variants  # its record was made before
    for name in [name for model in known.models() for name in model.variants]:
        assert again.model(name).variants == known.model(name).variants
        assert name in known.model(name).variants
    assert read == [1]
    with pytest.raises(ScenarioError):
        again.model("nobody/Nothing-9B")


def test_every_kind_says_what_the_browser_leaves_behind() -> None:
    """What an entry leaves behind has something in its place, and everything else is carried as it was."""
    for kind, table in checked_tables().items():
        for entry in table.values():
            again, left = restored(kind, carried_entry(kind, entry)), LEFT_BEHIND.get(kind, {})
            for name, value in entry.items():
                if name == "variants":  # but those that are found before the rest is read
                    assert set(again[name]) == set(value) & set(entry["repositories"])  # type: ignore[call-overload]
                elif name in left:
                    assert again[name] == left[name]
                elif name == "organization":  # its first word, by which a search tells makers apart
                    assert again[name] == str(value).partition(" ")[0]
                elif name in LISTED_FACTS.get(kind, ()):
                    assert name not in again
                elif not isinstance(value, dict):
                    assert again[name] == value
                elif "value" in value:
                    fact: Any = again[name]
                    lost = value.keys() - fact.keys() - FACT.keys()
                    assert lost <= {"source"} and all(fact[part] == value[part] for part in fact)


def test_makers_names_do_not_count() -> None:
    """Lookup ignores case, spaces, hyphens and the maker's name, but not what tells parts apart."""
    assert fold("AMD Radeon RX 7900 XTX") == fold("rx-7900-xtx")
    assert fold("RTX 3080") != fold("RTX 3080 Ti")


def test_the_catalogue_loads_quickly(packed: bytes) -> None:
    """A safeguard, not a benchmark: one of three is within some times what was measured: built, kept, edited."""
    assert any(timed(lambda: list(built_catalog(packed).models())) < 0.08 for _ in range(3))
    assert any(timed(checked_tables) < 0.2 for _ in range(3))
    assert any(timed(read_tables) < 2 for _ in range(3))


def timed(load: Callable[[], object]) -> float:
    """Return the processor's seconds of one load."""
    begun = time.process_time()
    load()
    return time.process_time() - begun


def test_coefficients_of_training_are_of_generations_that_exist() -> None:
    """A coefficient for a generation that no accelerator has, or a schedule that is not, would never be used."""
    known = {device.architecture for device in catalog().accelerators()}
    known |= {f"{device.architecture}/{device_class(device)}" for device in catalog().accelerators()}
    coefficients = catalog().training_step.coefficients
    assert {name.partition("@")[2] for name in coefficients if "@" in name} <= known
    for name, item in coefficients.items():
        assert item.reason
        assert catalog().source(item.source).url
        plain = name.partition("@")[0]
        for trainer in (FSDP, MEGATRON, PLAIN):
            plain = plain.removesuffix(f"_{trainer}")
        assert plain in coefficients


@pytest.mark.parametrize("dates", [("", "2026-03", "2026-01-20"), ("", "", "2026-01")])
def test_eras_of_an_engine_follow_each_other(dates: tuple[str, ...]) -> None:
    """One that began before the one before it, or of which nobody says when it began, is named."""
    check = Check()
    era = {"id": "1", "name": "One", "first": "1", "measured": "1", "reason": "It is.", "source": "https://example.org"}
    check_eras(check, "engines/e.toml: [e]", [era | ({"dated": day} if day else {}) for day in dates], {"sources": {}})
    assert check.problems == ["engines/e.toml: [e].eras: each after the oldest is dated, and no later than the next"]
