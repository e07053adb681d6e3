"""What engines and frameworks of training run: facts of their own tables and code on devices, formats and families."""

from typing import NamedTuple

from calc.catalog.entries import Entry
from calc.catalog.records import version_numbers

DEVICE, FORMAT, FAMILY, CACHE, PRECISION = "device", "format", "family", "cache", "precision"
DIVISION, METHOD, HEADS = "division", "method", "heads"
TILES, GROUPS = "tiles", "groups"  # of a rank's outputs, and of what its experts read
LOADING = "loading"  # of weights that the engine converts to a format: in 16 bit as a whole, and then converted
ABOUT = (DEVICE, FORMAT, FAMILY, CACHE, PRECISION, DIVISION, METHOD, HEADS, TILES, GROUPS, LOADING)
METHODS = ("full", "lora", "qlora")  # of training, the least last
DIVIDED = ("tensor", "expert")  # degrees of parallelism that not every engine has, as facts on divisions name them
TRAINED_APART = ("tensor", "pipeline", "context", "expert")  # those that not every framework of training has
UNSHARDED = "none"
STATES_ALONE = "zero-1"  # sharding that divides the optimizer's states and nothing else
PACKED = "packed-tensor"  # tensor ranks of a frozen base whose weights are packed
STAGES = "stages"  # of a served model, which not every family has everywhere: a framework's are its "pipeline"
STAGED_TENSORS = "tensor-and-pipeline"  # tensor ranks in each of several stages
PACKED_CACHE = "packed-cache-tensor"  # tensor ranks that keep a cache in fewer than 16 bits
REPLICATED = "replicas"  # of what tensor ranks divide, where data ranks do not share its states
TRAINING = "training"  # in place of an engine: libraries that all frameworks train with
YES, NO, MAYBE = "yes", "no", "maybe"
MIXTURE = "mixture"  # stands for all families of models with routed experts
GGUF, MLX = "gguf", "mlx"  # stand for all number formats of llama.cpp, and of MLX
GGUF_WRITER = "llama.cpp"  # its converter writes the files that others read, too


class Support(NamedTuple):
    """A fact on what an engine runs."""

    id: str
    engine: str  # or a framework of training, or TRAINING
    about: str  # one of ABOUT
    # Number formats, families, precisions or methods of training, ways to divide, or all sizes of heads; empty: all.
    names: tuple[str, ...]
    where: tuple[str, ...]  # makers and architectures of devices; empty for all
    kinds: tuple[str, ...]  # segments of devices; empty for all
    families: tuple[str, ...]  # of which a fact about something else is; empty for all
    runs: str
    because: str
    source: str
    checked: str
    since: str = ""  # the engine's version from which on it holds, and the one before which it did
    before: str = ""
    first: tuple[tuple[str, tuple[str, ...]], ...] = ()  # versions with the names that each of them first had

    def each(self) -> "tuple[Support, ...]":
        """Return the fact, or one for each version that first had some names: before it they do not run."""
        if not self.first:
            return (self,)
        return tuple(
            self._replace(names=names, before=version, because=self.because.format(version), first=())
            for version, names in self.first
        )

    def holds_in(self, version: str) -> bool:
        """Return whether it holds in a version of the engine, in the newest where none is named."""
        if not version:
            return not self.before
        numbers = version_numbers(version)
        before = not self.before or numbers < version_numbers(self.before)
        return before and (not self.since or numbers >= version_numbers(self.since))

    def rank(self, vendor: str, architecture: str, segment: str) -> int:
        """Return how closely a device is named: 0 not at all, more where its architecture is, and its kind."""
        if (self.where and not {vendor, architecture} & set(self.where)) or (self.kinds and segment not in self.kinds):
            return 0
        return 1 + bool(self.where) + (architecture in self.where) + bool(self.kinds)


def make_support(entry_id: str, entry: Entry) -> Support:
    """Return a fact's record from its checked table."""
    lists: Entry = {name: tuple(entry.get(name, ())) for name in ("names", "where", "kinds", "families")}  # type: ignore[arg-type]
    first = tuple((version, tuple(names)) for version, names in dict(entry.get("first", {})).items())  # type: ignore[call-overload]
    return Support(id=entry_id, **{**entry, **lists, "first": first})  # type: ignore[arg-type]
