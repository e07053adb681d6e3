"""Finished HTML in a page: it goes past Markdown and past the search, which would take most of a build to read it.

A macro marks its HTML. Where a page calls the macro, the HTML is put aside and a short token stands for it, which
Markdown leaves alone. Afterwards the token is replaced: by this module's Markdown extension, or, where MkDocs builds,
by its text until the search has read the page, and by the HTML in the end.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

from calc.calculators.html import element

BLOCK, INLINE, END = "\ue000", "\ue001", "\ue002"  # of Unicode's private use: no text has them
MARKED = re.compile(f"([{BLOCK}{INLINE}])([^{END}]*){END}")
TOKEN = re.compile(f"(?:<p>)?{BLOCK}([0-9a-f]{{16}}){END}(?:</p>)?|{INLINE}([0-9a-f]{{16}}){END}")
STANDING_FOR = re.compile(r'<(div|span) data-made="([0-9a-f]{16})">[^<]*</\1>')
BLANKS = re.compile(r"\n\s*(?=[\n<])")  # in HTML, where one break is as good as many
AS_WRITTEN = re.compile(r"(<(?:pre|textarea)\b.*?</(?:pre|textarea)>)", re.DOTALL)
# What a search does not look for: what opens on a press, the inside of tables (their headings and first cells stay),
# forms and the working. A working alone is most of the text of some pages.
OPENED = r'<span class="calc-opened".*?</span></span>(?!<span class="calc-step")'
UNREAD = re.compile(rf"<(script|style|svg|select|option|label|details|td|math)\b.*?</\1>|{OPENED}|<[^>]*>", re.DOTALL)
IDENTITY = re.compile(r'<[a-z][^<>]*? id="([^"]+)"')
_made: dict[str, str] = {}  # by the token that stands for it
_held = [False]


def block(html: str) -> str:
    """Return HTML that stands as a block of its own in a page."""
    return f"\n\n{BLOCK}{unmarked(html)}{END}\n\n"


def unsearched(html: str, **attributes: str) -> str:
    """Return HTML that stands as a block of its own, and that the search leaves out."""
    return block(element("div", html, **attributes, data_search_exclude=True))


def inline(html: str) -> str:
    """Return HTML that stands within a sentence."""
    return f"{INLINE}{unmarked(html)}{END}"


def unmarked(html: str) -> str:
    """Return what a macro wrote without its marks, as when another macro takes it into its own."""
    return MARKED.sub(r"\2", html)


def put_aside(markdown: str) -> str:
    """Return what a macro wrote with a token in place of each piece of finished HTML."""

    def token(found: re.Match[str]) -> str:
        name = hashlib.sha256(found[2].encode()).hexdigest()[:16]
        _made[name] = found[2]
        return f"{found[1]}{name}{END}"

    return MARKED.sub(token, markdown)


def aside(markdown: str) -> dict[str, str]:
    """Return the finished HTML that a page's tokens stand for."""
    names = (block or within for block, within in TOKEN.findall(markdown))
    return {name: _made[name] for name in names}


def restore(made: Mapping[str, str]) -> None:
    """Take back what the tokens of a page stand for that was rendered earlier."""
    _made.update(made)


def hold() -> None:
    """Leave the tokens where Markdown has them, until `finish`."""
    _held[0] = True


def readable(html: str) -> str:
    """Return a page with the text of its finished HTML in place of the tokens, for the search to read."""

    def words(found: re.Match[str]) -> str:
        made = _made[found[1] or found[2]]
        name = "div" if found[1] else "span"
        told = "" if "data-search-exclude" in made.partition(">")[0] else " ".join(UNREAD.sub(" ", made).split())
        return f'<{name} data-made="{found[1] or found[2]}">{told}</{name}>'

    return TOKEN.sub(words, html)


def made_of(markdown: str, told: Callable[[str], str]) -> str:
    """Return a page's Markdown with what `told` makes of its finished HTML in place of the tokens."""

    def words(found: re.Match[str]) -> str:
        return f"\n\n{told(_made[found[1]])}\n\n" if found[1] else told(_made[found[2]])

    return TOKEN.sub(words, markdown)


def identities(html: str) -> set[str]:
    """Return the ids within the finished HTML of a page, which links may lead to."""
    return {name for found in TOKEN.finditer(html) for name in IDENTITY.findall(_made[found[1] or found[2]])}


def finish(html: str) -> str:
    """Return a page with all its finished HTML."""
    return STANDING_FOR.sub(lambda found: _made[found[2]], html)


def without_blanks(html: str) -> str:
    """Return a page without the empty lines and the indentation of the theme's templates, a tenth of a page."""
    parts = AS_WRITTEN.split(html)
    parts[::2] = [BLANKS.sub("\n", part) for part in parts[::2]]  # between what is kept as it is written
    return "".join(parts)


class MadeProcessor(Postprocessor):
    """Puts finished HTML back into a page, unless it is held."""

    def run(self, text: str) -> str:
        """Return the page with its finished HTML."""
        return text if _held[0] else TOKEN.sub(lambda found: _made[found[1] or found[2]], text)


class MadeExtension(Extension):
    """Registers the processor after all others."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (the library's name)
        """Add the processor to a Markdown instance."""
        md.postprocessors.register(MadeProcessor(md), "made", -10)


def makeExtension(**settings: Any) -> MadeExtension:  # noqa: N802 (the name that Markdown looks for)
    """Return the extension, as Markdown asks for it by module name."""
    return MadeExtension(**settings)
