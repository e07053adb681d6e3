"""The style sheets as one file: what pages link, in the order of the configuration, with every rule of each."""

import re
from pathlib import Path

from mkdocs.config import load_config
from mkdocs.structure.files import get_files

from macros import styles

ROOT = Path(__file__).parents[2]


def test_one_file_has_all_of_them() -> None:
    """Pages link one file; it holds what is used of the theme, then each sheet of ours; none is sent beside it."""
    config = load_config(str(ROOT / "mkdocs.yml"))
    config.plugins._current_plugin = "the guide's hooks"  # as while a build runs them
    listed = [str(name) for name in config.extra_css]
    files = get_files(config)
    files.add_files_from_theme(config.theme.get_env(), config)
    sheets = [file for file in files if re.fullmatch(r"assets/stylesheets/(main|palette)\S+css", file.src_uri)]
    theme = [styles.used(sheet.content_string, {"default", "slate", "teal"}) for sheet in sheets]
    joined = styles.join(files, config)
    content = joined.get_file_from_path(styles.ONE).content_string
    assert config.extra_css == [styles.ONE] and len(listed) > 1 and len(theme) == 2
    written = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in listed]
    own = [re.sub(r"/\*.*?\*/\n?", "", sheet, flags=re.DOTALL) for sheet in written]
    assert content == "\n".join([*theme, *own])
    assert [file.src_uri for file in joined if file.src_uri.endswith((".css", ".css.map"))] == [styles.ONE]


def test_what_no_page_has_is_left_out() -> None:
    """A selector of an unused part or colour goes, its neighbours stay; braces and commas in texts end nothing."""
    sheet = (
        '@charset "UTF-8";.a,.tabbed-set>input:is(.b,.c),a[title="x,y"]{color:red}.md-tabs{top:0}'
        '@media print{.md-banner{top:0}}@media print{.a:after{content:"{,}"}}@keyframes k{0%{top:0}}'
        "[data-md-color-switching] *{top:0}[data-md-color-accent=red]{top:0}[data-md-color-accent=teal]{top:1px}"
    )
    assert styles.used(sheet, {"teal"}) == (
        '@charset "UTF-8";.a,a[title="x,y"]{color:red}@media print{.a:after{content:"{,}"}}@keyframes k{0%{top:0}}'
        "[data-md-color-accent=teal]{top:1px}"
    )
