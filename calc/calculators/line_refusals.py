"""What a line that is no question is answered: what it lacks, which of its names mean nothing here, what is wrong."""

from typing import Any

from calc.calculators import line_chips
from calc.calculators.rendering import verdict_html
from calc.catalog import catalog
from calc.catalog.other_kinds import other_kind
from calc.errors import ScenarioError, listed
from calc.lines.wording import FOR_A_PURPOSE, LAPTOP

Answer = tuple[str, str]  # HTML, and the same in a sentence
ASK_FOR = {"model": "Which model?", "accelerator": "On which GPU?"}
ASK_FOR_CHIP = "Which chip has the Mac, and how much memory?"
ASK_FOR_LAPTOP = "Which GPU has the laptop, or how much memory if it has none?"
NO_QUESTION = "Say what you have and what you want: a model, a GPU, or both."


def refused(reading: Any) -> Answer:
    """Return what a line lacks to be a question."""
    if said := others(reading):
        return verdict_html(None, "No answer:", " ".join(said)), " ".join(said)
    asked = ASK_FOR[reading["missing"][0]] if len(reading["missing"]) == 1 else NO_QUESTION
    laptop = reading["missing"] == ["accelerator"] and LAPTOP.search(reading["line"].lower())
    if "accelerator" in reading["choices"]:
        asked = ASK_FOR_CHIP
    elif laptop:
        asked = ASK_FOR_LAPTOP
    left: list[str] = []
    said, unknown, family = [asked], list[str](), next(line_chips.named_families(reading), None)
    for part in reading["unread"]:
        name, plain = f"“{part['text']}”", part["text"].lower()
        if not any(map(str.isalpha, plain)) or FOR_A_PURPOSE.fullmatch(plain) or (laptop and LAPTOP.fullmatch(plain)):
            continue  # no name, but a number or what is said beside one
        found = reading["choices"].get("model") if part == family else None
        if models := found or catalog().model_names.of_family(plain):
            said.append(f"Of {name} the guide has {listed(catalog().model(model).name for model in models)}.")
        else:
            (left if plain[0].isdigit() else unknown).append(name)  # what begins with a number may be no name
    if left:
        said.append(f"Not understood: {', '.join(left)}.")
    if unknown:
        said.append(f"The guide knows nothing by the name of {', '.join(unknown)}.")
    return verdict_html(None, "No answer yet:", " ".join(said)), " ".join(said)


def others(reading: Any) -> list[str]:
    """Return what the models are that a line names and that are of no kind that the guide models, a sentence each."""
    found = ((part["text"], other_kind(part["text"].replace(" ", "-"))) for part in reading["unread"])
    return [f"“{name}” {kind}: the guide models none of that kind." for name, kind in found if kind]


def problem(error: ScenarioError) -> Answer:
    """Return what is wrong with a scenario."""
    name = line_chips.LABELS.get(error.field.rpartition(".")[2], error.field)
    said = f"{name}: {error.message}."
    return verdict_html(None, "This cannot be answered:", said), said
