"""What a model that sees is shown, in forms and in the chips of a line."""

from typing import Any

import pytest

from calc.calculators.engines import WITHOUT_ENGINE, bare_bytes
from calc.calculators.line import answer_line
from calc.calculators.line_link import form_values
from calc.calculators.page import CALCULATORS
from calc.errors import ScenarioError
from calc.estimate import estimate


@pytest.mark.parametrize("calculator", ["will-it-fit", "speed"])
def test_a_form_asks_what_a_model_is_shown(calculator: str) -> None:
    """Left alone it says nothing; text alone and no videos are fields of the scenario, and come back to the form."""
    form = CALCULATORS[calculator]
    assert not {"text_only", "videos"} & form.asked({}).keys()
    asked = form.asked({"text_only": "yes", "videos": "no"})
    assert (asked["text_only"], asked["videos"]) == (True, False)
    values = form_values(form, {"model": "qwen2.5-vl-7b", "text_only": True, "videos": False})
    assert (values["text_only"], values["videos"]) == ("yes", "no")


def test_what_never_sees_cannot_do_without() -> None:
    """The error is said at its input."""
    with pytest.raises(ScenarioError) as caught:
        CALCULATORS["will-it-fit"].report({"model": "llama-3.1-8b", "text_only": "yes"})
    assert caught.value.field == "text_only"


def test_the_mathematics_alone_is_that_of_text_alone() -> None:
    """What an answer says beside the engine's memory leaves the tower out, too."""
    asked = {"model": "gemma-3-27b", "accelerator": "h100-sxm-80gb"}
    report = CALCULATORS["will-it-fit"].report(asked)
    alone = CALCULATORS["will-it-fit"].report({**asked, "text_only": "yes"})
    assert bare_bytes(alone) < bare_bytes(report)


@pytest.mark.parametrize(
    "changed",
    [
        *(preset.values for preset in CALCULATORS["will-it-fit"].presets),
        {"sequences": "16", "engine": "vllm"},
        {"accelerators": "2", "weights": "q4_k_m", "engine": "llama.cpp"},
    ],
)
def test_the_mathematics_alone_is_what_a_report_without_an_engine_says(changed: dict[str, str]) -> None:
    """An answer looks for that one number alone."""
    report = CALCULATORS["will-it-fit"].report(changed)
    asked = {name: report["scenario"][name] for name in WITHOUT_ENGINE if name in report["scenario"]}
    memory: Any = estimate({**asked, "engine": "none"})["memory"]
    assert bare_bytes(report) == memory["device_bytes"]


def test_a_line_says_it_in_a_chip() -> None:
    """`text only` is a part that may be left out, and the link opens the form with it."""
    html = answer_line("qwen3.8 27b nvfp4 vllm on a 5090 text only")["html"]
    assert "<span>Shown</span>" in html and "text_only=yes" in html
