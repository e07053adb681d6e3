"""Repositories that hold a known model again: copies by other owners, and conversions to a number format."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeVar

from calc.catalog.entries import fold, lookup_names

T = TypeVar("T")

# Words of a conversion that name no number format, which stand between a model's name and the format's.
BESIDE = re.compile(
    r"[-_.](gguf|mlx|bnb|exl[23]|quantized|unquantized|dynamic|channel|block|unsloth|kv|g\d+|[\d.]+bpw|imatrix|i1"
    r"|hf|qat|it-qat|4bit|8bit|ct2?|ov|npu\d*|mtp|fast|turbo|rtx\d+|gb10|lmhead|quark|autoround"
    r"|smoothquant|latest)$"
)
# Words of weights that somebody edited so that they refuse less: the shape stays.
EDITED = re.compile(
    r"^huihui-|^faster-(?=whisper)|[-_.](abliterated|uncensored|obliterated|heretic|derestricted)([-_.]v\d+)?$"
)
# What Whisper does, which some write behind its name.
HEARING = re.compile(r"(?<=^whisper-)(.+)-asr(?=-|$)")
# Words of what a model was trained on for, which stand before its name.
USE_BEFORE = re.compile(r"^((all|stsb|q?nli|quora|msmarco|twitter|sentiment|emotion|toxic|english)[-_])+")
BITS = re.compile(r"[-_](\d)bit$")
GROUPS = re.compile(r"[-_](gptq|awq)[-_](\d)b(?:it)?[-_]\d+g$")  # -GPTQ-4b-128g: bits, and how many share a scale
PER_WEIGHT = re.compile(r"[-_]([1-8](?:\.\d+)?)bpw")
GGUF = re.compile(r"[-_.]gguf$")
# Words of what stands behind a known name that make it another model: a size or version of its own, what drafts or
# adapts it, parts beside it, layers of another kind, fewer or more parameters; and number formats that are not known.
VERSION = re.compile(r"v?\d+(\.\d+)?")
ANOTHER = re.compile(
    r"(\d+x|e|a)?\d+(\.\d+)?[bmk]|x*[sl]|mini|nano|micro|tiny|small|medium|base|large|huge|giant|patch\d+|reg\d|naflex"
    r"|(eagle|dflash|dspark|draft|drafter|speculator|medusa|mtp)\d*|assistant|q?lora|adapter|peft"
    r"|vlm?|vision|audio|omni|tts|asr|speech|ocr|(en|de)coder|tokenizer|vae|mmproj|clip|siglip|dinov\d|colbert|gliner|zh"
    r"|hybrid|mamba\d*|moe|(pruned?|reap)\d*|sparse|upcycled|random|[\d.]+-?bits?|w\d+a\w+|(nv|mx|rocm)?fp\d\w*|i?o?q\d\w*|int\d"
)
# Words that make it another model as the first of those behind alone: names of others follow in those of finetunes.
TIER = re.compile(r"flash|pro|plus|ultra|max|long|trm")
# How clouds write a repository's name: who made it and where it is kept before, a version of theirs behind, and hyphens
# or a p for the point of a version.
HOSTED_BEFORE = re.compile(
    r"^(system\.ai\.|databricks-|((us|eu|apac|global)\.)?(meta|mistral|openai|qwen|google|nvidia|minimax|zai)\.)?"
    r"(meta-(?=llama))?"
)
HOSTED_END = re.compile(r"-v?\d:\d$")
HOSTED_POINT = re.compile(r"(?<=\d)p(?=\d)|(?<![\d.]\d)(?<=\d)-(?=\d(-|$))")
USUAL_FILE = "q4_k_m"  # what llama.cpp takes of a repository when nothing is said (-hf)


class Copy(NamedTuple):
    """What the name of a repository says beside the model that it holds: the number format it is stored in."""

    id: str  # the model
    weights: object  # as a scenario has it; None where the name says nothing
    why: str  # the words of the name that say it
    beside: str = ""  # what else the name says, where the model was trained on: its use
    variant: str = ""  # the repository that it holds again, where that is a variant of the model


def copied(name: str, entries: Mapping[str, Mapping[str, object]], formats: Mapping[str, str]) -> Copy | None:
    """Return the model that a repository or file holds by its name, None where none has it.

    The owner and what the name says of a conversion are left out; what stays has to be a known repository's own name.
    `formats` gives the ids of number formats by the ends of names.

    >>> entries = {"llama-2-7b": {"repositories": ["meta-llama/Llama-2-7b-hf"]}}
    >>> copied("someone/Llama-2-7b-hf-AWQ", entries, {"awq": "awq"})
    Copy(id='llama-2-7b', weights='awq', why='-awq', beside='', variant='')
    """
    weights, why = said(name, formats)
    owner, bare = spelled(name)
    bare, _, chosen = bare.partition(":")
    if chosen and chosen not in formats:
        bare = f"{bare}-{chosen}"
    ends = sorted(formats, key=len, reverse=True)
    found = by_bare_name(entries)
    shorter = None
    while bare != shorter:  # the longest name counts: "turbo" ends those of models, too
        shorter = bare
        # Qwen_Qwen3-32B: some write the owner before the name.
        for known in (fold(bare), fold(bare.partition("_")[2]), fold(EDITED.sub("", bare))):
            if known in found:
                entry_id, variant = found[known]
                return Copy(entry_id, weights, why, variant=variant)
        bare = EDITED.sub("", without_end(bare, ends))
    base, beside = trained_on(bare, by_bare_name(entries, tags=False)) if owner else (None, "")
    return Copy(base[0], weights, why, beside, variant=base[1]) if base else None


def as_published(name: str) -> str:
    """Return the name of a model as its maker writes it, from how a cloud does.

    >>> as_published("us.meta.llama3-3-70b-instruct-v1:0"), as_published("accounts/fireworks/models/qwen2p5-72b")
    ('llama3.3-70b-instruct', 'accounts/fireworks/models/qwen2.5-72b')
    >>> as_published("Meta-Llama-3-8B")
    'llama-3-8b'
    """
    owner, slash, bare = name.casefold().strip().rpartition("/")
    bare = HOSTED_BEFORE.sub("", HOSTED_END.sub("", bare))
    return owner + slash + HOSTED_POINT.sub(".", re.sub(r"(?<=llama-)v(?=\d)", "", bare))


def trained_on(bare: str, found: Mapping[str, T]) -> tuple[T | None, str]:
    """Return what is found under the name that a repository's has beside a use, and the words of the use: a finetune.

    None where what follows makes another model of it.

    >>> trained_on("bert-base-uncased-emotion", {"bertbaseuncased": "bert-base"})
    ('bert-base', 'emotion')
    >>> trained_on("qwen3-8b-dflash", {"qwen38b": "qwen3-8b"})
    (None, '')
    """
    before = USE_BEFORE.match(bare)
    if before and fold(bare[before.end() :]) in found:
        return found[fold(bare[before.end() :])], before[0][:-1]
    bare = bare[before.end() :] if before else bare
    for mark in reversed(list(re.finditer(r"[-_.]", bare))):
        known, beside = bare[: mark.start()], bare[mark.end() :]
        if fold(known) in found and re.search(r"[-_\d]", known):
            first, *others = re.split(r"[-_]|\.(?!\d)", beside)
            another = VERSION.fullmatch(first) or TIER.fullmatch(first) or any(map(ANOTHER.fullmatch, (first, *others)))
            return (None, "") if another else (found[fold(known)], beside)
    return None, ""


def by_bare_name(entries: Mapping[str, Mapping[str, object]], *, tags: bool = True) -> dict[str, tuple[str, str]]:
    """Return entry and variant by the names of repositories without the owner, the first of several with one name.

    `tags`: with those of Ollama's library, of which nobody names what he trains.
    """
    found: dict[str, tuple[str, str]] = {}
    for entry_id, entry in entries.items():
        variants = entry.get("variants", ())
        assert isinstance(variants, Collection)
        for known in lookup_names(entry_id, entry):
            if tags or ":" not in known:
                variant = known if known in variants else ""
                found.setdefault(fold(known.rpartition("/")[2]), (entry_id, variant))
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
    return owner, HEARING.sub(r"\1", GROUPS.sub(r"-\1-int\2", re.sub(r"\s+", "-", bare)))


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
