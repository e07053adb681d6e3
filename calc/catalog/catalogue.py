"""The loaded catalogue: a record of each entry by any name that people write, and all records of a kind."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from calc.catalog.carried import restored, version_of
from calc.catalog.entries import Entry, Tables
from calc.catalog.frameworks import Framework
from calc.catalog.grids import Grid
from calc.catalog.launchers import Launcher
from calc.catalog.makers import MAKERS, make_mixture
from calc.catalog.names import Names
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

if TYPE_CHECKING:
    from calc.catalog.claims import Claim, Term
    from calc.catalog.runs import Law, Run

T = TypeVar("T")


def by_item(prices: Mapping[str, Entry]) -> dict[tuple[str, str], list[str]]:
    """Return the ids of prices by what they are of and by item, either of which may be left open."""
    found: dict[tuple[str, str], list[str]] = {}
    for entry_id, entry in prices.items():
        of, item = str(entry["of"]), str(entry.get("item", ""))
        for key in {(of, item), (of, ""), ("", item), ("", "")}:
            found.setdefault(key, []).append(entry_id)
    return found


class Catalog(Names):
    """The loaded catalogue. Records are made when they are asked for."""

    def __init__(
        self, tables: Tables, version: str = "", finetunes: Callable[[], Mapping[str, Entry]] | None = None
    ) -> None:
        super().__init__(tables, finetunes)
        self._records: dict[tuple[str, str], object] = {}
        self.version = version or version_of(tables)

    def complete(self) -> bool:
        """Add the finetunes that are not in the tables, and make models anew; return whether there were any."""
        added = super().complete()
        if added:
            self._records = {key: record for key, record in self._records.items() if key[0] != "models"}
        return added

    def _record(self, kind: str, entry_id: str) -> object:
        key = (kind, entry_id)
        if key not in self._records:
            self._records[key] = MAKERS[kind](entry_id, restored(kind, self._tables[kind][entry_id]))
        return self._records[key]

    def _found(self, kind: str, made: type[T], name: str, *, field: str) -> T:
        record = self._records.get((kind, name)) or self._record(kind, self.find(kind, name, field))
        assert isinstance(record, made)
        return record

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

        base, size = self.market_names.variants[entry_id]
        pairs = dict(self._tables["accelerators"][base]["other_memory"])  # type: ignore[call-overload]
        return with_other_memory(self.accelerator(base), entry_id, size, pairs[size])

    def model(self, name: str, field: str = "model") -> Model:
        """Return the model of that id, name or Hugging Face repository."""
        listed = self.listed_model(name)
        read = None if listed else self.copied(name) or self.read_model_name(name)
        entry_id = listed or (read.id if read else self.find("models", name, field))
        record = self._record("models", entry_id)
        assert isinstance(record, Model)
        return record

    def number_format(self, name: str, field: str = "weights") -> NumberFormat:
        """Return the number format of that id or name."""
        return self._found("number_formats", NumberFormat, name, field=field)

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
        return self._found("engines", Engine, name, field=field)

    def framework(self, name: str, field: str = "framework") -> Framework:
        """Return the framework of training of that id or name."""
        return self._found("frameworks", Framework, name, field=field)

    def grid(self, name: str, field: str = "grid") -> Grid:
        """Return the grid of that id or name."""
        return self._found("grids", Grid, name, field=field)

    def launcher(self, name: str, field: str = "engine") -> Launcher:
        """Return how the engine of that id is started."""
        return self._found("launchers", Launcher, name, field=field)

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
        return self._found("coefficients", Coefficient, name, field="coefficient")

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
        return self._found("machines", Machine, name, field=field)

    def link(self, name: str, field: str = "link") -> Link:
        """Return the link of that id or name."""
        return self._found("links", Link, name, field=field)

    def support(self, engine: str) -> list[Support]:
        """Return what is known of what an engine runs."""
        return self.once(f"support {engine}", lambda: self._support(engine))

    def _support(self, engine: str) -> list[Support]:
        listed = (self._record("support", entry_id) for entry_id in self.ids("support"))
        return [fact for item in listed if isinstance(item, Support) and item.engine == engine for fact in item.each()]

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
        return self._found("processors", Processor, name, field=field)

    def accelerators(self) -> Iterator[Accelerator]:
        """Iterate over all accelerators."""
        records = (self._record("accelerators", entry_id) for entry_id in self.ids("accelerators"))
        return (record for record in records if isinstance(record, Accelerator))

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
        """Return all prices, or those of "accelerators", "machines" or another kind, or of one item; newest first."""
        records = [self._record("prices", entry_id) for entry_id in self.priced.get((of, item), ())]
        return sorted(
            (record for record in records if isinstance(record, Price)), key=lambda record: record.checked, reverse=True
        )

    @property
    def priced(self) -> Mapping[tuple[str, str], list[str]]:
        """Prices by what they are of and by item, either of which may be left open."""
        return self.once("priced", lambda: by_item(self._tables["prices"]))

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
