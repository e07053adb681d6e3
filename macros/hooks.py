"""What MkDocs runs around a build: the runtime and Vega before it, the address of each page, what plots need after."""

from pathlib import Path
from typing import Any

from macros import lists, plots, runtime, terms, vega

ROOT = Path(__file__).parent.parent


def on_pre_build(**_: Any) -> None:
    """Bring the browser's copy of `calc` up to date, so that the page computes with the catalogue it was built from."""
    runtime.build(ROOT)
    vega.build(ROOT)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Say which page is rendered next; its text stays as it is."""
    terms.begin(page)
    return markdown


def on_post_build(config: Any) -> None:
    """Write what pages draw their plots from, and what their forms list."""
    plots.write_plots(Path(config.site_dir))
    lists.write_lists(Path(config.site_dir))
