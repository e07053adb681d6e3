"""Finished HTML goes past Markdown unharmed, and pages whose macros have nothing new to say are kept."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from markdown import Markdown
from mkdocs.structure.files import File
from mkdocs.structure.toc import get_toc

from calc.validation import recorded
from macros import kept, markdown, plots
from macros.markdown import block, finish, identities, inline, put_aside, readable, unmarked, without_blanks

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


class Page(SimpleNamespace):
    """What of MkDocs' pages is kept: an address, front matter, and what Markdown found in the text."""

    def __init__(self, url: str, **found: object) -> None:
        super().__init__(url=url, meta={}, **found)


def test_a_kept_page_comes_back_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its HTML, what its plots are drawn from, its headings and its links."""
    name = plots.keep({"$schema": "vega"})
    written = put_aside("Words" + block(f'<gpu-plot data-source="../assets/plot/{name}"></gpu-plot>'))
    made, html = markdown.aside(written), readable(written)
    monkeypatch.setattr(kept, "_state", ["one"])
    other = File("start.md", "docs", "site", use_directory_urls=True)
    below: Any = {"name": "Two", "id": "two", "level": 2, "children": []}
    toc = get_toc([{"name": "One", "id": "one", "level": 1, "children": [below]}])
    links = {other: {"cards": "../start.md#cards"}}
    page = Page("a/", toc=toc, _title_from_render="A", present_anchor_ids={"one"}, links_to_anchors=links)
    file = kept.file_of("{{ plot() }}", page)
    assert kept.kept(file) is None
    kept.keep(file, page, html=html, plain="Words", made=made)
    plots.restart()
    markdown._made.clear()
    found = kept.kept(file)
    assert found and finish(found.html).split("\n\n") == ["Words", *made.values(), ""]
    assert plots.used_in(found.made.values()) == {name: '{"$schema":"vega"}'}
    again = Page("a/")
    kept.fill(again, found, SimpleNamespace(get_file_from_path={"start.md": other}.get))
    assert str(again.toc) == str(page.toc) and again.toc.items[0].active
    assert (again._title_from_render, again.present_anchor_ids, again.links_to_anchors) == ("A", {"one"}, links)


def test_pages_are_as_they_were_while_another_is_shown_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the open one, until all are made; not where more than entries was changed."""
    page, states = Page("a/", toc=[], _title_from_render="A", present_anchor_ids=set(), links_to_anchors={}), iter("12")
    monkeypatch.setattr(kept.reads, "state", lambda _: next(states))
    file = kept.file_of("text", page)
    kept.keep(file, page, html="Words", plain="Words", made={})
    assert kept.as_it_was(file, page) is kept.kept(file) is None and not kept.go_on()
    kept.show_first("a/")
    assert kept.as_it_was(file, page) is None and not kept.is_much() and not kept.go_on()
    kept.show_first("b/")
    found = kept.as_it_was(file, page)
    assert found and found.html == "Words" and kept.go_on() and kept.is_much()
    kept.show_first("b/")
    monkeypatch.setattr(kept, "_state", ["another"])
    kept.begin()
    assert kept.as_it_was(file, page) is None and not kept.go_on()


def test_what_decides_a_page_decides_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another text, address, front matter, state of the catalogue or name of a file makes another page."""
    files = [kept.file_of("{{ plot() }}", Page("a/")), kept.file_of("{{ plot() }} more", Page("a/"))]
    files.append(kept.file_of("{{ plot() }}", Page("b/")))
    files.append(kept.file_of("{{ plot() }}", Page("b/"), "what others say"))
    page = Page("a/")
    page.meta["terms"] = False
    files.append(kept.file_of("{{ plot() }}", page))
    monkeypatch.setattr(kept, "_names", ["a.md"])
    files.append(kept.file_of("{{ plot() }}", Page("a/")))
    monkeypatch.setattr(kept, "_state", ["two"])
    files.append(kept.file_of("{{ plot() }}", Page("a/")))
    assert len(set(files)) == 7


def test_a_changed_fact_is_another_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One digit in the catalogue, a formula, a macro or the settings: no page and no file is taken from before."""
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    monkeypatch.setattr(kept, "MADE", tmp_path / "files")
    names = ("calc/a.py", "calc/data/b.toml", "calc/data/c.csv", "macros/d.py", "mkdocs.yml", "requirements.lock")
    found: set[Path] = set()

    def write(part: Path) -> None:
        part.mkdir(parents=True)
        (part / "state").write_text(str(len(found)))

    monkeypatch.setattr(recorded, "_frozen", ["scores"])
    for number, changed in enumerate(("", *names)):
        monkeypatch.setattr(kept, "_code", [])  # a process of its own
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("2" if name == changed else "1")
        kept.begin()
        found.add(kept.file_of("{{ fact() }}", Page("a/")))
        site = tmp_path / f"site{number}"
        kept.make_files([write])
        kept.make_files([write])
        kept.copy_files(site)
        assert (site / "state").read_text() == str(len(found)) == str(number + 1)
    assert len(found) == 1 + len(names)
    monkeypatch.setattr(recorded, "_frozen", ["older scores"])
    kept.begin()
    assert kept.file_of("{{ fact() }}", Page("a/")) not in found


def test_a_server_runs_the_code_of_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it renders after a formula was saved is not taken for what the new formula says."""
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    monkeypatch.setattr(kept, "_code", [])
    monkeypatch.setattr(recorded, "_frozen", ["scores"])
    formula = tmp_path / "calc/a.py"
    formula.parent.mkdir()
    formula.write_text("1")
    kept.begin()
    served = kept.file_of("{{ fact() }}", Page("a/"))
    formula.write_text("2")
    kept.begin()
    assert kept.file_of("{{ fact() }}", Page("a/")) == served
    monkeypatch.setattr(kept, "_code", [])
    kept.begin()
    assert kept.file_of("{{ fact() }}", Page("a/")) != served


def test_a_page_has_no_empty_lines_of_the_templates() -> None:
    """They and indentation go; a break between words stays one, and what is shown as it is written stays whole."""
    code = "<pre>a\n\n  b</pre>"
    assert without_blanks(f"<ul>\n  \n    <li>one\n    two\n\n</ul>\n{code}\n") == (
        f"<ul>\n<li>one\n    two\n</ul>\n{code}\n"
    )
