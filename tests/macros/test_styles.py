"""The style sheets as one file: what pages link, in the order of the configuration, with every rule of each."""

from pathlib import Path

from mkdocs.config import load_config
from mkdocs.structure.files import get_files

from macros import styles

ROOT = Path(__file__).parents[2]


def test_one_file_has_all_of_them() -> None:
    """Pages link one file; it holds each style sheet whole, one after the other, and these are not sent beside it."""
    config = load_config(str(ROOT / "mkdocs.yml"))
    config.plugins._current_plugin = "the guide's hooks"  # as while a build runs them
    listed = [str(name) for name in config.extra_css]
    joined = styles.join(get_files(config), config)
    content = joined.get_file_from_path(styles.ONE).content_string
    assert config.extra_css == [styles.ONE] and len(listed) > 1
    assert content == "\n".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in listed)
    assert not any(joined.get_file_from_path(name) for name in listed)
