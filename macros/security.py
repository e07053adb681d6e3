"""The pages' content security policy: nothing inline runs, nothing is evaluated, nothing leaves the origin.

The theme writes a few small scripts into every page. They move to files of the same origin at the same place, so the
policy needs no exception for them.
"""

import hashlib
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mkdocs.utils import get_relative_url

POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'wasm-unsafe-eval'",  # WebAssembly is compiled, no text is evaluated
        "style-src 'self'",
        "img-src 'self' data:",  # the theme's icons are data in its style sheet
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
    )
)
CHARSET = '<meta charset="utf-8">'
INLINE = re.compile(r"<script>(.+?)</script>", re.DOTALL)
THEME_SCRIPT = re.compile(r'<script src="([^"]*)assets/javascripts/bundle')
FOLDER = "assets/inline"
# The theme's search is a dialog without a name.
UNNAMED_SEARCH = 'data-md-component="search" role="dialog"'
NAMED_SEARCH = f'{UNNAMED_SEARCH} aria-label="Search"'

_moved: dict[str, str] = {}
_policy = [POLICY]


def on_startup(command: str, **_: Any) -> None:
    """Let `mkdocs serve` run the script that it writes into every page to reload it; a built site has none."""
    _policy[0] = POLICY.replace("script-src", "script-src 'unsafe-inline'") if command == "serve" else POLICY


def secure(html: str, root: str) -> str:
    """Return a page with its policy and without inline scripts; `root` is the address of the site from the page."""

    def move(match: re.Match[str]) -> str:
        content = match.group(1)
        name = f"{hashlib.sha256(content.encode()).hexdigest()[:12]}.js"
        _moved[name] = content
        return f'<script src="{root}{FOLDER}/{name}"></script>'

    if CHARSET not in html:
        raise ValueError(f"a page has no {CHARSET} for the policy to follow")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{_policy[0]}">'
    return INLINE.sub(move, html.replace(CHARSET, CHARSET + meta, 1).replace(UNNAMED_SEARCH, NAMED_SEARCH))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Secure a page."""
    return secure(output, get_relative_url(".", page.url).rstrip("/") + "/")


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """Secure the page for addresses that lead nowhere, which is shown at any depth."""
    if not template_name.endswith(".html"):
        return output_content
    return secure(output_content, urlsplit(config.site_url).path)


def on_post_build(config: Any) -> None:
    """Write the scripts that were moved."""
    write_moved(Path(config.site_dir))


def write_moved(site: Path) -> None:
    """Write the scripts that were moved out of pages into a site."""
    folder = site / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in _moved.items():
        (folder / name).write_text(content, encoding="utf-8")


def secure_site(site: Path) -> None:
    """Secure the pages of a folder that something else than MkDocs built, from where each has its theme's scripts."""
    for page in sorted(site.rglob("*.html")):
        html = page.read_text(encoding="utf-8")
        if not (found := THEME_SCRIPT.search(html)):
            raise ValueError(f"{page} has no script of the theme, which would say where the site begins")
        page.write_text(secure(html, found[1]), encoding="utf-8")
    write_moved(site)


if __name__ == "__main__":
    secure_site(Path(sys.argv[1]))
