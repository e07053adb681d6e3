"""What is done around a build."""

from pathlib import Path

import pytest
from mkdocs.structure.files import File, Files

from macros import hooks, kept, sources


def test_the_page_of_sources_is_decided_by_what_pages_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What else they say does not make it anew."""
    monkeypatch.setattr(sources, "DOCS", tmp_path)
    (page := tmp_path / "a.md").write_text('Words {{ source("oguz-guide", "said") }}')
    before = hooks.others("{{ source_table() }}")
    page.write_text('Other words {{ source("oguz-guide", "said") }}')
    assert hooks.others("{{ source_table() }}") == before != ""
    page.write_text('Words {{ source("zero", "said") }}')
    assert hooks.others("{{ source_table() }}") != before


def test_a_page_that_takes_in_a_file_is_decided_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes in none reads nothing of others."""
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    text = 'Words\n--8<-- "CHANGELOG.md"'
    (beside := tmp_path / "CHANGELOG.md").write_text("one")
    before = hooks.others(text)
    beside.write_text("two")
    assert hooks.others(text) != before
    assert hooks.others("{{ number() }}") == ""


def test_the_site_has_no_search_in_other_languages() -> None:
    """Those parts of the theme have licences of their own, and the search asks for them in no English guide."""
    names = ("index.md", "assets/javascripts/lunr/wordcut.js", "assets/javascripts/workers/search.js")
    files = Files([File(name, "docs", "site", use_directory_urls=True) for name in names])
    assert [file.src_uri for file in hooks.in_english(files)] == [names[0], names[2]]
