"""The guide's style sheets as one file: each is a request that a page on a phone would wait for before it is drawn."""

from typing import Any

from mkdocs.structure.files import File

ONE = "assets/theme/guide.css"


def join(files: Any, config: Any) -> Any:
    """Put one style sheet in the place of those that the configuration lists, in their order."""
    names = [str(name) for name in config.extra_css]
    content = "\n".join(files.get_file_from_path(name).content_string for name in names)
    for name in names:
        files.remove(files.get_file_from_path(name))
    files.append(File.generated(config, ONE, content=content))
    config.extra_css = [ONE]
    return files
