"""Which prices a cost is made of, and ranges of memory: worked by hand on prices and coefficients that are made up."""

from types import SimpleNamespace
from typing import Any

import pytest

from calc.catalog import catalog
from calc.catalog.records import Price
from calc.memory.training.reserve import ranged
from calc.planning.cost import cost_of, newest_electricity, newest_purchase, newest_rent, run_cost_of
from calc.planning.serving_report import pool_range, total_range
from calc.scenario.model import known_architecture
from tests.planning.prices import DEVICE, facts

PLAIN = Price("p", "accelerators", DEVICE.id, 1, "on-demand", 2.0, "USD", "hour", "A", "", "s", "2026-11-01", "")


def test_a_rent_on_demand_comes_before_newer_ones_of_other_kinds() -> None:
    """Of those on demand the newest, and a price of a piece is no rent."""
    newer = PLAIN._replace(kind="interruptible", price=1.0, checked="2026-11-20")
    older = PLAIN._replace(price=9.0, checked="2026-01-01")
    piece = PLAIN._replace(per="piece", price=30_000.0, checked="2026-11-21")
    assert newest_rent(facts(piece, newer, PLAIN, older), DEVICE) == PLAIN
    reserved, median = PLAIN._replace(kind="reserved", price=1.5), PLAIN._replace(kind="median", price=1.7)
    assert newest_rent(facts(newer, median, reserved), DEVICE) == reserved
    assert newest_rent(facts(piece), DEVICE) is None


def test_a_device_is_bought_at_the_street_s_price_of_the_newest_day() -> None:
    """What one pays comes before what is asked, an older day is forgotten, and a machine of one device stands in."""
    piece = PLAIN._replace(per="piece", kind="list", price=30_000.0)
    street, old = piece._replace(kind="street", price=28_000.0), piece._replace(price=1.0, checked="2025-01-01")
    assert newest_purchase(facts(piece, street, old._replace(kind="street")), DEVICE) == street
    one, eight = (piece._replace(of="machines", item=count) for count in ("1", "8"))
    assert newest_purchase(facts(eight, one), DEVICE) == one
    assert newest_purchase(facts(eight), DEVICE) is None


def test_a_million_tokens() -> None:
    """Two devices at 3.60 an hour and 1,000 tokens a second for 1,000 s; 1.4 kW at 0.30 a kWh."""
    tariff = PLAIN._replace(of="electricity", item="", per="kWh", price=0.3)
    listed = facts(PLAIN._replace(price=3.6), tariff)
    assert newest_electricity(listed) == tariff
    rates = {"low": 500.0, "typical": 1000.0, "high": 2000.0}
    report: Any
    report, _ = cost_of(
        facts=listed,
        accelerator=DEVICE,
        devices=2,
        output_tokens_per_s=rates,
        price_per_hour=None,
        electricity_per_kwh=None,
    )
    assert report["rent"]["per_million_output_tokens"] == pytest.approx({"low": 1.0, "typical": 2.0, "high": 4.0})
    assert report["energy_kwh_per_million_output_tokens"]["typical"] == pytest.approx(1.4 * 1000 / 3600)
    paid = report["electricity"]["per_million_output_tokens"]["typical"]
    assert paid == pytest.approx(0.3 * 1.4 * 1000 / 3600)
    assert report["rent"]["price"]["each"] == 3.6


def test_a_run_of_training() -> None:
    """A billion tokens at 10,000 a second are 100,000 s: of eight devices at 2 an hour 444.44, and 155.6 kWh."""
    rates = {"low": 10_000.0, "typical": 10_000.0, "high": 10_000.0}
    report: Any
    report, steps = run_cost_of(
        facts=facts(PLAIN),
        accelerator=DEVICE,
        devices=8,
        tokens_per_s=rates,
        tokens=10**9,
        price_per_hour=None,
        electricity_per_kwh=None,
    )
    assert report["rent"]["per_run"]["typical"] == pytest.approx(16 * 100_000 / 3600)
    assert report["energy_kwh"]["per_run"]["typical"] == pytest.approx(5.6 * 100_000 / 3600)
    assert report["electricity"] is None
    assert [step.unit for step in steps] == ["USD", "kWh"]


@pytest.mark.parametrize(
    ("size", "stays", "low", "high"),
    [(100, 60, 60 * 0.9 + 40 * 0.5, 60 * 1.1 + 40 * 2), (100, 0, 50, 200), (100, 150, 90, 110)],
)
def test_the_range_of_a_training_total(size: int, stays: int, low: float, high: float) -> None:
    """What stays is nearly certain, what comes and goes is not; no more can stay than there is."""
    known = {"training-stays": SimpleNamespace(low=0.9, high=1.1), "rest": SimpleNamespace(low=0.5, high=2.0)}
    listed: Any = SimpleNamespace(coefficient=known.__getitem__)
    assert ranged(size, stays, "rest", listed) == (size, int(low), int(high))


def served(pool: int | None, **values: float) -> Any:
    """Return an engine's run with 100 bytes of weights, 40 of activations, 10 that its allocator keeps, 20 outside."""
    amounts = [
        SimpleNamespace(id="weights", bytes=100, scope="allocated"),
        SimpleNamespace(id="activations", bytes=40, scope="allocated"),
        SimpleNamespace(id="runtime_context", bytes=20, scope="device"),
    ]
    runtime = SimpleNamespace(amounts=amounts, pool=pool, scoped=lambda *_: 10, fits=True, device=0)
    runtime.used, runtime.needed, runtime.bytes_of = 160, 140, lambda _: 0
    engine = SimpleNamespace(values=values, id="vllm")
    case = SimpleNamespace(demand=SimpleNamespace(architecture=known_architecture(catalog(), "llama-3.1-8b")))
    return SimpleNamespace(serving=SimpleNamespace(engine=engine), runtime=runtime, case=case)


def test_the_range_of_a_served_total() -> None:
    """Weights within 2 %, the rest within 10 %; what the allocator keeps counts at the upper end alone."""
    spread = {"range_weights": 0.02, "range_rest": 0.1}
    assert total_range(served(None, **spread), 150, True) == [int(98 + 40 * 0.9), int(102 + 50 * 1.1)]
    assert total_range(served(None, **spread), 150, False) == [int(98 + 50 * 0.9), int(102 + 50 * 1.1)]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gemma-3-27b", "memory_pool"),  # sees and has windows, as rows of it show
        ("olmo-2-7b", "memory_pool"),  # nothing of the kind
        ("whisper-large-v3", "memory_pool_of_new_kinds"),
    ],
)
def test_the_range_of_a_pool(model: str, name: str) -> None:
    """A share of the device, as pools were off at first sight: of what rows had shown, or of the new."""
    found = served(500)
    found.case.demand.architecture, found.runtime.capacity = known_architecture(catalog(), model), 10_000
    spread = int(10_000 * catalog().entries("ranges")[name]["inside"])
    assert pool_range(found, 5000) == [5000 - spread, 5000 + spread]
    assert pool_range(found, 1) == [0, 1 + spread]
    assert pool_range(found, 0) == [0, 0]


@pytest.mark.parametrize(
    ("values", "tensor", "name"),
    [
        ({"unsure_ranks": 1}, 2, "memory_pool_of_unsure_ranks"),
        ({"unsure_ranks": 1}, 1, "memory_pool"),
        ({"unsure_ranks": 0}, 2, "memory_pool"),
    ],
)
def test_what_ranks_of_old_versions_leave_has_a_range_of_its_own(
    values: dict[str, float], tensor: int, name: str
) -> None:
    """Where an engine's version is marked so, and only of more than one rank."""
    found = served(500, **values)
    found.layout, found.runtime.capacity = SimpleNamespace(tensor=tensor), 10_000
    spread = int(10_000 * catalog().entries("ranges")[name]["inside"])
    assert pool_range(found, 5000) == [5000 - spread, 5000 + spread]


def test_a_share_that_is_too_small_is_so_by_as_much_as_pools_vary() -> None:
    """No more than a pool is known is it known by how much one is too small."""
    found = served(500)
    found.runtime.fits, found.runtime.capacity = False, 10_000
    spread = int(10_000 * catalog().entries("ranges")["memory_pool"]["inside"])
    assert total_range(found, 600, True) == [600 - spread, 600 + spread]


def test_what_is_left_for_a_cache_varies_by_what_is_held() -> None:
    """Where no share is set aside: 2 % of 100 bytes of weights, and a tenth of 50 others."""
    found = served(None, range_weights=0.02, range_rest=0.1)
    found.runtime.device = 150
    assert pool_range(found, 500) == [500 - 7, 500 + 7]


def test_an_engine_that_fills_a_share_varies_by_what_lies_outside() -> None:
    """Half of the 20 bytes outside of the share, either way."""
    assert total_range(served(500, range_weights=0.02), 1000, False) == [990, 1010]
