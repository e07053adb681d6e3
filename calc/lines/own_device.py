"""A device by what a line says of it elsewhere: that it is a laptop's, or how much memory it has."""

from calc.catalog import Catalog
from calc.lines.device_names import NEAR, Name
from calc.lines.line import Line
from calc.lines.quantities import OF_ALL
from calc.lines.wording import LAPTOP
from calc.units import GIB


def in_laptop(device: Name, line: Line, facts: Catalog) -> Name:
    """Return a laptop's chip where a line says elsewhere that it is one: a laptop with a 4080."""
    said = next(line.found(LAPTOP), None)
    read = facts.reading(f"{facts.accelerator(device.id).name} laptop") if said else None
    if not said or not read or facts.accelerator(read.id).text("form") != "laptop":
        return device
    line.claim(*said.span())
    return device._replace(id=read.id, others=(device.id, *read.others))


def of_size(device: Name, line: Line, facts: Catalog) -> Name:
    """Return a chip that is processor and device in one with the memory that a line says elsewhere: M4, 24GB of RAM."""
    if facts.accelerator(device.id).segment != "soc":
        return device
    for match in line.found(OF_ALL):
        read = facts.reading(f"{line.small[device.start : device.end]} {match[1]}gb")
        memory = facts.accelerator(read.id).quantity("memory") if read else None
        if read and memory and abs(float(match[1].replace(",", "")) * GIB / memory - 1) < NEAR:
            line.claim(*match.span())
            return device._replace(id=read.id, others=read.others)
    return device
