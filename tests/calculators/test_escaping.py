"""Escaping: whatever text a reader brings stays text. No browser is needed to see it: the HTML is parsed."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.calculators import CALCULATORS, answer, imported, render_calculator
from calc.calculators.html import element, table, text
from calc.calculators.inputs import Choice
from calc.calculators.line import answer_line
from calc.calculators.line_chips import Chip, chip_html
from calc.calculators.rendering import parts_html, step_html, warnings_html
from calc.calculators.sharing_answer import limits_table
from calc.calculators.starting import CLUSTERS, started_html
from calc.catalog import catalog
from calc.lines.line import LONGEST
from calc.plots.drawing import answer as plot_answer
from calc.plots.drawing import table_html
from tests.calculators.asking import ask
from tests.files.build import LLAMA, gguf, llama_tensors

ROOT = Path(__file__).parent.parent.parent
MARKUP = '<img src="x" onerror="alert(1)"></p><script>alert(2)</script>'
HOSTILE = (MARKUP, '" onmouseover="alert(1)', "' autofocus onfocus='alert(1)", "javascript:alert(1)", "&lt;b&gt;&quot;")
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 32000,
    "hidden_size": 1024,
    "intermediate_size": 2048,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
    "layer_types": ["full_attention"] * 4,
}
ASKING_FOR_MODELS = [
    name
    for name, calculator in CALCULATORS.items()
    if any(isinstance(field, Choice) and field.kind == "models" for field in calculator.inputs)
]
PLOTS_BESIDE = (
    ("memory-over-context", "will-it-fit"),
    ("sequences-over-context", "will-it-fit"),
    ("memory-sensitivity", "will-it-fit"),
    ("speed-sensitivity", "speed"),
    ("cache-over-context", "kv-cache"),
    ("speed-over-batch", "speed"),
    ("latency-over-load", "speed"),
    ("pass-timeline", "speed"),
    ("step-timeline", "training-time"),
)


class Shape(HTMLParser):
    """What HTML does: its elements, their attributes without what is only told, and its text apart."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str | None] = []
        self.told = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.links += [value for name, value in attrs if name in ("href", "src", "action")]
        self.told += "".join(f"\n{value}" for _, value in attrs)

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.told += data


def own_model(name: str, **changed: object) -> str:
    """Return a model as an import writes it into a form and into a link."""
    return json.dumps({"config": CONFIG | changed, "name": name})


def places(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Yield the path of each text in a config."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


@given(value=st.text())
def test_text_and_attributes_come_back(value: str) -> None:
    """A browser reads the very text that was written, in an element and in an attribute, and nothing more."""
    value = value.replace("\0", "").replace("\r", "")  # HTML itself has another reading of these two
    shape = Shape(element("p", text(value), title=value))
    assert shape.elements == [("p", ("title",))]
    assert shape.told == f"\n{value}{value}"


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_caption_is_text(hostile: str) -> None:
    """A table's caption is text, in the caption and in the label of its box."""
    shape = Shape(table(["a"], [["b"]], caption=hostile))
    assert [name for name, _ in shape.elements] == ["div", "table", "caption", "thead", "tr", "th", "tbody", "tr", "th"]
    assert shape.told.count(hostile) == 2


@pytest.mark.parametrize("address", ["javascript:alert(1)", " JavaScript:alert(1)", "data:text/html,x", "http://a.b/"])
@pytest.mark.parametrize("attribute", ["href", "src", "action"])
def test_links_lead_to_pages_only(attribute: str, address: str) -> None:
    """An address is of this site or https; every other scheme is refused where HTML is written."""
    with pytest.raises(ValueError, match="https"):
        element("a", "x", **{attribute: address})


@pytest.mark.parametrize("address", ["../units/", "#part", "?model=a:b", "https://example.com/a:b", ""])
def test_links_may_be_relative(address: str) -> None:
    """Addresses of this site and of https are written as they are."""
    assert Shape(element("a", "x", href=address)).links == [address]


@pytest.mark.parametrize("name", ASKING_FOR_MODELS)
def test_a_model_s_name_is_text(name: str) -> None:
    """A hostile name changes no element, no attribute and no link of an answer, live or built; it is shown as it is."""
    field = next(
        field.name for field in CALCULATORS[name].inputs if isinstance(field, Choice) and field.kind == "models"
    )
    few = {"devices": "1"} if name == "plan-fine-tune" else {}  # of many ways, which take seconds to look at
    plain = ask(name, **{field: own_model("Mine"), **few})
    assert plain["ok"], plain
    for hostile in (" ".join(HOSTILE), "javascript:alert(1)"):  # all at once, and what has to be at the start of a link
        found = ask(name, **{field: own_model(hostile), **few})
        one, other = Shape(plain["html"]), Shape(found["html"])
        assert (one.elements, one.links) == (other.elements, other.links)
        assert hostile in other.told or "Mine" not in one.told
    built = [Shape(render_calculator(name, {field: own_model(word), **few})) for word in ("Mine", MARKUP)]
    assert (built[0].elements, built[0].links) == (built[1].elements, built[1].links)


@pytest.mark.parametrize("place", list(places(CONFIG)), ids=str)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_a_config_says_is_text(place: tuple[Any, ...], hostile: str) -> None:
    """A hostile value anywhere in a config changes nothing, or is an error, which is no HTML."""
    config = json.loads(json.dumps(CONFIG))
    inner = config
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = hostile
    check_harmless(ask("will-it-fit", model=json.dumps({"config": config, "name": "Mine"})))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_config_s_keys_are_text(hostile: str) -> None:
    """Nor does a hostile key, in the config, beside it or in its rotary settings."""
    for model in (
        {"config": CONFIG | {hostile: 1}},
        {"config": CONFIG, hostile: 1},
        {"config": CONFIG | {"rope_scaling": {hostile: hostile}}},
        {"config": CONFIG | {"quantization_config": {hostile: hostile, "quant_method": hostile}}},
    ):
        check_harmless(ask("will-it-fit", model=json.dumps({"name": "Mine"} | model)))


def check_harmless(found: dict[str, Any]) -> None:
    """Check that an answer has the plain one's elements, and links to sources, or is an error without HTML."""
    if not found["ok"]:
        assert set(found) == {"ok", "errors", "status"}  # all of them are put into the page as text
        return
    plain, shape = Shape(ask("will-it-fit", model=own_model("Mine"))["html"]), Shape(found["html"])
    assert {name for name, _ in shape.elements} <= {name for name, _ in plain.elements}
    assert not any(attribute.startswith("on") for _, names in shape.elements for attribute in names)
    assert set(shape.links) <= {source.url for source in catalog().sources()} | set(plain.links)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_file_s_metadata_is_text(hostile: str) -> None:
    """What a GGUF file says of itself becomes a model whose answer is harmless, or an error."""
    for key in ("general.name", "general.architecture", "tokenizer.ggml.model"):
        header, size = gguf(LLAMA | {key: hostile}, llama_tensors())
        request = {
            "calculator": "will-it-fit",
            "fields": {"model": "llama-3.1-8b", "weights": "bf16"},
            "files": [{"name": f"{hostile}.gguf", "size": size}],
            "text": "",
        }
        found = json.loads(imported(json.dumps(request), [header]))
        if "need" in found:
            found = json.loads(imported(json.dumps(request), [header.ljust(min(found["need"][0], size), b"\0")]))
        assert set(found) <= {"ok", "fields", "errors", "status", "more"}  # `fields` are asked next, the rest is text
        if found["ok"]:
            check_harmless(ask("will-it-fit", **found["fields"]))


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("name", CALCULATORS)
def test_what_a_link_carries_is_text(name: str) -> None:
    """A hostile value of any field of a shared link is refused as text; where nothing reads it, it changes nothing."""
    plain = ask(name)["html"]
    for field in CALCULATORS[name].values({}):
        for hostile in HOSTILE:
            found = ask(name, **{field: hostile})
            assert found["html"] == plain if found["ok"] else "html" not in found, (field, hostile)
    assert not json.loads(answer(json.dumps({"calculator": MARKUP, "fields": {}})))["ok"]


def written(words: str) -> list[str]:
    """Return what an answer is made of, with some words wherever it takes any."""
    step = {"name": words, "formula": "a", "substituted": words, "value": 1, "unit": "B"}
    warning = {"code": "x", "message": words, "sizes_bytes": {}, "severity": "info"}
    flag = {"flag": words, "value": "", "because": words}
    started = {"commands": [{"where": "", "text": words}], "files": [], "warnings": [warning], "flags": [flag]}
    chips = [Chip("model", words, 0, 1, options, said=True) for options in ((), (("a", words),) * 4)]
    plot: Any = SimpleNamespace(rows=[[words]], headings=["a"], caption=words)
    return [
        *(chip_html(chip, 0) for chip in chips),
        started_html({**started, **dict.fromkeys((name for name, _ in CLUSTERS), words)}),
        table_html(plot),
        step_html(step),
        warnings_html([warning]),
        parts_html({"scenario": {}, "memory": {"device_bytes": 1, "parts": [{"label": words, "bytes": 1}]}}),
        limits_table({"tenants": [{"name": words, "cache_tokens": None}]}),
    ]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_an_answer_is_made_of_is_text(hostile: str) -> None:
    """Steps, warnings, parts, chips, commands, tables of plots, a model without a cache, whatever they come to say."""
    for one, other in zip(written("Mine"), written(hostile), strict=True):
        plain, shape = Shape(one), Shape(other)
        assert (shape.elements, shape.links) == (plain.elements, plain.links)
        assert shape.told.replace(hostile, "Mine") == plain.told


@pytest.mark.parametrize(("plot", "calculator"), PLOTS_BESIDE)
def test_a_plot_s_table_is_text(plot: str, calculator: str) -> None:
    """The table beside a plot that follows the form has the same elements whatever the model is called."""

    def drawn(name: str) -> Shape:
        request = {"plot": plot, "calculator": calculator, "fields": {"model": own_model(name)}}
        found = json.loads(plot_answer(json.dumps(request)))
        assert found["ok"], found
        return Shape(found["table"])

    plain = drawn("Mine")
    for hostile in HOSTILE:
        shape = drawn(hostile)
        assert (shape.elements, shape.links) == (plain.elements, plain.links)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_launch_command_is_text(hostile: str) -> None:
    """A model's name, and a scenario that a button carries, become no element of the page, and no word of the shell."""
    fields = {"model": own_model(hostile), "engine": "vllm", "accelerator": "h100-sxm-80gb"}
    plain = Shape(launched(fields | {"model": own_model("Mine")})["html"])
    shape = Shape(launched(fields)["html"])
    assert (shape.elements, shape.links) == (plain.elements, plain.links)
    option = {"scenario": {"model": hostile, "accelerator": hostile, "engine": hostile}, "replicas": 1}
    refused = json.loads(answer(json.dumps({"launch": option})))
    assert not refused["ok"] and "html" not in refused


def launched(fields: dict[str, str]) -> dict[str, Any]:
    """Return how a form's case is started."""
    found = json.loads(answer(json.dumps({"calculator": "will-it-fit", "fields": fields, "launch": {}})))
    assert isinstance(found, dict) and found["ok"], found
    return found


def test_scripts_write_as_html_only_what_python_rendered() -> None:
    """Four places of the page's scripts set HTML: answers of forms and lines, launch commands, and a plot's table."""
    writers = ("innerHTML =", "innerHTML +=", "outerHTML", "insertAdjacentHTML", "document.write", "setHTMLUnsafe")
    found = [
        line.strip()
        for file in sorted((ROOT / "docs/assets").glob("*/*.mjs"))
        if file.parent.name not in ("runtime", "vega")  # Pyodide's and Vega's own, made from npm
        for line in file.read_text(encoding="utf-8").splitlines()
        if any(writer in line for writer in writers)
    ]
    assert len(found) == 5, found
    assert sum("innerHTML = answer.table;" in line for line in found) == 1
    assert sum("innerHTML = answer.html;" in line for line in found) == 4


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_typed_line_adds_no_element(hostile: str) -> None:
    """What is typed is text in the answer, in lists, sentences and addresses alike."""
    usual = Shape(answer_line("zzz llama 3.1 8b 4090")["html"])
    for line in (f"{hostile} llama 3.1 8b 4090", hostile):
        shape = Shape(answer_line(line[:LONGEST])["html"])
        assert set(shape.elements) <= set(usual.elements)
        assert all(link.startswith(("calculators/", "https://")) for link in shape.links)
