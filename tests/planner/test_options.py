"""Misses in words and numbers, and what ranks an option by its speed, worked by hand."""

from math import inf
from typing import Any

import pytest

from calc.catalog import catalog
from calc.errors import ScenarioError
from calc.planner.candidate import Candidate
from calc.planner.devices import Devices
from calc.planner.fields import amount
from calc.planner.need import NO_NEED, Share, read_need
from calc.planner.options import (
    Miss,
    Option,
    cannot_be,
    does_not_run,
    energy_of,
    no_engine,
    rate_of,
    short,
    slow,
    tight,
    time_of,
    tokens_a_second,
    too_heavy,
    writes,
)
from calc.planning.chance import SURE
from calc.planning.support import Runs
from calc.units import GIB

PAIR = Devices(catalog().accelerator("rtx-3090"), 2, 0.5, 1500.0)
CANDIDATE = Candidate("a", PAIR, ({"model": "llama-3.1-8b", "sequences": 4},), 0)
WRITES = {"decode_tokens_per_s": 80.0, "time_per_output_token_s": 0.05, "time_to_first_token_s": 0.5}
READS = {"time_to_first_token_s": 0.5, "prefill_tokens_per_s": 4000.0}


def option(**report: Any) -> Option:
    """Return an option of two cards with a report."""
    return Option(CANDIDATE, {"speed": None, "cost": None, **report}, 0, SURE)


def test_what_lacks_is_said_with_its_share() -> None:
    """1.5 GiB more than 6: a quarter too much; less than is shown says so, and has no size."""
    assert short(3 * GIB // 2, 6 * GIB) == Miss(
        "memory", "it lacks 1.50 GiB on the fullest device", 1.25, (3 * GIB // 2,)
    )
    assert short(GIB, 2 * GIB, "in the host").lacks == "it lacks 1.00 GiB in the host"
    little = short(GIB // 201, GIB)
    assert little.lacks == "it lacks less than 0.01 GiB on the fullest device" and little.sizes == ()
    assert little.ratio == 1 + (GIB // 201) / GIB
    assert short(GIB // 199, GIB).lacks == "it lacks 0.01 GiB on the fullest device"
    assert short(5, 0).ratio == 6 and short(GIB, 0).ratio == 1 + GIB


def test_weights_alone_may_be_too_much() -> None:
    """3 of 2 GiB; where both are shown alike it is a little more, with the one size."""
    assert too_heavy(3 * GIB, 2 * GIB) == Miss(
        "memory", "the weights alone need 3.00 GiB of 2.00 GiB", 1.5, (3 * GIB, 2 * GIB)
    )
    near = too_heavy(2 * GIB + 1000, 2 * GIB, "the layers")
    said = "the layers alone need a little more than 2.00 GiB"
    assert near == Miss("memory", said, (2 * GIB + 1000) / (2 * GIB), (2 * GIB,))
    assert too_heavy(GIB, 0).ratio == too_heavy(GIB, 1).ratio == GIB


def test_times_are_shown_with_digits_that_tell_them_apart() -> None:
    """52.1 and 50 ms; 50.004 takes more digits; what no digits tell apart is a little more."""
    assert slow(0.0521, 0.05) == "52.1 ms is more than 50.0 ms"
    assert slow(0.050004, 0.05) == "50.004 ms is more than 50.000 ms"
    assert slow(0.05 * (1 + 1e-15), 0.05) == "a little more ms is more than 50.0 ms"


def test_other_misses() -> None:
    """A chance rounds down and is as far off as it is small; what cannot be is infinitely far off."""
    assert tight(0.499) == Miss("tight", "it fits with a chance of 49 %", 1 / 0.499)
    assert no_engine() == Miss("engine", "no engine is known to run it", inf)
    because = (("one", "a"), ("other", "b"))
    assert does_not_run("vllm", Runs("no", because)) == Miss("runs", "vllm: one; other", inf)  # type: ignore[arg-type]
    assert cannot_be(ScenarioError("concurrency", "x")) == no_engine()
    assert cannot_be(ScenarioError("parallelism.tensor", "x")) == Miss("layout", "parallelism.tensor: x", inf)
    assert cannot_be(ScenarioError("context_tokens", "x")) == Miss("field", "context_tokens: x", inf)


def test_an_option_knows_its_typical_figures() -> None:
    """Of each range the middle; what is no range is left out; surely from the share of runs on."""
    found = option(speed={"a": {"typical": 2.0, "low": 1.0}, "bound": "memory", "other": {"low": 1.0}})
    assert found.typical == {"a": 2.0} and option().typical == {}
    assert found.is_sure and not found._replace(chance=SURE - 0.001).is_sure


def test_speed_ranks_by_what_is_counted() -> None:
    """All answers together; each answer where requests come; texts or passes of what writes none; None if not known."""
    coming = read_need({"requests_per_s": 1.0}, amount)
    assert rate_of(NO_NEED, CANDIDATE, WRITES) == 80.0
    assert rate_of(coming, CANDIDATE, WRITES) == 20.0
    assert rate_of(NO_NEED, CANDIDATE, READS) == 8.0  # four texts in half a second
    assert rate_of(coming, CANDIDATE, READS) == 2.0
    assert rate_of(NO_NEED, CANDIDATE._replace(scenarios=({},)), READS) == 2.0  # one, where nothing is said
    assert rate_of(NO_NEED, CANDIDATE, {}) is None
    assert rate_of(NO_NEED, CANDIDATE._replace(scenarios=({"sequences": "max"},)), READS) is None
    waiting = read_need({"users": 30}, amount)
    assert rate_of(waiting, CANDIDATE._replace(share=Share(3, 10)), WRITES) == 80.0 * 30 / 10
    assert rate_of(NO_NEED, CANDIDATE._replace(share=Share(3, 10)), WRITES) == 80.0 / 10


def test_latency_is_a_token_s_or_a_pass_s() -> None:
    """Of a model that writes the time for each token, else that of the pass."""
    assert (time_of(WRITES), time_of(READS), time_of({})) == (0.05, 0.5, None)
    assert writes(WRITES) and not writes(READS)


def test_energy_is_of_a_million_tokens() -> None:
    """As the report says; of a model that reads 4,000 tokens a second on 700 W, 700 / 4000 × 10⁶ / 3.6 × 10⁶ kWh."""
    said = {"energy_kwh_per_million_output_tokens": {"typical": 0.25}}
    assert energy_of(option(cost=said)) == 0.25
    ranged = {name: {"typical": value} for name, value in READS.items()}
    assert energy_of(option(speed=ranged)) == pytest.approx(700 / 4000 / 3.6)
    assert energy_of(option(speed={name: {"typical": value} for name, value in WRITES.items()})) is None
    assert energy_of(option()) is None


def test_training_counts_all_devices() -> None:
    """1,000 tokens a second of each of two."""
    assert tokens_a_second(option(speed={"tokens_per_s_per_device": {"typical": 1000.0}})) == 2000.0
    assert tokens_a_second(option()) is None
