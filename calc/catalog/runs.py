"""Published training: scaling laws with their constants, and how known models were trained."""

from typing import NamedTuple

from calc.catalog.entries import Entry


class Law(NamedTuple):
    """A scaling law: which form it has, with which constants, and on what it was measured."""

    id: str
    name: str
    aliases: tuple[str, ...]
    form: str
    counted: str  # what its N counts
    corpus: str
    constants: dict[str, float]
    note: str
    source: str
    checked: str


class Run(NamedTuple):
    """How a known model was trained, as far as its makers say: None and "" where they do not."""

    id: str
    name: str
    aliases: tuple[str, ...]
    year: int
    parameters: float
    active_parameters: float
    tokens: float | None
    accelerator: str
    devices: int | None
    days: float | None
    device_hours: float | None
    flops: float | None  # as published
    note: str
    source: str
    checked: str

    @property
    def hours(self) -> float | None:
        """Device-hours, as published or from the devices and their days."""
        if self.device_hours is None and self.devices and self.days:
            return self.devices * self.days * 24
        return self.device_hours


def make_law(law_id: str, entry: Entry) -> Law:
    """Return a law's record from its checked table."""
    aliases: tuple[str, ...] = tuple(entry["aliases"])  # type: ignore[arg-type]
    return Law(**{"id": law_id, **entry, "aliases": aliases})  # type: ignore[arg-type]


def make_run(run_id: str, entry: Entry) -> Run:
    """Return a run's record from its checked table."""
    unknown: Entry = dict.fromkeys(("tokens", "devices", "days", "device_hours", "flops"))
    aliases: tuple[str, ...] = tuple(entry["aliases"])  # type: ignore[arg-type]
    values: Entry = {"id": run_id, "accelerator": "", "note": "", "active_parameters": entry["parameters"], **unknown}
    return Run(**{**values, **entry, "aliases": aliases})  # type: ignore[arg-type]
