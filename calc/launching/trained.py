"""What is started to train: the words of a command, its flags, and what more than one machine is told."""

from typing import NamedTuple

from calc.derivation import Warn
from calc.launching.command import Said

PORT = 29500


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
