"""What drafts gain in speed, and where they stop to."""

from typing import Any

import pytest

from calc import estimate
from calc.architecture.stages import Stage
from calc.catalog import catalog
from calc.performance.forward import rank_of
from calc.performance.speculation import last_gain
from calc.performance.speed import passes_for
from calc.planning.served import serve
from calc.planning.serving_question import speed_question
from calc.question import read_question
from calc.validation.scores import by, line
from calc.validation.speculation import acceptance_of, scores

SERVED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "weights": "bf16",
    "engine": "vllm",
    "accelerator": "h100-sxm-80gb",
    "prompt_tokens": 512,
    "output_tokens": 256,
}


def speed(**fields: object) -> dict[str, Any]:
    """Return the speed of a report."""
    found: Any = estimate({**SERVED, **fields})["speed"]
    return found


def each_s(found: dict[str, Any]) -> float:
    """Return the seconds between tokens."""
    return float(found["time_per_output_token_s"]["typical"])


def test_published_gains_are_met_without_a_fit() -> None:
    """Each source of measured gains once: about a fifth at the median, with no coefficient that any of them set."""
    found = sorted(line(name, group).middle for name, group in by(scores()[0], "source").items())
    assert len(found) >= 3 and found[len(found) // 2] <= 0.24


def test_what_engines_log_is_less_than_the_chance() -> None:
    """At a chance of a half, three drafted tokens have 0.5 + 0.25 + 0.125 accepted: 29 % of them."""
    assert acceptance_of(0.875 / 3, 3) == pytest.approx(0.5)


def test_what_is_never_accepted_costs() -> None:
    """Drafts that all are rejected make every token later, and the answer says that they lose."""
    report: Any = estimate({**SERVED, "speculation": {"method": "eagle", "acceptance": 0}})
    assert each_s(report["speed"]) > each_s(speed())
    assert report["speed"]["speculation"]["gain"] < 1
    assert [warning["code"] for warning in report["warnings"]].count("speculation-loses") == 1


def test_the_gain_is_that_of_the_tokens() -> None:
    """How many times faster it says is what both speeds say."""
    drafted = speed(speculation={"method": "eagle"})
    assert each_s(speed()) / each_s(drafted) == pytest.approx(drafted["speculation"]["gain"], rel=0.01)


def test_it_stops_to_help_where_it_says() -> None:
    """Drafts from the text gain for the sequences that are named, and lose for twice as many."""
    drafts = {"method": "ngram"}
    most = speed(speculation=drafts)["speculation"]["helps_up_to_sequences"]
    few, many = (speed(speculation=drafts, sequences=count)["speculation"]["gain"] for count in (most // 2, 2 * most))
    assert few > 1 > many


def test_replicas_help_as_many_each() -> None:
    """Two that share the sequences gain up to twice as many in all."""
    asked: dict[str, Any] = {"speculation": {"method": "ngram"}}
    one = speed(**asked, sequences=8)["speculation"]["helps_up_to_sequences"]
    two = speed(**asked, sequences=16, parallelism={"data": 2})["speculation"]["helps_up_to_sequences"]
    assert two == 2 * one > 0


def test_more_often_right_is_faster() -> None:
    """Tokens come sooner with each step of acceptance."""
    times = [each_s(speed(speculation={"method": "eagle", "acceptance": share / 4})) for share in range(5)]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("load", [{"concurrency": 8}, {"arrivals": {"requests_per_s": 1}}])
def test_a_loaded_server_writes_faster(load: dict[str, Any]) -> None:
    """In the steady state as event by event."""
    plain, drafted = speed(**load), speed(**load, speculation={"method": "eagle"})
    assert each_s(drafted) < 0.7 * each_s(plain)
    assert drafted["speculation"]["tokens_per_step"] == pytest.approx((1 - 0.64**4) / 0.36)


def test_one_request_is_one_sequence() -> None:
    """Alone, a request's tokens come as those of a batch of one."""
    drafts = {"method": "eagle"}
    one, batch = speed(concurrency=1, speculation=drafts), speed(sequences=1, speculation=drafts)
    assert each_s(one) == pytest.approx(each_s(batch), rel=0.1)


def test_a_search_by_halves_ends() -> None:
    """It finds where a gain ends, nothing where there is none, and None where it never ends."""
    assert last_gain(lambda count: 100.5 / count) == 100
    assert last_gain(lambda count: 0.5 / count) == 0
    assert last_gain(lambda count: 2.0 * count) is None


@pytest.mark.parametrize(("engine", "fuses"), [("vllm", True), ("transformers", False)])
def test_a_drafter_s_matrices_are_joined_as_its_engine_joins_them(engine: str, fuses: bool) -> None:
    """Query, key and value are one product in a draft model, too, where they are one in what it drafts for."""
    drafts = {"method": "draft", "model": "llama-3.2-1b"}
    question = read_question({**SERVED, "engine": engine, "speculation": drafts})
    serving = question.serving()
    assert serving
    served = serve(serving, question.demand, question.layout, most=False)
    asked = speed_question(served, 256, 0)
    passes = asked and passes_for(asked, serving.engine.values)
    assert passes and passes.drafter
    demand, layout = passes.drafter.demand, passes.drafter.layout
    stage = Stage(demand.architecture, 0, demand.architecture.layer_count)
    own, other = (rank_of(stage, demand, layout, fuses=joined) for joined in (fuses, not fuses))
    assert passes.drafter.model.matrices == own.matrices != other.matrices


DRAFTERS = [(engine.id, method) for engine in catalog().engines() for method in engine.drafters]


@pytest.mark.parametrize(("engine", "method"), DRAFTERS)
def test_every_drafter_of_an_engine_has_a_speed(engine: str, method: str) -> None:
    """Two models of one vocabulary, layers of multi-token prediction, a head and what stands in the text."""
    scenario: dict[str, Any] = {"model": "qwen3-8b" if method != "mtp" else "mimo-7b", "engine": engine}
    scenario["accelerator"] = "m3-ultra-256gb" if engine == "mlx" else "h100-sxm-80gb"
    named = {"model": "qwen3-0.6b"} if method == "draft" else {}
    report: Any = estimate({**scenario, "speculation": {"method": method, **named}})
    assert report["speed"]["speculation"]["tokens_per_step"] > 1
