"""Calling a macro from a page: a mistake stops the build with the page and the line on which it stands."""

import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from jinja2 import TemplateSyntaxError
from mkdocs.exceptions import BuildError
from mkdocs.structure.pages import Page
from mkdocs_macros.errors import format_error

from macros import inline
from macros.links import stand_on
from macros.markdown import put_aside

Macro = Callable[..., str]


def register(env: Any, macros: tuple[Macro, ...]) -> None:
    """Make the macros callable from pages of the mkdocs-macros environment `env`."""
    for macro in macros:
        env.macro(standing(env, macro), macro.__name__)


def standing(env: Any, macro: Macro) -> Macro:
    """Return `macro` so that its links are relative to the page that calls it, and its HTML goes past Markdown."""

    @wraps(macro)
    def call(*args: object, **named: object) -> str:
        if stand_on(env.page.url):
            inline.restart()
        return put_aside(macro(*args, **named))

    return call


@format_error.register(Exception)
@format_error.register(TemplateSyntaxError)
def stop(error: Exception, markdown: str, page: Page) -> NoReturn:
    """Stop the build; mkdocs-macros calls this for whatever goes wrong in a page."""
    line = error.lineno if isinstance(error, TemplateSyntaxError) else template_line(error)
    line += front_matter_lines(page.file.content_string, markdown)
    raise BuildError(f"{page.file.src_uri}:{line}: {type(error).__name__}: {error}") from error


def template_line(error: Exception) -> int:
    """Return the line of the page that an error passed through; Jinja writes it into the traceback."""
    lines = [entry.lineno for entry in traceback.extract_tb(error.__traceback__) if entry.filename == "<template>"]
    return lines[-1] or 1 if lines else 1


def front_matter_lines(source: str, markdown: str) -> int:
    """Return the lines that MkDocs cut off the beginning of a page's file before macros saw it."""
    return source.count("\n") - markdown.count("\n") if source.endswith(markdown) else 0
