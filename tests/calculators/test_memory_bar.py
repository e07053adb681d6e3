"""The memory bar: parts in proportion, and the limit that they may reach where it is, by its name."""

import re
from typing import Any

import pytest

from calc import estimate
from calc.calculators.html import in_words
from calc.calculators.memory_bar import bars_html
from calc.units import show_gib

CASE = {"model": "llama-3.1-8b", "accelerator": "rtx-4090", "context_tokens": 8192}
LIMITS = re.compile(r'<rect x="([\d.]+)%"[^>]*class="part-limit"></rect><text[^>]*>([^<]+)</text>')


def drawn(**more: object) -> tuple[Any, str, list[tuple[str, str]]]:
    """Return a report, its bar, and the limits in it: where they stand and their names."""
    report: Any = estimate({**CASE, **more})
    html = bars_html(report)
    return report, html, LIMITS.findall(re.sub("</?tspan[^>]*>", "", html))


def test_an_engine_s_share_stands_where_it_ends() -> None:
    """vLLM leaves a part of the device alone: the line stands after the cache it set aside, where "free" begins."""
    report, html, [(place, name)] = drawn(engine="vllm")
    memory = report["memory"]
    assert memory["limit_bytes"] < memory["capacity_bytes"]
    assert float(place) == pytest.approx(100 * memory["limit_bytes"] / memory["capacity_bytes"], abs=0.01)
    assert memory["limit_bytes"] == pytest.approx(memory["device_bytes"], abs=4)  # the pool fills the share
    assert name == f"vLLM may take {show_gib(memory['limit_bytes'])}"
    assert "Free 1.51 GiB" in in_words(html)


def test_what_goes_beyond_has_both_limits() -> None:
    """Where the parts are more than the device has, its end is drawn too, and nothing that is not there."""
    report, html, found = drawn(engine="vllm", weights="fp8", context_tokens=131072)
    memory = report["memory"]
    used = sum(part["bytes"] for part in memory["parts"] if part["id"] != "outside_share")
    assert memory["fits"] is False and used > memory["capacity_bytes"]
    names = [f"The device has {show_gib(memory['capacity_bytes'])}", f"vLLM may take {show_gib(memory['limit_bytes'])}"]
    assert [name for _, name in found] == names
    assert [float(place) for place, _ in found] == [
        pytest.approx(100 * memory[limit] / used, abs=0.01) for limit in ("capacity_bytes", "limit_bytes")
    ]
    assert "outside_share" not in html


@pytest.mark.parametrize("engine", ["none", "llama.cpp"])
def test_without_a_share_the_device_s_end_is_the_limit(engine: str) -> None:
    """Nothing is drawn where all fits into a device that is taken as a whole; its end is, where it does not."""
    report, _, found = drawn(engine=engine)
    assert report["memory"]["limit_bytes"] == report["memory"]["capacity_bytes"] and found == []
    report, _, found = drawn(engine=engine, context_tokens=131072)
    assert [name for _, name in found] == [f"The device has {show_gib(report['memory']['capacity_bytes'])}"]


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "none"])
@pytest.mark.parametrize("tokens", [2048, 32768, 262144])
def test_what_is_used_stays_below_the_limit_where_it_fits(engine: str, tokens: int) -> None:
    """The demand's own parts reach the limit exactly where the answer changes."""
    report, _, _ = drawn(engine=engine, context_tokens=tokens)
    memory = report["memory"]
    used = sum(part["bytes"] for part in memory["parts"] if part["id"] not in ("outside_share", "kv_pool_free"))
    assert (used <= memory["limit_bytes"]) == memory["fits"]


def test_the_picture_is_said_in_words() -> None:
    """Beside it stands each part with its size, and the limit in it is no part of a picture: both can be exchanged."""
    report, html, _ = drawn(engine="vllm")
    assert 'role="img"' not in html and 'role="group" aria-label="Memory of the fullest device"' in html
    said = re.sub("<[^>]+>", "", html)
    for part in report["memory"]["parts"]:
        assert not part["bytes"] or f"{part['label']} {show_gib(part['bytes'])}" in said
    assert "vLLM may take" in said
