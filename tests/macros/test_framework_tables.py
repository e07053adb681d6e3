"""The tables of training frameworks: each framework has its own, and each preset a row with its reason and source."""

import re

from calc.catalog import catalog
from macros.framework_tables import framework_tables
from macros.plain import plain


def test_every_framework_opens_what_it_fills_in() -> None:
    """Closed, a framework says its name; open, it has a row for each of its presets, and who says the rest."""
    parts = re.findall(r'<details class="folded"><summary><strong>([^<]+)</strong>(.*?)</details>', framework_tables())
    known = [catalog().framework(name) for name in catalog().ids("frameworks")]
    assert [name for name, _ in parts] == [framework.name for framework in known]
    for framework, (_, content) in zip(known, parts, strict=True):
        assert content.count('<tr><th scope="row">') == len(framework.presets)
        assert (framework.follows is not None) == ("Else what " in content)
        for preset in framework.presets:
            assert f"<code>{preset.field}: " in content and catalog().source(preset.source).url in content
            assert not preset.since or f"since {preset.since}" in content
            assert not preset.before or f"before {preset.before}" in content


def test_what_opens_is_in_the_plain_page() -> None:
    """A page as Markdown has these tables, though it leaves out workings."""
    assert plain(framework_tables()).count("| It fills in | Where | Why |") > 5
    assert plain("<details><summary>The working</summary>1 + 1</details>") == ""
