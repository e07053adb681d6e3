"""How fast?, asked about requests that come on their own."""

from typing import Any

from calc.calculators import CALCULATORS

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
