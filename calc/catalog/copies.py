"""Repositories that hold a known model again: copies by other owners, and conversions to a number format."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple, TypeVar

from calc.catalog.carried import restored
from calc.catalog.entries import Entry, fold, lookup_names
from calc.catalog.heads import READS, head_behind

T = TypeVar("T")

# Words of a conversion that name no number format, which stand between a model's name and the format's.
BESIDE = re.compile(
    r"[-_.](gguf|mlx|bnb|exl[23]|quantized|unquantized|dynamic|channel|block|unsloth|kv|g\d+|[\d.]+bpw|imatrix|i1"
    r"|hf|qat|it-qat|4bit|8bit|ct2?|ov|npu\d*|mtp|fast|turbo|rtx\d+|gb10|lmhead|attn(bf16|fp\d+)|quark|autoround"
    r"|smoothquant|latest|onnx(-q)?|a?sym|inc)$"
)
# Words of weights that somebody edited so that they refuse less: the shape stays.
EDITED = re.compile(
    r"^huihui-|^faster-(?=whisper)|[-_.](abliterated|uncensored|obliterated|heretic|derestricted)([-_.]v\d+)?$"
)
# What Whisper does, which some write behind its name.
HEARING = re.compile(r"(?<=^whisper-)(.+)-asr(?=-|$)")
# Words of what a model was trained on for, which stand before its name.
USE_BEFORE = re.compile(
    r"^((all|paraphrase|multi-qa|stsb|q?nli|quora|ms-?marco|twitter|sentiment|emotion|toxic|english)[-_])+"
)
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
    r"|vlm?|vision|audio|omni|tts|asr|speech|ocr|(en|de)coder|tokenizer|vae|mmproj|clip|siglip|dinov\d|colbert|gliner|lilt|zh"
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
MARKS = "-", "_", "."  # before the last word of a name
USUAL_FILE = "q4_k_m"  # what llama.cpp takes of a repository when nothing is said (-hf)


class Copy(NamedTuple):
    """What the name of a repository says beside the model that it holds: the number format it is stored in."""

    id: str  # the model
    weights: object  # as a scenario has it; None where the name says nothing
    why: str  # the words of the name that say it
    beside: str = ""  # what else the name says, where the model was trained on: its use
    variant: str = ""  # the repository that it holds again, where that is a variant of the model
    head: Entry | None = None  # what its config says otherwise by that use


class BareNames:
    """Entry and variant by the names of repositories without the owner, the first of several with one name."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self.entries = entries

    @cached_property
    def every(self) -> dict[str, tuple[str, str]]:
        """Those of all names."""
        return {fold(known.rpartition("/")[2]): holder for known, holder in reversed(self._names())}

    @cached_property
    def trained_on(self) -> dict[str, tuple[str, str]]:
        """Those without the tags of Ollama's library, of which nobody names what he trains."""
        names = reversed(self._names())
        return {fold(known.rpartition("/")[2]): holder for known, holder in names if ":" not in known}

    def _names(self) -> list[tuple[str, tuple[str, str]]]:
        found: list[tuple[str, tuple[str, str]]] = []
        for entry_id, entry in self.entries.items():
            variants = entry.get("variants", ())
            assert isinstance(variants, Collection)
            names = lookup_names(entry_id, entry)
            found += [(known, (entry_id, known if known in variants else "")) for known in names]
        return found


def copied(name: str, known: BareNames, formats: Mapping[str, str]) -> Copy | None:
    """Return the model that a repository or file holds by its name, None where none has it.

    The owner and what the name says of a conversion are left out; what stays has to be a known repository's own name.
    `formats` gives the ids of number formats by the ends of names.

    >>> known = BareNames({"llama-2-7b": {"repositories": ["meta-llama/Llama-2-7b-hf"]}})
    >>> copied("someone/Llama-2-7b-hf-AWQ", known, {"awq": "awq"})
    Copy(id='llama-2-7b', weights='awq', why='-awq', beside='', variant='', head=None)
    """
    weights, why = said(name, formats)
    owner, bare = spelled(name)
    bare, _, chosen = bare.partition(":")
    if chosen and chosen not in formats:
        bare = f"{bare}-{chosen}"
    ends = sorted(formats, key=len, reverse=True)
    entries, found = known.entries, known.every
    shorter = None
    while bare != shorter:  # the longest name counts: "turbo" ends those of models, too
        shorter = bare
        # Qwen_Qwen3-32B: some write the owner before the name.
        for spelt in (fold(bare), fold(bare.partition("_")[2]), fold(EDITED.sub("", bare))):
            if spelt in found:
                entry_id, variant = found[spelt]
                return Copy(entry_id, weights, why, variant=variant)
        bare = EDITED.sub("", without_end(bare, ends))
    if not owner:
        return None

    def within(used: str, named: tuple[str, str]) -> bool:
        return reads(entries[named[0]]) and not other_family(used, entries)

    named = trained_on(bare, known.trained_on, within)
    if named is None:
        return None
    base, beside = named
    entry, variants = entries[base[0]], entries[base[0]].get("variants")
    own = variants.get(base[1], {}) if isinstance(variants, Mapping) else {}
    head = head_behind(owner, beside, {**config_of(entry), **own})
    return Copy(base[0], weights, why, beside, variant=base[1], head=head)


def reads(entry: Mapping[str, object]) -> bool:
    """Return whether a model reads text and writes none: its finetunes are named by their use first."""
    return config_of(entry).get("model_type") in READS


def other_family(used: str, entries: Iterable[str]) -> bool:
    """Return whether one of these words begins other models' names: a BigBird is no RoBERTa, whose words it has."""
    first = {match[0] for entry_id in entries if (match := re.match("[a-z]+", entry_id))}
    return any(match[0] in first for word in re.split("[-_.]", used) if (match := re.match("[a-z]+", word)))


def config_of(entry: Mapping[str, object]) -> Mapping[str, object]:
    """Return what an entry's config says."""
    config = restored("models", {"config": entry.get("config", {})})["config"]  # the page has it as text
    assert isinstance(config, Mapping)
    return config


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


def trained_on(
    bare: str, found: Mapping[str, T], inside: Callable[[str, T], object] | None = None
) -> tuple[T, str] | None:
    """Return what is found under the name that a repository's has beside a use, and the words of the use: a finetune.

    None where what follows makes another model of it. Any words may stand before the names of those that are `inside`
    others, before the rest only such of a use.

    >>> trained_on("bert-base-uncased-emotion", {"bertbaseuncased": "bert-base"})
    ('bert-base', 'emotion')
    >>> trained_on("code-bert-base-uncased-v2", {"bertbaseuncased": "bert-base"})
    ('bert-base', 'code-v2')
    >>> trained_on("qwen3-8b-dflash", {"qwen38b": "qwen3-8b"}) is None
    True
    """
    marks = [mark.start() for mark in re.finditer(r"[-_.]|$", bare)]
    for start in (0, *(mark + 1 for mark in marks[:-1])):
        used = bare[: max(start - 1, 0)]
        for end in reversed(marks if used else marks[:-1]):
            known, beside = bare[start:end], bare[end + 1 :]
            base = found.get(fold(known)) if re.search(r"[-_\d]", known) else None
            if base is None or (used and inside and not USE_BEFORE.fullmatch(f"{used}-") and not inside(used, base)):
                continue
            return (base, "-".join(filter(None, (used, beside)))) if says_use(used, beside) else None
    return None


def says_use(used: str, beside: str) -> bool:
    """Return whether words before and behind a model's name leave it that; a version behind is of the use before."""
    before = re.split("[-_.]", used)
    first, *others = re.split(r"[-_]|\.(?!\d)", beside)
    own = TIER.fullmatch(first) or (VERSION.fullmatch(first) and not used)
    return not own and not any(map(ANOTHER.fullmatch, (*before, first, *others)))


def without_end(bare: str, ends: Iterable[str]) -> str:
    """Return a name without the last word that is of its conversion; the same where there is none."""
    for end in ends:
        for mark in MARKS:
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
            if bare.endswith(end) and bare[: -len(end)].endswith(MARKS):
                of_owner = formats.get(f"{owner}/{end}", formats[end])  # makers have their own under a usual end
                return of_owner, f"-{end}"
        bare = EDITED.sub("", BESIDE.sub("", bare))
    return (USUAL_FILE, "-gguf") if file else (None, "")
