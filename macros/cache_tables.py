"""The table of what models keep of a conversation."""

from calc import estimate
from calc.calculators.html import table, text
from calc.calculators.sizes import size_binary
from calc.catalog import catalog
from calc.memory.kv_cache import expanded_token_bytes
from calc.units import show_count
from macros.inline import Report
from macros.links import calculator_link
from macros.markdown import block
from macros.model_numbers import architecture_named

__all__ = ["cache_table"]

CACHE, STATE = "kv_cache", "recurrent_state"
EXPANDED = "expanded"
SHORT, LONG = 8192, 131_072
STEP = 512  # tokens over which the growth of a cache is taken; no window is shorter, and compressed entries divide it


def kept(model: str, tokens: int, *parts: str) -> int:
    """Return the bytes of some parts of a report on one sequence of `tokens`, in 16 bit; 0 for a part it has not."""
    report: Report = estimate({"model": model, "weights": "bf16", "context_tokens": tokens})
    return sum(int(part["bytes"]) for part in report["memory"]["parts"] if part["id"] in parts)


def cache_table(*rows: tuple[str, ...]) -> str:
    """Return what models keep: of a token at first and later, of a short and a long sequence, and whatever its length.

    A row is the words for its type and a model; a third word "expanded" is for latent attention in that form.
    """
    cells = []
    for kind, model, *form in rows:
        record = catalog().model(model)
        if form == [EXPANDED]:
            bf16 = catalog().number_format("bf16")
            architecture = architecture_named(model)
            token = expanded_token_bytes(architecture=architecture, key_format=bf16, value_format=bf16)
            sizes = [token, token, SHORT * token, LONG * token, 0]
        else:
            first = kept(model, STEP, CACHE) // STEP
            later = (kept(model, LONG + STEP, CACHE) - kept(model, LONG, CACHE)) // STEP
            sequences = [kept(model, tokens, CACHE) for tokens in (SHORT, LONG)]
            sizes = [first, later, *sequences, kept(model, SHORT, STATE)]
        shown = [size_binary(size) if size else "–" for size in sizes]
        for position, tokens in ((2, SHORT), (3, LONG)):
            if tokens > record.context_tokens and sizes[position]:
                shown[position] = f"({shown[position]})"
        named = calculator_link(
            "kv-cache", record.name, model=record.id, context_tokens=min(LONG, record.context_tokens)
        )
        cells.append([text(kind), named, *shown])
    headings = (
        "Type",
        "Model",
        "A token at first",
        "A token later",
        f"{show_count(SHORT)} tokens",
        f"{show_count(LONG)} tokens",
        "State, at any length",
    )
    caption = "What one sequence keeps, in 16 bit; in brackets where the context is longer than the maker states"
    return block(table(headings, cells, caption=caption, words=2))
