"""The log of a training run: Megatron-LM's memory and steps, the speed that Trainer sums up, Unsloth's memory."""

import re

from calc.catalog import Catalog
from calc.measured_output.names import device_fields
from calc.measured_run.terms import Reading
from calc.units import GIB, MIB

WHAT = "the log of a training run"
# "[Rank 0] (after 2 iterations) memory (MB) | allocated: … | max allocated: … | reserved: … | max reserved: …", in MiB.
MEGATRON_PEAKS = {"allocated_bytes": r"max allocated: ([\d.]+)", "reserved_bytes": r"max reserved: ([\d.]+)"}
MEGATRON_STEP = re.compile(r"elapsed time per iteration \(ms\): ([\d.]+)")
TRAINER_STEPS = re.compile(r"'train_steps_per_second': '?([\d.]+)")
# Unsloth's notebooks: "GPU = NVIDIA GeForce RTX 4090. Max memory = 23.52 GB.", of 1,024³ bytes.
UNSLOTH_DEVICE = re.compile(r"GPU = ([^\n]+?)\. (?:Num GPUs = \d+\. )?Max memory[ =:]+([\d.]+) ?GB")
UNSLOTH_PEAK = re.compile(r"Peak reserved memory = ([\d.]+) GB")


def read(text: str, catalog: Catalog) -> Reading | None:
    """Return peaks of the fullest device and the time of a step, None where the text has none of them.

    A step's time is the last that Megatron-LM wrote, when the run is warm, or the mean that Trainer gives at the end.
    """
    fields: dict[str, object] = {}
    notes: list[str] = []
    terms: dict[str, float] = {}
    for name, pattern in MEGATRON_PEAKS.items():
        if peaks := [float(size) for size in re.findall(pattern, text)]:
            terms[name], fields["framework"] = max(peaks) * MIB, "megatron-lm"
    if steps := MEGATRON_STEP.findall(text):
        terms["step_s"], fields["framework"] = float(steps[-1]) / 1000, "megatron-lm"
    elif (rates := TRAINER_STEPS.findall(text)) and float(rates[-1]):
        terms["step_s"] = 1 / float(rates[-1])
        notes.append("The time of a step is a mean over the whole run, with its start and evaluation")
    if peaks := [float(size) for size in UNSLOTH_PEAK.findall(text)]:
        terms["reserved_bytes"] = max(peaks) * GIB  # also of scripts that are made after these notebooks
    if not terms:
        return None
    if device := UNSLOTH_DEVICE.search(text):
        named, said = device_fields([device[1]], catalog, memory=float(device[2]) * GIB)
        fields |= named
        notes += said
    return Reading(WHAT, fields, terms, tuple(notes))
