"""Bringing one's own model into a calculator: where it is offered, what is read, and how it is named in the form."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from calc.calculators.calculator import Calculator
from calc.calculators.html import element, text
from calc.calculators.inputs import LONGEST_OWN, Choice, Input, Report, Values
from calc.errors import ScenarioError
from calc.units import show_gib, show_large_count

HELP = (
    "Choose or drop a GGUF file, safetensors files with their config.json, or a config.json alone; or paste the text "
    "of a config.json. Only the beginning of a file is read, by this page, however large it is; nothing is uploaded."
)
ACCEPTED = ".gguf,.safetensors,.json"
PASTED_HELP = (
    "Output of llama-bench, of llama-server or llama-cli, of vllm bench serve or SGLang's benchmark, of nvidia-smi, a "
    "start-up log of vLLM, a training run's log, or torch.cuda.memory_summary(); several together too. It is read by "
    "this page; nothing is uploaded."
)
MOST_OF_A_LOG = 2_000_000  # bytes
STORED = "stored"


def import_html(calculator: Calculator, prefix: str) -> str:
    """Return the part of a calculator that takes files and text; empty if it does not ask for a model.

    It is hidden until scripts run. Its controls have no names, so that they are no inputs of the form.
    """
    if not any(isinstance(field, Choice) and field.kind == "models" for field in calculator.inputs):
        return ""
    reads = calculator.pasted is not None  # what programs print, and no model
    identity = f"{prefix}-import"
    described = f"{identity}-help {identity}-said"
    files = element("label", "Files", for_=f"{identity}-files") + element(
        "input",
        id=f"{identity}-files",
        type="file",
        multiple=True,
        accept=None if reads else ACCEPTED,
        aria_describedby=described,
    )
    pasted = element("label", "Output" if reads else "Text of a config.json", for_=f"{identity}-text") + element(
        "textarea",
        id=f"{identity}-text",
        rows=8 if reads else 4,
        spellcheck="false",
        autocomplete="off",
        aria_describedby=described,
    )
    inner = element("summary", "Paste what a program printed" if reads else "Use your own model")
    inner += element("p", text(PASTED_HELP if reads else HELP), class_="calc-help", id=f"{identity}-help")
    inner += element("div", files, class_="calc-field") + element("div", pasted, class_="calc-field")
    inner += element("button", "Read the text", type="button")
    inner += element("p", "", class_="calc-said", id=f"{identity}-said")
    return element("details", inner, class_="calc-import", hidden=True, open=reads)


def offered(inputs: Sequence[Input], values: Values, report: Report) -> Iterator[dict[str, str]]:
    """Iterate over the options that a form needs for a model that is in no list, each with the input it depends on."""
    for field in inputs:
        if not isinstance(field, Choice) or field.kind != "models" or not is_own(values[field.name]):
            continue
        model = report.get("models", {}).get(field.name, report["model"])
        label = f"{model['name']} ({show_large_count(model['parameters_total'])} parameters)"
        yield {"field": field.name, "value": values[field.name], "label": label, "of": field.name}
        stored = report["scenario"]["model"].get("stored_bytes")
        for other in inputs:
            if stored and isinstance(other, Choice) and other.kind == "weights":
                size = show_gib(sum(stored.values()))
                yield {"field": other.name, "value": STORED, "label": f"As in the file: {size}", "of": field.name}


def is_own(typed: str) -> bool:
    """Whether the text of an input is a model's config, and not the name of a model."""
    return typed.lstrip().startswith("{")


def read_pasted(calculator: Calculator, asked: dict[str, Any], heads: Sequence[bytes]) -> dict[str, Any]:
    """Return what output of programs that was brought is in the form: `fields` and a `status`, or `errors`."""
    assert calculator.pasted is not None
    need = [min(int(file["size"]), MOST_OF_A_LOG) for file in asked["files"]]
    if any(len(head) < size for head, size in zip(heads, need, strict=True)):
        return {"need": need}
    texts = [str(asked.get("text", "")), *(bytes(head).decode("utf-8", "replace") for head in heads)]
    try:
        fields, told = calculator.pasted("\n".join(texts), asked["fields"])
    except ScenarioError as error:
        told = f"The {error.field} {error.message}."
        return {"ok": False, "errors": [{"field": error.field, "message": told}], "status": told}
    return {"ok": True, "fields": fields, "status": told}


def read_import(calculator: Calculator, asked: dict[str, Any], heads: Sequence[bytes]) -> dict[str, Any]:
    """Return what files and a text that a reader brings are in the form: `fields` and a sentence `status`.

    `asked` has `files` (each with `name` and `size`), `text` and the form's present `fields`; `heads` is what was read
    of each file so far. The answer is `need`, bytes from the beginning of each file, while that is not enough.
    """
    if calculator.pasted is not None:
        return read_pasted(calculator, asked, heads)
    from calc.files.imported import (  # most never need it
        BroughtFile,
        IncompleteError,
        NeedMoreOfFiles,
        read_model_files,
    )

    files = [
        BroughtFile(str(file["name"]), int(file["size"]), bytes(head))
        for file, head in zip(asked["files"], heads, strict=True)
    ]
    pasted = str(asked.get("text", "")).encode("utf-8", "replace")
    if pasted.strip():
        files.append(BroughtFile("", len(pasted), pasted))
    try:
        found = read_model_files(files)
    except NeedMoreOfFiles as more:
        return {"need": more.wanted_bytes[: len(heads)]}
    except ScenarioError as error:
        told = f"{error.message}."
        errors = [{"field": error.field, "message": told}]
        return {"ok": False, "errors": errors, "status": told, "more": isinstance(error, IncompleteError)}
    model = json.dumps(found.model, ensure_ascii=False, separators=(",", ":"))
    if len(model) > LONGEST_OWN:
        told = "The config has too many details for a link."
        return {"ok": False, "errors": [{"field": "file", "message": told}], "status": told}
    fields = brought_fields(calculator.inputs, model, asked["fields"], stored="stored_bytes" in found.model)
    return {"ok": True, "fields": fields, "status": found.sentence}


def brought_fields(inputs: Sequence[Input], model: str, present: dict[str, str], *, stored: bool) -> Values:
    """Return the fields of a form that a brought model changes; of several models, the first."""
    fields: Values = {}
    kinds = set()
    for field in inputs:
        if not isinstance(field, Choice) or field.kind in kinds:
            continue
        kinds.add(field.kind)
        if field.kind == "models":
            fields[field.name] = model
        elif field.kind == "weights" and stored:
            fields[field.name] = STORED
        elif field.kind == "weights" and present.get(field.name) == STORED:
            fields[field.name] = field.default
    return fields
