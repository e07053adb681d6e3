"""Writing HTML: escaped text, elements, tables; no style attributes, which the page's policy forbids."""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

Attribute = str | int | bool | None
ADDRESSES = ("href", "src", "action")
ROOT = "../../"  # of the site: every page with a calculator but the first stands two deep
# A size, which `calc.calculators.sizes` writes: the one element that a text may have.
SIZE = re.compile(r'<data value="(-?\d+)" data-or="([^"<>]+)">([^<>]+)</data>')
WRITTEN_SIZE = re.compile(r'&lt;data value="(-?\d+)" data-or="([^"&]+)"&gt;([^&]+)&lt;/data&gt;')
WORDS_ALONE = ("option", "title", "textarea")  # have no elements in them
SEEN = 40  # rows of a table at first: see table.css
FEW = 20  # rows that a reader looks through as fast as a name is typed
KEPT = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~,:/")


def text(value: object) -> str:
    """Return a value as escaped text; sizes in it stay elements.

    The standard library's `html` would bring its table of every named entity into the page.
    """
    written = str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return WRITTEN_SIZE.sub(r'<data value="\1" data-or="\2">\3</data>', written) if "&lt;data" in written else written


def in_words(value: str, unit: str = "") -> str:
    """Return a text with its sizes as words: as they were written, or all in "GB" or all in "GiB".

    >>> in_words('It takes <data value="16060522496" data-or="16.06 GB">14.96 GiB</data>.', "GB")
    'It takes 16.06 GB.'
    """

    def words(found: re.Match[str]) -> str:
        _, other, shown = found.groups()
        return other if unit and shown.endswith("iB") != (unit == "GiB") else shown

    return SIZE.sub(words, value) if "<data" in value else value


def quoted(value: object) -> str:
    """Return a value escaped for an attribute."""
    return text(in_words(str(value))).replace('"', "&quot;")


def escaped(value: str) -> str:
    """Return a value as an address has it; the standard library's `urllib` would not be small."""
    return "".join(sign if sign in KEPT else "".join(f"%{byte:02X}" for byte in sign.encode()) for sign in value)


def element(name: str, content: str = "", /, **attributes: Attribute) -> str:
    """Return an element around `content`, which is HTML already.

    A trailing underscore is dropped and others become hyphens: `class_`, `data_key`. True writes an attribute without a
    value, False and None leave it out. Raises ValueError for an address that is neither of this site nor https.

    >>> element("p", text("1 < 2"), class_="note", hidden=True)
    '<p class="note" hidden>1 &lt; 2</p>'
    """
    if name == "text":  # of a drawing, which has no `data`
        content = SIZE.sub(r'<tspan data-or="\2">\3</tspan>', content)
    elif name in WORDS_ALONE:
        content = in_words(content)
    written = "".join([attribute(key, value) for key, value in attributes.items()])
    return f"<{name}{written}>" if name == "input" else f"<{name}{written}>{content}</{name}>"


@lru_cache(maxsize=2048, typed=True)
def attribute(key: str, value: Attribute) -> str:
    """Return an attribute with the space before it, or nothing: an answer has few that the one before it had not.

    Raises ValueError for an address that is neither of this site nor https.
    """
    if key in ADDRESSES:
        check_address(str(value))
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{quoted(value)}"'


def check_address(address: str) -> None:
    """Refuse an address that could run a script: a relative one has no colon before its first slash, `?` or `#`."""
    start = address.replace("?", "/").replace("#", "/").partition("/")[0]
    if ":" in start and not address.startswith("https://"):
        raise ValueError(f"an address must be of this site or begin with https://, not {address!r:.60}")


def table(
    headings: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    caption: str = "",
    class_: str = "",
    words: int | Collection[int] = 1,
) -> str:
    """Return a table in a box that scrolls; the first `words` columns are words, the others numbers, set to the right.

    `words` may also be the columns' positions. Cells are HTML already. The first cell of a row is its heading.
    """
    worded = range(words) if isinstance(words, int) else words

    def cells(contents: Iterable[str], scope: str) -> str:
        out = []
        for position, content in enumerate(contents):
            tag = "th" if scope == "col" or position == 0 else "td"
            kind = None if position in worded else "calc-figure"
            out.append(element(tag, content, class_=kind, scope=scope if tag == "th" else None))
        return element("tr", "".join(out))

    head = element("thead", cells(headings, "col"))
    body = element("tbody", "".join(cells(row, "row") for row in rows))
    titled = element("caption", text(caption)) if caption else ""
    inner = element("table", titled + head + body, class_=class_)
    return element("div", inner, class_="calc-scroll", tabindex=0, role="region", aria_label=caption or "Table")


def searched(table: str, things: str, bounds: str = "") -> str:
    """Return a table that a reader can sort where scripts run, and filter where it has more rows than are seen at once.

    `things` are what its rows are called.

    `bounds` are further fields, of what a column's numbers may be at least or at most.
    One of more rows than can be seen at first is marked: until those are there, its columns have not their widths.
    """
    rows = table.count("<tr>") - 1  # without that of the headings
    said = element("p", text(f"{rows} of {rows} {things}"), role="status")
    box = said
    if rows > FEW or bounds:
        field = element("input", type="search", autocomplete="off", spellcheck="false")
        label = element("label", text(f"Filter {things} ") + field)
        box = element("div", label + bounds + said, class_="filtered-search")
    long = "gpu-long" if rows > SEEN else None
    return element("gpu-table", box + table, class_=long, data_things=things)
