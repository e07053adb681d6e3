"""Addresses of the guide's own pages, relative to the page that is being rendered."""

from urllib.parse import urlencode

from mkdocs.utils import get_relative_url

from calc.calculators.html import element, text

CALCULATOR_PAGES = {
    "what-runs": "calculators/what-runs/",
    "what-hardware": "calculators/what-hardware/",
    "what-budget": "calculators/what-budget/",
    "plan-service": "calculators/plan-service/",
    "plan-fine-tune": "calculators/plan-fine-tune/",
    "how-far": "calculators/how-far/",
    "will-it-fit": "calculators/will-it-fit/",
    "kv-cache": "calculators/kv-cache/",
    "effective-bits": "calculators/effective-bits/",
    "speed": "calculators/speed/",
    "sharing": "calculators/sharing/",
    "cost": "calculators/cost/",
    "speed-up": "calculators/speed-up/",
    "fine-tune": "calculators/fine-tune/",
    "pre-training": "calculators/pre-training/",
    "training-time": "calculators/training-time/",
    "scaling-laws": "calculators/scaling-laws/",
    "interconnect": "calculators/interconnect/",
    "your-measurement": "calculators/your-measurement/",
    "your-training": "calculators/your-training/",
}
_page_url: list[str] = [""]


def stand_on(page_url: str) -> bool:
    """Note the address of the page that is being rendered; return whether it is another than before."""
    before, _page_url[0] = _page_url[0], page_url.lstrip("/")  # Zensical's begin with a slash, MkDocs' do not
    return before != _page_url[0]


def standing_on() -> str:
    """Return the address of the page that is being rendered."""
    return _page_url[0]


def calculator_address(name: str) -> str:
    """Return the address of a calculator's page."""
    return get_relative_url(CALCULATOR_PAGES[name], _page_url[0])


def calculator_link(name: str, shown: str, **values: object) -> str:
    """Return a link to a calculator filled in with `values`."""
    address = calculator_address(name)
    return element("a", text(shown), href=f"{address}?{urlencode(values)}" if values else address)


def module(path: str) -> str:
    """Return the tag for a script of the guide; it comes after what is drawn: a page is whole without it."""
    return element("script", type="module", fetchpriority="low", src=get_relative_url(path, _page_url[0]))
