"""Models as their makers publish them, and what somebody asks for something on a day."""

import datetime
from typing import NamedTuple

from calc.catalog.choices import PRICE_STALE_DAYS


class Model(NamedTuple):
    """A published model with the sizes from its `config.json`."""

    id: str
    name: str
    repositories: tuple[str, ...]
    finetunes: tuple[str, ...]  # repositories of others with the same shape under names of their own
    variants: dict[str, dict[str, object]]  # such with other classes or words, and what their configs say of them
    aliases: tuple[str, ...]
    organization: str
    licence: str
    released: str
    gated: bool
    context_tokens: int
    config: dict[str, object]
    source: str
    checked: str
    note: str
    published: dict[
        str, dict[str, object]
    ]  # those of the repositories that store it otherwise, with what they say of it
    conversions: tuple[str, ...]  # repositories of others that hold it in the number formats that their names say
    made_for: str = ""  # one of MADE_FOR; empty of one that answers what it is asked


class Price(NamedTuple):
    """What somebody asked on a day; `checked` is that day, and no price is true for long."""

    id: str
    of: str
    item: str  # id of the accelerator or machine, empty for electricity
    pieces: int  # how many of the item the price buys
    kind: str
    price: float
    currency: str
    per: str
    seller: str
    region: str
    source: str
    checked: str
    note: str
    output_price: float | None = None  # of what a hosted model writes; `price` is of what it reads
    cached_price: float | None = None  # of what it has read before
    market: str = ""  # one of MARKETS, of rents

    @property
    def each(self) -> float:
        """The price of one."""
        return self.price / self.pieces

    def age_days(self, today: str) -> int:
        """Return how many days old the price is on a day written 2026-11-21."""
        return (datetime.date.fromisoformat(today) - datetime.date.fromisoformat(self.checked)).days

    def is_stale(self, today: str) -> bool:
        """Return whether the price is too old to be shown without saying so."""
        return self.age_days(today) > PRICE_STALE_DAYS
