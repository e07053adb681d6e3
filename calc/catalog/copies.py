"""Repositories that hold a known model again: copies by other owners, and conversions to a number format."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from calc.catalog.entries import fold, lookup_names

# Words of a conversion that name no number format, which stand between a model's name and the format's.
BESIDE = re.compile(
    r"[-_.](gguf|mlx|bnb|exl[23]|quantized|unquantized|dynamic|channel|block|unsloth|kv|g\d+|[\d.]+bpw|imatrix|i1"
    r"|hf|qat|it-qat|4bit|8bit|ct|ov|npu\d*|mtp|fast|turbo|rtx\d+|gb10|lmhead|quark|autoround"
    r"|smoothquant)$"
)
# Words of weights that somebody edited so that they refuse less: the shape stays.
EDITED = re.compile(r"^huihui-|[-_.](abliterated|uncensored|obliterated|heretic|derestricted)([-_.]v\d+)?$")
BITS = re.compile(r"[-_](\d)bit$")
GROUPS = re.compile(r"[-_](gptq|awq)[-_](\d)b(?:it)?[-_]\d+g$")  # -GPTQ-4b-128g: bits, and how many share a scale
PER_WEIGHT = re.compile(r"[-_]([1-8](?:\.\d+)?)bpw")
GGUF = re.compile(r"[-_.]gguf$")
USUAL_FILE = "q4_k_m"  # what llama.cpp takes of a repository when nothing is said (-hf)


class Copy(NamedTuple):
    """What the name of a repository says beside the model that it holds: the number format it is stored in."""

    id: str  # the model
    weights: object  # as a scenario has it; None where the name says nothing
    why: str  # the words of the name that say it


def copied(name: str, entries: Mapping[str, Mapping[str, object]], formats: Mapping[str, str]) -> Copy | None:
    """Return the model that a repository or file holds by its name, None where none has it.

    The owner and what the name says of a conversion are left out; what stays has to be a known repository's own name.
    `formats` gives the ids of number formats by the ends of names.

    >>> entries = {"llama-2-7b": {"repositories": ["meta-llama/Llama-2-7b-hf"]}}
    >>> copied("someone/Llama-2-7b-hf-AWQ", entries, {"awq": "awq"})
    Copy(id='llama-2-7b', weights='awq', why='-awq')
    """
    weights, why = said(name, formats)
    bare, _, chosen = spelled(name)[1].partition(":")
    if chosen and chosen not in formats:
        bare = f"{bare}-{chosen}"
    ends = sorted(formats, key=len, reverse=True)
    found = by_bare_name(entries)
    shorter = None
    while bare != shorter:  # the longest name counts: "turbo" ends those of models, too
        shorter = bare
        for known in (fold(bare), fold(bare.partition("_")[2])):  # Qwen_Qwen3-32B: some write the owner before the name
            if known in found:
                return Copy(found[known], weights, why)
        bare = EDITED.sub("", without_end(bare, ends))
    return None


def by_bare_name(entries: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Return the entries by the names of their repositories without the owner, the first of several with one name."""
    found: dict[str, str] = {}
    for entry_id, entry in entries.items():
        for known in lookup_names(entry_id, entry):
            found.setdefault(fold(known.rpartition("/")[2]), entry_id)
    return found


def without_end(bare: str, ends: Iterable[str]) -> str:
    """Return a name without the last word that is of its conversion; the same where there is none."""
    for end in ends:
        for mark in "-_.":
            if bare.endswith(mark + end):
                return bare.removesuffix(mark + end)
    return BESIDE.sub("", bare)


def spelled(name: str) -> tuple[str, str]:
    """Return the owner and the name in a repository, in small letters, words joined by hyphens."""
    owner, _, bare = name.casefold().strip().rpartition("/")
    return owner, GROUPS.sub(r"-\1-int\2", re.sub(r"\s+", "-", bare))


def said(name: str, formats: Mapping[str, str]) -> tuple[object, str]:
    """Return what a name says of its number format, as a scenario has it, and the words that say it."""
    owner, bare = spelled(name)
    bare, _, chosen = bare.partition(":")
    if chosen in formats:
        return formats[chosen], f":{chosen}"
    if chosen:  # a tag of Ollama: size, use and number format
        bare = f"{bare}-{chosen}"
    if "mlx" in owner or re.search(r"[-_.]mlx\b", bare):
        bits = BITS.search(bare)
        if bits:
            return f"mlx-{bits[1]}bit", f"MLX and {bits[0]}"
    if found := PER_WEIGHT.search(bare):
        return {"bits_per_weight": float(found[1])}, found[0]
    file = GGUF.search(bare)
    bare = GGUF.sub("", bare)
    ends, known = sorted(formats, key=len, reverse=True), ""
    while bare != known and not bare.endswith("-unquantized"):  # weights trained for a format and not stored in it
        known = bare
        for end in ends:
            if re.search(rf"[-_.]{re.escape(end)}$", bare):
                of_owner = formats.get(f"{owner}/{end}", formats[end])  # makers have their own under a usual end
                return of_owner, f"-{end}"
        bare = EDITED.sub("", BESIDE.sub("", bare))
    return (USUAL_FILE, "-gguf") if file else (None, "")
