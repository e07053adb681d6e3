"""Adding to the catalogue from a config and from a command line, and what has grown old."""

import datetime
import json
import re
import shlex
import shutil
import textwrap
from pathlib import Path

import pytest

from calc.catalog import catalog
from calc.catalog.checking.loader import read_tables
from calc.catalog.entries import DATA
from calc.errors import CatalogError, ScenarioError
from calc.maintenance import accelerators, ages, models
from calc.maintenance.__main__ import main

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 32000,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "_name_or_path": "not kept",
}
RELEASED = {"released": "2026-10"}
FACTS = {
    "vendor": "NVIDIA",
    "segment": "consumer",
    "architecture": "Blackwell",
    "released": "2027-01",
    "availability": "announced",
    "source": "https://example.com/sheet",
    "memory": "32 GiB",
    "bandwidth": "2.2 TB/s",
    "bf16": "400 TFLOPS",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the catalogue's files."""
    return Path(shutil.copytree(DATA, tmp_path / "data"))


def test_a_config_becomes_an_entry(folder: Path, tmp_path: Path) -> None:
    """It lands beside its family, keeps what the shape follows from, and loads."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    done = models.add(path, "example/Tiny-Test-1B", RELEASED | {"licence": "MIT", "parameters": "1038682112"}, folder)
    assert "llama.toml" in done and "1,038,682,112" in done
    entry = read_tables(folder)["models"]["tiny-test-1b"]
    assert entry["licence"] == "MIT" and entry["context_tokens"] == 8192
    assert entry["config"] == {key: value for key, value in CONFIG.items() if key != "_name_or_path"}


def test_what_is_wrong_or_known_is_not_added(folder: Path, tmp_path: Path) -> None:
    """A count that differs, a family nobody knows, a model that is there, a device that is not sound."""
    path, before = tmp_path / "config.json", read_tables(folder)
    path.write_text(json.dumps(CONFIG))
    with pytest.raises(ValueError, match="1 parameters by its maker"):
        models.add(path, "example/Tiny-Test-1B", {"parameters": "1"}, folder)
    with pytest.raises(ValueError, match=r"is in the catalogue, as llama-3\.1-8b"):
        models.add(path, "meta-llama/Llama-3.1-8B", {}, folder)
    for released in ({"released": "soon"}, {}):
        with pytest.raises(CatalogError, match="released"):
            models.add(path, "example/Tiny-Test-1B", released, folder)
    path.write_text(json.dumps(CONFIG | {"model_type": "nobodys"}))
    with pytest.raises(ScenarioError):
        models.add(path, "example/Tiny-Test-1B", {}, folder)
    with pytest.raises(CatalogError, match="availability"):
        accelerators.add("RTX 6090", FACTS | {"availability": "soon"}, folder)
    with pytest.raises(CatalogError, match="TFLOPZ"):
        accelerators.add("RTX 6090", FACTS | {"bf16": "400 TFLOPZ"}, folder)
    with pytest.raises(ValueError, match="needs source, memory"):
        accelerators.add("RTX 6090", {key: FACTS[key] for key in FACTS if key not in ("source", "memory")}, folder)
    assert read_tables(folder) == before


def test_a_device_becomes_an_entry(folder: Path) -> None:
    """Each amount takes the basis that the schema names, on a line of its own."""
    assert "nvidia-blackwell.toml" in accelerators.add("RTX 6090", FACTS, folder)
    entry = read_tables(folder)["accelerators"]["rtx-6090"]
    assert entry["memory"]["value"] == 32 * 2**30 and entry["bf16"]["basis"] == "dense"
    text = (folder / "accelerators/nvidia-blackwell.toml").read_text()
    assert "[rtx-6090]\n" in text and 'bandwidth = { value = 2.2, unit = "TB/s", basis = "peak" }\n' in text


def test_the_command_in_contributing_works(folder: Path) -> None:
    """What a maintainer copies from there makes an entry, with its aliases."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    command = text.partition("guide.py add accelerator ")[2].partition("\n\n")[0]
    words = shlex.split(command.replace("\\\n", ""))
    accelerators.add(words[0], dict(word.split("=", 1) for word in words[1:]), folder)
    entry = read_tables(folder)["accelerators"]["example-gpu-24gb"]
    assert entry["aliases"] == ["Example 24", "Ex 24"] and entry["memory"]["value"] == 24 * 2**30


def test_a_model_of_a_known_shape_is_said_to_be(folder: Path, tmp_path: Path) -> None:
    """Most new names are finetunes, whose place is among those of their model."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(dict(catalog().model("qwen3-8b").config)))
    assert "Qwen3 8B has the same shape" in models.add(path, "example/Tiny-Test-8B", RELEASED, folder)


def test_the_newest_price_of_a_kind_decides() -> None:
    """An old price with a newer one beside it is history; launch prices have none after them."""
    price = {"of": "accelerators", "item": "a", "kind": "on-demand", "checked": "2026-01-01"}
    tables = {
        "prices": {"old": price, "new": price | {"checked": "2026-11-01"}, "alone": price | {"item": "b"}}
        | {"once": price | {"kind": "launch"}},
        "accelerators": {"x": {"availability": "announced", "checked": "2026-07-01"}},
        "support": {"fact": {"checked": "2026-11-01"}},
    }
    found = ages.due(tables, datetime.date(2026, 11, 22))
    assert [old.entry for old in found] == ["alone", "x"]
    assert "- `alone`, 2026-01-01: no price" in ages.listed(found) and ages.listed([]) == ""


def test_the_command_line_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    """What is missing or known is said, and nothing is written."""
    assert main(["add", "model", "nowhere", "example/Tiny-Test-1B"]) == 1
    assert main(["add", "accelerator", "RTX 4090", "vendor=NVIDIA"]) == 1
    assert "is in the catalogue, as rtx-4090" in capsys.readouterr().err
    assert main(["stale"]) == 0 and main([]) == 2


# The sections of CONTRIBUTING.md whose blocks of TOML make entries, and the files that they go into, in order.
RECIPES = {
    "Add a GPU": ["accelerators/example.toml"] * 2,
    "Add a machine, a link or a price": ["machines/example.toml", "links.toml", "prices.toml"],
    "Add a processor": ["processors.toml"],
    "Add a model": ["models/example.toml"] * 4,
    "Add a claim": ["claims/example.toml"],
    "Add a number format": ["number_formats.toml"],
    "Add what an engine runs": ["support.toml"],
}
BLOCK = re.compile(r"^( *)```toml\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def test_the_entries_in_contributing_load(folder: Path) -> None:
    """What a newcomer copies from there stands together in a catalogue that is sound, whatever else it needs."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for section, files in RECIPES.items():
        blocks = [textwrap.dedent(block[2]) for block in BLOCK.finditer(text.partition(f"## {section}\n")[2])]
        for file, block in zip(files, blocks, strict=False):
            with (folder / file).open("a", encoding="utf-8") as written:
                written.write(f"\n{block}")
    tables = read_tables(folder)
    assert tables["accelerators"]["example-gpu-24gb"]["also"] and tables["models"]["example-1b"]["variants"]
    named = {"machines": "example-server", "links": "example-link", "processors": "example-9", "claims": "x001"}
    named |= {"prices": "example-server-rented-2026-11", "number_formats": "example4", "support": "example-fp8-older"}
    assert all(entry in tables[kind] for kind, entry in named.items())
