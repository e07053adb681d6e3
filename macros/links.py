"""Addresses of the guide's own pages, relative to the page that is being rendered."""

from urllib.parse import urlencode

from mkdocs.utils import get_relative_url

from calc.calculators.html import element, text

_page_url: list[str] = [""]


def stand_on(page_url: str) -> bool:
    """Note the address of the page that is being rendered; return whether it is another than before."""
    before, _page_url[0] = _page_url[0], page_url.lstrip("/")  # Zensical's begin with a slash, MkDocs' do not
    return before != _page_url[0]


def standing_on() -> str:
    """Return the address of the page that is being rendered."""
    return _page_url[0]


def calculator_page(name: str) -> str:
    """Return where a calculator's page stands in the site."""
    return f"calculators/{name}/"


def calculator_address(name: str) -> str:
    """Return the address of a calculator's page from the page that is being rendered."""
    return get_relative_url(calculator_page(name), _page_url[0])


def calculator_link(name: str, shown: str, **values: object) -> str:
    """Return a link to a calculator filled in with `values`."""
    address = calculator_address(name)
    return element("a", text(shown), href=f"{address}?{urlencode(values)}" if values else address)


def module(path: str) -> str:
    """Return the tag for a script of the guide; it comes after what is drawn: a page is whole without it."""
    return element("script", type="module", fetchpriority="low", src=get_relative_url(path, _page_url[0]))
