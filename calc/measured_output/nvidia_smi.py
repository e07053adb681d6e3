"""What `nvidia-smi` prints: its table, or `--query-gpu=name,memory.used,memory.total --format=csv`."""

import re
from typing import NamedTuple

from calc.catalog import Catalog
from calc.measured_output.names import device_fields
from calc.measured_run.terms import Reading
from calc.units import MIB

WHAT = "nvidia-smi"
TABLE = re.compile(
    r"^\|\s+\d+\s+(?P<name>(?:NVIDIA|Tesla|Quadro|GeForce)[^|]*?)\s+(?:On|Off|N/A)\s*\|.*\n"
    r"\|[^|]*\|\s*(?P<used>\d+)MiB\s*/\s*(?P<total>\d+)MiB",
    re.MULTILINE,
)
LINE = re.compile(r"^(?:\d+, )?(?P<name>[^,\n|]+), (?P<used>\d+) MiB, (?P<total>\d+) MiB", re.MULTILINE)
PROGRAMS = (("vllm", "vllm"), ("sglang", "sglang"), ("llama-", "llama.cpp"), ("ollama", "llama.cpp"))
PROCESS = re.compile(r"^\|\s+\d+\s+N/A\s+N/A\s+\d+\s+[CG+]+\s+(\S+)\s+(\d+)MiB", re.MULTILINE)
IDLE_MIB = 1024  # what a desktop may take of a device that runs no model


class Card(NamedTuple):
    """One line of the table."""

    name: str
    used_mib: int
    total_mib: int


def read(text: str, catalog: Catalog) -> Reading | None:
    """Return what the driver shows of the devices in use, None where the text is not its output."""
    cards = [
        Card(found["name"].strip(), int(found["used"]), int(found["total"]))
        for found in (*TABLE.finditer(text), *LINE.finditer(text))
    ]
    if not cards:
        return None
    busy = [card for card in cards if card.used_mib > IDLE_MIB] or cards
    fullest = max(busy, key=lambda card: card.used_mib)
    fields, notes = device_fields([card.name for card in busy], catalog, memory=fullest.total_mib * MIB)
    if len(busy) < len(cards):
        notes.append(f"{len(cards) - len(busy)} of {len(cards)} devices are idle and left out")
    used = fullest.used_mib
    if processes := [(name, int(size)) for name, size in PROCESS.findall(text)]:
        name, _ = max(processes, key=lambda process: process[1])
        engine = next((engine for part, engine in PROGRAMS if part in name.casefold()), None)
        fields |= {"engine": engine} if engine else {}
    return Reading(WHAT, fields, {"device_bytes": float(used * MIB)}, tuple(notes))
