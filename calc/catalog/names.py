"""Which entry of the catalogue a name leads to: ids, market names, repositories, copies of repositories."""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from calc.catalog.entries import Entry, Tables, compared, fold, lookup_names
from calc.errors import ScenarioError, WrongValueError, nearest

if TYPE_CHECKING:
    from calc.catalog.copies import BareNames, Copy
    from calc.catalog.market_names import MarketNames, Reading
    from calc.catalog.model_names import ModelNames
    from calc.catalog.model_names import Reading as ModelReading

T = TypeVar("T")
MOST_LISTED = 40  # names in a message
MOST_READ = 256  # names whose reading is remembered: one scenario has few, and its answers ask again and again


def leading(entries: Mapping[str, Entry]) -> dict[str, str]:
    """Return the id that each name of some entries leads to, by names as they are compared."""
    return {compared(known): entry_id for entry_id, entry in entries.items() for known in lookup_names(entry_id, entry)}


class Names:
    """The tables of the catalogue, and what finds their entries by any name that people write."""

    def __init__(self, tables: Tables, finetunes: Callable[[], Mapping[str, Entry]] | None = None) -> None:
        self._tables = tables
        self._finetunes = finetunes  # of models, where they are not in the tables: read once nothing else knows a name
        self.leading: dict[str, Mapping[str, str]] = {}  # by kind, as soon as a name is asked for
        self.derived: dict[str, object] = {}  # what later layers made of the records, to be dropped with them
        self.readings: dict[str, Reading | None] = {}  # of market names
        self.led: dict[tuple[str, str], str | None] = {}  # ids by kind and name, of names that are no ids

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return what a later layer makes of the records under a name of its own, made once for the catalogue."""
        if name not in self.derived:
            self.derived[name] = make()
        return cast(T, self.derived[name])

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
        if (kind, name) not in self.led:
            if len(self.led) >= MOST_READ:
                self.led.clear()
            self.led[kind, name] = self._lead(kind, name)
        return self.led[kind, name]

    def _lead(self, kind: str, name: str) -> str | None:
        if kind not in self.leading:
            self.leading[kind] = leading(self._tables[kind])
        names = self.leading[kind]
        found = names.get(compared(name)) or names.get(fold(name))
        return None if found and kind == "models" and not self._has_size(found, name) else found

    def _has_size(self, entry_id: str, name: str) -> bool:
        """Return whether a model's names have a size that a name says, if it says any: Gemma 12B is no Gemma 1 2B."""
        from calc.catalog.model_names import SIZE, words_of

        sizes = set(filter(SIZE.fullmatch, words_of(name)))
        known = (words_of(listed) for listed in lookup_names(entry_id, self._tables["models"][entry_id]))
        return not sizes or not sizes.isdisjoint(frozenset[str]().union(*known))

    def listed_model(self, name: str) -> str | None:
        """Return the id of the model that lists a name, None where none does; finetunes are read only for that."""
        found = self.lookup("models", name)
        if found is None and self._finetunes and not self._known(name) and self.complete():
            found = self.lookup("models", name)
        return found

    def _known(self, name: str) -> bool:
        """Return whether an unlisted name is that of a copy, or has the words of a model's name."""
        from calc.catalog.copies import copied  # listed names need it not

        copy = copied(name, self.bare_names, self.format_names)
        return (copy is not None and not copy.beside) or self.model_names.read(name) is not None

    def complete(self) -> bool:
        """Add the finetunes that are not in the tables; return whether there were any."""
        read, self._finetunes = self._finetunes, None
        models, found = self._tables["models"], read() if read else {}
        for entry_id, fields in found.items():
            models[entry_id] = models[entry_id] | fields
        if found:
            self.leading.pop("models", None)
            self.led.clear()
            for derived in ("model_names", "bare_names"):
                self.__dict__.pop(derived, None)
        return bool(found)

    def find(self, kind: str, name: str, field: str, *others: str) -> str:
        """Return the id that `name` leads to; raises ScenarioError for `field` with the nearest known names.

        `others` are kinds whose names are allowed there as well.
        """
        found = self.lookup(kind, name)
        if found is not None:
            return found
        if kind == "models":
            from calc.catalog.other_kinds import other_kind, shape_unsaid

            if unsaid := shape_unsaid(name):
                message = f"is known, but no source says {unsaid}; give the content of its config.json"
                raise ScenarioError(field, f"{name!r:.80} {message}")
            if kind_of := other_kind(name):
                known_kinds = "the guide models transformers, networks with states and some of convolutions"
                raise ScenarioError(
                    field, f"{name!r:.80} is not in the catalogue: by its name it {kind_of}; {known_kinds}"
                )
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
        raise WrongValueError(field, f"{name!r:.80} is not in the catalogue of {where}{hint}")

    def reading(self, name: str) -> "Reading | None":
        """Return which accelerator a market name is read as and which others it fits, None where it fits none."""
        if name not in self.readings:
            if len(self.readings) >= MOST_READ:
                self.readings.clear()
            self.readings[name] = self._read(name)
        return self.readings[name]

    def _read(self, name: str) -> "Reading | None":
        from calc.catalog.market_names import Reading, without_remarks  # only typed names need it

        listed = self.lookup("accelerators", name)
        if listed is not None and (name == listed or fold(name) == fold(self._shown("accelerators", listed))):
            return Reading(listed, ())
        read = self.market_names.read(name, listed or self.lookup("accelerators", without_remarks(name)))
        if listed is None or read is None:
            return read if listed is None else Reading(listed, ())
        return Reading(listed, tuple(other for other in (read.id, *read.others) if other != listed))

    def copied(self, name: str) -> "Copy | None":
        """Return the model that an unlisted repository holds by its name, None where the name is listed or unknown."""
        if self.listed_model(name) is not None:
            return None
        from calc.catalog.copies import Copy, as_published, copied  # listed names need it not
        from calc.catalog.image_names import image_model

        entries, formats = self._tables["models"], self.format_names
        found = copied(name, self.bare_names, formats)
        image = image_model(name.casefold().rpartition("/")[2]) if found is None or found.beside else None
        if image and image.id in entries:
            return Copy(image.id, None, "", head=image.head)
        if found is None:
            name = as_published(name)
            found = copied(name, self.bare_names, formats)
        if found and found.beside and self.model_names.read(name) is not None:
            return None
        # What stands beside a finetune's base was looked at: "laion2b" is no size of the model.
        return found if found and (found.beside or self._has_size(found.id, name)) else None

    def named_format(self, name: str) -> "Copy | None":
        """Return what the name of a model's repository says of its number format, None where it says nothing.

        What the entry says of that repository comes first, and an id says nothing.
        """
        listed = self.listed_model(name)
        if listed is None:
            return self.copied(name)
        if name == listed or name in self._tables["models"][listed].get("published", ()):  # type: ignore[operator]
            return None
        from calc.catalog.copies import Copy, said

        weights, why = said(name, self.format_names)
        return None if weights is None else Copy(listed, weights, why)

    def read_model_name(self, name: str) -> "ModelReading | None":
        """Return which model an unlisted name means by its words, and which others have them; None where none has."""
        if self.listed_model(name) is not None:
            return None
        return self.model_names.read(name)

    def variant(self, name: str) -> str:
        """Return the repository of the variant that a model's name leads to; empty where it is the model itself."""
        if name in self._tables["models"]:  # an id
            return ""
        listed = self.listed_model(name)
        if listed is None:
            read = self.copied(name) or self.read_model_name(name)
            return read.variant if read else ""
        variants = self._tables["models"][listed].get("variants", ())
        assert isinstance(variants, Collection)
        folded = fold(name)  # of the repository, or of an alias that is spelled as it
        if folded == fold(listed):  # the id, however it is spelled
            return ""
        exact = (known for known in variants if folded in (fold(known), fold(known.rpartition("/")[2])))
        return next(exact, "") or ("" if "/" in name else self.model_names.called(listed, name))

    @cached_property
    def model_names(self) -> "ModelNames":
        """What finds models by the words of their names."""
        from calc.catalog.model_names import ModelNames  # listed names need it not

        return ModelNames(self._tables["models"], self._tables["measured_models"])

    @cached_property
    def bare_names(self) -> "BareNames":
        """What finds models by the names of repositories, whoever has a copy."""
        from calc.catalog.copies import BareNames  # listed names need it not

        return BareNames(self._tables["models"])

    @cached_property
    def market_names(self) -> "MarketNames":
        """What finds accelerators by the words of their names."""
        from calc.catalog.market_names import MarketNames  # only typed names need it

        return MarketNames(self._tables["accelerators"])

    @property
    def format_names(self) -> dict[str, str]:
        """What ends of repository names say: number formats by their suffixes, llama.cpp's mixtures by their names."""
        return self.once("format names", self._format_names)

    def _format_names(self) -> dict[str, str]:
        mixtures = {entry_id: entry_id for entry_id in self._tables["mixtures"]}
        return mixtures | {
            str(end): entry_id
            for entry_id, entry in self._tables["number_formats"].items()
            for end in entry.get("suffixes", ())  # type: ignore[attr-defined]
        }

    def _no_accelerator(self, name: str, field: str) -> str:
        """Raise ScenarioError for a name that fits no accelerator: sizes it has, or a machine's devices."""
        machine = self._tables["machines"].get(self.lookup("machines", name) or "", {})
        if "accelerator" in machine:
            within = f"{machine['devices']} × {self._shown('accelerators', str(machine['accelerator']))}"
            raise ScenarioError(field, f"{name!r:.80} is a machine with {within}: ask for these")
        if "claim" in machine:
            raise ScenarioError(field, f"{name!r:.80} is known by its maker's claim alone: {machine['claim']}")
        sizes = self.market_names.in_other_sizes(name)
        if sizes:
            known = ", ".join(self._shown("accelerators", entry_id) for entry_id in sizes)
            raise ScenarioError(field, f"{name!r:.80} is not in the catalogue with that memory; it has {known}")
        return self.find("accelerators", name, field)

    def _shown(self, kind: str, entry_id: str) -> str:
        return str(self._tables[kind][entry_id].get("name", entry_id))
