"""What is started to train: the words of a command, its flags, and what more than one machine is told."""

from typing import NamedTuple

from calc.derivation import Warn
from calc.launching.command import Said
from calc.memory.training.states import SCHEMES

PORT = 29500
FP32_BYTES = 4


class Trained(NamedTuple):
    """What is started: words, flags, the configuration beside them, machines, and what to know."""

    framework: str
    words: tuple[str, ...]
    said: tuple[Said, ...]
    files: tuple[tuple[str, str], ...]
    machines: int
    devices: int  # of each machine
    warnings: tuple[Warn, ...]
    each: str  # where the command runs, of several machines
    slurm: str = ""  # what it says besides under Slurm


def keeps_wide(precision: str) -> bool:
    """Return whether a precision's weights themselves are in FP32, not a copy beside them."""
    return SCHEMES[precision].weight == FP32_BYTES
