"""The table of training frameworks: what each does where a run does not say it."""

from calc.calculators.html import element, table, text
from calc.catalog import catalog
from calc.catalog.frameworks import Framework, Preset
from macros.markdown import block

__all__ = ["framework_table"]


def framework_table() -> str:
    """Return what each framework of the catalogue does by itself, as values of a scenario's fields, with sources."""
    rows = [
        [text(found.name), text(found.versions), text(found.summary), done(found)]
        for found in (catalog().framework(name) for name in catalog().ids("frameworks"))
    ]
    headings = ("Framework", "As of", "In short", "It fills in")
    return block(
        table(headings, rows, caption="Frameworks of training", class_="calc-worded claims", words=len(headings))
    )


def done(framework: Framework) -> str:
    """Return a framework's presets, each with its reason and a link to where it is read, and what it is built on."""
    own = "".join(element("div", preset_html(preset)) for preset in framework.presets)
    if framework.follows is None:
        return own
    return own + element("div", text(f"Else what {catalog().framework(framework.follows).name} does."))


def preset_html(preset: Preset) -> str:
    """Return one preset: the field with its value, when it holds, and why."""
    where = ", ".join(f"{field} {' or '.join(map(str, allowed))}" for field, allowed in preset.when.items())
    link = element("a", text("source"), href=catalog().source(preset.source).url, rel="noopener")
    said = element("code", text(f"{preset.field}: {shown(preset.value)}"))
    return f"{said}{text(f' ({where})' if where else '')}: {text(preset.reason)} {link}"


def shown(value: object) -> str:
    """Return a value as a scenario writes it."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
