"""The pages' content security policy: nothing is evaluated, nothing leaves the origin, and inline runs what was built.

The theme writes a few small scripts into every page, the same into each. The policy names them by what they hash to, so
that no page waits for a file of a few lines before it is drawn.
"""

import base64
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

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
# The theme's search is a dialog without a name.
UNNAMED_SEARCH = 'data-md-component="search" role="dialog"'
NAMED_SEARCH = f'{UNNAMED_SEARCH} aria-label="Search"'

_serving = [False]


def on_startup(command: str, **_: Any) -> None:
    """Let `mkdocs serve` run the script that it writes into every page to reload it; a built site has none."""
    _serving[0] = command == "serve"


def policy(html: str) -> str:
    """Return the policy of a page: of its inline scripts those that it has now run, and no other."""
    hashes = (base64.b64encode(hashlib.sha256(found.encode()).digest()).decode() for found in INLINE.findall(html))
    inline = ["'unsafe-inline'"] if _serving[0] else [f"'sha256-{found}'" for found in dict.fromkeys(hashes)]
    return POLICY.replace("script-src", " ".join(["script-src", *inline]))


def secure(html: str) -> str:
    """Return a page with its policy, and with a name for its search."""
    if CHARSET not in html:
        raise ValueError(f"a page has no {CHARSET} for the policy to follow")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(html)}">'
    return html.replace(CHARSET, CHARSET + meta, 1).replace(UNNAMED_SEARCH, NAMED_SEARCH)


def on_post_page(output: str, **_: Any) -> str:
    """Secure a page."""
    return secure(output)


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Secure the page for addresses that lead nowhere."""
    return secure(output_content) if template_name.endswith(".html") else output_content


def secure_site(site: Path) -> None:
    """Secure the pages of a folder that something else than MkDocs built."""
    for page in sorted(site.rglob("*.html")):
        page.write_text(secure(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    secure_site(Path(sys.argv[1]))
