"""Numbers and tables of scaling laws and published runs, as pages show them."""

import re

import pytest

from macros.markdown import unmarked
from macros.scaling_tables import budget, law_growth_table, law_table, run_fact, run_flops, run_table, run_utilized


def plain(html: str) -> str:
    """Return the words of HTML."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", unmarked(html)))


def test_a_budget_opens_to_its_working() -> None:
    """The number stands first, then the constants of the law with the numbers put in."""
    shown = plain(budget("parameters", given="zettaflop", amount=576))
    assert shown.lstrip().startswith("72.2 billion")
    assert "0.3478 × 482.01" in shown and "5.76 × 10²³" in shown


def test_a_size_of_ones_own_has_its_own_step() -> None:
    """Gopher's 280 billion parameters saw few tokens, and the law says what that wasted."""
    assert "1.07 tokens" in plain(budget("ratio", own=True, given="run", amount=300, parameters=280))
    assert "= 50 %" in plain(budget("share", own=True, given="run", amount=300, parameters=280))
    with pytest.raises(ValueError, match="not known"):
        budget("loss", given="zettaflop", amount=576, law="hoffmann-2022-frontier")


def test_tables_have_all_laws_and_runs() -> None:
    """Four laws side by side; a run's computed operations beside those that its paper gives."""
    assert law_table(given="zettaflop", amount=576).count('scope="row"') == 4
    assert "1.30 billion" not in law_growth_table(1) and law_growth_table(1, 10).count('scope="row"') == 2
    row = next(line for line in run_table().split("<tr>") if "GPT-3" in line)
    assert plain(row).count("3.14 × 10²³") == 2


def test_facts_of_runs_name_their_source() -> None:
    """A figure opens to its source and its note; one that nobody published is refused."""
    assert "arxiv.org/abs/1907.11692" in run_fact("roberta-large", "devices")
    assert plain(run_fact("bert-large", "days")).startswith(" 4 days")
    assert "3.14 × 10²³ FLOP" in run_flops("gpt-3")
    assert "35 %" in run_utilized("llama-3-1-405b")
    for call in (lambda: run_fact("gpt-3", "days"), lambda: run_flops("alphastar"), lambda: run_utilized("gpt-3")):
        with pytest.raises(ValueError, match="not published"):
            call()
