"""OpenELM: Llama's layout, in layers that have more heads and wider MLPs from the first to the last."""

from calc.architecture.blocks import dense, layer, norms, softmax_attention
from calc.architecture.config import Config
from calc.architecture.decoders import assemble
from calc.architecture.families.registry import family
from calc.architecture.layers import Architecture, Attention, Layer

MOST_WIDE = 1024  # of an MLP, in hidden sizes


@family("openelm")
def openelm(config: Config) -> Architecture:
    """OpenELM (arXiv:2404.14619): heads and inner widths of each layer are listed; queries and keys are normed."""
    hidden, layers = config.hidden("model_dim"), config.layers("num_transformer_layers")
    size = config.integer("head_dim")
    listed = [heads_of_layers(config, name, layers) for name in ("num_query_heads", "num_kv_heads")]
    widths = inner_widths(config, hidden, layers)
    normed = "head" if config.flag("normalize_qk_projections", default=True) else ""
    config.refuse("ffn_with_glu", (True,), "no published OpenELM is without a gate")

    def build(kind: tuple[str, ...]) -> Layer:
        queries, keys, width = map(int, kind)
        attention = Attention(queries, keys, size, fused=True)
        return layer(
            softmax_attention(hidden, attention, qk_norm=normed),
            dense(hidden, width, fused=True),
            *norms(hidden, "input_layernorm", "post_attention_layernorm"),
        )

    return assemble(
        config,
        hidden=hidden,
        layers=[(str(queries), str(keys), str(width)) for queries, keys, width in zip(*listed, widths, strict=True)],
        build=build,
        tied=config.flag("share_input_output_layers", default=True),
    )


def heads_of_layers(config: Config, name: str, layers: int) -> list[int]:
    """Return a number of heads for each layer."""
    found = config.integers(name) or []
    if len(found) != layers or not all(0 < heads <= 2**20 for heads in found):
        raise config.error(name, f"must be a list of {layers} numbers of heads")
    return found


def inner_widths(config: Config, hidden: int, layers: int) -> list[int]:
    """Return the inner width of each layer's MLP: so many hidden sizes, rounded to a multiple, not far down.

    Source: `make_divisible` in apple/OpenELM's modeling_openelm.py.
    """
    factors = config.values.get("ffn_multipliers")
    if not isinstance(factors, list) or len(factors) != layers:
        raise config.error("ffn_multipliers", f"must be a list of {layers} numbers")
    if not all(type(factor) in (int, float) and 0 < factor <= MOST_WIDE for factor in factors):
        raise config.error("ffn_multipliers", f"must be numbers above 0 and of at most {MOST_WIDE}")
    step = config.integer("ffn_dim_divisor", default=256)
    widths = []
    for factor in factors:
        wanted = factor * hidden
        near = max(step, int(wanted + step / 2) // step * step)
        widths.append(near + step if near < 0.9 * wanted else near)
    return widths
