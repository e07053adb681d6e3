"""What finds one quantity with two values on two pages."""

import pytest

from tests.statements import Statement, agree, contradictions, statements

ROW = (
    "<table><caption>{caption}</caption><tr><th>Model</th><th>{head}</th></tr>"
    "<tr><td>{name}</td><td>{value}</td></tr></table>"
)
NUMBER = (
    '<button class="calc-number">{value}</button>'
    '<span class="calc-opened"><span class="calc-step-name">{name}</span></span>'
)


def page(name: str, body: str) -> list[Statement]:
    """Return what a page of these elements says."""
    return list(statements(name, f"<article>{body}</article>"))


def said(name: str, words: str, quantity: str, value: str) -> list[Statement]:
    """Return what a page says in one paragraph, with a number in place of braces."""
    return page(name, f"<p>{words.format(NUMBER.format(value=value, name=quantity))}</p>")


def listed(name: str, model: str, head: str, value: str, caption: str = "") -> list[Statement]:
    """Return what a page says in one table."""
    return page(name, ROW.format(caption=caption, head=head, name=model, value=value))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            said("a", "Llama 2 70B as QLoRA on two RTX 3090 takes {}.", "Memory of the fullest device", "8.9 GB"),
            said("b", "On two RTX 3090, Llama 2 70B takes {} with QLoRA.", "Memory of the fullest device", "16.54 GiB"),
        ),
        (
            listed("a", "DeepSeek V3, FP8", "Weights", "672.99 GB", "Before any engine"),
            said("b", "In FP8 DeepSeek V3 is {}.", "Weights on the device", "673.15 GB"),
        ),
        (listed("a", "TPU7x", "Link", "600 GB/s"), listed("b", "TPU7x", "Link", "1,200 GB/s")),
        (
            listed("a", "BERT large", "Parameters", "335 million"),
            listed("b", "BERT large", "Parameters", "340 million"),
        ),
    ],
)
def test_two_values_of_one_quantity_are_found(one: list[Statement], other: list[Statement]) -> None:
    """What the guide once said on two pages: a recipe's memory, a model's size, a link's rate."""
    assert len(list(contradictions(one + other))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (listed("a", "Llama 3.1 8B, FP8", "Weights", "9 GB"), listed("b", "Llama 3.1 8B, BF16", "Weights", "16 GB")),
        (listed("a", "Llama 3.1 8B", "Weights", "14.96 GiB"), listed("b", "Llama 3.1 8B", "Weights", "16.06 GB")),
        (listed("a", "Llama 3.1 8B", "Weights", "16 GB"), listed("b", "Llama 3.1 70B", "Weights", "141 GB")),
        (
            said("a", "Llama 3.1 8B keeps {} of eight thousand tokens.", "KV cache", "1.00 GiB"),
            said("b", "Of four thousand tokens Llama 3.1 8B keeps {}.", "KV cache", "0.50 GiB"),
        ),
    ],
)
def test_other_cases_are_no_contradiction(one: list[Statement], other: list[Statement]) -> None:
    """Another format, another unit, another model, another length."""
    assert not list(contradictions(one + other))


def test_values_agree_to_their_digits() -> None:
    """Sizes and counts in any unit; 4.9 can be 4.894, and 4.90 cannot; neighbours in a last digit are two numbers."""
    assert agree("14.96 GiB", "16.06 GB") and agree("4.9", "4.894") and agree("5 GB", "5 tokens")
    assert not agree("4.90", "4.894") and not agree("14.96 GiB", "14.96 GB")
    assert not agree("3", "4") and not agree("4.9", "5.0") and agree("6,738,415,616", "6.74 billion")
    assert not agree("6,738,415,616", "6.8 billion")
