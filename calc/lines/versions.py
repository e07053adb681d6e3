"""The version of a program that a line names: vllm 0.11, llama.cpp b4000, ollama 0.5.7."""

import re

from calc.lines.device_names import Name
from calc.lines.line import Line
from calc.lines.quantities import Quantity
from calc.scenario.fields import HOST_ENGINE

VERSION = re.compile(
    r"[\s=@]*(?:version\s*|v)?(b\d{4,5}|\d{1,2}\.\d{1,2}(?:\.\d{1,3})?(?:\.?(?:post|rc)\d+)?)(?![\w.%]|\s*(?:gpu|mem|util))"
)
CARRIER = "ollama"  # of which it is known which builds its versions carry


def read_version(program: Name, line: Line) -> Quantity | None:
    """Return the version right behind a program's name, claimed; None where there is none of its kind."""
    said = VERSION.match(line.small, program.end)
    if said is None or not line.free(*said.span()):
        return None
    own = program.id != HOST_ENGINE or line.small[program.start : program.end] == CARRIER  # not counted in builds
    if own == said[1].startswith("b"):
        return None
    line.claim(*said.span(1))
    return Quantity(*said.span(1), field="version", value=said[1])
