"""Inputs of what an engine does beside plain serving, which several forms ask for."""

from calc.calculators.inputs import Amount, Number


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
