"""Calculators: every preset answers, every form is complete, and what a reader mistypes comes back as an error."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import ScenarioError
from calc.calculators import CALCULATORS, answer, render_calculator, render_presets
from calc.calculators.calculator import Preset
from calc.calculators.form import stops_of
from calc.calculators.inputs import Amount, Choice, Input, Number
from tests.calculators.asking import ask

VOID = {"input", "br", "img", "meta", "link"}


class Balanced(HTMLParser):
    """Checks that elements close in order, that ids are unique, and that no style or script is written."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.labelled: set[str] = set()
        self.controls: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that opens."""
        values = dict(attrs)
        assert tag not in ("script", "style") and "style" not in values
        assert not any(name.startswith("on") for name in values)
        identity = values.get("id")
        if identity:
            assert identity not in self.ids
            self.ids.add(identity)
        if tag == "label" and "for" in values:
            self.labelled.add(str(values["for"]))
        if tag in ("input", "select", "textarea") and "label" not in self.open:
            self.controls.add(str(identity))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Note an element that closes."""
        assert self.open.pop() == tag


def test_calculators_are_known_by_their_ids() -> None:
    """Each module's calculator has the id under which it is found, and an unknown id is refused with the nearest."""
    assert [calculator.id for calculator in CALCULATORS.values()] == list(CALCULATORS)
    with pytest.raises(ScenarioError, match="kv-cache"):
        render_calculator("kv-cash")


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("name", CALCULATORS)
def test_a_form_is_complete(name: str) -> None:
    """Well-formed HTML, a label for each control, help and error by id, no script and no style."""
    page = Balanced()
    html = render_calculator(name)
    page.feed(html)
    assert not page.open
    assert page.labelled == page.controls
    inputs = CALCULATORS[name].inputs
    listed = any(isinstance(field, Choice) and field.kind == "models" for field in inputs)
    own = ("files", "text") if listed else ()  # of a model of one's own
    assert len(page.controls) == len(inputs) + len(own) + 1  # the list of worked examples
    assert 'role="status"' in html and "calc-verdict" in html


@pytest.mark.parametrize("name", CALCULATORS)
def test_sliders_stop_at_what_their_numbers_take(name: str) -> None:
    """Stops rise within the range of the number, and begin at its default or below."""
    stops = {field.name: stops_of(field) for field in CALCULATORS[name].inputs if isinstance(field, Number)}
    for field in CALCULATORS[name].inputs:
        if not isinstance(field, Number) or not (written := stops[field.name]):
            continue
        found = [int(stop) for stop in written.split(" ")]
        assert found == sorted(set(found)) and field.least <= found[0] and found[-1] <= field.most
        assert found[0] <= int(field.default.replace(",", ""))
        assert f'name="{field.name}"' in render_calculator(name) and f'data-stops="{written}"' in render_calculator(
            name
        )


@pytest.mark.parametrize("name", CALCULATORS)
def test_a_preset_s_answer_is_the_built_one(name: str) -> None:
    """The live answer to the last preset is the one that the build wrote; tests/runtime asks for all of them."""
    preset = CALCULATORS[name].presets[-1]
    found = ask(name, **preset.values)
    assert found["ok"], found
    assert found["html"] in render_calculator(name, preset.values)
    assert found["status"]


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("name", CALCULATORS)
def test_presets_stand_in_a_table(name: str) -> None:
    """Each worked example is a row whose name leads to the calculator filled in."""
    html = render_presets(name, "../x/")
    assert html.count('scope="row"') == len(CALCULATORS[name].presets)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"context_tokens": "abc"}, "context_tokens"),
        ({"context_tokens": ""}, "context_tokens"),
        ({"context_tokens": "9" * 400}, "context_tokens"),
        ({"context_tokens": "²"}, "context_tokens"),
        ({"model": "nope"}, "model"),
        ({"model": ""}, "model"),
        ({"accelerators": "37"}, "accelerators"),
        ({"weights": "<script>"}, "weights"),
        ({"unknown": "1"}, "unknown"),
    ],
)
def test_what_a_reader_mistypes_comes_back_by_field(fields: dict[str, str], field: str) -> None:
    """An error names the form's field and says what is allowed."""
    found = ask("will-it-fit", **fields)
    assert not found["ok"]
    assert [error["field"] for error in found["errors"]] == [field]
    labels = {given.name: given.label for given in CALCULATORS["will-it-fit"].inputs}
    assert found["status"] == f"{labels.get(field, field)}: {found['errors'][0]['message']}"


def test_the_ends_of_a_number_are_written_out() -> None:
    """Nobody who mistypes reads 1e-09."""
    said = "must be a number from 0.000000001 to 1,000,000,000,000, with a point: 2.50"
    assert ask("scaling-laws", amount="a lot")["errors"] == [{"field": "amount", "message": said}]


def test_thousands_may_be_separated() -> None:
    """8,192 and 8 192 and 8_192 are 8192."""
    answers = [ask("will-it-fit", context_tokens=typed)["html"] for typed in ("8192", "8,192", "8 192", "8_192")]
    assert len(set(answers)) == 1


@given(
    fields=st.dictionaries(
        st.sampled_from([field.name for field in CALCULATORS["will-it-fit"].inputs]),
        st.text(max_size=9),
        max_size=3,
    )
)
def test_no_text_breaks_a_calculator(fields: dict[str, str]) -> None:
    """Whatever is typed, an answer or an error comes back."""
    found = ask("will-it-fit", **fields)
    assert found["ok"] or found["errors"][0]["message"]


def ends_of(field: Input) -> tuple[str, ...]:
    """Return what stands at the ends of an input: the least and the most of a number, all of a short list."""
    if isinstance(field, Number | Amount):
        return f"{field.least:f}".rstrip("0").rstrip("."), f"{field.most:f}".rstrip("0").rstrip(".")
    return tuple(value for value, _ in field.options) if isinstance(field, Choice) else ()


@pytest.mark.parametrize("name", [name for name in CALCULATORS if not CALCULATORS[name].steps])
def test_the_ends_of_each_input_are_answered_in_words(name: str) -> None:
    """Each end of each input has an answer without a word of Python's, or an error at an input of the form."""
    inputs = CALCULATORS[name].inputs
    for field in inputs:
        for typed in ends_of(field):
            found = ask(name, **{field.name: typed})
            if not found["ok"]:
                assert {error["field"] for error in found["errors"]} <= {given.name for given in inputs}, typed
                continue
            told = unescape(re.sub("<[^>]*>", " ", found["html"]))
            assert not re.search(r"\b(None|True|False|nan|inf)\b", told), (field.name, typed)


def test_an_example_says_what_a_page_begins_with_otherwise() -> None:
    """On a page whose form begins with buying, "least rent" rents: the example holds for every field of the form."""
    options = re.findall(r'<option value="([{].*?)">', render_calculator("what-hardware", {"pay": "buy"}))
    said = [json.loads(unescape(option)) for option in options]
    assert [one["pay"] for one in said[:2]] == ["", "buy"] and all("pay" in one for one in said)


@pytest.mark.parametrize("preset", CALCULATORS["will-it-fit"].presets)
def test_what_fits_leads_on_to_its_speed(preset: Preset) -> None:
    """The link has the whole case: the form that it opens answers it for the same memory."""
    fit, speed = CALCULATORS["will-it-fit"], CALCULATORS["speed"]
    report = fit.report(preset.values)
    found = re.search(r'href="[^"]*calculators/speed/\?([^"]*)">How fast is it\?<', fit.render(report))
    if report["scenario"]["engine"] == "none":
        assert not found  # nothing runs that could be timed
        return
    assert found
    known = {field.name for field in speed.inputs}
    values = {name: value for name, value in parse_qsl(unescape(found[1])) if name in known}
    timed = speed.report(values)
    asked = ("model", "weights", "engine", "accelerator", "accelerators", "sequences", "prompt_tokens")
    assert [timed["scenario"][name] for name in asked] == [report["scenario"][name] for name in asked]
    assert timed["memory"]["device_bytes"] == report["memory"]["device_bytes"]


def test_a_small_cache_is_said_in_a_small_unit() -> None:
    """Two tokens of Llama 3.1 8B take 256 KiB, not 0.00 GiB; a tenth of a GiB and more is said in GiB."""
    assert ask("kv-cache", context_tokens="2")["status"].startswith("The cache takes 256.0 KiB for one sequence")
    assert ask("kv-cache", context_tokens="1024")["status"].startswith("The cache takes 0.12 GiB for one sequence")


def test_an_unknown_calculator_names_the_known_ones() -> None:
    """A page that asks for a calculator that is not there stops the build."""
    with pytest.raises(ScenarioError, match="did you mean"):
        render_calculator("will-it-fitt")


def test_effective_bits_of_an_imported_file() -> None:
    """The sizes are the file's own; no format is guessed."""
    config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000}
    model = {"config": config, "name": "Mine", "stored_bytes": {"embeddings": 64000, "layers": 100000, "head": 64128}}
    request = {"calculator": "effective-bits", "fields": {"model": json.dumps(model), "weights": "stored"}}
    reply = json.loads(answer(json.dumps(request)))
    assert reply["ok"], reply
    parameters = 2 * 64000 + 64 + 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64)
    assert reply["status"].startswith(f"{8 * 228128 / parameters:.3f} bits per weight: Mine in its file")


@pytest.mark.parametrize(
    "name", [name for name in CALCULATORS if "model" in {i.name for i in CALCULATORS[name].inputs}]
)
@pytest.mark.parametrize("model", ["bert-base", "bart-large-mnli", "whisper-large-v3", "vit-base-patch16-224"])
def test_a_model_that_is_no_decoder_breaks_no_calculator(name: str, model: str) -> None:
    """Encoders, classifiers, and models that look or listen have an answer, or an error that names the field."""
    found = ask(name, model=model)
    assert found["ok"] or found["errors"][0]["message"]
