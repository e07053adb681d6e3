"""How fast?, asked about a server: requests kept at a number, or that come on their own."""

from typing import Any

import pytest

from calc import estimate
from calc.calculators import CALCULATORS
from calc.calculators.arriving import steady
from calc.units import show_number, show_tokens_per_s
from tests.calculators.asking import ask

SPEED = CALCULATORS["speed"]
SERVER = {"weights": "bf16", "engine": "vllm", "accelerator": "h100-sxm-80gb"}


def test_a_form_without_arrivals_asks_for_sequences() -> None:
    """What stands in the folded inputs changes nothing until requests come."""
    asked = SPEED.asked({**SERVER, "burstiness": "0.5", "ttft_s": "1", "longest_share": "4"})
    assert "arrivals" not in asked
    assert asked["sequences"] == 1
    assert SPEED.asked({**SERVER, "requests_per_s": "0"}) == SPEED.asked(SERVER)


def test_a_form_with_arrivals_asks_for_them() -> None:
    """Lengths spread about those of the form, and promises are the objective."""
    asked: Any = SPEED.asked({**SERVER, "requests_per_s": "2", "longest_share": "3", "ttft_s": "0.5"})
    assert "sequences" not in asked
    assert asked["arrivals"] == {
        "requests_per_s": 2.0,
        "burstiness": 1.0,
        "lengths": {
            "prompt_tokens": {"median": 2048, "p95": 6144},
            "output_tokens": {"median": 256, "p95": 768},
        },
        "objective": {"ttft_s": 0.5},
    }


def test_an_engine_that_is_timed_alone_says_what_its_server_writes() -> None:
    """People see llama.cpp through a server, which takes longer for a token; vLLM chooses tokens on the device."""
    asked = {"model": "qwen3-8b", "weights": "q4_k_m", "engine": "llama.cpp", "accelerator": "rtx-4090"}
    alone, served = SPEED.report(asked)["speed"], SPEED.report({**asked, "concurrency": "1"})["speed"]
    seen = 1 / served["time_per_output_token_s"]["typical"]
    assert 0.9 * alone["decode_tokens_per_s"]["typical"] < seen < alone["decode_tokens_per_s"]["typical"]
    assert SPEED.status(SPEED.report(asked)).count(f"people see {show_tokens_per_s(seen)}.") == 1
    for others in ({**asked, "sequences": "2"}, {**asked, "concurrency": "1"}, {**asked, **SERVER}):
        assert "people see" not in SPEED.status(SPEED.report(others))


def test_the_answer_has_the_times_of_requests() -> None:
    """Percentiles, the knee and the share that keeps what is promised stand in the table."""
    report = SPEED.report({**SERVER, "requests_per_s": "2", "tpot_s": "0.05"})
    html = SPEED.render(report)
    for words in ("95 % within", "Requests at the knee", "Share within what is promised"):
        assert words in html
    assert "nineteen of twenty within" in SPEED.status(report)


def test_what_cannot_keep_up_is_said() -> None:
    """More requests than the server answers: no time is given as if it held."""
    report = SPEED.report({**SERVER, "requests_per_s": "500"})
    assert SPEED.status(report).startswith("It does not keep up")


def test_a_form_with_requests_in_the_server_asks_for_their_steady_state() -> None:
    """The table and the headline have the figures of `concurrency`, in place of sequences that begin together."""
    report = SPEED.report({**SERVER, "concurrency": "64"})
    wanted: Any = estimate(
        {"model": "llama-3.1-8b", **SERVER, "concurrency": 64, "prompt_tokens": 2048, "output_tokens": 256}
    )
    assert report["speed"] == wanted["speed"]
    html, rate = SPEED.render(report), wanted["speed"]["decode_tokens_per_s"]["typical"]
    assert SPEED.status(report).startswith(f"{show_tokens_per_s(rate)}, with 64 requests in the server")
    for words in ("Time to the first token, 95 % within", "Requests answered", "never short of requests"):
        assert words in html
    assert "All prompts arrive at the same moment" not in html


@pytest.mark.parametrize(
    ("typed", "field"),
    [({"concurrency": "2.5"}, "concurrency"), ({"concurrency": "8", "requests_per_s": "2"}, "requests_per_s")],
)
def test_what_does_not_go_together_is_said_at_its_field(typed: dict[str, str], field: str) -> None:
    """Half a request, and a number beside a rate, are refused where they were typed."""
    found = ask("speed", **SERVER, **typed)
    assert [error["field"] for error in found["errors"]] == [field]


def test_a_model_that_writes_nothing_has_one_pass() -> None:
    """Requests to an encoder in a server are passes; the answer names no tokens that are written."""
    report = SPEED.report({"model": "bert-base", "engine": "vllm", "accelerator": "h100-sxm-80gb", "concurrency": "4"})
    assert "one pass over 4 texts takes" in SPEED.status(report)


def test_a_full_server_lets_requests_wait() -> None:
    """Where as many are in the server as fit as computed, that some wait in half of such servers is said."""
    scenario = {"model": "deepseek-r1", "accelerator": "mi300x", "accelerators": 8, "engine": "vllm"}
    report: Any = estimate({**scenario, "prompt_tokens": 2048, "output_tokens": 256, "concurrency": 4000})
    memory = report["memory"]
    assert memory["sequences"] == memory["max_sequences"] < 4000
    some = show_number(100 * (1 - memory["chance"]), 2)
    assert f"in {some} % of such servers some wait" in steady(report)[2]
    assert "need more memory" not in steady(report)[2]
