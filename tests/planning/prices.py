"""A catalogue of prices that are made up, of one device, for costs that are worked by hand."""

from types import SimpleNamespace
from typing import Any

from calc.catalog import catalog
from calc.catalog.records import Price

DEVICE = catalog().accelerator("h100-sxm-80gb")  # its board draws 700 W


class Facts:
    """Prices as the catalogue gives them, the newest first, and machines of as many devices as their names say."""

    def __init__(self, *prices: Price) -> None:
        self.listed = prices

    def prices(self, of: str, item: str = "") -> list[Price]:
        """Return the prices of a kind of thing, of one of them if it is named."""
        return [price for price in self.listed if price.of == of and item in ("", price.item)]

    def machine(self, name: str) -> Any:
        """Return a machine with as many devices as its name says."""
        return SimpleNamespace(accelerator=DEVICE.id, devices=int(name))


def facts(*prices: Price) -> Any:
    """Return a catalogue of prices."""
    return Facts(*prices)
