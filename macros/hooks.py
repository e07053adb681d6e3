"""What MkDocs runs around a build: the runtime and Vega before it, what pages keep, and files for plots and lists."""

from pathlib import Path
from typing import Any

from mkdocs.plugins import CombinedEvent, event_priority

from macros import downloads, embedded, facts, kept, lists, markdown, plain, plots, runtime, styles, terms, vega

ROOT = Path(__file__).parent.parent
_serving = [False]  # an author looks at each save
_file: list[Path | None] = [None]  # that keeps the page whose macros run, None where it is kept already


def on_startup(command: str, **_: Any) -> None:
    """Have finished HTML held back until the search has read a page, and note who will look at the site."""
    markdown.hold()
    _serving[0] = command == "serve"


def on_nav(nav: Any, **_: Any) -> None:
    """Begin the list of pages."""
    plain.begin(nav)


def on_files(files: Any, config: Any) -> Any:
    """Send one style sheet in place of many."""
    return styles.join(files, config)


def on_pre_build(**_: Any) -> None:
    """Bring the browser's copy of `calc` up to date, so that the page computes with the catalogue it was built from."""
    runtime.build(ROOT, quick=_serving[0])
    vega.build(ROOT)


@event_priority(100)
def before_macros(text: str, /, page: Any, **_: Any) -> str:
    """Take the page as it was kept, whose macros need not run, or note where it is to be kept."""
    terms.begin(page)
    file = kept.file_of(text, page)
    found = kept.kept(file)
    _file[0] = file if found is None else None
    if found is None:
        return text
    page.meta["render_macros"] = False
    return found


@event_priority(-100)
def after_macros(text: str, /, page: Any, **_: Any) -> str:
    """Keep what the macros wrote."""
    if _file[0]:
        kept.keep(_file[0], text)
    plain.keep(page, text, ROOT)
    return text


on_page_markdown = CombinedEvent(before_macros, after_macros)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Show the search the text of finished HTML, and links its ids."""
    page.present_anchor_ids |= markdown.identities(html)
    return markdown.readable(html)


def on_post_page(output: str, **_: Any) -> str:
    """Write the finished HTML into the page."""
    return markdown.finish(output)


def on_post_build(config: Any) -> None:
    """Write what pages draw their plots from and their forms list, the facts of devices, and pages as Markdown."""
    plots.write_plots(Path(config.site_dir))
    lists.write_lists(Path(config.site_dir))
    downloads.write_downloads(Path(config.site_dir))
    facts.write_facts(Path(config.site_dir))
    embedded.write_embedded(Path(config.site_dir))
    plain.write(Path(config.site_dir), config)
    kept.tidy()
