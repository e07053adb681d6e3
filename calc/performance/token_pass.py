"""The least times of one token's pass, as the rates of a data sheet have them: no engine and no kernel is in them."""

from typing import NamedTuple

from calc.catalog.records import Accelerator


class TokenPass(NamedTuple):
    """What one token reads and computes, and the rates at which a device does either."""

    read_bytes: float
    flops: float
    bandwidth: float  # bytes a second
    rate: float  # operations a second in 16 bit

    @property
    def reading_s(self) -> float:
        """Seconds to read everything once."""
        return self.read_bytes / self.bandwidth

    @property
    def multiplying_s(self) -> float:
        """Seconds of the matrix products."""
        return self.flops / self.rate

    @property
    def most_tokens_per_s(self) -> float:
        """The tokens a second that no single reader gets more of: each has to wait until everything is read."""
        return self.bandwidth / self.read_bytes


def product_flops(parameters: int, *, tokens: int = 1) -> float:
    """Return the operations of matrix products: a multiplication and an addition for each parameter and token.

    >>> product_flops(8_000_000_000)
    16000000000.0
    """
    return 2.0 * parameters * tokens


def token_pass(
    accelerator: Accelerator, *, weights_bytes: float, cache_bytes: float, parameters_active: int
) -> TokenPass:
    """Return the pass of one token on a device: it reads weights and cache, and multiplies with each parameter.

    Operations are those of its products, and attention's are left out. A rate that the data sheet does not have is 0.
    """
    rate = accelerator.sixteen_bit
    return TokenPass(
        weights_bytes + cache_bytes,
        product_flops(parameters_active),
        bandwidth=accelerator.quantity("bandwidth") or 0.0,
        rate=float(rate.value) if rate else 0.0,
    )
