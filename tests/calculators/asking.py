"""Asking a calculator as the page does."""

import json
from typing import Any

from calc.calculators import answer


def ask(name: str, **fields: str) -> dict[str, Any]:
    """Return the page's answer to what a form sends."""
    found = json.loads(answer(json.dumps({"calculator": name, "fields": fields})))
    assert isinstance(found, dict)
    return found
