"""What MkDocs runs around a build: the runtime and Vega before it, what pages keep, and files for plots and lists."""

import logging
import re
from pathlib import Path
from typing import Any, NamedTuple

from mkdocs.plugins import CombinedEvent, event_priority

from macros import (
    beside,
    downloads,
    drawing,
    embedded,
    facts,
    kept,
    lists,
    markdown,
    plain,
    plots,
    runtime,
    sources,
    styles,
    terms,
    vega,
)
from macros.kept import Kept
from macros.serving import Complaints

ROOT = Path(__file__).parent.parent
TELLING = re.compile(r"\{\{\s*(source|address|formula)_table\(")  # what other pages name and compute
UNLINKED = ("assets/runtime/", "assets/vega/")  # no page links to them, and a build itself writes them
FOREIGN = "assets/javascripts/lunr/"  # what the theme's search reads other languages with, under further licences
TAKING_IN = re.compile(r"^--8<-- ", re.MULTILINE)  # a file from beside the guide


class Rendered(NamedTuple):
    """A page that is rendered: the file that keeps it, what is kept there, and how much was complained before it."""

    file: Path
    kept: Kept | None
    complaints: int


_serving = [False]  # an author looks at each save
_complaints = Complaints()  # of MkDocs: about links, say
_page: list[Rendered] = []  # the one that is rendered
_order: list[str] = []  # of files, as the search and the list of pages have them


def on_startup(command: str, **_: Any) -> None:
    """Have finished HTML held back until the search has read a page, and note who will look at the site."""
    markdown.hold()
    _serving[0] = command == "serve"
    logging.getLogger("mkdocs").addHandler(_complaints)
    logging.getLogger("mkdocs.plugins.mkdocs_macros.util").setLevel(logging.WARNING)  # else it lists all that there is


def on_config(config: Any) -> None:
    """Have pages rendered by two processes where much is new, as soon as all facts are read."""
    if kept.is_much():
        beside.begin()
    if beside.helps():
        config.site_dir = str(Path(config.site_dir, "nowhere"))  # the site is the other's, which empties it


def on_nav(nav: Any, **_: Any) -> None:
    """Begin the list of pages."""
    plain.begin(nav)


def on_files(files: Any, config: Any) -> Any:
    """Send one style sheet in place of many, and render pages in an order that suits two processes."""
    kept.note_names(name for name in files.src_uris if not name.startswith(UNLINKED))
    joined = in_english(styles.join(files, config))
    _order[:] = joined.src_uris
    return beside.turned(joined, kept.seconds(), TELLING.search)


def in_english(files: Any) -> Any:
    """Leave out what the theme has for the search in other languages, which no page of the guide is in."""
    for name in [name for name in files.src_uris if name.startswith(FOREIGN)]:
        files.remove(files.get_file_from_path(name))
    return files


def on_pre_build(**_: Any) -> None:
    """Bring up to date what no page waits for: the browser's `calc`, with the catalogue of the pages, above all."""
    if not beside.helps():
        runtime.build(ROOT, quick=_serving[0])
        vega.build(ROOT)
        kept.make_files((lists.write_lists, downloads.write_downloads))


def others(text: str) -> str:
    """Return all that a page of that text reads of other pages, and of files beside them."""
    named = repr(list(sources.page_uses())) if TELLING.search(text) else ""
    return named + (kept.digest(("*.md",)) if TAKING_IN.search(text) else "")


def wait() -> None:
    """Have all other pages rendered before one that tells what they computed."""
    if beside.helps():
        beside.leave()
    beside.rested()


@event_priority(100)
def before_macros(text: str, /, page: Any, **_: Any) -> str:
    """Look for a page as it was kept, whose text neither macros nor Markdown need to read, or have it rendered."""
    if TELLING.search(text):
        wait()
    file = kept.file_of(text, page, others(text))
    found = kept.kept(file) or kept.as_it_was(file, page) or beside.awaited(file)
    if found is None and beside.helps() and not beside.claimed(file):
        beside.leave()  # the build has come so far
    _page[:] = [Rendered(file, found, len(_complaints.said))]
    if found:
        return ""
    kept.begin_page()
    terms.begin(page)
    return text


@event_priority(-100)
def after_macros(text: str, /, page: Any, **_: Any) -> str:
    """Note the page as plain Markdown."""
    found = _page[0].kept
    plain.keep(page, found.plain if found else plain.whole(text, ROOT))
    return text


on_page_markdown = CombinedEvent(before_macros, after_macros)


def on_page_content(html: str, page: Any, files: Any, **_: Any) -> str:
    """Show the search the text of finished HTML, and links its ids; keep the page, or take it as it was kept."""
    rendered = _page[0]
    if rendered.kept:
        kept.fill(page, rendered.kept, files)
        return rendered.kept.html
    made = markdown.aside(html)
    page.present_anchor_ids |= markdown.identities(html)
    read = markdown.readable(html)
    if len(_complaints.said) == rendered.complaints:
        kept.keep(rendered.file, page, html=read, plain=plain.kept(page), made=made)
    beside.release(rendered.file)
    return read


def on_env(env: Any, files: Any, **_: Any) -> Any:
    """Go on alone, in the usual order: all pages are rendered."""
    if beside.helps():
        beside.leave()
    beside.end()
    beside.order(files, _order)
    return env


def on_build_error(**_: Any) -> None:
    """Have a page that is wrong stop the build alone."""
    if beside.helps():
        beside.leave()
    beside.end()


def on_post_page(output: str, **_: Any) -> str:
    """Write the finished HTML into the page."""
    return markdown.finish(markdown.without_blanks(output))


def on_post_build(config: Any) -> None:
    """Write what pages draw their plots from and their forms list, the facts of devices, and pages as Markdown."""
    plots.write_plots(Path(config.site_dir))
    kept.copy_files(Path(config.site_dir))
    facts.write_facts(Path(config.site_dir))  # whose policy is another while serving
    embedded.write_embedded(Path(config.site_dir))
    plain.write(Path(config.site_dir), config)
    kept.tidy()
    drawing.tidy()
