"""The table of what models keep of a conversation."""

from calc import estimate
from calc.calculators.html import table, text
from calc.calculators.parts import growth_of_cache, token_bytes
from calc.calculators.rendering import part_bytes
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


def report_on(model: str, tokens: int) -> Report:
    """Return the report on one sequence of `tokens`, in 16 bit."""
    return estimate({"model": model, "weights": "bf16", "context_tokens": tokens})


def sizes_of(model: str) -> list[float]:
    """Return what a model keeps: of a token at first and later, of a short and a long sequence, and at any length."""
    first, short, long, longer = (report_on(model, tokens) for tokens in (STEP, SHORT, LONG, LONG + STEP))
    later = growth_of_cache(long, longer)
    return [token_bytes(first), later, *(part_bytes(one, CACHE) for one in (short, long)), part_bytes(short, STATE)]


def expanded_sizes(model: str) -> list[float]:
    """Return the same of latent attention that an engine expands."""
    bf16, architecture = catalog().number_format("bf16"), architecture_named(model)
    sizes = [
        expanded_token_bytes(architecture=architecture, key_format=bf16, value_format=bf16, tokens=tokens)
        for tokens in (1, SHORT, LONG)
    ]
    return [sizes[0], *sizes, 0]


def cache_table(*rows: tuple[str, ...]) -> str:
    """Return what models keep: of a token at first and later, of a short and a long sequence, and whatever its length.

    A row is the words for its type and a model; a third word "expanded" is for latent attention in that form.
    """
    cells = []
    for kind, model, *form in rows:
        record = catalog().model(model)
        sizes = expanded_sizes(model) if form == [EXPANDED] else sizes_of(model)
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
