"""Finished HTML goes past Markdown unharmed, and pages whose macros have nothing new to say are kept."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from markdown import Markdown

from macros import kept, markdown, plots
from macros.markdown import block, finish, identities, inline, put_aside, readable, unmarked

HTML = '<table id="one"><tr><th>a_b_c *d* &lt; [e](f)</th><td>13</td></tr></table>'


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep pages apart from those of builds."""
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "pages")


def test_finished_html_goes_past_markdown() -> None:
    """In a sentence, as a block, and twice the same: every sign of Markdown in it stays as it is."""
    text = put_aside(f"It is {inline('<b>1_2_3</b>')}, *and* {inline('<b>1_2_3</b>')}.\n{block(HTML)}\nEnd.")
    html = Markdown(extensions=["macros.markdown"]).convert(text)
    assert html == f"<p>It is <b>1_2_3</b>, <em>and</em> <b>1_2_3</b>.</p>\n{HTML}\n<p>End.</p>"


def test_the_search_reads_words_and_links_find_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """While HTML is held its text stands in the page; what the search shall not read has none; ids are known."""
    monkeypatch.setattr(markdown, "_held", [True])
    picture = '<div class="plot" data-search-exclude><svg><text>12</text></svg></div>'
    step = '<span class="calc-step"><span>b</span> <span>1 + 13 = <strong>14</strong></span></span>'
    pressed = f'<button>word</button><span class="calc-opened" popover id="two"><span>{step}{step}</span></span> after'
    page = Markdown(extensions=["macros.markdown"]).convert(
        put_aside(f"A{block(HTML)}{block(picture)}{inline(pressed)}.")
    )
    assert identities(page) == {"one", "two"}
    shown = readable(page)
    assert "a_b_c *d* &lt; [e](f)" in shown and "word" in shown and "after" in shown
    assert "<td>" not in shown and not {"12", "13", "14"} & set(shown.replace("<", " ").split())
    assert HTML in finish(shown) and picture in finish(shown)


def test_a_macro_may_take_another_s_html() -> None:
    """Marks within marks are those of one piece."""
    assert unmarked(block(f"<p>{inline('<b>1</b>')}</p>")).strip() == "<p><b>1</b></p>"


def test_a_kept_page_comes_back_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its HTML and what its plots are drawn from; a page of another text, address or state is none of it."""
    name = plots.keep({"$schema": "vega"})
    written = put_aside("Words" + block(f'<gpu-plot data-source="../assets/plot/{name}"></gpu-plot>'))
    page = SimpleNamespace(url="memory/")
    monkeypatch.setattr(kept, "_state", ["one"])
    file = kept.file_of("{{ plot() }}", page)
    assert kept.kept(file) is None
    kept.keep(file, written)
    plots.restart()
    markdown._made.clear()
    assert kept.kept(file) == written
    assert plots.used_in(markdown.aside(written).values()) == {name: '{"$schema":"vega"}'}
    assert kept.file_of("{{ plot() }} more", page) != file
    assert kept.file_of("{{ plot() }}", SimpleNamespace(url="start/")) != file
    monkeypatch.setattr(kept, "_state", ["two"])
    assert kept.file_of("{{ plot() }}", page) != file


def test_few_pages_read_other_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of sources says what pages rest on each, so it is decided by all of them."""
    page, states = SimpleNamespace(url="reference/sources/"), iter(["one", "two"])
    monkeypatch.setattr(kept, "digest", lambda _: next(states))
    assert kept.file_of("{{ source_table() }}", page) != kept.file_of("{{ source_table() }}", page)
    assert kept.file_of("{{ number() }}", page) == kept.file_of("{{ number() }}", page)
