"""Tables of activations: what a layer keeps of a token, and where checkpoints are best placed."""

from calc import estimate
from calc.calculators.html import table, text
from calc.calculators.sizes import size_binary
from calc.catalog import catalog
from calc.memory.training.checkpoint_distance import alive_at_most, checkpoint_of_layer
from calc.training.kept import kept_of_token, kept_together
from calc.units import show_count
from macros.inline import look_up, opening
from macros.inline import step as written
from macros.markdown import block
from macros.training_numbers import Report, training
from macros.training_tables import Run

__all__ = ["checkpoint_table", "layer_table"]


def layer_table(base: Run, *runs: tuple[str, Run]) -> str:
    """Return what one layer keeps of a token for its backward pass, tensor by tensor, in some runs side by side."""
    columns = [kept_of_token(estimate(training({**base, **changes}))) for _, changes in runs]
    labels = dict.fromkeys(label for column in columns for label in column)
    rows = []
    for label in labels:
        sizes = [column.get(label, 0) for column in columns]
        rows.append([text(label[0].upper() + label[1:]), *(show_count(size) if size >= 1 else "–" for size in sizes)])
    rows.append(["Together", *(show_count(kept_together(column)) for column in columns)])
    headings = ("Kept by one layer", *(name for name, _ in runs))
    model = catalog().model(str(base["model"])).name
    return block(table(headings, rows, caption=f"{model}: bytes that one layer keeps of one token"))


def checkpoint_table(model: str, *lengths: int, equal_layers: int = 100) -> str:
    """Return the activations alive at most with a checkpoint every few layers: of equal layers, and of a model.

    An equal layer keeps as much as its checkpoint, which is the case of the square-root rule.
    """
    full: Report = estimate(training({"model": model, "checkpointing": "none"}))
    saved, layers = look_up("layer", full)[0], full["model"]["layers"]
    checkpoints, _, _ = look_up("kept", estimate(training({"model": model, "checkpointing": "full"})))
    each = checkpoint_of_layer(checkpoints, layers=layers)
    rows = []
    for length in lengths:
        numbers = f"⌈{layers} / {length}⌉ × {size_binary(each)} + {length} × {size_binary(saved)}"
        size = alive_at_most(layers=layers, distance=length, checkpoint=each, layer=saved)
        alive = alive_at_most(layers=equal_layers, distance=length, checkpoint=1, layer=1)
        cells = [show_count(length), show_count(alive)]
        fits = length <= layers
        formula = r"\lceil \frac{L}{k} \rceil \cdot B_{\text{checkpoint}} + k \cdot B_{\text{layer}}"
        cells.append(
            opening(size_binary(size), written("Alive at most", formula, numbers, size_binary(size))) if fits else "–"
        )
        rows.append(cells)
    named = f"{full['model']['name']}, {show_count(layers)} layers"
    headings = ("Layers between checkpoints", f"{equal_layers} equal layers: layers alive", named)
    return block(table(headings, rows, caption="Activations alive at most, by the distance of checkpoints"))
