"""One token's pass by the data sheet: reading everything once, and two operations for each parameter."""

import pytest

from calc.catalog import catalog
from calc.performance.token_pass import token_pass


def test_a_pass_by_hand() -> None:
    """An RTX 4090 reads 1,008 GB a second and has 165.2 TFLOPS in BF16; 16 GB of weights and 1.008 of cache."""
    found = token_pass(
        catalog().accelerator("rtx-4090"), weights_bytes=16e9, cache_bytes=1.008e9, parameters_active=8_000_000_000
    )
    assert found.reading_s == pytest.approx(17.008 / 1008, rel=1e-3)
    assert found.multiplying_s == pytest.approx(16e9 / 165.2e12, rel=1e-3)
    assert found.most_tokens_per_s == pytest.approx(1 / found.reading_s)


def test_a_rate_that_no_sheet_has_is_none() -> None:
    """A device without tensor cores has a bandwidth, and no rate in 16 bit."""
    device = catalog().accelerator("rtx-4090")
    bare = device._replace(facts={"bandwidth": device.facts["bandwidth"]})
    found = token_pass(bare, weights_bytes=1.0, cache_bytes=0, parameters_active=1)
    assert found.rate == 0 and found.bandwidth > 0
