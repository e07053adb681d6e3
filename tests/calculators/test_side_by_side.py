"""Answers side by side: each in a column, what differs marked, from any calculators, up to four."""

import json
from typing import Any

import pytest

from calc.calculators import CALCULATORS, answer, render_comparison
from calc.calculators.side_by_side import MOST


def compared(*pinned: tuple[str, dict[str, str]]) -> dict[str, Any]:
    """Return the page's reply to pinned answers."""
    entries = [{"calculator": name, "fields": fields} for name, fields in pinned]
    found = json.loads(answer(json.dumps({"pinned": entries})))
    assert isinstance(found, dict)
    return found


def test_what_differs_is_marked() -> None:
    """Of two devices the name and the verdicts differ; the model's weights are the same and not marked."""
    asked = {"weights": "q4_k_m"}
    html = compared(("will-it-fit", asked), ("will-it-fit", asked | {"accelerator": "rtx-3060-12gb"}))["html"]
    assert "<mark>GeForce RTX 4090</mark>" in html and "<mark>GeForce RTX 3060 12GB</mark>" in html
    assert "<td>Q4_K_M</td><td>Q4_K_M</td>" in html
    weights = html.partition("… Weights</th>")[2].partition("</tr>")[0]
    assert "<mark>" not in weights and "GiB" in weights


def test_what_fits_is_compared_by_its_speed_too() -> None:
    """Its own answer looks for none."""
    assert "Tokens written, all sequences" in compared(("will-it-fit", {}))["html"]


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("name", CALCULATORS)
def test_any_calculator_can_be_pinned(name: str) -> None:
    """The answer of each stands beside another's; its title leads to its own form with its fields."""
    reply = compared((name, {}), ("will-it-fit", {"accelerator": "l4-24gb"}))
    assert reply["ok"], reply
    assert f'href="../../calculators/{name}/"' in reply["html"]
    assert "calculators/will-it-fit/?accelerator=l4-24gb" in reply["html"]
    assert reply["html"].count("data-remove") == 2


def test_too_many_and_wrong_ones_are_refused() -> None:
    """At most four; a wrong value is named, and nothing breaks."""
    assert not compared(*[("will-it-fit", {})] * (MOST + 1))["ok"]
    assert "nope" in compared(("will-it-fit", {"model": "nope"}))["status"]
    assert not compared(("nothing", {}))["ok"]


def test_a_page_begins_with_what_it_is_given() -> None:
    """The element has the table finished, and says what it was made of."""
    html = render_comparison([{"calculator": "speed", "fields": {"accelerator": "rtx-3090"}}])
    assert "GeForce RTX 3090" in html and "data-first=" in html and 'role="status"' in html
