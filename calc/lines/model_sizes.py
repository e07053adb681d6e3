"""Which of several models a name means by what else a line says: a size by its length, a family by the devices."""

from calc.architecture.parameters import parameters_total
from calc.catalog.model_names import SIZE, words_of
from calc.lines.chips import Chip
from calc.lines.reader import Reader
from calc.scenario.model import known_architecture
from calc.units import GIB

FEW_BITS = 4  # of a weight, below which what a model writes suffers


def take_longer(reader: Reader) -> None:
    """Take another model of a size that is said alone where the first is not made for a length: 32b at 64k."""
    tokens = reader.count("context_tokens") or reader.count("prompt_tokens") or 0
    for chip in [chip for chip in reader.chips if chip.field == "model"]:
        if all(map(SIZE.fullmatch, said(reader, chip))):
            names = [str(chip.value), *chip.others]
            able = (name for name in names if (reader.facts.model(name).context_tokens or 0) >= tokens)
            retake(reader, chip, next(able, names[0]))


def take_fitting(reader: Reader) -> None:
    """Take the largest model of a name without a size that devices and their host hold in few bits, else the smallest.

    Nobody with 16 GB means the Qwen3 Coder of 480 billion parameters where there is one of 30.
    """
    chip = next((chip for chip in reader.chips if chip.field == "model" and chip.others), None)
    device = reader.value("accelerator")
    if device is None or chip is None or any(map(SIZE.fullmatch, said(reader, chip))):
        return
    memory = reader.facts.accelerator(str(device)).quantity("memory") or 0
    devices = memory * (reader.count("accelerators") or 1)
    host = reader.host_memory()
    room = devices + (devices if host is None else host * GIB)  # of which computers mostly have as much
    sizes = {name: parameters_total(known_architecture(reader.facts, name)) for name in (str(chip.value), *chip.others)}
    held = [name for name, size in sizes.items() if size * FEW_BITS / 8 <= room]
    if str(chip.value) not in held:
        retake(reader, chip, max(held, key=sizes.__getitem__) if held else min(sizes, key=sizes.__getitem__))


def said(reader: Reader, chip: Chip) -> frozenset[str]:
    """Return the words of a part of a line that tell models apart."""
    return words_of(reader.line.small[chip.start : chip.end])


def retake(reader: Reader, chip: Chip, first: str) -> None:
    """Take one of the models that a part of a line may mean, and name the others."""
    others = tuple(name for name in (str(chip.value), *chip.others) if name != first)
    reader.chips[reader.chips.index(chip)] = chip._replace(value=first, others=others)
