"""Pages as plain Markdown, numbers and tables computed, and a list of them: for those who copy, and for programs."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from macros.markdown import OPENED, made_of

LIST = "llms.txt"  # as llmstxt.org has it
UNTOLD = re.compile(
    rf'<(script|style|svg|form|label|details(?! class="folded")|math)\b.*?</\1>|{OPENED}',
    re.DOTALL,
)
ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>", re.DOTALL)
CAPTION = re.compile(r"<caption>(.*?)</caption>", re.DOTALL)
TABLE = re.compile(r"<table[^>]*>(.*?)</table>", re.DOTALL)
BREAK = re.compile(r"</(?:p|li|div|h\d|tr|summary)>")
TAG = re.compile(r"<[^>]*>")
SNIPPET = re.compile(r'^--8<-- "(.+)"$', re.MULTILINE)
FIRST = re.compile(r"^(?![#!>|\-*<`\s])(?:.|\n(?!\n))+", re.MULTILINE)
SENTENCE = re.compile(r".+?[.?!](?=\s|$)", re.DOTALL)
_pages: dict[str, tuple[Any, str]] = {}  # by address: the page and its Markdown
_nav: list[Any] = []


def begin(nav: Any) -> None:
    """Begin a build with its navigation."""
    _nav[:] = [nav]
    _pages.clear()


def whole(markdown: str, root: Path) -> str:
    """Return a page's text after its macros as plain Markdown, with the files that it takes in."""
    told = SNIPPET.sub(lambda found: (root / found[1]).read_text(encoding="utf-8"), markdown)
    return made_of(told, plain).replace("&NoBreak;", "")


def keep(page: Any, markdown: str) -> None:
    """Note a page as plain Markdown."""
    _pages[page.url] = page, markdown


def kept(page: Any) -> str:
    """Return a page as plain Markdown."""
    return _pages[page.url][1]


def plain(html: str) -> str:
    """Return finished HTML as Markdown: tables as tables, and of the rest the words.

    >>> plain("<table><thead><tr><th>A</th></tr></thead><tbody><tr><td><b>1</b></td></tr></tbody></table>")
    '| A |\\n| --- |\\n| 1 |'
    """
    told = TABLE.sub(lambda found: f"</p>{tabled(found[1])}</p>", UNTOLD.sub("", html))
    lines = BREAK.sub("\n\n", told)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]{2,}", " ", unescape(TAG.sub("", lines)))).strip(" \n")


def tabled(html: str) -> str:
    """Return the inside of a table as Markdown, its caption before it."""
    rows = [[said(cell) for cell in CELL.findall(row)] for row in ROW.findall(html)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if lines:
        lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n\n".join([*CAPTION.findall(html), "\n".join(lines)])


def said(cell: str) -> str:
    """Return the words of a table's cell."""
    return " ".join(TAG.sub("", cell).replace("|", r"\|").split())


def first_sentence(markdown: str) -> str:
    """Return the first sentence of a page's first paragraph."""
    found = FIRST.search(markdown)
    sentence = SENTENCE.match(found[0]) if found else None
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", sentence[0]).split()) if sentence else ""


def listed(items: list[Any], address: str, heading: str = "") -> Iterator[str]:
    """Yield the lines of the list: a heading for each section of the navigation, a link for each page."""
    pages = [item for item in items if item.is_page and item.url in _pages]
    if pages:
        yield f"\n## {heading}\n" if heading else ""
        for page in pages:
            yield f"- [{page.title}]({address}{page.url}index.md): {first_sentence(_pages[page.url][1])}"
    for item in items:
        if item.is_section:
            yield from listed(item.children, address, f"{heading}: {item.title}" if heading else item.title)


def write(site: Path, config: Any) -> None:
    """Write each page's Markdown beside it, and the list of all pages at the root of the site."""
    for page, markdown in _pages.values():
        file = site / page.url / "index.md"
        file.write_text(f"<!-- {config.site_url}{page.url} -->\n\n{markdown}\n", encoding="utf-8")
    lines = [f"# {config.site_name}", "", f"> {config.site_description}"]
    for nav in _nav:
        lines += listed(nav.items, config.site_url)
    (site / LIST).write_text("\n".join(lines) + "\n", encoding="utf-8")
