"""One quantity has one value, on whichever page it stands."""

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from calc import estimate

DOCS = Path(__file__).parents[2] / "docs"
SIZED = ("number", "training_total", "cards", "timed", "speed")  # macros whose keywords are a scenario's fields
CALL = re.compile(r"\b(" + "|".join(SIZED) + r")(\([^{}]*\))")


def named_formats() -> dict[tuple[str, str], set[str]]:
    """Return the pages that ask for the weights of a model by a format's name, by both."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in sorted(DOCS.rglob("*.md")):
        for name, arguments in CALL.findall(path.read_text(encoding="utf-8")):
            try:
                call = ast.parse(name + arguments, mode="eval").body
            except SyntaxError:
                continue
            if not isinstance(call, ast.Call):
                continue
            words = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)}
            if "model" in words and "weights" in words:
                found[str(words["model"]), str(words["weights"])].add(path.relative_to(DOCS).as_posix())
    return found


def weights_bytes(model: str, weights: str) -> tuple[int, str]:
    """Return the bytes of a model's weights, and the number format that most of them have."""
    report: Any = estimate({"model": model, "weights": weights})
    return report["memory"]["parts"][0]["bytes"], str(report["scenario"]["weights"])


def test_a_model_in_its_published_format_has_one_size() -> None:
    """Where a repository is in FP8, "FP8" and "as published" are the same files: pages give the published size."""
    named = named_formats()
    assert len(named) > 10
    for (model, weights), pages in named.items():
        if weights == "published":
            continue
        size, published = weights_bytes(model, weights)[0], weights_bytes(model, "published")[0]
        differ = abs(size - published) / published
        assert differ == 0 or differ > 0.01, f"{model} in {weights} is within 1 % of its published size on {pages}"


def test_answer_ai_s_recipe_is_the_same_on_both_pages() -> None:
    """Both pages compute it from the same settings."""
    pages = [
        (DOCS / page).read_text(encoding="utf-8") for page in ("planning/turnkey.md", "training/two-24gb-cards.md")
    ]
    settings = [
        ast.literal_eval(found[1]) for page in pages if (found := re.search(r"set adapters = ({.*?}) %}", page))
    ]
    assert len(settings) == 2 and settings[0] == settings[1]
    totals = []
    for page in pages:
        found = re.search(r"set (?:answer_ai|recipe) = ({.*}) %}", page)
        assert found is not None
        run = ast.literal_eval(found[1].replace("adapters", repr(settings[0])))
        report: Any = estimate({"workload": "training", **run, "accelerator": "rtx-3090", "offload": ["parameters"]})
        totals.append(report["memory"]["device_bytes"])
    assert totals[0] == totals[1]
