"""Programs that run models, by version, and the laws of their kernels."""

import re
from collections.abc import Mapping
from math import inf
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")


class EngineCoefficient(NamedTuple):
    """A number that an engine's code sets or that measurements gave: where it is from, and what it stands for."""

    value: float
    unit: str
    versions: str
    rows: tuple[str, ...]  # ids of the measured rows that it was estimated from
    source: str
    checked: str
    reason: str


class Same:
    """Coefficients that are told apart by which they are, not by what they say: they are many, and nobody changes them.

    What follows from them is kept under one of these, which looks at none.
    """

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values

    def __hash__(self) -> int:
        """Hash which they are."""
        return id(self.values)

    def __eq__(self, other: object) -> bool:
        """Return whether the other's are the same ones."""
        return isinstance(other, Same) and other.values is self.values


class Packaged(NamedTuple):
    """The version of a program around an engine, with numbers of its own, that first carried an era of it."""

    version: str
    dated: str


class Era(NamedTuple):
    """Versions of an engine that work alike."""

    id: str  # as coefficients name it
    name: str
    first: str  # version
    measured: str  # versions of its measurements, empty where there are none
    reason: str
    source: str
    dated: str = ""  # when that came out: a day, or a month; empty for the oldest era
    later: Mapping[str, str] = {}  # by maker, the version that it began with on devices that had to wait for it
    packaged: Packaged | None = None  # None: no program that numbers itself otherwise is known to carry it

    def reached(self, version: tuple[int, ...], maker: str) -> bool:
        """Return whether a version is of this era or a later one, on a maker's devices."""
        return version >= version_numbers(self.later.get(maker, self.first))


class TowerBudget(NamedTuple):
    """How much an engine shows a family's tower before it serves."""

    image_tokens: int  # of the language model, of the largest image
    patches: int  # that one of these tokens is made of
    source: str
    video_tokens: int = 0  # of the longest video; 0 where images are larger
    pair_tokens: int = 0  # of the frames that it grows by, two as a rule
    widths: int = 0  # times its width that attention works on for each patch, where it is not the engine's coefficient
    kept_tokens: int = 0  # whose outputs are kept where videos are shown, if more than it is shown
    ended: str = ""  # the version that first showed it no more, within the era that it is named for; empty: none

    def shown_by(self, version: tuple[int, ...]) -> bool:
        """Return whether a version shows this; without its numbers it is as of the era."""
        return not (version and self.ended) or version < version_numbers(self.ended)


def version_numbers(version: str) -> tuple[int, ...]:
    """Return a version's numbers, to be compared.

    >>> version_numbers("0.19.0"), version_numbers("b9849")
    ((0, 19, 0), (9849,))
    """
    return tuple(int(number) for number in re.findall(r"\d+", version))


CAPTURED = "captured_sequences"  # for how many sequences graphs are recorded, where it does not go by the device
# By their beginnings: what recorded graphs hold and spare, and what says for how many sequences they are.
OF_GRAPHS = ("cuda_graphs", "cuda_graph_layer", CAPTURED)
LARGEST_GRAPHS = (CAPTURED, "graph_sequences")
UNCOMPILED = "launch_s_uncompiled"  # of an engine that without graphs runs PyTorch kernel by kernel
OWN_CHOICE = -1
OF_TRITON = frozenset(("bf16", "fp8", "fp8-block"))  # kernels of routed experts that Triton has: none of 4 bit


Change = Literal[
    "cuts_prompts",  # that are long, into pieces
    "counts_unused",  # blocks of the allocator too, as used by a profiling run
    "counts_tensors",  # alone again
    "caches_latents",  # as they are, and not keys and values of all heads
    "caches_states",  # in the blocks of the cache: each sequence that may run had its own set aside beside it
    "attends_in_tiles",  # without being told, and stores no scores
    "runs_experts_by_triton",  # in MXFP4 on Hopper, whoever installed what
    "packs_pages",  # of compressed layers side by side in a block
    "overlaps_steps",  # schedules one while another runs, and blocks of both are taken
    "sets_graphs_aside",  # as many bytes as they take, and not fewer
    "keeps_states_of_beginnings",  # for sequences that begin alike, where nothing else is said
    "counts_graphs_of_second_runner",
    "leaves_more_on_larger",  # devices than 80 GiB, beside its share
    "looks_at_towers",  # to say what room a model that sees needs
    "rules_its_share",  # of the device by chunk, graphs and ranks
    "sends_tokens",  # to their experts on x86, too: all ranks of experts had got those of all replicas
]


class Engine(NamedTuple):
    """A program that runs models, with what it takes on top of the mathematics."""

    id: str
    name: str
    aliases: tuple[str, ...]
    versions: str
    summary: str
    usual_on: tuple[str, ...]  # segments of devices on which most people take it
    formats: tuple[str, ...]  # number formats that its users go down to, one after the other
    drafters: tuple[str, ...]  # ways to draft tokens ahead that it has
    platforms: str  # the source that lists the devices it runs on
    source: str
    checked: str
    coefficients: dict[str, EngineCoefficient]
    values: dict[str, float]  # the coefficients' values alone, in base units
    eras: tuple[Era, ...] = ()  # oldest first
    era: str = ""  # the one that is asked of
    version: str = ""  # the one that is asked of; empty for the newest
    since: Mapping[Change, str] = {}  # the version that first did it; what is not named all do
    fetched: str = ""  # the number format that it fetches of a model that is named without one
    graphs: int = OWN_CHOICE  # sequences of the largest decoding step that it records; 0: none
    backends: Mapping[str, tuple[str, ...]] = {}  # by maker or architecture, what kernels are of, the usual one first
    backend: str = ""  # the one that is asked of; empty for the usual one of the devices' maker
    towers: Mapping[str, TowerBudget] = {}  # by family, where it measures what sees before it serves
    window_pools: tuple[str, ...] = ()  # families of which layers with a window have a pool of their own
    compressed_pages: tuple[str, ...] = ()  # families of which entries, windows and states share blocks of the cache
    family_slots: Mapping[str, int] = {}  # by family, sequences that all data ranks work on, where it is another number
    second_runner: Mapping[str, str] = {}  # by family, or for all that are dense, the version that first ran it anew
    library_experts: Mapping[str, list[str]] = {}  # by family, kernels of routed experts that it takes from a library
    triton_attention: Mapping[str, list[str]] = {}  # by family, the classes of devices on which Triton's kernels attend
    stepwise_choice: Mapping[str, list[str]] = {}  # the same on which several kernels choose a token's experts
    tuned_products: Mapping[str, list[str]] = {}  # by class of devices, families, or those of a width, in a library's

    def of_version(self, version: str | None = None, maker: str = "") -> "Engine":
        """Return the engine in the era of a version on a maker's devices; None: the newest that has measurements."""
        if not self.eras:
            return self._replace(version=version or "")
        version = self.carried_by(version)
        numbers = version_numbers(version or "")
        known = (era.id for era in reversed(self.eras) if (era.reached(numbers, maker) if version else era.measured))
        found = self._replace(era=next(known, self.eras[0].id), version=version or "")
        towers = found.as_of_era({name: tower for name, tower in self.towers.items() if tower.shown_by(numbers)})
        return found._replace(coefficients=found.as_of_era(self.coefficients), towers=towers).valued(self.values)

    def backends_on(self, architecture: str, maker: str) -> tuple[str, ...]:
        """Return whose kernels the engine can take on a maker's devices, the usual first; none without a choice."""
        return self.backends.get(architecture, self.backends.get(maker, ()))

    def named_backend(self, architecture: str, maker: str, name: str = "") -> str:
        """Return a back end, or the usual one of an architecture; empty where plain coefficients are of it.

        Those are of the usual one of the maker, or of the architecture alone where the maker has no choice.
        """
        name = name or next(iter(self.backends_on(architecture, maker)), "")
        plain = self.backends.get(maker, self.backends.get(architecture, ("",)))[0]
        return "" if name == plain else name

    def current_on(self, day: str, *, packaged: bool = False) -> str:
        """Return the first version of the era that an engine was in on a day; empty without eras.

        A month alone is its middle: half of its days are later.
        `packaged`: of what the program around it carried then.
        """
        day += "-15" if len(day) == len("2026-01") else ""
        if packaged:
            known = [era.first for era in self.eras if era.packaged and era.packaged.dated <= day]
        else:
            known = [era.first for era in self.eras if era.dated <= day]
        return known[-1] if known else ""

    def carried_by(self, version: str | None) -> str | None:
        """Return the first version of the era that a version of a program around the engine carries; else as it is.

        Such programs count from 0, where their engine counts its builds.
        """
        numbers = version_numbers(version or "")
        known = [era for era in self.eras if era.packaged and version_numbers(era.packaged.version) <= numbers]
        if known and numbers < version_numbers(self.eras[0].first):
            return known[-1].first
        return version

    @property
    def from_era(self) -> tuple[str, ...]:
        """The ids of the engine's era and of those after it; none where no era is asked of."""
        known = tuple(era.id for era in self.eras)
        return known[known.index(self.era) :] if self.era else ()

    def as_of_era(self, named: Mapping[str, T]) -> dict[str, T]:
        """Return what is named, as of the engine's era: of what changed, the first from there on.

        `name@era` holds for an era and those before it that name none.
        """
        found = dict(named)
        for era in reversed(self.from_era):
            end = f"@{era}"
            found |= {name.removesuffix(end): value for name, value in named.items() if name.endswith(end)}
        return found

    def one_as_of_era(self, named: Mapping[str, T], name: str) -> T | None:
        """Return what has one of these names, as of the engine's era; None where nothing has."""
        known = (f"{name}@{era}" for era in self.from_era)
        return next((named[key] for key in known if key in named), named.get(name))

    def valued(self, values: Mapping[str, float]) -> "Engine":
        """Return the engine with other values, as of its era, and as of the graphs that it records.

        Without any, none holds memory or spares launches, and an engine that compiles where it records does not.
        """
        found = self.as_of_era(values)
        if self.graphs != OWN_CHOICE:
            names = LARGEST_GRAPHS if self.graphs else OF_GRAPHS
            found |= {name: float(self.graphs) for name in (CAPTURED, *found) if name.startswith(names)}
        if not self.graphs and UNCOMPILED in found:
            found["launch_s"] = found[UNCOMPILED]
        if self.lacks("sends_tokens"):
            found["gathers_tokens"] = 1.0
        return self._replace(values=found)

    def coefficient(self, name: str) -> EngineCoefficient:
        """Return a coefficient with its source, as of the engine's era."""
        return self.coefficients[name]

    def triton_experts(self, family: str) -> frozenset[str]:
        """Return the kernels of a family's routed experts that are Triton's where others' come from a library."""
        library = self.library_experts
        return OF_TRITON.difference(self.one_as_of_era(library, family) or ()) if library else frozenset()

    def attends_by_triton(self, family: str, classes: tuple[str, ...]) -> bool:
        """Return whether a family's attention is Triton's on a device of these classes, where nothing else is said."""
        return not set(classes).isdisjoint(self.one_as_of_era(self.triton_attention, family) or ())

    def chooses_in_steps(self, family: str, classes: tuple[str, ...]) -> bool:
        """Return whether several kernels choose the experts of a family's tokens on a device of these classes."""
        return not set(classes).isdisjoint(self.one_as_of_era(self.stepwise_choice, family) or ())

    def lacks_tuning(self, family: str, width: int, classes: tuple[str, ...]) -> bool:
        """Return whether products are of a library that was tuned for other models than a family's of this width."""
        listed = (self.one_as_of_era(self.tuned_products, known) for known in classes)
        tuned = next((families for families in listed if families is not None), None)
        return tuned is not None and family not in tuned and f"{family} {width}" not in tuned

    @property
    def is_timed(self) -> bool:
        """Whether measurements say how fast it is."""
        return "weights_factor" in self.values

    @property
    def splits_layers(self) -> bool:
        """Whether the engine gives each device whole layers, unless it is told to divide each of them."""
        return bool(self.values.get("splits_layers"))

    @property
    def most_devices(self) -> float:
        """The devices that a model is divided over at most."""
        return self.values.get("most_devices", inf)

    def lacks(self, change: Change) -> bool:
        """Return whether a version is asked for that came before the first one that does it so."""
        return self.before(self.since.get(change, ""))

    def before(self, first: str) -> bool:
        """Return whether a version is asked for that came before the first one that does something."""
        return bool(first and self.version) and version_numbers(self.version) < version_numbers(first)

    @property
    def needs_whole_blocks(self) -> bool:
        """Whether the engine starts only where tensor parallelism cuts no block of the weights."""
        return bool(self.values.get("whole_blocks"))

    def whole(self, name: str) -> int:
        """Return a coefficient that counts bytes, tokens or sequences."""
        return round(self.values[name])
