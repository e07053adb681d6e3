"""The working of a cost to the letter, ranges of what a run costs, and which of several prices is taken."""

from typing import Any

import pytest

from calc.catalog.records import Price
from calc.planning.cost import (
    Paid,
    cost_of,
    million_tokens,
    newest_electricity,
    newest_purchase,
    newest_rent,
    price_of,
    purchase_today,
    rent_of,
    rents,
    run_cost_of,
)
from tests.planning.prices import DEVICE, facts

RENT = Price("p", "accelerators", DEVICE.id, 1, "on-demand", 3.6, "EUR", "hour", "A", "DE", "s", "2026-11-01", "")
TARIFF = RENT._replace(of="electricity", item="", per="kWh", kind="household", price=0.25, source="grid")
RATES = {"low": 500.0, "typical": 1000.0, "high": 2000.0}


def served(*prices: Price, accelerator: Any = DEVICE, own: float | None = None) -> Any:
    """Return the cost of a million tokens at RATES on two devices."""
    return cost_of(
        facts=facts(*prices),
        accelerator=accelerator,
        devices=2,
        output_tokens_per_s=RATES,
        price_per_hour=own,
        electricity_per_kwh=own,
    )


def test_the_working_of_a_million_tokens() -> None:
    """2 × 3.60 EUR an hour for 1,000 s are 2.00; 1.4 kW for as long 0.389 kWh, and 9.7 cents at 0.25 a kWh."""
    report, steps = served(RENT, TARIFF)
    assert [step._replace(value=round(step.value, 4)) for step in steps] == [
        (
            "Rent for a million output tokens",
            r"\frac{n \cdot p}{3600} \cdot \frac{10^6}{r}",
            "2 × 3.6 / 3,600 × 1,000,000 / 1,000",
            2.0,
            "EUR",
            "s",
        ),
        (
            "Energy for a million output tokens",
            r"\frac{n \cdot P}{3.6 \cdot 10^6} \cdot \frac{10^6}{r}",
            "2 × 700 / 3,600,000 × 1,000,000 / 1,000",
            0.3889,
            "kWh",
            DEVICE.facts["power"].source,
        ),
        ("Electricity for a million output tokens", r"E \cdot p", "0.3889 × 0.25", 0.0972, "EUR", "grid"),
    ]
    assert report["rent"]["per_hour"] == 7.2
    assert report["rent"]["per_million_output_tokens"] == {"low": 1.0, "typical": 2.0, "high": 4.0}
    assert report["rent"]["price"] == {
        "each": 3.6,
        "currency": "EUR",
        "kind": "on-demand",
        "seller": "A",
        "region": "DE",
        "date": "2026-11-01",
        "source": "s",
        "market": "",
        "elsewhere": [],
    }
    assert report["electricity"]["price"]["kind"] == "household"
    kwh = report["energy_kwh_per_million_output_tokens"]
    assert report["electricity"]["per_million_output_tokens"] == {name: value / 4 for name, value in kwh.items()}


def test_a_reader_s_own_prices() -> None:
    """They are in dollars, without seller, place or day, and the working names the rate's source instead of theirs."""
    report, steps = served(own=0.0)
    own = {"each": 0.0, "currency": "USD", "kind": "own", "seller": "", "region": "", "date": None, "source": None}
    own |= {"market": "", "elsewhere": []}
    assert report["rent"]["price"] == report["electricity"]["price"] == own
    assert [step.source for step in steps] == ["roofline", DEVICE.facts["power"].source, "roofline"]
    assert price_of(RENT, 2.0) == Paid(2.0, "USD", "own")
    assert price_of(None, None) is None


def test_parts_that_are_not_known() -> None:
    """Without a price no rent, without power no energy, and without energy no electricity."""
    assert served()[0]["rent"] is None
    silent = DEVICE._replace(facts={name: fact for name, fact in DEVICE.facts.items() if name != "power"})
    report, steps = served(RENT, TARIFF, accelerator=silent)
    assert report["energy_kwh_per_million_output_tokens"] is None and report["electricity"] is None
    assert len(steps) == 1
    report, steps = served(RENT)
    assert report["electricity"] is None and len(steps) == 2


def trained(*prices: Price, tokens: int | None, accelerator: Any = DEVICE) -> Any:
    """Return the cost of training at RATES on four devices."""
    return run_cost_of(
        facts=facts(*prices),
        accelerator=accelerator,
        devices=4,
        tokens_per_s=RATES,
        tokens=tokens,
        price_per_hour=None,
        electricity_per_kwh=None,
    )


def test_the_working_of_a_run() -> None:
    """Nine million tokens at 1,000 a second are 2.5 hours of 4 × 3.60, and 7 kWh of 4 × 700 W."""
    report, steps = trained(RENT, TARIFF, tokens=9_000_000)
    assert [step._replace(value=round(step.value, 6)) for step in steps] == [
        (
            "Rent of the run",
            r"\frac{n \cdot p}{3600} \cdot \frac{D}{r}",
            "4 × 3.6 / 3,600 × 9,000,000 / 1,000",
            36.0,
            "EUR",
            "s",
        ),
        (
            "Energy of the run",
            r"\frac{n \cdot P}{3.6 \cdot 10^6} \cdot \frac{D}{r}",
            "4 × 700 / 3,600,000 × 9,000,000 / 1,000",
            7.0,
            "kWh",
            DEVICE.facts["power"].source,
        ),
        (
            "Electricity of the run",
            r"\frac{n \cdot P}{3.6 \cdot 10^6} \cdot \frac{D}{r} \cdot p",
            "4 × 700 / 3,600,000 × 0.25 × 9,000,000 / 1,000",
            1.75,
            "EUR",
            "grid",
        ),
    ]
    assert report["rent"]["per_hour"] == 14.4
    assert report["rent"]["per_run"] == pytest.approx({"low": 18.0, "typical": 36.0, "high": 72.0})
    assert report["rent"]["per_million_tokens"] == pytest.approx({"low": 2.0, "typical": 4.0, "high": 8.0})
    assert report["energy_kwh"]["per_run"] == pytest.approx({"low": 3.5, "typical": 7.0, "high": 14.0})
    assert report["electricity"]["per_run"] == pytest.approx({"low": 0.875, "typical": 1.75, "high": 3.5})
    assert report["electricity"]["price"]["each"] == 0.25


def test_training_without_a_length() -> None:
    """Where no tokens are given the working is that of a million, and nothing is said of a run."""
    report, steps = trained(RENT, tokens=None)
    assert report["rent"]["per_run"] is None and report["energy_kwh"]["per_run"] is None
    assert report["electricity"] is None
    assert [(step.name, step.substituted) for step in steps] == [
        ("Rent of a million tokens", "4 × 3.6 / 3,600 × 1,000,000 / 1,000"),
        ("Energy of a million tokens", "4 × 700 / 3,600,000 × 1,000,000 / 1,000"),
    ]
    silent = DEVICE._replace(facts={name: fact for name, fact in DEVICE.facts.items() if name != "power"})
    report, steps = trained(TARIFF, tokens=None, accelerator=silent)
    assert report == {"rent": None, "energy_kwh": None, "electricity": None} and steps == []


def test_each_seller_counts_once() -> None:
    """Of five sellers the one in the middle, of four the lower one of two; a seller's older price is forgotten."""
    asked = [RENT._replace(seller=name, price=price) for name, price in zip("ABCDE", (5, 1, 4, 2, 3), strict=True)]
    again = [one._replace(price=0.1, checked="2026-10-01") for one in asked]
    rent = newest_rent(facts(*asked, *again), DEVICE)
    assert rent is not None and rent.price == 3
    rent = newest_rent(facts(*asked[:4], *again), DEVICE)  # E has its older price alone, so of 0.1, 1, 2, 4, 5
    assert rent is not None and rent.price == 2
    rent = newest_rent(facts(*asked[:4]), DEVICE)
    assert rent is not None and rent.price == 2


def test_prices_are_of_half_a_year() -> None:
    """183 days before the newest still count, 184 do not."""
    old = RENT._replace(seller="B", price=1.0)
    for day, each in (("2026-05-02", 1.0), ("2026-05-01", 3.6)):
        rent = newest_rent(facts(RENT, old._replace(checked=day)), DEVICE)
        assert rent is not None and rent.price == each


def test_markets_are_asked_in_turn() -> None:
    """Specialised clouds come first, then large ones, then market places; each says its own middle."""
    asked = [
        RENT._replace(seller=str(number), market=market, price=float(price))
        for number, (market, price) in enumerate(
            (
                ("marketplace", 1),
                ("large cloud", 9),
                ("large cloud", 7),
                ("specialist", 4),
                ("specialist", 5),
                ("specialist", 2),
            )
        )
    ]
    known = facts(*asked)
    assert [(one.market, one.price) for one in rents(known, DEVICE)] == [
        ("specialist", 4),
        ("large cloud", 7),
        ("marketplace", 1),
    ]
    paid = rent_of(known, DEVICE, None)
    assert paid is not None and paid.each == 4 and [one.price for one in paid.elsewhere] == [7, 1]
    (large, _), last = paid.report()["elsewhere"], paid.elsewhere[0]  # type: ignore[misc]
    said = {"seller": last.seller, "date": last.checked, "source": last.source}
    assert large == {"market": "large cloud", "each": 7, **said}
    assert rent_of(known, DEVICE, 3.0) == Paid(3.0, "USD", "own")
    assert rent_of(facts(), DEVICE, None) is None
    alone = newest_rent(facts(*asked[:2]), DEVICE)
    assert alone is not None and alone.market == "large cloud"


@pytest.mark.parametrize(
    ("kinds", "taken"),
    [
        (("interruptible", "reserved", "on-demand"), "on-demand"),
        (("median", "reserved"), "reserved"),
        (("interruptible", "median"), "median"),
    ],
)
def test_kinds_of_rent(kinds: tuple[str, ...], taken: str) -> None:
    """On demand before reserved, a median before what may be taken away."""
    rent = newest_rent(facts(*(RENT._replace(kind=kind) for kind in kinds)), DEVICE)
    assert rent is not None and rent.kind == taken


def test_a_price_of_eight_is_divided() -> None:
    """A price by the hour for a machine of eight is an eighth for each."""
    rent = newest_rent(facts(RENT._replace(pieces=8, price=16.0)), DEVICE)
    assert price_of(rent, None) == Paid(2.0, "EUR", "on-demand", "A", "DE", "2026-11-01", "s")


def test_purchases() -> None:
    """Of one day the kind that one pays: street, retail, list, used, launch; of another device's machine none."""
    piece = RENT._replace(per="piece")
    kinds = ("launch", "used", "list", "retail", "street")
    for end in range(1, 6):
        bought = newest_purchase(facts(*(piece._replace(kind=kind) for kind in kinds[:end])), DEVICE)
        assert bought is not None and bought.kind == kinds[end - 1]
    other = DEVICE._replace(id="other")
    machine = piece._replace(of="machines", item="1", kind="list")
    assert newest_purchase(facts(machine), DEVICE) == machine
    assert newest_purchase(facts(machine), other) is None
    assert newest_purchase(facts(machine._replace(per="hour")), DEVICE) is None
    assert newest_purchase(facts(RENT), DEVICE) is None


def test_a_plan_pays_in_dollars() -> None:
    """What is asked in other money is not taken for as many dollars."""
    piece = RENT._replace(per="piece", kind="street")
    assert newest_purchase(facts(piece), DEVICE) == piece
    assert purchase_today(facts(piece), DEVICE) is None
    assert purchase_today(facts(piece._replace(currency="USD")), DEVICE) == piece._replace(currency="USD")


def test_electricity_is_by_the_kwh() -> None:
    """The newest one that is; a standing charge by the month is no price of energy."""
    monthly = TARIFF._replace(per="month")
    assert newest_electricity(facts(monthly, TARIFF, TARIFF._replace(price=9.0))) == TARIFF
    assert newest_electricity(facts(monthly)) is None


def test_the_range_turns_around() -> None:
    """The highest rate is the lowest cost."""
    assert million_tokens(0.002, RATES) == {"low": 1.0, "typical": 2.0, "high": 4.0}
