"""Tables of models: the catalogue, the arithmetic of one model, the shares of blocks, and models beyond language."""

from typing import Any

from calc import estimate
from calc.architecture.layers import Architecture
from calc.architecture.parameters import (
    parameters_active,
    parameters_by_block,
    parameters_of,
    parameters_total,
    share_of,
    tensors_of,
)
from calc.architecture.tensors import BLOCKS
from calc.calculators.html import element, table, text
from calc.calculators.parts import token_bytes
from calc.calculators.rendering import part_bytes, source_html
from calc.calculators.sizes import size, size_binary, size_decimal
from calc.catalog import catalog
from calc.catalog.records import Model
from calc.memory.weights_working import BLOCK_LABELS
from calc.units import KIB, show_count, show_large_count
from macros.filtered import Bound, filtered, missing, sortable
from macros.links import calculator_link
from macros.markdown import block
from macros.model_numbers import architecture_named

__all__ = ["beyond_table", "block_table", "config_table", "model_table", "parameter_working"]

TOKENS = 8192  # over which the table of models takes the average cache of a token
# Blocks of a model as a reader thinks of them.
GROUPS = {
    "Embeddings": ("token_embedding", "other_embedding"),
    "Attention": ("attention",),
    "Recurrent mixers": ("ssm",),
    "MLP": ("mlp",),
    "Convolutions": ("convolution",),
    "Experts": ("expert", "shared_expert", "shared_expert_gate", "vision_expert", "router"),
    "Towers": ("vision", "audio"),
    "Output matrix": ("lm_head", "head"),
    "Norms and others": ("norm", "statistics", "final_norm", "layer_other", "other"),
}


def model_row(model: Model) -> list[str]:
    """Return the cells of a model: sizes from its config, facts from its entry, links into both calculators."""
    repository = model.repositories[0] if model.repositories else ""
    address = f"https://huggingface.co/{repository}"
    return [
        element("a", text(model.name), href=model.source),
        *size_cells(model),
        text(model.organization),
        text(str(model.config.get("model_type", ""))),
        text(model.licence),
        "gated" if model.gated else "open",
        element("a", text(repository), href=address, rel="noopener") if repository else missing(),
    ]


def size_cells(model: Model) -> list[str]:
    """Return the cells that follow from a model's config."""
    architecture = architecture_named(model.id)
    attention, total = architecture.attention, parameters_total(architecture)
    heads = f"{attention.heads} / {attention.kv_heads}" if attention else ""
    return [
        calculator_link("will-it-fit", "", model=model.id).replace("></a>", f">{counted(total)}</a>"),
        counted(parameters_active(architecture)),
        token_cell(model, architecture),
        sortable(model.context_tokens, show_count(model.context_tokens)),
        text(model.released),
        text(architecture.attention_kind),
        sortable(architecture.layer_count, show_count(architecture.layer_count)),
        sortable(attention.kv_heads, heads) if attention else missing(),
    ]


def counted(count: int) -> str:
    """Return a number of parameters as a cell, in words and ordered by what it is."""
    return sortable(count, show_large_count(count))


def token_cell(model: Model, architecture: Architecture) -> str:
    """Return the average cache of a token as a link into the calculator; a dash where tokens are not what is cached."""
    caches = [cache for kind in architecture.kinds for cache in kind.caches]
    if not caches or any(cache.part != "whole" or cache.fixed_tokens for cache in caches):
        return missing()
    tokens = min(TOKENS, model.context_tokens)
    each = token_bytes(estimate({"model": model.id, "context_tokens": tokens}))
    shown = size(each, f"{each / KIB:,.1f} KiB", f"{each / 1000:,.1f} kB")
    return calculator_link("kv-cache", "", model=model.id, context_tokens=tokens).replace("></a>", f">{shown}</a>")


def model_table() -> str:
    """Return the models of the catalogue with what follows from their configs, to be filtered and sorted."""
    headings = {
        "Model": True,
        "Parameters": False,
        "Active": False,
        "Cache of a token": False,
        "Context": False,
        "Released": True,
        "Attention": True,
        "Layers": False,
        "Heads / KV heads": False,
        "Maker": True,
        "Family": True,
        "Licence": True,
        "Access": True,
        "Hugging Face": True,
    }
    words = [position for position, is_word in enumerate(headings.values()) if is_word]
    named = sorted(catalog().models(), key=lambda model: model.name.casefold())
    rows = [model_row(model) for model in sorted(named, key=lambda model: model.released, reverse=True)]
    bounds = (Bound("Parameters", "billion", 1e9, most=True), Bound("Context", "tokens"))
    listed = table(headings, rows, caption="Models; caches in 16 bit", words=words)
    return filtered(listed, things="models", bounds=bounds)


def config_table(model: str, meanings: dict[str, str]) -> str:
    """Return the values of a model's config that its size follows from, each with what it means."""
    record = catalog().model(model)
    rows = []
    for key, meaning in meanings.items():
        value = record.config[key]
        shown = str(value).lower() if isinstance(value, bool) or not isinstance(value, int) else show_count(value)
        rows.append([element("code", text(key)), text(meaning), shown])
    caption = f"From the config.json of {record.name}, checked {record.checked}"
    source = element("p", source_html(record.source), class_="table-source")
    return block(table(("Key", "What it says", "Value"), rows, caption=caption, words=2)) + block(source)


def parameter_working(model: str) -> str:
    """Return a model's parameters tensor by tensor: shape, elements, how many alike, product, and each block's sum."""
    architecture = architecture_named(model)
    blocks = parameters_by_block(architecture)
    rows = []
    for name in (name for name in BLOCKS if name in blocks):
        for tensor, layers in tensors_of(architecture, name):
            shape = " × ".join(show_count(size) for size in tensor.shape)
            rows.append(
                [
                    element("code", text(tensor.name)),
                    shape,
                    show_count(tensor.elements_each),
                    show_count(tensor.alike(layers)),
                    show_count(tensor.elements_in(layers)),
                ]
            )
        label = BLOCK_LABELS[name]
        label = element("strong", text(f"{label[0].upper()}{label[1:]}, together"))
        rows.append([label, "", "", "", element("strong", show_count(blocks[name]))])
    total = parameters_total(architecture)
    rows.append([element("strong", "All blocks"), "", "", "", element("strong", show_count(total))])
    caption = f"{catalog().model(model).name}: every tensor"
    return block(table(("Tensor", "Shape", "Elements", "How many", "Parameters"), rows, caption=caption))


def block_table(*models: str) -> str:
    """Return how the parameters of some models divide over their blocks."""
    counted_blocks = {model: parameters_by_block(architecture_named(model)) for model in models}
    present = [name for name, blocks in GROUPS.items() if any(b in c for c in counted_blocks.values() for b in blocks)]
    rows = []
    for model, blocks in counted_blocks.items():
        shares = [share_of(blocks, GROUPS[group]) for group in present]
        tied = architecture_named(model).tied
        shown = ["–" if not share else f"{100 * share:.1f} %" if share >= 0.0005 else "under 0.1 %" for share in shares]
        if tied and "Output matrix" in present:
            shown[present.index("Output matrix")] = "tied"
        named = calculator_link("will-it-fit", catalog().model(model).name, model=model)
        rows.append([named, show_large_count(parameters_of(blocks, blocks)), *shown])
    caption = "Shares of all parameters"
    return block(table(("Model", "Parameters", *present), rows, caption=caption))


def beyond_table(*rows: tuple[str, str, int]) -> str:
    """Return models beyond language: parameters, weights in FP32 and FP16, and what one input makes them keep.

    A row is a model, the words for what it is, and the tokens of its input and output together.
    """
    cells = []
    for name, kind, tokens in rows:
        model = catalog().model(name)
        architecture = architecture_named(name)
        asked: dict[str, Any] = {"model": model.id, "context_tokens": tokens}
        if any(cache.fixed_tokens for kind in architecture.kinds for cache in kind.caches):
            asked = {"model": model.id, "prompt_tokens": 1, "output_tokens": tokens - 1}  # the encoder's are apart
        full, half = (estimate({**asked, "weights": form}) for form in ("fp32", "fp16"))
        cache = part_bytes(half, "kv_cache")
        cells.append(
            [
                calculator_link("will-it-fit", model.name, model=model.id, weights="fp16", context_tokens=tokens),
                text(kind),
                show_large_count(parameters_total(architecture)),
                size_decimal(part_bytes(full, "weights")),
                size_decimal(part_bytes(half, "weights")),
                show_count(tokens),
                size_binary(cache) if cache else "–",
            ]
        )
    headings = ("Model", "What it is", "Parameters", "FP32", "FP16", "Tokens", "Cache, FP16")
    return block(table(headings, cells, caption="Models beyond language, one input at once", words=2))
