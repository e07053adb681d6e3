"""All style sheets as one file: each is a request that a page on a phone would wait for before it is drawn.

Of the theme's own, what no page of the guide has is left out. That is a third of them, and some of it is dear: where a
rule is about everything within tabs or while colours change, a browser works out the style of each element anew.
"""

import re
from typing import Any

from mkdocs.structure.files import File

ONE = "assets/theme/guide.css"
THEME = "assets/stylesheets/"  # where the theme has its own: the rules, then the colours
COMMENT = re.compile(r"/\*.*?\*/\n?", re.DOTALL)  # of ours: the theme's are gone, and a text of its looks like one
# Parts of the theme that the guide does not use, by how their classes begin; a test reads that no page has one of them.
UNUSED = (
    *("card", "critic", "key-", "linenos", "tabbed-", "task-list-", "md-author", "md-banner", "md-clipboard"),
    *("md-consent", "md-draft", "md-feedback", "md-meta", "md-pagination", "md-path", "md-pin", "md-post"),
    *("md-profile", "md-select", "md-social", "md-tabs", "md-version"),
)
UNUSED_SELECTOR = re.compile(rf"\.({'|'.join(UNUSED)})|\[data-md-color-switching\]")
COLOUR = re.compile(r"\[data-md-color-(?:primary|accent|scheme)=([\w-]+)\]")
FLAT = r"""(?:[^{}"']|"[^"]*"|'[^']*')*"""
RULE = re.compile(rf"@charset[^;]*;|({FLAT}){{({FLAT}(?:{{{FLAT}}}{FLAT})*)}}")  # selectors, and what is in the braces
SELECTOR = re.compile(r"""(?:[^,("']|\([^)]*\)|"[^"]*"|'[^']*')+""")


def join(files: Any, config: Any) -> Any:
    """Put one style sheet in the place of the theme's and of those that the configuration lists, in their order."""
    theme = sorted(file.src_uri for file in files if file.src_uri.startswith(THEME))
    own = [str(name) for name in config.extra_css]
    colours = {str(value) for palette in config.theme.get("palette", ()) for value in palette.values()}
    sheets = [used(files.get_file_from_path(name).content_string, colours) for name in theme if name.endswith(".css")]
    sheets += [COMMENT.sub("", files.get_file_from_path(name).content_string) for name in own]
    for name in (*theme, *own):
        files.remove(files.get_file_from_path(name))
    files.append(File.generated(config, ONE, content="\n".join(sheets)))
    config.extra_css = [ONE]
    config.extra["joined"] = True  # the theme links none of its own
    return files


def used(sheet: str, colours: set[str]) -> str:
    """Return the rules of a style sheet of the theme that may be about something in a page of the guide."""

    def rule(found: re.Match[str]) -> str:
        selectors, body = found.groups()
        if selectors is None:
            return found[0]
        if selectors.startswith("@"):
            inner = RULE.sub(rule, body) if selectors.startswith(("@media", "@supports")) else body
            return f"{selectors}{{{inner}}}" if inner else ""
        left = ",".join(one for one in SELECTOR.findall(selectors) if is_used(one, colours))
        return f"{left}{{{body}}}" if left else ""

    return RULE.sub(rule, sheet)


def is_used(selector: str, colours: set[str]) -> bool:
    """Return whether a page of the guide may have what a selector is about."""
    return not UNUSED_SELECTOR.search(selector) and set(COLOUR.findall(selector)) <= colours
