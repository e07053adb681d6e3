"""What a batch reads of a mixture of experts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc.architecture.parameters import parameters_active, parameters_total
from calc.architecture.routing import experts_touched, parameters_touched
from calc.catalog import catalog
from calc.scenario.model import known_architecture


def test_one_token_touches_its_own_experts() -> None:
    """A batch of one reads what one token uses."""
    architecture = known_architecture(catalog(), "mixtral-8x7b")
    touched = parameters_touched(architecture=architecture, tokens=1)
    assert touched == pytest.approx(parameters_active(architecture))


def test_a_large_batch_touches_all_experts() -> None:
    """Thousands of tokens leave no expert out."""
    architecture = known_architecture(catalog(), "mixtral-8x7b")
    touched = parameters_touched(architecture=architecture, tokens=4096)
    assert touched == pytest.approx(parameters_total(architecture))


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
