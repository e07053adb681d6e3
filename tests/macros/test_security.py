"""The pages' policy, compared whole: what it allows is decided here and nowhere else."""

import re
from types import SimpleNamespace

import pytest

from macros import security

ALLOWED = {
    "default-src": ["'self'"],
    "script-src": ["'self'", "'wasm-unsafe-eval'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "object-src": ["'none'"],
    "base-uri": ["'self'"],
    "form-action": ["'self'"],
}
PAGE = '<html><head><meta charset="utf-8"><script>run()</script></head><body><script src="a.js"></script></body></html>'


def directives(policy: str) -> dict[str, list[str]]:
    """Return a policy by directive."""
    return {name: values for name, *values in (part.split() for part in policy.split(";"))}


def written(html: str) -> str:
    """Return the policy that a page carries."""
    (found,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    return str(found)


@pytest.mark.parametrize("command", ["build", "gh-deploy"])
def test_a_page_carries_this_policy(command: str) -> None:
    """Nothing inline, nothing evaluated but WebAssembly, nothing of another origin: no more and no less is allowed."""
    security.on_startup(command)
    page = SimpleNamespace(url="memory/inference/")
    html = security.on_post_page(PAGE, page)
    assert directives(written(html)) == ALLOWED
    assert html.index("Content-Security-Policy") < html.index("<script")


def test_inline_scripts_move_to_files() -> None:
    """What the theme writes into a page becomes a file of this origin, at the page's own depth."""
    html = security.secure(PAGE, "../../")
    assert not re.search(r"<script>", html)
    (name,) = re.findall(r'<script src="\.\./\.\./assets/inline/([0-9a-f]{12}\.js)"></script>', html)
    assert security._moved[name] == "run()"
    assert '<script src="a.js"></script>' in html


def test_a_page_without_a_place_for_the_policy_stops_the_build() -> None:
    """A theme that writes another beginning of a page is noticed."""
    with pytest.raises(ValueError, match="charset"):
        security.secure("<html><head></head></html>", "")


def test_only_serve_runs_its_own_script() -> None:
    """`mkdocs serve` writes a script into each page to reload it: that is allowed there, and in no built page."""
    security.on_startup("serve")
    try:
        html = security.secure(PAGE, "")
        assert directives(written(html)) == ALLOWED | {"script-src": ["'unsafe-inline'", *ALLOWED["script-src"]]}
    finally:
        security.on_startup("build")
    assert directives(written(security.secure(PAGE, ""))) == ALLOWED
