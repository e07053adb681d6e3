"""The glossary, and links to it: each term is linked where a page first uses it, without a word from the writer.

A page's text is searched after Markdown has made its tree, so that code, headings, links, tables and what macros wrote
stay as they are. Front matter with `terms: false` leaves a page alone.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER_RE
from mkdocs.utils import get_relative_url

from calc.calculators.html import element, text
from calc.calculators.rendering import source_html
from calc.catalog import Catalog, catalog
from calc.catalog.claims import TERM_GROUPS, Term
from calc.units import show_count
from macros.links import standing_on
from macros.markdown import block, inline

__all__ = ["glossary", "group_links", "term", "term_count"]

GLOSSARY = "reference/glossary/"
SEARCHED = {"p", "li", "dd"}  # elements in whose text terms are linked
LEFT_ALONE = {"a", "code", "pre", "table", "h1", "h2", "h3", "h4", "h5", "h6", "button", "summary", "svg", "script"}
OPENED = re.compile(r"<(?!/|br\b|hr\b|img\b|input\b|wbr\b|!)[a-z][^<>]*(?<!/)>")
_page: list[str | None] = [None]  # the address of the page that is rendered next; None leaves it alone


def begin(page: Any) -> None:
    """Note which page is rendered next; MkDocs calls this for each."""
    _page[0] = None if page.meta.get("terms") is False or page.url == GLOSSARY else page.url


@lru_cache(maxsize=1)
def words(facts: Catalog) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern that finds every name of a term, longest first, and which term a name leads to.

    A name with a capital in it is found as it is written, "KV cache" but not "kv Cache"; a plain one also at the
    beginning of a sentence. A final "s" may follow.
    """
    leads_to: dict[str, str] = {}
    for term in facts.terms():
        if not term.quiet:
            leads_to |= dict.fromkeys((plain(name) for name in (term.name, *term.aliases)), term.id)
    listed = sorted(leads_to, key=len, reverse=True)
    names = "|".join(re.escape(name) if name != name.lower() else either_case(name) for name in listed)
    return re.compile(rf"(?<![\w/.-])(?:{names})s?(?![\w/-])"), leads_to


def plain(name: str) -> str:
    """Return a name as it stands within a sentence: "Tensor parallelism" begins small there, "KV cache" does not."""
    return name[0].lower() + name[1:] if name[1:] == name[1:].lower() and len(name.split()[0]) > 3 else name


def either_case(name: str) -> str:
    """Return a pattern for a name whose first letter may be a capital."""
    return f"[{name[0].upper()}{name[0]}]{re.escape(name[1:])}"


def term_of(found: str, leads_to: dict[str, str]) -> str:
    """Return the term that a found name leads to, which may be a plural or begin a sentence."""
    small = found[0].lower() + found[1:]
    return next(leads_to[form] for form in (found, small, found[:-1], small[:-1]) if form in leads_to)


class TermProcessor(Treeprocessor):
    """Links terms at their first use in a page."""

    def run(self, root: Element) -> None:
        """Change the page's tree in place."""
        address, _page[0] = _page[0], None
        if address is None:
            return
        self.raw = [str(item) for item in self.md.htmlStash.rawHtmlBlocks]
        self.glossary = get_relative_url(GLOSSARY, address)
        self.pattern, self.leads_to = words(catalog())
        self.linked: set[str] = set()
        for parent in list(searched(root, inside=False)):
            self.link(parent)

    def link(self, parent: Element) -> None:
        """Link terms in an element's own text and in what follows its children."""
        self.depth = 0  # of tags that macros wrote, which Markdown keeps one by one
        children = list(parent)
        parent.text = self.split(parent, parent.text, 0)
        for child in children:
            child.tail = self.split(parent, child.tail, list(parent).index(child) + 1)

    def split(self, parent: Element, content: str | None, position: int) -> str | None:
        """Put links for new terms into `parent` from `position` on, and return the text before the first of them."""
        if not content:
            return content
        before, last = content, None
        start = 0
        for found in self.outside(content):
            term = term_of(found[0], self.leads_to)
            if term in self.linked:
                continue
            self.linked.add(term)
            link = Element("a", {"class": "term", "href": f"{self.glossary}#{term}"})
            link.text, link.tail = found[0], content[found.end() :]
            if last is None:
                before = content[: found.start()]
            else:
                last.tail = content[start : found.start()]
            parent.insert(position, link)
            position, start, last = position + 1, found.end(), link
        return before

    def outside(self, content: str) -> Iterator[re.Match[str]]:
        """Yield the names of terms in a text that stand in none of the elements that macros wrote into it."""
        start = 0
        for tag in HTML_PLACEHOLDER_RE.finditer(content):
            if not self.depth:
                yield from self.pattern.finditer(content, start, tag.start())
            self.depth += depth_of(self.raw[int(tag[1])])
            start = tag.end()
        if not self.depth:
            yield from self.pattern.finditer(content, start)


def depth_of(html: str) -> int:
    """Return how many elements a piece of HTML leaves open; less than 0 if it closes them."""
    return len(OPENED.findall(html)) - html.count("</")


def searched(parent: Element, *, inside: bool) -> Iterator[Element]:
    """Yield the elements whose text is searched: paragraphs and items of lists, and what stands in them."""
    for child in parent:
        if child.tag not in LEFT_ALONE:
            within = inside or child.tag in SEARCHED
            if within:
                yield child
            yield from searched(child, inside=within)


class TermExtension(Extension):
    """Registers the processor after all others, so that links of pages are checked without these."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (the library's name)
        """Add the processor to a Markdown instance."""
        md.treeprocessors.register(TermProcessor(md), "terms", -10)


def makeExtension(**settings: Any) -> TermExtension:  # noqa: N802 (the name that Markdown looks for)
    """Return the extension, as Markdown asks for it by module name."""
    return TermExtension(**settings)


def term(name: str, shown: str = "") -> str:
    """Return a link to a term of the glossary, inline; `shown` are other words for it."""
    found = catalog().term(name)
    address = f"{get_relative_url(GLOSSARY, standing_on())}#{found.id}"
    return inline(element("a", text(shown or name), class_="term", href=address))


def term_count() -> str:
    """Return how many terms the glossary has."""
    return show_count(len(catalog().ids("glossary")))


def glossary() -> str:
    """Return all terms by group, each with a heading that links and search lead to."""
    parts = []
    for group in TERM_GROUPS:
        parts.append(f"## {group} {{ #group-{group.lower().replace(' ', '-')} }}\n\n")
        listed = (found for found in catalog().terms() if found.group == group)
        parts.extend(term_html(found) for found in sorted(listed, key=lambda found: found.name.casefold()))
    return "\n\n" + "".join(parts)


def term_html(found: Term) -> str:
    """Return one term: its heading, other names, what it means, and where to read on."""
    also = f" Also: {', '.join(text(name) for name in found.aliases)}." if found.aliases else ""
    content = text(found.definition) + also
    if found.page:
        address = get_relative_url(found.page.removesuffix(".md") + "/", standing_on())
        content += " " + element("a", "Read on", href=address, aria_label=f"Read on: {found.name}") + "."
    if found.source:
        content += f" {source_html(found.source)}."
    return f"### {found.name} {{ #{found.id} }}" + block(element("p", content))


def group_links() -> str:
    """Return links to the groups of the glossary."""
    return ", ".join(f"[{group}](#group-{group.lower().replace(' ', '-')})" for group in TERM_GROUPS)
