"""The catalogue of facts: accelerators, machines, links, prices, models, number formats and their sources.

`catalog()` loads it once. In the repository it is read from the TOML files under `data/`, and kept as checked JSON
until they are edited; a built copy of the package carries that JSON, which a browser reads without a TOML parser.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from calc.catalog.carried import carried, restored
from calc.catalog.check import Tables
from calc.catalog.checked import checked_tables
from calc.catalog.frameworks import Framework
from calc.catalog.grids import Grid
from calc.catalog.launchers import Launcher
from calc.catalog.loader import (
    DATA,
    fold,
    lookup_names,
    read_tables,
)
from calc.catalog.makers import MAKERS, make_mixture
from calc.catalog.records import (
    Accelerator,
    Coefficient,
    Engine,
    KernelFamily,
    KernelLaw,
    Link,
    Machine,
    Mixture,
    Model,
    NumberFormat,
    Price,
    Processor,
    Protocol,
    Source,
    WeightsFormat,
)
from calc.catalog.support import Support
from calc.errors import ScenarioError, nearest

if TYPE_CHECKING:
    from calc.catalog.claims import Claim, Term
    from calc.catalog.copies import Copy
    from calc.catalog.market_names import MarketNames, Reading
    from calc.catalog.model_names import ModelNames
    from calc.catalog.model_names import Reading as ModelReading
    from calc.catalog.runs import Law, Run

__all__ = ["Catalog", "catalog", "reload", "snapshot"]


DATED = (
    "models",
    "accelerators",
    "number_formats",
    "mixtures",
    "links",
    "protocols",
    "machines",
    "processors",
    "engines",
    "frameworks",
    "support",
)
MOST_LISTED = 40  # names in a message


class Catalog:
    """The loaded catalogue. Records are made when asked for, and found by any name that people write."""

    def __init__(self, tables: Tables, version: str = "") -> None:
        self._tables = tables
        self._records: dict[tuple[str, str], object] = {}
        self._names: dict[str, dict[str, str]] = {}
        self._market: MarketNames | None = None
        self.derived: dict[str, object] = {}  # what later layers made of the records, to be dropped with them
        self.version = version or version_of(tables)

    def ids(self, kind: str) -> list[str]:
        """Return the ids of a kind: "accelerators", "models", "number_formats", "mixtures", "engines" or "sources"."""
        return list(self._tables[kind])

    def kinds(self) -> list[str]:
        """Return the kinds of entries that there are, sources among them."""
        return list(self._tables)

    def entries(self, kind: str) -> Mapping[str, Mapping[str, object]]:
        """Return the checked entries of a kind as they were written, quantities in base units."""
        return self._tables[kind]

    def lookup(self, kind: str, name: str) -> str | None:
        """Return the id that `name` leads to, None where it leads to no entry."""
        if name in self._tables[kind]:
            return name
        if kind not in self._names:
            self._names[kind] = {
                fold(known): entry_id
                for entry_id, entry in self._tables[kind].items()
                for known in lookup_names(entry_id, entry)
            }
        return self._names[kind].get(fold(name))

    def find(self, kind: str, name: str, field: str, *others: str) -> str:
        """Return the id that `name` leads to; raises ScenarioError for `field` with the nearest known names.

        `others` are kinds whose names are allowed there as well.
        """
        found = self.lookup(kind, name)
        if found is not None:
            return found
        known = {
            shown: f"{listed}/{entry_id}"
            for listed in (kind, *others)
            for entry_id in self._tables[listed]
            for shown in (entry_id, self._shown(listed, entry_id))
        }
        where = " or ".join(listed.replace("_", " ") for listed in (kind, *others))
        hint = nearest(name, known, leads_to=known)
        if not hint and len(self._tables[kind]) <= MOST_LISTED:
            hint = f"; there are {', '.join(self._tables[kind])}"
        raise ScenarioError(field, f"{name!r:.80} is not in the catalogue of {where}{hint}")

    def reading(self, name: str) -> "Reading | None":
        """Return which accelerator a market name is read as and which others it fits, None where it fits none."""
        from calc.catalog.market_names import MarketNames, Reading, without_remarks  # only typed names need it

        listed = self.lookup("accelerators", name)
        if listed is not None and (name == listed or fold(name) == fold(self._shown("accelerators", listed))):
            return Reading(listed, ())
        if self._market is None:
            self._market = MarketNames(self._tables["accelerators"])
        read = self._market.read(name, listed or self.lookup("accelerators", without_remarks(name)))
        if listed is None or read is None:
            return read if listed is None else Reading(listed, ())
        return Reading(listed, tuple(other for other in (read.id, *read.others) if other != listed))

    def copied(self, name: str) -> "Copy | None":
        """Return the model that an unlisted repository holds by its name, None where the name is listed or unknown."""
        if self.lookup("models", name) is not None:
            return None
        from calc.catalog.copies import copied  # listed names need it not

        return copied(name, self._tables["models"], self.format_names)

    def named_format(self, name: str) -> "Copy | None":
        """Return what the name of a model's repository says of its number format, None where it says nothing.

        What the entry says of that repository comes first, and an id says nothing.
        """
        listed = self.lookup("models", name)
        if listed is None:
            return self.copied(name)
        if name == listed or name in self.model(listed).published:
            return None
        from calc.catalog.copies import Copy, said

        weights, why = said(name, self.format_names)
        return None if weights is None else Copy(listed, weights, why)

    def read_model_name(self, name: str) -> "ModelReading | None":
        """Return which model an unlisted name means by its words, and which others have them; None where none has."""
        if self.lookup("models", name) is not None:
            return None
        return self.model_names.read(name)

    @cached_property
    def model_names(self) -> "ModelNames":
        """What finds models by the words of their names."""
        from calc.catalog.model_names import ModelNames  # listed names need it not

        return ModelNames(self._tables["models"])

    @property
    def format_names(self) -> dict[str, str]:
        """What ends of repository names say: number formats by their suffixes, llama.cpp's mixtures by their names."""
        found = self.derived.get("format names")
        if not isinstance(found, dict):
            mixtures = {entry_id: entry_id for entry_id in self._tables["mixtures"]}
            ends = {
                str(end): entry_id
                for entry_id, entry in self._tables["number_formats"].items()
                for end in entry.get("suffixes", ())  # type: ignore[attr-defined]
            }
            found = self.derived["format names"] = mixtures | ends
        return found

    def _no_accelerator(self, name: str, field: str) -> str:
        """Raise ScenarioError for a name that fits no accelerator: its sizes where it fits but for one."""
        sizes = self._market.in_other_sizes(name) if self._market else []
        if sizes:
            known = ", ".join(self._shown("accelerators", entry_id) for entry_id in sizes)
            raise ScenarioError(field, f"{name!r:.80} is not in the catalogue with that memory; it has {known}")
        return self.find("accelerators", name, field)

    def _shown(self, kind: str, entry_id: str) -> str:
        return str(self._tables[kind][entry_id].get("name", entry_id))

    def _record(self, kind: str, entry_id: str) -> object:
        key = (kind, entry_id)
        if key not in self._records:
            self._records[key] = MAKERS[kind](entry_id, restored(kind, self._tables[kind][entry_id]))
        return self._records[key]

    def accelerator(self, name: str, field: str = "accelerator") -> Accelerator:
        """Return the accelerator of that id or market name."""
        entry_id = self.lookup("accelerators", name)
        if entry_id is None:
            read = self.reading(name)
            entry_id = read.id if read else self._no_accelerator(name, field)
        if entry_id not in self._tables["accelerators"]:
            return self._with_other_memory(entry_id)
        record = self._record("accelerators", entry_id)
        assert isinstance(record, Accelerator)
        return record

    def _with_other_memory(self, entry_id: str) -> Accelerator:
        """Return a chip as it is sold with other memory than its entry has."""
        from calc.catalog.makers import with_other_memory

        assert self._market is not None  # it has read the name
        base, size = self._market.variants[entry_id]
        pairs = dict(self._tables["accelerators"][base]["other_memory"])  # type: ignore[call-overload]
        return with_other_memory(self.accelerator(base), entry_id, size, pairs[size])

    def model(self, name: str, field: str = "model") -> Model:
        """Return the model of that id, name or Hugging Face repository."""
        listed = self.lookup("models", name)
        read = None if listed else self.copied(name) or self.read_model_name(name)
        entry_id = listed or (read.id if read else self.find("models", name, field))
        record = self._record("models", entry_id)
        assert isinstance(record, Model)
        return record

    def number_format(self, name: str, field: str = "weights") -> NumberFormat:
        """Return the number format of that id or name."""
        record = self._record("number_formats", self.find("number_formats", name, field))
        assert isinstance(record, NumberFormat)
        return record

    def mixture(self, name: str, field: str = "weights") -> Mixture:
        """Return the mixture of that id or name."""
        entry_id = self.find("mixtures", name, field)
        key = ("mixtures", entry_id)
        if key not in self._records:
            self._records[key] = make_mixture(
                entry_id, restored("mixtures", self._tables["mixtures"][entry_id]), self.number_format
            )
        record = self._records[key]
        assert isinstance(record, Mixture)
        return record

    def engine(self, name: str, field: str = "engine") -> Engine:
        """Return the engine of that id or name."""
        record = self._record("engines", self.find("engines", name, field))
        assert isinstance(record, Engine)
        return record

    def framework(self, name: str, field: str = "framework") -> Framework:
        """Return the framework of training of that id or name."""
        record = self._record("frameworks", self.find("frameworks", name, field))
        assert isinstance(record, Framework)
        return record

    def grid(self, name: str, field: str = "grid") -> Grid:
        """Return the grid of that id or name."""
        record = self._record("grids", self.find("grids", name, field))
        assert isinstance(record, Grid)
        return record

    def launcher(self, name: str, field: str = "engine") -> Launcher:
        """Return how the engine of that id is started."""
        record = self._record("launchers", self.find("launchers", name, field))
        assert isinstance(record, Launcher)
        return record

    @property
    def training_step(self) -> Engine:
        """What training reaches of a device's rates."""
        record = self._record("trainers", "training-step")
        assert isinstance(record, Engine)
        return record

    def weights_format(self, name: str, field: str = "weights") -> WeightsFormat:
        """Return what a whole model is stored in by that name: one of llama.cpp's mixtures, or a number format.

        Names that llama.cpp gives to both, such as Q4_0, mean the mixture: such a file has other types in it too.
        """
        if self.lookup("mixtures", name) is not None:
            return self.mixture(name, field)
        self.find("number_formats", name, field, "mixtures")
        return self.number_format(name, field)

    def source(self, source: str) -> Source:
        """Return the source that a fact names: an entry under sources/, or the page at an address."""
        if source.startswith("https://"):
            return Source(source, source.removeprefix("https://"), "", "documentation", url=source, note="", checked="")
        record = self._record("sources", source)
        assert isinstance(record, Source)
        return record

    def coefficient(self, name: str) -> Coefficient:
        """Return the measured coefficient of that id."""
        record = self._record("coefficients", self.find("coefficients", name, "coefficient"))
        assert isinstance(record, Coefficient)
        return record

    def claim(self, name: str) -> "Claim":
        """Return the claim of that id; the browser's copy has none."""
        from calc.catalog.claims import make_claim

        entry_id = self.find("claims", name, "claim")
        return make_claim(entry_id, self._tables["claims"][entry_id])

    def term(self, name: str) -> "Term":
        """Return the term of that name; the browser's copy has none."""
        from calc.catalog.claims import make_term

        entry_id = self.find("glossary", name, "term")
        return make_term(entry_id, self._tables["glossary"][entry_id])

    def machine(self, name: str, field: str = "machine") -> Machine:
        """Return the machine of that id or market name."""
        record = self._record("machines", self.find("machines", name, field))
        assert isinstance(record, Machine)
        return record

    def link(self, name: str, field: str = "link") -> Link:
        """Return the link of that id or name."""
        record = self._record("links", self.find("links", name, field))
        assert isinstance(record, Link)
        return record

    def support(self, engine: str) -> list[Support]:
        """Return what is known of what an engine runs."""
        found = self.derived.get(f"support {engine}")
        if not isinstance(found, list):
            listed = (self._record("support", entry_id) for entry_id in self.ids("support"))
            found = [item for item in listed if isinstance(item, Support) and item.engine == engine]
            self.derived[f"support {engine}"] = found
        return found

    def laws(self) -> "list[Law]":
        """Return the scaling laws, in the order in which they were published."""
        from calc.catalog.runs import make_law

        return [make_law(law_id, entry) for law_id, entry in self._tables["laws"].items()]

    def kernel_family(self, name: str) -> KernelFamily:
        """Return the family of devices of that id."""
        record = self._record("kernel_families", name)
        assert isinstance(record, KernelFamily)
        return record

    def kernel_families(self) -> Iterator[KernelFamily]:
        """Iterate over the families of devices that kernels run alike on."""
        return (self.kernel_family(entry_id) for entry_id in self.ids("kernel_families"))

    def kernel_laws(self) -> Iterator[KernelLaw]:
        """Iterate over the laws of kernels."""
        for entry_id in self.ids("kernels"):
            record = self._record("kernels", entry_id)
            assert isinstance(record, KernelLaw)
            yield record

    def runs(self) -> "list[Run]":
        """Return the published training runs; a built copy of the package has none."""
        from calc.catalog.runs import make_run

        return [make_run(run_id, entry) for run_id, entry in self._tables.get("runs", {}).items()]

    def processor(self, name: str, field: str = "processor") -> Processor:
        """Return the processor of that id or name."""
        record = self._record("processors", self.find("processors", name, field))
        assert isinstance(record, Processor)
        return record

    def accelerators(self) -> Iterator[Accelerator]:
        """Iterate over all accelerators."""
        return (self.accelerator(entry_id) for entry_id in self.ids("accelerators"))

    def claims(self) -> Iterator["Claim"]:
        """Iterate over all claims."""
        return (self.claim(entry_id) for entry_id in self.ids("claims"))

    def terms(self) -> Iterator["Term"]:
        """Iterate over all terms of the glossary."""
        return (self.term(entry_id) for entry_id in self.ids("glossary"))

    def sources(self) -> Iterator[Source]:
        """Iterate over all sources that have an entry."""
        return (self.source(entry_id) for entry_id in self.ids("sources"))

    def machines(self) -> Iterator[Machine]:
        """Iterate over all machines."""
        return (self.machine(entry_id) for entry_id in self.ids("machines"))

    def processors(self) -> Iterator[Processor]:
        """Iterate over all processors."""
        return (self.processor(entry_id) for entry_id in self.ids("processors"))

    def links(self) -> Iterator[Link]:
        """Iterate over all links."""
        return (self.link(entry_id) for entry_id in self.ids("links"))

    def protocols(self) -> Iterator[Protocol]:
        """Iterate over the ways in which messages are sent."""
        for entry_id in self.ids("protocols"):
            record = self._record("protocols", entry_id)
            assert isinstance(record, Protocol)
            yield record

    def prices(self, of: str = "", item: str = "") -> list[Price]:
        """Return all prices, or those of "accelerators", "machines" or "electricity", or of one item; newest first."""
        records = [self._record("prices", entry_id) for entry_id in self.priced.get((of, item), ())]
        return sorted(
            (record for record in records if isinstance(record, Price)), key=lambda record: record.checked, reverse=True
        )

    @property
    def priced(self) -> dict[tuple[str, str], list[str]]:
        """Prices by what they are of and by item, either of which may be left open."""
        known = self.derived.get("priced")
        if isinstance(known, dict):
            return known
        found: dict[tuple[str, str], list[str]] = {}
        for entry_id, entry in self._tables["prices"].items():
            of, item = str(entry["of"]), str(entry.get("item", ""))
            for key in {(of, item), (of, ""), ("", item), ("", "")}:
                found.setdefault(key, []).append(entry_id)
        self.derived["priced"] = found
        return found

    def models(self) -> Iterator[Model]:
        """Iterate over all models."""
        return (self.model(entry_id) for entry_id in self.ids("models"))

    def number_formats(self) -> Iterator[NumberFormat]:
        """Iterate over all number formats."""
        return (self.number_format(entry_id) for entry_id in self.ids("number_formats"))

    def engines(self) -> Iterator[Engine]:
        """Iterate over all engines."""
        return (self.engine(entry_id) for entry_id in self.ids("engines"))

    def mixtures(self) -> Iterator[Mixture]:
        """Iterate over all mixtures."""
        return (self.mixture(entry_id) for entry_id in self.ids("mixtures"))

    def weights_formats(self) -> Iterator[WeightsFormat]:
        """Iterate over what a whole model is stored in: number formats that are no type of llama.cpp, and mixtures."""
        yield from (record for record in self.number_formats() if self.lookup("mixtures", record.id) is None)
        yield from self.mixtures()


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    """Return the catalogue, loaded once. Raises CatalogError with every mistake in it."""
    built = built_tables()
    return Catalog(checked_tables()) if built is None else Catalog(**json.loads(built))


def built_tables() -> bytes | None:
    """Return the tables that a built copy of the package carries, maybe in an archive; None in the repository."""
    loader = __spec__.loader if __spec__ else None
    try:
        return loader.get_data(str(DATA / "catalog.json"))  # type: ignore[union-attr,no-any-return]
    except OSError:
        return None


def reload() -> Catalog:
    """Return the catalogue, read again after its files changed."""
    catalog.cache_clear()
    return catalog()


def snapshot(root: Path = DATA) -> str:
    """Return the checked catalogue as JSON, for a built copy of the package."""
    tables = read_tables(root)
    return carried(tables, version_of(tables))


def version_of(tables: Tables) -> str:
    """Return the version of the facts: the last day on which one of them was checked."""
    return max(str(entry["checked"]) for kind in DATED for entry in tables[kind].values())
