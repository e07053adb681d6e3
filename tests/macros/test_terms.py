"""Terms are linked where a page first uses them, in prose and nowhere else."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from markdown import Markdown

from calc.catalog import catalog
from macros import terms
from macros.links import stand_on
from macros.markdown import unmarked

DOCS = Path(__file__).parents[2] / "docs"
LEAST = 90  # terms


def rendered(content: str, url: str = "memory/inference/", **meta: object) -> str:
    """Return a page's HTML as the site has it."""
    terms.begin(SimpleNamespace(url=url, meta=meta))
    return Markdown(extensions=["macros.terms", "md_in_html", "tables"]).convert(content)


def linked(content: str, **page: object) -> list[str]:
    """Return the terms that a page links, in order."""
    return re.findall(r'class="term" href="[^"#]*#([^"]+)"', rendered(content, **page))  # type: ignore[arg-type]


def test_a_term_is_linked_once() -> None:
    """At its first use, under any of its names, with a plural and at the beginning of a sentence."""
    assert linked("The KV cache grows. A KV cache is large.\n\nGrouped-query attention, or GQA.") == ["kv-cache", "gqa"]
    assert linked("Few KV heads. Tensor parallelism, then tensor parallelism.") == ["kv-head", "tensor-parallelism"]
    assert '<a class="term" href="../../reference/glossary/#kv-cache">KV cache</a>' in rendered("The KV cache.")


@pytest.mark.parametrize(
    "content",
    [
        "# The KV cache",
        "`KV cache`",
        "[the KV cache](kv-cache.md)",
        "| KV cache |\n|---|\n| KV cache |",
        '<span class="x">KV cache</span>',
        'A number <button type="button">KV cache</button><span popover>of the KV cache</span>.',
        "<div>KV cache</div>",
        "KV caching, the kv-KV cache-like",
        "a token and its weights",
    ],
)
def test_what_is_not_linked(content: str) -> None:
    """Headings, code, links, tables, what macros wrote, parts of words, and everyday words."""
    assert linked(content) == []


def test_text_after_what_a_macro_wrote_is_linked() -> None:
    """The element is left alone, the sentence goes on."""
    assert linked("Of <b>KV cache</b> and of prefill with **LoRA**.") == ["prefill", "lora"]


def test_a_page_can_be_left_alone() -> None:
    """By its front matter; the glossary itself always is, and so is text that is no page."""
    assert linked("The KV cache.", terms=False) == []
    assert linked("The KV cache.", url=terms.GLOSSARY) == []
    assert Markdown(extensions=["macros.terms"]).convert("The KV cache.") == "<p>The KV cache.</p>"


def test_a_chosen_link() -> None:
    """A macro links what the hook leaves alone."""
    stand_on("memory/inference/")
    assert unmarked(terms.term("KV cache", "caches")) == (
        '<a class="term" href="../../reference/glossary/#kv-cache">caches</a>'
    )


def test_the_glossary_has_every_term() -> None:
    """Each has a heading, which search and links lead to, and its other names; pages that it names exist."""
    stand_on(terms.GLOSSARY)
    page = terms.glossary()
    listed = list(catalog().terms())
    assert len(listed) >= LEAST
    for found in listed:
        assert f"### {found.name} {{ #{found.id} }}" in page
        assert not found.page or (DOCS / found.page).exists(), found.id
        assert found.definition.endswith(".") and len(found.definition) > 10
    assert len({found.definition for found in listed}) == len(listed)


def test_every_name_is_found_by_the_pattern() -> None:
    """No term's name is hidden by a longer one, or cannot begin a word."""
    pattern, _ = terms.words(catalog())
    for found in catalog().terms():
        for name in () if found.quiet else (found.name, *found.aliases):
            assert pattern.search(f"of {name}, and"), name
            assert linked(f"of {name}, and") == [found.id], name
