"""What each training framework does where a run does not say it: a part that opens for each framework."""

from calc.calculators.html import element, table, text
from calc.catalog import catalog
from calc.catalog.frameworks import Framework, Preset
from macros.markdown import block

__all__ = ["framework_tables"]


def framework_tables() -> str:
    """Return what each framework of the catalogue does by itself, as values of a scenario's fields, with sources."""
    return block("".join(framework_html(catalog().framework(name)) for name in catalog().ids("frameworks")))


def framework_html(framework: Framework) -> str:
    """Return one framework: its name with what it is in short, and what opens under it."""
    head = element("strong", text(framework.name)) + text(f", {framework.versions}. {framework.summary}")
    rows = [preset_cells(preset) for preset in framework.presets]
    filled = table(("It fills in", "Where", "Why"), rows, caption=f"What {framework.name} does", words=3)
    shown = (filled if rows else "") + follows(framework)
    return element("details", element("summary", head) + shown, class_="folded")


def follows(framework: Framework) -> str:
    """Return which framework says the rest; empty where none does."""
    if framework.follows is None:
        return ""
    return element("p", text(f"Else what {catalog().framework(framework.follows).name} does."))


def preset_cells(preset: Preset) -> list[str]:
    """Return one preset: the field with its value, when it holds, and why, with where it is read."""
    where = ", ".join(
        [
            *(f"{name} {version}" for name, version in (("since", preset.since), ("before", preset.before)) if version),
            *(f"{field} {' or '.join(map(str, allowed))}" for field, allowed in preset.when.items()),
        ]
    )
    link = element("a", text("source"), href=catalog().source(preset.source).url, rel="noopener")
    said = element("code", text(f"{preset.field}: {shown(preset.value)}"))
    return [said, text(where or "always"), f"{text(preset.reason)} {link}"]


def shown(value: object) -> str:
    """Return a value as a scenario writes it."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
