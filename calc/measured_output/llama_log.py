"""What `llama-server` and `llama-cli` log: the model, the buffers on the devices, and the timings of each request."""

import re

from calc.catalog import Catalog
from calc.measured_output.llama_bench import DEVICES
from calc.measured_output.names import count_of, described_model, device_fields, file_model, file_type
from calc.measured_run.terms import Reading
from calc.units import MIB

WHAT = "a log of llama.cpp"
TIMED = r"time\s*=\s*([\d.]+) ms /\s*(\d+) (?:tokens|runs)"
PROMPT = re.compile(rf"prompt eval {TIMED}")
ANSWER = re.compile(rf"(?<!prompt )(?:generation )?eval {TIMED}")
ARCHITECTURE = re.compile(r"\barch\s+= ([\w-]+)")
PARAMETERS = re.compile(r"model params\s+= (.+)")
TYPE = re.compile(r"(?:model ftype|file type)\s+= (.+)")
CONTEXT = re.compile(r"\bn_ctx\s+= (\d+)")
BUILD = re.compile(r"build: (\d+) \([0-9a-f]+\)|\bb(\d{4,})\b")
ON_DEVICE = r"(?:CUDA|ROCm|Vulkan|Metal|MTL|SYCL)\w*\d*"
BUFFERS = {
    "weights_bytes": re.compile(rf"({ON_DEVICE})\s+(?:model )?buffer size\s*=\s*([\d.]+) MiB"),
    "kv_cache_bytes": re.compile(rf"({ON_DEVICE})\s+KV buffer size\s*=\s*([\d.]+) MiB"),
    "working_bytes": re.compile(rf"({ON_DEVICE})\s+compute buffer size\s*=\s*([\d.]+) MiB"),
}
DRAFTED = re.compile(r"draft acceptance (?:rate )?=\s*([\d.]+)")


def read(text: str, catalog: Catalog) -> Reading | None:
    """Return what a log of llama.cpp says, None where the text is none. Of several requests the last is taken."""
    terms = buffers(text)
    fields: dict[str, object] = {}
    prompts, answers = PROMPT.findall(text), ANSWER.findall(text)
    for found, field, term in (
        (prompts, "prompt_tokens", "prefill_tokens_per_s"),
        (answers, "output_tokens", "decode_tokens_per_s"),
    ):
        if found and float(found[-1][0]) and int(found[-1][1]):
            milliseconds, tokens = float(found[-1][0]), int(found[-1][1])
            fields[field], terms[term] = tokens, tokens / milliseconds * 1000
    if not terms:
        return None
    fields |= {"engine": "llama.cpp", "sequences": 1}
    notes = []
    if context := CONTEXT.search(text):
        fields["context_tokens"] = int(context[1])
    if len(prompts) > 1:
        notes.append(f"The log has {len(prompts)} requests: the last is taken")
    if drafted := DRAFTED.findall(text):
        notes.append(f"The log says that drafts were accepted ({drafted[-1]} of them): their gain is in its speed")
    architecture, parameters = ARCHITECTURE.search(text), PARAMETERS.search(text)
    count = count_of(parameters[1]) if parameters else None
    named = file_model(text, catalog)
    if architecture and count and not named:
        named, said = described_model(architecture[1], count, catalog)
        notes += said
    fields = named | fields
    if (stored := TYPE.search(text)) and (weights := file_type(stored[1], catalog)):
        fields["weights"] = weights
    names = next((found for pattern in DEVICES if (found := pattern.findall(text))), [])
    known, said = device_fields([name.strip() for name in dict.fromkeys(names)] if len(names) == 1 else names, catalog)
    fields |= known
    if build := BUILD.search(text):
        fields["engine_version"] = f"b{build[1] or build[2]}"
    return Reading(WHAT, fields, terms, (*notes, *said))


def buffers(text: str) -> dict[str, float]:
    """Return the buffers on the fullest device, in bytes; a log names each by its device."""
    found: dict[str, float] = {}
    for term, pattern in BUFFERS.items():
        sums: dict[str, float] = {}
        for device, size in pattern.findall(text):
            if device.endswith("Host"):
                continue
            sums[device] = sums.get(device, 0.0) + float(size) * MIB
        if sums:
            found[term] = max(sums.values())
    return found
