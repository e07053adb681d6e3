"""What is kept of a page is taken again only while every entry that it rests on is as it was."""

import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from calc.calculators import page
from calc.calculators.page import CALCULATORS, report_of
from calc.catalog import catalog
from calc.errors import CatalogError
from calc.validation.soundness import wrong_models
from macros import kept, reads
from macros.claims.page import claim_html
from macros.inline import number

# Each reads otherwise: one device, the prices of rents, all devices that could be, links, engines, models alone.
EXAMPLES = ("will-it-fit", "kv-cache", "cost", "how-far", "interconnect", "sharing", "fine-tune", "effective-bits")


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep pages apart from those of builds, and leave the catalogue and its reports to other tests as they were."""
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    monkeypatch.setattr(kept, "_state", ["a build"])
    monkeypatch.setattr(page, "kept_report", lru_cache(maxsize=256)(page.kept_report.__wrapped__))
    facts, before = catalog(), dict(vars(catalog()))
    reads.watch(facts)
    yield
    vars(facts).clear()
    vars(facts).update(before)
    reads._read.clear()


def answered(name: str) -> tuple[str, reads.Reads]:
    """Return the answer of a calculator's first example, and what it reads."""
    reads.begin()
    return shown(name), reads.noted()


def shown(name: str) -> str:
    """Return the answer of a calculator's first example."""
    return CALCULATORS[name].render(report_of(name, CALCULATORS[name].presets[0].values))


def edited(kind: str, entry_id: str, **fields: object) -> None:
    """Change an entry, or add one, as a save does before a build reads the catalogue again."""
    entries = reads._tables[kind].entries
    reads._tables[kind].entries = {**entries, entry_id: entries.get(entry_id, {}) | fields}
    reads.digest.cache_clear()
    reads.led.cache_clear()
    reads.priced.cache_clear()


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_was_remembered_is_read_again(name: str) -> None:
    """An answer reads the same after it, and others, were computed: no memory hides an entry that decides it."""
    first = answered(name)
    for other in EXAMPLES:
        shown(other)
    assert answered(name) == first


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_not_read_decides_nothing(name: str) -> None:
    """With all entries emptied that an example did not ask for, it says the same."""
    before, found = answered(name)
    emptied = 0
    for kind, table in reads._tables.items():
        names = found.get(kind, [])
        if names != [reads.WHOLE]:
            emptied += len(table.entries) - len(names)
            table.entries = {entry: value if entry in names else {} for entry, value in table.entries.items()}
    assert emptied > 1000
    assert answered(name) == (before, found)


def test_a_read_entry_decides() -> None:
    """An example of one model on one device: another bandwidth of that device, and no other of its kind."""
    _, found = answered("will-it-fit")
    state = reads.state(found)
    device = CALCULATORS["will-it-fit"].asked({})["accelerator"]
    edited("models", "bert-base", note="Another.")
    assert reads.state(found) == state
    edited("accelerators", str(device), bandwidth={"value": 1})
    assert reads.state(found) != state


def test_a_price_that_ranks_and_a_new_device_decide() -> None:
    """A plan of what to buy rests on all devices, and on the prices of those that it ranks alone."""
    reads.begin()
    report_of("what-hardware", {"segment": "soc", "pay": "buy"})
    found = reads.noted()
    assert found["accelerators"] == [reads.WHOLE]
    states = {reads.state(found)}
    ranked = catalog().prices("accelerators", "m5-max-64gb")[0].id
    edited("prices", catalog().prices("models")[0].id, price=1)
    edited("prices", catalog().prices("accelerators", "l4-24gb")[0].id, price=1)
    assert {reads.state(found)} == states
    edited("prices", ranked, price=1)
    states.add(reads.state(found))
    edited("prices", "a-new-one", of="accelerators", item="m5-max-64gb")
    states.add(reads.state(found))
    edited("accelerators", "a-new-one", name="A new one")
    states.add(reads.state(found))
    assert len(states) == 4


def test_a_name_that_leads_to_no_entry_decides() -> None:
    """What was asked for in vain is another answer once there is such an entry."""
    reads.begin()
    assert catalog().lookup("grids", "atlantis") is None
    found = reads.noted()
    state = reads.state(found)
    edited("grids", "atlantis", name="Atlantis")
    assert reads.state(found) != state


def test_a_name_rests_on_where_it_leads() -> None:
    """A page that names a device as people write it is as it was where another has a new name."""
    reads.begin()
    assert catalog().lookup("accelerators", "4090 24GB") == "rtx-4090"
    found = reads.noted()
    state = reads.state(found)
    edited("accelerators", "l4-24gb", name="Another name")
    assert reads.state(found) == state
    edited("accelerators", "rtx-4090", name="Another name", aliases=[])
    assert reads.state(found) != state


def test_a_number_of_what_does_not_fit_reads_no_other_device() -> None:
    """Which other devices would hold it is in no number of the page."""
    reads.begin()
    number("headroom", model="llama-3.1-70b", weights="bf16", accelerator="rtx-4090", engine="vllm")
    assert reads.noted()["accelerators"] == ["rtx-4090"]


def test_a_claim_rests_on_what_its_check_reads() -> None:
    """And on no other claim."""
    reads.begin()
    claim_html("c033")
    assert reads.noted()["claims"] == ["c033"]


def test_what_is_kept_once_rests_on_what_was_read_before(tmp_path: Path) -> None:
    """A page that takes it rests on it, too; where an entry is another, it is made again."""
    made: list[int] = []

    def make() -> list[int]:
        made.append(int(catalog().model("llama-3.1-8b").config["hidden_size"]))  # type: ignore[call-overload]
        return list(made)

    reads.begin()
    assert kept.once("a", make) == kept.once("a", make) == [4096]
    reads.begin()
    assert kept.once("a", make) == [4096] and reads.noted() == {"models": ["llama-3.1-8b"]}
    edited("models", "llama-3.1-8b", note="Another.")
    reads.begin()
    assert kept.once("a", make) == [4096, 4096]
    assert kept.read(tmp_path / "none.json") is None


def test_a_page_takes_the_time_of_the_processor() -> None:
    """Which orders the next build; what has not been made yet is not known."""
    assert kept.seconds() == {}
    kept.begin_page()
    assert kept.note_seconds(SimpleNamespace(url="a/"), time.process_time()) > 0
    kept.tidy()
    assert kept.seconds()["a/"] > 0


def test_models_are_checked_anew_when_one_is_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for a device, whatever a build found of models then; a model that is wrong now is named."""
    checked: list[object] = []
    monkeypatch.setattr(kept, "wrong_models", lambda facts: checked.append(facts) or wrong_models(facts))
    for whole, edit in enumerate((("accelerators", "rtx-4090"), ("accelerators", "l4-24gb"))):
        monkeypatch.setattr(kept, "_whole", [str(whole)])
        edited(*edit, name="Another name")
        kept.check(catalog())
    assert len(checked) == 1
    monkeypatch.setattr(kept, "_whole", ["model"])
    edited("models", "llama-3.1-8b", config={"model_type": "not one"})
    with pytest.raises(CatalogError, match=r"llama-3\.1-8b"):
        kept.check(catalog())
