"""Long lists: a page begins with their newest items, and lacks none."""

import re

from markdown import Markdown

from macros.folding import LONG, SHOWN


def folded(items: int) -> str:
    """Return the HTML of a list of so many numbered items."""
    text = "\n".join(f"- item *{number}*" for number in range(items))
    return Markdown(extensions=["macros.folding"]).convert(text)


def test_a_long_list_opens_its_rest() -> None:
    """The first items stand before it, the others in their order within, and what stands in them is Markdown."""
    shown, rest = folded(LONG + 1).split("<details>")
    numbers = [int(number) for number in re.findall(r"<em>(\d+)</em>", shown + rest)]
    assert numbers == list(range(LONG + 1))
    assert shown.count("<li>") == SHOWN and rest.count("<li>") == LONG + 1 - SHOWN
    assert f"<summary>{LONG + 1 - SHOWN} more, older ones</summary>" in rest


def test_a_shorter_list_stays_whole() -> None:
    """Up to sixty items are read as they stand."""
    assert "<details>" not in folded(LONG) and folded(LONG).count("<li>") == LONG
