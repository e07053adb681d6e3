"""The page of measurements: what is pasted fills in the form, is compared, and corrects the guide's answers."""

import json
from typing import Any

import pytest

from calc.calculators import CALCULATORS, answer, imported
from calc.calculators.your_measurement import MEASURED_NAMES
from calc.catalog import catalog
from calc.measured_output.reader import read_output
from tests.calculators.asking import ask
from tests.measured_output.test_reading import INDEX, pasted

NAME = "your-measurement"
KEPT = [{"accelerator": "rtx-4090", "engine": "llama.cpp", "correction": {"decode": 2.0}}]


def paste(text: str, **fields: str) -> dict[str, Any]:
    """Return the page's reply to a pasted text."""
    request = {"calculator": NAME, "fields": fields, "files": [], "text": text}
    found = json.loads(imported(json.dumps(request), []))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", [name for name in INDEX if not INDEX[name].get("training")])
def test_what_is_pasted_is_compared(name: str) -> None:
    """Each published output fills in the form, whose answer shows every term that it has and a verdict."""
    reply = paste(pasted(name))
    assert reply["ok"] and reply["status"].startswith("Read ")
    found = ask(NAME, **reply["fields"])
    assert found["ok"], found
    terms = read_output(pasted(name), catalog()).terms
    assert sum(bool(reply["fields"][MEASURED_NAMES[term]]) for term in terms) == len(terms)
    assert "It agrees" in found["status"] or "It differs" in found["status"]


def test_a_second_paste_forgets_the_first() -> None:
    """What was measured before stands no longer in the form."""
    before = paste(pasted("vllm-bench-deepseek-r1"))["fields"]
    after = before | paste(pasted("nvidia-smi-rtx-3090"), **before)["fields"]
    assert [name for name in MEASURED_NAMES.values() if after[name]] == ["measured_device_gib"]
    assert after["concurrency"] == ""


def test_a_dropped_log_is_asked_for_whole() -> None:
    """A file is read up to its end, or two million bytes; what is none of the outputs is refused with a sentence."""
    log = pasted("vllm-start-v0-h100").encode()
    request = {"calculator": NAME, "fields": {}, "files": [{"name": "serve.log", "size": len(log)}], "text": ""}
    assert json.loads(imported(json.dumps(request), [b""])) == {"need": [len(log)]}
    assert json.loads(imported(json.dumps(request), [log]))["fields"]["measured_weights_gib"] == "12.55"
    assert "none of the outputs" in paste("hello")["status"]


def test_the_table_has_measured_and_computed() -> None:
    """llama-bench on an RTX 4090 agrees in all three terms, and its report holds the scenario and the figures."""
    reply = paste(pasted("llama-bench-rtx-4090"))
    html = ask(NAME, **reply["fields"])["html"]
    assert "11,048 tokens/s" in html and "12.55 GiB" in html and html.count(">in the range<") == 3
    assert "&quot;apart&quot;" not in html and '"apart": true' in html.replace("&quot;", '"')
    assert "data-send" in html and "data-correct" in html


def test_a_kept_correction_corrects_its_device_and_engine_alone() -> None:
    """Twice as long steps halve the rate on that device under that engine, and the answer is marked with a way back."""

    def asked(kept: list[Any], **fields: str) -> dict[str, Any]:
        found = json.loads(answer(json.dumps({"calculator": "speed", "fields": fields, "corrections": kept})))
        assert found["ok"], found
        return found  # type: ignore[no-any-return]

    plain, corrected = asked([]), asked(KEPT)
    assert "calc-corrected" in corrected["html"] and "data-uncorrect" in corrected["html"]
    assert "calc-corrected" not in plain["html"] and plain["status"] != corrected["status"]
    for fields in ({"accelerator": "rtx-3090"}, {"engine": "vllm", "weights": "awq"}):
        assert asked(KEPT, **fields) == asked([], **fields)


def test_answers_lead_here_with_their_scenario() -> None:
    """Under an answer of an engine on a device stands a link whose fields are inputs of this form, with its values."""
    html = ask("will-it-fit", model="qwen3-32b", weights="awq", engine="vllm", accelerator="rtx-3090")["html"]
    query = html.partition("calculators/your-measurement/?")[2].partition('"')[0].replace("&amp;", "&")
    fields = dict(pair.split("=") for pair in query.split("&"))
    assert set(fields) <= {field.name for field in CALCULATORS[NAME].inputs}
    assert (fields["model"], fields["weights"], fields["accelerator"]) == ("qwen3-32b", "awq", "rtx-3090")
    assert ask(NAME, **fields)["ok"]
    assert "your-measurement" not in ask("will-it-fit", engine="")["html"]
