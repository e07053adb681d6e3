"""From an answer to a running program: the command on the page is that of `calc.launch` for its case."""

import json
import re
from html import unescape
from typing import Any

import pytest

from calc import launch
from calc.calculators import CALCULATORS, answer
from calc.calculators.html import in_words
from calc.calculators.line import answer_line

OPTION = re.compile(r'data-launch="([^"]+)"')
STARTED = ("will-it-fit", "speed", "fine-tune")  # calculators whose own answer can be started
PLANS = ("what-runs", "what-hardware", "what-budget", "plan-service", "plan-fine-tune", "how-far")


def asked(name: str, launched: dict[str, Any], **fields: str) -> Any:
    """Return the page's answer to a press of a button."""
    return json.loads(answer(json.dumps({"calculator": name, "fields": fields, "launch": launched})))


@pytest.mark.parametrize("name", PLANS)
def test_each_option_s_button_is_told_from_the_others_by_ear(name: str) -> None:
    """Its name begins with the word that is seen, and goes on with the case that it starts."""
    report = CALCULATORS[name].report({})
    html = CALCULATORS[name].render(report)
    names = re.findall(r'<button [^>]*aria-label="(Command: [^"]+)"[^>]*>Command</button>', html)
    assert len(set(names)) == len(names) == html.count(">Command</button>") == len(report["plan"]["options"])


@pytest.mark.parametrize("name", STARTED)
def test_an_answer_says_how_it_is_started(name: str) -> None:
    """Each command and file that `launch` gives is there to copy, and each flag has its reason."""
    calculator = CALCULATORS[name]
    for preset in calculator.presets:
        report = calculator.report(preset.values)
        offered = 'data-launch=""' in calculator.render(report)
        assert offered == (report["scenario"].get("engine") != "none")
        if not offered:
            continue
        found, wanted = asked(name, {}, **preset.values), launch(calculator.asked(preset.values))
        html = unescape(found["html"])
        for text in [item["text"] for item in [*wanted["commands"], *wanted["files"]]]:  # type: ignore[misc]
            assert f"<code>{text}</code></pre><button" in html
        assert all(flag["because"] in html for flag in wanted["flags"])  # type: ignore[attr-defined]


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("name", PLANS)
def test_each_option_says_how_it_is_started(name: str) -> None:
    """A row's button asks for the option's own scenario, with its replicas."""
    calculator = CALCULATORS[name]
    report = calculator.report({})
    buttons = [json.loads(unescape(found)) for found in OPTION.findall(calculator.render(report))]
    assert buttons == [
        {"scenario": option["scenario"], "replicas": option["replicas"]} for option in report["plan"]["options"]
    ]
    found = asked(name, buttons[0])
    wanted: Any = launch(buttons[0]["scenario"], replicas=buttons[0]["replicas"])
    assert found["ok"] and wanted["commands"][0]["text"] in unescape(found["html"])


def test_options_of_a_line_can_be_started_too() -> None:
    """The first page's table of options has the same buttons; they need no form."""
    html = answer_line("what runs on a 64GB M4 Max")["html"]
    option = json.loads(unescape(OPTION.findall(html)[0]))
    assert json.loads(answer(json.dumps({"launch": option})))["ok"]


def test_machines_have_their_own_commands() -> None:
    """Sixteen devices stand in two machines: a command for each, and what a cluster is given."""
    option = {
        "scenario": {"model": "deepseek-v3", "accelerator": "h100-sxm-80gb", "accelerators": 16, "engine": "vllm"}
    }
    found = asked("will-it-fit", {**option, "replicas": 2})
    assert found["status"] == "The launch command for 2 machines is shown."
    for words in ("First machine", "Other machines", "Slurm", "Kubernetes", "replicas: 2"):
        assert words in found["html"]


def test_what_cannot_be_started_is_said_at_its_field() -> None:
    """No engine, no command."""
    found = asked("will-it-fit", {}, engine="")
    assert [error["field"] for error in found["errors"]] == ["engine"]


def test_options_can_be_sorted_by_what_they_are_worth() -> None:
    """A cell of a figure carries its value, so that 900 GiB do not stand before 1.2 TiB or after 90."""
    calculator = CALCULATORS["what-hardware"]
    report = calculator.report({})
    html = calculator.render(report)
    rooms = [int(float(found)) for found in re.findall(r'<data value="([\d.e+]+)">[\d.,]+ GiB', in_words(html))]
    options = report["plan"]["options"]
    assert rooms == [pytest.approx(option["margin_bytes"], rel=1e-5) for option in options]
    assert html.count("<gpu-table") == 1
