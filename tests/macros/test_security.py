"""The pages' policy, compared whole: what it allows is decided here and nowhere else."""

import re
from pathlib import Path

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
RUN = "'sha256-AvyuiL0SD1mVY3NNxR+V2uo+lhk6RMFrytWmRt6CrJQ='"  # of run()
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
    """Inline what the page was built with, evaluated WebAssembly alone, nothing of another origin: no more, no less."""
    security.on_startup(command)
    html = security.on_post_page(PAGE)
    assert directives(written(html)) == ALLOWED | {"script-src": [RUN, *ALLOWED["script-src"]]}
    assert html.index("Content-Security-Policy") < html.index("<script")


def test_a_page_without_scripts_of_its_own_runs_none() -> None:
    """A script that stands in a file needs no word of the policy, and none is said."""
    assert directives(security.policy('<script src="a.js"></script>')) == ALLOWED


def test_a_page_without_a_place_for_the_policy_stops_the_build() -> None:
    """A theme that writes another beginning of a page is noticed."""
    with pytest.raises(ValueError, match="charset"):
        security.secure("<html><head></head></html>")


def test_only_serve_runs_its_own_script() -> None:
    """`mkdocs serve` writes a script into each page to reload it: that is allowed there, and in no built page."""
    security.on_startup("serve")
    try:
        html = security.secure(PAGE)
        assert directives(written(html)) == ALLOWED | {"script-src": ["'unsafe-inline'", *ALLOWED["script-src"]]}
    finally:
        security.on_startup("build")
    assert "'unsafe-inline'" not in security.secure(PAGE)


def test_every_page_of_a_site_carries_it(tmp_path: Path) -> None:
    """The page for addresses that lead nowhere, which is a template, and pages in folders that something else built."""
    assert written(security.on_post_template(PAGE, "404.html")) == written(security.secure(PAGE))
    assert security.on_post_template("<urlset/>", "sitemap.xml") == "<urlset/>"
    deep = tmp_path / "memory" / "cache" / "index.html"
    deep.parent.mkdir(parents=True)
    for page in (deep, tmp_path / "index.html"):
        page.write_text(PAGE, encoding="utf-8")
    security.secure_site(tmp_path)
    assert {page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html")} == {security.secure(PAGE)}
