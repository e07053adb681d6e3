"""The page of sources: every document that a fact, a formula, a claim or a page rests on, and what rests on it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from inspect import Signature, signature
from pathlib import Path
from urllib.parse import urlsplit

from calc.calculators.html import element, table, text
from calc.calculators.page import CALCULATORS
from calc.catalog import Catalog, catalog
from calc.memory.training.states import OPTIMIZERS, SCHEMES
from calc.units import show_count
from calc.validation.scores import read_rows
from macros.filtered import filtered
from macros.markdown import unsearched
from macros.worked import worked

__all__ = ["address_table", "measurement_source_table", "source_count", "source_table"]

DOCS = Path(__file__).parent.parent / "docs"
SHOWN = {"glossary": "terms", "laws": "scaling laws", "runs": "training runs"}  # kinds under another name
MOST_NAMED = 4  # things that a cell names; the rest are counted


def named_in(entry: object) -> Iterator[tuple[str, str]]:
    """Yield every source named anywhere in an entry, with the day on which it was looked up, if the place has one."""
    if isinstance(entry, dict):
        checked = str(entry.get("checked", ""))
        for name, value in entry.items():
            if name in ("source", "platforms") and isinstance(value, str) and value:
                yield value, checked
            elif name == "conversions":
                yield from ((str(source), checked) for source in value.values())
            elif name == "sources" and isinstance(value, list):
                yield from ((str(source), checked) for source in value)
            else:
                yield from named_in(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from named_in(value)


@lru_cache(maxsize=1)
def uses(facts: Catalog) -> dict[str, dict[str, list[str]]]:
    """Return what rests on each source: {source: {kind: names}}; workings by calculator and pages by file."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for source, kind, name in [*catalogue_uses(facts), *working_uses(), *page_uses()]:
        if name not in found[source][kind]:
            found[source][kind].append(name)
    return found


def catalogue_uses(facts: Catalog) -> Iterator[tuple[str, str, str]]:
    """Yield source, kind and name of every entry of the catalogue that names a source."""
    for kind in kinds(facts):
        shown = SHOWN.get(kind, kind.replace("_", " "))
        for entry_id, entry in facts.entries(kind).items():
            yield from ((source, shown, str(entry.get("name", entry_id))) for source, _ in named_in(entry))


def kinds(facts: Catalog) -> list[str]:
    """Return the kinds of entries that name sources."""
    return [kind for kind in facts.kinds() if kind != "sources"]


def working_uses() -> Iterator[tuple[str, str, str]]:
    """Yield the source of each step that the worked examples of the calculators compute, and of each way to train."""
    for found in CALCULATORS.values():
        yield from ((source, "workings", found.title) for source in worked(found.id).sources)
    for scheme in SCHEMES.values():
        yield scheme.source, "precisions", scheme.id
    for optimizer in OPTIMIZERS.values():
        yield optimizer.source, "optimizers", optimizer.id


def page_uses() -> Iterator[tuple[str, str, str]]:
    """Yield every source that a page gives to a macro as its `source_id`."""
    from macros import MACROS  # which has this module's macros among them

    naming = {macro.__name__: signature(macro) for macro in MACROS if "source_id" in signature(macro).parameters}
    for path in sorted(DOCS.rglob("*.md")):
        for call in re.findall(r"\{\{(.*?)\}\}", path.read_text(encoding="utf-8"), re.DOTALL):
            if (name := call.strip().partition("(")[0]) in naming:
                source = argument(ast.parse(call.strip(), mode="eval").body, naming[name], "source_id")
                yield source, "pages", path.relative_to(DOCS).as_posix().removesuffix(".md")


def argument(call: ast.AST, parameters: Signature, name: str) -> str:
    """Return the argument of that name in the call of a macro that is written on a page."""
    assert isinstance(call, ast.Call)
    named = {word.arg: word.value for word in call.keywords if word.arg}
    return str(ast.literal_eval(parameters.bind(*call.args, **named).arguments[name]))


def uses_text(source: str) -> str:
    """Return what rests on a source, in words: a few names of each kind, and how many there are."""
    said = []
    for kind, names in uses(catalog())[source].items():
        few = ", ".join(names[:MOST_NAMED])
        rest = f" and {show_count(len(names) - MOST_NAMED)} more" if len(names) > MOST_NAMED else ""
        said.append(f"{kind}: {few}{rest}")
    return "; ".join(said)


def source_table() -> str:
    """Return every source that has an entry: title and address, publisher, kind, date, when it was read, its uses."""
    rows = []
    for found in sorted(catalog().sources(), key=lambda source: source.title.casefold()):
        link = element("a", text(found.title), href=found.url, rel="noopener")
        note = f" {text(found.note)}" if found.note else ""
        dated, checked = text(found.dated or "–"), text(found.checked)
        rows.append([link + note, text(found.publisher), text(found.kind), dated, checked, text(uses_text(found.id))])
    headings = ("Source", "Publisher", "Kind", "Dated", "Checked", "Used by")
    whole = table(headings, rows, caption="Sources of the catalogue", class_="calc-worded claims", words=(0, 1, 2, 5))
    return unsearched(filtered(whole, things="sources"))


def address_table() -> str:
    """Return the addresses that stand with a single fact, such as a model's config, by publisher."""
    checked: dict[str, str] = {}
    for kind in kinds(catalog()):
        for entry in catalog().entries(kind).values():
            for source, day in named_in(entry):
                if source.startswith("https://"):
                    checked[source] = max(checked.get(source, ""), day or str(entry.get("checked", "")))
    rows = []
    for address in sorted(checked):
        host = urlsplit(address).netloc.removeprefix("www.")
        shown = element("a", text(address.removeprefix("https://")), href=address, rel="noopener")
        rows.append([shown, text(host), text(checked[address]), text(uses_text(address))])
    headings = ("Address", "Site", "Checked", "Used by")
    whole = table(headings, rows, caption="Addresses of single facts", class_="calc-worded claims", words=(0, 1, 3))
    return unsearched(filtered(whole, things="addresses"))


def measurement_source_table() -> str:
    """Return where the measurements on the accuracy page were published."""
    rows = []
    for row in read_rows("sources.csv"):
        rows.append([text(row["name"]), element("a", text(row["url"]), href=row["url"], rel="noopener")])
    whole = table(("Source", "Address"), rows, caption="Sources of measurements", words=2)
    return unsearched(filtered(whole, things="sources"))


def source_count() -> str:
    """Return how many sources have an entry."""
    return show_count(len(catalog().ids("sources")))
