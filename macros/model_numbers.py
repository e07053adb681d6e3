"""Numbers in prose that say something of a model itself: its shape, its blocks, its bits, its experts."""

from calc import estimate
from calc.architecture.layers import Architecture
from calc.architecture.parameters import (
    parameters_active,
    parameters_by_block,
    parameters_of,
    parameters_total,
    share_of,
)
from calc.architecture.routing import (
    active_share,
    chosen_parameters,
    expert_parameters,
    experts_touched,
    parameters_touched,
    rest_parameters,
    routing,
)
from calc.calculators.html import element, text
from calc.calculators.rendering import source_html
from calc.calculators.sizes import size_binary
from calc.catalog import catalog
from calc.memory.effective_bits import LARGE_MATRIX, bits_per_weight
from calc.memory.effective_bits import matrix_bits as bits_of_matrix
from calc.memory.kv_cache import entry_bytes, expanded_cache, expanded_token_bytes
from calc.memory.weights import stored_bytes
from calc.memory.weights_working import BLOCK_LABELS
from calc.scenario.model import known_architecture
from calc.units import show_count, show_large_count, show_number, show_times
from macros.inline import SHOW, Report, look_up, opening, step, steps_inline

__all__ = ["active", "bits", "block", "changed", "config_value", "expanded", "release", "times", "touched"]

BITS = r"\frac{8 \cdot M}{N}"


def architecture_named(model: str) -> Architecture:
    """Return the architecture of a catalogue model."""
    return known_architecture(catalog(), catalog().model(model).id)


def config_value(model: str, key: str) -> str:
    """Return a value of a model's config, inline; a reader who presses it sees the file and when it was read.

    `key` may lead into a nested config: "text_config.hidden_size".
    """
    record = catalog().model(model)
    value: object = record.config
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            raise ValueError(f"the config of {record.id} has no {key}")
        value = value[part]
    shown = show_count(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)
    said = (
        f"{text(record.name)}: {element('code', text(key))} in {source_html(record.source)}, checked {record.checked}."
    )
    return opening(shown, element("span", said, class_="calc-step"))


def release(model: str) -> str:
    """Return when a model was released, inline; a reader who presses it sees the source."""
    record = catalog().model(model)
    source = f"{source_html(record.source)}, checked {record.checked}."
    said = f"{text(record.name)}: released {text(record.released)}. {source}"
    return opening(record.released, element("span", said, class_="calc-step"))


def block(model: str, *names: str, show: str = "words") -> str:
    """Return the parameters of some blocks of a model, inline; `show` is a form of `number`, or "share" of all."""
    blocks = parameters_by_block(architecture_named(model))
    if missing := [name for name in names if name not in blocks]:
        raise ValueError(f"{model} has no block {', '.join(missing)}; it has {', '.join(blocks)}")
    count, total = parameters_of(blocks, names), parameters_of(blocks, blocks)
    labels = ", ".join(BLOCK_LABELS[name] for name in names)
    listed = " + ".join(show_count(blocks[name]) for name in names)
    working = step(f"Parameters: {labels}", r"\sum N", listed, show_count(count))
    if show != "share":
        return opening(SHOW[show](count), working)
    share = f"{100 * share_of(blocks, names):.1f} %"
    working += step("Share", r"\frac{N_{\text{block}}}{N}", f"{show_count(count)} / {show_count(total)}", share)
    return opening(share, working)


def active(model: str, show: str = "words") -> str:
    """Return the parameters that one token uses, inline; `show` is a form of `number`, or "share" of all."""
    architecture = architecture_named(model)
    total, used = parameters_total(architecture), parameters_active(architecture)
    stored = expert_parameters(architecture)
    numbers = f"{show_count(total)} − {show_count(stored)} + {show_count(chosen_parameters(architecture))}"
    working = step("Active", r"N - N_{\text{experts}} + N_{\text{chosen experts}}", numbers, show_count(used))
    if show != "share":
        return opening(SHOW[show](used), working)
    share = f"{100 * active_share(architecture):.1f} %"
    numbers = f"{show_count(used)} / {show_count(total)}"
    return opening(share, working + step("Share", r"\frac{N_{\text{active}}}{N}", numbers, share))


def touched(model: str, tokens: int, show: str = "experts") -> str:
    """Return what a batch of tokens reaches, inline: of a layer's "experts", or of all "parameters"."""
    architecture = architecture_named(model)
    experts, chosen = routing(architecture)
    reached = experts_touched(experts=experts, active=chosen, tokens=tokens)
    numbers = f"{experts} × {chosen} × {tokens} / ({experts} + {chosen} × {tokens - 1})"
    formula = r"E \cdot \frac{k \cdot B}{E + k \cdot (B - 1)}"
    working = step("Experts reached in a layer", formula, numbers, show_number(reached))
    if show == "experts":
        return opening(show_number(reached), working)
    read = parameters_touched(architecture=architecture, tokens=tokens)
    stored = expert_parameters(architecture)
    numbers = f"{show_count(rest_parameters(architecture))} + {show_count(stored)} × {show_number(reached)} / {experts}"
    formula = r"N_{\text{rest}} + N_{\text{experts}} \cdot \frac{\text{reached}}{E}"
    return opening(show_large_count(read), working + step("Parameters read", formula, numbers, show_large_count(read)))


def expanded(model: str) -> str:
    """Return the cache of a token where an engine expands latent attention, inline, in 16 bit."""
    architecture, bf16 = architecture_named(model), catalog().number_format("bf16")
    attention = architecture.attention
    total = expanded_token_bytes(architecture=architecture, key_format=bf16, value_format=bf16)
    if attention is None or not total:
        raise ValueError(f"{model} has no latent attention")
    cache = expanded_cache(attention)
    size = entry_bytes(cache=cache, tensor_parallel=1, key_format=bf16, value_format=bf16)
    numbers = f"{cache.heads} × ({cache.key_dim} + {cache.value_dim}) × 2"
    working = step("Expanded, in a layer", r"n_{\text{heads}} \cdot (d_K + d_V) \cdot 2", numbers, show_count(size))
    numbers = f"{architecture.attention_layers} × {show_count(size)}"
    working += step("Over the layers", r"L \cdot B_{\text{layer}}", numbers, f"{show_count(total)} B")
    return opening(size_binary(total), working)


def bits(weights: str, model: str = "") -> str:
    """Return the true bits per weight of a format, inline: of a model, or of one large matrix where none is named."""
    if not model:
        return matrix_bits(weights)
    report: Report = estimate({"model": model, "weights": weights})
    size, steps, _ = look_up("weights", report)
    count = report["model"]["parameters_total"]
    shown = f"{bits_per_weight(size_bytes=size, parameters=count):.2f}"
    working = steps_inline(steps)
    working += step("Bits per weight", BITS, f"8 × {show_count(size)} / {show_count(count)}", shown)
    return opening(f"{shown} bits", working)


def matrix_bits(number_format: str) -> str:
    """Return the true bits per weight of a large matrix in a format, inline."""
    record = catalog().number_format(number_format)
    size = stored_bytes(shape=LARGE_MATRIX, number_format=record)
    rows, columns = map(show_count, LARGE_MATRIX)
    shown = f"{bits_of_matrix(record):.3f}"
    numbers = f"8 × {show_count(size)} / ({rows} × {columns})"
    return opening(f"{shown} bits", step(f"{record.name}, a large matrix", BITS, numbers, shown))


def times(what: str, larger: dict[str, object], smaller: dict[str, object]) -> str:
    """Return how many times a number of one scenario is that of another, inline; `what` as in `number`."""
    first, _, form = look_up(what, estimate(larger))
    second, _, _ = look_up(what, estimate(smaller))
    shown = show_times(first, second)
    numbers = f"{SHOW[form](first)} / {SHOW[form](second)}"
    return opening(shown, step("How many times", r"\frac{a}{b}", numbers, shown))


def changed(model: str, *names: str, **values: object) -> str:
    """Return the parameters of a model whose config had other values, inline: of some blocks, or of all."""
    record = catalog().model(model)
    report: Report = estimate({"model": {"config": record.config | values}})
    blocks = report["model"]["blocks"]
    count = parameters_of(blocks, names or blocks)
    listed = " + ".join(show_count(size) for name, size in blocks.items() if name in (names or blocks))
    with_values = ", ".join(f"{key} = {value}" for key, value in values.items())
    working = step(f"{record.name} with {with_values}", r"\sum_{\text{blocks}} N", listed, show_count(count))
    return opening(show_large_count(count), working)
