"""Replicas of models that read a text in one pass: how many texts come in a pass, and how long a text waits."""

from math import exp
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from calc import estimate, plan
from calc.catalog import catalog
from calc.planner.encoders import Readers, mean_of, no_more
from calc.planner.fields import amount
from calc.planner.need import Need, read_need

ASKED: dict[str, Any] = {"want": "hardware", "model": "bge-m3", "prompt_tokens": 256, "count": 3}


def need(**given: float) -> Need:
    """Return a need."""
    return read_need(given, amount)


class Alike(Readers):
    """Readers whose passes take so long to begin and so long for each text."""

    def __init__(self, asked: Need, *, begin_s: float, text_s: float, slots: int = 256) -> None:
        serving = SimpleNamespace(most_running=slots, most_sequences=lambda *_: 0)
        served: Any = SimpleNamespace(serving=serving, demand=None, layout=None)
        super().__init__(served, asked)
        self.begin_s, self.text_s = begin_s, text_s

    def pass_s(self, texts: int) -> float:
        """Return the seconds of a pass."""
        return self.begin_s + texts * self.text_s


def test_chances_are_poissons() -> None:
    """None of a mean of two comes with e⁻², one at most with 3 e⁻²; the mean with which that holds is two again."""
    assert no_more(0, 2.0) == pytest.approx(exp(-2))
    assert no_more(1, 2.0) == pytest.approx(3 * exp(-2))
    assert mean_of(1, 3 * exp(-2)) == pytest.approx(2, rel=1e-3)
    assert no_more(1024, 960.0) == pytest.approx(0.98, abs=0.01)


def test_a_text_waits_for_the_rest_of_a_pass_and_its_own() -> None:
    """With 0.2 s allowed and 95 of 100, passes of 40 texts, 0.1 s, are the longest; two of them would be too long."""
    readers = Alike(need(requests_per_s=500, ttft_s=0.2, percentile=95), begin_s=0.02, text_s=0.002)
    assert readers.waits_s(40) == pytest.approx(1.95 * 0.1) and readers.waits_s(42) > 0.2
    share: Any = readers.fewest()
    assert share.capacity_per_s == readers.most_per_s(41) == pytest.approx(mean_of(41, 0.95) / 0.102)
    assert share.replicas == -(-500 // share.capacity_per_s) == 2
    assert readers.most_per_s(share.requests) >= share.requests_per_s == 250 > readers.most_per_s(share.requests - 1)
    assert share.mean == pytest.approx(250 * 1.5 * readers.pass_s(share.requests))


def test_what_no_text_keeps_is_said() -> None:
    """A pass over one text that is too long with the rest of another, by how much."""
    miss: Any = Alike(need(requests_per_s=5, ttft_s=0.2), begin_s=0.1, text_s=0.01).fewest()
    assert miss.reason == "speed" and miss.ratio == pytest.approx(1.95 * 0.11 / 0.2)


@pytest.mark.parametrize(("per_s", "ttft_s"), [(60, 0.3), (200, 0.2), (340, 0.6)])
def test_texts_at_random_are_read_in_time(per_s: float, ttft_s: float) -> None:
    """Of 20,000 texts that come at random, each read with all that wait as a pass ends, 95 of 100 are in time."""
    readers = Alike(need(requests_per_s=per_s, ttft_s=ttft_s, percentile=95), begin_s=0.02, text_s=0.002)
    share: Any = readers.fewest()
    rng, times, clock = Random(7), list[float](), 0.0
    while len(times) < 20_000:
        clock += rng.expovariate(share.requests_per_s)
        times.append(clock)
    free, place, late = 0.0, 0, 0
    while place < len(times):
        began = max(free, times[place])
        last = place
        while last < len(times) and times[last] <= began and last - place < 256:
            last += 1
        free = began + readers.pass_s(last - place)
        late += sum(free - came > ttft_s for came in times[place:last])
        place = last
    assert late <= 0.05 * len(times)


def test_requests_for_texts_are_planned() -> None:
    """An embedding model by requests: each option keeps the time by its own report, with no replica too many."""
    answer: Any = plan({**ASKED, "need": {"requests_per_s": 2000, "ttft_s": 0.2}})
    assert len(answer["options"]) == 3
    for option in answer["options"]:
        took = option["load"]
        assert took["requests_per_s"] * option["replicas"] == pytest.approx(2000)
        assert took["requests_per_s"] <= took["capacity_requests_per_s"] * (1 + 1e-6)
        assert took["capacity_requests_per_s"] * (option["replicas"] - 1) < 2000
        assert took["planned_requests"] == option["scenario"]["sequences"]
        speed: Any = estimate(option["scenario"])["speed"]
        assert speed == option["speed"] and 1.95 * speed["time_to_first_token_s"]["typical"] <= 0.2
    own = {"want": "models", "models": {"kind": "encoder"}, "have": {"accelerator": "l4-24gb"}, "count": 2}
    assert len(plan({**own, "prompt_tokens": 64, "need": {"requests_per_s": 5}})["options"]) == 2  # type: ignore[arg-type]


def test_models_that_write_nothing_are_ranked() -> None:
    """By the texts a second, or the time of a pass, of their own reports; `why` says so."""
    own = {"want": "models", "models": {"kind": "encoder"}, "have": {"accelerator": "l4-24gb"}, "prompt_tokens": 256}
    for rank, words in (("speed", "texts a second"), ("latency", "time of a pass")):
        answer: Any = plan({**own, "sequences": 8, "rank_by": rank, "count": 1000})
        times = [option["speed"]["time_to_first_token_s"]["typical"] for option in answer["options"] if option["speed"]]
        sure = [time for time, option in zip(times, answer["options"], strict=False) if option["chance"] >= 0.95]
        assert len(sure) > 50 and sure == sorted(sure)
        assert all(words in option["why"] and "not known" not in option["why"] for option in answer["options"][:20])
    alike: Any = plan({**ASKED, "rank_by": "speed", "need": {"requests_per_s": 200}})
    assert all("passes a second" in option["why"] for option in alike["options"])


@pytest.mark.parametrize("asked_for", [{}, {"requests_per_s": 500, "ttft_s": 0.2}])
def test_vectors_are_ranked_by_their_energy(asked_for: dict[str, float]) -> None:
    """What the boards draw in a pass over the tokens that it reads: the least first, unknown last, none left out."""
    asked: dict[str, Any] = {"want": "hardware", "model": "bge-m3", "prompt_tokens": 256, "limits": {"devices": 2}}
    asked |= {"need": asked_for, "rank_by": "energy", **({} if asked_for else {"sequences": 32})}
    found, every = ([kwh_read(option) for option in options(asked, count)] for count in (5, 100))
    known = [kwh for kwh in every if kwh is not None]
    assert len(known) > 20 and every[: len(known)] == sorted(known) and found == every[:5]


def options(asked: dict[str, Any], count: int) -> list[Any]:
    """Return so many options of a question."""
    answer: Any = plan({**asked, "count": count})
    return list(answer["options"])


def kwh_read(option: Any) -> float | None:
    """Return the kWh of a million tokens that an option reads, as its report and its boards say; None if not known."""
    report: Any = estimate(option["scenario"])
    energy, watts = option["energy"], catalog().accelerator(option["scenario"]["accelerator"]).quantity("power")
    assert energy["kwh_per_million_output_tokens"] is None
    if not watts:
        assert energy["kwh_per_million_input_tokens"] is None
        return None
    read = report["speed"]["prefill_tokens_per_s"]["typical"] / report["scenario"]["accelerators"]
    assert energy["kwh_per_million_input_tokens"] == pytest.approx(watts / read / 3.6)
    assert "a million tokens read" in option["why"]
    return float(energy["kwh_per_million_input_tokens"])
