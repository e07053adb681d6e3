"""Tables of case studies: what models need, what fits on cards of each size, and what machines make of a model."""

from typing import Any

from calc import estimate, plan
from calc.calculators.html import table, text
from calc.calculators.parts import bytes_of, token_bytes
from calc.calculators.rendering import part_bytes
from calc.calculators.sizes import size_binary, size_gb, size_gib
from calc.calculators.speed_answer import per_second
from calc.catalog import catalog
from calc.performance.paces import texts_per_s
from calc.scenario.fields import PUBLISHED
from calc.units import show_count, show_gb, show_gib, show_large_count, show_seconds
from macros.links import calculator_link
from macros.markdown import block

__all__ = ["batch_table", "deployment_table", "horizon_table", "needs_table"]

Report = dict[str, Any]
TRIED = ["bf16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq3_m", "iq2_m"]  # from large to small
LEAST_TOKENS = 8192
FEW, MANY = 1, 32


def needs_table(*rows: tuple[str, str], context_tokens: int = 131_072) -> str:
    """Return weights, cache of a token and of a whole context, and their sum, for models in number formats."""
    body = []
    for name, weights in rows:
        model, asked = catalog().model(name), {"model": name, "weights": weights}
        report: Report = estimate({**asked, "context_tokens": context_tokens})
        size, cache = part_bytes(report, "weights"), part_bytes(report, "kv_cache")
        form = "as published" if weights == PUBLISHED else catalog().weights_format(weights).name
        shown = f"{model.name}, {form}"
        body.append(
            [
                calculator_link("will-it-fit", shown, **asked, context_tokens=context_tokens),
                show_gb(size),
                show_gib(size),
                size_binary(token_bytes(report)),
                size_gb(cache),
                size_gb(bytes_of(report, ("weights", "kv_cache"))),
            ]
        )
    heads = ("Model", "Weights", "In GiB", "Cache of a token", "Of the whole context", "Weights and that")
    caption = f"Weights, and one conversation of {show_count(context_tokens)} tokens, before any engine"
    return block(table(heads, body, caption=caption))


def horizon_table(models: tuple[str, ...], devices: tuple[str, ...]) -> str:
    """Return the best number format in which each model fits on one of each device under llama.cpp, with its cache."""
    records = [catalog().accelerator(name) for name in devices]
    body = []
    for name in models:
        model = catalog().model(name)
        cells = [text(model.name)]
        for record in records:
            asked = {"model": model.id, "accelerator": record.id, "engine": "llama.cpp"}
            cells.append(best_format(asked))
        body.append(cells)
    heads = ("Model", *(f"{text(record.name)} ({record.facts['memory'].show()})" for record in records))
    caption = f"Best format with {show_count(LEAST_TOKENS)} tokens under llama.cpp, and the tokens of cache that fit"
    return block(table(heads, body, caption=caption, words=len(heads)))


def best_format(asked: dict[str, str]) -> str:
    """Return the largest format that surely fits, as a link, with the tokens of its cache."""
    have = {"accelerator": asked["accelerator"]}
    rest = {"models": [asked["model"]], "engine": asked["engine"], "weights": TRIED, "context_tokens": LEAST_TOKENS}
    found: Any = plan({"want": "models", "have": have, **rest})
    if not found["options"]:
        return "no"
    report: Report = estimate(found["options"][0]["scenario"], repairs=False)
    weights, memory = report["scenario"]["weights"], report["memory"]
    shown = f"{catalog().weights_format(weights).name}, {show_large_count(memory['kv_pool_tokens'])} tokens"
    return calculator_link("will-it-fit", shown, **asked, weights=weights)


def deployment_table(model: str, *rows: tuple[str, dict[str, object]], prompt: int = 2048, output: int = 512) -> str:
    """Return what machines make of a model: memory, conversations at once, speed and what tokens cost.

    Each row is a name and the fields of a scenario. A machine on which it does not fit says what is missing.
    """
    tokens = {"model": model, "prompt_tokens": prompt, "output_tokens": output}
    body = []
    for name, scenario in rows:
        report: Report = estimate({**tokens, **scenario}, repairs=False)
        memory, speed = report["memory"], report["speed"]
        if not memory["fits"]:
            missing = f"{size_gib(-memory['headroom_bytes'])} missing"
            body.append([text(name), missing, "–", "–", "–", "–", "–"])
            continue
        many: Report = estimate({**tokens, **scenario, "sequences": min(MANY, memory["max_sequences"])})
        rent = many["cost"] and many["cost"]["rent"]
        body.append(
            [
                text(name),
                "fits",
                show_count(memory["max_sequences"]),
                per_second(speed["decode_tokens_per_s"]["typical"]),
                show_seconds(speed["time_to_first_token_s"]["typical"]),
                per_second(many["speed"]["decode_tokens_per_s"]["typical"]),
                f"{rent['per_million_output_tokens']['typical']:,.2f}" if rent else "–",
            ]
        )
    heads = (
        "Machine",
        "Answer",
        "Conversations at most",
        "Tokens, one reader",
        "First token after",
        f"Tokens, {MANY} readers",
        "USD a million",
    )
    weights = catalog().weights_format(str(rows[0][1]["weights"])).name
    case = f"prompts of {show_count(prompt)} tokens, answers of {show_count(output)}; rent at {MANY} readers"
    caption = f"{catalog().model(model).name} in {weights}: {case}"
    return block(table(heads, body, caption=caption, words=2))


def batch_table(model: str, weights: str, accelerator: str, tokens: int, counts: tuple[int, ...]) -> str:
    """Return how long a pass takes over more and more texts at once, under transformers."""
    body = []
    for count in counts:
        asked = {"model": model, "weights": weights, "accelerator": accelerator, "engine": "transformers"}
        report: Report = estimate({**asked, "prompt_tokens": tokens, "output_tokens": 0, "sequences": count})
        seconds = report["speed"]["time_to_first_token_s"]["typical"]
        cells = [
            show_seconds(seconds),
            per_second(texts_per_s(count, pass_s=seconds)),
            text(report["speed"]["bound_by"]),
        ]
        body.append([show_count(count), *cells, size_gib(report["memory"]["allocated_bytes"])])
    heads = ("Texts at once", "Time of the pass", "Texts", "Bound by", "Memory in use")
    name = f"{catalog().model(model).name} in {catalog().weights_format(weights).name}"
    caption = f"{name} on one {catalog().accelerator(accelerator).name}, texts of {show_count(tokens)} tokens"
    return block(table(heads, body, caption=caption))
