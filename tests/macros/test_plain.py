"""Pages as plain Markdown, and the list of them."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from calc.calculators.html import table
from macros import plain
from macros.inline import number
from macros.markdown import block, put_aside


def page(title: str, url: str) -> SimpleNamespace:
    """Return a page of a navigation."""
    return SimpleNamespace(title=title, url=url, is_page=True, is_section=False)


def test_numbers_stand_without_their_working() -> None:
    """Llama 3.1 8B in BF16 takes 14.96 GiB: the sentence has the number, and none of the steps that it opens to."""
    shown = number("weights", model="llama-3.1-8b", weights="bf16")
    plain.begin(SimpleNamespace(items=[]))
    plain.keep(page("A", "a/"), plain.whole(put_aside(f"It takes {shown}."), Path()))
    assert plain._pages["a/"][1] == "It takes 14.96 GiB."


def test_tables_are_tables() -> None:
    """The caption first; markup in cells goes, what is escaped is written, a bar stays within its cell."""
    made = plain.plain(table(("Name", "Size"), [["<b>A &lt; B</b>", "1|2"]], caption="Sizes"))
    assert made == "Sizes\n\n| Name | Size |\n| --- | --- |\n| A < B | 1\\|2 |"


def test_pages_and_their_list_are_written(tmp_path: Path) -> None:
    """Each page beside its HTML; the list has sections, addresses and first sentences."""
    one, two = page("One", ""), page("Two", "part/two/")
    section = SimpleNamespace(title="Part", is_page=False, is_section=True, children=[two])
    plain.begin(SimpleNamespace(items=[one, section]))
    made = put_aside(f"# Two\n\nSays [a thing](x.md). And more.\n{block('<p>Made.</p>')}")
    plain.keep(one, "# One\n\nFirst of all. Then more.")
    plain.keep(two, plain.whole(made, Path()))
    (tmp_path / "part/two").mkdir(parents=True)
    config = SimpleNamespace(site_name="Guide", site_description="About.", site_url="https://example.com/")
    plain.write(tmp_path, config)
    assert (tmp_path / "llms.txt").read_text() == (
        "# Guide\n\n> About.\n\n- [One](https://example.com/index.md): First of all.\n\n## Part\n\n"
        "- [Two](https://example.com/part/two/index.md): Says a thing.\n"
    )
    assert "Made." in (tmp_path / "part/two/index.md").read_text()


@pytest.mark.parametrize("name", ["CHANGELOG.md"])
def test_what_a_page_takes_from_a_file_is_in_it(name: str) -> None:
    """A page that is one of the repository's files has its text."""
    root = Path(__file__).parent.parent.parent
    plain.begin(SimpleNamespace(items=[]))
    plain.keep(page("Changes", "changes/"), plain.whole(f'--8<-- "{name}"', root))
    assert (root / name).read_text(encoding="utf-8").strip() in plain._pages["changes/"][1]
