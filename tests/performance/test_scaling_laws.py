"""Scaling laws against what their papers publish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.catalog import catalog
from calc.catalog.runs import Law
from calc.performance.scaling_laws import (
    PF_DAY_FLOPS,
    budget,
    loss,
    optimal_power,
    optimum,
    training_flops,
    wasted_share,
)

LAWS = {law.id: law for law in catalog().laws()}
KAPLAN, FRONTIER, PUBLISHED, REFIT = (
    LAWS[name] for name in ("kaplan-2020", "hoffmann-2022-frontier", "hoffmann-2022", "besiroglu-2024")
)
# Hoffmann et al. 2022, table 3: parameters, operations and tokens of compute-optimal models by approach 1.
TABLE_3 = (
    (400e6, 1.92e19, 8.0e9),
    (1e9, 1.21e20, 20.2e9),
    (10e9, 1.23e22, 205.1e9),
    (67e9, 5.76e23, 1.5e12),
    (175e9, 3.85e24, 3.7e12),
    (280e9, 9.90e24, 5.9e12),
    (520e9, 3.43e25, 11.0e12),
    (1e12, 1.27e26, 21.2e12),
    (10e12, 1.30e28, 216.2e12),
)


@pytest.mark.parametrize(("parameters", "flops", "tokens"), TABLE_3)
def test_table_3_of_the_chinchilla_paper(parameters: float, flops: float, tokens: float) -> None:
    """Approach 1 has a power of 0.50, given to two digits; over nine orders of magnitude that is within 9 %."""
    best = optimum(law=FRONTIER, flops=flops)
    assert best.parameters == pytest.approx(parameters, rel=0.09)
    assert best.tokens == pytest.approx(tokens, rel=0.09)
    assert training_flops(parameters=parameters, tokens=tokens) == pytest.approx(flops, rel=0.06)


def test_approach_3_gives_40_billion_for_gophers_budget() -> None:
    """Hoffmann et al. 2022, section 3.4: "approach 3 … predicts … 40 billion parameters" for Gopher's budget."""
    assert optimum(law=PUBLISHED, flops=5.76e23).parameters == pytest.approx(40e9, rel=0.02)


def test_fitted_again_it_agrees_with_the_other_approaches() -> None:
    """Besiroglu et al. 2024: the power is 0.513, and Gopher's budget wants about 20 tokens a parameter."""
    assert optimal_power(REFIT) == pytest.approx(0.5126, abs=1e-4)
    assert 15 < optimum(law=REFIT, flops=5.76e23).tokens_per_parameter < 25


def test_kaplan_would_have_trained_a_far_larger_model() -> None:
    """At one PF-day 1.3 billion parameters (table 5); ten times the budget makes the model 5.37 times as large."""
    assert optimum(law=KAPLAN, flops=PF_DAY_FLOPS).parameters == pytest.approx(1.3e9)
    growth = optimum(law=KAPLAN, flops=10 * PF_DAY_FLOPS).parameters / 1.3e9
    assert growth == pytest.approx(5.37, abs=0.01)
    assert optimum(law=KAPLAN, flops=5.76e23).parameters > 10 * optimum(law=REFIT, flops=5.76e23).parameters


def test_kaplan_loss_without_a_limit_of_data() -> None:
    """With endless data L(N) = (N_c / N)^0.076, and without a limit of size L(D) = (D_c / D)^0.103."""
    endless = loss(law=KAPLAN, parameters=1e9, tokens=1e30)
    assert endless == pytest.approx((6.4e13 / 1e9) ** 0.076, rel=1e-6)
    assert loss(law=KAPLAN, parameters=1e30, tokens=1e10) == pytest.approx((1.8e13 / 1e10) ** 0.103, rel=1e-6)


def test_chinchilla_beats_gopher_at_the_same_budget() -> None:
    """70 billion parameters on 1.4 trillion tokens against 280 billion on 300 billion; both laws with a loss agree."""
    for law in (PUBLISHED, REFIT):
        chinchilla = loss(law=law, parameters=70e9, tokens=1.4e12)
        gopher = loss(law=law, parameters=280e9, tokens=300e9)
        assert chinchilla is not None and gopher is not None and chinchilla < gopher
    assert loss(law=FRONTIER, parameters=70e9, tokens=1.4e12) is None


def test_operations_of_published_runs() -> None:
    """GPT-3's paper has 3.14e23, Llama 3's 3.8e25."""
    assert training_flops(parameters=174.6e9, tokens=300e9) == pytest.approx(3.14e23, rel=0.002)
    assert training_flops(parameters=405.85e9, tokens=15.6e12) == pytest.approx(3.8e25, rel=0.001)


@given(st.sampled_from(list(LAWS.values())), st.floats(1e17, 1e27))
def test_the_budget_of_the_best_size_is_the_budget(law: Law, flops: float) -> None:
    """Size from budget and budget from size are each other's inverse, and the tokens spend the whole budget."""
    best = optimum(law=law, flops=flops)
    assert budget(law=law, parameters=best.parameters) == pytest.approx(flops, rel=1e-6)
    assert training_flops(parameters=best.parameters, tokens=best.tokens) == pytest.approx(flops)


@given(st.sampled_from((PUBLISHED, REFIT)), st.floats(1e18, 1e27), st.floats(0.02, 50))
def test_no_other_size_does_better(law: Law, flops: float, factor: float) -> None:
    """The best size has the least loss of all that the budget trains, and wastes nothing; others waste something."""
    best = optimum(law=law, flops=flops)
    size = best.parameters * factor
    tokens = flops / training_flops(parameters=size, tokens=1)
    other, least = loss(law=law, parameters=size, tokens=tokens), best.loss
    assert other is not None and least is not None and other >= least - 1e-12
    wasted = wasted_share(law=law, parameters=size, tokens=tokens)
    assert wasted is not None and -1e-9 <= wasted < 1
    if not 0.8 < factor < 1.25:
        assert wasted > 0.001
