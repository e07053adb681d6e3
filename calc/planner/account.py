"""What hardware costs: rented, bought, or called by the token, with the energy of its site and what that emits."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from calc.catalog import Catalog
from calc.catalog.grids import Grid
from calc.catalog.records import Price
from calc.errors import ScenarioError
from calc.planner.devices import Devices
from calc.planner.need import Need
from calc.planning.cost import MILLION, Paid, newest_electricity, price_of, purchase_today, rent_of
from calc.planning.ownership import HOURS_A_YEAR, Purse, Use, break_even_busy_hours, owned_per_busy_hour, site_kwh

FIELDS = ("pue", "grid", "life_years", "resale_share", "purchase_price", "hosted_price", "hosted_output_price")
CENTRES = ("data-center", "cloud")  # segments of devices that stand in a data centre
LIFE_YEARS = 4.0
MOST_PUE, MOST_YEARS = 5.0, 20.0
GRID = "world"
GRAMS = 1000.0  # in a kilogram
MONTHS_A_YEAR = 12
Answer = dict[str, object]


class Account(NamedTuple):
    """By what costs are counted; None where the catalogue says it."""

    pue: float | None
    grid: Grid
    life_years: float
    resale_share: float  # of the purchase, that comes back at the end
    purchase_price: float | None  # of one device
    hosted_price: float | None  # of a million tokens that a hosted model reads
    hosted_output_price: float | None  # … and writes


def read_account(given: Mapping[str, object], facts: Catalog, amount: Callable[..., float | None]) -> Account:
    """Return by what costs are counted; `amount` reads a number above 0, None where it is left out."""
    resale = given.get("resale_share", 0.0)
    if isinstance(resale, bool) or not isinstance(resale, int | float) or not 0 <= resale <= 1:
        raise ScenarioError("account.resale_share", f"must be from 0 to 1, not {resale!r:.60}")
    pue = amount(given, "account", "pue", MOST_PUE)
    if pue is not None and pue < 1:
        raise ScenarioError("account.pue", f"must be 1 or more, not {pue:g}: a site takes at least what stands in it")
    hosted, written = (amount(given, "account", name) for name in ("hosted_price", "hosted_output_price"))
    if (hosted is None) != (written is None):
        missing = "account.hosted_price" if hosted is None else "account.hosted_output_price"
        raise ScenarioError(missing, "is needed too: tokens that are read and written have a price each")
    return Account(
        pue=pue,
        grid=facts.grid(str(given.get("grid", GRID)), "account.grid"),
        life_years=amount(given, "account", "life_years", MOST_YEARS) or LIFE_YEARS,
        resale_share=float(resale),
        purchase_price=amount(given, "account", "purchase_price"),
        hosted_price=hosted,
        hosted_output_price=written,
    )


class Ledger(NamedTuple):
    """An account of devices in use."""

    account: Account
    need: Need
    facts: Catalog
    fleet: Devices

    @property
    def pue(self) -> float:
        """The reader's own, else that of data centres where the devices stand in one, else 1."""
        if self.account.pue is not None:
            return self.account.pue
        return self.facts.coefficient("pue").value if self.fleet.accelerator.segment in CENTRES else 1.0

    def energy(self, per_million: float | None, *, writes: bool = True) -> Answer:
        """Return power and energy at the limit of the boards, with the site's, and what they emit.

        What a million tokens take is that of tokens written, or read by a model that writes none.
        """
        watts, hours = self.fleet.power_w, self.need.hours_a_month
        month = None if watts is None else site_kwh(watts=watts, hours=hours, pue=self.pue)
        grid = self.account.grid
        return {
            "power_w": watts,
            "kwh_per_million_output_tokens": per_million if writes else None,
            "kwh_per_million_input_tokens": None if writes else per_million,
            "pue": self.pue,
            "kwh_per_month": month,
            "grid": {"name": grid.name, "grams_per_kwh": grid.grams_per_kwh, "year": grid.year, "source": grid.source},
            "co2_kg_per_month": None if month is None else month * grid.grams_per_kwh / GRAMS,
        }

    def prices(self, own_rent: float | None) -> dict[str, Paid | None]:
        """Return the prices of one device, with who asked them on which day; of unlike ones there is no one price."""
        device = self.fleet.accelerator
        if self.fleet.unlike:
            return {"rent": None, "purchase": None}
        return {
            "rent": rent_of(self.facts, device, own_rent),
            "purchase": price_of(purchase_today(self.facts, device), self.account.purchase_price),
        }

    def money(self, *, own_rent: float | None, own_tariff: float | None) -> Answer:
        """Return rent, purchase, electricity and what owning costs, each None where nobody says.

        Of hardware of one's own the purchase is written off evenly over its life, and it draws nothing out of hours.
        """
        hours, rent = self.need.hours_a_month, self.fleet.rent_per_month(self.need.hours_a_month)
        known = newest_electricity(self.facts)
        tariff = own_tariff if own_tariff is not None else known.each if known else None
        found: Answer = {
            "currency": "USD",
            "rent_per_hour": self.fleet.rent_per_hour,
            "rent_per_month": rent,
            "purchase": self.fleet.purchase,
            "electricity_per_month": None,
            "owned_per_month": None,
            "break_even_months": None,
            "prices": {name: price and price.report() for name, price in self.prices(own_rent).items()},
        }
        if tariff is None or not self.fleet.power_w:
            return found
        use = Use(busy_w=self.fleet.power_w, idle_w=0.0, busy_share=self.need.hours_a_day / 24, pue=self.pue)
        found["electricity_per_month"] = tariff * use.kwh_a_busy_hour * hours
        if self.fleet.purchase is not None:
            purse = Purse(self.fleet.purchase, self.account.resale_share, tariff, self.fleet.rent_per_hour)
            life = self.account.life_years * HOURS_A_YEAR
            found["owned_per_month"] = owned_per_busy_hour(purse=purse, use=use, life_hours=life) * hours
            busy = break_even_busy_hours(purse=purse, use=use)
            found["break_even_months"] = None if busy is None else busy / hours
        return found

    def rent(self, report: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a report says of rent; nothing where nobody says what so many cost in one machine."""
        return {} if self.fleet.rent_per_hour is None else (report["cost"] or {}).get("rent") or {}

    def run(self, report: Mapping[str, Any], *, own_rent: float | None) -> tuple[Answer, Answer]:
        """Return what a training run costs and the energy that it takes, of a million tokens and of all of them."""
        cost = report["cost"] or {}
        energy, paid = (cost.get(name) or {} for name in ("energy_kwh", "electricity"))
        rent = self.rent(report)
        money: Answer = {
            "currency": "USD",
            "rent_per_hour": self.fleet.rent_per_hour,
            "rent_per_million_tokens": rent.get("per_million_tokens"),
            "rent_per_run": rent.get("per_run"),
            "purchase": self.fleet.purchase,
            "electricity_per_run": times(paid.get("per_run"), self.pue),
            "prices": {name: price and price.report() for name, price in self.prices(own_rent).items()},
        }
        grid, run = self.account.grid, times(energy.get("per_run"), self.pue)
        return money, {
            "power_w": self.fleet.power_w,
            "pue": self.pue,
            "kwh_per_million_tokens": times(energy.get("per_million_tokens"), self.pue),
            "kwh_per_run": run,
            "grid": {"name": grid.name, "grams_per_kwh": grid.grams_per_kwh, "year": grid.year, "source": grid.source},
            "co2_kg_per_run": times(run, grid.grams_per_kwh / GRAMS),
        }

    def hosted(self, scenario: Mapping[str, Any], month: float | None) -> Answer | None:
        """Return what the same requests cost where they are called by the token; None where nobody sells the model.

        `month` is what the devices cost in a month, from how many requests on they are cheaper.
        """
        price, account = hosted_price(self.facts, scenario["model"]), self.account
        read, written = account.hosted_price, account.hosted_output_price
        if price is not None and read is None:
            read, written = price.each, price.output_price
        if read is None or written is None or "prompt_tokens" not in scenario:
            return None
        each = (scenario["prompt_tokens"] * read + scenario["output_tokens"] * written) / MILLION
        asked = self.need.requests_a_month
        own = account.hosted_price is not None or price is None
        return {
            "price": read,
            "output_price": written,
            "seller": "own" if own else price.seller if price else "",
            "date": None if own or price is None else price.checked,
            "source": None if own or price is None else price.source,
            "per_request": each,
            "per_month": None if asked is None else asked * each,
            "break_even_requests_per_month": None if month is None else month / each,
        }


def hosted_price(facts: Catalog, model: object) -> Price | None:
    """Return the newest price at which a model is hosted, None where none is known."""
    entry = facts.listed_model(model) if isinstance(model, str) else None
    return next(iter(facts.prices("models", entry)), None) if entry else None


def times(ends: Mapping[str, float] | None, factor: float) -> dict[str, float] | None:
    """Return low, typical and high of something, each so many times."""
    return None if ends is None else {name: value * factor for name, value in ends.items()}
