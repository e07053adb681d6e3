"""What a batch reads of a mixture of experts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.architecture.parameters import parameters_active, parameters_total
from calc.architecture.routing import (
    active_share,
    chosen_parameters,
    expert_parameters,
    experts_touched,
    layers_with_experts,
    parameters_touched,
    rest_parameters,
    routing,
    touched_share,
)
from calc.catalog import catalog
from calc.scenario.model import known_architecture


def test_one_token_touches_its_own_experts() -> None:
    """A batch of one reads what one token uses."""
    architecture = known_architecture(catalog(), "mixtral-8x7b")
    touched = parameters_touched(architecture=architecture, tokens=1)
    assert touched == pytest.approx(parameters_active(architecture))


def test_a_large_batch_touches_all_experts() -> None:
    """Thousands of tokens leave next to nothing out."""
    architecture = known_architecture(catalog(), "mixtral-8x7b")
    touched = parameters_touched(architecture=architecture, tokens=4096)
    assert 0.999 * parameters_total(architecture) < touched < parameters_total(architecture)


def test_a_batch_reaches_fewer_experts_than_even_loads_would_have_it() -> None:
    """What a token wants differs from expert to expert: the mean over a beta distribution, added up by hand."""
    experts, active, tokens, parts = 128, 8, 16, 20_000
    wanted = [1 - ((i + 0.5) / parts) ** (active / (experts - active)) for i in range(parts)]  # quantiles
    assert sum(wanted) / parts == pytest.approx(active / experts, rel=1e-3)
    missed = sum((1 - share) ** tokens for share in wanted) / parts
    found = experts_touched(experts=experts, active=active, tokens=tokens)
    assert found == pytest.approx(experts * (1 - missed), rel=1e-3)
    assert found < experts * (1 - (1 - active / experts) ** tokens)


def test_a_dense_model_is_read_whole() -> None:
    """Without experts a batch of any size reads every parameter."""
    architecture = known_architecture(catalog(), "llama-3.1-8b")
    assert parameters_touched(architecture=architecture, tokens=1) == parameters_total(architecture)


@given(st.integers(1, 512), st.integers(1, 64), st.integers(1, 10_000))
def test_touched_experts_grow_with_the_batch_within_their_bounds(experts: int, active: int, tokens: int) -> None:
    """At least a token's experts, at most all of them, and never fewer for a token more."""
    active = min(active, experts)
    touched = experts_touched(experts=experts, active=active, tokens=tokens)
    assert active * (1 - 1e-9) <= touched <= experts
    assert touched <= experts_touched(experts=experts, active=active, tokens=tokens + 1) + 1e-9


def test_experts_of_mixtral_by_hand() -> None:
    """Eight experts of three matrices of 4,096 × 14,336 in each of 32 layers, of which a token uses two."""
    architecture = known_architecture(catalog(), "mixtral-8x7b")
    assert routing(architecture) == (8, 2)
    assert expert_parameters(architecture) == 32 * 8 * 3 * 4096 * 14336 == 45_097_156_608
    assert rest_parameters(architecture) == 46_702_792_704 - 45_097_156_608
    assert chosen_parameters(architecture) == 45_097_156_608 * 2 // 8
    assert layers_with_experts(architecture) == 32
    assert active_share(architecture) == pytest.approx((46_702_792_704 - 45_097_156_608 * 6 / 8) / 46_702_792_704)
    assert touched_share(architecture=architecture, tokens=1) == pytest.approx(active_share(architecture))


def test_deepseek_s_first_layers_have_no_experts() -> None:
    """Three of DeepSeek V3's 61 layers are dense (arXiv:2412.19437, section 4.2); a token uses 8 of 256 experts."""
    architecture = known_architecture(catalog(), "deepseek-v3")
    assert layers_with_experts(architecture) == 58
    assert routing(architecture) == (256, 8)


def test_a_dense_model_routes_nothing() -> None:
    """It has no experts, and says so."""
    architecture = known_architecture(catalog(), "llama-3.1-8b")
    assert expert_parameters(architecture) == layers_with_experts(architecture) == 0
    assert active_share(architecture) == 1
    with pytest.raises(ValueError, match="no experts"):
        routing(architecture)
