"""Inputs of what an engine does beside plain serving, which several forms ask for."""

from calc.calculators.inputs import Amount, Choice, Number


def cache_formats(topic: str = "", suffix: str = "", of: str = "") -> tuple[Choice, Choice]:
    """Return the inputs of the number formats that a cache is kept in: of both, and of values where they differ.

    `suffix` and `of` are those of one of several models of a form.
    """
    keys = Choice(
        f"kv_cache{suffix}",
        f"{of} model's cache" if of else "Number format of the cache",
        "16 bit unless your engine is told otherwise.",
        "bf16",
        kind="cache",
        topic=topic,
    )
    label = f"{of} model's cached values" if of else "Number format of the values"
    help_ = "Where values are kept in fewer bits than keys (llama.cpp's -ctv)."
    values = Choice(f"kv_cache_v{suffix}", label, help_, "", kind="cache", empty="As the keys", topic=topic)
    return keys, values


def shared_prefix(topic: str) -> Number:
    """Return the input of the tokens that all prompts have in common."""
    return Number(
        "shared_prefix_tokens",
        "Beginning that all prompts share",
        "Tokens of instructions or a document: cached once by engines that share pages.",
        "0",
        least=0,
        most=100_000_000,
        topic=topic,
    )


def hit_rate(topic: str) -> Amount:
    """Return the input of the share of a prompt that is found in the cache."""
    return Amount(
        "prefix_hit_rate",
        "Share of a prompt found in the cache",
        "From 0 to 1, as engines log it. Empty: the beginning that all share.",
        "",
        least=0,
        most=1,
        topic=topic,
    )
