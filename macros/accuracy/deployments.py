"""Published deployments beside the planner's first options: each the same, or with what is computed of why not."""

from calc.calculators.html import element, text
from calc.calculators.html import table as html_table
from calc.calculators.options import devices, model_name
from calc.units import show_count, show_number
from calc.validation import recorded
from calc.validation.deployments import CONTEXT, Choice
from macros.filtered import filtered, missing, sortable
from macros.markdown import unsearched

__all__ = ["deployments_count", "deployments_table"]

HEADINGS = ("Published", "A month", "Found first", "A month", "Among the first")
CAPTION = "What others run models on, beside the planner's first option"


def deployments_table() -> str:
    """Return all published deployments as a table that filters."""
    rows = [cells(choice) for choice in recorded.chosen()]
    found = html_table(HEADINGS, rows, caption=CAPTION, class_="calc-worded claims", words=len(HEADINGS))
    return unsearched(filtered(found, things="deployments"))


def deployments_count(what: str = "all") -> str:
    """Return how many deployments there are: "all", those whose devices come "first", of which the "same" number.

    Of the others: how many are "dearer" than all that come first, "unpriced" or "undone"; "tokens": of a text.
    """
    found = recorded.chosen()
    counts = {
        "all": len(found),
        "first": len([choice for choice in found if choice.place]),
        "same": len([choice for choice in found if choice.same]),
        "dearer": len([choice for choice in found if choice.number and not choice.place and choice.rent is not None]),
        "unpriced": len([choice for choice in found if choice.number and not choice.place and choice.rent is None]),
        "undone": len([choice for choice in found if choice.number is None]),
        "tokens": CONTEXT,
    }
    return show_count(counts[what])


def cells(choice: Choice) -> list[str]:
    """Return the cells of a deployment."""
    row, own = choice.row, {"accelerator": choice.row["accelerator"], "accelerators": choice.published}
    said = f"{model_name(row)} in {row['weights'] or 'its published format'}, {row['engine']}"
    source = element("a", text(devices(own)), href=row["page"], title=row["says"])
    published = text(said) + element("div", source)
    name, number, rent = choice.first[0]
    first = devices({"accelerator": name, "accelerators": number})
    words = [f"Place {choice.place}" if choice.place else "No", *([choice.reason] if choice.reason else [])]
    return [published, dollars(choice.rent), text(first), dollars(rent), text("; ".join(words))]


def dollars(value: float | None) -> str:
    """Return a rent; a dash where nobody says it."""
    return missing() if value is None else sortable(value, text(f"{show_number(value, 4)} USD"))
