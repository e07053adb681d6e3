"""One quantity has one value on all pages of the built site."""

from pathlib import Path

from tests.statements import across, contradictions, statements


def test_no_two_pages_contradict_each_other(built: tuple[Path, str]) -> None:
    """The same quantity of the same things under the same conditions is one number, in paragraphs and tables."""
    folder, _ = built
    found = [
        statement
        for path in sorted(folder.rglob("index.html"))
        if not path.is_relative_to(folder / "embed")  # calculators again
        for statement in statements(path.parent.relative_to(folder).as_posix(), path.read_text(encoding="utf-8"))
    ]
    assert len(across(found)) > 200  # what is said on more than one page
    wrong = [f"{a.page}: {a.value} ({a.words}), {b.page}: {b.value} ({b.words})" for a, b in contradictions(found)]
    assert not wrong, "\n".join(wrong)
