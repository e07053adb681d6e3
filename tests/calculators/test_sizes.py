"""Sizes that a page can say in either unit."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.calculators import answer
from calc.calculators.html import SIZE, element, in_words, text
from calc.calculators.rendering import warnings_html
from calc.calculators.sizes import size_binary, size_decimal, size_gb, size_gib, with_sizes
from calc.estimate import estimate
from calc.units import show_binary, show_decimal, show_gb, show_gib

SIZES = {size_gib: (show_gib, show_gb), size_gb: (show_gb, show_gib)}
SIZES |= {size_binary: (show_binary, show_decimal), size_decimal: (show_decimal, show_binary)}


@given(size_bytes=st.integers(-(10**15), 10**15))
def test_both_units_are_of_the_same_bytes(size_bytes: int) -> None:
    """A size has its bytes, the words that it was written in, and those of the other unit, both by one rule each."""
    for size, (own, other) in SIZES.items():
        written = size(size_bytes)
        assert in_words(written) == own(size_bytes)
        found = SIZE.fullmatch(written)
        if found is None:
            assert abs(size_bytes) < 1024
            continue
        assert found.groups() == (str(size_bytes), other(size_bytes), own(size_bytes))
        said = {in_words(written, "GB"), in_words(written, "GiB")}
        assert said == {own(size_bytes), other(size_bytes)}
        assert not in_words(written, "GB").endswith("iB") and in_words(written, "GiB").endswith("iB")


def test_a_size_stays_an_element_in_text_alone() -> None:
    """Text around a size is escaped, and no other element comes through."""
    size = size_gib(2**34)
    assert text(f"<b>{size}</b>") == f"&lt;b&gt;{size}&lt;/b&gt;"
    for other in ("<data value='1'>x</data>", '<data value="1" data-or="x" onclick="y">z</data>', "<data>"):
        assert "<" not in text(other)


def test_where_no_element_can_stand_sizes_are_words() -> None:
    """Attributes and options have words; a drawing's text has parts of its own kind."""
    size = size_gib(2**34)
    assert element("p", size, title=size) == f'<p title="16.00 GiB">{size}</p>'
    assert element("option", size) == "<option>16.00 GiB</option>"
    assert element("text", size) == '<text><tspan data-or="17.18 GB">16.00 GiB</tspan></text>'


@pytest.mark.parametrize("unit", ["GB", "GiB"])
def test_sentences_are_said_in_the_unit_that_was_chosen(unit: str) -> None:
    """What is spoken and what is copied has words in the unit of the request; HTML brings both in any case."""
    asked = {"calculator": "will-it-fit", "fields": {"model": "llama-3.1-8b"}, "unit": unit}
    found = json.loads(answer(json.dumps(asked)))
    assert re.search(rf"\d {unit}\b", found["status"]) and "<" not in found["status"]
    assert not re.search(rf"\d {'GiB' if unit == 'GB' else 'GB'}\b", found["status"])
    assert found["html"] == json.loads(answer(json.dumps(asked | {"unit": ""})))["html"]
    note = json.loads(answer(json.dumps(asked | {"take": "markdown", "address": "x"})))["text"]
    assert found["status"] in note


@pytest.mark.parametrize(
    ("code", "scenario"),
    [
        ("host-memory-short", {"model": "qwen3-30b-a3b", "accelerator": "rtx-3060-12gb", "host": {"memory": "8 GiB"}}),
        ("memory-shared", {"model": "llama-3.1-8b", "accelerator": "m4-max-64gb"}),
    ],
)
def test_sizes_in_warnings_are_said_in_either_unit(code: str, scenario: dict[str, object]) -> None:
    """The report has them as bytes beside the sentence, in its order; the page has each with its other unit."""
    host = {"engine": "llama.cpp", "weights": "q4_k_m", "experts_on_host": "all"} if "host" in scenario else {}
    report = estimate({**scenario, **host, "context_tokens": 8192})
    (warning,) = [warning for warning in report["warnings"] if warning["code"] == code]  # type: ignore[attr-defined]
    written = with_sizes(warning["message"], warning["sizes_bytes"])
    found = SIZE.findall(written)
    assert [int(size_bytes) for size_bytes, _, _ in found] == list(warning["sizes_bytes"]) and len(found) == 2
    assert in_words(written) == warning["message"] and "iB" not in in_words(written, "GB")
    assert written in warnings_html([warning])
