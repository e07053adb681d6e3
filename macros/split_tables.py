"""Tables of models whose layers are split over devices that are not alike."""

from typing import Any

from calc import estimate
from calc.calculators.html import table, text
from calc.calculators.sizes import size_gib
from calc.catalog import catalog
from calc.units import show_number
from macros.inline import Report
from macros.markdown import block

__all__ = ["split_table"]


def split_table(model: str, weights: str, devices: tuple[str, ...], *splits: tuple[float, ...]) -> str:
    """Return how one reader is served by devices that are not alike under llama.cpp, by each way to split the layers.

    An empty split is that by free memory.
    """
    listed = [{"id": name, "count": 1} for name in devices]
    asked: dict[str, Any] = {"model": model, "weights": weights, "engine": "llama.cpp", "accelerator": listed}
    rows = []
    for split in splits:
        report: Report = estimate({**asked, "tensor_split": list(split) or None})
        memory, speed = report["memory"], report["speed"]
        rows.append(
            [
                " : ".join(f"{part:g}" for part in split) if split else "by free memory",
                ", ".join(f"{item['layers']}" for item in memory["devices"]),
                "yes" if memory["fits"] else f"no, {size_gib(-memory['headroom_bytes'])} missing",
                text(catalog().accelerator(memory["fullest"]).name),
                text(catalog().accelerator(speed["slowest"]).name),
                show_number(speed["decode_tokens_per_s"]["typical"]),
            ]
        )
    headings = ("Split", "Layers", "Fits", "Fullest", "Slowest", "Writes a second")
    names = " and ".join(catalog().accelerator(name).name for name in devices)
    named = f"{catalog().model(model).name} in {catalog().weights_format(weights).name}"
    return block(table(headings, rows, caption=f"{named} on {names}", words=(0, 2, 3, 4)))
