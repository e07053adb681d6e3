"""What one may expect of a calculator on a page: each check has tests, those without a browser stand here."""

import ast
import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from calc.calculators import CALCULATORS, render_calculator

ROOT = Path(__file__).parents[2]
CHECKS = list(csv.DictReader((ROOT / "tests/data/checklist.csv").read_text(encoding="utf-8").splitlines()))
LATEST_MS = 200  # from a key to the painted answer


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check["id"])
def test_each_check_has_its_tests(check: dict[str, str]) -> None:
    """The tests that are named are there, under these names."""
    for name in check["shown_by"].split():
        path, _, function = name.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


@pytest.mark.parametrize("name", CALCULATORS)
def test_every_answer_names_what_it_assumes(name: str) -> None:
    """The list of what is taken for granted is never empty."""
    html = render_calculator(name)
    listed = re.search(r'data-key="assumptions".*?</details>', html, re.S)
    assert listed and listed[0].count("<li>") >= 1


@pytest.mark.parametrize("name", [name for name in CALCULATORS if name != "your-training"])
def test_no_page_says_that_it_leaves_out_what_its_form_asks(name: str) -> None:
    """What a calculator does not model is no longer listed once a field asks for it."""
    page = (ROOT / f"docs/calculators/{name}.md").read_text(encoding="utf-8")
    listed = re.findall("^- (.+)$", page.partition("## What it does not model")[2].lower(), re.M)
    assert listed
    for field in CALCULATORS[name].inputs:
        asked = field.label.lower().partition(" of ")[0]
        ends = "" if " " in asked else "[.:,]"  # a word alone may begin any sentence
        assert not [left for left in listed if re.match(f"{re.escape(asked)}s?{ends}", left)], field.label


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "✓ It fits"),
        (
            {"model": "llama-3.3-70b", "weights": "q4_k_m", "accelerators": "2", "context_tokens": "16384"},
            "≈ It likely fits",
        ),
        ({"context_tokens": "10000000"}, "✗ It does not fit"),
        ({"accelerator": "v100-sxm2-32gb", "engine": "vllm", "weights": "fp8"}, "✗ It does not run"),
    ],
)
def test_a_verdict_has_a_sign_and_words(fields: dict[str, str], said: str) -> None:
    """Yes, likely and no are a sign, a word and a colour."""
    assert f"<strong>{said}" in render_calculator("will-it-fit", fields)


def test_styles_move_nothing_for_those_who_want_it_still() -> None:
    """No style of the guide's own animates, and the theme's transitions end where a reader asks for less motion.

    The shadow of a wide table stands still in time: its timeline is how far the reader has scrolled the table.
    """
    found = {path: path.read_text(encoding="utf-8") for path in (ROOT / "docs/assets").glob("*/*.css")}
    scrolled = re.compile(r"^@supports \(animation-timeline: scroll\(\)\) \{.*?^\}", re.DOTALL | re.MULTILINE)
    styles = {path: scrolled.sub("", style) for path, style in found.items()}
    assert not any(re.search(r"@keyframes|animation:|transition:\s*(?!none)\S", style) for style in styles.values())
    assert any("@media (prefers-reduced-motion: reduce)" in style for style in styles.values())


def test_a_keystroke_was_answered_in_time() -> None:
    """In the benchmark that the site shows, nineteen of twenty answers were painted in time."""
    figures: Any = json.loads((ROOT / "docs/assets/benchmark.json").read_text(encoding="utf-8"))
    painted = sorted(key["painted"] for key in figures["keystrokes"])
    assert painted[round(0.95 * (len(painted) - 1))] < LATEST_MS


@pytest.mark.parametrize("name", CALCULATORS)
def test_each_calculator_has_an_anchor(name: str) -> None:
    """A link to `#id` leads to the form on any page that has it."""
    assert f'<form class="calc-form" id="{name}"' in render_calculator(name)
