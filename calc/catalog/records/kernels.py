"""The laws of kernels, and the families of devices that they hold on."""

from typing import NamedTuple


class KernelFamily(NamedTuple):
    """Devices that kernels run alike on: of an architecture and class, with the family that it is like."""

    id: str
    name: str
    covers: tuple[str, ...]  # "architecture/class", or a maker's name for what no other family covers
    measured: tuple[str, ...]  # ids of the devices whose kernels were measured
    like: str  # the family whose laws serve where this one has none
    matrix_factor: float  # on the share of the rate that the family it is like reaches
    memory_factor: float  # the same of the bandwidth
    operations_per_byte: float  # of bandwidth, where the maker publishes no rate
    vector_per_byte: float  # the same in FP32, without matrix units
    least_rows: float  # of a product that the smallest matrix instruction works on, however few there are
    powered: str  # the device whose power for its rate the laws hold at, where none of `measured` is
    lanes: float  # of a compute unit that each do an operation in FP32 in a clock cycle, and an addition with it
    reason: str
    source: str
    checked: str


class KernelLaw(NamedTuple):
    """How long a kind of kernel takes on a family of devices: numbers by name, for `calc.performance.kernel_laws`."""

    id: str
    name: str
    family: str
    kind: str
    kernels: tuple[str, ...]
    engines: tuple[str, ...]  # whose own kernels these are; empty: those of most
    rate: str  # the accelerator fact that arithmetic is measured against
    values: dict[str, float]
    error: float  # median of |log(computed / measured)| on shapes that were left out of the fit
    rows: int  # measurements behind it, 0 where nobody measured it
    reason: str
    source: str
    checked: str
